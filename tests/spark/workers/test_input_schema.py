"""Rows that have waited for one door pass another one."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from siddhi.errors import SparkRunError
from siddhi.spark.plan.naming import DOOR
from siddhi.spark.workers.input_schema import Door, labelled, let_in
from siddhi.spark.workers.record_batch import packed, unpacked

ALONE = Door("S", ("k", "v"), ("string", "int"), (("S", (0, 1)),))
BOTH = Door(DOOR, ("input", "c0", "c1", "c2"), ("int", "int", "string", "int"), (("T", (1, 2, 3)), ("S", (2, 1))))
TURNED = Door(DOOR, ("input", "c0", "c1", "c2"), ("int", "string", "int", "int"), (("S", (1, 3)), ("T", (2, 1, 3))))
OTHER = Door("T", ("v", "k", "w"), ("int", "string", "int"), (("T", (0, 1, 2)),))
TYPES = {"int": pa.int32(), "string": pa.string()}


def rows(door: Door, *values, label: bool = True) -> pa.RecordBatch:
    kinds = [pa.int64(), pa.int32(), *(TYPES[kind] for kind in door.kinds)]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*values), kinds)]
    made = pa.RecordBatch.from_arrays(columns, names=["o0", "o1", *door.columns])
    return unpacked(packed(labelled(made, door.name))) if label else made


def told(found: pa.RecordBatch) -> list[tuple[object, ...]]:
    return list(zip(*(column.to_pylist() for column in found.columns)))


OF_S = rows(ALONE, (5, 0, "a", 1), (6, 0, None, None))
MIXED = rows(
    BOTH, (5, 0, 1, 1, "a", None), (6, 1, 0, 2, "b", 3), (7, 2, -1, None, None, None), (8, 1, 0, None, None, 9)
)


@pytest.mark.parametrize(
    ("came", "now", "want"),
    [
        (OF_S, BOTH, [(5, 0, 1, 1, "a", None), (6, 0, 1, None, None, None)]),
        (OF_S, TURNED, [(5, 0, 0, "a", None, 1), (6, 0, 0, None, None, None)]),
        (OF_S, OTHER, []),
        (MIXED, ALONE, [(5, 0, "a", 1)]),
        (MIXED, OTHER, [(6, 1, 2, "b", 3), (8, 1, None, None, 9)]),
        (MIXED, TURNED, [(5, 0, 0, "a", None, 1), (6, 1, 1, "b", 2, 3), (7, 2, -1, None, None, None), (8, 1, 1, None, None, 9)]),
    ],
)  # fmt: skip
def test_each_row_goes_where_its_stream_goes(came, now, want):
    found = let_in(came, now, [ALONE, BOTH])
    assert told(found) == want
    assert found.schema.names == ["o0", "o1", *now.columns]
    assert let_in(unpacked(packed(found)), now, [ALONE, BOTH]).equals(found)  # it says for which door it is


def test_rows_of_the_door_stay_as_they_are():
    assert let_in(MIXED, BOTH, [ALONE, BOTH]) is MIXED
    assert let_in(MIXED, BOTH, []) is MIXED


def test_rows_without_a_label_came_by_the_first_door():
    plain = rows(ALONE, (5, 0, "a", 1), label=False)
    assert told(let_in(plain, BOTH, [ALONE, OTHER])) == [(5, 0, 1, 1, "a", None)]
    assert let_in(plain, ALONE, [ALONE, OTHER]) is plain


def test_rows_of_a_door_that_never_was_are_told():
    with pytest.raises(SparkRunError, match="rows wait in it that no form of its app has taken in"):
        let_in(MIXED, ALONE, [OTHER])


def test_a_door_survives_being_written():
    for door in (ALONE, BOTH):
        again = Door.from_json(json.loads(json.dumps(door.to_json())))
        assert (again, again.name) == (door, door.name)
        named = replace(door, label="x.1", dropped=("S",))
        assert Door.from_json(json.loads(json.dumps(named.to_json()))) == named
        assert (named.form, named.name) == (door, "x.1")
    assert len({door.name for door in (ALONE, BOTH, TURNED, OTHER)}) == 4


def test_rows_that_were_left_behind_stay_so():
    again = replace(BOTH, label="again")
    assert told(let_in(OF_S, again, [replace(ALONE, dropped=("S",))])) == []
    assert told(let_in(MIXED, again, [replace(BOTH, dropped=("S",))])) == [
        (6, 1, 0, 2, "b", 3),
        (7, 2, -1, None, None, None),
        (8, 1, 0, None, None, 9),
    ]
    came = rows(again, (5, 0, 1, 1, "a", None))
    assert let_in(came, again, [replace(BOTH, dropped=("S",))]) is came
