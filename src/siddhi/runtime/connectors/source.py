"""A running source: maps payloads to events and sends them into its stream."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from siddhi._frozen import frozen
from siddhi.errors import ConnectionUnavailableError, MappingFailedError, NotRunningError
from siddhi.event import Event
from siddhi.io.source import Source, SourceMapper
from siddhi.repeats import Repeats
from siddhi.runtime.connectors.connection import Connection
from siddhi.runtime.connectors.retry import RetryScheduler

__all__ = ["EventInput", "SourceRuntime", "TransportMapping"]

logger = logging.getLogger("siddhi")


class EventInput(Protocol):
    """The input handler of a stream."""

    def send(self, row: Event, /) -> None: ...
    def send_events(self, events: Sequence[Event], /) -> None: ...


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
        now: the app's clock in ms.
        transport: attributes that get transport properties.
        retries: schedules reconnects.
        store: saves the error, a payload that could not be mapped, and its transport properties in the error store; returns
            whether it did.
    """

    def __init__(
        self,
        source: Source,
        mapper: SourceMapper,
        label: str,
        input_: EventInput,
        now: Callable[[], int],
        transport: Sequence[TransportMapping],
        retries: RetryScheduler,
        store: Callable[[Exception, object, Sequence[object]], bool],
    ) -> None:
        self.source = source
        self._store = store
        self.received = 0
        self._mapper = mapper
        self._label = label
        self._input = input_
        self._now = now
        self._transport = tuple(transport)
        self._positions = tuple(mapping.position for mapping in self._transport)
        self._row: tuple[None, ...] | None = None
        self._connection = Connection(source, label, retries, disconnects_first=True)
        self._repeats = Repeats()
        source.callback = self

    def ignore_payloads(self) -> None:
        """Do not map payloads: transport properties are the values of all attributes."""
        self._row = (None,) * len(self._transport)

    @property
    def is_connected(self) -> bool:
        """Whether the source is connected."""
        return self._connection.connected

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

    def stop(self) -> None:
        """Disconnect for good."""
        self._connection.stop()
        for line in self._repeats.summary():
            logger.error("%s", line)

    def on_error(self, error: ConnectionUnavailableError) -> None:
        """Reconnect: the source lost its connection."""
        logger.error("%s: %s; reconnecting", self._label, error)
        self._connection.reconnect()

    def on_event(self, payload: object, transport_properties: Sequence[object] | None = None) -> bool:
        """Map a payload and send its events; a part that can't be mapped is stored, or logged and dropped.

        Returns:
            Whether all of it was mapped, and its events were sent.
        """
        self.received += 1
        if payload is None:
            return True
        given = tuple(transport_properties or ())
        errors: list[Exception] = []

        def failed(error: Exception, part: object) -> None:
            errors.append(error)
            self.failed(error, part, given)

        try:
            self.map(payload, given, failed)
        except NotRunningError as error:
            errors.append(error)
            note = self._repeats.note(f"{self._label}: payloads while the app is not running")
            if note is not None:
                logger.error("%s: the app is not running; dropped: %r%s", self._label, payload, note)
        except Exception as error:  # noqa: BLE001 - stored, or logged and dropped
            failed(error, payload)
        return not errors

    def failed(self, error: Exception, payload: object, given: tuple[object, ...]) -> None:
        """Save a payload that can't be mapped in the error store, or log and drop it."""
        kept = "stored" if self._store(error, payload, given) else "dropped"
        note = self._repeats.note(f"{self._label}: {type(error).__name__}, {kept}")
        if note is not None:
            cause = None if isinstance(error, MappingFailedError) else error
            logger.error("%s: %s; %s: %r%s", self._label, error, kept, payload, note, exc_info=cause)

    def replay(self, payload: object, given: tuple[object, ...]) -> None:
        """Map a payload again, and raise its errors.

        Raises:
            Exception: as :meth:`map`, or a part of the payload can't be mapped; its other parts are sent.
        """
        errors: list[Exception] = []
        self.map(payload, given, lambda error, _: errors.append(error))
        if errors:
            raise errors[0]

    def map(self, payload: object, given: tuple[object, ...], failed: Callable[[Exception, object], None]) -> None:
        """Map a payload with its transport properties, and send its events.

        Args:
            payload: the payload.
            given: values of the transport properties; empty: all are null.
            failed: handles a part of the payload that can't be mapped.

        Raises:
            NotRunningError: the app is not running.
            Exception: the payload can't be mapped, or its events do not match the stream.
        """
        if len(given) != len(self._transport):
            if given:
                raise ValueError(
                    f"the source passed {len(given)} transport properties, expected {len(self._transport)}"
                )
            given = (None,) * len(self._transport)
        if None in given and not self._mapper.allow_null_in_transport_properties:
            missing = [self._transport[number].name for number, value in enumerate(given) if value is None]
            raise ValueError(f"missing transport properties: {', '.join(missing)}")
        values = [mapping.convert(value) for mapping, value in zip(self._transport, given, strict=True)]
        handler = _Filler(self._input, self._now, self._positions, values, failed)
        if self._row is not None:
            handler.send_row(self._row)
        else:
            self._mapper.map(payload, handler)


class _Filler:
    """Receives the events of one payload: fills transport properties in, and sends the events into the stream."""

    __slots__ = ("_input", "_now", "_positions", "_values", "fail")

    def __init__(
        self,
        input_: EventInput,
        now: Callable[[], int],
        positions: Sequence[int],
        values: Sequence[object],
        fail: Callable[[Exception, object], None],
    ) -> None:
        self._input = input_
        self._now = now
        self._positions = positions
        self._values = values
        self.fail = fail

    def send_event(self, event: Event) -> None:
        self._input.send(self._filled(event))

    def send_events(self, events: Sequence[Event]) -> None:
        if events:
            self._input.send_events([self._filled(event) for event in events])

    def send_row(self, row: tuple[object, ...]) -> None:
        self._input.send(Event(self._now(), self._row(row)))

    def send_rows(self, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            now = self._now()
            if self._positions:
                rows = [self._row(row) for row in rows]
            self._input.send_events([Event(now, row) for row in rows])

    def _filled(self, event: Event) -> Event:
        if event.timestamp != -1 and not self._positions:
            return event
        time = self._now() if event.timestamp == -1 else event.timestamp
        return Event(time, self._row(event.data))

    def _row(self, row: Sequence[object]) -> tuple[object, ...]:
        if not self._positions:
            return tuple(row)
        data = list(row)
        for position, value in zip(self._positions, self._values, strict=True):
            data[position] = value
        return tuple(data)
