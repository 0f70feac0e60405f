"""A source at work: payloads in, events into its stream."""

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
    """Where events are sent: the input handler of a stream."""

    def send(self, row: Event, /) -> None: ...
    def send_events(self, events: Sequence[Event], /) -> None: ...


@frozen
class TransportMapping:
    """The attribute at ``position`` is the transport property ``name``; ``convert`` reads its text."""

    name: str
    position: int
    convert: Callable[[str], object]


class SourceRuntime:
    """One ``@source``. It is the source's listener and its connection callback.

    Args:
        source: of the user, not yet initialised.
        mapper: likewise.
        label: for messages.
        input_: the stream's input handler.
        now: the app's clock in ms.
        transport: attributes that come from transport properties.
        retries: when lost connections are tried again.
        store: saves the error, a payload that could not be mapped, and its transport properties; whether it did.
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
        """Whether it receives."""
        return self._connection.connected

    @property
    def transport_properties(self) -> tuple[str, ...]:
        """The properties asked for, in order."""
        return tuple(mapping.name for mapping in self._transport)

    def connect(self) -> None:
        """Connect, now or later.

        Raises:
            Exception: it can't be connected at all.
        """
        self._connection.connect_with_retry()

    def stop(self) -> None:
        """Disconnect for good."""
        self._connection.stop()
        for line in self._repeats.rest():
            logger.error("%s", line)

    def on_error(self, error: ConnectionUnavailableError) -> None:
        """The source lost its connection."""
        logger.error("%s: %s; connecting again", self._label, error)
        self._connection.lost()
        self.source.disconnect()
        self._connection.connect_with_retry()

    def on_event(self, payload: object, transport_properties: Sequence[object] | None = None) -> None:
        """Map and send. What can't be mapped is logged and dropped: the source keeps running."""
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
        """Map a payload with its transport properties, and send.

        Raises:
            NotRunningError: the app is not running.
            Exception: it can't be mapped, or its events do not fit the stream.
        """
        if len(given) != len(self._transport):
            if given:
                raise ValueError(f"{len(given)} transport properties, where {len(self._transport)} were asked for")
            given = (None,) * len(self._transport)
        if None in given and not self._mapper.allow_null_in_transport_properties:
            missing = [self._transport[number].name for number, value in enumerate(given) if value is None]
            raise ValueError(f"transport properties without value: {', '.join(missing)}")
        self._mapper.map(payload, _Filler(self, given))

    def send(self, events: Sequence[Event], *, chunk: bool) -> None:
        """Send mapped events, those without time with that of the app."""
        stamped = [Event(self._now(), event.data) if event.timestamp == -1 else event for event in events]
        if chunk:
            self._input.send_events(stamped)
        else:
            self._input.send(stamped[0])

    def filled(self, event: Event, properties: tuple[object, ...]) -> Event:
        """The event with its transport properties in place."""
        if not self._transport:
            return event
        data = list(event.data)
        for mapping, value in zip(self._transport, properties, strict=True):
            data[mapping.position] = mapping.convert(value) if isinstance(value, str) else value
        return Event(event.timestamp, data)


class _Filler:
    """Takes the events of one payload."""

    def __init__(self, runtime: SourceRuntime, properties: tuple[object, ...]) -> None:
        self._runtime = runtime
        self._properties = properties

    def send_event(self, event: Event) -> None:
        self._runtime.send([self._runtime.filled(event, self._properties)], chunk=False)

    def send_events(self, events: Sequence[Event]) -> None:
        self._runtime.send([self._runtime.filled(event, self._properties) for event in events], chunk=True)
