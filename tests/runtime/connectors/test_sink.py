from __future__ import annotations

import logging
import threading

import pytest

from siddhi import Event
from siddhi.errors import (
    ConnectionUnavailableError,
    EventError,
    MappingFailedError,
    PersistenceStoreError,
    SiddhiAppCreationError,
)
from siddhi.persistence import ErrorOccurrence, InMemoryErrorStore, InMemoryPersistenceStore
from tests.kit.connectors import FakeConnectors, heard
from tests.kit.running import collect, collect_events, running

STREAM = "define stream S (k string, v int);"


@pytest.fixture
def fake() -> FakeConnectors:
    return FakeConnectors()


def send(runtime, *values, stream="S"):
    for value in values:
        runtime.input_handler(stream).send(("a", value), timestamp=1000 + value)


def values_of(connection):
    return [payload.data[1] for _, payload in connection.payloads]


def test_a_sink_has_the_lifecycle_of_its_app(fake):
    with fake.running(f"@sink(type='fake') {STREAM}") as runtime:
        assert fake.sink.calls == ["connect"]
        send(runtime, 1)
    assert fake.sink.calls == ["connect", "disconnect", "destroy"]
    assert fake.sink.payloads == [("?", Event(1001, ("a", 1)))]


def test_a_sink_is_connected_before_triggers_fire(fake):
    app = "@sink(type='fake') define stream T (triggered_time long); define trigger T at 'start';"
    with fake.running(app):
        assert len(fake.sink.payloads) == 1


def test_a_chunk_is_published_together(fake):
    with fake.running(f"@sink(type='fake') {STREAM}") as runtime:
        runtime.input_handler("S").send_events([Event(1, ("a", 1)), Event(2, ("b", 2))])
    assert fake.sink.payloads == [("?", [Event(1, ("a", 1)), Event(2, ("b", 2))])]


def test_dynamic_options_split_a_chunk(fake):
    with fake.running(f"@sink(type='fake', to='{{{{k}}}}!') {STREAM}") as runtime:
        runtime.input_handler("S").send_events([Event(1, (key, value)) for value, key in enumerate("aba")])
    assert [(to, [event[1] for event in events]) for to, events in fake.sink.payloads] == [
        ("a!", [0, 2]),
        ("b!", [1]),
    ]


@pytest.mark.parametrize(
    ("attribute", "value", "text"),
    [
        ("double", 1e7, "1.0E7"),
        ("float", 0.1, "0.1"),
        ("bool", True, "true"),
        ("long", 5, "5"),
        ("string", None, "null"),
    ],
)
def test_attributes_in_options_are_formatted_as_text(fake, attribute, value, text):
    with fake.running(f"@sink(type='fake', to='-{{{{x}}}}') define stream S (x {attribute});") as runtime:
        runtime.input_handler("S").send((value,))
    assert fake.sink.payloads[0][0] == f"-{text}"


def test_sinks_are_called_after_queries_and_before_callbacks(fake):
    order = []
    app = f"@sink(type='fake') {STREAM} from S select v insert into O;"
    with fake.running(app) as runtime:
        runtime.add_callback("O", lambda events: order.append(("query", len(fake.sink.payloads))))
        runtime.add_callback("S", lambda events: order.append(("callback", len(fake.sink.payloads))))
        send(runtime, 1)
    assert order == [("query", 0), ("callback", 1)]


def test_a_single_failure_is_retried_immediately(fake):
    with fake.running(f"@sink(type='fake') {STREAM}") as runtime:
        failing = iter([ConnectionUnavailableError("once")])
        check = fake.sink.check

        def fail_once() -> None:
            for error in failing:
                raise error
            check()

        fake.sink.check = fail_once  # type: ignore[method-assign]
        send(runtime, 1, 2)
    assert values_of(fake.sink) == [1, 2]
    assert fake.sink.calls.count("connect") == 2
    assert fake.time.pauses == []


def test_by_default_events_are_dropped_with_a_log_while_disconnected(fake, caplog):
    with caplog.at_level(logging.ERROR, "siddhi"), fake.running(f"@sink(type='fake') {STREAM}") as runtime:
        fake.sink.down = True
        send(runtime, 1, 2)
        fake.sink.down = False
        send(runtime, 3)
        fake.time.run()
        send(runtime, 4)
    assert values_of(fake.sink) == [4]
    assert fake.time.pauses == [5]
    assert caplog.text.count("dropped: Event(") == 3


