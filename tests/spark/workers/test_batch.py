"""Engine fragments of a batch as functions of sorted rows; needs no Java."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa

import tests.kit.distribution  # noqa: F401 - declares the extensions
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.plan.fragments import cut
from siddhi.spark.workers.batch import EndOfInput, RowOrder, sorted_rows, unsorted_rows
from siddhi.spark.workers.program import OutputShape, is_query_timed, write_program

APP = """define stream S (a string, v int);
from S[v > 0] select a, v * 10 as v insert into U;
from S[v > 1] select a, v * 100 as v insert into U;"""
ORDER = RowOrder(sequence=2, own=1, source=9)
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
def test_output_keeps_the_order_of_its_rows(sorted_):
    planned = plan(parse(APP))
    (fragment,) = cut(planned, prefer="engine").fragments
    program = write_program(planned, fragment, ["U"], ordered=["U"])
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


LATER = [
    ("from S#kit:later({0}) select a, v insert into U;", ""),
    ("partition with (a of S) begin from S#kit:later({0}) select a, v insert into U; end;", ""),
    (
        "define aggregation A from S#kit:later({0}) select a, sum(v) as v group by a aggregate every sec;",
        "from A within 0L, 10000L per 'sec' select a, v",
    ),
]


@pytest.mark.parametrize(("text", "on_demand"), LATER)
@pytest.mark.parametrize("wait", [500, 5000])
def test_stream_processors_emit_everything_due_by_the_last_event(text, on_demand, wait):
    planned = plan(parse("define stream S (a string, v int);" + text.format(wait)))
    (fragment,) = cut(planned, prefer="engine").fragments
    program = write_program(planned, fragment, [] if on_demand else ["U"], shards=2)
    assert program.timed
    if on_demand:
        program = replace(
            program,
            on_demand=on_demand,
            answer=OutputShape("", ("string", "long"), (0, 1)),
            union_types=("string", "long"),
        )
    columns = [
        pa.array([0, 0], pa.int32()),
        pa.array([1000, 1100]),
        pa.array([1000] * 2),
        pa.array([2000] * 2),
        pa.array(["x", "x"]),
        pa.array([1, 2], pa.int32()),
    ]
    rows = pa.RecordBatch.from_arrays(columns, names=["shard", "__t", "first", "last", "a", "v"])
    made = [row for batch in sorted_rows(program, EndOfInput(False), "w")([rows]) for row in batch.to_pylist()]
    assert bool(made) == (wait == 500)


def test_output_of_timers():
    text = (
        "define stream S (a string); from S#kit:later(500) select a insert into U;"
        "from S#kit:second() select a insert into V;"
    )
    assert [is_query_timed(query) for query in plan(parse(text)).executions] == [True, False]
