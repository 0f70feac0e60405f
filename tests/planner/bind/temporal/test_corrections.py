"""Apps with policy 'correct': what is planned, and what is refused because a replay would not repeat it."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppCreationError
from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.planner.plan.temporal import CorrectionPlan
from siddhi.query_compiler import parse
from siddhi.sandbox import SandboxPolicy

S = "@temporal(model = 'point', policy = 'correct', bound = '2 sec') define stream S (id int, value int);"

SOURCE = "@source(type='inMemory', topic='t', @map(type='passThrough'))"
SINK = "@sink(type='inMemory', topic='t', @map(type='passThrough'))"


def test_the_bound_is_read_and_queries_are_classical() -> None:
    planned = plan(parse(f"{S} from S#window.length(2) select sum(value) as total insert into O;"))
    assert planned.streams["S"].correction == CorrectionPlan(2000)
    assert planned.streams["S"].temporal is None
    assert planned.temporal_queries == ()
    assert planned.playback is not None
    assert "corrected if late by up to 2000 ms" in explain(planned)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{S} define stream R (id int); from R select id insert into O;", "stream 'R' is classical"),
        (f"{S} @temporal define stream R (id int); from S select id insert into O;", "stream 'R' is temporal"),
        (f"{S} define stream R (id int, value int); from R select id, value insert into S;", "inserts into stream 'S'"),
        (f"{S} @async define stream O (id int); from S select id insert into O;", "@async on stream 'O'"),
        (f"{S} @OnError(action='stream') define stream O (id int); from S select id insert into O;", "@OnError"),
        (f"{S} from S select UUID() as u insert into O;", r"function 'UUID' is not supported"),
        (f"{S} from S[UUID() == 'a'] select id insert into O;", r"function 'UUID' is not supported"),
        (f"{S} partition with (UUID() of S) begin from S select id insert into O; end;", "function 'UUID'"),
        (
            f"{S} @store(type='rdbms', jdbc.url='sqlite://') define table T (id int); from S select id insert into T;",
            "store of table 'T'",
        ),
        (
            f"@app:playback(idle.time='1 sec', increment='1 sec') {S} from S select id insert into O;",
            "idle.time of @app:playback",
        ),
        (
            f"{S} {SOURCE} define stream O (id int); from S select id insert into O;",
            "source of stream 'O'",
        ),
        (
            f"{S} {SINK} define stream O (id int); from S select id insert into O;",
            "sink 'inMemory' of stream 'O' does not say which rows are retracted",
        ),
    ],
)
def test_what_a_replay_would_not_repeat_is_refused_with_its_location(text: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message) as caught:
        plan(parse(text))
    assert caught.value.code == "E326"
    assert caught.value.span is not None
    assert caught.value.hint


def test_an_attribute_may_carry_the_time() -> None:
    carried = S.replace("'2 sec'", "'2 sec', start = 'at'").replace("value int", "at long")
    assert plan(parse(f"{carried} from S select id insert into O;")).streams["S"].correction == CorrectionPlan(2000, 1)
    for name, message in (("value", "is of type int"), ("other", "has no attribute 'other'")):
        with pytest.raises(SiddhiAppCreationError, match=message):
            plan(parse(S.replace("'2 sec'", f"'2 sec', start = '{name}'") + " from S select id insert into O;"))


def test_the_clock_of_the_app_may_be_read() -> None:
    plan(parse(f"{S} from S select currentTimeMillis() as now, eventTimestamp() as at insert into O;"))


def test_corrections_in_a_sandbox_are_refused() -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"stream 'S' has the policy 'correct', .* in a sandbox") as caught:
        plan(parse(f"{S} from S select id insert into O;"), policy=SandboxPolicy())
    assert caught.value.hint is not None
    assert "policy = 'drop'" in caught.value.hint


@pytest.mark.parametrize("query", ["#window.snapshot()", "#temporal:shift(3)", "#temporal:antiJoin(S)"])
def test_temporal_operators_of_a_corrected_stream_are_refused_as_such(query: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"stream 'S' has the policy 'correct'.*no lifetimes") as caught:
        plan(parse(f"{S} from S{query} select id insert into O;"))
    assert caught.value.hint is not None
    assert "app of their own" in caught.value.hint
    with pytest.raises(SiddhiAppCreationError, match=r"'I' is classical, in an app that corrects late events of 'S'"):
        plan(parse(f"{S} from S select id insert into I; from I{query} select id insert into O;"))


def test_explain_says_what_corrections_keep() -> None:
    text = explain(
        plan(
            parse(
                f"""{S} define table T (id int, name string);
                @info(name='sums') from S#window.length(2) select id, sum(value) as total insert into O;
                @info(name='plain') from S[value > 0] select 'x' as name insert into N;
                partition with (id of S) begin from S#window.length(2) select id insert into P; end;"""
            )
        )
    )
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("corrections, for events"))
    assert lines[at] == "corrections, for events that are late by up to 2000 ms"
    kept = "\n".join(lines[at : at + 12])
    assert "event of stream S: 80 bytes\n" in kept
    assert "row of stream O: 64 bytes\n" in kept
    assert "row of stream N: 56 bytes, and its strings" in kept
    assert "the state of table T, query sums, partition partition_0 (per key)" in kept
    assert "corrections" not in explain(plan(parse("define stream S (id int); from S select id insert into O;")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"{S} {SINK.replace('topic', 'corrections=~id~, topic')} define stream O (id int);",
            "'id' is one of the stream",
        ),
        (f"{S} {SINK.replace('topic', 'corrections=~a b~, topic')} define stream O (id int);", "'a b' is not a name"),
        (
            f"define stream S (id int); {SINK.replace('topic', 'corrections=~op~, topic')} define stream O (id int);",
            "the app does not correct late events",
        ),
    ],
)
def test_the_attribute_of_a_sink_is_checked(text: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message) as caught:
        plan(parse(text.replace("~", "'") + " from S select id insert into O;"))
    assert caught.value.code == "E315"
    assert caught.value.span is not None


def test_a_temporal_output_of_corrected_streams_is_to_be_declared_without_it() -> None:
    text = f"{S} @temporal(model = 'point') define stream O (id int); from S#window.length(2) select id insert into O;"
    with pytest.raises(SiddhiAppCreationError, match="stream 'O' is temporal") as caught:
        plan(parse(text))
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("declare 'O' without @temporal")
