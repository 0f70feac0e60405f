"""Corrections: results leave at once, and what a late event makes wrong is retracted."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import (
    CannotRestoreStateError,
    EventError,
    InvalidTemporalEvent,
    NotRunningError,
    OnDemandQueryCreationError,
    SiddhiTemporalError,
)
from siddhi.io import InMemoryBroker
from siddhi.runtime.assembly.corrections import CorrectedStreams
from siddhi.temporal import MAX
from tests.kit.running import running

CORRECT = "@temporal(model = 'point', policy = 'correct', bound = '1 sec') "
S = f"{CORRECT} define stream S (id int, value int);"
SUM = f"{S} from S#window.length(2) select id, sum(value) as total insert into O;"


def told(runtime: SiddhiAppRuntime, stream: str) -> list[tuple[str, int, tuple[Any, ...]]]:
    items: list[tuple[str, int, tuple[Any, ...]]] = []
    runtime.add_temporal_callback(stream, lambda new: items.extend((one.kind, one.start, one.data) for one in new))
    return items


def handler_of(runtime: SiddhiAppRuntime, stream: str = "S") -> Any:
    return runtime.input_handler(stream)


@contextmanager
def spacing(entries: int) -> Iterator[None]:
    before, CorrectedStreams.spacing = CorrectedStreams.spacing, entries
    try:
        yield
    finally:
        CorrectedStreams.spacing = before


def test_a_late_event_retracts_what_was_wrong_and_inserts_what_is_right() -> None:
    with running(SUM) as runtime:
        items = told(runtime, "O")
        handler = handler_of(runtime)
        for time, row in [(1000, (1, 1)), (1010, (2, 2)), (1030, (3, 4))]:
            handler.send(row, time)
        assert items == [("insert", 1000, (1, 1)), ("insert", 1010, (2, 3)), ("insert", 1030, (3, 6))]
        del items[:]
        handler.point(1020, (9, 10))
        assert items == [("retract", 1030, (3, 6)), ("insert", 1020, (9, 12)), ("insert", 1030, (3, 14))]
        assert (handler.late, handler.dropped) == (1, 0)


def test_a_late_event_ends_an_absence() -> None:
    app = f"{S} from every e1=S[id == 0] -> not S[id == 1] for 50 millisec select e1.value as v insert into O;"
    with running(app) as runtime:
        items = told(runtime, "O")
        handler = handler_of(runtime)
        handler.send((0, 7), 1000)
        handler.send((2, 0), 1100)
        handler.send((1, 0), 1020)
        assert items == [("insert", 1100, (7,)), ("retract", 1100, (7,))] or items == [
            ("insert", 1050, (7,)),
            ("retract", 1050, (7,)),
        ]


def test_stream_callbacks_see_retractions_as_expired_events() -> None:
    with running(SUM) as runtime:
        chunks: list[list[Event]] = []
        runtime.add_callback("O", chunks.append)
        handler = handler_of(runtime)
        handler.send((1, 1), 1000)
        handler.send((2, 2), 1020)
        handler.send((3, 4), 1010)
    assert [[(event.is_expired, event.data) for event in chunk] for chunk in chunks] == [
        [(False, (1, 1))],
        [(False, (2, 3))],
        [(True, (2, 3)), (False, (3, 5)), (False, (2, 6))],
    ]


def test_an_event_later_than_the_bound_is_dropped_and_counted() -> None:
    with running(SUM) as runtime:
        items = told(runtime, "O")
        handler = handler_of(runtime)
        handler.send((1, 1), 5000)
        handler.send((2, 2), 3999)
        assert (handler.late, handler.dropped) == (0, 1)
        handler.send((2, 2), 4000)
        assert (handler.late, handler.dropped) == (1, 1)
        assert len(items) == 4


def test_late_events_of_one_batch_are_corrected_once() -> None:
    with running(SUM) as runtime:
        items = told(runtime, "O")
        handler = handler_of(runtime)
        handler.insert_batch({"start": [100, 300, 200, 250, 400], "id": [1, 2, 3, 4, 5], "value": [1, 2, 4, 8, 16]})
        assert handler.late == 2
        assert [kind for kind, _, _ in items].count("retract") == 1
        assert items[2:] == [
            ("retract", 300, (2, 3)),
            ("insert", 200, (3, 5)),
            ("insert", 250, (4, 12)),
            ("insert", 300, (2, 10)),
            ("insert", 400, (5, 18)),
        ]


def test_events_at_one_time_keep_the_order_of_arrival() -> None:
    with running(f"{S} from S#window.length(1) select id insert into O;") as runtime:
        items = told(runtime, "S")
        handler = handler_of(runtime)
        for time, row in [(10, (1, 0)), (20, (2, 0)), (10, (3, 0)), (20, (4, 0)), (10, (5, 0))]:
            handler.send(row, time)
        assert [data[0] for _, _, data in items] == [1, 2, 3, 4, 5]


def test_equal_rows_are_counted() -> None:
    with running(f"{S} from S select value insert into O;") as runtime:
        items = told(runtime, "O")
        handler = handler_of(runtime)
        for time in (10, 20, 10, 5, 5):
            handler.send((1, 7), time)
        assert items == [("insert", time, (7,)) for time in (10, 20, 10, 5, 5)]


def test_rows_without_an_equality_are_not_retracted_without_need() -> None:
    definition = f"{CORRECT} define stream S (x double, y object, z string);"
    with running(f"{definition} from S select x, y, z insert into O;") as runtime:
        items = told(runtime, "O")
        handler = handler_of(runtime)
        for time in (10, 20, 30):
            handler.send((float("nan"), [time], None), time)
        handler.send((None, [15], "z"), 15)
        assert [kind for kind, _, _ in items] == ["insert"] * 4


@pytest.mark.parametrize("entries", [0, 1, 2])
def test_a_callback_added_later_sees_later_corrections(entries: int) -> None:
    with spacing(entries), running(SUM) as runtime:
        handler = handler_of(runtime)
        for time in (10, 30, 50):
            handler.send((time, 1), time)
        items = told(runtime, "O")
        handler.send((40, 5), 40)
        assert items == [("retract", 50, (50, 2)), ("insert", 40, (40, 6)), ("insert", 50, (50, 6))]
        handler.send((60, 1), 60)
        assert items[-1] == ("insert", 60, (60, 2))


def test_what_a_callback_sends_is_processed_behind_its_event() -> None:
    app = f"{S} {CORRECT} define stream R (id int); from S select id insert into O; from R select id insert into P;"
    with running(app) as runtime:
        order: list[Any] = []
        handler, other = handler_of(runtime), handler_of(runtime, "R")
        runtime.add_callback("O", lambda events: [other.send((one.data[0],), one.timestamp) for one in events][:0])
        runtime.add_callback("O", lambda events: order.append(("O", events[0].data)))
        runtime.add_callback("P", lambda events: order.append(("P", events[0].data)))
        handler.send((1, 0), 10)
        handler.send((2, 0), 20)
        handler.send((3, 0), 15)
    assert order == [(stream, (number,)) for number in (1, 2, 3) for stream in "OP"]


def test_a_cti_is_final_and_moves_the_clock() -> None:
    app = (
        f"{S} {CORRECT} define stream R (id int); from S#window.time(100) select count() as n insert all events into O;"
    )
    with running(app) as runtime:
        items = told(runtime, "O")
        handler, other = handler_of(runtime), handler_of(runtime, "R")
        handler.send((1, 0), 1000)
        handler.cti(1200)
        assert runtime.now == 1000
        other.cti(1150)
        assert runtime.now == 1150
        assert items[-1] == ("insert", 1150, (0,))
        handler.send((1, 0), 1199)
        assert (handler.dropped, handler.cti_time, other.cti_time) == (1, 1200, 1150)
        other.send((1,), 1150)
        handler.cti(MAX)
        other.cti(MAX)
        other.send((1,), 5000)
        assert (other.late, other.dropped) == (0, 1)


def test_a_move_of_the_clock_is_repeated_by_a_replay() -> None:
    app = f"{S} from S#window.time(100) select count() as n insert all events into O;"
    with running(app) as runtime:
        items = told(runtime, "O")
        handler = handler_of(runtime)
        handler.send((1, 0), 1000)
        runtime.advance_clock(1500)
        handler.send((1, 0), 1050)
        assert items[:2] == [("insert", 1000, (1,)), ("insert", 1500, (0,))]
        assert runtime.now == 1500
        with pytest.raises(TypeError):
            runtime.advance_clock("now")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="follows its events alone"):
            runtime.enable_playback(False)


def test_tables_and_aggregations_hold_what_is_right() -> None:
    app = f"""
    {S} define table T (id int, value int);
    define aggregation A from S select sum(value) as total aggregate every sec;
    from S[value > 1] select id, value insert into T;
    from S[value == 0] select id delete T on T.id == id;
    """
    with running(app) as runtime:
        handler = handler_of(runtime)
        for time, row in [(10, (1, 5)), (20, (1, 0)), (30, (2, 3)), (15, (2, 2)), (25, (2, 0))]:
            handler.send(row, time)
        assert [event.data for event in runtime.query("from T select id, value;")] == [(2, 3)]
        found = runtime.query("from A within 0L, 10000L per 'seconds' select total;")
        assert [event.data for event in found] == [(10,)]
        with pytest.raises(OnDemandQueryCreationError, match="can't change an app that corrects"):
            runtime.query("delete T on T.id == 2;")


def test_old_state_is_dropped() -> None:
    with spacing(5), running(SUM) as runtime:
        items = told(runtime, "O")
        handler = handler_of(runtime)
        for number in range(2000):
            handler.send((number, 1), 10 * number)
        core: Any = runtime._assembly.corrections.core  # type: ignore[union-attr]
        assert 100 <= core.logged <= 200
        assert core.kept_checkpoints <= 22
        for time in (19_985, 19_500, 18_995):
            handler.send((1, 5), time)
        assert (handler.late, handler.dropped, len(items)) == (3, 0, 2000 + 3 * 3)


def test_checkpoints_grow_with_the_logarithm_of_the_events() -> None:
    with spacing(1), running(SUM) as runtime:
        handler = handler_of(runtime)
        for number in range(3000):
            handler.send((number, 1), 0)
        core: Any = runtime._assembly.corrections.core  # type: ignore[union-attr]
        assert core.logged == 3000
        assert core.kept_checkpoints < 60


def test_a_replay_ends_where_the_state_is_as_before() -> None:
    table = "@primaryKey('id') define table T (id int, value int);"
    app = f"{S} {table} from S select id, value update or insert into T on T.id == id; {SUM.removeprefix(S)}"
    with spacing(4), running(app) as runtime:
        handler = handler_of(runtime)
        for number in range(400):
            handler.send((number % 3, number), number)
        items = told(runtime, "O")
        core: Any = runtime._assembly.corrections.core  # type: ignore[union-attr]
        handler.send((7, 1000), 390)
        before = core.replayed
        for number in range(20):  # a run of late events
            handler.send((0, 1000 + number), 200 + number)
        assert core.replayed - before < 20 * 100
        handler.send((1, 5), 400)
        assert items[:3] == [("retract", 391, (1, 781)), ("insert", 390, (7, 1390)), ("insert", 391, (1, 1391))]
        assert items[3:6] == [("retract", 201, (0, 401)), ("insert", 200, (0, 1200)), ("insert", 201, (0, 1201))]
        assert items[-1] == ("insert", 400, (1, 404))
        rows = [event.data for event in runtime.query("from T select id, value;")]
        assert sorted(rows) == [(0, 399), (1, 5), (2, 398), (7, 1000)]
        assert (handler.late, handler.dropped) == (21, 0)


def test_rows_of_a_batch_follow_a_replay_that_ended_early() -> None:
    with spacing(4), running(SUM) as runtime:
        handler = handler_of(runtime)
        for number in range(400):
            handler.send((number, 1), number)
        items = told(runtime, "O")
        handler.send_events([Event(100, (-1, 5)), Event(400, (400, 1)), Event(150, (-2, 5)), Event(399, (-3, 5))])
        core: Any = runtime._assembly.corrections.core  # type: ignore[union-attr]
        assert core.replayed < 900
        assert [item for item in items if item[0] == "insert"] == [
            ("insert", 100, (-1, 6)),
            ("insert", 101, (101, 6)),
            ("insert", 150, (-2, 6)),
            ("insert", 151, (151, 6)),
            ("insert", 399, (-3, 6)),
            ("insert", 400, (400, 6)),
        ]


def test_an_exception_of_a_callback_does_not_stop_a_correction() -> None:
    with running(SUM) as runtime:
        errors: list[BaseException] = []
        runtime.handle_exception_with(lambda error, origin, events: errors.append(error))

        def fail(items: Any) -> None:
            raise ValueError("callback")

        runtime.add_temporal_callback("O", fail)
        items = told(runtime, "O")
        handler = handler_of(runtime)
        handler.send((1, 1), 10)
        handler.send((2, 2), 5)
        assert [type(error) for error in errors] == [ValueError, ValueError]
        assert items[-1] == ("insert", 10, (1, 3))


def test_a_restart_begins_with_nothing() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(SUM)
        items = told(runtime, "O")
        handler = handler_of(runtime)
        for _ in range(2):
            runtime.start()
            handler.send((1, 1), 100)
            handler.send((2, 2), 90)
            runtime.shutdown()
        assert items[:4] == items[4:]
        with pytest.raises(NotRunningError):
            handler.send((1, 1), 110)


def test_removed_callbacks_are_called_no_more() -> None:
    with running(SUM) as runtime:
        items: list[Any] = []
        runtime.add_temporal_callback("O", items.extend)
        handler_of(runtime).send((1, 1), 10)
        runtime.remove_callback(items.extend)
        handler_of(runtime).send((1, 1), 5)
        assert len(items) == 1


def changes(runtime: SiddhiAppRuntime, query: str) -> list[tuple[int, Any, Any]]:
    calls: list[tuple[int, Any, Any]] = []

    def note(timestamp: int, current: list[Event] | None, expired: list[Event] | None) -> None:
        calls.append((timestamp, *([event.data for event in events or ()] for events in (current, expired))))

    runtime.add_query_callback(query, note)
    return calls


def test_query_callbacks_see_retractions_as_expired_events() -> None:
    with running(SUM) as runtime:
        calls, again = changes(runtime, "query_1"), changes(runtime, "query_1")
        handler = handler_of(runtime)
        for time, row in [(10, (1, 1)), (30, (2, 2)), (20, (3, 4))]:
            handler.send(row, time)
    assert calls == [(10, [(1, 1)], []), (30, [(2, 3)], []), (30, [(3, 5), (2, 6)], [(2, 3)])]
    assert again == calls


def test_query_callbacks_see_wrongly_expired_events_come_back() -> None:
    with running(f"{S} from S#window.length(1) select id insert all events into O;") as runtime:
        calls = changes(runtime, "query_1")
        handler = handler_of(runtime)
        handler.send((1, 0), 10)
        handler.send((2, 0), 30)
        del calls[:]
        handler.send((3, 0), 20)
    # The events are expired at the time of the next one: 1 at 20 instead of 30, and 3 at 30.
    assert calls == [(30, [(1,), (3,)], [(1,), (3,)])]


def test_callbacks_of_named_windows_see_what_changes() -> None:
    app = f"{S} define window W (id int) length(2); from S select id insert into W; from W select id insert into O;"
    with running(app) as runtime:
        content: Counter[Any] = Counter()
        items = told(runtime, "W")
        rows: list[Any] = []
        runtime.add_batch_callback("W", lambda batch: rows.extend(batch.to_pydict()["_op"]))
        runtime.add_callback(
            "W", lambda events: content.update({event.data: 1 - 2 * event.is_expired for event in events})
        )
        handler = handler_of(runtime)
        for number, time in enumerate((10, 20, 40, 30, 50)):
            handler.send((number, 0), time)
        assert +content == Counter({(2,): 1, (4,): 1})
        assert rows == ["insert" if kind == "insert" else "delete" for kind, _, _ in items]
        del rows[:]
        handler.send((5, 0), 60)
        assert rows == ["delete", "insert"]


def test_a_callback_attached_twice_is_removed_twice() -> None:
    with running(SUM) as runtime:
        calls: list[Any] = []

        def note(*arguments: Any) -> None:
            calls.append(arguments)

        for _ in range(2):
            runtime.add_query_callback("query_1", note)
            runtime.add_temporal_callback("O", lambda items, note=note: note(*items))
        runtime.remove_callback(note)
        handler_of(runtime).send((1, 1), 10)
        assert len(calls) == 2


def test_events_without_a_valid_time_are_refused() -> None:
    with running(f"{SUM} from O select id insert into P;") as runtime:
        handler = handler_of(runtime)
        with pytest.raises(InvalidTemporalEvent, match="needs a time"):
            handler.send((1, 1))
        with pytest.raises(InvalidTemporalEvent, match="needs a time"):
            handler.send_rows([(1, 1)])
        with pytest.raises(InvalidTemporalEvent, match="needs a time"):
            handler.insert_batch({"id": [1], "value": [1], "start": [None]})
        with pytest.raises(InvalidTemporalEvent, match="no time zone"):
            handler.send((1, 1), datetime(2020, 1, 1))  # noqa: DTZ001 - a time without a zone is what is refused
        with pytest.raises(EventError):
            handler.send((1, 1), 1.5)
        with pytest.raises(InvalidTemporalEvent, match="points"):
            handler.insert(1, 2, (1, 1))
        with pytest.raises(EventError, match="no column 'id'"):
            handler.insert_batch({"start": [1]})
        with pytest.raises(SiddhiTemporalError, match=r"filled by the app.*send to 'S'"):
            runtime.input_handler("O")
        handler.send((1, 1), datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc))
        assert runtime.now == 1000


@pytest.mark.parametrize("entries", [0, 2])
def test_a_restored_app_corrects_what_it_said_before(entries: int) -> None:
    app = f"{CORRECT} define stream R (id int); {SUM} from R select id insert into P;"
    with spacing(entries):
        with running(app) as runtime:
            for time in (10, 30, 50):
                handler_of(runtime).send((time, 1), time)
            runtime.advance_clock(60)
            handler_of(runtime, "R").send((1,), 55)
            snapshot = runtime.snapshot()
        with running(app) as runtime:
            items = told(runtime, "O")
            runtime.restore(snapshot)
            assert runtime.snapshot() == snapshot
            handler = handler_of(runtime)
            handler.send((70, 1), 70)
            handler.send((40, 5), 40)
            assert handler_of(runtime, "R").late == 1
            assert (handler.late, runtime.now) == (1, 70)
        assert items == [
            ("insert", 70, (70, 2)),
            ("retract", 50, (50, 2)),
            ("insert", 40, (40, 6)),
            ("insert", 50, (50, 6)),
        ]


def test_checkpoints_of_another_app_are_refused() -> None:
    with running(SUM) as runtime:
        handler_of(runtime).send((1, 1), 10)
        snapshot = runtime.snapshot()
    with (
        running(f"{SUM} from O select total insert into P;") as runtime,
        pytest.raises(CannotRestoreStateError, match="corrections has changed"),
    ):
        runtime.restore(snapshot)


@pytest.mark.parametrize("kind", ["passThrough", "json"])
def test_a_sink_says_what_is_deleted(kind: str) -> None:
    received: list[Any] = []
    topic = f"corrections {kind}"
    sink = f"@sink(type = 'inMemory', topic = '{topic}', corrections = 'op', @map(type = '{kind}'))"
    query = (
        "from S#window.length(2) select ifThenElse(id > 2, 'big', 'small') as name, sum(value) as total insert into O;"
    )
    app = f"{S} {sink} define stream O (name string, total long); {query}"
    InMemoryBroker.subscribe(topic, received.append)
    try:
        with running(app) as runtime:
            handler = handler_of(runtime)
            handler.send((1, 1), 10)
            handler.send((2, 2), 30)
            handler.send((3, 4), 20)
    finally:
        InMemoryBroker.unsubscribe(topic, received.append)
    payloads = [json.loads(payload) if kind == "json" else payload for payload in received]
    events = [event for payload in payloads for event in (payload if isinstance(payload, list) else [payload])]
    rows = [tuple(event["event"].values()) if kind == "json" else event.data for event in events]
    assert rows == [
        ("small", 1, "insert"),
        ("small", 3, "insert"),
        ("small", 3, "delete"),
        ("big", 5, "insert"),
        ("small", 6, "insert"),
    ]


CARRIED = f"{CORRECT[:-2]}, start = 'at') define stream S (id int, at long);"


def test_times_in_an_attribute_are_used() -> None:
    with running(f"{CARRIED} from S#window.length(2) select id, sum(id) as total insert into O;") as runtime:
        items = told(runtime, "O")
        handler = handler_of(runtime)
        handler.send((1, 10))
        handler.send({"id": 2, "at": 30})
        handler.send_events([Event(999, (4, 20)), Event(999, (8, 25))])
        handler.send_batch({"id": [16, 32], "at": [40, 15]})
        handler.send_rows([(64, 50)])
        for send, message in (
            (lambda: handler.send((1, 10), 10), "leave out the timestamp"),
            (lambda: handler.point(10, (1, 10)), "leave out the timestamp"),
            (lambda: handler.insert_batch({"id": [1], "at": [1]}, start="at"), "leave out the timestamp"),
            (lambda: handler.send((1, None)), "'at' is null"),
        ):
            with pytest.raises(InvalidTemporalEvent, match=message):
                send()
    state: Counter[Any] = Counter()
    for kind, time, data in items:
        state[time, data] += 1 if kind == "insert" else -1
    assert sorted(state.elements()) == [
        (10, (1, 1)),
        (15, (32, 33)),
        (20, (4, 36)),
        (25, (8, 12)),
        (30, (2, 10)),
        (40, (16, 18)),
        (50, (64, 80)),
    ]


@pytest.mark.parametrize("kind", ["passThrough", "json"])
def test_a_source_feeds_a_corrected_stream(kind: str) -> None:
    topic = f"corrected source {kind}"
    source = f"@source(type = 'inMemory', topic = '{topic}', @map(type = '{kind}'))"
    app = f"{source} {CARRIED} from S#window.length(2) select id, sum(id) as total insert into O;"
    with running(app) as runtime:
        items = told(runtime, "O")
        for row in ((1, 10), (2, 30), (4, 20)):
            payload = json.dumps({"event": dict(zip(("id", "at"), row, strict=True))}) if kind == "json" else row
            InMemoryBroker.publish(topic, payload)
    assert items[2:] == [("retract", 30, (2, 3)), ("insert", 20, (4, 5)), ("insert", 30, (2, 6))]


def test_columns_say_what_is_deleted() -> None:
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(SUM)
        rows: list[Any] = []
        runtime.add_batch_callback("O", lambda batch: rows.append(batch.to_pydict()))
        runtime.collect("O", chunk=None)
        for _ in range(2):
            runtime.start()
            handler = handler_of(runtime)
            handler.send((1, 1), 10)
            handler.send((2, 2), 30)
            handler.send((4, 4), 20)
            collected = runtime.drain()["O"].to_pydict()
            runtime.shutdown()
            assert collected == {
                "id": [1, 2, 2, 4, 2],
                "total": [1, 3, 3, 5, 6],
                "_op": ["insert", "insert", "delete", "insert", "insert"],
                "_timestamp": [10, 30, 30, 20, 30],
            }
    assert rows[2] == {"id": [2, 4, 2], "total": [3, 5, 6], "_op": ["delete", "insert", "insert"]}
    assert rows[:3] == rows[3:]


def test_a_column_that_the_stream_has_already_is_refused() -> None:
    with running(f"{S} from S select id as _op insert into O;") as runtime:
        with pytest.raises(ValueError, match="two columns '_op'"):
            runtime.collect("O")
        with pytest.raises(ValueError, match="two columns '_op'"):
            runtime.add_batch_callback("O", print)


def test_forms_that_a_corrected_stream_does_not_take_are_named() -> None:
    with running(SUM) as runtime:
        handler = handler_of(runtime)
        for call in (
            lambda: handler.insert(1, 5, (1, 1)),
            lambda: handler.start_edge(1, (1, 1)),
            lambda: handler.end_edge(1, 5, (1, 1)),
            lambda: handler.insert_batch({"start": [1], "end": [2], "id": [1], "value": [1]}, end="end"),
        ):
            with pytest.raises(InvalidTemporalEvent, match=r"stream 'S' corrects late events: it takes points"):
                call()
        with pytest.raises(InvalidTemporalEvent, match=r"the app retracts what late ones make wrong"):
            handler.retract(1, 5, 3, (1, 1))
        assert handler.adjusted == 0


def test_a_temporal_callback_can_be_removed() -> None:
    with running(SUM) as runtime:
        items: list[Any] = []
        runtime.add_temporal_callback("O", items.extend)
        handler = handler_of(runtime)
        handler.send((1, 1), 10)
        runtime.remove_callback(items.extend)
        handler.send((1, 1), 5)
        assert len(items) == 1
