"""Laws of the temporal algebra: the engine against definitions over whole histories, in any physical form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import AttributeType, extension
from siddhi.temporal import MAX, TemporalEvent
from tests.kit.running import running
from tests.oracles import temporal as oracle
from tests.oracles.temporal import History, Row

STREAMS = """
@temporal(model = 'edge') define stream A (id int, value int);
@temporal(model = 'edge') define stream B (id int, value int);
"""
EDGE_OUT = "@temporal(model = 'edge') define stream Out ({});"
POINT_OUT = "@temporal(model = 'point') define stream Out ({});"

Item = tuple[int, str, tuple[Any, ...]]
"""Sync time, method of the handler, arguments."""


def same_id(left: Row, right: Row) -> bool:
    return left[0] is not None and left[0] == right[0]


def latest(a: History) -> int:
    return max([time for start, end, _ in a for time in (start + 1, end) if time != MAX], default=0)


AGGREGATES = "count() as n, sum(value) as s, avg(value) as a, min(value) as low, max(value) as high"
MORE_AGGREGATES = (
    "distinctCount(value) as d, stdDev(value) as sd, and(value > 3) as every_, or(value > 3) as any_, "
    "sizeOfSet(unionSet(createSet(id))) as ids"
)


@extension.aggregator("temporalLaws:inOrder", args=(AttributeType.INT,), returns=AttributeType.STRING)
class InOrder:
    """Values as text, in the order in which they were added."""

    def __init__(self) -> None:
        self.values: list[str] = []

    def add(self, value: int | None) -> None:
        self.values.append("-" if value is None else str(value))

    def remove(self, value: int | None) -> None:
        raise AssertionError("a window that leaves in any order removes nothing")

    def reset(self) -> None:
        self.values = []

    def value(self) -> str:
        return " ".join(self.values)


@extension.aggregator("temporalLaws:total", args=(AttributeType.INT,), returns=AttributeType.INT, any_order=True)
class Total:
    """The sum, by adding and removing."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, value: int | None) -> None:
        self.total += value or 0

    def remove(self, value: int | None) -> None:
        self.total -= value or 0

    def reset(self) -> None:
        self.total = 0

    def value(self) -> int:
        return self.total


