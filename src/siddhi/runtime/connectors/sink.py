"""A sink at work: events of its stream in, payloads out, and ``on.error`` where that fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from enum import Enum

from siddhi.errors import ConnectionUnavailableError, EventError, MappingFailedError
from siddhi.event import Event
from siddhi.io.options import DynamicOptions
from siddhi.io.sink import Sink, SinkMapper
from siddhi.repeats import Repeats
from siddhi.runtime.connectors.connection import Connection
from siddhi.runtime.connectors.retry import RetryScheduler

__all__ = ["OnError", "SinkRuntime"]

logger = logging.getLogger("siddhi")

WAIT_SECONDS = 5
"""Between two attempts of a sink with ``on.error = 'WAIT'``."""
_SAID_EVERY = 720
"""Attempts between two lines that say that it waits, at the most: an hour."""
_OF_THE_EVENT = (MappingFailedError, EventError)
"""What says that no other attempt can publish this one."""

Fault = Callable[[Exception, Sequence[Event]], object]
"""Error handling of a stream: ``fn(exception, events)``."""
Group = Callable[[Event], object]


class OnError(Enum):
    """What becomes of events that could not be published.

    ``WAIT`` tries until they are, whatever the sink raises, and the sender waits meanwhile. What says that the event itself is
    at fault (:class:`~siddhi.errors.MappingFailedError`, :class:`~siddhi.errors.EventError`) is not tried again: that goes
    to the error handling of the stream, as what a mapper raises does.
    """

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
        self._repeats = Repeats()

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
        for line in self._repeats.rest():
            logger.error("%s", line)

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
        waits, why = self._on_error is OnError.WAIT, ""
        if waits and not isinstance(error, _OF_THE_EVENT):
            ended = self._wait(error, payload, events)
            if ended is None:
                self.published += 1
                return
            error, why = ended, "; the app was shut down while it waited"
        elif isinstance(error, ConnectionUnavailableError):
            self._reconnect()
        if self._on_error is OnError.STREAM or (waits and isinstance(error, _OF_THE_EVENT)):
            self._fault(error, events)
        elif not (waits or self._on_error is OnError.STORE) or not self._store(error, events, payload):
            note = self._repeats.note(f"{self._label}: {type(error).__name__}, dropped")
            if note is not None:
                logger.error("%s: %s%s; dropped: %r%s", self._label, error, why, payload, note)

    def _reconnect(self) -> None:
        try:
            self._connection.connect_with_retry()
        except Exception:
            logger.exception("%s: an error while connecting, which ends the attempts at intervals", self._label)

    def _wait(self, error: Exception, payload: object, events: Sequence[Event]) -> Exception | None:
        """Try until it is published; else the error that ended it: of the event itself, or the last one before the app was shut
        down.
        """
        waited = Repeats(first=1, most=_SAID_EVERY)
        while True:
            note = waited.note("")
            if note is not None:
                logger.warning(
                    "%s: %s: %s; %s to publish, and the app with it; trying again every %d s%s",
                    self._label,
                    type(error).__name__,
                    error,
                    "still waiting" if note else "waiting",
                    WAIT_SECONDS,
                    note,
                    exc_info=None if isinstance(error, ConnectionUnavailableError) else error,
                )
            if self._retries.wait(WAIT_SECONDS, self._stopping):
                return error
            try:
                if self._connection.begin():
                    self._connection.connect_now()
                if self._connection.connected:
                    self.sink.publish(payload, DynamicOptions(events[0]))
                    return None
                error = ConnectionUnavailableError(f"{self._label} is not connected")
            except ConnectionUnavailableError as lost:
                self._connection.lost()
                error = lost
            except _OF_THE_EVENT as own:
                return own
            except Exception as other:  # noqa: BLE001 - whatever it is, nothing is lost while it waits
                error = other


class _Payloads:
    """Takes the payloads of some events."""

    def __init__(self, publish: Callable[[object, Sequence[Event]], None], events: Sequence[Event]) -> None:
        self._publish = publish
        self._events = events

    def publish(self, payload: object) -> None:
        self._publish(payload, self._events)
