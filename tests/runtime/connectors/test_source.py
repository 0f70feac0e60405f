from __future__ import annotations

import logging
import threading

import pytest

from siddhi import Event, SiddhiManager
from siddhi.errors import CannotRestoreStateError, ConnectionUnavailableError, NotRunningError, SiddhiAppCreationError
from siddhi.io import InMemoryBroker
from siddhi.persistence import ErrorOccurrence, InMemoryErrorStore, InMemoryPersistenceStore
from tests.kit.connectors import FakeConnectors
from tests.kit.running import collect, collect_events, running

APP = "@app:playback @source(type='fake') define stream S (k string, v int);"


@pytest.fixture
def fake() -> FakeConnectors:
    return FakeConnectors()


def listener_of(runtime):
    return runtime.sources["S"][0].listener


def test_a_source_has_the_lifecycle_of_its_app(fake):
    with fake.running(APP):
        assert fake.source.calls == ["init", "connect"]
    assert fake.source.calls == ["init", "connect", "disconnect", "destroy"]


def test_a_source_sends_an_event_a_chunk_or_a_row(fake):
    with fake.running(APP) as runtime:
        chunks = collect_events(runtime, "S")
        listener = listener_of(runtime)
        listener.on_event(Event(1000, ("a", 1)))
        listener.on_event([Event(1001, ("b", 2)), Event(1002, ("c", 3))])
        listener.on_event(("d", 4))
        listener.on_event(None)
    assert chunks == [
        [Event(1000, ("a", 1))],
        [Event(1001, ("b", 2)), Event(1002, ("c", 3))],
        [Event(1002, ("d", 4))],
    ]


@pytest.mark.parametrize("payload", ["text", 7, ("a",), ("a", "no number"), Event(1, ("a", 1, 2))])
def test_a_failed_mapping_is_logged_and_dropped(fake, payload, caplog):
    with caplog.at_level(logging.ERROR, "siddhi"), fake.running("@app:name('A') " + APP) as runtime:
        rows = collect(runtime, "S")
        listener_of(runtime).on_event(payload)
        listener_of(runtime).on_event(("d", 4))
    assert rows == [("d", 4)]
    (record,) = caplog.records
    assert record.getMessage().startswith("app 'A', source 'fake' of stream 'S': ")


def test_a_failed_mapping_is_stored_if_there_is_an_error_store(fake):
    store = InMemoryErrorStore()
    fake.manager.set_error_store(store)
    with fake.running("@app:name('A') " + APP) as runtime:
        listener_of(runtime).on_event("text")
    (entry,) = store.load_error_entries("A")
    assert (entry.occurrence, entry.name, entry.payload) == (ErrorOccurrence.BEFORE_SOURCE_MAPPING, "S", "text")


@pytest.mark.parametrize("clock", ["", "@app:playback "])
def test_a_failed_mapping_can_go_to_the_fault_stream(clock, caplog):
    app = f"""{clock}@OnError(action = 'stream')
        @source(type = 'inMemory', topic = 'faulty', on.mapping.error = 'STREAM', @map(type = 'json'))
        define stream S (k string, v int);
        from !S select k, v, _error insert into Bad;"""
    payloads = ['{"k": "a", "v": 1}', '{"k": "b", "v": "x"}', '[{"k": "c", "v": 2}, {"k": "d"}]', "nonsense"]
    with running(app) as runtime:
        good, bad = collect(runtime, "S"), collect(runtime, "Bad")
        for payload in payloads:
            InMemoryBroker.publish("faulty", payload)
        (status,) = runtime.connectors()
    assert good == [("a", 1), ("c", 2)]
    assert [row[:2] for row in bad] == [(None, None)] * 3
    assert [row[2].payload for row in bad] == ['{"k": "b", "v": "x"}', '[{"k":"d"}]', "nonsense"]
    assert "attribute 'v': \"x\" is not an int" in str(bad[0][2])
    assert status.failures == 3
    assert caplog.records == []


def test_a_failed_mapping_can_be_logged_beside_an_error_store(fake, caplog):
    store = InMemoryErrorStore()
    fake.manager.set_error_store(store)
    app = APP.replace("type='fake'", "type='fake', on.mapping.error='log'")
    with fake.running("@app:name('A') " + app) as runtime:
        listener_of(runtime).on_event("text")
    assert list(store.load_error_entries("A")) == []
    assert "dropped: 'text'" in caplog.text


