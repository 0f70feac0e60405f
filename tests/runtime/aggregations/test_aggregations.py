"""Incremental aggregations in running apps: tables, time, joins, purging, state."""

from __future__ import annotations

import gc
import math
from typing import Any

import numpy as np
import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager, extension
from siddhi._core.record.event import live_events
from siddhi.errors import AggregationTimeError, CannotRestoreStateError, OnDemandQueryCreationError
from siddhi.extension import Registry
from siddhi.types import AttributeType

BASE = 1_496_289_950_000  # 2017-06-01 04:05:50 GMT
STREAM = "define stream S (sym string, p double, q int, ts long);"
BY = "define aggregation A from S select sym, sum(q) as s, q as lastq group by sym aggregate by ts every sec ... year;"
ARRIVAL = "define aggregation A from S select sym, sum(q) as s, q as lastq group by sym aggregate every sec ... hour;"
KEPT = "@purge(enable = 'false') "


def create(text: str, *, playback: bool = True) -> SiddhiAppRuntime:
    return SiddhiManager().create_siddhi_app_runtime(("@app:playback " if playback else "") + text)


def send(runtime: SiddhiAppRuntime, *rows: tuple[int, str | None, float | None, int | None, int]) -> None:
    for clock, *values in rows:
        runtime.input_handler("S").send(tuple(values), timestamp=BASE + clock)


def ask(runtime: SiddhiAppRuntime, text: str) -> list[tuple[Any, ...]]:
    return [event.data for event in runtime.query(text)]


def per(runtime: SiddhiAppRuntime, word: str, select: str = "AGG_TIMESTAMP, sym, s, lastq") -> list[tuple[Any, ...]]:
    return ask(runtime, f"from A within 0L, 10000000000000L per '{word}' select {select}")


# --- levels and tables


def test_closed_buckets_are_table_rows_and_the_current_one_is_in_memory() -> None:
    with create(STREAM + KEPT + ARRIVAL) as runtime:
        send(runtime, (0, "x", 0, 1, 0), (500, "x", 0, 2, 0), (1000, "x", 0, 3, 0), (66000, "x", 0, 4, 0))
        assert ask(runtime, "from A_SECONDS select AGG_TIMESTAMP, sym, AGG_SUM_q, lastq") == [
            (BASE, "x", 3, 2),
            (BASE + 1000, "x", 3, 3),
        ]
        assert ask(runtime, "from A_MINUTES select AGG_TIMESTAMP, AGG_SUM_q") == [(BASE - 50000, 6)]
        assert ask(runtime, "from A_HOURS select *") == []
        assert per(runtime, "sec") == [(BASE, "x", 3, 2), (BASE + 1000, "x", 3, 3), (BASE + 66000, "x", 4, 4)]
        assert per(runtime, "minutes") == [(BASE - 50000, "x", 6, 3), (BASE + 10000, "x", 4, 4)]
        assert per(runtime, "HOUR") == [(BASE - 350000, "x", 10, 4)]


def test_late_events_add_rows_to_their_bucket_and_reads_merge_them() -> None:
    with create(STREAM + KEPT + BY) as runtime:
        send(runtime, (0, "x", 0, 1, BASE), (2200, "x", 0, 2, BASE + 100), (3300, "x", 0, 4, BASE + 40000))
        runtime.advance_clock(BASE + 9000)
        assert ask(runtime, "from A_SECONDS select AGG_TIMESTAMP, AGG_EVENT_TIMESTAMP, AGG_SUM_q") == [
            (BASE, BASE, 1),
            (BASE + 2000, BASE, 2),
            (BASE + 3000, BASE + 40000, 4),
        ]
        assert per(runtime, "sec") == [(BASE, "x", 3, 2), (BASE + 40000, "x", 4, 4)]


