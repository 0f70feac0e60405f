"""The suites for connectors: connectors that work pass them, and each kind of mistake is found."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from siddhi import SiddhiManager
from siddhi.config import InMemoryConfigManager
from siddhi.errors import ConnectionUnavailableError
from siddhi.extension import Registry, sink, source
from siddhi.io import AsyncSink, InMemoryBroker, ReplayableSource, Sink, Source
from siddhi.io.tcp.frames import FrameBuffer, frame
from siddhi.testing import connectors
from siddhi.testing.connectors import SinkSuite, SourceSuite
from tests.kit.proxy import FaultProxy


class Topic:
    """A server in the test: messages by offset, clients that wait for more, and connections that break."""

    def __init__(self) -> None:
        self.messages: list[str | bytes] = []
        self.changed = threading.Condition()
        self.generation = 0
        self.is_down = False

    def append(self, payloads: Sequence[str | bytes]) -> None:
        with self.changed:
            self.messages.extend(payloads)
            self.changed.notify_all()

    def drop(self) -> None:
        with self.changed:
            self.generation += 1
            self.changed.notify_all()

    def read(self, offset: int, generation: int) -> str | bytes | None:
        """Return the message at an offset, or None after some time without one."""
        with self.changed:
            self.changed.wait_for(lambda: len(self.messages) > offset or self.generation != generation, timeout=0.02)
            if self.generation != generation:
                raise ConnectionResetError("dropped")
            return self.messages[offset] if len(self.messages) > offset else None


class TopicSource(ReplayableSource):
    """Reads the topic of the test, from its position on."""

    topic: ClassVar[Topic]

    async def open(self) -> None:
        if self.topic.is_down:
            raise ConnectionRefusedError("down")
        self.generation = self.topic.generation

    async def receive(self) -> None:
        offset = 0 if self.position is None else int(str(self.position))
        while True:
            message = await asyncio.to_thread(self.topic.read, offset, self.generation)
            if message is not None:
                offset += 1
                await self.put(message, position=offset)


class TopicSink(AsyncSink):
    """Appends to the topic of the test."""

    topic: ClassVar[Topic]

    async def open(self) -> None:
        if self.topic.is_down:
            raise ConnectionRefusedError("down")

    async def send(self, payload: Any, options: Any) -> None:
        if self.topic.is_down:
            raise ConnectionResetError("down")
        self.topic.append([payload])


def of_topic(base: type, topic: Topic) -> type:
    return type("OfTopic", (base,), {"topic": topic})


class TestReplayableSource(SourceSuite):
    options = "type = 'topic'"
    delivery = "at least once"
    is_durable = True
    base: ClassVar[type] = TopicSource

    def setup_method(self) -> None:
        self.topic = Topic()

    def manager(self) -> SiddhiManager:
        made = SiddhiManager()
        made.set_extension("source:topic", source("topic", registry=Registry())(of_topic(self.base, self.topic)))
        return made

    def send(self, payloads: Sequence[str | bytes]) -> None:
        self.topic.append(payloads)

    def break_connection(self) -> None:
        self.topic.drop()


class TestQueuedSink(SinkSuite):
    options = "type = 'topic'"
    is_confirmed = True
    base: ClassVar[type] = TopicSink

    def setup_method(self) -> None:
        self.topic = Topic()

    def manager(self) -> SiddhiManager:
        made = SiddhiManager()
        made.set_extension("sink:topic", sink("topic", registry=Registry())(of_topic(self.base, self.topic)))
        return made

    def received(self) -> list[str | bytes]:
        return self.topic.messages

    def stop_server(self) -> None:
        self.topic.is_down = True

    def start_server(self) -> None:
        self.topic.is_down = False


class TestInMemorySource(SourceSuite):
    options = "type = 'inMemory', topic = 'suite'"
    has_buffer = False

    def send(self, payloads: Sequence[str | bytes]) -> None:
        for payload in payloads:
            InMemoryBroker.publish("suite", payload)


class TestInMemorySink(SinkSuite):
    options = "type = 'inMemory', topic = 'suite-out'"
    is_queued = False
    is_confirmed = True

    def setup_method(self) -> None:
        self.messages: list[Any] = []
        InMemoryBroker.subscribe("suite-out", self.messages.append)

    def teardown_method(self) -> None:
        InMemoryBroker.unsubscribe("suite-out", self.messages.append)

    def received(self) -> list[str | bytes]:
        return self.messages


class TestFileSource(SourceSuite):
    delivery = "at least once"
    is_durable = True

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.path = tmp_path / "in.jsonl"
        self.path.touch()
        self.options = f"type = 'file', file.uri = '{self.path}', file.polling.interval = '5'"

    def send(self, payloads: Sequence[str | bytes]) -> None:
        with self.path.open("a") as file:
            file.writelines(f"{payload!s}\n" for payload in payloads)

    test_an_app_can_be_started_again = None  # type: ignore[assignment]  # it reads the file from its beginning again


class TestFileSink(SinkSuite):
    is_queued = False
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.path = tmp_path / "out.jsonl"
        self.options = f"type = 'file', file.uri = '{self.path}'"

    def received(self) -> list[str | bytes]:
        return list(self.path.read_text().splitlines()) if self.path.exists() else []


class TestTcpSource(SourceSuite):
    options = "type = 'tcp', context = 'c'"

    def setup_method(self) -> None:
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = found.getsockname()[1]
        self.socket: socket.socket | None = None

    def teardown_method(self) -> None:
        self.break_connection()

    def manager(self) -> SiddhiManager:
        made = SiddhiManager()
        address = {"source.tcp.host": "127.0.0.1", "source.tcp.port": str(self.port)}
        made.set_config_manager(InMemoryConfigManager(extensions=address))
        return made

    def send(self, payloads: Sequence[str | bytes]) -> None:
        for payload in payloads:
            content = payload.encode() if isinstance(payload, str) else payload
            for _ in range(2):
                if self.socket is None:
                    self.socket = socket.create_connection(("127.0.0.1", self.port))
                try:
                    if not self._is_closed():
                        self.socket.sendall(frame("suite", "c", content))
                        break
                except OSError:
                    pass
                self.break_connection()

    def _is_closed(self) -> bool:
        assert self.socket is not None
        self.socket.setblocking(False)
        try:
            return self.socket.recv(1) == b""
        except BlockingIOError:
            return False
        finally:
            self.socket.setblocking(True)

    def break_connection(self) -> None:
        if self.socket is not None:
            self.socket.close()
            self.socket = None


class TestTcpSink(SinkSuite):
    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        self.messages: list[str | bytes] = []
        listening = socket.create_server(("127.0.0.1", 0))
        threads = [threading.Thread(target=self._accept, args=(listening,), daemon=True)]
        threads[0].start()
        with FaultProxy(listening.getsockname()[1]) as self.proxy:
            self.options = f"type = 'tcp', url = 'tcp://127.0.0.1:{self.proxy.port}/c'"
            yield
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        threads[0].join(10)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        frames = FrameBuffer()
        with connection:
            while True:
                try:
                    content = connection.recv(65536)
                except OSError:
                    return
                if not content:
                    return
                self.messages += [payload for _, payload in frames.feed(content)[0]]

    def received(self) -> list[str | bytes]:
        return self.messages

    def stop_server(self) -> None:
        self.proxy.refuse()
        self.proxy.drop()

    def start_server(self) -> None:
        self.proxy.accept()


# --- mistakes that the suites find


class Reverses(TopicSource):
    async def put(self, payload: Any, properties: Any = None, position: Any = None) -> None:
        self.kept = [*getattr(self, "kept", []), (payload, position)]
        if len(self.kept) == 5:
            kept, self.kept = self.kept, []
            for one, at in reversed(kept):
                await super().put(one, None, at)


class BeginsAnew(TopicSource):
    async def receive(self) -> None:
        self.position = None
        await super().receive()


class Forgets(TopicSource):
    async def receive(self) -> None:
        self.position = len(self.topic.messages)
        await super().receive()


class StaysDead(TopicSource):
    async def receive(self) -> None:
        try:
            await super().receive()
        except ConnectionResetError:
            await asyncio.sleep(3600)


class IgnoresPause(TopicSource):
    def pause(self) -> None:
        """Do nothing."""


class Floods(Source):
    """Accepts without bounds."""

    topic: ClassVar[Topic]

    @property
    def waiting(self) -> int:
        return len(self.topic.messages)

    @property
    def capacity(self) -> int:
        return 5

    def init(self, listener: Any, *_: Any) -> None:
        self.listener = listener

    def connect(self) -> None:
        self.ended = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        offset = 0
        while not self.ended:
            message = self.topic.read(offset, 0)
            if message is not None:
                offset += 1
                self.listener.on_event(message)

    def disconnect(self) -> None:
        self.ended = True
        self.thread.join()

    def pause(self) -> None:
        """Do nothing."""

    def resume(self) -> None:
        """Do nothing."""


class Swallows(TopicSink):
    async def send(self, payload: Any, options: Any) -> None:
        if not self.topic.is_down:
            self.topic.append([payload])


class DropsAtShutdown(TopicSink):
    def flush(self) -> None:
        """Do nothing."""

    async def send(self, payload: Any, options: Any) -> None:
        await asyncio.sleep(0.01)
        await super().send(payload, options)


class HasNoQueue(Sink):
    """Raises nothing while the server is down."""

    topic: ClassVar[Topic]

    def init(self, *_: Any) -> None:
        """Read no options."""

    def connect(self) -> None:
        if self.topic.is_down:
            raise ConnectionUnavailableError("down")

    def publish(self, payload: Any, options: Any) -> None:
        self.topic.append([payload] if not self.topic.is_down else [])


@pytest.mark.parametrize(
    ("base", "check"),
    [
        (Reverses, "test_events_arrive_in_order"),
        (BeginsAnew, "test_a_restore_loses_nothing"),
        (Forgets, "test_a_restore_loses_nothing"),
        (StaysDead, "test_a_lost_connection_is_made_again"),
        (IgnoresPause, "test_a_paused_source_loses_nothing"),
        (Floods, "test_a_slow_app_fills_only_the_buffer"),
        (Swallows, "test_what_can_not_be_published_goes_to_the_fault_stream"),
        (Swallows, "test_a_waiting_sink_loses_nothing"),
        (DropsAtShutdown, "test_a_shutdown_publishes_what_is_queued"),
        (HasNoQueue, "test_a_snapshot_holds_what_is_queued"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_mistake_is_found(base: type, check: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = connectors.wait_until

    def wait_briefly(condition: Callable[[], object], what: str) -> None:
        waited(condition, what, 1.0)

    monkeypatch.setattr(connectors, "wait_until", wait_briefly)
    suite: Any = TestQueuedSink() if issubclass(base, Sink) else TestReplayableSource()
    monkeypatch.setattr(type(suite), "base", base)
    suite.setup_method()
    with pytest.raises(AssertionError):
        getattr(suite, check)()


def test_a_payload_is_what_the_default_mapper_reads() -> None:
    assert json.loads(SourceSuite().payload(7)) == {"event": {"n": 7}}
    assert SinkSuite().number_of('{"event":{"n":7}}') == 7