@pytest.mark.parametrize(
    ("action", "message"),
    [("stream", "needs a fault stream of 'S'"), ("raise", "invalid 'on.mapping.error' of @source: 'raise'")],
)
def test_an_action_that_does_not_fit_is_refused(fake, action, message):
    app = APP.replace("type='fake'", f"type='fake', on.mapping.error='{action}'")
    with pytest.raises(SiddhiAppCreationError, match=message):
        fake.manager.create_siddhi_app_runtime(app)


def test_transport_properties_become_attributes(fake):
    app = (
        "@source(type='fake', @map(type='passThrough', @attributes(k='trp:kind', b='trp:good', v='v', d='trp:price')))"
        "define stream S (k string, v int, b bool, d double);"
    )
    with fake.running(app) as runtime:
        rows = collect(runtime, "S")
        assert runtime.sources["S"][0].asked_for == ("kind", "good", "price")
        listener = listener_of(runtime)
        listener.on_event(Event(5, (None, 7, None, None)), ("x", "TRUE", "1.5"))
        listener.on_event(Event(5, (None, 8, None, None)), ("y", False, 2.5))
        listener.on_event(Event(5, (None, 9, None, None)))
    assert rows == [("x", 7, True, 1.5), ("y", 8, False, 2.5), (None, 9, None, None)]


def test_a_mapper_can_refuse_missing_transport_properties(fake, caplog):
    app = "@source(type='fake', @map(type='strict', @attributes(k='trp:kind'))) define stream S (k string);"
    with caplog.at_level(logging.ERROR, "siddhi"), fake.running(app) as runtime:
        rows = collect(runtime, "S")
        listener_of(runtime).on_event(Event(5, (None,)), (None,))
        listener_of(runtime).on_event(Event(5, (None,)), ("x",))
    assert rows == [("x",)]
    assert "missing transport properties: kind" in caplog.text


def test_a_source_is_retried_until_it_connects(fake):
    fake.source.down = True
    with fake.running(APP):
        for _ in range(3):
            assert fake.time.run() == 1
        fake.source.down = False
        assert fake.time.run() == 1
        assert fake.time.run() == 0
    assert fake.time.pauses == [5, 10, 15, 30]
    assert fake.source.calls.count("connect") == 5


def test_a_lost_connection_is_opened_again_after_a_disconnect(fake):
    with fake.running(APP) as runtime:
        fake.source.down = True
        runtime.sources["S"][0].callback.on_error(ConnectionUnavailableError("gone"))
        assert fake.source.calls[-2:] == ["disconnect", "connect"]
        fake.source.down = False
        fake.time.run()
        assert fake.source.calls[-2:] == ["disconnect", "connect"]
    assert fake.time.pauses == [5]


def test_no_attempt_is_made_after_a_shutdown(fake):
    fake.source.down = True
    with fake.running(APP):
        pass
    assert fake.time.run() == 0
    assert fake.source.calls == ["init", "connect", "disconnect", "destroy"]


def test_any_other_error_prevents_the_start(fake):
    fake.source.broken = ValueError("wrong password")
    runtime = fake.manager.create_siddhi_app_runtime(APP)
    with pytest.raises(ValueError, match="wrong password"):
        runtime.start()
    assert not runtime.is_running
    assert fake.source.calls[-2:] == ["disconnect", "destroy"]
    fake.source.broken = None
    with runtime:
        assert fake.source.calls[-2:] == ["init", "connect"]


def test_a_new_source_is_connected_when_the_app_starts_again(fake, caplog):
    with fake.running(APP) as runtime:
        old = listener_of(runtime)
        old.on_event(Event(1, ("a", 1)))
    rows = collect(runtime, "S")
    with runtime:
        assert fake.source.calls == ["init", "connect", "disconnect", "destroy", "init", "connect"]
        listener_of(runtime).on_event(Event(2, ("a", 2)))
        old.on_event(Event(3, ("a", 3)))  # of a source that ignores the call of disconnect
    assert rows == [("a", 2)]
    assert "the app is not running; dropped: Event" in caplog.text