def test_a_sink_without_connection_at_start_is_retried(fake):
    fake.sink.down = True
    with fake.running(f"@sink(type='fake') {STREAM}") as runtime:
        fake.time.run()
        fake.sink.down = False
        fake.time.run()
        send(runtime, 1)
    assert fake.time.pauses == [5, 10]
    assert values_of(fake.sink) == [1]


def test_another_error_of_connect_prevents_the_start(fake):
    fake.sink.broken = PermissionError("no")
    runtime = fake.manager.create_siddhi_app_runtime(f"@sink(type='fake') {STREAM}")
    with pytest.raises(PermissionError):
        runtime.start()
    assert not runtime.is_running


def test_an_error_other_than_a_lost_connection_is_logged_by_the_sink(fake, caplog):
    with caplog.at_level(logging.ERROR, "siddhi"), fake.running(f"@sink(type='fake') {STREAM}") as runtime:
        fake.sink.broken = ValueError("too long")
        send(runtime, 1)
        fake.sink.broken = None
        send(runtime, 2)
    assert values_of(fake.sink) == [2]
    assert "too long" in caplog.text
    assert fake.sink.calls.count("connect") == 1


def test_on_error_stream_sends_failed_events_to_the_fault_stream(fake):
    app = f"@OnError(action='stream') @sink(type='fake', on.error='stream') {STREAM}"
    with fake.running(app) as runtime:
        chunks = collect_events(runtime, "!S")
        fake.sink.down = True
        runtime.input_handler("S").send_events([Event(1, ("a", 1)), Event(2, ("b", 2))])
    ((first, second),) = chunks
    assert [first["v"], second["v"]] == [1, 2]
    assert isinstance(first["_error"], ConnectionUnavailableError)


def test_on_error_stream_without_fault_stream_logs_the_error(fake):
    with fake.running(f"@sink(type='fake', on.error='stream') {STREAM}") as runtime:
        failures = []
        runtime.handle_exception_with(lambda *failure: failures.append(failure))
        fake.sink.down = True
        send(runtime, 1)
    ((error, origin, events),) = failures
    assert isinstance(error, ConnectionUnavailableError)
    assert (origin, events) == ("S", [Event(1001, ("a", 1))])


def test_on_error_wait_blocks_the_sender_until_it_is_published(fake):
    with fake.running(f"@sink(type='fake', on.error='wait') {STREAM}") as runtime:
        fake.sink.down = True

        def open_after_three() -> None:
            fake.sink.down = len(fake.time.waits) < 3

        fake.time.on_wait = open_after_three
        send(runtime, 1, 2)
    assert values_of(fake.sink) == [1, 2]
    assert fake.time.waits == [5, 5, 5]


def test_waiting_is_logged_first_and_then_at_growing_intervals(fake, caplog):
    with (
        caplog.at_level(logging.WARNING, "siddhi"),
        fake.running(f"@app:name('A') @sink(type='fake', on.error='wait') {STREAM}") as runtime,
    ):
        fake.sink.down = True
        said = []

        def wait() -> None:
            said.append(len(caplog.records))
            fake.sink.down = len(fake.time.waits) < 40

        fake.time.on_wait = wait
        send(runtime, 1)
    assert values_of(fake.sink) == [1]
    assert [number for number, (one, more) in enumerate(zip([0, *said], said, strict=False)) if more > one] == [
        0,
        1,
        3,
        7,
        15,
        31,
    ]
    first, *_, last = (record.getMessage() for record in caplog.records)
    assert first == (
        "app 'A', sink 'fake' of stream 'S': ConnectionUnavailableError: the connection is closed; waiting to publish, "
        "which blocks the app; retrying in 5 s"
    )
    assert "still waiting to publish" in last
    assert "(32 like this so far, 15 of them not shown)" in last


@pytest.mark.parametrize("error", [ValueError("no"), OSError("disk full"), RuntimeError("?"), TimeoutError("late")])
def test_waiting_loses_no_event_for_any_exception_of_the_sink(fake, caplog, error):
    with (
        caplog.at_level(logging.WARNING, "siddhi"),
        fake.running(f"@sink(type='fake', on.error='wait') {STREAM}") as runtime,
    ):
        fake.sink.broken = error

        def mend() -> None:
            if len(fake.time.waits) == 3:
                fake.sink.broken, fake.sink.down = None, True
            if len(fake.time.waits) == 6:
                fake.sink.down, fake.sink.broken = False, error  # what connects, raises, too
            if len(fake.time.waits) == 8:
                fake.sink.broken = None

        fake.time.on_wait = mend
        send(runtime, 1, 2)
    assert values_of(fake.sink) == [1, 2]
    assert fake.time.waits == [5] * 8
    assert "dropped" not in caplog.text
    assert f"{type(error).__name__}: {error}; waiting to publish" in caplog.text


