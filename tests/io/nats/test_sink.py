"""The sink ``nats`` against a real server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nats")

from nats.aio.client import Client
from nats.aio.msg import Msg

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.testing.connectors import SinkSuite
from tests.kit.killed_consumer import ROUNDS
from tests.kit.nats import NatsServer
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.waiting import wait_until

WAIT = 30
FAULTS = max(3, ROUNDS // 2)


def app(url: str, options: str = "", *, stream: str = "define stream S (k string, v int);") -> str:
    return f"""@app:name('Out')
        @sink(type = 'nats', server.urls = '{url}' {options}, @map(type = 'text', @payload('{{{{v}}}}'))) {stream}"""


FAULT = "@OnError(action = 'stream') define stream S (k string, v int);"


def send(runtime: SiddhiAppRuntime, *values: int, key: str = "a") -> None:
    for value in values:
        runtime.input_handler("S").send((key, value), timestamp=1000 + value)


class Listener:
    """Collects the messages of a subject in a thread of its own."""

    def __init__(self, server: NatsServer, subject: str) -> None:
        self.messages: list[Msg] = []
        self._ended = threading.Event()
        ready = threading.Event()

        async def act(client: Client) -> None:
            async def collect_one(message: Msg) -> None:
                self.messages.append(message)

            await client.subscribe(subject, cb=collect_one)
            await client.flush()
            ready.set()
            while not self._ended.is_set():
                await client.flush()

        self._thread = threading.Thread(target=lambda: server.run(act))
        self._thread.start()
        assert ready.wait(WAIT)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


@pytest.fixture
def listen(nats_server: NatsServer) -> Iterator[Callable[[str], list[Msg]]]:
    listeners: list[Listener] = []

    def start(subject: str) -> list[Msg]:
        listeners.append(Listener(nats_server, subject))
        return listeners[-1].messages

    yield start
    for listener in listeners:
        listener.end()


class TestCoreSuite(SinkSuite):
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def server(self, nats_server: NatsServer, stream: str, listen: Callable[[str], list[Msg]]) -> Iterator[None]:
        self.messages = listen(f"core.{stream}")
        with FaultProxy(nats_server.port) as self.proxy:
            self.options = (
                f"type = 'nats', server.urls = 'nats://127.0.0.1:{self.proxy.port}', destination = 'core.{stream}'"
            )
            yield

    def received(self) -> list[str | bytes]:
        return [message.data.decode() for message in self.messages]

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()


class TestStreamSuite(SinkSuite):
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def server(self, nats_server: NatsServer, stream: str) -> Iterator[None]:
        self.nats, self.stream = nats_server, stream
        with FaultProxy(nats_server.port) as self.proxy:
            self.options = f"type = 'nats', server.urls = 'nats://127.0.0.1:{self.proxy.port}', destination = '{stream}.a', jetstream = 'true'"
            yield

    def received(self) -> list[str | bytes]:
        return list(self.nats.stored(self.stream))

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()


def test_subject_and_headers_come_from_the_event(
    nats_server: NatsServer, manager: SiddhiManager, listen: Callable[[str], list[Msg]]
) -> None:
    messages = listen("out.*")
    options = ", destination = 'out.{{k}}', headers = \"'Kind:x','Value:{{v}}, {{k}}'\""
    with manager.create_siddhi_app_runtime(app(nats_server.url, options)) as runtime:
        send(runtime, 3, key="b")
    wait_until(lambda: messages)
    assert (messages[0].subject, messages[0].data) == ("out.b", b"3")
    assert messages[0].headers == {"Kind": "x", "Value": "3, b"}


def test_a_stream_keeps_the_order(nats_server: NatsServer, stream: str, manager: SiddhiManager) -> None:
    with manager.create_siddhi_app_runtime(
        app(nats_server.url, f", destination = '{stream}.a', stream = '{stream}'")
    ) as runtime:
        runtime.input_handler("S").send_events([Event(1, ("a", number)) for number in range(2000)])
    assert nats_server.stored(stream) == [str(number) for number in range(2000)]


def test_a_message_id_that_is_repeated_is_stored_once(
    nats_server: NatsServer, stream: str, manager: SiddhiManager
) -> None:
    options = f", destination = '{stream}.a', jetstream = 'true', message.id = '{{{{v}}}}'"
    with manager.create_siddhi_app_runtime(app(nats_server.url, options)) as runtime:
        send(runtime, 1, 2, 1, 2, 3)
    assert nats_server.stored(stream) == ["1", "2", "3"]


def test_a_subject_without_stream_and_an_invalid_one_are_reported(
    nats_server: NatsServer, manager: SiddhiManager
) -> None:
    options = ", destination = '{{k}}', jetstream = 'true', on.error = 'STREAM'"
    with manager.create_siddhi_app_runtime(app(nats_server.url, options, stream=FAULT)) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, 1, key="nowhere")
        wait_until(lambda: len(failed) == 1)
        wait_until(lambda: runtime.connectors()[0].connected)
        send(runtime, 2, key="no where")
        wait_until(lambda: len(failed) == 2)
    assert "no stream of JetStream has the subject 'nowhere'" in str(failed[0][2])
    assert "NATS does not accept the payload for 'no where'" in str(failed[1][2])


def test_a_payload_that_is_too_large_and_a_denied_subject_are_reported(tmp_path: Path, manager: SiddhiManager) -> None:
    server = NatsServer(
        tmp_path,
        'max_payload: 1000\nauthorization { users = [ { user: u, password: p, permissions: { publish: "a.>", subscribe: "_INBOX.>" } } ] }',
    )
    try:
        options = ", destination = '{{k}}', on.error = 'STREAM', username = 'u', password = 'p'"
        text = app(server.url, options, stream=FAULT).replace("{{v}}'))", "{{v}}{{k}}'))")
        with manager.create_siddhi_app_runtime(text) as runtime:
            failed = collect(runtime, "!S")
            send(runtime, 1, key="a.b")
            send(runtime, 2, key="a." + "x" * 1000)
            send(runtime, 3, key="b.c")
            wait_until(lambda: len(failed) == 2)
        assert [row[1] for row in failed] == [2, 3]
        assert "MappingFailedError" in repr(failed[0][2]) + type(failed[0][2]).__name__
        assert "does not allow to publish to 'b.c'" in str(failed[1][2])
    finally:
        server.kill()


def test_a_server_that_restarts_gets_every_payload(tmp_path: Path, manager: SiddhiManager) -> None:
    server = NatsServer(tmp_path)
    try:
        server.create("st")
        options = ", destination = 'st.a', jetstream = 'true', message.id = '{{v}}', on.error = 'WAIT', retry.initial = '20 millisec'"
        with manager.create_siddhi_app_runtime(app(server.url, options)) as runtime:
            for number in range(FAULTS):
                send(runtime, *range(100 * number, 100 * number + 100))
                server.kill()
                server.start()
            wait_until(lambda: runtime.connectors()[0].payloads == 100 * FAULTS)
        stored = server.stored("st")
        assert set(stored) == {str(number) for number in range(100 * FAULTS)}
        assert len(stored) == 100 * FAULTS
    finally:
        server.kill()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "requires the option 'destination'"),
        (", destination = 's', message.id = '{{v}}'", "'jetstream' or 'stream' beside it"),
        (", destination = 's', headers = 'x'", "names and values such as"),
    ],
)
def test_invalid_options_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError) as found:
        manager.create_siddhi_app_runtime(app("nats://127.0.0.1:1", options))
    assert message in str(found.value)


def test_an_app_starts_and_stops_without_a_trace(nats_server: NatsServer, stream: str, manager: SiddhiManager) -> None:
    threads = set(threading.enumerate())
    runtime: Any = manager.create_siddhi_app_runtime(
        app(nats_server.url, f", destination = '{stream}.a', jetstream = 'true'")
    )
    for number in range(3):
        runtime.start()
        send(runtime, number)
        runtime.shutdown()
    assert set(threading.enumerate()) <= threads
    assert nats_server.stored(stream) == ["0", "1", "2"]
