"""Incremental aggregators of extensions in running apps: every way an aggregation is read, stores, snapshots, failures."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager, extension
from siddhi._core.record.event import live_events
from siddhi.errors import CannotRestoreStateError, OnDemandQueryCreationError
from siddhi.extension import BaseAttribute, IncrementalAttributeAggregator, Registry
from siddhi.query_api import Attribute
from siddhi.types import AttributeType
from tests.kit.incremental import DOUBLE, LONG, NUMBERS, manager
from tests.kit.running import collect, running

APP = """@app:name('custom') @app:playback define stream S (g string, v int, d double, ts long);
define stream Q (g string);
@purge(enable = 'false') {store}
define aggregation A from S
select g, my:spread(v) as spread, my:geometricMean(d) as mean, my:weightedMean(d, v) as weighted, count() as n
group by g aggregate {by} every sec ... hour;
from Q left outer join A on Q.g == A.g within 0L, 10000000000L per 'min'
select Q.g as g, A.spread as spread, A.mean as mean insert into O;
"""
ROWS: list[tuple[int, int, tuple[str | None, int | None, float | None]]] = [
    (1_000, 1_000, ("x", 4, 2.0)),
    (1_200, 1_200, ("y", 7, 5.0)),
    (2_000, 1_300, ("x", 1, 8.0)),  # late by its own time
    (61_000, 1_100, ("x", 9, None)),
    (62_000, 62_000, (None, None, 3.0)),
    (63_000, 62_500, (None, 2, 12.0)),
]


def send(runtime: SiddhiAppRuntime, rows: list[Any] = ROWS) -> None:
    for clock, time, values in rows:
        runtime.input_handler("S").send((*values, time), clock)


def ask(runtime: SiddhiAppRuntime, per: str, on: str = "", select: str = "*") -> list[tuple[Any, ...]]:
    found = runtime.query(f"from A {on} within 0L, 10000000000L per '{per}' select {select}")
    rows = [tuple(round(v, 9) if isinstance(v, float) else v for v in event.data) for event in found]
    return sorted(rows, key=repr)


def test_results_of_groups_and_late_events() -> None:
    with running(APP.format(store="", by="by ts"), manager=manager()) as runtime:
        send(runtime)
        assert ask(runtime, "sec") == [
            (1000, "x", 8, 4.0, 3.2, 3),
            (1000, "y", 0, 5.0, 5.0, 1),
            (62000, None, 0, 6.0, 12.0, 2),
        ]
        assert ask(runtime, "hour") == [
            (0, "x", 8, 4.0, 3.2, 3),
            (0, "y", 0, 5.0, 5.0, 1),
            (0, None, 0, 6.0, 12.0, 2),
        ]


def test_without_aggregate_by_the_order_of_arrival_decides() -> None:
    with running(APP.format(store="", by=""), manager=manager()) as runtime:
        send(runtime)
        assert ask(runtime, "min", "on g == 'x'") == [(0, "x", 3, 4.0, 3.2, 2), (60000, "x", 0, None, None, 1)]
        assert ask(runtime, "hour", select="max(spread) as most, sum(n) as n") == [(8, 6)]
        assert ask(runtime, "hour", "on spread > 0 and mean < 5.0", "g") == [("x",)]


def test_joins_read_incremental_aggregators() -> None:
    with running(APP.format(store="", by="by ts"), manager=manager()) as runtime:
        rows = collect(runtime, "O")
        send(runtime)
        for group in ("x", "z"):
            runtime.input_handler("Q").send((group,), 64_000)
        assert rows == [("x", 8, pytest.approx(4.0)), ("z", None, None)]


def test_tables_have_the_base_attributes() -> None:
    with running(APP.format(store="", by="by ts"), manager=manager()) as runtime:
        send(runtime)
        asked = (
            "from A_SECONDS on g == 'y' select AGG_MIN_v, AGG_MAX_v, AGG_VALUED_d, AGG_WEIGHTED_d_v, AGG_WEIGHTS_d_v"
        )
        assert [event.data for event in runtime.query(asked)] == [(7, 7, 1, 35.0, 7.0)]


@pytest.mark.parametrize("by", ["", "by ts"])
def test_results_from_a_store_equal_those_from_memory(tmp_path: Path, by: str) -> None:
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    store = f"@store(type = 'rdbms', url = 'sqlite:///{tmp_path.as_posix()}/buckets.db')"
    with running(APP.format(store="", by=by), manager=manager()) as memory:
        with running(APP.format(store=store, by=by), manager=manager()) as kept:
            send(kept, ROWS[:4])
            runtime_end = 62_000
            kept.input_handler("S").send(("x", 5, 1.0, runtime_end), runtime_end)
        send(memory, ROWS[:4])
        # The next app continues with the rolled-up rows; the event of the current second is lost with the first app.
        with running(APP.format(store=store, by=by), manager=manager()) as again:
            for runtime in (again, memory):
                send(runtime, [(63_000, 62_500, ("x", 2, 16.0)), (125_000, 125_000, ("y", 3, 4.0))])
            for per in ("sec", "min", "hour"):
                assert ask(again, per) == ask(memory, per)


def test_a_batch_equals_its_rows() -> None:
    with (
        running(APP.format(store="", by="by ts"), manager=manager()) as one,
        running(APP.format(store="", by="by ts"), manager=manager()) as all_,
    ):
        rows = [(clock, clock, values) for clock, _, values in ROWS]
        send(one, rows)
        columns = list(zip(*((*values, time) for _, time, values in rows), strict=True))
        names = ("g", "v", "d", "ts")
        pyarrow = pytest.importorskip("pyarrow")
        types = (pyarrow.string(), pyarrow.int32(), pyarrow.float64(), pyarrow.int64())
        table = pyarrow.table(
            {name: pyarrow.array(column, type_) for name, column, type_ in zip(names, columns, types, strict=True)}
        )
        all_.input_handler("S").send_batch(table, timestamp="ts")
        assert ask(all_, "sec") == ask(one, "sec")


# --- state


def test_the_state_contains_the_base_attributes() -> None:
    text = APP.format(store="", by="by ts")
    with running(text, manager=manager()) as runtime:
        send(runtime, ROWS[:3])
        snapshot = runtime.snapshot()
        send(runtime, ROWS[3:])
        want = ask(runtime, "hour")
    with running(text, manager=manager()) as runtime:
        send(runtime, ROWS[4:])
        runtime.restore(snapshot)
        assert runtime.snapshot() == snapshot
        send(runtime, ROWS[3:])
        assert ask(runtime, "hour") == want


def keeping(initial: str, final: str = "K", type_: AttributeType = DOUBLE) -> SiddhiManager:
    def describe(x: Attribute) -> IncrementalAttributeAggregator:
        return IncrementalAttributeAggregator((BaseAttribute("K", type_, "sum", initial),), final)

    made = manager()
    declare = extension.incremental_aggregator("my:f", args=(NUMBERS,), returns=type_, registry=Registry())
    made.set_extension("my:f", declare(describe))
    return made


SMALL = """@app:name('small') @app:playback define stream S (d double);
define aggregation A from S select my:f(d) as x aggregate every sec, min;"""


def test_a_state_with_other_base_attributes_is_refused() -> None:
    with running(SMALL, manager=keeping("d")) as runtime:
        runtime.input_handler("S").send((2.0,), 1000)
        snapshot = runtime.snapshot()
    with running(SMALL, manager=keeping("d", "K * 2.0")) as runtime:
        runtime.restore(snapshot)  # the final expression holds nothing
        assert ask(runtime, "min", select="x") == [(4.0,)]
    with (
        running(SMALL, manager=keeping("d * d")) as runtime,
        pytest.raises(CannotRestoreStateError, match=r"-keeps K = sum d\n.*\+keeps K = sum d \* d"),
    ):
        runtime.restore(snapshot)


# --- failures


def failing(of: Callable[[float], float]) -> SiddhiManager:
    made = keeping("my:may(d)", "my:may(K)")
    declare = extension.function("my:may", args=(DOUBLE,), returns=DOUBLE, registry=Registry())
    made.set_extension("my:may", declare(lambda x: of(x)))
    return made


def test_an_event_without_initial_value_fails_alone() -> None:
    with running("@app:playback @OnError(action = 'stream') define stream S (d double);" + SMALL.split(";", 1)[1] +
                 "from !S select d insert into Failed;", manager=failing(math.sqrt)) as runtime:  # fmt: skip
        failed = collect(runtime, "Failed")
        for time, value in ((1000, 4.0), (1001, -1.0), (1002, 49.0)):
            runtime.input_handler("S").send((value,), time)
        assert failed == [(-1.0,)]
        assert ask(runtime, "sec", select="x") == [(3.0,)]


def test_a_failed_query_raises_an_error_and_changes_nothing() -> None:
    gc.collect()
    before = live_events()

    def small(x: float) -> float:
        if x > 5:
            raise OverflowError("too much")
        return x

    with running(SMALL, manager=failing(small)) as runtime:
        for time in (1000, 1001, 2000):
            runtime.input_handler("S").send((4.0,), time)
        with pytest.raises(OnDemandQueryCreationError, match="too much"):
            ask(runtime, "sec")
        with pytest.raises(OnDemandQueryCreationError, match="too much"):
            ask(runtime, "min")
        assert [event.data for event in runtime.query("from A_SECONDS select K")] == [(8.0,)]
    del runtime
    gc.collect()
    assert live_events() == before


def test_a_query_can_send_into_the_aggregation_that_it_reads() -> None:
    runtimes: list[SiddhiAppRuntime] = []
    sent: list[float] = []

    def sending(x: float) -> float:
        if x > 1 and len(sent) < 3:
            sent.append(x)
            runtimes[0].input_handler("S").send((1.0,), 1000 * (2 + len(sent)))
        return x

    with running(SMALL, manager=failing(sending)) as runtime:
        runtimes.append(runtime)
        for time in (1000, 1001, 2000, 2001):
            runtime.input_handler("S").send((1.0,), time)
        assert ask(runtime, "sec", select="AGG_TIMESTAMP, x") == [(1000, 2.0), (2000, 2.0)]
        assert ask(runtime, "sec", select="AGG_TIMESTAMP, x") == [
            (1000, 2.0), (2000, 2.0), (3000, 1.0), (4000, 1.0),
        ]  # fmt: skip


# --- every type


@pytest.mark.parametrize(
    ("type_", "initial", "final", "want"),
    [
        (LONG, "v * 2", "K + 1", 13),
        (DOUBLE, "f / 2", "K", 1.5),
        (DOUBLE, "d", "ifThenElse(K > 100.0, K, 0.0)", 0.0),
    ],
)
def test_computed_sums_have_every_type(type_: AttributeType, initial: str, final: str, want: Any) -> None:
    def describe(v: Attribute, f: Attribute, d: Attribute) -> IncrementalAttributeAggregator:
        return IncrementalAttributeAggregator((BaseAttribute("K", type_, "sum", initial),), final)

    made = SiddhiManager()
    declare = extension.incremental_aggregator("my:g", args=(NUMBERS,) * 3, returns=type_, registry=Registry())
    made.set_extension("my:g", declare(describe))
    text = """@app:playback define stream S (v int, f float, d double);
        define aggregation A from S select my:g(v, f, d) as x aggregate every sec, min;"""
    with running(text, manager=made) as runtime:
        for n in (1, 2, 3):
            runtime.input_handler("S").send((n, n / 2, 1.0 * n), 1000 + n)
        assert ask(runtime, "sec", select="x") == [(want,)]


def test_latest_values_of_expressions_have_every_type() -> None:
    kept = (
        BaseAttribute("T", AttributeType.STRING, "latest", "ifThenElse(v > 2, 'much', 'little')"),
        BaseAttribute("B", AttributeType.BOOL, "latest", "v > 2"),
        BaseAttribute("F", AttributeType.FLOAT, "max", "convert(v, 'float') / 2f"),
        BaseAttribute("I", AttributeType.INT, "min", "0 - v"),
        BaseAttribute("N", LONG, "count"),
    )
    finals = {
        AttributeType.STRING: ("ifThenElse(B, T, 'none')", "much"),
        AttributeType.BOOL: ("B and N > 1L", True),
        AttributeType.FLOAT: ("F + 1f", 2.5),
        AttributeType.INT: ("I * 2", -6),
        LONG: ("N * 10", 30),
    }
    made = SiddhiManager()
    for type_, (final, _) in finals.items():
        declare = extension.incremental_aggregator(f"my:{type_}", args=(NUMBERS,), returns=type_, registry=Registry())

        def describe(v: Attribute, final: str = final) -> IncrementalAttributeAggregator:
            return IncrementalAttributeAggregator(kept, final)

        made.set_extension(f"my:{type_}", declare(describe))
    selected = ", ".join(f"my:{type_}(v) as {type_}s" for type_ in finals)
    text = f"""@app:playback define stream S (v int, ts long);
        define aggregation A from S select {selected} aggregate by ts every sec, min;"""
    with running(text, manager=made) as runtime:
        for v, ts in ((1, 1000), (3, 1500), (2, 1200)):
            runtime.input_handler("S").send((v, ts), 2000 + v)
        (row,) = ask(runtime, "min")
        assert row[1:] == tuple(want for _, want in finals.values())
