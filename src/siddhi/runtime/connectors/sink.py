"""A sink at work: events of its stream in, payloads out, and ``on.error`` where that fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from enum import Enum

from siddhi.errors import ConnectionUnavailableError
from siddhi.event import Event
from siddhi.io.options import DynamicOptions
from siddhi.io.sink import Sink, SinkMapper
from siddhi.runtime.connectors.connection import Connection
from siddhi.runtime.connectors.retry import RetryScheduler

__all__ = ["OnError", "SinkRuntime"]

logger = logging.getLogger("siddhi")

WAIT_SECONDS = 5
"""Between two attempts of a sink with ``on.error = 'WAIT'``."""
_WARN_EVERY = 12
"""How many of them go by between two warnings: a minute."""

Fault = Callable[[Exception, Sequence[Event]], object]
"""Error handling of a stream: ``fn(exception, events)``."""
Group = Callable[[Event], object]


class OnError(Enum):
    """What becomes of events that could not be published."""

    LOG = "LOG"
    WAIT = "WAIT"
    STREAM = "STREAM"
    STORE = "STORE"


class SinkRuntime:
    """One ``@sink``.

    Args:
        sink: of the user.
        mapper: of the user.
        label: for messages.
        on_error: what to do with events that could not be published.
        fault: the stream's error handling.
        store: saves events with their payload and the error; whether it did.
        retries: when lost connections are tried again.
        group: events that come together go out together where it gives the same; None: always.
    """

    def __init__(
        self,
        sink: Sink,
        mapper: SinkMapper,
        label: str,
        on_error: OnError,
        fault: Fault,
        retries: RetryScheduler,
        *,
        store: Callable[[Exception, Sequence[Event], object], bool],
        group: Group | None = None,
    ) -> None:
        self.sink = sink
        self.published = 0
        self._mapper = mapper
        self._label = label
        self._on_error = on_error
        self._fault = fault
        self._store = store
        self._retries = retries
        self._group = group
        self._one_payload = type(mapper).map_events is not SinkMapper.map_events
        self._connection = Connection(sink, label, retries)
        self._stopping = threading.Event()

    @property
    def is_connected(self) -> bool:
        """Whether it publishes."""
        return self._connection.connected

    def connect(self) -> None:
        """Connect, now or later.

        Raises:
            Exception: it can't be connected at all.
        """
        self._connection.connect_with_retry()

    def release(self) -> None:
        """Let nobody wait any more: the app is being shut down."""
        self._stopping.set()

    def stop(self) -> None:
        """Disconnect for good."""
        self.release()
        self._connection.stop()

    def receive(self, events: list[Event]) -> None:
        """Publish a chunk of the stream."""
        if len(events) == 1:
            self._send(events, single=True)
        elif self._group is None:
            self._send(events)
        else:
            groups: dict[object, list[Event]] = {}
            for event in events:
                groups.setdefault(self._group(event), []).append(event)
            for group in groups.values():
                self._send(group)

    def _send(self, events: list[Event], *, single: bool = False) -> None:
        if not single and not self._one_payload:
            for event in events:
                self._send([event], single=True)
            return
        listener = _Payloads(self.publish, events)
        try:
            if single:
                self._mapper.map_event(events[0], listener)
            else:
                self._mapper.map_events(events, listener)
        except Exception as error:  # noqa: BLE001 - handled as the stream says
            self._fault(error, events)

    def publish(self, payload: object, events: Sequence[Event]) -> None:
        """Publish what was made of some events, as ``on.error`` says where that fails."""
        try:
            self._publish(payload, events)
        except Exception as error:  # noqa: BLE001 - the sender must not hear of it; on.error says who does
            self._failed(error, payload, events)

    def replay(self, payload: object, events: Sequence[Event]) -> None:
        """Publish what could not be published; what fails is told to the caller alone.

        Args:
            payload: made of the events; None: it is made anew.
            events: those that came together; one at least.

        Raises:
            Exception: what sink or mapper raised; of several payloads, those before are published.
        """
        try:
            if payload is not None:
                self._publish(payload, events)
            elif len(events) == 1:
                self._mapper.map_event(events[0], _Payloads(self._publish, events))
            else:
                self._mapper.map_events(events, _Payloads(self._publish, events))
        except ConnectionUnavailableError:
            self._reconnect()
            raise

    def _publish(self, payload: object, events: Sequence[Event]) -> None:
        options = DynamicOptions(events[0])
        connection = self._connection
        if not connection.connected:
            raise ConnectionUnavailableError(f"{self._label} is not connected")
        try:
            self.sink.publish(payload, options)
        except ConnectionUnavailableError:
            connection.lost()
            if not connection.begin():
                raise
            try:
                connection.connect_now()
                self.sink.publish(payload, options)
            except ConnectionUnavailableError:
                connection.lost()
                raise
        self.published += 1

    def _failed(self, error: Exception, payload: object, events: Sequence[Event]) -> None:
        lost = isinstance(error, ConnectionUnavailableError)
        if self._on_error is OnError.WAIT and lost and not self._stopping.is_set():
            if self._wait(payload, events):
                self.published += 1
                return
        elif lost:
            self._reconnect()
        if self._on_error is OnError.STREAM:
            self._fault(error, events)
        elif self._on_error is not OnError.STORE or not self._store(error, events, payload):
            logger.error("%s: %s; dropped: %r", self._label, error, payload)

    def _reconnect(self) -> None:
        try:
            self._connection.connect_with_retry()
        except Exception:
            logger.exception("%s: an error while connecting, which is not tried again", self._label)

    def _wait(self, payload: object, events: Sequence[Event]) -> bool:
        """Try until it is published; False where the app is shut down first, or something else goes wrong."""
        attempts = 0
        while not self._retries.wait(WAIT_SECONDS, self._stopping):
            attempts += 1
            try:
                if self._connection.begin():
                    self._connection.connect_now()
                if self._connection.connected:
                    self.sink.publish(payload, DynamicOptions(events[0]))
                    return True
            except ConnectionUnavailableError as error:
                self._connection.lost()
                if attempts % _WARN_EVERY == 0:
                    logger.warning("%s: %s; still waiting to publish", self._label, error)
            except Exception:
                logger.exception("%s: an error while waiting to publish", self._label)
                return False
        return False


class _Payloads:
    """Takes the payloads of some events."""

    def __init__(self, publish: Callable[[object, Sequence[Event]], None], events: Sequence[Event]) -> None:
        self._publish = publish
        self._events = events

    def publish(self, payload: object) -> None:
        self._publish(payload, self._events)