def test_an_app_whose_source_cannot_be_created_again_stays_shut_down(fake, monkeypatch):
    with fake.running(APP) as runtime:
        state = runtime.snapshot()

    def fail(*given) -> None:
        raise ValueError("no such host")

    with monkeypatch.context() as broken:
        broken.setattr("tests.kit.connectors.FakeSource.init", fail)
        for again in (runtime.start, runtime.debug, lambda: runtime.restore(state)):
            with pytest.raises(SiddhiAppCreationError, match="no such host"):
                again()
    assert repr(runtime).endswith("(shut down)>")
    assert runtime.snapshot() == state
    with runtime:
        assert fake.source.calls[-2:] == ["init", "connect"]


def test_connection_attempts_start_again_with_the_app(fake):
    fake.source.down = True
    with fake.running(APP) as runtime:
        fake.time.run()
    with runtime:
        fake.source.down = False
        assert fake.time.run() == 1
        assert runtime.statistics.connectors == {}
    assert fake.time.pauses == [5, 10, 5]


def test_sources_can_be_started_later_than_their_app(fake):
    runtime = fake.manager.create_siddhi_app_runtime(APP)
    with pytest.raises(NotRunningError):
        runtime.start_sources()
    runtime.start_without_sources()
    assert runtime.is_running
    assert fake.source.calls == ["init"]
    runtime.start_sources()
    runtime.start_sources()
    assert fake.source.calls == ["init", "connect"]
    runtime.shutdown()


def test_a_source_is_paused_during_snapshot_and_restore(fake):
    fake.manager.set_persistence_store(InMemoryPersistenceStore())
    with fake.running(APP) as runtime:
        fake.source.state = {"offset": 7}
        runtime.persist()
        fake.source.state = {"offset": 9}
        runtime.restore_last_revision()
        assert fake.source.state == {"offset": 7}
        assert fake.source.calls[2:] == ["pause", "resume", "pause", "resume"]


def test_a_source_that_cannot_restore_leaves_the_app_unchanged(fake):
    app = APP + " from S#window.length(3) select sum(v) as total insert into Out;"
    with fake.running(app) as runtime:
        totals = collect(runtime, "Out")
        send = runtime.input_handler("S").send
        fake.source.state = {"offset": 7}
        send(("a", 1), 1000)
        snapshot = runtime.snapshot()
        send(("a", 10), 5000)
        fake.source.refuses = KeyError("offset")
        with pytest.raises(
            CannotRestoreStateError, match=r"KeyError: 'offset'.*could not be rolled back in source 0 of S"
        ):
            runtime.restore(snapshot)
        send(("a", 100), 4000)
        assert totals == [(1,), (11,), (111,)]
        assert fake.source.calls[-1] == "resume"


def test_a_source_stays_paused_until_the_last_of_several_snapshots(fake):
    app = APP
    with fake.running(app) as runtime:
        inside, go_on, snapshots = threading.Event(), threading.Event(), []
        source = runtime.sources["S"][0]

        def slowly():
            inside.set()
            assert go_on.wait(30)
            return {"offset": len(snapshots)}

        source.snapshot = slowly
        saving = [threading.Thread(target=lambda: snapshots.append(runtime.snapshot())) for _ in range(2)]
        connectors = runtime._assembly.connectors
        with connectors.paused():
            for thread in saving:
                thread.start()
            assert inside.wait(30)
        assert fake.source.calls[2:] == ["pause"]
        go_on.set()
        for thread in saving:
            thread.join(30)
        assert len(snapshots) == 2
        assert fake.source.calls[-1] == "resume"
        assert fake.source.calls.count("pause") == fake.source.calls.count("resume")


