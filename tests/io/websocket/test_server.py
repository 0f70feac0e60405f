"""Source and sink `websocket-server`: paths, properties, credentials, slow clients, goodbye at shutdown, TLS."""

from __future__ import annotations

import json
import logging
import re
import ssl
import threading
from typing import Any, cast

import pytest
from websockets.exceptions import InvalidStatus

from siddhi import Event, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io.websocket.server_sink import WebSocketServerSink
from tests.io.test_tcp import free_port, wait_for
from tests.kit.certificates import Certificates
from tests.kit.event_loop import Loop
from tests.kit.running import collect
from tests.kit.servers.websocket import client

WAIT = 30


@pytest.fixture
def port() -> int:
    return free_port()


def source(port: int, options: str = "", name: str = "In", attributes: str = "") -> str:
    return (
        f"@app:name('{name}') @source(type = 'websocket-server', host = '127.0.0.1', port = '{port}'{options}, "
        f"@map(type = 'json'{attributes})) define stream S (v int{', a string, b string, c string, d string' if attributes else ''});"
    )


def sink(port: int, options: str = "", name: str = "Out") -> str:
    return (
        f"@app:name('{name}') @sink(type = 'websocket-server', host = '127.0.0.1', port = '{port}'{options}, "
        "@map(type = 'text', @payload('{{v}}'))) define stream S (v int);"
    )


def the_sink(runtime: Any) -> WebSocketServerSink:
    return cast(WebSocketServerSink, runtime.sinks["S"][0])


def test_messages_of_all_clients_are_received(manager: SiddhiManager, loop: Loop, port: int) -> None:
    with manager.create_siddhi_app_runtime(source(port)) as runtime:
        rows = collect(runtime, "S")
        with client(loop, f"ws://127.0.0.1:{port}/a") as one, client(loop, f"ws://127.0.0.1:{port}/b?c") as two:
            one.send('{"v": 1}', "wrong")
            two.send(b'{"v": 2}')
            wait_for(lambda: sorted(rows) == [(1,), (2,)])


def test_attributes_get_properties_of_the_request(manager: SiddhiManager, loop: Loop, port: int) -> None:
    attributes = (
        ", @attributes(v = '$.v', a = 'trp:path', b = 'trp:query.q', c = 'trp:header.X-K', d = 'trp:sub.protocol')"
    )
    with manager.create_siddhi_app_runtime(source(port, ", sub.protocol = 'p'", attributes=attributes)) as runtime:
        rows = collect(runtime, "S")
        arguments = {"additional_headers": {"x-k": "k"}, "subprotocols": ["z", "p"]}
        with client(loop, f"ws://127.0.0.1:{port}/a?q=1%202", **arguments) as one:
            one.send('{"v": 1}')
            wait_for(lambda: rows == [(1, "/a", "1 2", "k", "p")])


def test_an_unknown_property_is_refused(manager: SiddhiManager, port: int) -> None:
    attributes = ", @attributes(v = '$.v', a = 'trp:paths', b = '$.b', c = '$.c', d = '$.d')"
    with pytest.raises(SiddhiAppCreationError, match="no transport property 'paths'"):
        manager.create_siddhi_app_runtime(source(port, attributes=attributes))


def test_payloads_go_to_all_clients_of_the_path(manager: SiddhiManager, loop: Loop, port: int) -> None:
    with manager.create_siddhi_app_runtime(sink(port, ", path = '/a'")) as runtime:
        runtime.input_handler("S").send((0,))
        wait_for(lambda: the_sink(runtime).unheard == 1)
        with client(loop, f"ws://127.0.0.1:{port}/a") as one, client(loop, f"ws://127.0.0.1:{port}/a") as two:
            runtime.input_handler("S").send((1,))
            runtime.input_handler("S").send((2,))
            assert [one.receive(), one.receive(), two.receive(), two.receive()] == ["1", "2"] * 2
        with pytest.raises(InvalidStatus, match="404"), client(loop, f"ws://127.0.0.1:{port}/b"):
            pass