Expected = Callable[[History, History, int], History]
"""From both streams and the latest CTI of A before the last one."""
OPERATORS: dict[str, tuple[str, Expected]] = {
    "filter": (
        "from A[value > 3] select *",
        lambda a, _, known: [one for one in a if one[2][1] is not None and one[2][1] > 3],
    ),
    "project": (
        "from A select id, eventStart() as at",
        lambda a, _, known: oracle.ordered((s, e, (row[0], s)) for s, e, row in a),
    ),
    "shift": ("from A#temporal:shift(-7) select *", lambda a, _, known: oracle.shift(a, -7)),
    "there and back": ("from A#temporal:shift(9)#temporal:shift(-9) select *", lambda a, _, known: a),
    "duration": (
        "from A#temporal:alterDuration(5) select *",
        lambda a, _, known: oracle.alter(a, lambda s: s, lambda *_: 5),
    ),
    "duration of the end": (
        "from A#temporal:alterDuration((eventEnd() - eventStart()) * 2) select *",
        lambda a, _, known: oracle.alter(a, lambda s: s, lambda s, e, _: MAX if e == MAX else 2 * (e - s)),
    ),
    "lifetime on a grid": (
        "from A#temporal:alterLifetime(temporal:floor(eventStart(), 4), 4) select *",
        lambda a, _, known: oracle.alter(a, lambda s: s // 4 * 4, lambda *_: 4),
    ),
    "clip": ("from A#temporal:clip(B, id == B.id) select *", lambda a, b, known: oracle.clip(a, b, same_id)),
    "clip by a condition": (
        "from A#temporal:clip(B, value < B.value) select *",
        lambda a, b, known: oracle.clip(a, b, lambda x, y: None not in (x[1], y[1]) and x[1] < y[1]),
    ),
    "signal": (
        "from A#temporal:pointToSignal(id) select *",
        lambda a, _, known: oracle.clip([(s, MAX, row) for s, _, row in a], a, same_id_or_both_null),
    ),
    "join": (
        "from A join B on A.id == B.id select A.id as i, A.value as x, B.id as j, B.value as y",
        lambda a, b, known: oracle.join(a, b, same_id),
    ),
    "anti join": (
        "from A#temporal:antiJoin(B, id == B.id) select *",
        lambda a, b, known: oracle.anti_join(a, b, same_id),
    ),
    "left outer join": (
        "from A left outer join B on A.id == B.id select A.id as i, A.value as x, B.id as j, B.value as y",
        lambda a, b, known: oracle.left_outer(a, b, same_id, 2),
    ),
    "full outer join": (
        "from A full outer join B on A.id == B.id select A.id as i, A.value as x, B.id as j, B.value as y",
        lambda a, b, known: oracle.ordered(
            [
                *oracle.left_outer(a, b, same_id, 2),
                *((s, e, (None, None, *row)) for s, e, row in oracle.anti_join(b, a, same_id)),
            ]
        ),
    ),
    "union": ("from A select * insert into Out; from B select *", lambda a, b, known: oracle.ordered([*a, *b])),
    "snapshot": (
        f"from A#window.snapshot() select {AGGREGATES}",
        lambda a, _, known: oracle.snapshot(a, oracle.aggregates(1)),
    ),
    "snapshot by group": (
        "from A#window.snapshot() select id, sum(value) as s group by id",
        lambda a, _, known: oracle.grouped(
            a,
            lambda row: row[0],
            lambda group: [(s, e, (group[0][2][0], r[1])) for s, e, r in oracle.snapshot(group, oracle.aggregates(1))],
        ),
    ),
    "top": (
        "from A#window.snapshot() select id, value, temporal:rank() as rank order by value desc limit 2",
        lambda a, _, known: oracle.snapshot(a, oracle.top(1, 2)),
    ),
    "hopping": (
        f"from A#window.hopping(10, 4, 1) select {AGGREGATES}",
        lambda a, _, known: oracle.hopping(a, 10, 4, 1, oracle.aggregates(1), max(latest(a), known)),
    ),
    "hopping with gaps": (
        f"from A#window.hopping(3, 7, 0, 'clip') select {AGGREGATES}",
        lambda a, _, known: oracle.hopping(a, 3, 7, 0, oracle.aggregates(1), max(latest(a), known), is_clip=True),
    ),
    "time-weighted average": (
        "from A#window.tumbling(8, 0, 'clip') select temporal:timeWeightedAvg(value) as x",
        lambda a, _, known: oracle.hopping(
            a, 8, 8, 0, oracle.time_weighted(1, covered=False), max(latest(a), known), is_clip=True
        ),
    ),
    "average over the covered time": (
        "from A#window.hopping(8, 3, 0, 'clip') select temporal:timeWeightedAvg(value, 'covered') as x",
        lambda a, _, known: oracle.hopping(
            a, 8, 3, 0, oracle.time_weighted(1, covered=True), max(latest(a), known), is_clip=True
        ),
    ),
    "weighted average of counted starts": (
        "from A#window.countByStartTime(2) select temporal:timeWeightedAvg(value) as x",
        lambda a, _, known: oracle.count_by_start(a, 2, oracle.time_weighted(1, covered=False)),
    ),
    "weighted average by group": (
        "from A#window.hopping(5, 2, 0, 'clip') select id, temporal:timeWeightedAvg(value, 'covered') as x group by id",
        lambda a, _, known: oracle.grouped(
            a,
            lambda row: row[0],
            lambda group: [
                (s, e, (group[0][2][0], *row))
                for s, e, row in oracle.hopping(
                    group, 5, 2, 0, oracle.time_weighted(1, covered=True), max(latest(a), known), is_clip=True
                )
            ],
        ),
    ),
    "count by start": (
        f"from A#window.countByStartTime(2) select {AGGREGATES}",
        lambda a, _, known: oracle.count_by_start(a, 2, oracle.aggregates(1)),
    ),
    "other aggregates": (
        f"from A#window.hopping(9, 4) select {MORE_AGGREGATES}",
        lambda a, _, known: oracle.hopping(a, 9, 4, 0, oracle.more_aggregates, max(latest(a), known)),
    ),
    "other aggregates of snapshots": (
        f"from A#window.snapshot() select {MORE_AGGREGATES}",
        lambda a, _, known: oracle.snapshot(a, oracle.more_aggregates),
    ),
    "aggregators of extensions": (
        "from A#window.snapshot() select temporalLaws:inOrder(value) as x, temporalLaws:total(value) as s",
        lambda a, _, known: oracle.ordered(
            (s, e, (x, sum(row[1] or 0 for begin, over, row in a if begin < e and s < over)))
            for s, e, (x,) in oracle.snapshot(a, oracle.in_order)
        ),
    ),
    "an aggregator of an extension by group": (
        "from A#window.countByStartTime(2) select id, temporalLaws:inOrder(value) as x group by id having id > 0",
        lambda a, _, known: oracle.grouped(
            [one for one in a if one[2][0] > 0],
            lambda row: row[0],
            lambda group: [
                (s, e, (group[0][2][0], *row)) for s, e, row in oracle.count_by_start(group, 2, oracle.in_order)
            ],
        ),
    ),
    "filter behind a snapshot window": (
        f"from A#window.snapshot()[value >= 3] select {AGGREGATES}",
        lambda a, _, known: oracle.snapshot(a, oracle.having_large(oracle.aggregates(1), 3)),
    ),
    "filter behind a hopping window": (
        f"from A[id < 2]#window.hopping(9, 4)[value > 1][value >= 3] select {AGGREGATES}",
        lambda a, _, known: oracle.hopping(
            (seen := [one for one in a if one[2][0] < 2]),
            9,
            4,
            0,
            oracle.having_large(oracle.aggregates(1), 3),
            max(latest(seen), known),
        ),
    ),
    "filter behind counted starts": (
        "from A#window.countByStartTime(3)[value >= 3] select temporal:timeWeightedAvg(value) as x",
        lambda a, _, known: oracle.count_by_start(a, 3, oracle.having_large(oracle.time_weighted(1, covered=False), 3)),
    ),
    "top of the rows of a having": (
        "from A#window.snapshot() select id, value, temporal:rank() as rank having value >= 3 order by value limit 2",
        lambda a, _, known: oracle.snapshot(a, oracle.having_large(oracle.top(1, 2, ascending=True), 3)),
    ),
    "top behind a filter": (
        "from A#window.hopping(9, 4)[value >= 3] select id, value, temporal:rank() as rank order by value desc limit 2",
        lambda a, _, known: oracle.hopping(a, 9, 4, 0, oracle.having_large(oracle.top(1, 2), 3), max(latest(a), known)),
    ),
    "having": (
        "from A#window.snapshot() select count() as n, sum(value) as s having n > 1",
        lambda a, _, known: [(s, e, r[:2]) for s, e, r in oracle.snapshot(a, oracle.aggregates(1)) if r[0] > 1],
    ),
}


def same_id_or_both_null(left: Row, right: Row) -> bool:
    """Compare keys of a stream with itself: the readings without an id follow one another, too."""
    return bool(left[0] == right[0])


values = st.one_of(st.none(), st.integers(0, 8))
rows = st.tuples(st.integers(0, 2), values)
times = st.integers(-12, 40)


@st.composite
def histories(draw: st.DrawFn, most: int = 8) -> History:
    starts = draw(st.lists(st.tuples(times, st.one_of(st.integers(1, 15), st.just(0)), rows), max_size=most))
    return oracle.ordered((start, start + length if length else MAX, row) for start, length, row in starts)


@st.composite
def physical(draw: st.DrawFn, told: History) -> list[tuple[str, tuple[Any, ...]]]:
    """Tell a history in a random form and order, with random CTIs that promise nothing wrong."""
    items: list[Item] = []
    chains: list[list[Item]] = []
    for start, end, row in told:
        form = draw(st.sampled_from(["insert", "edges", "retract"]))
        if form == "insert":
            chains.append([(start, "insert", (start, end, row))])
        elif form == "edges":
            chains.append([(start, "start_edge", (start, row))])
            if end != MAX:
                chains[-1].append((end, "end_edge", (start, end, row)))
        else:
            other = start + draw(st.integers(1, 20))
            chains.append([(start, "insert", (start, other, row))])
            if other != end:
                # An end at the CTI is final: a RETRACT that lengthens must come before it.
                chains[-1].append((min(other - 1, end), "retract", (start, other, end, row)))
    while chains:
        at = draw(st.integers(0, len(chains) - 1))
        items.append(chains[at].pop(0))
        if not chains[at]:
            del chains[at]
    sent: list[tuple[str, tuple[Any, ...]]] = []
    for number, (_, method, arguments) in enumerate(items):
        sent.append((method, arguments))
        rest = min([time for time, _, _ in items[number + 1 :]], default=60)
        if draw(st.booleans()):
            sent.append(("cti", (draw(st.integers(min(-15, rest), rest)),)))
    return sent


def played(app: str, streams: dict[str, list[tuple[str, tuple[Any, ...]]]], turns: list[str]) -> list[TemporalEvent]:
    """Send the items of each stream, stream by stream as `turns` says; then CTI MAX on all of them."""
    shown: list[TemporalEvent] = []
    waiting = {stream: list(items) for stream, items in streams.items()}
    with running(app) as runtime:
        runtime.add_temporal_callback("Out", shown.extend)
        for stream in [*turns, *(stream for stream, items in streams.items() for _ in items)]:
            if waiting[stream]:
                method, arguments = waiting[stream].pop(0)
                getattr(runtime.input_handler(stream), method)(*arguments)
        for stream in streams:
            runtime.input_handler(stream).cti(MAX)  # type: ignore[union-attr]
    return shown


def close(want: History, got: History) -> bool:
    return len(want) == len(got) and all(
        a[:2] == b[:2] and len(a[2]) == len(b[2]) and all(map(same_value, a[2], b[2]))
        for a, b in zip(want, got, strict=True)
    )


def same_value(want: Any, got: Any) -> bool:
    if isinstance(want, float) and isinstance(got, float):
        return math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-12) or (math.isnan(want) and math.isnan(got))
    return bool(want == got)