@pytest.mark.parametrize("error", [MappingFailedError("no number"), EventError("no row")])
@pytest.mark.parametrize("waits", [0, 2])
def test_an_error_of_the_event_is_not_waited_for(fake, error, waits):
    app = f"@OnError(action='stream') @sink(type='fake', on.error='wait') {STREAM}"
    with fake.running(app) as runtime:
        rows = collect(runtime, "!S")
        fake.sink.broken = error if waits == 0 else OSError("first something else")

        def change() -> None:
            fake.sink.broken = error if len(fake.time.waits) == waits else fake.sink.broken

        fake.time.on_wait = change
        send(runtime, 1)
        fake.sink.broken = None
        send(runtime, 2)
    assert values_of(fake.sink) == [2]
    assert rows == [("a", 1, error)]
    assert fake.time.waits == [5] * waits


@pytest.mark.parametrize("stored", [False, True])
def test_a_shutdown_stores_or_logs_waiting_events(fake, caplog, stored):
    store = InMemoryErrorStore()
    fake.manager.set_error_store(store if stored else None)
    runtime = fake.manager.create_siddhi_app_runtime(f"@app:name('A') @sink(type='fake', on.error='wait') {STREAM}")
    runtime.start()
    fake.sink.broken = OSError("disk full")
    fake.time.on_wait = lambda: runtime._assembly.connectors.sinks["S"][0].release()
    with caplog.at_level(logging.ERROR, "siddhi"):
        send(runtime, 1)
        runtime.shutdown()
    kept = [entry.events for entry in store.load_error_entries("A")]
    assert kept == ([(Event(1001, ("a", 1)),)] if stored else [])
    assert ("disk full; the app was shut down while the sink waited; dropped: Event(" in caplog.text) is not stored


def test_dropped_events_are_logged_at_growing_intervals(fake, caplog):
    with caplog.at_level(logging.ERROR, "siddhi"), fake.running(f"@sink(type='fake') {STREAM}") as runtime:
        fake.sink.broken = ValueError("too long")
        send(runtime, *range(100))
        assert caplog.text.count("dropped: Event(") == 8 + 3
    assert "ValueError, dropped: 100 in all, of which the last 36 are not shown" in caplog.text


def test_a_shutdown_ends_the_waiting(caplog):
    waiting = threading.Event()
    fake = FakeConnectors()

    def wait(seconds: float, stopped: threading.Event) -> bool:
        waiting.set()
        return stopped.wait(60)

    fake.time.wait = wait  # type: ignore[method-assign]
    runtime = fake.manager.create_siddhi_app_runtime(f"@sink(type='fake', on.error='wait') {STREAM}")
    runtime.start()
    fake.sink.down = True
    with caplog.at_level(logging.ERROR, "siddhi"):
        sender = threading.Thread(target=send, args=(runtime, 1), daemon=True)
        sender.start()
        assert waiting.wait(10)
        runtime.shutdown()
        sender.join(10)
    assert not sender.is_alive()
    assert "dropped: Event(" in caplog.text


def test_exceptions_of_mappers_are_errors_of_the_stream(fake):
    app = f"@OnError(action='stream') @sink(type='fake', to='{{{{k}}}}') {STREAM}"
    with fake.running(app) as runtime:
        rows = collect(runtime, "!S")
        runtime.sinks["S"][0].to = None
        send(runtime, 1)
        assert rows == []


def test_on_error_store_saves_events_and_payload(fake):
    store = InMemoryErrorStore()
    fake.manager.set_error_store(store)
    with fake.running(f"@app:name('A') @sink(type='fake', on.error='store') {STREAM}") as runtime:
        fake.sink.down = True
        send(runtime, 1)
    (entry,) = store.load_error_entries("A", occurrence=ErrorOccurrence.STORE_ON_SINK_ERROR)
    assert entry.events == (Event(1001, ("a", 1)),)
    assert entry.payload == Event(1001, ("a", 1))
    assert entry.cause == "ConnectionUnavailableError: the connection is closed"
    assert fake.time.pauses == [5]


def test_on_error_store_without_error_store_warns_and_drops_with_a_log(fake, caplog):
    with (
        caplog.at_level(logging.ERROR, "siddhi"),
        fake.running(f"@sink(type='fake', on.error='store') {STREAM}") as runtime,
    ):
        assert "without an error store" in caplog.text
        fake.sink.down = True
        send(runtime, 1)
    assert "dropped: Event(" in caplog.text


