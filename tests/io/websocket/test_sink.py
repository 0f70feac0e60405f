"""Sink `websocket`: messages, confirmation, failures to on.error, reconnecting under load, the closing handshake."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from siddhi import SiddhiManager
from tests.io.test_tcp import wait_for
from tests.kit.event_loop import Loop
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.websocket import FeedServer

WAIT = 30


@pytest.fixture
def feed(loop: Loop) -> Iterator[FeedServer]:
    server = FeedServer(loop).start()
    yield server
    server.stop()


def sink(port: int, options: str = "", mapper: str = "@map(type = 'text', @payload('{{v}}'))") -> str:
    return (
        f"@app:name('Out') @OnError(action = 'STREAM') @sink(type = 'websocket', url = 'ws://127.0.0.1:{port}/'{options}, {mapper}) "
        "define stream S (v int);"
    )


def test_texts_and_bytes_are_sent_in_order(manager: SiddhiManager, feed: FeedServer) -> None:
    with manager.create_siddhi_app_runtime(sink(feed.port)) as runtime:
        for number in range(100):
            runtime.input_handler("S").send((number,))
    assert feed.received == [str(number) for number in range(100)]
    with manager.create_siddhi_app_runtime(sink(feed.port, mapper="@map(type = 'binary')")) as runtime:
        runtime.input_handler("S").send((7,), timestamp=1)
    assert feed.received[-1] == bytes.fromhex("00000001" + "0000000000000001" + "00000007")
    wait_for(lambda: feed.closed == [1001, 1001])


def test_messages_of_the_server_do_not_stop_the_pings(manager: SiddhiManager, feed: FeedServer) -> None:
    with manager.create_siddhi_app_runtime(
        sink(feed.port, ", ping.interval = '10 ms', ping.timeout = '500 ms'")
    ) as runtime:
        wait_for(lambda: feed.clients)
        feed.send(*["x" * 1000] * 200)
        threading.Event().wait(0.7)  # longer than the server may be silent
        runtime.input_handler("S").send((1,))
        wait_for(lambda: feed.received == ["1"])
        assert len(feed.requests) == 1


@pytest.mark.parametrize("fault", ["drop", "half_close"])
def test_confirmed_payloads_arrive_although_the_connection_breaks(
    manager: SiddhiManager, feed: FeedServer, fault: str
) -> None:
    """Ten faults in mid-stream: what is sent is received, some twice, or handled by on.error."""
    with FaultProxy(feed.port) as proxy:
        text = sink(proxy.port, ", on.error = 'WAIT', retry.initial = '10 ms', confirm = 'true'")
        with manager.create_siddhi_app_runtime(text) as runtime:
            for number in range(200):
                if number % 20 == 10:
                    getattr(proxy, fault)()
                runtime.input_handler("S").send((number,))
        assert sorted(set(map(int, feed.received))) == list(range(200))
        firsts = list(dict.fromkeys(map(int, feed.received)))
        assert firsts == sorted(firsts)


def test_each_payload_without_a_server_is_handled_by_on_error(manager: SiddhiManager, feed: FeedServer) -> None:
    port = feed.port
    feed.stop()
    with manager.create_siddhi_app_runtime(sink(port, ", on.error = 'STREAM'")) as runtime:
        failed = collect(runtime, "!S")
        for number in range(20):
            runtime.input_handler("S").send((number,))
        wait_for(lambda: len(failed) == 20)
        assert [row[0] for row in failed] == list(range(20))


def test_a_server_that_restarts_gets_the_payloads_that_wait(manager: SiddhiManager, feed: FeedServer) -> None:
    with manager.create_siddhi_app_runtime(
        sink(feed.port, ", on.error = 'WAIT', retry.initial = '10 ms', confirm = 'true'")
    ) as runtime:
        runtime.input_handler("S").send((1,))
        wait_for(lambda: feed.received == ["1"])
        feed.stop()
        runtime.input_handler("S").send((2,))
        feed.start()
        wait_for(lambda: feed.received == ["1", "2"])


def test_a_server_that_reads_slowly_stops_the_app(manager: SiddhiManager, feed: FeedServer) -> None:
    go = threading.Event()

    async def slow(connection: Any) -> None:
        await asyncio.to_thread(go.wait, WAIT)
        await feed.receive(connection)

    feed.behave = slow
    options = ", buffer.payloads = '2', ping.interval = '0'"
    mapper = "@map(type = 'text', @payload('{{v}}" + " " * 100_000 + "'))"
    with manager.create_siddhi_app_runtime(sink(feed.port, options, mapper)) as runtime:
        sent = 0

        def send() -> None:
            nonlocal sent
            for number in range(300):
                runtime.input_handler("S").send((number,))
                sent += 1

        sender = threading.Thread(target=send)
        sender.start()
        stands = -1

        def stopped() -> bool:
            nonlocal stands
            before, stands = stands, sent
            return before == sent or threading.Event().wait(0.2)

        wait_for(stopped)
        assert sent < 300
        go.set()
        sender.join()
    assert [int(text) for text in feed.received] == list(range(300))


def test_an_idle_connection_is_closed_and_opened_for_the_next_payload(manager: SiddhiManager, feed: FeedServer) -> None:
    with manager.create_siddhi_app_runtime(
        sink(feed.port, ", idle.timeout = '50 ms', on.error = 'WAIT', retry.initial = '10 ms'")
    ) as runtime:
        runtime.input_handler("S").send((1,))
        wait_for(lambda: feed.closed == [1001])
        runtime.input_handler("S").send((2,))
        wait_for(lambda: feed.received == ["1", "2"])
