"""A running sink: maps the events of its stream to payloads and publishes them; handles failures by ``on.error``."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from enum import Enum

from siddhi._redaction import excerpt, redacted
from siddhi.errors import ConnectionUnavailableError, EventError, MappingFailedError, SiddhiAppCreationError
from siddhi.event import Event
from siddhi.io.options import DynamicOptions
from siddhi.io.sink import Sink, SinkMapper
from siddhi.repeats import Repeats
from siddhi.runtime.connectors.connection import Connection
from siddhi.runtime.connectors.retry import RetryPolicy, RetryScheduler
from siddhi.runtime.connectors.status import ConnectorStatus, size_of

__all__ = ["OnError", "SinkRuntime"]

logger = logging.getLogger("siddhi")

WAIT_SECONDS = 5
"""Pause between two attempts of a sink with ``on.error = 'WAIT'``."""
RETRIES = 5
"""Attempts of a sink with ``on.error = 'RETRY'`` to publish a payload, unless ``retry.limit`` sets it."""
_LOGGED_EVERY = 720
"""Maximum number of attempts between two log lines while waiting: an hour."""
_EVENT_ERRORS = (MappingFailedError, EventError)
"""Errors of the event itself: a further attempt can't succeed."""

Fault = Callable[[Exception, Sequence[Event]], object]
"""Error handling of a stream: ``fn(exception, events)``."""
Group = Callable[[Event], object]


class OnError(Enum):
    """What to do with events that could not be published.

    ``WAIT`` retries until they are published, whatever the sink raises; ``RETRY``, for sinks with a queue, at most
    :data:`RETRIES` times, then it saves them in the error store, or logs and drops them. The sender waits meanwhile, or the queue of the sink fills. Errors of the event
    itself (:class:`~siddhi.errors.MappingFailedError`, :class:`~siddhi.errors.EventError`) are not retried: they go to the
    error handling of the stream, as errors of a mapper do.
    """

    LOG = "LOG"
    WAIT = "WAIT"
    RETRY = "RETRY"
    STREAM = "STREAM"
    STORE = "STORE"


