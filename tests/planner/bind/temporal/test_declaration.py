"""@temporal and temporal queries: what is bound, and what is refused with place and hint."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.planner.plan.temporal import AdvancePlan, LatePolicy, TemporalModel, TemporalStreamPlan
from siddhi.query_compiler import parse
from siddhi.sandbox import SandboxPolicy

S = "define stream S (id int, value int, l long);"
T = f"@temporal(model = 'edge') {S}"


def settings(annotation: str) -> TemporalStreamPlan | None:
    return plan(parse(f"{annotation} {S} from S select id insert into O;")).streams["S"].temporal


def test_settings_are_read() -> None:
    assert settings("@temporal") == TemporalStreamPlan()
    assert settings("") is None
    assert settings(
        "@temporal(model='point', policy='drop', @advance(count='2', delay='1 sec', reference='last'))"
    ) == (TemporalStreamPlan(TemporalModel.POINT, LatePolicy.DROP, advance=AdvancePlan(2, 0, 1000, last=True)))
    assert settings("@temporal(@advance(preset='increasing', shutdown='true'))") == TemporalStreamPlan(
        advance=AdvancePlan(1, 0, 0, shutdown=True)
    )
    assert settings("@temporal(@advance(preset='strictlyIncreasing'))") == TemporalStreamPlan(
        advance=AdvancePlan(1, 0, -1)
    )


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("@temporal(model='events')", "invalid value 'events'"),
        ("@temporal(mode='edge')", "unknown element 'mode'"),
        ("@temporal(policy='correct', bound='1 min')", "needs model = 'point', not 'interval'"),
        ("@temporal(model='point', policy='correct')", "needs a bound"),
        ("@temporal(model='point', policy='correct', bound='0')", "must be positive"),
        (
            "@temporal(model='point', policy='correct', bound='1 min', order='end')",
            "'order' of @temporal has no meaning",
        ),
        ("@temporal(model='point', policy='correct', bound='1', @advance(count='1'))", "@advance in @temporal has no"),
        ("@temporal(model='point', bound='1 min')", "belongs to policy = 'correct'"),
        ("@temporal(start='value')", "attribute 'value' is of type int"),
        ("@temporal(start='valeu')", "no attribute 'valeu'"),
        ("@temporal(end='l', start='l')", "are the same attribute"),
        ("@temporal(start='l')", "needs an 'end'"),
        ("@temporal(model='point', end='l')", "'end' of @temporal has no meaning"),
        (
            "@temporal @source(type='inMemory', topic='t', @map(type='json'))",
            "a source of stream 'S' of model 'interval' gives no lifetimes",
        ),
        (
            "@temporal(model='edge', start='l') @sink(type='inMemory', topic='t', @map(type='json'))",
            "can't show whether a row starts or ends",
        ),
        ("@source(type='inMemory', topic='t', replay='alive')", "'replay' of source 'inMemory' has no meaning"),
        ("@temporal(ties='rows')", "invalid value 'rows' for 'ties'"),
        ("@temporal(model='edge', order='start')", "'order' of @temporal has no meaning"),
        ("@temporal(@advance(count='0'))", "must be positive"),
        ("@temporal(@advance(delay='1 sec'))", "makes no CTI"),
        ("@temporal(@advance(count='1', import='B'))", "there is no temporal stream 'B'"),
        ("@temporal(@advance(import='S'))", "'S' depend on themselves: S <- S"),
        ("@temporal(@advance(shutdown='yes'))", "invalid value 'yes'"),
        ("@temporal(@advance(preset='increasing', delay='3'))", "'preset' of @advance stands for"),
        ("@temporal(@advance(count='1', delay='soon'))", "invalid duration 'soon'"),
    ],
)
def test_invalid_settings_are_refused_with_their_location(annotation: str, message: str) -> None:
    with pytest.raises(SiddhiAppError, match=message) as caught:
        settings(annotation)
    assert caught.value.span is not None


@pytest.mark.parametrize(
    "query",
    [
        "from S#window.length(2) select sum(value) as total",
        "from S select sum(value) as total",
        "from S[sum(value) > 3] select id",
        "from S select id, value output every 2 events",
        "from every e1=S -> e2=S select e1.id as a, e2.id as b",
        "from S#window.time(1 sec) as l join S#window.time(1 sec) as r on l.id == r.id select l.id as a",
    ],
)
def test_other_queries_on_temporal_streams_are_classical(query: str) -> None:
    if " output " in query:
        query, rate = query.split(" output ")
        planned = plan(parse(f"{T} {query} output {rate} insert into O;"))
    else:
        planned = plan(parse(f"{T} {query} insert into O;"))
    assert len(planned.executions) == 1
    assert planned.temporal_queries == ()
    assert planned.streams["O"].temporal is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{S} from S#window.snapshot() select count() as n insert into O;", "stream 'S' is classical"),
        (f"{S} from S#temporal:shift(3) select id insert into O;", "stream 'S' is classical"),
        (
            f"{T} define stream C (id int); from S join C on S.id == C.id select S.id as i insert into O;",
            "'C' is classical",
        ),
        (f"{T} from S as l unidirectional join S as r on l.id == r.id select l.id insert into O;", "be unidirectional"),
        (
            f"{T} from S as l join S as r select count() as n insert into O;",
            "can't be classical, and this one is: it agg",
        ),
        (
            f"{T} define table K (id int); from S as l join S as r on l.id == r.id select l.id insert into K;",
            "this one is: it inserts into 'K'",
        ),
        (
            f"{T} define table K (id int); from S#temporal:shift(3) select id insert into K;",
            "is classical: it inserts into 'K'",
        ),
        (f"{T} from S#temporal:turn(3) select id insert into O;", "unknown temporal operator 'temporal:turn'"),
        (f"{T} from S#temporal:shift(value) select id insert into O;", "constant time"),
        (f"{T} from S#temporal:alterLifetime(value, 3) select id insert into O;", r"eventStart\(\) only"),
        (f"{T} from S[eventEnd() > 3] select id insert into O;", r"eventEnd\(\) can be read"),
        (f"{T} from S select temporal:rank() as r insert into O;", "belongs to a temporal window"),
        (f"{T} from S#window.tumbling(0) select count() as n insert into O;", "'size' must be"),
        (f"{T} from S#window.snapshot() select id, count() as n insert into O;", "order of arrival"),
        (f"{T} from S#window.snapshot() select id limit 2 insert into O;", "need 'order by'"),
        (f"{T} from S#window.snapshot() select minForever(value) as d insert into O;", "counts rows that are over"),
        (f"{T} from S#window.snapshot() select sum(count()) as d insert into O;", "an aggregator inside another one"),
        (
            f"{T} from S#window.snapshot()#temporal:shift(1) select id insert into O;",
            "'temporal:shift' behind a window",
        ),
        (f"{T} from S#window.snapshot()[count() > 2] select id insert into O;", "aggregates in a filter"),
        (f"{T} from S#window.snapshot()#log() select id insert into O;", "the query is classical"),
        (
            f"{T} from S#window.snapshot() select id, temporal:rank() as r having r < 3 order by id insert into O;",
            "'r' is known when rows have been chosen",
        ),
        (
            f"{T} from S#window.snapshot() select id, eventStart() as t order by t limit 1 insert into O;",
            "'t' is known when rows have been chosen",
        ),
        (f"{T} from S#temporal:shift(3) select sum(value) as s insert into O;", "the query is classical"),
        (f"{T} from S[currentTimeMillis() > 3] select id insert into O;", "reads the clock"),
        (f"{T} define stream O (id int); from S select id insert into O;", "stream 'O' is classical"),
        (
            f"{S} @temporal define stream O (id int); from S select id insert into O;",
            "stream 'O' is of model 'interval'",
        ),
        (
            f"{T} @source(type='inMemory') @temporal(end='e') define stream O (e long); from S select l as e insert into O;",
            "has a source",
        ),
        (
            f"{T} @temporal(@advance(import='Q')) define stream R (id int); from R select id insert into Q;",
            "CTIs of 'R' depend on themselves: R <- Q <- R",
        ),
        (
            f"{T} @temporal(@advance(import='S')) define stream O (id int); from S select id insert into O;",
            "so @advance has no effect",
        ),
        (f"{T} @async @temporal define stream O (id int); from S select id insert into O;", "so @async has no effect"),
        (
            f"{T} define stream C (id int); @temporal(@advance(import='C')) define stream R (id int);",
            "no temporal stream 'C'",
        ),
    ],
)
def test_invalid_temporal_queries_are_refused_with_their_location(text: str, message: str) -> None:
    with pytest.raises(SiddhiAppError, match=message) as caught:
        plan(parse(text))
    assert caught.value.span is not None


@pytest.mark.parametrize(
    ("window", "message"),
    [
        ("tumbling(40 days)", "the size of window 'tumbling'.*max_duration_ms"),
        ("hopping(40 days, 1 min)", "the size of window 'hopping'.*max_duration_ms"),
        ("countByStartTime(200000)", "the number of starts of a counting window.*max_events"),
    ],
)
def test_windows_beyond_the_policy_of_a_sandbox_are_refused(window: str, message: str) -> None:
    with pytest.raises(SiddhiAppError, match="(?s)" + message) as caught:
        plan(parse(f"{T} from S#window.{window} select count() as n insert into O;"), policy=SandboxPolicy())
    assert caught.value.code == "E341"
