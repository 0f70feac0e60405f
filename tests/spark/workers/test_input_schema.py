"""Rows buffered with one input schema are converted to another."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from siddhi.errors import SparkRunError
from siddhi.spark.plan.naming import INPUT_STREAM
from siddhi.spark.workers.input_schema import InputSchema, upgrade_rows, with_schema_id
from siddhi.spark.workers.record_batch import decode, encode

ALONE = InputSchema("S", ("k", "v"), ("string", "int"), (("S", (0, 1)),))
BOTH = InputSchema(
    INPUT_STREAM, ("input", "c0", "c1", "c2"), ("int", "int", "string", "int"), (("T", (1, 2, 3)), ("S", (2, 1)))
)
TURNED = InputSchema(
    INPUT_STREAM, ("input", "c0", "c1", "c2"), ("int", "string", "int", "int"), (("S", (1, 3)), ("T", (2, 1, 3)))
)
OTHER = InputSchema("T", ("v", "k", "w"), ("int", "string", "int"), (("T", (0, 1, 2)),))
TYPES = {"int": pa.int32(), "string": pa.string()}


def rows(schema: InputSchema, *values) -> pa.RecordBatch:
    kinds = [pa.int64(), pa.int32(), *(TYPES[kind] for kind in schema.kinds)]
    columns = [pa.array(column, kind) for column, kind in zip(zip(*values), kinds)]
    made = pa.RecordBatch.from_arrays(columns, names=["o0", "o1", *schema.columns])
    return decode(encode(with_schema_id(made, schema.schema_id)))


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
def test_each_row_is_sent_to_its_stream(came, now, want):
    found = upgrade_rows(came, now, [ALONE, BOTH])
    assert told(found) == want
    assert found.schema.names == ["o0", "o1", *now.columns]
    assert upgrade_rows(decode(encode(found)), now, [ALONE, BOTH]).equals(found)  # it says for which schema it is


def test_rows_of_the_current_schema_are_unchanged():
    assert upgrade_rows(MIXED, BOTH, [ALONE, BOTH]) is MIXED
    assert upgrade_rows(MIXED, BOTH, []) is MIXED


def test_rows_of_an_unknown_input_schema_are_reported():
    with pytest.raises(SparkRunError, match="the schema of buffered rows is not in its manifest"):
        upgrade_rows(MIXED, ALONE, [OTHER])


def test_an_input_schema_is_restored_from_its_text():
    for schema in (ALONE, BOTH):
        again = InputSchema.from_json(json.loads(json.dumps(schema.to_json())))
        assert (again, again.schema_id) == (schema, schema.schema_id)
        named = replace(schema, assigned_id="x.1", dropped=("S",))
        assert InputSchema.from_json(json.loads(json.dumps(named.to_json()))) == named
        assert (named.form, named.schema_id) == (schema, "x.1")
    assert len({schema.schema_id for schema in (ALONE, BOTH, TURNED, OTHER)}) == 4


def test_dropped_rows_stay_dropped():
    again = replace(BOTH, assigned_id="again")
    assert told(upgrade_rows(OF_S, again, [replace(ALONE, dropped=("S",))])) == []
    assert told(upgrade_rows(MIXED, again, [replace(BOTH, dropped=("S",))])) == [
        (6, 1, 0, 2, "b", 3),
        (7, 2, -1, None, None, None),
        (8, 1, 0, None, None, 9),
    ]
    came = rows(again, (5, 0, 1, 1, "a", None))
    assert upgrade_rows(came, again, [replace(BOTH, dropped=("S",))]) is came