def test_the_latest_value_is_that_of_the_latest_event_time() -> None:
    with create(STREAM + KEPT + BY) as runtime:
        times = ((1, 0), (2, 2000), (4, 600), (8, 100), (16, 3000))
        send(runtime, *((i, "x", 0.0, q, BASE + t) for i, (q, t) in enumerate(times)))
        assert per(runtime, "sec", "s, lastq") == [(13, 4), (2, 2), (16, 16)]
        assert per(runtime, "min", "s, lastq") == [(31, 16)]


def test_a_function_without_aggregate_uses_the_latest_event_time() -> None:
    text = (
        "define aggregation A from S select ifThenElse(q > 2, 'big', 'small') as size aggregate by ts every min, hour;"
    )
    with create(STREAM + KEPT + text) as runtime:
        send(runtime, (0, "x", 0, 5, BASE + 5), (1, "x", 0, 1, BASE))
        assert per(runtime, "min", "size") == [("big",)]


def test_a_list_of_durations_contains_only_those_named() -> None:
    text = "define aggregation A from S select sum(q) as s aggregate by ts every hour, sec;"
    with create(STREAM + KEPT + text) as runtime:
        send(runtime, (0, "x", 0, 1, BASE), (1, "x", 0, 2, BASE + 7_000_000))
        assert per(runtime, "hours", "AGG_TIMESTAMP, s") == [(BASE - 350000, 1), (BASE + 6_850_000, 2)]
        with pytest.raises(
            OnDemandQueryCreationError, match="per min: the aggregate values for MINUTES granularity cannot be provided"
        ):
            per(runtime, "min", "s")


def test_months_and_years_have_calendar_lengths() -> None:
    text = "define aggregation A from S select sum(q) as s aggregate by ts every day, month, year;"
    days = (1_580_428_800_000, 1_582_934_400_000, 1_583_020_800_000)  # 2020-01-31, 2020-02-29, 2020-03-01
    with create(STREAM + KEPT + text) as runtime:
        send(runtime, *((i, "x", 0.0, 1 << i, day + 5) for i, day in enumerate(days)))
        assert per(runtime, "day", "AGG_TIMESTAMP, s") == [(days[0], 1), (days[1], 2), (days[2], 4)]
        months = [(1_577_836_800_000, 1), (1_580_515_200_000, 2), (1_583_020_800_000, 4)]
        assert per(runtime, "month", "AGG_TIMESTAMP, s") == months
        assert per(runtime, "year", "AGG_TIMESTAMP, s") == [(1_577_836_800_000, 7)]


def test_nulls_are_counted_and_otherwise_skipped() -> None:
    text = "define aggregation A from S select avg(q) as a, sum(p) as s, min(p) as lo, count(p) as n, stdDev(p) as d aggregate every sec, min;"
    with create(STREAM + KEPT + text) as runtime:
        send(runtime, (0, "x", None, None, 0))
        assert per(runtime, "sec", "a, s, lo, n, d") == [(None, None, None, 1, None)]
        send(runtime, (1, "x", 2.5, 4, 0))
        assert per(runtime, "sec", "a, s, lo, n, d") == [(2.0, 2.5, 2.5, 2, 0.0)]


def test_a_deviation_with_nan_is_nan() -> None:
    text = "define aggregation A from S select stdDev(p) as d, avg(p) as a aggregate every sec, min;"
    for odd in (math.nan, math.inf, -math.inf):
        with create(STREAM + KEPT + text) as runtime:
            send(runtime, (0, "x", 2.5, 1, 0), (1, "x", odd, 1, 0), (2, "x", 2.5, 1, 0))
            for duration in ("sec", "min"):
                assert math.isnan(per(runtime, duration, "d, a")[0][0])


def test_the_source_can_have_handlers() -> None:
    text = "define aggregation A from S[q > 1]#pol2Cart(p, p)[x > -1000.0] select sym, sum(q) as s, max(x) as far group by sym aggregate every sec, min;"
    with create(STREAM + KEPT + text) as runtime:
        send(runtime, (0, "x", 0.0, 1, 0), (1, "x", 0.0, 2, 0), (2, "y", 0.0, 3, 0))
        assert per(runtime, "min", "sym, s, far") == [("x", 2, 0.0), ("y", 3, 0.0)]