def test_sources_and_sinks_of_apps_share_a_server(manager: SiddhiManager, loop: Loop, port: int) -> None:
    receiving = manager.create_siddhi_app_runtime(source(port, ", path = '/both'"))
    rows = collect(receiving, "S")
    sending = manager.create_siddhi_app_runtime(sink(port, ", path = '/both'"))
    other = manager.create_siddhi_app_runtime(sink(port, ", path = '/other'", "Other"))
    for runtime in (receiving, sending, other):
        runtime.start()
    with client(loop, f"ws://127.0.0.1:{port}/both") as one, client(loop, f"ws://127.0.0.1:{port}/other") as two:
        one.send('{"v": 1}')
        wait_for(lambda: rows)
        sending.input_handler("S").send((2,))
        assert one.receive() == "2"
        other.shutdown()
        assert two.close_code() == 1001
        receiving.shutdown()
        one.send('{"v": 3}')
        sending.input_handler("S").send((4,))
        assert one.receive() == "4"
        sending.shutdown()
        assert one.close_code() == 1001


def test_a_path_belongs_to_one_source_and_options_must_agree(manager: SiddhiManager, port: int) -> None:
    with manager.create_siddhi_app_runtime(source(port, ", path = '/a'")):
        second = manager.create_siddhi_app_runtime(source(port, ", path = '/a'", "Second"))
        with pytest.raises(SiddhiAppCreationError, match=r"path '/a' of ws://.* belongs to another source"):
            second.start()
        third = manager.create_siddhi_app_runtime(source(port, ", path = '/b', max.message.size = '5'", "Third"))
        with pytest.raises(SiddhiAppCreationError, match="runs with other options"):
            third.start()


def test_wrong_credentials_and_origins_are_refused(manager: SiddhiManager, loop: Loop, port: int) -> None:
    options = ", basic.auth.username = 'u', basic.auth.password = 'p', allowed.origins = 'https://a.example'"
    with manager.create_siddhi_app_runtime(source(port, options)) as runtime:
        rows = collect(runtime, "S")
        for url, origin, status in (
            ("", "https://a.example", "401"),
            ("u:q@", "https://a.example", "401"),
            ("u:p@", "https://b.example", "403"),
        ):
            with (
                pytest.raises(InvalidStatus, match=status),
                client(loop, f"ws://{url}127.0.0.1:{port}/", origin=origin),
            ):
                pass
        with client(loop, f"ws://u:p@127.0.0.1:{port}/", origin="https://a.example") as one:
            one.send('{"v": 1}')
            wait_for(lambda: rows)


def test_more_clients_than_allowed_are_refused(manager: SiddhiManager, loop: Loop, port: int) -> None:
    with manager.create_siddhi_app_runtime(source(port, ", max.clients = '1'")):
        with client(loop, f"ws://127.0.0.1:{port}/") as first:
            first.send("x")
            with pytest.raises(InvalidStatus, match="503"), client(loop, f"ws://127.0.0.1:{port}/"):
                pass

        def free_again() -> bool:
            try:
                with client(loop, f"ws://127.0.0.1:{port}/"):
                    return True
            except InvalidStatus:
                return False

        wait_for(free_again)


@pytest.mark.parametrize("policy", ["drop", "close", "wait"])
def test_a_slow_client(manager: SiddhiManager, loop: Loop, port: int, policy: str) -> None:
    """The client reads nothing while 400 messages of 20 KB are sent to it and to another one."""
    options = f", slow.client = '{policy}', client.queue.size = '2', ping.interval = '0', buffer.payloads = '5'"
    text = sink(port, options).replace("{{v}}", "{{v}}" + " " * 20_000)
    with manager.create_siddhi_app_runtime(text) as runtime:
        made = the_sink(runtime)
        arguments = {"max_queue": 1}
        with client(loop, f"ws://127.0.0.1:{port}/", **arguments) as slow:
            done = threading.Event()

            def send() -> None:
                for number in range(400):
                    runtime.input_handler("S").send((number,))
                done.set()

            threading.Thread(target=send).start()
            if policy == "wait":
                assert not done.wait(0.3)
            else:
                assert done.wait(WAIT)
                wait_for(lambda: made.dropped or made.disconnected)
            received = []
            if policy == "close":
                wait_for(lambda: made.disconnected == 1)
                assert slow.close_code() in (1008, None)
                return
            while not received or received[-1] != 399:
                received.append(int(slow.receive()))
            assert received == sorted(received)
            assert len(received) + made.dropped == 400
            assert (made.dropped == 0) == (policy == "wait")


def test_an_idle_client_is_disconnected(manager: SiddhiManager, loop: Loop, port: int) -> None:
    app = manager.create_siddhi_app_runtime(source(port, ", idle.timeout = '50'"))
    with app, client(loop, f"ws://127.0.0.1:{port}/") as one:
        assert one.close_code() == 1001


