"""Connectors for tests: retries without waiting, and a source and a sink whose connection a test can break."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar

from siddhi import SiddhiAppRuntime, SiddhiManager, extension
from siddhi.errors import ConnectionUnavailableError
from siddhi.io import InMemoryBroker, Sink, Source, SourceMapper


class StoppedTime:
    """Retries that run when the test asks for it; waiting returns at once."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self.waits: list[float] = []
        self.on_wait: Callable[[], object] = lambda: None
        self._pending: list[Callable[[], None]] = []

    def after(self, seconds: float, attempt: Callable[[], None], jitter: float = 0.0) -> Callable[[], None]:
        self.pauses.append(seconds)
        self._pending.append(attempt)
        return lambda: self._pending.remove(attempt) if attempt in self._pending else None

    def wait(self, seconds: float, stopped: threading.Event) -> bool:
        self.waits.append(seconds)
        self.on_wait()
        return stopped.is_set()

    def run(self) -> int:
        """Run the attempts that are due, and return their number."""
        pending, self._pending = self._pending, []
        for attempt in pending:
            attempt()
        return len(pending)


class FakeConnection:
    """State of a fake connector: its calls, and whether it works."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.payloads: list[object] = []
        self.checkpoints: list[bool] = []
        self.down = False
        self.broken: Exception | None = None
        self.state: object = None
        self.refuses: Exception | None = None  # the restored state

    def check(self) -> None:
        if self.broken is not None:
            raise self.broken
        if self.down:
            raise ConnectionUnavailableError("the connection is closed")


class FakeSource(Source):
    connection: ClassVar[FakeConnection]

    def init(self, listener, options, transport_properties, context) -> None:
        self.listener = listener
        self.asked_for = transport_properties
        self.connection.calls.append("init")

    def connect(self) -> None:
        self.connection.calls.append("connect")
        self.connection.check()

    def disconnect(self) -> None:
        self.connection.calls.append("disconnect")

    def destroy(self) -> None:
        self.connection.calls.append("destroy")

    def pause(self) -> None:
        self.connection.calls.append("pause")

    def resume(self) -> None:
        self.connection.calls.append("resume")

    def snapshot(self) -> object:
        return self.connection.state

    def restore(self, state: object) -> None:
        if self.connection.refuses is not None:
            raise self.connection.refuses
        self.connection.state = state


class FakeSink(Sink):
    connection: ClassVar[FakeConnection]

    def init(self, options, context) -> None:
        self.to = options.option("to", "?")

    def connect(self) -> None:
        self.connection.calls.append("connect")
        self.connection.check()

    def publish(self, payload, options) -> None:
        self.connection.check()
        self.connection.payloads.append((self.to.value(options), payload))

    def checkpoint(self) -> Callable[[bool], None]:
        return lambda saved: self.connection.checkpoints.append(saved)

    def disconnect(self) -> None:
        self.connection.calls.append("disconnect")

    def destroy(self) -> None:
        self.connection.calls.append("destroy")


class StrictMapper(SourceMapper):
    allow_null_in_transport_properties = False

    def map(self, payload, handler) -> None:
        handler.send_event(payload)


class FakeConnectors:
    """Return a manager with ``@source(type = 'fake')`` and ``@sink(type = 'fake')``."""

    def __init__(self) -> None:
        self.time = StoppedTime()
        self.source, self.sink = FakeConnection(), FakeConnection()
        self.manager = SiddhiManager(retries=self.time)
        source = type("TestSource", (FakeSource,), {"connection": self.source})
        sink = type("TestSink", (FakeSink,), {"connection": self.sink})
        option = extension.ConnectorOption("to", dynamic=True)
        registry = extension.Registry()
        self.manager.set_extension("source:fake", extension.source("fake", registry=registry)(source))
        self.manager.set_extension("fake", extension.sink("fake", options=(option,), registry=registry)(sink))
        self.manager.set_extension(
            "strict", extension.source_mapper("strict", registry=registry)(type("Strict", (StrictMapper,), {}))
        )

    @contextmanager
    def running(self, app: str) -> Iterator[SiddhiAppRuntime]:
        with self.manager.create_siddhi_app_runtime(app) as runtime:
            yield runtime


@contextmanager
def heard(topic: str) -> Iterator[list[object]]:
    """Collect the payloads published to a topic of the broker."""
    messages: list[object] = []
    InMemoryBroker.subscribe(topic, messages.append)
    yield messages
    InMemoryBroker.unsubscribe(topic, messages.append)