def test_without_group_by_all_events_are_one_group() -> None:
    with create(STREAM + KEPT + "define aggregation A from S select * aggregate every sec, min;") as runtime:
        send(runtime, (0, "x", 1.0, 1, 7), (1, None, 2.0, None, 8))
        assert per(runtime, "sec", "*") == [(BASE, None, 2.0, None, 8)]


# --- time


def test_string_times_may_have_an_offset() -> None:
    stream = "define stream S (sym string, q int, ts string);"
    text = "define aggregation A from S select distinctCount(sym) as n, sum(q) as s aggregate by ts every sec ... hour;"
    seen: list[str] = []
    with create(stream + KEPT + text) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: seen.append(str(error)))
        handler = runtime.input_handler("S")
        for sym, ts in (("x", "2017-06-01 04:05:50"), ("y", "2017-06-01 09:35:51 +05:30")):
            handler.send((sym, 1, ts), timestamp=BASE)
        assert per(runtime, "minutes", "n, s") == [(2, 2)]
        for ts in ("2017-02-29 00:00:00", "yesterday", "2017-06-01 04:05:50 0530", None):
            handler.send(("z", 1, ts), timestamp=BASE)
        assert per(runtime, "minutes", "n, s") == [(2, 2)]
        assert [message.split(":")[0] for message in seen] == [
            "'2017-02-29 00",
            "'yesterday' is not a time",
            "'2017-06-01 04",
            "aggregation 'A'",
        ]


@pytest.mark.parametrize(
    ("within", "sums"),
    [
        ("'2017-06-01 04:05:50'", [3]),
        ("'2017-06-01 04:05:**'", [3, 4]),
        ("'2017-06-01 04:**:**'", [3, 4, 8]),
        ("'2017-06-01 **:**:**'", [3, 4, 8]),
        ("'2017-06-** **:**:**'", [3, 4, 8]),
        ("'2017-**-** **:**:**'", [3, 4, 8]),
        ("'2016-**-** **:**:**'", []),
        ("'2017-06-01 09:35:** +05:30'", [3, 4]),
        ("'2017-06-01 04:05:50', '2017-06-01 04:05:51'", [3]),
        ("'2017-06-01 04:05:50', 1496289953000L", [3, 4]),
        ("1496289951000L, 1496289953000L", [4]),
        ("1496289000000L, '2017-06-01 09:36:30 +05:30'", [3, 4, 8]),
    ],
)
def test_forms_of_within(within: str, sums: list[int]) -> None:
    with create(STREAM + KEPT + BY) as runtime:
        send(
            runtime,
            (0, "x", 0, 1, BASE),
            (1, "x", 0, 2, BASE + 500),
            (2, "x", 0, 4, BASE + 2000),
            (3, "x", 0, 8, BASE + 33000),
        )
        assert [s for (s,) in ask(runtime, f"from A within {within} per 'sec' select s")] == sums


def test_the_system_clock_closes_buckets_without_events() -> None:
    with create(
        STREAM + KEPT + "define aggregation A from S select sum(q) as s aggregate every sec, min;", playback=False
    ) as runtime:
        runtime.input_handler("S").send(("x", 0.0, 1, 0))
        assert runtime.next_due is not None
        assert runtime.next_due % 1000 == 0
        assert per(runtime, "min", "s") == [(1,)]


# --- batches


