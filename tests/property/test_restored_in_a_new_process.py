"""Operators with state: a snapshot at any point, restored in a new process, continues unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi.library.aggregators import AGGREGATORS
from siddhi.library.windows import WINDOWS
from tests.kit.new_process import Step, other_process, play

STREAMS = """define stream S (k string, v int, d double, at long, b bool);
define stream R (k string, v int);
"""

WINDOW_CALLS = [
    "length(3)",
    "length(0)",
    "lengthBatch(3)",
    "lengthBatch(3, true)",
    "time(1 sec)",
    "timeBatch(1 sec)",
    "timeBatch(1 sec, 300)",
    "timeBatch(700, 0, true)",
    "timeLength(1 sec, 3)",
    "batch()",
    "batch(2)",
    "externalTime(at, 400)",
    "externalTimeBatch(at, 500)",
    "externalTimeBatch(at, 500, 0, 700)",
    "externalTimeBatch(at, 500, 0, 700, true)",
    "session(500, k)",
    "session(900, k, 300)",
    "sort(3, v, 'desc', k)",
    "frequent(2, k)",
    "lossyFrequent(0.4, 0.2, k)",
    "cron('*/2 * * * * ?')",
    "delay(700)",
    "expression('count() <= 3')",
    "expression('sum(v) < 20 and last.at - first.at < 2000')",
    "expressionBatch('count() <= 3')",
    "expressionBatch('last.k == first.k', true)",
]
NOT_IN_JOINS = ("batch()", "batch(2)", "delay(700)")

AGGREGATES = [
    "sum(v) as x, sum(d) as y",
    "avg(v) as x, avg(d) as y",
    "count() as x, distinctCount(v) as y",
    "min(v) as x, max(d) as y",
    "minForever(v) as x, maxForever(d) as y",
    "stdDev(v) as x, stdDev(d) as y",
    "and(b) as x, or(b) as y",
    "sizeOfSet(unionSet(createSet(v))) as x",
    "ifThenElse(v > 3, sum(v), 0L) as x",
]

RATES = [
    "all every 3 events",
    "first every 3 events",
    "last every 3 events",
    "all every 1 sec",
    "first every 1 sec",
    "last every 1 sec",
    "snapshot every 1 sec",
]

PATTERNS = [
    "every e1=S -> e2=R[k == e1.k]",
    "every e1=S -> e2=R[k == e1.k] within 1 sec",
    "every (e1=S -> e2=S[v > e1.v])",
    "e1=S -> e2=R",
    "every e1=S<2:3> -> e2=R",
    "every e1=S -> not R[k == e1.k] for 1 sec",
    "every not S[v > 8] for 700 milliseconds -> e2=R",
    "not S for 2 sec",
    "every (e1=S and e2=R)",
    "every (e1=S[v > 3] or e2=R)",
    "e1=S -> not R and e3=S[v > 5]",
    "every e1=S, e2=S[v > e1.v]",
    "every e1=S+, e2=R",
    "every e1=S[v > 2]*, e2=S[v <= 2]",
    "e1=S?, e2=R",
]


def apps() -> Iterator[Any]:
    for window in WINDOW_CALLS:
        selected = "select k, sum(v) as s, min(d) as low, max(d) as high, count() as n"
        parts = f"""partition with (k of S) begin
            from S#window.{window} select k, avg(v) as mean, distinctCount(v) as n insert all events into Parts;
            end;"""
        plain = f"""from S#window.{window} select k, v, d insert all events into Plain;
            from S#window.{window} {selected} group by k insert all events into Groups;
            from S#window.{window}[v > 2] select v, d order by v limit 2 insert into Some;"""
        yield pytest.param(STREAMS + plain, (), id=f"window {window}")
        yield pytest.param(STREAMS + parts, (), id=f"window {window} in a partition")
        if window in NOT_IN_JOINS:
            continue
        join = f"""from S#window.{window} as a join R#window.length(2) as b on a.k == b.k
            select a.k as k, a.v as v, b.v as w insert all events into Joined;
            from S#window.{window} as a left outer join R#window.time(1 sec) as b on a.v > b.v
            select a.k as k, sum(b.v) as total group by a.k insert into Outer;"""
        yield pytest.param(STREAMS + join, (), id=f"window {window} in joins")
        named = f"""define window W (k string, v int, d double, at long, b bool) {window} output all events;
            from S insert into W;
            from W {selected} group by k insert all events into Groups;
            from R join W on R.k == W.k select W.v as v, R.k as k insert into Found;"""
        yield pytest.param(STREAMS + named, ("from W select k, v",), id=f"named window {window}")
    for aggregates in AGGREGATES:
        lines = "\n".join(
            f"from S{window} select k, {aggregates} {group} insert all events into O{number};"
            for number, (window, group) in enumerate(
                [("", ""), ("", "group by k"), ("#window.length(3)", "group by k"), ("#window.lengthBatch(2)", ""),
                 ("#window.time(1 sec)", "group by k, b having x is null or not (k is null)")]
            )
        )  # fmt: skip
        parts = f"partition with (k of S) begin from S select k, {aggregates} insert into P; end;"
        yield pytest.param(STREAMS + lines + parts, (), id=aggregates)
    for rate in RATES:
        lines = f"""from S select k, v output {rate} insert into A;
            from S select k, sum(v) as s group by k output {rate} insert into B;
            from S#window.length(2) select k, v output {rate} insert all events into C;
            from S#window.time(1 sec) select k, count() as n group by k output {rate} insert all events into D;
            from S#window.length(2) join R#window.length(2) on S.k == R.k select S.k as k, R.v as v output {rate} insert into E;
            partition with (k of S) begin
              from S select k, v output {rate} insert into F;
              from S#window.length(2) select b, sum(v) as s group by b output {rate} insert into G;
            end;"""
        yield pytest.param(STREAMS + lines, (), id=f"output {rate}")
    for pattern in PATTERNS:
        shown = ", ".join(f"{name}.v as {name}" for name in ("e1", "e2", "e3") if f"{name}=" in pattern) or "1 as one"
        lines = f"from {pattern} select {shown} insert into Found;"
        parts = f"partition with (k of S, k of R) begin from {pattern} select {shown} insert into Parts; end;"
        yield pytest.param(STREAMS + lines + parts, (), id=pattern)
    yield pytest.param(
        STREAMS
        + """define table T (k string, v int, n long);
        @primaryKey('k') @index('v') define table K (k string, v int, n long);
        from S select k, v, at as n insert into T;
        from S select k, v, 1L as n update or insert into K set K.n = K.n + 1L, K.v = v on K.k == k;
        from R delete T on T.v > v;
        from R[v > 5] delete K on K.v == v;
        from S[K.k == k in K] select k insert into Known;
        from R join T on R.k == T.k select R.k as k, T.v as v insert into Found;""",
        ("from T select *", "from K on v > 2 select *", "from K select k, n order by k"),
        id="tables",
    )
    yield pytest.param(
        STREAMS
        + """define aggregation A from S select k, sum(v) as total, avg(d) as mean, min(v) as low, count() as n
             group by k aggregate by at every sec...hour;
        define aggregation B from S select sum(d) as total, max(v) as high, stdDev(d) as spread aggregate every sec, min;
        from R join A on R.k == A.k within 0L, 100000000L per 'seconds' select A.k as k, A.total as total insert into Found;""",
        (
            "from A within 0L, 100000000L per 'seconds' select *",
            "from A within 0L, 100000000L per 'minutes' select k, total, n",
            "from B within 0L, 100000000L per 'minutes' select *",
        ),
        id="aggregations",
    )
    yield pytest.param(
        STREAMS
        + """define trigger Ticks at every 1 sec; define trigger Cron at '*/3 * * * * ?';
        from Ticks select triggered_time as at, count() as n insert into Seconds;
        from Cron#window.length(2) select sum(triggered_time) as s insert into Crons;""",
        (),
        id="triggers",
    )
    yield pytest.param(
        STREAMS
        + """@purge(enable = 'true', interval = '1 sec', idle.period = '2 sec')
        partition with (k of S, k of R) begin
          from S#window.length(3) select k, sum(v) as total insert into #Inner;
          from #Inner[total > 3L] select k, count() as n insert into Counts;
          from S#window.timeBatch(1 sec) join R#window.time(2 sec) on S.v > R.v select S.v as v, R.v as w insert into Joined;
          from every e1=S -> e2=R within 2 sec select e1.v as v, e2.v as w output last every 2 events insert into Found;
        end;
        partition with (v > 5 as 'high' or v <= 5 as 'low' of S) begin
          from S#window.time(1 sec) select v, max(d) as most insert all events into Ranges;
          from R#window.length(2) select k, count() as n insert into Unkeyed;
        end;""",
        (),
        id="partitions",
    )
    yield pytest.param(
        STREAMS
        + """from S#window.length(2) select k, v insert all events into Mid;
        from Mid#window.timeBatch(1 sec) select k, sum(v) as v insert all events into Further;
        from Further[v > 2L]#window.delay(500) select k, v insert into Last;
        from (from S#window.length(2) select k, v return)#window.lengthBatch(2) select k, sum(v) as v insert into Inside;""",
        (),
        id="one behind another",
    )


