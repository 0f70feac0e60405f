"""Source `websocket`: messages, reconnecting, back-pressure, idle and dead servers, the closing handshake, options."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from tests.io.test_tcp import wait_for
from tests.kit.certificates import Certificates
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


def source(url: str, options: str = "", mapper: str = "json") -> str:
    return f"@app:name('In') @source(type = 'websocket', url = '{url}'{options}, @map(type = '{mapper}')) define stream S (v int);"


def started(manager: SiddhiManager, text: str) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def url(port: int) -> str:
    return f"ws://127.0.0.1:{port}/feed?key=1"


def test_texts_and_bytes_are_received_in_order(manager: SiddhiManager, feed: FeedServer) -> None:
    _, rows = started(manager, source(url(feed.port)))
    wait_for(lambda: feed.clients)
    feed.send('{"v": 1}', b'{"v": 2}', "no json", '[{"v": 3}, {"v": 4}]')
    wait_for(lambda: len(rows) == 4)
    assert rows == [(1,), (2,), (3,), (4,)]


def test_the_request_has_path_headers_and_sub_protocols(manager: SiddhiManager, loop: Loop) -> None:
    feed = FeedServer(loop, subprotocols=["b"]).start()
    options = ", headers = \"'X-Key:k:1','X-More:a,b'\", sub.protocol = 'a, b', basic.auth.username = 'u', basic.auth.password = 'p'"
    started(manager, source(url(feed.port), options))
    wait_for(lambda: feed.clients)
    path, headers = feed.requests[0]
    assert path == "/feed?key=1"
    assert (headers["X-Key"], headers["X-More"], headers["Authorization"]) == ("k:1", "a,b", "Basic dTpw")
    assert next(iter(feed.clients)).subprotocol == "b"
    feed.stop()


def test_the_message_after_the_connect_is_sent_again_after_a_loss(manager: SiddhiManager, feed: FeedServer) -> None:
    with FaultProxy(feed.port) as proxy:
        started(manager, source(url(proxy.port), ", connect.message = 'subscribe'"))
        wait_for(lambda: feed.received == ["subscribe"])
        proxy.drop()
        wait_for(lambda: feed.received == ["subscribe"] * 2)


@pytest.mark.parametrize("fault", ["drop", "half_close", "restart", "refuse"])
def test_events_arrive_after_a_lost_connection(manager: SiddhiManager, feed: FeedServer, fault: str) -> None:
    with FaultProxy(feed.port) as proxy:
        runtime, rows = started(manager, source(url(proxy.port)))
        for number in range(3):
            wait_for(lambda: feed.clients)
            feed.send(f'{{"v": {number}}}')
            wait_for(lambda number=number: (number,) in rows)
            before = proxy.connected
            if fault == "restart":
                feed.stop()
                feed.start()
            else:
                getattr(proxy, fault)()
            if fault == "refuse":
                wait_for(lambda: not feed.clients)
                proxy.accept()
            wait_for(lambda before=before: proxy.connected > before and proxy.open_connections)
            wait_for(lambda: len(feed.clients) == 1)
        assert rows == [(0,), (1,), (2,)]
        runtime.shutdown()


def test_a_source_waits_for_a_server_that_starts_later(manager: SiddhiManager, feed: FeedServer) -> None:
    feed.stop()
    _, rows = started(manager, source(url(feed.port)))
    feed.start()
    wait_for(lambda: feed.clients)
    feed.send('{"v": 1}')
    wait_for(lambda: rows)


def test_a_refused_handshake_is_tried_again(
    manager: SiddhiManager, loop: Loop, caplog: pytest.LogCaptureFixture
) -> None:
    answers = [401, 302]

    def refuse(connection: Any, request: Any) -> Any:
        return connection.respond(answers.pop(), "secret-text") if answers else None

    feed = FeedServer(loop, process_request=refuse).start()
    started(manager, source(url(feed.port).replace("ws://", "ws://user:hidden@")))
    wait_for(lambda: feed.clients)
    feed.stop()
    assert "HTTP 401" in caplog.text
    assert "HTTP 302" in caplog.text
    assert "hidden" not in caplog.text
    assert "key=1" not in caplog.text


def test_a_stalled_server_is_found_by_pings(
    manager: SiddhiManager, feed: FeedServer, caplog: pytest.LogCaptureFixture
) -> None:
    with FaultProxy(feed.port) as proxy:
        options = ", ping.interval = '50 ms', ping.timeout = '50 ms'"
        _, rows = started(manager, source(url(proxy.port), options))
        wait_for(lambda: feed.clients)
        proxy.stall()
        wait_for(lambda: proxy.connected > 1)
        proxy.flow()
        assert "no answer to a ping" in caplog.text
        wait_for(lambda: feed.clients)

        def arrives() -> bool:
            feed.send('{"v": 1}')
            return bool(rows)

        wait_for(arrives)


def test_a_slow_app_stops_the_server_and_keeps_the_connection(manager: SiddhiManager, feed: FeedServer) -> None:
    go, taken = threading.Event(), []
    sent = 0

    async def flood(connection: Any) -> None:
        nonlocal sent
        while sent < 2000:  # more than the buffers of the app and of the operating system
            await connection.send(f'{{"v": {sent}' + " " * 20_000 + "}")
            sent += 1
        await connection.wait_closed()

    feed.behave = flood
    options = ", buffer.payloads = '2', ping.interval = '20 ms', ping.timeout = '600 ms'"
    runtime = manager.create_siddhi_app_runtime(source(url(feed.port), options))

    def slow(events: list[Any]) -> None:
        go.wait(WAIT)
        taken.extend(event.data[0] for event in events)

    runtime.add_callback("S", slow)
    runtime.start()
    wait_for(lambda: sent > 2)
    go.wait(1)  # longer than the server may be silent
    assert sent < 2000
    go.set()
    wait_for(lambda: len(taken) == 2000)
    assert taken == list(range(2000))
    assert len(feed.requests) == 1


def test_an_idle_connection_is_made_again(manager: SiddhiManager, feed: FeedServer) -> None:
    started(manager, source(url(feed.port), ", idle.timeout = '50'"))
    wait_for(lambda: len(feed.requests) > 1)
    assert feed.closed[0] == 1001


def test_a_message_above_the_limit_ends_the_connection(manager: SiddhiManager, feed: FeedServer) -> None:
    _, rows = started(manager, source(url(feed.port), ", max.message.size = '20'"))
    wait_for(lambda: feed.clients)
    feed.send('{"v": 1}', '{"v": 2, "more": "............"}')
    wait_for(lambda: len(feed.requests) > 1)
    assert feed.closed == [1009]
    assert rows == [(1,)]


def test_a_shutdown_says_goodbye_and_leaves_nothing(manager: SiddhiManager, feed: FeedServer) -> None:
    threads = set(threading.enumerate())
    for number in range(1, 4):
        runtime, _ = started(manager, source(url(feed.port)))
        wait_for(lambda: feed.clients)
        runtime.shutdown()
        wait_for(lambda number=number: feed.closed == [1001] * number)
    assert set(threading.enumerate()) <= threads


def test_tls_verifies_the_server_and_shows_a_certificate(
    manager: SiddhiManager, loop: Loop, certificates: Certificates
) -> None:
    import ssl

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.authority))
    context.load_cert_chain(certificates.server)
    context.verify_mode = ssl.CERT_REQUIRED
    feed = FeedServer(loop, ssl=context).start()
    trusted = f", tls.ca.file = '{certificates.authority}', tls.certificate.file = '{certificates.client}'"
    _, rows = started(manager, source(f"wss://localhost:{feed.port}/", trusted))
    wait_for(lambda: feed.clients)
    feed.send('{"v": 1}')
    wait_for(lambda: rows)
    feed.stop()


def test_an_unknown_authority_is_not_trusted(
    manager: SiddhiManager, loop: Loop, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    import ssl

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.server)
    feed = FeedServer(loop, ssl=context).start()
    started(manager, source(f"wss://localhost:{feed.port}/", f", tls.ca.file = '{certificates.other}'"))
    wait_for(lambda: "CERTIFICATE_VERIFY_FAILED" in caplog.text)
    assert not feed.requests
    feed.stop()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("url = 'http://h:1/'", "invalid option 'url'"),
        ("url = 'ws://h:x/'", "invalid option 'url'"),
        ("url = 'ws://'", "invalid option 'url'"),
        ("url = 'ws://h/', tls.verify = 'false'", "invalid option 'tls.verify'"),
        ("url = 'ws://h/', truststore.path = 'a.jks'", "invalid option 'truststore.path'"),
        ("url = 'ws://h/', headers = 'a'", "invalid option 'headers'"),
        ('url = "ws://h/", headers = """\'a:b\nc\'"""', "invalid option 'headers'"),
        ("url = 'ws://h/', idle.timeout = 'x'", "invalid option 'idle.timeout'"),
        ("url = 'ws://h/', max.message.size = '0'", "invalid option 'max.message.size'"),
        ("url = 'ws://h/', basic.auth.username = 'u'", "invalid option 'basic.auth.username'"),
        ("url = 'ws://h/', basic.auth.password = 'p'", "invalid option 'basic.auth.password'"),
    ],
)
def test_invalid_options_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        manager.create_siddhi_app_runtime(
            f"@source(type = 'websocket', {options}, @map(type = 'json')) define stream S (v int);"
        )


def test_transport_properties_are_refused(manager: SiddhiManager) -> None:
    text = "@source(type = 'websocket', url = 'ws://h/', @map(type = 'json', @attributes(v = 'trp:a'))) define stream S (v int);"
    with pytest.raises(SiddhiAppCreationError, match="no transport properties"):
        manager.create_siddhi_app_runtime(text)
