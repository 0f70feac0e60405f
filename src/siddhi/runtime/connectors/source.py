"""A running source: maps payloads to events and sends them into its stream."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from operator import attrgetter
from typing import Protocol

from siddhi._frozen import frozen
from siddhi._redaction import excerpt, redacted
from siddhi.errors import ConnectionUnavailableError, MappingFailedError, NotRunningError
from siddhi.event import Event
from siddhi.io.source import Source, SourceMapper
from siddhi.repeats import Repeats
from siddhi.runtime.connectors.connection import Connection
from siddhi.runtime.connectors.retry import RetryPolicy, RetryScheduler
from siddhi.runtime.connectors.status import ConnectorStatus, size_of

__all__ = ["EventInput", "RowInput", "SourceRuntime", "TransportMapping"]

logger = logging.getLogger("siddhi")

_TIMESTAMP = attrgetter("timestamp")

Fault = Callable[[Exception, Sequence[Event]], object]
"""Error handling of a stream: ``fn(exception, events)``."""


class EventInput(Protocol):
    """The input handler of a stream."""

    def send(self, row: Event, /) -> None: ...
    def send_events(self, events: Sequence[Event], /) -> None: ...


class RowInput(Protocol):
    """Sends rows into the stream, with the app's time."""

    def send(self, row: tuple[object, ...], /) -> None: ...
    def send_rows(self, rows: list[tuple[object, ...]], /) -> None: ...


@frozen
class TransportMapping:
    """The attribute at ``position`` gets the transport property ``name``, converted to the attribute's type."""

    name: str
    position: int
    convert: Callable[[object], object]


