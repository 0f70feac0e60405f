"""Queries on temporal streams: those beside classical ones, cycles, arguments of windows."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse

STREAMS = (
    "@temporal(model = 'point') define stream T (a int); define stream C (a int); define trigger Tick at every 1 sec;"
)
JOIN = "from T#window.length(2) join {0}#window.length(2) on T.a == {0}.a select T.a as x insert into O;"


@pytest.mark.parametrize("query", [JOIN.format("C"), "from every e1 = T -> e2 = C select e1.a as x insert into O;"])
def test_a_query_on_a_temporal_and_a_classical_stream_is_warned_of(query: str) -> None:
    (warning,) = plan(parse(STREAMS + query)).warnings
    assert warning.message.startswith(
        "query 'query_1' reads temporal stream 'T', whose events wait for a CTI, and classical"
    )
    assert warning.hint == "declare 'C' with @temporal(model = 'point')"
    assert warning.span is not None


@pytest.mark.parametrize(
    "query",
    [
        "from C#window.length(2) select a insert into O;",
        JOIN.format("Tick").replace("Tick.a", "1"),
        # What queries fill comes in order of time, too.
        "from T#window.length(3) select a insert into Filled;" + JOIN.format("Filled"),
    ],
)
def test_other_queries_are_not(query: str) -> None:
    assert plan(parse(STREAMS + query)).warnings == ()


A = "@temporal(model = 'interval') define stream A (k int); "
DEFINED = A + "@temporal define stream Y (k int); "


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (
            A
            + "from A select k insert into X; from X#temporal:shift(5) select k insert into Y; from Y select k insert into X;",
            "X -> Y -> X",
        ),
        (
            DEFINED + "from A#temporal:antiJoin(Y, k == Y.k) select k insert into Z; from Z select k insert into Y;",
            "Z -> Y -> Z",
        ),
        (
            A
            + "partition with (k of A) begin from A select k insert into #X; from #X#window.snapshot() select k insert into "
            "#Y; from #Y select k insert into #X; end;",
            "#X -> #Y -> #X",
        ),
    ],
)
def test_a_cycle_of_temporal_queries_is_refused(text: str, path: str) -> None:
    with pytest.raises(SiddhiAppError, match="temporal queries can't form a cycle") as caught:
        plan(parse(text))
    nodes, found = path.split(" -> ")[1:], caught.value.message.split(": ")[-1].split(" -> ")
    assert sorted(found[1:]) == sorted(nodes)
    assert caught.value.column is not None


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("snapshot(1)", "it takes 0 arguments, not 1"),
        ("countByStartTime(0)", "'n' must be a positive constant"),
        ("tumbling(k)", "'size' must be"),
        ("hopping(10)", "it takes 2 to 4 arguments, not 1"),
        ("hopping(10, 0)", "'hop' must be"),
        ("hopping(10, 5, 'x')", "'alignment' must be"),
        ("tumbling(10, 0, 'foo')", "the output must be 'point' or 'clip'"),
    ],
)
def test_an_invalid_argument_of_a_window_is_named(window: str, message: str) -> None:
    with pytest.raises(SiddhiAppError, match=message) as caught:
        plan(parse(f"{A} from A#window.{window} select count() as c insert into O;"))
    assert caught.value.hint is not None
    assert f"#window.{window.partition('(')[0]}(" in caught.value.hint


def test_a_heartbeat_of_the_clock_is_refused() -> None:
    with pytest.raises(SiddhiAppError, match="'A' is temporal, and idle\\.time"):
        plan(parse(f"@app:playback(idle.time = '1 sec', increment = '2 sec') {A}"))


def test_a_temporal_window_is_suggested_for_a_similar_name() -> None:
    with pytest.raises(SiddhiAppError, match="unknown window 'snapshott'") as caught:
        plan(parse(A + "from A#window.snapshott() select count() as n insert into O;"))
    assert caught.value.hint == "did you mean 'snapshot'?"