@pytest.mark.parametrize("text", [BY, ARRIVAL])
@pytest.mark.parametrize("playback", [True, False])
def test_a_batch_equals_its_rows(text: str, playback: bool) -> None:
    if not playback and text is ARRIVAL:
        text = text.replace("every sec", "every hour").replace("... hour", "... year")
    n = 1000
    columns = {
        "sym": np.array([f"s{i % 7}" for i in range(n)], dtype=object),
        "p": np.arange(n) * 0.5,
        "q": np.arange(n, dtype=np.int32),
        "ts": BASE + (np.arange(n) * 37) % 5000,
    }
    times = BASE + np.arange(n) * 11
    answers = []
    for way in ("rows", "batch"):
        with create(STREAM + KEPT + text, playback=playback) as runtime:
            handler = runtime.input_handler("S")
            if way == "batch":
                handler.send_batch(columns, timestamp=times)
            else:
                for i in range(n):
                    row = (columns["sym"][i], float(columns["p"][i]), int(columns["q"][i]), int(columns["ts"][i]))
                    handler.send(row, timestamp=int(times[i]))
            word = "hour" if text is BY or playback else "year"
            answers.append(per(runtime, word, "sym, s, lastq"))
    assert answers[0] == answers[1]
    assert sum(s for _, s, _ in answers[0]) == n * (n - 1) // 2


# --- reading


def test_having_reads_the_output() -> None:
    with create(STREAM + KEPT + BY) as runtime:
        send(runtime, (0, "x", 0, 1, BASE), (1, "y", 0, 2, BASE), (2, "x", 0, 4, BASE + 1000))
        text = "from A as a on a.sym == 'x' and AGG_TIMESTAMP > 1496289950000L within '2017-**-** **:**:**' per 'sec' select s"
        assert ask(runtime, text) == [(4,)]


def test_a_query_groups_orders_and_limits_its_rows() -> None:
    with create(STREAM + KEPT + BY) as runtime:
        send(runtime, *((i, "xyz"[i % 3], 0.0, i, BASE + 400 * i) for i in range(9)))
        found = "within '2017-06-** **:**:**' per 'seconds'"
        assert ask(runtime, f"from A {found} select sym, sum(s) as t group by sym order by t desc limit 2") == [
            ("z", 15),
            ("y", 12),
        ]
        assert ask(runtime, f"from A {found} select sum(s) as t") == [(36,)]
        assert ask(runtime, f"from A {found} select sym, s having s > 7") == [("z", 8)]
        assert runtime.query_types(f"from A {found} select *") == [
            ("AGG_TIMESTAMP", "long"),
            ("sym", "string"),
            ("s", "long"),
            ("lastq", "int"),
        ]


JOIN = """define stream J (sym string, first long, last long, word string);
    from {left} {kind} {right} on J.sym == A.sym within J.first, J.last per J.word
    select J.sym as sym, A.AGG_TIMESTAMP as t, s order by t insert into O;"""


@pytest.mark.parametrize(
    ("left", "kind", "right", "none"),
    [
        ("J", "join", "A", False),
        ("A", "join", "J", False),
        ("J", "left outer join", "A", True),
        ("A", "right outer join", "J", True),
        ("J unidirectional", "full outer join", "A", True),
        ("J", "right outer join", "A", False),
    ],
)
def test_an_aggregation_can_be_either_side_of_a_join(left: str, kind: str, right: str, none: bool) -> None:
    out: list[tuple[Any, ...]] = []
    with create(STREAM + KEPT + BY + JOIN.format(left=left, kind=kind, right=right)) as runtime:
        runtime.add_callback("O", lambda events: out.extend((event.timestamp, *event.data) for event in events))
        send(runtime, (0, "x", 0, 1, BASE), (1, "x", 0, 2, BASE + 1000), (2, "y", 0, 4, BASE))
        asks = runtime.input_handler("J")
        for sym, word in (("x", "sec"), ("x", "min"), ("z", "sec")):
            asks.send((sym, BASE - 1_000_000, BASE + 1_000_000, word), timestamp=BASE + 10)
        assert out == [
            (BASE + 10, "x", BASE, 1),
            (BASE + 10, "x", BASE + 1000, 2),
            (BASE + 10, "x", BASE - 50000, 3),
            *([(BASE + 10, "z", None, None)] if none else []),
        ]


