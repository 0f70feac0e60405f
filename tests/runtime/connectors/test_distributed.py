from __future__ import annotations

import pytest

from siddhi import Event, SiddhiManager, extension
from siddhi.errors import ConnectionUnavailableError
from siddhi.io import Sink
from tests.kit.connectors import FakeConnectors, StoppedTime, heard
from tests.kit.running import collect_events, running

STREAM = "define stream S (k string, v int);"


def send(runtime, *rows):
    for row in rows:
        runtime.input_handler("S").send(row, timestamp=1000)


def values(messages):
    return [message[1] if isinstance(message, Event) else [event[1] for event in message] for message in messages]


def in_memory(strategy: str) -> str:
    return f"@sink(type='inMemory', @distribution({strategy}, @destination(topic='d1'), @destination(topic='d2'))) {STREAM}"


@pytest.mark.parametrize(
    ("strategy", "first", "second"),
    [
        ("strategy='roundRobin'", [1, 3], [2]),
        ("strategy='broadcast'", [1, 2, 3], [1, 2, 3]),
        ("strategy='partitioned', partitionKey='k'", [2], [1, 3]),
    ],
)
def test_payloads_are_sent_to_the_destinations_of_the_strategy(strategy, first, second):
    with heard("d1") as one, heard("d2") as two, running(in_memory(strategy)) as runtime:
        send(runtime, ("a", 1), ("b", 2), ("a", 3))
        assert (values(one), values(two)) == (first, second)


def test_a_chunk_is_split_by_the_destinations_of_its_keys():
    app = in_memory("strategy='partitioned', partitionKey='k'")
    with heard("d1") as one, heard("d2") as two, running(app) as runtime:
        runtime.input_handler("S").send_events([Event(1, ("a", 1)), Event(1, ("b", 2)), Event(1, ("c", 3))])
        assert (values(one), values(two)) == ([[2]], [[1, 3]])


def test_a_key_can_be_a_number():
    app = in_memory("strategy='partitioned', partitionKey='v'")
    with heard("d1") as one, heard("d2") as two, running(app) as runtime:
        send(runtime, ("a", 0), ("a", 1))
        assert (values(one), values(two)) == ([0], [1])


class Destinations:
    """A sink with one client per destination; a test shuts them one by one."""

    def __init__(self) -> None:
        self.down: set[str] = set()
        self.published: list[tuple[str, object]] = []
        self.connects: list[str] = []
        self.time = StoppedTime()
        self.manager = SiddhiManager(retries=self.time)
        outer = self

        class Place(Sink):
            def init(self, options, context) -> None:
                self.at = options.static("at")

            def connect(self) -> None:
                outer.connects.append(self.at)
                self.check()

            def publish(self, payload, options) -> None:
                self.check()
                outer.published.append((self.at, payload.data[1]))

            def check(self) -> None:
                if self.at in outer.down:
                    raise ConnectionUnavailableError(f"{self.at} is down")

        registry = extension.Registry()
        self.manager.set_extension("place", extension.sink("place", registry=registry)(Place))

    def app(self, strategy: str = "strategy='roundRobin'") -> str:
        return (
            "@OnError(action='stream') @sink(type='place', on.error='stream', "
            f"@distribution({strategy}, @destination(at='x'), @destination(at='y'))) {STREAM}"
        )


@pytest.fixture
def places() -> Destinations:
    return Destinations()


def test_each_destination_has_its_own_client(places):
    with places.manager.create_siddhi_app_runtime(places.app()) as runtime:
        send(runtime, ("a", 1), ("a", 2), ("a", 3))
    assert places.published == [("x", 1), ("y", 2), ("x", 3)]


def test_a_disconnected_destination_is_skipped_until_it_is_connected(places):
    places.down = {"x"}
    with places.manager.create_siddhi_app_runtime(places.app()) as runtime:
        send(runtime, ("a", 1), ("a", 2))
        assert places.published == [("y", 1), ("y", 2)]
        places.down = set()
        assert places.time.run() == 1
        send(runtime, ("a", 3), ("a", 4))
    assert sorted(place for place, _ in places.published[2:]) == ["x", "y"]


def test_broadcast_succeeds_with_the_connected_destinations(places):
    with places.manager.create_siddhi_app_runtime(places.app("strategy='broadcast'")) as runtime:
        chunks = collect_events(runtime, "!S")
        places.down = {"x"}
        send(runtime, ("a", 1))
        assert chunks == []
    assert places.published == [("y", 1)]


def test_if_all_destinations_fail_on_error_applies(places):
    with places.manager.create_siddhi_app_runtime(places.app("strategy='broadcast'")) as runtime:
        chunks = collect_events(runtime, "!S")
        places.down = {"x", "y"}
        send(runtime, ("a", 1))
        ((event,),) = chunks
        assert isinstance(event["_error"], ConnectionUnavailableError)
        places.down = set()
        places.time.run()
        send(runtime, ("a", 2))
    assert sorted(places.published) == [("x", 2), ("y", 2)]


def test_a_partitioned_key_of_a_disconnected_destination_fails(places):
    places.down = {"y"}
    app = places.app("strategy='partitioned', partitionKey='k'")
    with places.manager.create_siddhi_app_runtime(app) as runtime:
        chunks = collect_events(runtime, "!S")
        send(runtime, ("a", 1), ("b", 2))
        assert [event["v"] for events in chunks for event in events] == [1]
    assert places.published == [("x", 2)]


def test_one_client_serves_destinations_that_differ_in_dynamic_options():
    fake = FakeConnectors()
    app = (
        f"@sink(type='fake', @distribution(strategy='broadcast', @destination(to='p'), @destination(to='q'))) {STREAM}"
    )
    with fake.running(app) as runtime:
        send(runtime, ("a", 1))
    assert [to for to, _ in fake.sink.payloads] == ["p", "q"]
    assert fake.sink.calls == ["connect", "disconnect", "destroy"]