class SinkRuntime:
    """One ``@sink``.

    Args:
        sink: the user's sink.
        mapper: the user's mapper.
        label: for messages.
        on_error: what to do with events that could not be published.
        fault: the stream's error handling.
        store: saves events with their payload and the error in the error store; returns whether it did.
        retries: schedules reconnects.
        lock: the app's lock.
        group: events of a chunk with the same group are published together; None: all of them.
        type_: name of the connector.
        policy: the pauses between attempts.
        replay_mapper: makes the mapper of a replay, already initialised; None: the mapper has no state, and is used for that, too.

    Attributes:
        mapper: the user's mapper.
        fault: the stream's error handling.
        number: its position among the sinks of the stream.
        published: number of published payloads.
        events: number of events given to the sink.
        bytes: size of the published payloads that are texts or bytes.
        failures: number of payloads that were not published, whatever ``on.error`` did with them.
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
        lock: AbstractContextManager[object],
        group: Group | None = None,
        type_: str = "",
        policy: RetryPolicy | None = None,
        replay_mapper: Callable[[], SinkMapper] | None = None,
    ) -> None:
        self.sink = sink
        self.lock = lock
        self.published = self.events = self.bytes = self.failures = 0
        policy = policy or RetryPolicy()
        self._attempts = policy.limit or RETRIES
        # The limit is one of attempts to publish, if on.error counts those.
        self._policy = replace(policy, limit=None)
        self._waits = on_error in (OnError.WAIT, OnError.RETRY)
        self.mapper = mapper
        self._replay_mapper = replay_mapper
        self._type = type_
        self._label = label
        self._on_error = on_error
        self.fault = fault
        self.number = 0
        self._store = store
        self._retries = retries
        self._group = group
        self._one_payload = type(mapper).map_events is not SinkMapper.map_events
        self._connection = Connection(sink, label, retries, policy=self._policy if self._waits else policy)
        self._stopping = threading.Event()
        self._repeats = Repeats()
        self._submit = sink.attach(self)
        if on_error is OnError.RETRY and self._submit is None:
            raise SiddhiAppCreationError(
                f"sink '{type_}' does not support on.error = 'RETRY': it has no queue, so that retries would block the app",
                code="E315",
                hint="use 'WAIT', 'STREAM' or 'STORE'",
            )

    @property
    def is_connected(self) -> bool:
        """Whether the sink is connected."""
        return self._connection.connected

    def status(self, stream: str, number: int) -> ConnectorStatus:
        """Return its counters and the state of its connection."""
        sink, connection = self.sink, self._connection
        return ConnectorStatus(
            "sink",
            stream,
            number,
            self._type,
            connection.connected,
            payloads=self.published,
            events=self.events,
            bytes=self.bytes,
            failures=self.failures,
            reconnects=connection.reconnects,
            waiting=sink.waiting,
            capacity=sink.capacity,
            error=None if connection.failure is None else redacted(str(connection.failure)),
        )

    def connect(self) -> None:
        """Connect; retry later if the sink can't be reached now.

        Raises:
            Exception: the sink failed with an error that is not retried.
        """
        self._connection.connect_with_retry()

    def release(self) -> None:
        """End waits: the app is being shut down."""
        self._stopping.set()
        self.sink.release()

    def stop(self) -> None:
        """Publish what is queued, and disconnect for good."""
        self.release()
        if self._connection.connected or self._waits:
            self.sink.flush()
        self._connection.stop()
        for line in self._repeats.summary():
            logger.error("%s", line)

    def receive(self, events: list[Event]) -> None:
        """Publish a chunk of the stream."""
        self.events += len(events)
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
                self.mapper.map_event(events[0], listener)
            else:
                self.mapper.map_events(events, listener)
        except Exception as error:  # noqa: BLE001 - handled by the error handling of the stream
            self.fault(error, events)

    def publish(self, payload: object, events: Sequence[Event]) -> None:
        """Publish the payload of some events; handle failures by ``on.error``."""
        try:
            self._publish(payload, events)
        except Exception as error:  # noqa: BLE001 - must not reach the sender; on.error decides
            self._failed(error, payload, events)

    def replay(self, payload: object, events: Sequence[Event]) -> None:
        """Publish stored events again; raise errors to the caller instead of handling them by ``on.error``.

        Args:
            payload: payload of the events; None: map them again.
            events: events of one chunk; at least one.

        Raises:
            Exception: the sink or mapper failed; of several payloads, the earlier ones are published.
        """
        try:
            if payload is not None:
                self._publish_now(payload, events)
                return
            mapper = self.mapper
            if self._replay_mapper is not None:
                mapper = self._replay_mapper()
                mapper.begin_replay()
            listener = _Payloads(self._publish_now, events)
            if len(events) == 1:
                mapper.map_event(events[0], listener)
            else:
                mapper.map_events(events, listener)
        except ConnectionUnavailableError as error:
            self._reconnect(error)
            raise

    def _publish(self, payload: object, events: Sequence[Event]) -> None:
        if self._submit is None:
            self._publish_now(payload, events)
        else:
            if not self._waits:
                self._check_connected()
            self._submit(payload, events)

    def _check_connected(self) -> None:
        if not self._connection.connected:
            raise ConnectionUnavailableError(f"{self._label} is not connected")

    def _publish_now(self, payload: object, events: Sequence[Event]) -> None:
        self._check_connected()
        try:
            self.sink.publish(payload, DynamicOptions(events[0]))
        except ConnectionUnavailableError as error:
            self._publish_again(error, payload, events)
        self.sent(payload)

    def _publish_again(self, error: ConnectionUnavailableError, payload: object, events: Sequence[Event]) -> None:
        """Connect and publish once more; raise the error if an attempt to connect is in progress or scheduled."""
        connection = self._connection
        connection.lost()
        if not connection.begin():
            raise error
        try:
            connection.connect_now()
            self.sink.publish(payload, DynamicOptions(events[0]))
        except ConnectionUnavailableError:
            connection.lost()
            raise

    # --- called by a sink that publishes later

    def sent(self, payload: object) -> None:
        """Count a published payload."""
        self.published += 1
        self.bytes += size_of(payload)

    def failed(self, error: Exception, payload: object, events: Sequence[Event]) -> None:
        """Handle a payload that could not be published, with the app's lock held."""
        self._failed(error, payload, events)

    def pause(self, error: Exception, failures: int) -> float | None:
        """Return the seconds before the next attempt to publish a payload; None: :meth:`failed` is to be called."""
        if isinstance(error, _EVENT_ERRORS):
            return None
        if failures == 1 and isinstance(error, ConnectionUnavailableError):
            return 0.0
        if not self._waits or (self._on_error is OnError.RETRY and failures > self._attempts):
            return None
        if failures & (failures - 1) == 0 or failures % _LOGGED_EVERY == 0:
            note = "" if failures < 3 else f" (attempt {failures})"
            logger.warning("%s: %s: %s; trying again%s", self._label, type(error).__name__, redacted(str(error)), note)
        return self._policy.spread(self._pause_after(failures))

    def begin_connecting(self) -> bool:
        """Record that the connection is lost, and reserve the next attempt; False: one is in progress."""
        self._connection.lost()
        return self._connection.begin()

    def end_connecting(self, error: BaseException | None) -> None:
        """Record the end of an attempt to connect."""
        if error is None:
            self._connection.made()
        else:
            self._connection.failed(error)

    # --- failures

    def _pause_after(self, failures: int) -> float:
        if self._on_error is OnError.WAIT and self._policy.is_default:
            return WAIT_SECONDS
        pause = self._policy.pause(failures)
        assert pause is not None  # without limit
        return pause

    def _failed(self, error: Exception, payload: object, events: Sequence[Event]) -> None:
        why = ""
        if self._on_error is OnError.WAIT and self._submit is None and not isinstance(error, _EVENT_ERRORS):
            ended = self._wait(error, payload, events)
            if ended is None:
                self.sent(payload)
                return
            error = ended
        if self._waits and not isinstance(error, _EVENT_ERRORS) and self._stopping.is_set():
            why = "; the app was shut down while the sink waited"
        self.failures += 1
        if isinstance(error, ConnectionUnavailableError) and not self._stopping.is_set():
            self._reconnect(error)
        if self._on_error is OnError.STREAM or (self._waits and isinstance(error, _EVENT_ERRORS)):
            self.fault(error, events)
        elif not (self._waits or self._on_error is OnError.STORE) or not self._store(error, events, payload):
            note = self._repeats.note(f"{self._label}: {type(error).__name__}, dropped")
            if note is not None:
                logger.error("%s: %s%s; dropped: %s%s", self._label, redacted(str(error)), why, excerpt(payload), note)

    def _reconnect(self, error: Exception) -> None:
        if self._submit is not None:
            # The sink has just tried; a further attempt now would block the app.
            self._connection.connect_later(error)
            return
        try:
            self._connection.connect_with_retry()
        except Exception:
            logger.exception("%s: error while connecting; not retried", self._label)

    def _wait(self, error: Exception, payload: object, events: Sequence[Event]) -> Exception | None:
        """Retry until the payload is published and return None.

        Return the error that ended the attempts: one of the event itself, or the last one before the app was shut down.
        """
        waited = Repeats(first=1, most=_LOGGED_EVERY)
        failures = 0
        while True:
            failures += 1
            pause = self._pause_after(failures)
            note = waited.note("")
            if note is not None:
                logger.warning(
                    "%s: %s: %s; %s to publish, which blocks the app; retrying in %g s%s",
                    self._label,
                    type(error).__name__,
                    redacted(str(error)),
                    "still waiting" if note else "waiting",
                    pause,
                    note,
                    exc_info=None if isinstance(error, ConnectionUnavailableError) else error,
                )
            if self._retries.wait(pause, self._stopping):
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
            except _EVENT_ERRORS as own:
                return own
            except Exception as other:  # noqa: BLE001 - WAIT retries after any error, so that no event is lost
                error = other


class _Payloads:
    """Listener of a mapper: publishes the payloads of some events."""

    def __init__(self, publish: Callable[[object, Sequence[Event]], None], events: Sequence[Event]) -> None:
        self._publish = publish
        self._events = events

    def publish(self, payload: object) -> None:
        self._publish(payload, self._events)
