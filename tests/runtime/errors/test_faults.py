"""Failed events are handled by the stream's ``@OnError``, or by the app's handler."""

from __future__ import annotations

import logging

import pytest

from siddhi import Event, SiddhiManager
from siddhi.persistence import ErrorOccurrence, InMemoryErrorStore
from tests.kit.running import collect, collect_events, running

FAILING = "define function f[python] return int { if v == 13: raise ArithmeticError('unlucky')\nreturn v };"
STREAM = "define stream S (v int);"
SCRIPT = FAILING.replace("{ if v", "{\nv = data[0]\nif v")
QUERY = "@info(name = 'q') from S#window.length(2) select f(v) as v, sum(v) as total insert into Out;"


def test_by_default_a_failure_is_logged_and_later_events_are_processed(caplog):
    with caplog.at_level(logging.ERROR, "siddhi"), running(f"@app:name('A') {SCRIPT} {STREAM} {QUERY}") as runtime:
        rows = collect(runtime, "Out")
        for value in (1, 13, 2):
            runtime.input_handler("S").send((value,), 1000)
        assert [row[0] for row in rows] == [1, 2]
    (record,) = caplog.records
    message = record.getMessage()
    assert "app 'A', S: " in message
    assert "unlucky" in message
    assert "Event(1000, (v=13))" in message


def test_a_handler_gets_exception_stream_and_events():
    with running(f"{SCRIPT} {STREAM} {QUERY}") as runtime:
        failures = []
        runtime.handle_exception_with(lambda *failure: failures.append(failure))
        runtime.input_handler("S").send((13,), 1000)
    ((error, origin, events),) = failures
    assert "unlucky" in f"{error} {error.__cause__}"
    assert origin == "S"
    assert events == [Event(1000, (13,))]


def test_the_receivers_behind_a_failing_one_do_not_get_the_event():
    with running(f"{SCRIPT} {STREAM} {QUERY}") as runtime:
        runtime.handle_exception_with(lambda *failure: None)
        rows = collect(runtime, "S")
        for value in (1, 13, 2):
            runtime.input_handler("S").send((value,), 1000)
        assert rows == [(1,), (2,)]


@pytest.fixture
def faulty():
    with running(f"{SCRIPT} @OnError(action = 'stream') {STREAM} {QUERY}") as runtime:
        yield runtime


def test_a_fault_stream_gets_the_event_and_its_error(faulty):
    chunks = collect_events(faulty, "!S")
    rows = collect(faulty, "Out")
    for value in (1, 13, 2):
        faulty.input_handler("S").send((value,), 1000)
    assert [row[0] for row in rows] == [1, 2]
    ((event,),) = chunks
    assert event.timestamp == 1000
    assert event["v"] == 13
    assert "unlucky" in f"{event['_error']} {event['_error'].__cause__}"


def test_a_query_can_read_a_fault_stream():
    app = f"{SCRIPT} @OnError(action = 'stream') {STREAM} {QUERY} from !S select v insert into Failed;"
    with running(app) as runtime:
        rows = collect(runtime, "Failed")
        runtime.input_handler("S").send((13,))
        assert rows == [(13,)]


def test_all_forms_of_sending_reach_the_fault_stream(faulty):
    rows = collect(faulty, "!S")
    handler = faulty.input_handler("S")
    handler.send_batch({"v": [1, 13, 2, 13]})
    assert [row[0] for row in rows] == [13, 13]
    handler.send_events([Event(1, (3,)), Event(2, (13,))])
    assert [row[0] for row in rows[2:]] == [3, 13], "a chunk fails as a whole"


def test_a_failing_row_of_a_batch_does_not_affect_the_others():
    with running(f"{SCRIPT} {STREAM} {QUERY}") as runtime:
        failures = []
        runtime.handle_exception_with(lambda error, origin, events: failures.extend(event.data for event in events))
        batches = []
        runtime.add_batch_callback("Out", lambda batch: batches.extend(batch["v"].tolist()))
        runtime.input_handler("S").send_batch({"v": [1, 13, 2, 13, 3]})
        assert batches == [1, 2, 3]
        assert failures == [(13,), (13,)]


def test_a_failing_timer_is_handled_and_the_clock_continues():
    app = f"@app:playback {SCRIPT} {STREAM} @info(name = 'q') from S#window.timeBatch(1 sec) select f(v) as v insert into Out;"
    with running(app) as runtime:
        failures = []
        runtime.handle_exception_with(lambda error, origin, events: failures.append(origin))
        rows = collect(runtime, "Out")
        for time, value in ((1000, 13), (2500, 1), (3500, 2), (4500, 3)):
            runtime.input_handler("S").send((value,), time)
        assert failures == ["timer"]
        assert rows == [(1,), (2,)]