@pytest.mark.parametrize("at", ["pause", "resume"])
def test_a_source_that_cannot_be_paused_does_not_affect_others(fake, at):
    app = "@app:playback @source(type='inMemory', topic='other') @source(type='fake') @source(type='inMemory', topic='third')"
    with fake.running(app + " define stream S (k string, v int);") as runtime:
        source = runtime.sources["S"][1]
        works = getattr(source, at)
        setattr(source, at, lambda: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            runtime.snapshot()
        setattr(source, at, works)
        assert not any(source.is_paused for source in runtime.sources["S"])


IN_MEMORY = "@source(type='inMemory', topic='source-test') define stream S (k string, v int);"


def test_a_paused_topic_blocks_its_publisher():
    with running(IN_MEMORY) as runtime:
        rows = collect(runtime, "S")
        (source,) = runtime.sources["S"]
        source.pause()
        publisher = threading.Thread(target=InMemoryBroker.publish, args=("source-test", ("a", 1)), daemon=True)
        publisher.start()
        runtime.input_handler("S").send(("b", 2))
        assert rows == [("b", 2)]
        source.resume()
        publisher.join(10)
        assert not publisher.is_alive()
        assert rows == [("b", 2), ("a", 1)]


def test_a_shutdown_releases_a_blocked_publisher():
    with running(IN_MEMORY) as runtime:
        runtime.sources["S"][0].pause()
        publisher = threading.Thread(target=InMemoryBroker.publish, args=("source-test", ("a", 1)), daemon=True)
        publisher.start()
    publisher.join(10)
    assert not publisher.is_alive()


def test_a_paused_source_receives_messages_of_its_own_app():
    app = f"{IN_MEMORY} @sink(type='inMemory', topic='source-test') define stream T (k string, v int);"
    with running(app) as runtime:
        rows = collect(runtime, "S")
        runtime.sources["S"][0].pause()
        runtime.input_handler("T").send(("a", 1))
        assert rows == [("a", 1)]


def test_a_source_without_topic_has_a_default_topic():
    with running("@source(type='inMemory') define stream S (v int);") as runtime:
        rows = collect(runtime, "S")
        InMemoryBroker.publish("input inMemory source", (1,))
    assert rows == [(1,)]


def test_an_async_stream_can_have_a_source():
    app = "@async(buffer.size='16') @source(type='inMemory', topic='source-test') define stream S (v int);"
    with running(app) as runtime:
        rows = collect(runtime, "S")
        for value in range(20):
            InMemoryBroker.publish("source-test", (value,))
    assert rows == [(value,) for value in range(20)]


def test_apps_that_publish_to_each_other_do_not_deadlock():
    def app(own: str, other: str) -> str:
        return (
            f"@source(type='inMemory', topic='{own}') define stream In (hops int);"
            f"@sink(type='inMemory', topic='{other}') define stream Out (hops int);"
            "from In[hops > 0] select hops - 1 as hops insert into Out;"
        )

    def send_often(handler) -> None:
        for _ in range(200):
            handler.send((9,))

    with running(app("ping", "pong")) as left, running(app("pong", "ping")) as right:
        counts = collect(left, "In"), collect(right, "In")
        threads = [
            threading.Thread(target=send_often, args=(runtime.input_handler("In"),))
            for runtime in (left, right)
            for _ in range(2)
        ]
        for thread in threads:
            thread.daemon = True
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
    assert [len(rows) for rows in counts] == [4000, 4000]


def test_a_source_paused_by_its_user_stays_paused_after_a_snapshot():
    app = "@source(type='inMemory', topic='paused') define stream S (v int); from S select v insert into Out;"
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        (source,) = runtime.sources["S"]
        source.pause()
        snapshot = runtime.snapshot()
        assert source.is_paused
        runtime.restore(snapshot)
        assert source.is_paused
        source.resume()
        runtime.snapshot()
        assert not source.is_paused


def test_a_connection_that_is_lost_soon_is_not_made_again_at_once(fake, caplog):
    with (
        caplog.at_level(logging.ERROR, "siddhi"),
        fake.running("@source(type='fake') define stream S (k string, v int);") as runtime,
    ):
        (source,) = runtime.sources["S"]
        for _ in range(3):
            source.callback.on_error(ConnectionUnavailableError("kicked out"))
            fake.time.run()
        (status,) = runtime.connectors()
        assert (status.connected, status.reconnects) == (True, 3)
    assert fake.time.pauses == [5, 10]


def test_a_later_attempt_is_retried_after_any_error(fake, caplog):
    fake.source.down = True
    with (
        caplog.at_level(logging.ERROR, "siddhi"),
        fake.running("@source(type='fake') define stream S (k string, v int);") as runtime,
    ):
        fake.source.down, fake.source.broken = False, ValueError("odd answer")
        assert fake.time.run() == 1
        assert "error while connecting" in caplog.text
        fake.source.broken = None
        assert fake.time.run() == 1
        assert runtime.connectors()[0].connected
    assert fake.time.pauses == [5, 10]