FEW = settings(max_examples=max(5, (settings.default or settings()).max_examples // 6))
"""For a law that is tested once per operator."""


@pytest.mark.parametrize("name", OPERATORS)
@FEW
@given(data=st.data())
def test_operators_equal_their_definitions_in_any_form_and_order(name: str, data: st.DataObject) -> None:
    query, expected = OPERATORS[name]
    a, b = data.draw(histories()), data.draw(histories())
    streams = {"A": data.draw(physical(a)), "B": data.draw(physical(b))}
    turns = data.draw(st.lists(st.sampled_from("AB"), max_size=20))
    shown = played(f"{STREAMS}{query} insert into Out;", streams, turns)
    known = max((arguments[0] for method, arguments in streams["A"] if method == "cti"), default=-100)
    want, got = expected(a, b, known), oracle.history(shown)
    assert close(want, got), (want, got)
    keep_promises(shown)


def keep_promises(shown: list[TemporalEvent]) -> None:
    """Check what an interval stream promises: after CTI c only lifetimes that end at or after c, and CTIs that increase."""
    cti = None
    for item in shown:
        if item.kind == "cti":
            assert cti is None or item.start > cti
            cti = item.start
        else:
            assert cti is None or (item.end is not None and item.end >= cti)


@given(data=st.data())
def test_output_models_tell_the_same_history(data: st.DataObject) -> None:
    a = data.draw(histories())
    items = {"A": data.draw(physical(a))}
    query = "from A#window.snapshot() select count() as n, sum(value) as s insert into Out;"
    shape = "n long, s long"
    interval = oracle.history(played(STREAMS + query, items, []))
    edges = oracle.history(played(STREAMS + EDGE_OUT.format(shape) + query, items, []))
    points = oracle.history(played(STREAMS + POINT_OUT.format(shape) + query, items, []))
    assert interval == edges
    assert oracle.ordered((start, start + 1, row) for start, _, row in interval) == points


IN_ANY_ORDER = {
    "groups": "from A#window.snapshot() select id, count() as n group by id insert into Out;",
    "aggregates": f"from A#window.hopping(9, 4)[id > 0] select {MORE_AGGREGATES} insert into Out;",
    "an aggregator of an extension": """
        from A#window.snapshot() select temporalLaws:inOrder(value) as x, temporalLaws:total(value) as s insert into Out;
        """,
    "top": """
        from A#window.snapshot() select id, value, temporal:rank() as rank having id > 0 order by value limit 2
        insert into Out;
        """,
    "a partition": """
        partition with (id of A) begin
        from A#window.countByStartTime(2) select sum(value) as s insert into #Mid;
        from #Mid#temporal:alterDuration(5)#window.snapshot() select max(s) as s insert into Out;
        end;
        """,
}


@pytest.mark.parametrize("name", IN_ANY_ORDER)
@FEW
@given(data=st.data())
def test_items_between_two_ctis_may_come_in_any_order(name: str, data: st.DataObject) -> None:
    a = data.draw(histories())
    batches = data.draw(st.lists(st.integers(0, 40), max_size=4, unique=True).map(sorted))
    starts = [*batches, MAX]
    first: list[tuple[str, tuple[Any, ...]]] = []
    second: list[tuple[str, tuple[Any, ...]]] = []
    before = None
    for cti in starts:
        batch = [("insert", one) for one in a if (before is None or one[0] >= before) and (one[0] < cti or cti == MAX)]
        first += batch
        second += data.draw(st.permutations(batch))
        before = cti
        if cti != MAX:
            first.append(("cti", (cti,)))
            second.append(("cti", (cti,)))
    app = STREAMS + IN_ANY_ORDER[name]
    assert played(app, {"A": first}, []) == played(app, {"A": second}, [])


@given(data=st.data())
def test_classical_queries_see_one_order_whatever_the_arrival(data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(0, 60), unique=True, max_size=12))
    points = [(start, (number % 3, number)) for number, start in enumerate(sorted(starts))]
    assert tape_of(points) == tape_of(data.draw(st.permutations(points)))


def tape_of(points: list[tuple[int, Row]]) -> list[Any]:
    """Return what classical queries emit for points in this order of arrival."""
    tape: list[Any] = []
    app = """
    @temporal(model = 'point') define stream S (id int, value int);
    from S#window.time(9) select id, sum(value) as total insert all events into T;
    from every e1 = S[id == 0] -> not S[id == 1] for 5 millisec select e1.value as value insert into N;
    """
    with running(app) as runtime:
        runtime.add_callback("T", lambda events: tape.extend(("T", e.timestamp, e.data, e.is_expired) for e in events))
        runtime.add_callback("N", lambda events: tape.extend(("N", e.timestamp, e.data) for e in events))
        handler: Any = runtime.input_handler("S")
        for start, row in points:
            handler.point(start, row)
        handler.cti(30)
        handler.cti(MAX)
    return tape


TIED = """
@temporal(model = 'point', ties = 'payload') define stream S (id int, name string);
@temporal(model = 'point', ties = 'payload') define stream R (id int, name string);
from S#window.length(3) select id, name, count() as n insert all events into Out;
from every e1 = S -> e2 = R select e1.id, e2.name, 0L as n insert into Out;
"""
TIED_ROW = st.tuples(
    st.integers(0, 4), st.tuples(st.none() | st.integers(0, 2), st.none() | st.sampled_from(["a", "b"]))
)


@given(data=st.data())
def test_ties_by_payload_make_events_of_one_start_independent_of_arrival(data: st.DataObject) -> None:
    items = data.draw(st.lists(st.tuples(st.sampled_from("RS"), TIED_ROW), max_size=10))
    assert tied(items) == tied(data.draw(st.permutations(items)))


def tied(items: list[tuple[str, tuple[int, tuple[int | None, str | None]]]]) -> list[Any]:
    """Return what classical queries emit for points of two streams in this order of arrival."""
    tape: list[Any] = []
    with running(TIED) as runtime:
        runtime.add_callback("Out", lambda events: tape.extend((e.timestamp, e.data, e.is_expired) for e in events))
        for stream, (start, row) in items:
            runtime.input_handler(stream).point(start, row)  # type: ignore[union-attr]
        for cti in (2, MAX):
            for stream in "SR":
                runtime.input_handler(stream).cti(cti)  # type: ignore[union-attr]
    return tape


@pytest.mark.parametrize(
    ("ties", "order"), [("arrival", [(3, 1), (1, 2), (2, 2)]), ("payload", [(1, 2), (2, 2), (3, 1)])]
)
def test_ties_come_in_order_of_arrival_or_of_rows(ties: str, order: list[Row]) -> None:
    app = f"""
    @temporal(model = 'point', ties = '{ties}') define stream S (id int, v int);
    @temporal(model = 'point') define stream R (id int, v int);
    from S#window.length(1) select id, v insert into Out; from R#window.length(1) select id, v insert into Out;
    """
    with running(app) as runtime:
        rows: list[Any] = []
        runtime.add_callback("Out", lambda events: rows.extend(event.data for event in events))
        s: Any = runtime.input_handler("S")
        r: Any = runtime.input_handler("R")
        for row in [(3, 1), (1, 2), (2, 2)]:
            s.point(5, row)
        r.point(5, (0, 0))
        s.cti(6)
        r.cti(6)
    # Streams whose ties are in order of arrival come first.
    assert rows == ([*order, (0, 0)] if ties == "arrival" else [(0, 0), *order])