# --- the error store

STORING = f"@app:name('A') {SCRIPT} @OnError(action = 'store') {STREAM} {QUERY}"


@pytest.fixture
def stored():
    manager = SiddhiManager()
    store = InMemoryErrorStore()
    manager.set_error_store(store)
    with running(STORING, manager=manager) as runtime:
        yield runtime, store


def test_failed_events_are_stored_in_all_forms_of_sending(stored):
    runtime, store = stored
    handler = runtime.input_handler("S")
    handler.send((13,), 1000)
    handler.send((13,))
    handler.send(Event(1001, (13,)))
    handler.send_events([Event(1002, (1,)), Event(1003, (13,))])
    handler.send_batch({"v": [13]})
    entries = store.load_error_entries("A", name="S")
    assert [[event.data for event in entry.events] for entry in entries] == [
        [(13,)],
        [(13,)],
        [(13,)],
        [(1,), (13,)],
        [(13,)],
    ]
    assert entries[0].events[0].timestamp == 1000
    assert {entry.occurrence for entry in entries} == {ErrorOccurrence.STORE_ON_STREAM_ERROR}
    assert "unlucky" in entries[0].stack_trace


def test_a_stored_event_can_be_sent_again(stored):
    runtime, store = stored
    rows = collect(runtime, "Out")
    runtime.input_handler("S").send((13,), 1000)
    (entry,) = store.load_error_entries("A")
    runtime.input_handler(entry.name).send_events([Event(event.timestamp, (7,)) for event in entry.events])
    store.discard_error_entry(entry.id)
    assert [row[0] for row in rows] == [7]
    assert store.count() == 0


def test_without_error_store_failures_are_logged(caplog):
    with caplog.at_level(logging.ERROR, "siddhi"), running(STORING) as runtime:
        runtime.input_handler("S").send((13,), 1000)
    assert "unlucky" in caplog.text


@pytest.mark.parametrize("action", ["stream", "store"])
def test_a_handler_is_called_before_other_handling(action):
    manager = SiddhiManager()
    manager.set_error_store(InMemoryErrorStore())
    with running(STORING.replace("'store'", f"'{action}'"), manager=manager) as runtime:
        told = []
        runtime.handle_exception_with(lambda error, origin, events: told.append((origin, events)))
        if action == "stream":
            runtime.add_callback("!S", lambda events: told.append("fault stream"))
        runtime.input_handler("S").send((13,), 1000)
    assert told[0] == ("S", [Event(1000, (13,))])
    assert told[1:] == (["fault stream"] if action == "stream" else [])


def test_an_async_stream_stores_failed_events():
    manager = SiddhiManager()
    store = InMemoryErrorStore()
    manager.set_error_store(store)
    with running(STORING.replace("@OnError", "@async(buffer.size = '16') @OnError"), manager=manager) as runtime:
        runtime.input_handler("S").send((13,), 1000)
    assert [event.data for entry in store.load_error_entries("A") for event in entry.events] == [(13,)]


def test_repeated_failures_are_logged_rarely_but_all_reach_the_handler(caplog):
    app = """@app:name('A') @app:playback define stream S (v int);
    @info(max.partial.matches = '10') from every a=S -> b=S[v < 0] select a.v as v insert into Out;"""
    with caplog.at_level(logging.ERROR, "siddhi"):
        with running(app) as runtime:
            for v in range(3000):
                runtime.input_handler("S").send((v,), 1000 + v)
            lines = [record.getMessage() for record in caplog.records]
            assert len(lines) == 8 + len([16, 32, 64, 128, 256, 512, 1024, 2048])
            assert "dropped: Event(1010, (v=10))" in lines[0]
            assert lines[-1].endswith(
                "dropped: Event(3057, (v=2057)) (2,048 like this so far, 1,023 of them not shown)"
            )
            heard = []
            runtime.handle_exception_with(lambda error, origin, events: heard.extend(events))
            runtime.input_handler("S").send((5,), 9000)
            assert len(heard) == 1
        (line,) = [record.getMessage() for record in caplog.records[len(lines) :]]
    assert line == "app 'A', S: LimitExceededError: 2,990 in all, of which the last 942 are not shown"


def test_other_kinds_of_failures_are_logged_immediately(caplog):
    app = """@app:name('A') define function f[python] return int { return 10 // data[0] };
    define stream S (v int); define stream T (v int);
    from S select f(v) as v insert into O; from T select f(v) as v insert into P;"""
    with caplog.at_level(logging.ERROR, "siddhi"), running(app) as runtime:
        for _ in range(20):
            runtime.input_handler("S").send((0,))
        n = len(caplog.records)
        assert n == 9
        runtime.input_handler("T").send((0,))
        assert len(caplog.records) == n + 1