ROWS = {
    "S": st.tuples(
        st.sampled_from(["a", "b", "c", None]),
        st.integers(0, 9) | st.none(),
        st.sampled_from([-1.5, 0.0, 0.25, 3.0, 8.5, None]),
        st.integers(0, 5000),
        st.booleans(),
    ),
    "R": st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 9)),
}


@st.composite
def steps(draw: st.DrawFn) -> list[Step]:
    """Events whose time goes on, now and then by a leap or back a little."""
    clock = 10_000
    found: list[Step] = []
    for _ in range(draw(st.integers(0, 25))):
        clock += draw(st.sampled_from([0, 0, 1, 60, 250, 400, 1_700]))
        stream = draw(st.sampled_from(["S", "S", "S", "R"]))
        rows = draw(st.lists(ROWS[stream], min_size=1, max_size=draw(st.sampled_from([1, 1, 1, 4]))))
        if stream == "S":
            rows = [(*row[:3], clock - row[3] % 3 * 100, row[4]) for row in rows]
        found.append((stream, clock - draw(st.sampled_from([0, 0, 0, 30])), rows))
        if draw(st.integers(0, 9)) == 0:
            clock += 500
            found.append(("clock", clock))
    return [*found, ("clock", clock + 3_000)]


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Any]:
    with other_process() as played:
        yield played


@pytest.mark.parametrize(("app", "asks"), list(apps()))
def test_a_restored_app_continues_in_a_new_process(elsewhere: Any, app: str, asks: tuple[str, ...]) -> None:
    @settings(max_examples=max(5, settings().max_examples // 10))
    @given(steps=steps(), data=st.data())
    def same(steps: list[Step], data: st.DataObject) -> None:
        middle = data.draw(st.integers(0, len(steps)))
        steps = [*steps, *(("ask", text) for text in asks)]
        whole, _ = play(app, None, steps)
        first, state = play(app, None, steps[:middle])
        rest, _ = elsewhere(app, state, steps[middle:])
        assert first + rest == whole

    same()


def test_the_cases_contain_every_window_and_aggregator() -> None:
    windows = {call.partition("(")[0] for call in WINDOW_CALLS}
    assert {window.name for window in WINDOWS} <= windows
    aggregates = " ".join(AGGREGATES)
    assert [found.name for found in AGGREGATORS if f"{found.name}(" not in aggregates] == []
