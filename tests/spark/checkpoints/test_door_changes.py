"""Forms of an app in which rows that wait would not be what they were."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.planner import plan
from siddhi.query_compiler import parse
from siddhi.spark.checkpoints.evolution import fitted
from siddhi.spark.checkpoints.slots import Slot, slot_of
from siddhi.spark.layout.islands import cut
from siddhi.spark.workers.program import write_program

STREAMS = "define stream S (k string, v int); define stream T (k string, v int);\n"
FILTER = "@info(name = 'f') from S[v > 3] select k, v insert into Mid;\n"
IN_ENGINE = FILTER.replace("[v > 3]", "[v > 3]#log('seen')")
ALSO = "@info(name = 'g') from T[v > 3] select k, v insert into Mid;\n"
LENGTH = "@info(name = 'length') from Mid#window.length(3) select sum(v) as total insert into Out;\n"
PAIRS = "@info(name = 'pairs') from S#window.length(2) select sum(v) as total insert into Pairs;\n"


def slots(*queries: str, streams: str = STREAMS, prefer: str = "native") -> list[Slot]:
    planned = plan(parse(streams + "".join(queries)))
    islands = cut(planned, streaming=True, bound={"S", "T"}, prefer=prefer).islands
    made = []
    for number, island in enumerate(islands):
        leaving = [stream for stream in island.produced if stream in planned.streams]
        made.append(slot_of(planned, island, write_program(planned, island, leaving, shards=3), 3 * number, 3))
    return made


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("before", "now"),
    [
        (slots(IN_ENGINE, LENGTH, PAIRS), slots(FILTER, LENGTH, PAIRS)),
        (slots(IN_ENGINE, ALSO, LENGTH, PAIRS), slots(FILTER, ALSO, LENGTH, PAIRS)),
        (slots(FILTER, LENGTH), slots(FILTER, LENGTH, prefer="engine")),
    ],
)
def test_a_query_that_goes_into_an_island_or_out_of_it_is_refused(before, now, turned):
    (told,) = fitted(now, before).refused if turned else fitted(before, now).refused
    assert told.endswith(
        ": 'f' and what reads Mid run as one in one form, and apart in the other: rows that wait would come twice, or not at all"
    )


def test_a_filter_that_stays_where_it_is_may_change():
    for text in (FILTER, IN_ENGINE):
        fit = fitted(slots(text, LENGTH, PAIRS), slots(text.replace("v > 3", "v > 4"), LENGTH, PAIRS))
        assert (fit.refused, fit.changed) == ([], [])


def test_another_reader_of_a_stream_changes_nothing_for_those_there_are():
    fit = fitted(slots(FILTER, LENGTH), slots(FILTER, LENGTH, PAIRS))
    assert (fit.refused, fit.changed) == ([], ["query 'pairs' is new"])


@pytest.mark.parametrize(
    ("schema", "filled", "told"),
    [
        ("v int, k string", "v, k", r"S (v int, k string)"),
        ("k string, v long", "k, convert(v, 'long') as v", r"S (k string, v long)"),
        ("k string, v int, w int", "k, v, 0 as w", r"S (k string, v int, w int)"),
    ],
)
def test_attributes_of_a_stream_that_is_bound_and_filled_are_looked_at(schema, filled, told):
    last = "@info(name = 'last') from T#window.length(3) select sum(v) as total insert into Out;"
    reads = "@info(name = '{}') from S#window.length(2) select k insert into `{}`;"
    fills = "@info(name = '{}') from T[v > 90]#window.length(2) select {} insert into S;"
    before = slots(last, reads.format("p", "P"), fills.format("w", "k, v"))
    wider = STREAMS.replace("S (k string, v int)", f"S ({schema})")
    now = slots(last, reads.format("q", "Q"), fills.format("x", filled), streams=wider)
    refused = [clause for clause in fitted(before, now).refused if "rows that wait are of" in clause]
    assert refused
    assert refused[0].endswith(f"rows that wait are of S (k string, v int), and now it is {told}")