class SourceRuntime:
    """One ``@source``. It is the source's listener and its connection callback.

    Args:
        source: the user's source, not yet initialised.
        mapper: the user's mapper, not yet initialised.
        label: for messages.
        input_: the stream's input handler.
        rows: sends rows into the stream.
        now: the app's clock in ms.
        transport: attributes that get transport properties.
        retries: schedules reconnects.
        store: saves the error, a payload that could not be mapped, and its transport properties in the error store; returns
            whether it did.
        type_: name of the connector.
        policy: the pauses between attempts to connect.
        fault: see the attribute.
        lock: the app's lock.
        width: number of attributes of the stream.
        replay_mapper: makes the mapper of a replay, already initialised; None: the mapper has no state, and is used for that, too.

    Attributes:
        mapper: the user's mapper.
        number: its position among the sources of the stream.
        received: number of payloads.
        events: number of events sent into the stream.
        bytes: size of the payloads that are texts or bytes.
        failures: number of payloads, or parts of them, that could not be mapped.
        input: the stream's input handler.
        now: the app's clock in ms.
        positions: positions of the attributes that get transport properties.
        fault: error handling of the stream, which gets payloads that can't be mapped; None: they are stored, or logged.
    """

    def __init__(
        self,
        source: Source,
        mapper: SourceMapper,
        label: str,
        input_: EventInput,
        rows: RowInput,
        now: Callable[[], int],
        transport: Sequence[TransportMapping],
        retries: RetryScheduler,
        store: Callable[[Exception, object, Sequence[object]], bool],
        type_: str = "",
        policy: RetryPolicy | None = None,
        fault: Fault | None = None,
        lock: AbstractContextManager[object] | None = None,
        width: int = 0,
        replay_mapper: Callable[[], SourceMapper] | None = None,
    ) -> None:
        self.source = source
        self.number = 0
        self._store = store
        self.fault = fault
        self._lock = lock
        self._width = width
        self.received = self.events = self.bytes = self.failures = 0
        self.mapper = mapper
        self._replay_mapper = replay_mapper
        self._type = type_
        self._label = label
        self.input = input_
        self.rows = rows
        self.now = now
        self._transport = tuple(transport)
        self.positions = tuple(mapping.position for mapping in self._transport)
        self._row: tuple[None, ...] | None = None
        self._connection = Connection(source, label, retries, disconnects_first=True, policy=policy)
        self._repeats = Repeats()
        source.callback = self

    def ignore_payloads(self) -> None:
        """Do not map payloads: transport properties are the values of all attributes."""
        self._row = (None,) * len(self._transport)

    @property
    def is_connected(self) -> bool:
        """Whether the source is connected."""
        return self._connection.connected

    def status(self, stream: str, number: int) -> ConnectorStatus:
        """Return its counters and the state of its connection."""
        source, connection = self.source, self._connection
        return ConnectorStatus(
            "source",
            stream,
            number,
            self._type,
            connection.connected,
            source.is_paused,
            self.received,
            self.events,
            self.bytes,
            self.failures,
            connection.reconnects,
            source.waiting,
            source.capacity,
            source.lag,
            None if connection.failure is None else redacted(str(connection.failure)),
        )

    @property
    def transport_properties(self) -> tuple[str, ...]:
        """Names of the transport properties that attributes get, in order."""
        return tuple(mapping.name for mapping in self._transport)

    def connect(self) -> None:
        """Connect; retry later if the source can't be reached now.

        Raises:
            Exception: the source failed with an error that is not retried.
        """
        self._connection.connect_with_retry()

    def drain(self) -> None:
        """Deliver what was received, and receive no more."""
        if self._connection.connected:
            try:
                self.source.drain()
            except Exception:
                logger.exception("%s: error while draining it", self._label)

    def stop(self) -> None:
        """Disconnect for good."""
        self._connection.stop()
        for line in self._repeats.summary():
            logger.error("%s", line)

    def on_error(self, error: ConnectionUnavailableError) -> None:
        """Reconnect: the source lost its connection."""
        self._connection.reconnect(error)

    def on_event(
        self, payload: object, transport_properties: Sequence[object] | None = None, timestamp: int | None = None
    ) -> bool:
        """Map a payload and send its events; a part that can't be mapped is stored, or logged and dropped.

        Returns:
            Whether all of it was mapped, and its events were sent.
        """
        self.received += 1
        self.bytes += len(payload) if type(payload) is bytes else size_of(payload)
        if payload is None:
            return True
        if type(payload) is not str and isinstance(payload, str):
            payload = str.__str__(payload)  # an exact str: libraries behind the mappers take no other
        given = () if transport_properties is None else tuple(transport_properties)
        handler = _Filler(self, given, timestamp)
        try:
            if given or self._row is not None or self._transport:
                self._map(self.mapper, payload, given, handler)
            else:
                self.mapper.map(payload, handler)
        except NotRunningError:
            note = self._repeats.note(f"{self._label}: payloads while the app is not running")
            if note is not None:
                logger.error("%s: the app is not running; dropped: %s%s", self._label, excerpt(payload), note)
            return False
        except Exception as error:  # noqa: BLE001 - stored, or logged and dropped
            handler.fail(error, payload)
        return handler.error is None

    def failed(self, error: Exception, payload: object, given: tuple[object, ...]) -> None:
        """Handle a payload that can't be mapped by ``on.mapping.error``."""
        self.failures += 1
        if self.fault is not None:
            failed = (
                error
                if isinstance(error, MappingFailedError)
                else MappingFailedError(f"{type(error).__name__}: {error}")
            )
            failed.payload = payload
            if failed is not error:
                failed.__cause__ = error
            with self._lock or nullcontext():
                self.fault(failed, [Event(self.now(), (None,) * self._width)])
            return
        kept = "stored" if self._store(error, payload, given) else "dropped"
        note = self._repeats.note(f"{self._label}: {type(error).__name__}, {kept}")
        if note is not None:
            cause = None if isinstance(error, MappingFailedError) else error
            logger.error(
                "%s: %s; %s: %s%s", self._label, redacted(str(error)), kept, excerpt(payload), note, exc_info=cause
            )

    def replay(self, payload: object, given: tuple[object, ...]) -> None:
        """Map a payload again, by a mapper that shares no state with the other payloads, and raise its errors.

        Raises:
            Exception: as :meth:`map`, or a part of the payload can't be mapped; its other parts are sent.
        """
        mapper = self.mapper
        if self._replay_mapper is not None:
            mapper = self._replay_mapper()
            mapper.begin_replay()
        handler = _Filler(self, given, None, reports=False)
        self._map(mapper, payload, given, handler)
        if handler.error is not None:
            raise handler.error

    def _map(self, mapper: SourceMapper, payload: object, given: tuple[object, ...], handler: _Filler) -> None:
        """Map a payload with its transport properties, and send its events.

        Args:
            mapper: the mapper.
            payload: the payload.
            given: values of the transport properties; empty: all are null.
            handler: receives the events.

        Raises:
            NotRunningError: the app is not running.
            Exception: the payload can't be mapped, or its events do not match the stream.
        """
        if self._transport:
            handler.values = self._converted(given)
        elif given:
            raise ValueError(f"the source passed {len(given)} transport properties, expected 0")
        if self._row is not None:
            handler.send_row(self._row)
        else:
            mapper.map(payload, handler)

    def _converted(self, given: tuple[object, ...]) -> list[object]:
        """Return the values of the attributes that get transport properties."""
        if len(given) != len(self._transport):
            if given:
                raise ValueError(
                    f"the source passed {len(given)} transport properties, expected {len(self._transport)}"
                )
            given = (None,) * len(self._transport)
        if any(value is None for value in given) and not self.mapper.allow_null_in_transport_properties:
            missing = [self._transport[number].name for number, value in enumerate(given) if value is None]
            raise ValueError(f"missing transport properties: {', '.join(missing)}")
        return [mapping.convert(value) for mapping, value in zip(self._transport, given, strict=True)]


