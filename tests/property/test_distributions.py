"""An app distributed by keys has the same output per key, for random queries and random splits of keys."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi.planner.app import plan
from siddhi.planner.distribution.distribution import distributions
from siddhi.query_compiler.parser import parse
from tests.kit.apps import CONDITIONS, DEFINITION, Query, Sent, queries, timelines

EXACT = "@app:playback(timers = 'exact')"
MORE = [
    "from every a=S[i > 3] -> b=S[t == a.t and i < a.i] within 1 sec select a.t as t, b.i as i insert into Out;",
    "from every a=S -> not S[t == a.t] for 300 milliseconds select a.t as t, a.i as i insert into Out;",
    "from every a=S -> b=S[b.t == a.t]<2:3> -> c=S[c.t == a.t and c.b] select a.t as t, c.i as i insert into Out;",
    "from every a=S -> b=S[t == a.t] and c=S[c.t == a.t and c.i > 5] select a.t as t, b.i as i insert into Out;",
    "from S#window.time(500) as l join S#window.time(800) as r on l.t == r.t select l.t as t, r.i as i insert all events into Out;",
    (
        "from S#window.time(500) as l full outer join S#window.time(300) as r on l.t == r.t and l.i > r.i "
        "select l.t as t, r.i as i insert into Out;"
    ),
    "from S#window.session(400, t) select t, i, count() as n group by t insert all events into Out;",
    "from S#window.session(400, t, 100) select t, i insert expired events into Out;",
    "from S select t, i group by t output first every 3 events insert into Out;",
    "from S[b] select t, sum(i) as n group by t, b output first every 700 milliseconds insert into Out;",
    (
        "define table T (t string, n long); from S select t, l as n update or insert into T on T.t == t;"
        "from S[i > 2] join T on S.t == T.t select S.t as t, T.n as n insert into Out;"
    ),
    (
        "define table T (t string, i int); from S select t, i insert into T; from S[i < 2] delete T on T.t == t;"
        "from S[S.t == T.t in T] select t, i insert into Out;"
    ),
    (
        "define window W (t string, i int) time(600); from S select t, i insert into W;"
        "from W select t, sum(i) as n group by t insert all events into Out;"
    ),
]


@st.composite
def single_queries(draw: st.DrawFn) -> str:
    if draw(st.booleans()):
        return draw(st.sampled_from(MORE))
    query: Query = draw(queries(chunks=False))
    text = query.text.format(source="S", target="Out")
    condition = draw(st.sampled_from(["", *CONDITIONS]))
    if condition and draw(st.booleans()):
        return f"from S[{condition}] select * insert into Mid; {text.replace('from S', 'from Mid')}"
    return text


def separates_by_t(app: str) -> bool:
    found = distributions(plan(parse(app)))
    by_t = [
        element.keys is None or any(any(key.attribute == "t" for _, key in part.by) for part in element.keys)
        for element in found
    ]
    return all(by_t) and not any(element.notes for element in found)


def put_out(app: str, events: list[Sent]) -> list[Any]:
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.collect("Out")
        for event in events:
            runtime.input_handler("S").send(event.values, event.timestamp)
        runtime.advance_to_end()
        batch = runtime.drain()["Out"]
    return sorted(((int(time), *row[:-2]) for time, row in zip(batch.timestamps, batch, strict=True)), key=repr)


@given(query=single_queries(), events=timelines(late=False), first=st.sets(st.sampled_from(["A", "B", "C", None])))
def test_shards_together_have_the_output_of_one_engine(query: str, events: list[Sent], first: set[str | None]) -> None:
    app = f"{EXACT} {DEFINITION} {query}"
    if not separates_by_t(app):
        return
    shards = [[event for event in events if (event.values[0] in first) is chosen] for chosen in (True, False)]
    apart = sorted((row for shard in shards for row in put_out(app, shard)), key=repr)
    assert apart == put_out(app, events)


def test_a_query_that_reads_a_distributed_one_is_distributed() -> None:
    assert [query for query in MORE if not separates_by_t(f"{EXACT} {DEFINITION} {query}")] == []
