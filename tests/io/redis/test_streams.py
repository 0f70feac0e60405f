"""Reading streams: payloads and properties, groups, acknowledgements, what a restart repeats, options that are refused."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io import unacknowledged
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.redis import RedisServer
from tests.kit.waiting import wait_until

APP = """@app:name('{name}') @source(type = 'redis-stream', url = '{url}', stream = 'numbers', {options}, @map(type = 'csv'))
define stream S (v long);"""
GROUP = "group = 'g', consumer = 'one', start = 'earliest'"


def app(server: RedisServer, options: str = GROUP, name: str = "In") -> str:
    return APP.format(url=server.url, options=options, name=name)


def started(manager: SiddhiManager, text: str) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def add(client: Any, numbers: Any) -> None:
    for number in numbers:
        client.xadd("numbers", {"payload": number})


def pending(client: Any) -> int:
    found: int = client.xpending("numbers", "g")["pending"]
    return found


def numbers(rows: list[tuple[Any, ...]]) -> list[int]:
    return [row[0] for row in rows]


@pytest.mark.parametrize("options", [GROUP, "start = 'earliest'", f"{GROUP}, ack = 'received'"])
def test_entries_arrive_in_their_order(manager: SiddhiManager, server: RedisServer, client: Any, options: str) -> None:
    add(client, range(600))
    _, rows = started(manager, app(server, options))
    wait_until(lambda: len(rows) == 600)
    add(client, range(600, 610))
    wait_until(lambda: len(rows) == 610)
    assert numbers(rows) == list(range(610))


def test_processed_entries_are_acknowledged(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    add(client, range(10))
    _, rows = started(manager, app(server))
    wait_until(lambda: len(rows) == 10 and pending(client) == 0)


def test_entries_are_acknowledged_once_the_state_is_saved(
    manager: SiddhiManager, server: RedisServer, client: Any
) -> None:
    add(client, range(10))
    runtime, rows = started(manager, app(server, f"{GROUP}, ack = 'checkpoint'"))
    wait_until(lambda: len(rows) == 10)
    assert pending(client) == 10
    runtime.persist()
    wait_until(lambda: pending(client) == 0)


def test_entries_wait_for_a_checkpoint_when_too_many_are_unacknowledged(
    manager: SiddhiManager,
    server: RedisServer,
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(unacknowledged, "WARN_SECONDS", 0.01)
    add(client, range(20))
    with FaultProxy(server.port) as proxy:
        options = f"{GROUP}, ack = 'checkpoint', read.count = '2', buffer.unacknowledged = '5'"
        text = app(server, options).replace(str(server.port), str(proxy.port))
        runtime, rows = started(manager, text)
        wait_until(lambda: "5 messages are not acknowledged" in caplog.text and len(rows) == 5)
        runtime.persist()
        wait_until(lambda: len(rows) == 10)
        proxy.drop()  # found out by the next acknowledgement

        def are_all_there() -> bool:
            runtime.persist()
            return len(rows) == 20

        wait_until(are_all_there)
        assert numbers(rows) == list(range(20))
        runtime.shutdown()


def test_what_was_not_persisted_is_delivered_again(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    text = app(server, f"{GROUP}, ack = 'checkpoint'")
    add(client, range(5))
    runtime, rows = started(manager, text)
    wait_until(lambda: len(rows) == 5)
    runtime.persist()
    add(client, range(5, 10))
    wait_until(lambda: len(rows) == 10)
    runtime.shutdown()
    again = manager.create_siddhi_app_runtime(text)
    rows = collect(again, "S")
    again.restore_last_revision()
    again.start()
    wait_until(lambda: len(rows) == 5)
    add(client, [10])
    wait_until(lambda: len(rows) == 6)
    assert numbers(rows) == list(range(5, 11))


def test_saved_entries_that_could_not_be_acknowledged_are_not_repeated(
    manager: SiddhiManager, server: RedisServer, client: Any
) -> None:
    text = app(server, f"{GROUP}, ack = 'checkpoint'")
    add(client, range(5))
    runtime, rows = started(manager, text)
    wait_until(lambda: len(rows) == 5)
    state = runtime.snapshot()  # as if the process had ended before it acknowledged
    runtime.shutdown()
    assert pending(client) == 5
    again = manager.create_siddhi_app_runtime(text)
    rows = collect(again, "S")
    again.restore(state)
    again.start()
    add(client, [5])
    wait_until(lambda: rows)
    assert numbers(rows) == [5]
    assert pending(client) == 1


def test_without_a_group_a_restore_goes_on_at_the_position(
    manager: SiddhiManager, server: RedisServer, client: Any
) -> None:
    add(client, range(5))
    runtime, rows = started(manager, app(server, "start = 'earliest'"))
    wait_until(lambda: len(rows) == 5)
    runtime.persist()
    add(client, range(5, 8))
    wait_until(lambda: len(rows) == 8)
    rows.clear()
    runtime.restore_last_revision()  # while it runs
    wait_until(lambda: len(rows) == 3)
    assert numbers(rows) == [5, 6, 7]


def test_new_entries_are_those_after_the_first_start(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    add(client, range(5))
    _, rows = started(manager, app(server, "start = 'new'"))
    add(client, [5])
    wait_until(lambda: rows)
    assert numbers(rows) == [5]


def test_entries_of_a_dead_consumer_are_taken_over(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    add(client, range(5))
    client.xgroup_create("numbers", "g", id="0")
    client.xreadgroup("g", "dead", {"numbers": ">"}, count=3)
    _, rows = started(manager, app(server, f"{GROUP}, claim.idle = '50 ms'"))
    wait_until(lambda: len(rows) == 5 and pending(client) == 0)
    assert sorted(numbers(rows)) == list(range(5))


def test_consumers_of_a_group_share_the_entries(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    _, first = started(manager, app(server, "group = 'g', consumer = 'a'"))
    _, second = started(manager, app(server, "group = 'g', consumer = 'b'", "Other"))
    add(client, range(300))
    wait_until(lambda: len(first) + len(second) == 300)
    assert sorted(numbers(first) + numbers(second)) == list(range(300))


def test_an_entry_that_can_not_be_mapped_goes_to_the_dead_letter_stream(
    manager: SiddhiManager, server: RedisServer, client: Any
) -> None:
    add(client, [1, "x", 2])
    _, rows = started(manager, app(server, f"{GROUP}, dead.letter.stream = 'dead'"))
    wait_until(lambda: pending(client) == 0 and len(rows) == 2)
    ((_, fields),) = client.xrange("dead")
    assert fields["payload"] == "x"
    assert fields["dead.stream"] == "numbers"
    assert fields["dead.id"] == client.xrange("numbers")[1][0]


def test_entries_that_were_removed_meanwhile_are_reported(
    manager: SiddhiManager, server: RedisServer, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    add(client, range(5))
    client.xgroup_create("numbers", "g", id="0")
    client.xreadgroup("g", "one", {"numbers": ">"})
    client.xtrim("numbers", maxlen=2, approximate=False)
    _, rows = started(manager, app(server))
    wait_until(lambda: len(rows) == 2 and pending(client) == 0)
    assert "3 entries of 'numbers' were removed before they were processed" in caplog.text


def test_a_slow_app_stops_reading(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    runtime = manager.create_siddhi_app_runtime(app(server, f"{GROUP}, buffer.payloads = '10', read.count = '10'"))
    go, seen = threading.Event(), []

    def wait(events: list[Any]) -> None:
        go.wait(60)
        seen.extend(events)

    runtime.add_callback("S", wait)
    add(client, range(500))
    runtime.start()
    wait_until(lambda: pending(client) >= 20)
    with pytest.raises(AssertionError):
        wait_until(lambda: pending(client) > 40, seconds=0.2)
    go.set()
    wait_until(lambda: len(seen) == 500)
    runtime.shutdown()


def test_fields_and_properties_are_mapped(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    text = f"""@source(type = 'redis-stream', url = '{server.url}', stream = 's', start = 'earliest', event.time = 'message',
        @map(type = 'keyvalue', implicit.cast.enable = 'true', fail.on.missing.attribute = 'false',
             @attributes(price = 'price', id = 'trp:id', stream_ = 'trp:stream', time = 'trp:timestamp', kind = 'trp:kind')))
        define stream S (price double, id string, stream_ string, time long, kind string);"""
    client.xadd("s", {"price": "1.5", "kind": "é"}, id="17-2")
    client.xadd("s", {"price": "2"}, id="18-0")
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    times: list[int] = []
    runtime.add_callback("S", lambda events: times.extend(event.timestamp for event in events))
    runtime.start()
    wait_until(lambda: len(times) == 2)
    assert rows == [(1.5, "17-2", "s", 17, "é"), (2.0, "18-0", "s", 18, None)]
    assert times == [17, 18]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("ack = 'processed'", "ack"),
        ("buffer.unacknowledged = '5'", "buffer.unacknowledged"),
        ("group = 'g', buffer.unacknowledged = '5'", "buffer.unacknowledged"),
        ("claim.idle = '5 sec'", "claim.idle"),
        ("dead.letter.stream = 'd'", "dead.letter.stream"),
        ("group = 'g', ack = 'received', dead.letter.stream = 'd'", "dead.letter.stream"),
        ("start = 'yesterday'", "start"),
        ("read.count = '0'", "read.count"),
        ("tls.ca.file = '/x.pem'", "tls.ca.file"),
    ],
)
def test_an_invalid_option_is_refused(manager: SiddhiManager, options: str, named: str) -> None:
    text = APP.format(url="redis://localhost", options=options, name="In")
    with pytest.raises(SiddhiAppCreationError, match=f"invalid option '{named}' of source 'redis-stream'"):
        manager.create_siddhi_app_runtime(text)


def test_the_name_of_a_consumer_must_last(manager: SiddhiManager) -> None:
    unnamed = APP.partition(" ")[2].format(url="redis://localhost", options="group = 'g'")
    with pytest.raises(SiddhiAppCreationError, match="requires the option 'consumer' in an app without a name"):
        manager.create_siddhi_app_runtime(unnamed)
    manager.create_siddhi_app_runtime(unnamed.replace("'g'", "'g', consumer = 'c'"))


@pytest.mark.parametrize("url", ["http://h", "redis://h:x", "redis://h/name", "redis://h?a=b", "redis://u:secret@h"])
def test_an_invalid_url_is_refused(manager: SiddhiManager, url: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match="invalid option 'url'"):
        manager.create_siddhi_app_runtime(APP.format(url=url, options="start = 'new'", name="In"))