def test_an_invalid_range_fails_the_event() -> None:
    seen: list[str] = []

    def note(error: BaseException, origin: str, events: list[Event]) -> None:
        assert isinstance(error, AggregationTimeError)
        seen.append(str(error))

    with create(STREAM + KEPT + BY + JOIN.format(left="J", kind="join", right="A")) as runtime:
        runtime.handle_exception_with(note)
        asks = runtime.input_handler("J")
        asks.send(("x", 5, 5, "sec"), timestamp=BASE)
        asks.send(("x", 5, None, "sec"), timestamp=BASE)
        asks.send(("x", 5, 6, "fortnight"), timestamp=BASE)
        asks.send(("x", 5, 6, "sec"), timestamp=BASE)
    assert seen == [
        "the range of 'within' is empty: 5 is not before 5: the end of the range is exclusive",
        "the second value of 'within' is null: remove such events with a filter",
        "invalid duration 'fortnight' for 'per': write 'sec', 'min', 'hour', 'day', 'month' or 'year'",
    ]


def test_a_query_reads_the_current_event_from_the_aggregation() -> None:
    text = (
        "from S join A on S.sym == A.sym within '2017-**-** **:**:**' per 'year' select S.sym as sym, s insert into O;"
    )
    out: list[tuple[Any, ...]] = []
    with create(STREAM + KEPT + BY + text) as runtime:
        runtime.add_callback("O", lambda events: out.extend(event.data for event in events))
        send(runtime, (0, "x", 0, 1, BASE), (1, "y", 0, 2, BASE), (2, "x", 0, 4, BASE + 1000))
    assert out == [("x", 1), ("y", 2), ("x", 5)]


def test_windows_and_partitions_can_join_aggregations() -> None:
    text = """define stream J (sym string);
        from J#window.length(1) as j join A as a on j.sym == a.sym within '2017-**-** **:**:**' per 'year'
        select j.sym as sym, s insert all events into O;
        partition with (sym of J) begin
            from J as j left outer join A as a on j.sym == a.sym within '2017-**-** **:**:**' per 'year'
            select j.sym as sym, s, count() as n insert into P;
        end;"""
    out: dict[str, list[tuple[Any, ...]]] = {"O": [], "P": []}
    with create(STREAM + KEPT + BY + text) as runtime:
        for name, rows in out.items():
            runtime.add_callback(name, lambda events, rows=rows: rows.extend(event.data for event in events))
        send(runtime, (0, "x", 0, 1, BASE), (1, "y", 0, 2, BASE))
        for sym in ("x", "y", "x", "z"):
            runtime.input_handler("J").send((sym,), timestamp=BASE + 5)
    assert out["O"].count(("x", 1)) == 4
    assert out["P"] == [("x", 1, 1), ("y", 2, 1), ("x", 1, 1), ("z", None, 1)]


def test_a_condition_over_its_table_can_send_into_the_aggregation() -> None:
    entered: list[SiddhiAppRuntime] = []

    @extension.function("test:sends", args=(AttributeType.STRING,), returns=AttributeType.BOOL, registry=Registry())
    def sends(sym: str) -> bool:
        send(entered[0], (10_000, "y", 0, 1, 0), (20_000, "y", 0, 2, 0))
        return True

    manager = SiddhiManager()
    manager.set_extension("test:sends", sends)
    with manager.create_siddhi_app_runtime("@app:playback " + STREAM + KEPT + ARRIVAL) as runtime:
        entered.append(runtime)
        send(runtime, (0, "x", 0, 1, 0), (2000, "x", 0, 2, 0))
        # The rows that it reads do not change meanwhile; the durations are rolled up after it.
        assert ask(runtime, "from A_SECONDS on test:sends(sym) select sym") == [("x",)]
        assert per(runtime, "sec", "AGG_TIMESTAMP, sym, s") == [
            (BASE, "x", 1),
            (BASE + 2000, "x", 2),
            (BASE + 10_000, "y", 1),
            (BASE + 20_000, "y", 2),
        ]
        assert per(runtime, "hour", "sym, s") == [("x", 3), ("y", 3)]
        send(runtime, (30_000, "y", 0, 4, 0))
        assert ask(runtime, "from A_SECONDS select AGG_SUM_q") == [(1,), (2,), (1,), (2,)]


