"""Versions of an app in which buffered rows would change their meaning."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark.checkpoint.evolution import assign_key_ranges
from siddhi.spark.checkpoint.key_ranges import KeyRange, key_range_of
from siddhi.spark.checkpoint.schema_changes import rows_at_risk
from siddhi.spark.plan.fragments import cut
from siddhi.spark.streaming.plan import plan_streaming
from siddhi.spark.workers.program import write_program

STREAMS = "define stream S (k string, v int); define stream T (k string, v int);\n"
FILTER = "@info(name = 'f') from S[v > 3] select k, v insert into Mid;\n"
IN_ENGINE = FILTER.replace("[v > 3]", "[v > 3]#log('seen')")
ALSO = "@info(name = 'g') from T[v > 3] select k, v insert into Mid;\n"
LENGTH = "@info(name = 'length') from Mid#window.length(3) select sum(v) as total insert into Out;\n"
LAST = "@info(name = 'last') from S#window.length(4) select max(v) as high insert into Last;\n"
PASS = "@info(name = 'pass') from S[v > 1] select k insert into Passed;\n"
PAIRS = "@info(name = 'pairs') from S#window.length(2) select sum(v) as total insert into Pairs;\n"


def key_ranges(*queries: str, streams: str = STREAMS, prefer: str = "native") -> list[KeyRange]:
    planned = plan(parse(streams + "".join(queries)))
    fragments = cut(planned, streaming=True, bound={"S", "T"}, prefer=prefer).fragments
    made = []
    for number, fragment in enumerate(fragments):
        leaving = [stream for stream in fragment.produced if stream in planned.streams]
        made.append(key_range_of(planned, fragment, write_program(planned, fragment, leaving, shards=3), 3 * number, 3))
    return made


def streamed(*queries: str) -> list[KeyRange]:
    """As :class:`siddhi.spark.SparkRuntime` starts them, with a sink for all that is filled."""
    planned = plan(parse(STREAMS + "".join(queries)))
    layout = cut(planned, streaming=True, bound={"S", "T"})
    wanted = [name for name in planned.streams if name not in ("S", "T")]
    found = plan_streaming(planned, layout, wanted, shards=3)
    both = zip(found.fragments, found.programs, strict=True)
    return [key_range_of(planned, fragment, program, 3 * n, 3) for n, (fragment, program) in enumerate(both)]


def risks(before: list[KeyRange], now: list[KeyRange]) -> list[str]:
    fit = assign_key_ranges(before, now)
    assert fit.refused == []
    return [clause for _, clause in rows_at_risk(before, now, fit.indexes)]


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("before", "now"),
    [
        (key_ranges(IN_ENGINE, LENGTH, PAIRS), key_ranges(FILTER, LENGTH, PAIRS)),
        (key_ranges(IN_ENGINE, ALSO, LENGTH, PAIRS), key_ranges(FILTER, ALSO, LENGTH, PAIRS)),
        (key_ranges(FILTER, LENGTH), key_ranges(FILTER, LENGTH, prefer="engine")),
    ],
)
def test_a_query_that_moves_to_another_fragment_is_refused(before, now, turned):
    (told,) = risks(*((now, before) if turned else (before, now)))
    assert told == "'f' fills Mid in the fragment of its readers in one form of the app only"


@pytest.mark.parametrize(
    ("before", "now", "name"),
    [
        (key_ranges(IN_ENGINE, LENGTH, PAIRS), key_ranges(IN_ENGINE, PAIRS), "f"),
        (key_ranges(IN_ENGINE, LAST), key_ranges(IN_ENGINE, LENGTH, LAST), "f"),
        (key_ranges(IN_ENGINE, LENGTH, LAST), key_ranges(IN_ENGINE, LAST), "f"),
        (streamed(FILTER, PASS, PAIRS), streamed(IN_ENGINE, PASS, PAIRS), "pass"),
    ],
)
def test_a_stateless_query_that_changes_its_shards_is_refused(before, now, name):
    assert any(f"'{name}' no longer runs with" in clause for clause in risks(before, now))


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (streamed(FILTER, PASS, PAIRS), streamed(FILTER, PASS, PAIRS)),
        (streamed(FILTER, PASS, PAIRS), streamed(FILTER.replace("v > 3", "v > 4"), PASS, PAIRS)),
        (streamed(FILTER, PASS, PAIRS), streamed(FILTER, PAIRS)),
        (streamed(FILTER, PAIRS), streamed(FILTER, PASS, PAIRS)),
        (key_ranges(FILTER, LENGTH), key_ranges(FILTER, LENGTH, PAIRS)),
        (key_ranges(IN_ENGINE, LENGTH, PAIRS), key_ranges(IN_ENGINE, LENGTH)),
    ],
)
def test_an_unmoved_query_is_accepted(before, now):
    assert risks(before, now) == []


def test_an_unmoved_filter_can_be_changed():
    for text in (FILTER, IN_ENGINE):
        fit = assign_key_ranges(
            key_ranges(text, LENGTH, PAIRS), key_ranges(text.replace("v > 3", "v > 4"), LENGTH, PAIRS)
        )
        assert (fit.refused, fit.changed) == ([], [])


def test_another_reader_of_a_stream_does_not_affect_existing_ones():
    fit = assign_key_ranges(key_ranges(FILTER, LENGTH), key_ranges(FILTER, LENGTH, PAIRS))
    assert (fit.refused, fit.changed) == ([], ["query 'pairs' is new"])


@pytest.mark.parametrize(
    ("schema", "filled", "told"),
    [
        ("v int, k string", "v, k", r"S (v int, k string)"),
        ("k string, v long", "k, convert(v, 'long') as v", r"S (k string, v long)"),
        ("k string, v int, w int", "k, v, 0 as w", r"S (k string, v int, w int)"),
    ],
)
def test_attributes_of_a_stream_that_is_bound_and_inserted_are_checked(schema, filled, told):
    last = "@info(name = 'last') from T#window.length(3) select sum(v) as total insert into Out;"
    reads = "@info(name = '{}') from S#window.length(2) select k insert into `{}`;"
    fills = "@info(name = '{}') from T[v > 90]#window.length(2) select {} insert into S;"
    before = key_ranges(last, reads.format("p", "P"), fills.format("w", "k, v"))
    wider = STREAMS.replace("S (k string, v int)", f"S ({schema})")
    now = key_ranges(last, reads.format("q", "Q"), fills.format("x", filled), streams=wider)
    refused = [clause for clause in assign_key_ranges(before, now).refused if "buffered rows have" in clause]
    assert refused
    assert refused[0].endswith(f"buffered rows have the schema S (k string, v int), and the stream is {told} now")
