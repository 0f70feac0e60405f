"""Islands of a batch as functions of sorted rows; needs no Java."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

from siddhi.planner import plan
from siddhi.query_compiler import parse
from siddhi.spark.layout.islands import cut
from siddhi.spark.workers.batch import CarriedOrder, EndOfInput, sorted_rows, unsorted_rows
from siddhi.spark.workers.program import write_program

APP = """define stream S (a string, v int);
from S[v > 0] select a, v * 10 as v insert into U;
from S[v > 1] select a, v * 100 as v insert into U;"""
ORDER = CarriedOrder(sequence=2, own=1, source=9)
ROWS = [(1, 0), (2, 1), (1, 2), (2, 3)]
"""Values, and where their rows stand among those of their time."""


def put_out(function) -> list[tuple]:
    """Time, source, sequence and value of what comes of the rows."""
    value, place = zip(*ROWS)
    columns = [
        pa.array([0] * 4, pa.int32()),
        pa.array([1000, 1000, 1000, 2000]),
        pa.array([3, 3, 4, 3], pa.int32()),
        pa.array(place, pa.int64()),
        pa.array([0] * 4, pa.int64()),
        pa.array([1] * 4, pa.int32()),
        pa.array([0] * 4, pa.int32()),
        pa.array(["x"] * 4),
        pa.array(value, pa.int32()),
    ]
    names = ["shard", "__t", "source", "__seq0", "__seq1", "place", "input", "c0", "c1"]
    made = [row for batch in function([pa.RecordBatch.from_arrays(columns, names=names)]) for row in batch.to_pylist()]
    return [(row["__t"], row["source"], row["__seq0"], row["__seq1"], row["c1"]) for row in made]


@pytest.mark.parametrize("sorted_", [False, True])
def test_what_leaves_keeps_the_place_of_the_rows_it_comes_of(sorted_):
    planned = plan(parse(APP))
    (island,) = cut(planned, prefer="engine").islands
    program = write_program(planned, island, ["U"], ordered=["U"])
    function = sorted_rows(program, EndOfInput(False), "w", ORDER) if sorted_ else unsorted_rows(program, "w", ORDER)
    found = put_out(function)
    assert [(time, source, place, value) for time, source, place, _, value in found] == [
        (1000, 3, 0, 10),
        (1000, 3, 1, 20),
        (1000, 3, 1, 200),
        (1000, 4, 2, 10),
        (2000, 3, 3, 20),
        (2000, 3, 3, 200),
    ]
    own = [number for *_, number, _ in found]
    assert own == sorted(own)
    assert len(set(own)) == len(own)