def test_an_in_memory_sink_calls_subscribers_at_once():
    app = f"@sink(type='inMemory', topic='sink-test') {STREAM}"
    with heard("sink-test") as messages, running(app) as runtime:
        send(runtime, 1)
        assert messages == [Event(1001, ("a", 1))]
        runtime.input_handler("S").send_events([Event(1, ("a", 1)), Event(2, ("b", 2))])
        assert messages[1] == [Event(1, ("a", 1)), Event(2, ("b", 2))]


def test_an_in_memory_sink_without_subscriber_fails():
    app = f"@OnError(action='stream') @sink(type='inMemory', topic='{{{{k}}}}', on.error='stream') {STREAM}"
    with running(app) as runtime:
        chunks = collect_events(runtime, "!S")
        send(runtime, 1)
        with heard("a") as messages:
            send(runtime, 2)
        assert len(messages) == 1
    (((event,),)) = chunks
    assert event.data[:2] == ("a", 1)
    assert str(event["_error"]) == "topic 'a' has no subscribers"


@pytest.mark.parametrize(
    ("options", "level", "text"),
    [
        ("", logging.INFO, "A : S : Event(1001, (k='a', v=1))"),
        (", priority='warn', prefix='seen'", logging.WARNING, "seen : Event(1001, (k='a', v=1))"),
    ],
)
def test_a_log_sink_logs(options, level, text, caplog):
    with (
        caplog.at_level(logging.DEBUG, "siddhi"),
        running(f"@app:name('A') @sink(type='log'{options}) {STREAM}") as runtime,
    ):
        send(runtime, 1)
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(level, text)]


def test_a_log_sink_at_priority_off_logs_nothing(caplog):
    with caplog.at_level(1, "siddhi"), running(f"@sink(type='log', priority='OFF') {STREAM}") as runtime:
        send(runtime, 1)
    assert caplog.records == []


def test_snapshots_are_taken_of_apps_with_sinks(fake):
    fake.manager.set_persistence_store(InMemoryPersistenceStore())
    app = f"@app:name('A') @sink(type='fake') {STREAM} from S#window.length(5) select sum(v) as total insert into O;"
    with fake.running(app) as runtime:
        send(runtime, 1, 2)
        runtime.persist()
    with fake.running(app) as runtime:
        rows = collect(runtime, "O")
        runtime.restore_last_revision()
        send(runtime, 4)
    assert rows == [(7,)]


def test_a_sink_learns_whether_a_state_was_saved(fake, monkeypatch):
    store = InMemoryPersistenceStore()
    fake.manager.set_persistence_store(store)
    with fake.running(f"@app:name('A') @sink(type='fake') {STREAM}") as runtime:
        runtime.snapshot()
        assert fake.sink.checkpoints == []
        runtime.persist()
        with monkeypatch.context() as full:
            full.setattr(store, "save", lambda *_, **__: (_ for _ in ()).throw(PersistenceStoreError("full")))
            with pytest.raises(PersistenceStoreError):
                runtime.persist()
    assert fake.sink.checkpoints == [True, False]


def test_on_error_retry_needs_a_queue(fake):
    with pytest.raises(SiddhiAppCreationError, match="sink 'fake' does not support on") as raised:
        fake.manager.create_siddhi_app_runtime(f"@sink(type='fake', on.error='retry') {STREAM}")
    assert raised.value.span is not None


def test_options_set_the_pauses_of_waiting_and_connecting(fake):
    options = "retry.initial='1 sec', retry.multiplier='3', retry.jitter='0'"
    with fake.running(f"@sink(type='fake', on.error='wait', {options}) {STREAM}") as runtime:
        fake.sink.down = True
        fake.time.on_wait = lambda: setattr(fake.sink, "down", len(fake.time.waits) < 3)
        send(runtime, 1)
        assert fake.time.waits == [1, 3, 9]


def test_a_limit_of_attempts_ends_the_connecting(fake, caplog):
    fake.sink.down = True
    with (
        caplog.at_level(logging.ERROR, "siddhi"),
        fake.running(f"@sink(type='fake', retry.limit='2') {STREAM}") as runtime,
    ):
        assert fake.time.run() == 1
        assert fake.time.run() == 0
        fake.sink.down = False
        send(runtime, 1)
        assert fake.time.run() == 0
    assert values_of(fake.sink) == []
    assert "'retry.limit' is reached" in caplog.text
