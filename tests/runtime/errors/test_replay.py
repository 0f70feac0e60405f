"""Entries of the error store are replayed by ``replay_error_entry``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from siddhi import Event, SiddhiAppRuntime, extension
from siddhi.errors import ConnectionUnavailableError, EventError, NotRunningError
from siddhi.extension import Registry
from siddhi.persistence import ErrorEntry, ErrorOccurrence, InMemoryErrorStore, UnkeptValue
from siddhi.types import AttributeType
from tests.kit.connectors import FakeConnectors
from tests.kit.running import collect, collect_events

STREAM = "define stream S (v int, x float);"
STORING = f"@OnError(action = 'store') {STREAM}"
QUERY = "from S select luck(v) as v, x insert into Out;"


class Bench:
    """Runs apps called A with an error store, and a function ``luck`` that fails with 13 while luck is bad."""

    def __init__(self) -> None:
        self.fake = FakeConnectors()
        self.errors = InMemoryErrorStore()
        self.bad = True
        self.running: list[SiddhiAppRuntime] = []

        @extension.function("luck", args=(AttributeType.INT,), returns=AttributeType.INT, registry=Registry())
        def luck(value: int) -> int:
            if self.bad and value == 13:
                raise ArithmeticError("unlucky")
            return value

        self.fake.manager.set_extension("luck", luck)
        self.fake.manager.set_error_store(self.errors)

    def start(self, text: str) -> SiddhiAppRuntime:
        runtime = self.fake.manager.create_siddhi_app_runtime(f"@app:name('A') {text}")
        self.running.append(runtime)
        runtime.start()
        return runtime

    @property
    def entries(self) -> list[ErrorEntry]:
        return self.errors.load_error_entries("A")

    @property
    def entry(self) -> ErrorEntry:
        (entry,) = self.entries
        return entry


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    for runtime in bench.running:
        runtime.shutdown()


# --- streams


def test_events_are_sent_into_their_stream_again(bench):
    runtime = bench.start(f"{STORING} {QUERY}")
    chunks = collect_events(runtime, "Out")
    runtime.input_handler("S").send_events([Event(1000, (1, 0.5)), Event(1001, (13, math.nan))])
    runtime.input_handler("S").send((13, None), 1002)
    together, alone = bench.entries
    bench.bad = False
    runtime.replay_error_entry(together)
    runtime.replay_error_entry(alone)
    assert [[(event.timestamp, event["v"]) for event in chunk] for chunk in chunks] == [
        [(1000, 1), (1001, 13)],
        [(1002, 13)],
    ]
    assert bench.errors.count() == 2, "they stay until they are discarded"


def test_replayed_events_bypass_the_buffer_of_an_async_stream(bench):
    runtime = bench.start(f"@async {STORING} {QUERY}")
    rows = collect(runtime, "Out")
    runtime.replay_error_entry(failed_entry(Event(1000, (1, 0.5))))
    assert rows == [(1, 0.5)], "there when the call returns"


@pytest.mark.parametrize("values", [(13, 0.1), (13, math.nan), (13, None), (13, 7)])
@pytest.mark.parametrize("settings", ["@OnError(action = 'store')", "@async @OnError(action = 'store')", ""])
def test_a_replay_that_fails_is_raised_and_not_stored_again(bench, settings, values):
    entry = failed_entry(Event(1000, values))
    runtime = bench.start(f"{settings} {STREAM} {QUERY}")
    told = []
    runtime.handle_exception_with(lambda *failure: told.append(failure))
    for events in ((Event(1000, values),), (Event(999, (1, 0.5)), Event(1000, values))):
        with pytest.raises(Exception, match="unlucky"):
            runtime.replay_error_entry(replace(entry, events=events))
    assert bench.errors.count() == 0
    assert told == []
    runtime.input_handler("S").send((13, 0.1), 1001)
    runtime.shutdown()
    assert len(told) == 1, "failures of others are handled as ever"


def test_replayed_events_can_be_corrected(bench):
    runtime = bench.start(f"{STORING} {QUERY}")
    rows = collect(runtime, "Out")
    runtime.input_handler("S").send((13, 0.5), 1000)
    runtime.replay_error_entry(replace(bench.entry, events=(Event(1000, (7, 0.5)),)))
    assert rows == [(7, 0.5)]
    with pytest.raises(EventError, match="2 attributes"):
        runtime.replay_error_entry(replace(bench.entry, events=(Event(1000, (7,)),)))


def test_in_playback_replayed_late_events_do_not_move_the_clock(bench):
    runtime = bench.start(
        f"@app:playback {STORING} from S select luck(v) as v, currentTimeMillis() as now insert into Out;"
    )
    chunks = collect_events(runtime, "Out")
    runtime.input_handler("S").send((13, 0.5), 1000)
    runtime.input_handler("S").send((1, 0.5), 5000)
    bench.bad = False
    runtime.replay_error_entry(bench.entry)
    runtime.replay_error_entry(replace(bench.entry, events=(Event(7000, (13, 0.5)),)))
    assert [event for chunk in chunks for event in chunk] == [
        Event(5000, (1, 5000)),
        Event(1000, (13, 5000)),
        Event(7000, (13, 7000)),
    ]


def test_a_later_failure_of_a_replay_is_a_new_entry(bench):
    runtime = bench.start(
        f"{STORING} @OnError(action = 'store') define stream M (v int, x float);"
        "from S select * insert into M; from M select luck(v) as v insert into Out;"
    )
    runtime.replay_error_entry(failed_entry(Event(1000, (13, 0.5))))
    assert (bench.entry.name, bench.entry.events[0].data) == ("M", (13, 0.5))


def test_other_failing_events_are_handled_as_before(bench):
    runtime = bench.start(f"{STORING} from S[v == 1] select 13 as v, x insert into S; {QUERY}")
    rows = collect(runtime, "Out")
    runtime.replay_error_entry(failed_entry(Event(1000, (1, 0.5))))
    assert [event.data for event in bench.entry.events] == [(13, 0.5)]
    assert rows == [(1, 0.5)]


# --- sinks

SINKS = (
    "@sink(type = 'inMemory', topic = 'replay-nobody') @sink(type = 'fake', on.error = 'store', to = '{{k}}') "
    "define stream S (k string, v int);"
)


@pytest.fixture
def sunk(bench):
    """An entry of the second sink of a stream, and the app."""
    runtime = bench.start(SINKS)
    bench.fake.sink.down = True
    runtime.input_handler("S").send(("a", 1), 1000)
    return runtime, bench.entry


def test_a_payload_is_published_again_by_its_sink(bench, sunk):
    runtime, entry = sunk
    assert entry.connector == 1
    bench.fake.sink.down = False
    bench.fake.time.run()
    runtime.replay_error_entry(entry)
    runtime.replay_error_entry(entry, payload="put right")
    assert bench.fake.sink.payloads == [("a", Event(1000, ("a", 1))), ("a", "put right")]
    assert bench.errors.count() == 1


def test_a_missing_payload_is_created_again(bench, sunk):
    runtime, entry = sunk
    bench.fake.sink.down = False
    bench.fake.time.run()
    events = (*entry.events, Event(1001, ("a", 2)))
    for payload in (None, UnkeptValue("Blob", "<blob>")):
        runtime.replay_error_entry(replace(entry, payload=payload))
        runtime.replay_error_entry(replace(entry, payload=payload, events=events))
    assert bench.fake.sink.payloads == [("a", Event(1000, ("a", 1))), ("a", list(events))] * 2


def test_a_payload_that_fails_again_is_raised_and_not_stored_again(bench, sunk):
    runtime, entry = sunk
    with pytest.raises(ConnectionUnavailableError, match="is not connected"):
        runtime.replay_error_entry(entry)
    bench.fake.sink.down = False
    bench.fake.time.run()
    bench.fake.sink.down = True
    with pytest.raises(ConnectionUnavailableError, match="the connection is closed"):
        runtime.replay_error_entry(entry)
    bench.fake.sink.down = False
    assert bench.fake.time.run() == 1, "it is connected again by itself"
    bench.fake.sink.broken = OSError("no paper")
    with pytest.raises(OSError, match="no paper"):
        runtime.replay_error_entry(replace(entry, payload=None))
    assert bench.errors.count() == 1


# --- sources

SOURCES = (
    "@source(type = 'inMemory', topic = 'replay-source') "
    "@source(type = 'fake', @map(type = 'passThrough', @attributes(k = 'trp:kind', v = 'v'))) "
    "@OnError(action = 'store') define stream S (k string, v int);"
)


@pytest.fixture
def mapped(bench):
    """An entry of the second source of a stream, and the app."""
    runtime = bench.start(f"@app:playback {SOURCES} from S select k, luck(v) as v insert into Out;")
    runtime.sources["S"][1].listener.on_event("text", ("x",))
    return runtime, bench.entry


def test_a_payload_is_mapped_again_with_its_transport_properties(bench, mapped):
    runtime, entry = mapped
    assert (entry.connector, entry.transport_properties) == (1, ("x",))
    rows = collect(runtime, "Out")
    runtime.replay_error_entry(entry, payload=(None, 7))
    runtime.replay_error_entry(replace(entry, payload=Event(5, (None, 8))))
    assert rows == [("x", 7), ("x", 8)]
    assert bench.errors.count() == 1


def test_a_mapping_that_fails_again_is_raised_and_not_stored_again(bench, mapped, caplog):
    runtime, entry = mapped
    caplog.clear()
    with pytest.raises(Exception, match="text"):
        runtime.replay_error_entry(entry)
    with pytest.raises(EventError):
        runtime.replay_error_entry(entry, payload=(None, "no number"))
    with pytest.raises(ValueError, match="2 transport properties, expected 1"):
        runtime.replay_error_entry(replace(entry, transport_properties=("x", "y")), payload=(None, 7))
    assert bench.errors.count() == 1
    assert caplog.text == ""


def test_a_mapped_event_that_fails_is_an_entry_of_the_stream(bench, mapped):
    runtime, entry = mapped
    runtime.replay_error_entry(entry, payload=(None, 13))
    assert [found.occurrence for found in bench.entries] == [
        ErrorOccurrence.BEFORE_SOURCE_MAPPING,
        ErrorOccurrence.STORE_ON_STREAM_ERROR,
    ]


# --- what is refused


def failed_entry(*events: Event, **changes: object) -> ErrorEntry:
    entry = ErrorEntry(3, 1, "A", "S", ErrorOccurrence.STORE_ON_STREAM_ERROR, events, "cause", "trace")
    return replace(entry, **changes)


EVENT = Event(1000, (1, 0.5))
GONE = UnkeptValue("Blob", "<blob>")
SINK, SOURCE = ErrorOccurrence.STORE_ON_SINK_ERROR, ErrorOccurrence.BEFORE_SOURCE_MAPPING
TABLE = ErrorOccurrence.STORE_ON_TABLE_ADD


@pytest.mark.parametrize(
    ("changes", "payload", "said"),
    [
        ({"app": "B"}, None, "entry 3 can't be replayed: app 'A' has no stream"),
        ({"name": "Nobody"}, None, "entry 3 can't be replayed: app 'A' has no stream"),
        ({"name": "W"}, None, "entry 3 can't be replayed: app 'A' has no stream"),
        ({"events": ()}, None, "entry 3 has no events"),
        ({"events": (Event(1, (GONE, 0.5)),)}, None, "could not save a value of entry 3: <blob>"),
        ({}, "payload", "payload=... is not allowed"),
        ({"occurrence": SINK, "app": "B"}, None, "entry 3 can't be replayed: app 'A' has no such sink"),
        ({"occurrence": SINK, "connector": 1}, None, "entry 3 can't be replayed: app 'A' has no such sink"),
        ({"occurrence": SINK, "events": ()}, None, "entry 3 has no events"),
        ({"occurrence": SOURCE, "app": "B"}, None, "entry 3 can't be replayed: app 'A' has no such source"),
        ({"occurrence": SOURCE, "connector": 1}, None, "entry 3 can't be replayed: app 'A' has no such source"),
        ({"occurrence": SOURCE}, None, "could not save the payload of entry 3: pass one"),
        ({"occurrence": SOURCE, "payload": GONE}, None, "could not save the payload of entry 3: pass one"),
        ({"occurrence": SOURCE, "transport_properties": (GONE,)}, "text", "could not save the transport properties"),
        ({"occurrence": TABLE}, None, "entry 3 can't be replayed: app 'A' has no table"),
    ],
)
def test_invalid_replays_are_refused(bench, changes, payload, said):
    runtime = bench.start(
        f"@source(type = 'fake') @sink(type = 'fake') {STORING} define window W (v int) length(2); from S select v insert into W;"
    )
    rows = collect(runtime, "S")
    with pytest.raises(ValueError, match=said):
        runtime.replay_error_entry(failed_entry(EVENT, **changes), payload=payload)
    assert rows == []


@pytest.mark.parametrize("changes", [{}, {"occurrence": SINK}, {"occurrence": SOURCE, "payload": "text"}])
def test_an_app_that_is_not_running_replays_nothing(bench, changes):
    runtime = bench.start(f"@source(type = 'fake') @sink(type = 'fake') {STORING}")
    runtime.shutdown()
    with pytest.raises(NotRunningError, match="Siddhi app 'A' is not running"):
        runtime.replay_error_entry(failed_entry(EVENT, **changes))
