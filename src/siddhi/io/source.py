"""Interfaces of sources and source mappers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from siddhi.errors import ConnectionUnavailableError
from siddhi.event import Event
from siddhi.io.connector import Connector, ConnectorContext
from siddhi.io.options import OptionHolder

__all__ = [
    "AttributeMapping",
    "ConnectionCallback",
    "InputEventHandler",
    "Source",
    "SourceEventListener",
    "SourceMapper",
]


class ConnectionCallback(Protocol):
    """Called by a source whose connection is lost."""

    def on_error(self, error: ConnectionUnavailableError) -> None:
        """Disconnect the source, and reconnect as soon as possible."""


class SourceEventListener(Protocol):
    """Receives the payloads of a source, in the calling thread."""

    def on_event(
        self, payload: object, transport_properties: Sequence[object] | None = None, timestamp: int | None = None
    ) -> bool:
        """Map a payload and send the events. Return whether all of it was mapped and accepted by the stream.

        Args:
            payload: the payload; None is dropped.
            transport_properties: values of the names passed to ``init``, in that order.
            timestamp: of those events to which the mapper gives none, ms since the epoch; None: the app's time.
        """


class InputEventHandler(Protocol):
    """Receives the events of a mapper."""

    def send_event(self, event: Event) -> None:
        """Send one event; timestamp -1 stands for the app's time."""

    def send_events(self, events: Sequence[Event]) -> None:
        """Send several events as one chunk."""

    def send_row(self, row: tuple[object, ...]) -> None:
        """Send the values of one event, which gets the app's time."""

    def send_rows(self, rows: Sequence[tuple[object, ...]]) -> None:
        """Send the values of several events as one chunk; the events get the app's time. No rows: nothing is sent."""

    def fail(self, error: Exception, part: object) -> None:
        """Report a part of the payload that can't be mapped; the other parts can still be sent.

        The part is logged and dropped, or saved in the error store.

        Args:
            error: the error of the part.
            part: a payload that consists of the part alone.
        """


@dataclass(frozen=True, slots=True)
class AttributeMapping:
    """One element of ``@attributes``: the location of the value of the attribute at ``position`` in the payload."""

    name: str
    position: int
    mapping: str


class Source(Connector):
    """Receives payloads. Declare subclasses with ``@siddhi.extension.source(name)``.

    An app calls ``init`` when it is created, ``connect`` when it starts, ``disconnect`` and ``destroy`` when it is shut
    down, ``pause`` and ``resume`` around ``persist``; users may call ``pause`` and ``resume``, too.

    Attributes:
        output_event_classes: classes of its payloads; empty: any.
        callback: call it if the connection is lost; set before ``init``.
        lag: number of messages that the server has for this source and that it has not received; None: unknown.
        is_paused: set by ``pause`` and cleared by ``resume``; ``persist`` leaves a source paused that was paused before.
    """

    output_event_classes: ClassVar[tuple[type, ...]] = ()
    callback: ConnectionCallback
    lag: int | None = None
    is_paused: bool = False

    @abstractmethod
    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        """Read the options; do not connect yet.

        Args:
            listener: receiver of the payloads.
            options: options of the annotation.
            transport_properties: names of the transport properties that attributes get with ``trp:``.
            context: the app and the stream.

        Raises:
            SiddhiAppError: an option is missing or invalid; the app is not created.
        """
        raise NotImplementedError

    @abstractmethod
    def pause(self) -> None:
        """Deliver no payloads until :meth:`resume`; return when no delivery is in progress."""
        raise NotImplementedError

    @abstractmethod
    def resume(self) -> None:
        """Deliver payloads again."""
        raise NotImplementedError

    @property
    def has_ended(self) -> bool:
        """Whether all of its payloads are processed and no more will come, as after the end of a file."""
        return False

    def drain(self) -> None:
        """Receive no more payloads, and deliver those received; the connection stays, to acknowledge them.

        Called at a shutdown that saves the state, before that. The default pauses.
        """
        self.pause()

    def checkpoint(self) -> Callable[[], None] | None:
        """Note what was delivered so far, to acknowledge it once ``persist`` has saved the app's state.

        Called while the source is paused and the state is taken. The result is called after that state was saved; it is not
        called if saving fails.
        """
        return None


class SourceMapper:
    """Maps payloads to events. Declare subclasses with ``@siddhi.extension.source_mapper(name)``.

    A mapper whose events depend on earlier payloads implements ``snapshot`` and ``restore``; stored payloads are then replayed
    by another instance of it. The parts given to :meth:`InputEventHandler.fail`, and a payload for which ``map`` raises, must
    be mapped by that instance to exactly the event, or events, that failed.

    Attributes:
        supported_input_event_classes: classes of payloads that it accepts; empty: any.
        allow_null_in_transport_properties: whether transport properties may be missing; ``init`` may set it.
    """

    supported_input_event_classes: ClassVar[tuple[type, ...]] = ()
    allow_null_in_transport_properties: bool = True

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        """Read the options and ``@attributes`` (without those of ``trp:``, which are filled in after mapping).

        Raises:
            SiddhiAppError: an option is missing or invalid; the app is not created.
        """

    def line_scanner(self) -> Callable[[bytes, bool], bool | None] | None:
        """Return the function by which a source of lines joins those of a record; called after :meth:`init`.

        ``fn(line, is_open)`` returns whether a quoted field is open after a line, given whether one is open before it, or None
        if the line is malformed. None instead of a function: every line is a payload.
        """
        return None

    @abstractmethod
    def map(self, payload: Any, handler: InputEventHandler) -> None:
        """Map a payload to events, and pass them to the handler.

        Raises:
            MappingFailedError: the payload can't be mapped; it is logged and dropped.
        """
        raise NotImplementedError

    def begin_replay(self) -> None:
        """Prepare this instance, just initialised, for one stored payload, which is not the first of its source."""

    def snapshot(self) -> object:
        """Return the state for snapshots of the app: numbers, strings, bytes, lists and dicts; None: there is none.

        No payload is mapped meanwhile.
        """
        return None

    def restore(self, state: object) -> None:
        """Restore a state returned by ``snapshot``; not called for None."""