class _Filler:
    """Receives the events of one payload: fills transport properties in, and sends the events into the stream.

    Args:
        runtime: the source.
        given: the transport properties of the payload, for reports.
        timestamp: of events without one; None: the app's time.
        reports: whether the source stores or logs parts that can't be mapped.

    Attributes:
        values: values of the attributes that get transport properties.
        error: the first error of a part; None: there is none.
    """

    __slots__ = ("_given", "_reports", "_runtime", "_timestamp", "error", "values")

    def __init__(
        self, runtime: SourceRuntime, given: tuple[object, ...], timestamp: int | None, *, reports: bool = True
    ) -> None:
        self._runtime = runtime
        self._given = given
        self._timestamp = timestamp
        self._reports = reports
        self.values: Sequence[object] = ()
        self.error: Exception | None = None

    def fail(self, error: Exception, part: object) -> None:
        if self.error is None:
            self.error = error
        if self._reports:
            self._runtime.failed(error, part, self._given)

    def send_event(self, event: Event) -> None:
        self._runtime.input.send(self._filled(event))
        self._runtime.events += 1

    def send_events(self, events: Sequence[Event]) -> None:
        if events:
            runtime = self._runtime
            if runtime.positions or -1 in map(_TIMESTAMP, events):
                events = [self._filled(event) for event in events]
            runtime.input.send_events(events)
            runtime.events += len(events)

    def send_row(self, row: tuple[object, ...]) -> None:
        runtime, time = self._runtime, self._timestamp
        filled = self._row(row) if runtime.positions else row
        if time is None:
            runtime.rows.send(filled)
        else:
            runtime.input.send(Event(time, filled))
        runtime.events += 1

    def send_rows(self, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            runtime, time = self._runtime, self._timestamp
            filled = [self._row(row) for row in rows] if runtime.positions else rows
            if time is None:
                runtime.rows.send_rows(filled if isinstance(filled, list) else list(filled))
            else:
                runtime.input.send_events([Event(time, row) for row in filled])
            runtime.events += len(rows)

    def _filled(self, event: Event) -> Event:
        time = event.timestamp
        if time == -1:
            time = self._runtime.now() if self._timestamp is None else self._timestamp
        return Event(time, self._row(event.data))

    def _row(self, row: Sequence[object]) -> tuple[object, ...]:
        data = list(row)
        for position, value in zip(self._runtime.positions, self.values, strict=True):
            data[position] = value
        return tuple(data)