def test_computed_values_can_send_into_the_aggregation() -> None:
    entered: list[SiddhiAppRuntime] = []

    @extension.function("test:sends", args=(AttributeType.INT,), returns=AttributeType.INT, registry=Registry())
    def sends(q: int) -> int:
        if q < 3:
            send(entered[0], (2000 * q, "x", 0, q + 1, 0))
        return q * 10

    manager = SiddhiManager()
    manager.set_extension("test:sends", sends)
    text = "define aggregation A from S select sum(q) as s, test:sends(q) as last aggregate every sec, min;"
    with manager.create_siddhi_app_runtime("@app:playback " + STREAM + KEPT + text) as runtime:
        entered.append(runtime)
        send(runtime, (0, "x", 0, 1, 0))
        assert per(runtime, "min", "s, last") == [(6, 10)]


# --- purging


def test_purged_rows_leave_their_merged_rows() -> None:
    purge = "@purge(interval = '10 sec', @retentionPeriod(sec = '2 min', min = 'all')) "
    with create(STREAM + purge + ARRIVAL) as runtime:
        send(runtime, (0, "x", 0, 1, 0), (60_000, "x", 0, 2, 0), (115_000, "x", 0, 4, 0))
        assert ask(runtime, "from A_SECONDS select AGG_SUM_q") == [(1,), (2,)]
        runtime.advance_clock(BASE + 140_000)
        assert ask(runtime, "from A_SECONDS select AGG_SUM_q") == [(2,), (4,)]
        assert per(runtime, "min", "s") == [(1,), (2,), (4,)]
        assert per(runtime, "hour", "s") == [(7,)]


def test_purging_can_be_switched_off() -> None:
    with create(STREAM + KEPT + ARRIVAL) as runtime:
        send(runtime, (0, "x", 0, 1, 0), (10_000_000, "x", 0, 2, 0))
        assert ask(runtime, "from A_SECONDS select AGG_SUM_q") == [(1,)]


# --- state


def test_the_state_contains_all_levels_and_tables() -> None:
    with SiddhiManager() as manager:
        text = "@app:name('a') @app:playback " + STREAM + KEPT + BY
        with manager.create_siddhi_app_runtime(text) as runtime:
            send(runtime, (0, "x", 0, 1, BASE), (1500, "x", 0, 2, BASE + 1500), (1600, None, 0, 8, BASE))
            snapshot = runtime.snapshot()
        with manager.create_siddhi_app_runtime(text) as runtime:
            send(runtime, (0, "q", 0, 100, BASE))
            runtime.restore(snapshot)
            assert runtime.snapshot() == snapshot
            send(runtime, (1700, "x", 0, 4, BASE + 10))
            assert per(runtime, "sec", "AGG_TIMESTAMP, sym, s") == [
                (BASE, "x", 5),
                (BASE + 1000, "x", 2),
                (BASE, None, 8),
            ]
            with pytest.raises(CannotRestoreStateError):
                runtime.restore(snapshot[:-9])
            assert per(runtime, "year", "sym, s") == [("x", 7), (None, 8)]


def test_all_memory_is_released() -> None:
    gc.collect()
    before = live_events()
    with SiddhiManager() as manager:
        text = "@app:playback " + STREAM + KEPT + BY + JOIN.format(left="J", kind="join", right="A")
        with manager.create_siddhi_app_runtime(text) as runtime:
            for i in range(50):
                send(runtime, (300 * i, f"s{i % 3}", 0, i, BASE + 100 * i))
                runtime.input_handler("J").send(("s1", BASE, BASE + 9000, "sec"), timestamp=BASE + 300 * i)
                per(runtime, "min", "s")
            runtime.restore(runtime.snapshot())
        del runtime
    gc.collect()
    assert live_events() == before
