"""Partitions of temporal streams: the queries of a partition answer as one app per key would."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.query_compiler import parse
from siddhi.runtime.debugger import QueryTerminal, SiddhiDebugger
from siddhi.temporal import MAX
from tests.kit.running import running
from tests.oracles import temporal as oracle
from tests.oracles.temporal import History
from tests.runtime.temporal.test_laws import STREAMS, Item, histories, keep_promises, physical, played
from tests.runtime.temporal.test_state import send, tapes, watch

THREE = STREAMS + "@temporal(model = 'edge') define stream C (id int, value int);"
FEW = settings(max_examples=max(4, (settings.default or settings()).max_examples // 12))
BODIES = {
    "filter and lifetimes": "from A[value > 2]#temporal:alterDuration((eventEnd() - eventStart()) * 2) "
    "select value, eventStart() as at insert into Out;",
    "snapshot": "from A#window.snapshot() select count() as n, sum(value) as s, min(value) as least insert into Out;",
    "value of the key": "from A#window.snapshot() select id, count() as n insert into Out;",
    "groups": "from A#window.snapshot() select value, count() as n group by value insert into Out;",
    "top": "from A#window.snapshot() select value, temporal:rank() as rank order by value desc limit 2 insert into Out;",
    "rows": "from A#window.hopping(6, 6) select * insert into Out;",
    "hopping": "from A#window.hopping(10, 4, 1, 'clip') select temporal:timeWeightedAvg(value) as x insert into Out;",
    "counted starts": "from A#window.countByStartTime(2) select sum(value) as s insert into Out;",
    "signal": "from A#temporal:pointToSignal() select * insert into Out;",
    "clip": "from A#temporal:clip(B, value <= B.value) select * insert into Out;",
    "join": "from A join B on A.value < B.value select A.id as i, A.value as x, B.value as y insert into Out;",
    "join of all": "from A join C select A.id as i, A.value as x, C.value as y insert into Out;",
    "anti join of all": "from A#temporal:antiJoin(C, value == C.value) select * insert into Out;",
    "left outer": "from A left outer join C on A.value == C.value select A.id as i, C.id as j insert into Out;",
    "inner streams": """
        from A#window.snapshot() select sum(value) as s insert into #Mid;
        from #Mid as m full outer join B on m.s >= B.value select m.s as s, B.value as y insert into #Next;
        from #Next#window.snapshot() select count() as n, max(y) as y insert into Out;
        """,
    "union": """
        from A select value insert into #Mid;
        from B#temporal:shift(3) select value insert into #Mid;
        from #Mid#window.snapshot() select avg(value) as x insert into Out;
        """,
    "clip by an inner stream": """
        from B[value > 3] select value insert into #Mid;
        from A#temporal:clip(Mid, value >= Mid.value) select * insert into #Next;
        from #Next#temporal:clipByNext(value) select * insert into Out;
        """,
}
KEYS = "partition with (id of A, id of B) begin {} end;"


def told(history: History, data: st.DataObject) -> list[tuple[str, tuple[Any, ...]]]:
    """Tell a history, up to a CTI behind all of its times: windows over rows without end go as far as that."""
    return [*data.draw(physical(history)), ("cti", (100,))]


def alone(body: str) -> str:
    """Return the queries without their partition."""
    if "id, count() as n" in body:
        body = body.replace("as n", "as n group by id")
    return body.replace("#Mid", "Mid").replace("#Next", "Next")


@pytest.mark.parametrize("name", BODIES)
@FEW
@given(data=st.data())
def test_a_partition_equals_one_app_per_key(name: str, data: st.DataObject) -> None:
    body = BODIES[name]
    a, b, c = (data.draw(histories(6)) for _ in "ABC")
    turns = data.draw(st.lists(st.sampled_from("ABC"), max_size=20))
    streams = {"A": told(a, data), "B": told(b, data), "C": told(c, data)}
    shown = played(THREE + KEYS.format(body), streams, turns)
    keep_promises(shown)
    want: History = []
    for key in range(3):
        of_key = {
            stream: [("insert", one) for one in history if stream == "C" or one[2][0] == key] + [("cti", (100,))]
            for stream, history in {"A": a, "B": b, "C": c}.items()
        }
        want += oracle.history(played(THREE + alone(body), of_key, []))
    assert oracle.history(shown) == oracle.ordered(want)


RANGES = "partition with (value < 5 as 'low' or value >= 3 as 'high' of A) begin {} end;"


@FEW
@given(data=st.data())
def test_a_row_belongs_to_each_range_that_it_is_in(data: st.DataObject) -> None:
    a = data.draw(histories())
    body = "from A#window.snapshot() select count() as n, sum(value) as s insert into Out;"
    shown = played(THREE + RANGES.format(body), {"A": told(a, data)}, [])
    low = [one for one in a if one[2][1] is not None and one[2][1] < 5]
    high = [one for one in a if one[2][1] is not None and one[2][1] >= 3]
    results = [one for rows in (low, high) for one in oracle.snapshot(rows, oracle.aggregates(1))]
    want = [(start, end, row[:2]) for start, end, row in results]
    assert oracle.history(shown) == oracle.ordered(want)


@pytest.mark.parametrize("name", ["inner streams", "counted starts", "left outer"])
@FEW
@given(data=st.data())
def test_a_restored_partition_goes_on(name: str, data: st.DataObject) -> None:
    app, tape = THREE + KEYS.format(BODIES[name]), [*data.draw(tapes()), ("C", "cti", (MAX,))]
    middle = data.draw(st.integers(0, len(tape)))
    with running(app) as runtime:
        shown = watch(runtime)
        send(runtime, tape[:middle])
        snapshot = runtime.snapshot()
        before = len(shown)
        send(runtime, tape[middle:])
    with running(app) as runtime:
        again = watch(runtime)
        runtime.restore(snapshot)
        send(runtime, tape[middle:])
        assert again == shown[before:]


def rows_of(app: str, *items: Item | tuple[str, tuple[Any, ...]]) -> list[Any]:
    return [item[3] for item in played(app, {"S": [*items]}, []) if item.kind != "cti"]  # type: ignore[list-item]


def test_rows_without_a_key_are_left_out() -> None:
    app = """
    @temporal(model = 'interval') define stream S (id string, v int);
    partition with (id of S) begin from S#window.snapshot() select sum(v) as s insert into Out; end;
    """
    assert rows_of(app, ("insert", (1, 5, (None, 1))), ("insert", (1, 5, ("a", 2)))) == [(2,)]


def test_keys_of_several_types_are_compared_as_text() -> None:
    app = """
    @temporal(model = 'interval') define stream S (id int, v int);
    @temporal(model = 'interval') define stream T (name string);
    from S select convert(id, 'string') as name insert into T;
    partition with (id of S, name of T) begin
    from S join T select S.id as id, T.name as name insert into Out;
    end;
    """
    assert rows_of(app, ("insert", (1, 5, (7, 1))), ("insert", (1, 5, (8, 2)))) == [(7, "7"), (8, "8")]


def test_classical_queries_of_a_partition_get_the_rows_in_order() -> None:
    app = """
    @temporal(model = 'point') define stream S (id int, v int);
    partition with (id of S) begin from S#window.length(2) select id, sum(v) as total insert into Sums; end;
    """
    with running(app) as runtime:
        rows: list[Any] = []
        runtime.add_callback("Sums", lambda events: rows.extend(event.data for event in events))
        handler: Any = runtime.input_handler("S")
        for time, row in ((9, (1, 40)), (3, (1, 10)), (5, (2, 5)), (6, (1, 20))):
            handler.point(time, row)
        handler.cti(MAX)
    assert rows == [(1, 10), (2, 5), (1, 30), (1, 60)]


APP = """
@temporal(model = 'interval') define stream S (id int, v int);
partition with (id of S) begin
@info(name = 'sums') from S#window.snapshot() select sum(v) as s insert into #Sums;
@info(name = 'counts') from #Sums#window.snapshot() select count() as n insert into Out;
end;
"""


def test_explain_shows_keys_and_inner_streams() -> None:
    text = explain(plan(parse(APP)))
    assert "partition partition_0 [temporal], key int\n  key of stream S: id" in text
    assert "stream partition_0/#Sums (s long, #key int)" in text
    assert "from temporal stream partition_0/#Sums" in text


def test_queries_of_a_temporal_partition_can_be_debugged() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(APP)
        debugger = runtime.debug()
        stops: list[Any] = []

        def stop(items: list[Any], query: str, terminal: QueryTerminal, same: SiddhiDebugger) -> None:
            stops.append((query, terminal.value, *((item.kind, item.start) for item in items)))
            same.play()

        debugger.set_debugger_callback(stop)
        debugger.acquire_break_point("partition_0/counts", "IN")
        handler: Any = runtime.input_handler("S")
        handler.insert(1, 4, (1, 2))
        handler.cti(3)
        handler.cti(4)
    assert stops == [
        ("partition_0/counts", "IN", ("start", 1)),
        ("partition_0/counts", "IN", ("cti", 3)),
        ("partition_0/counts", "IN", ("end", 1)),
        ("partition_0/counts", "IN", ("cti", 4)),
    ]


S = "@temporal(model = 'interval') define stream S (id int, v int);"
T = "@temporal(model = 'interval') define stream T (id int, v int);"
INTO = "insert into Out; end;"


@pytest.mark.parametrize(
    ("app", "message"),
    [
        (f"{S}@limit(keys = '5') partition with (id of S) begin from S select v {INTO}",
         "@limit of a temporal partition"),
        (f"{S} partition with (id of S) begin from S select v insert into P; from S#window.length(2) select v {INTO}",
         "partition 'partition_0' has temporal queries, and query 'query_2' is classical"),
        (f"{S}{T} partition with (id of S) begin from T select v {INTO}", "stream 'T' has no partition key"),
        (f"{S}{T} partition with (id of S) begin from S right outer join T select S.v as v {INTO}",
         "stream 'T' has no partition key"),
        (f"{S}{T} partition with (id of S) begin from S join T#temporal:clip(S) select S.v as v {INTO}",
         "stream 'T' has no partition key"),
        (f"{S} define table P (id int); partition with ((S.id == P.id) in P as 'known' of S) begin from S select v {INTO}",
         "reads a table"),
        (f"{S} partition with (currentTimeMillis() of S) begin from S select v {INTO}", "reads the clock"),
        (f"{S} partition with (sum(v) of S) begin from S select v {INTO}", "reads an aggregator"),
        (f"{S} partition with (id of S) begin from S select v insert into #P; from #P select v insert into #P; end;",
         "can't insert into its own input '#P'"),
    ],
)  # fmt: skip
def test_a_partition_refuses_by_name(app: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message) as caught:
        plan(parse(app))
    assert caught.value.span is not None
    assert caught.value.hint or "own input" in message
