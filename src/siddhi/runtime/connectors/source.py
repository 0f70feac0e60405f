"""A running source: maps payloads to events and sends them into its stream."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from siddhi._frozen import frozen
from siddhi.errors import ConnectionUnavailableError, NotRunningError
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
    """The attribute at ``position`` gets the transport property ``name``; ``convert`` parses its text."""

    name: str
    position: int
    convert: Callable[[str], object]


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
        self._connection = Connection(source, label, retries, disconnects_first=True)
        self._repeats = Repeats()
        source.callback = self

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
        self._connection.lost()
        self.source.disconnect()
        self._connection.connect_with_retry()

    def on_event(self, payload: object, transport_properties: Sequence[object] | None = None) -> None:
        """Map a payload and send its events. One that can't be mapped is logged and dropped: the source keeps running."""
        self.received += 1
        if payload is None:
            return
        given = tuple(transport_properties or ())
        try:
            self.map(payload, given)
        except NotRunningError:
            note = self._repeats.note(f"{self._label}: payloads while the app is not running")
            if note is not None:
                logger.error("%s: the app is not running; dropped: %r%s", self._label, payload, note)
        except Exception as error:
            kept = "stored" if self._store(error, payload, given) else "dropped"
            note = self._repeats.note(f"{self._label}: {type(error).__name__}, {kept}")
            if note is not None:
                logger.error("%s: %s; %s: %r%s", self._label, error, kept, payload, note, exc_info=error)

    def map(self, payload: object, given: tuple[object, ...]) -> None:
        """Map a payload with its transport properties, and send its events.

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
        self._mapper.map(payload, _Filler(self, given))

    def send(self, events: Sequence[Event], *, chunk: bool) -> None:
        """Send mapped events; events without timestamp get the app's time."""
        stamped = [Event(self._now(), event.data) if event.timestamp == -1 else event for event in events]
        if chunk:
            self._input.send_events(stamped)
        else:
            self._input.send(stamped[0])

    def filled(self, event: Event, properties: tuple[object, ...]) -> Event:
        """Return the event with its transport properties filled in."""
        if not self._transport:
            return event
        data = list(event.data)
        for mapping, value in zip(self._transport, properties, strict=True):
            data[mapping.position] = mapping.convert(value) if isinstance(value, str) else value
        return Event(event.timestamp, data)


class _Filler:
    """Listener of a mapper: fills transport properties into the events of one payload and sends them."""

    def __init__(self, runtime: SourceRuntime, properties: tuple[object, ...]) -> None:
        self._runtime = runtime
        self._properties = properties

    def send_event(self, event: Event) -> None:
        self._runtime.send([self._runtime.filled(event, self._properties)], chunk=False)

    def send_events(self, events: Sequence[Event]) -> None:
        self._runtime.send([self._runtime.filled(event, self._properties) for event in events], chunk=True)