def test_a_slow_app_stops_its_clients(manager: SiddhiManager, loop: Loop, port: int) -> None:
    go, taken = threading.Event(), []
    with manager.create_siddhi_app_runtime(source(port, ", buffer.payloads = '2'")) as runtime:

        def slow(events: list[Any]) -> None:
            go.wait(WAIT)
            taken.extend(event.data[0] for event in events)

        runtime.add_callback("S", slow)
        with client(loop, f"ws://127.0.0.1:{port}/") as one:
            sent = 0

            def send() -> None:
                nonlocal sent
                for number in range(1000):
                    one.send(json.dumps({"v": number}) + " " * 20_000)
                    sent += 1

            thread = threading.Thread(target=send)
            thread.start()
            stands = -1

            def stopped() -> bool:
                nonlocal stands
                before, stands = stands, sent
                return before == sent or threading.Event().wait(0.2)

            wait_for(stopped)
            assert sent < 1000
            go.set()
            thread.join(WAIT)
            wait_for(lambda: len(taken) == 1000)
            assert taken == list(range(1000))


def test_a_restart_uses_the_port_again_and_leaves_nothing(manager: SiddhiManager, loop: Loop, port: int) -> None:
    threads = set(threading.enumerate())
    for _ in range(3):
        runtime = manager.create_siddhi_app_runtime(
            source(port) + sink(port).replace("@app:name('Out')", "").replace(" S (", " T (")
        )
        rows = collect(runtime, "S")
        runtime.start()
        with client(loop, f"ws://127.0.0.1:{port}/") as one:
            one.send('{"v": 1}')
            wait_for(lambda rows=rows: rows)
            runtime.shutdown()
            assert one.close_code() == 1001
    assert set(threading.enumerate()) <= threads


def test_tls_with_certificates_of_both_sides(
    manager: SiddhiManager, loop: Loop, port: int, certificates: Certificates
) -> None:
    options = f", tls.enabled = 'true', tls.certificate.file = '{certificates.server}', tls.ca.file = '{certificates.authority}'"
    context = ssl.create_default_context(cafile=str(certificates.authority))
    with manager.create_siddhi_app_runtime(source(port, options)) as runtime:
        rows = collect(runtime, "S")
        with (
            pytest.raises((OSError, EOFError, Exception)),
            client(loop, f"wss://localhost:{port}/", context) as refused,
        ):
            refused.receive()
        context.load_cert_chain(certificates.client)
        with client(loop, f"wss://localhost:{port}/", context) as one:
            one.send('{"v": 1}')
            wait_for(lambda: rows)


def test_a_port_in_use_is_tried_again(manager: SiddhiManager, loop: Loop) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        runtime = manager.create_siddhi_app_runtime(source(port))
        runtime.start()

    def connects() -> bool:
        try:
            with client(loop, f"ws://127.0.0.1:{port}/"):
                return True
        except OSError:
            return False

    wait_for(connects)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (", tls.enabled = 'true'", "invalid option 'tls.enabled'"),
        (", keystore.path = 'a.jks'", "invalid option 'keystore.path'"),
        (", path = 'a'", "invalid option 'path'"),
        (", tls.key.password = 'x'", "invalid option 'tls.key.password'"),
        (", max.clients = '0'", "invalid option 'max.clients'"),
    ],
)
def test_invalid_options_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        manager.create_siddhi_app_runtime(source(1, options))


def test_invalid_policies_are_refused(manager: SiddhiManager) -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"invalid option 'slow.client'"):
        manager.create_siddhi_app_runtime(sink(1, ", slow.client = 'panic'"))


def test_messages_that_are_left_at_the_shutdown_are_logged(
    manager: SiddhiManager, loop: Loop, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    runtime = manager.create_siddhi_app_runtime(source(port, ", buffer.payloads = '1'"))
    gate = threading.Event()
    rows: list[int] = []

    def take(events: list[Event]) -> None:
        gate.wait(WAIT)
        rows.extend(event.data[0] for event in events)

    runtime.add_callback("S", take)
    runtime.start()
    with client(loop, f"ws://127.0.0.1:{port}/") as one, caplog.at_level(logging.ERROR, "siddhi"):
        one.send(*(json.dumps({"v": number}) for number in range(8)))
        wait_for(lambda: runtime.connectors()[0].payloads == 1)
        ending = threading.Thread(target=runtime.shutdown)
        ending.start()
        gate.set()
        ending.join(WAIT)
    (left,) = re.findall(r"(\d+) messages that had arrived were not processed", caplog.text)
    assert len(rows) + int(left) == 8
