"""The order in which rows that waited reach an engine."""

from __future__ import annotations

import itertools

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from siddhi.spark.workers.waiting_rows import in_order

ROWS = [
    # event time, source, sequence, place; then what the app sees
    (5, 0, 7, 0, 2, "b", True, 1.5),
    (5, 0, 7, 0, 2, "a", False, None),
    (5, 0, 7, 0, 2, "a", None, float("nan")),
    (5, 0, 7, 0, None, "a", True, 2.5),
    (5, 0, 3, 0, 9, "z", True, 0.5),
]
KINDS = (pa.int64(), pa.int32(), pa.int64(), pa.int32(), pa.int32(), pa.string(), pa.bool_(), pa.float64())
NAMES = ["o0", "o1", "o2", "o3", "o1", "input", "c0", "c1"]


def batch_of(rows):
    columns = [pa.array(column, kind) for column, kind in zip(zip(*rows), KINDS)]
    return pa.RecordBatch.from_arrays(columns, names=NAMES)


def test_equal_rows_go_by_their_values_whatever_order_they_came_in():
    found = {
        repr([tuple(row.values()) for row in in_order([batch_of(rows[:2]), batch_of(rows[2:])], 4)
              .rename_columns([f"c{n}" for n in range(8)]).to_pylist()])
        for rows in itertools.permutations(ROWS)
    }  # fmt: skip
    assert len(found) == 1
    (told,) = found
    assert told.startswith(
        "[(5, 0, 3, 0, 9, 'z', True, 0.5), (5, 0, 7, 0, 2, 'a', False, None), (5, 0, 7, 0, 2, 'a', None,"
    )


def test_rows_that_differ_in_time_stay_as_they_are():
    rows = [(n, *ROWS[0][1:]) for n in range(3)]
    assert in_order([batch_of(rows)], 4).equals(batch_of(rows))
