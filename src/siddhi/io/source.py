"""What brings events in: sources, and the mappers that make events of what they receive."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Told by a source that its connection is lost."""

    def on_error(self, error: ConnectionUnavailableError) -> None:
        """The source is disconnected, and connected again as soon as that works."""


class SourceEventListener(Protocol):
    """Takes what a source receives, in the thread that calls."""

    def on_event(self, payload: object, transport_properties: Sequence[object] | None = None) -> None:
        """Map a payload and send the events.

        Args:
            payload: what the source received; None is dropped.
            transport_properties: values for the names the source was asked for in ``init``, in that order.
        """


class InputEventHandler(Protocol):
    """Takes the events a mapper made."""

    def send_event(self, event: Event) -> None:
        """Send one event; with timestamp -1 it gets the app's time."""

    def send_events(self, events: Sequence[Event]) -> None:
        """Send several as one chunk."""


@dataclass(frozen=True, slots=True)
class AttributeMapping:
    """One element of ``@attributes``: where the value of the attribute at ``position`` is found in the payload."""

    name: str
    position: int
    mapping: str


class Source(Connector):
    """Receives payloads. Subclasses are declared with ``@siddhi.extension.source(name)``.

    An app calls ``init`` when it is created, ``connect`` when it starts, ``disconnect`` and ``destroy`` when it is shut
    down, ``pause`` and ``resume`` around ``persist`` and as its user wishes.

    Attributes:
        output_event_classes: what its payloads are; empty: anything.
        callback: to tell that the connection is lost; set before ``init``.
        is_paused: set by ``pause`` and cleared by ``resume``; what its user paused, ``persist`` leaves paused.
    """

    output_event_classes: ClassVar[tuple[type, ...]] = ()
    callback: ConnectionCallback
    is_paused: bool = False

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        """Take the options; nothing is connected yet.

        Args:
            listener: where payloads go.
            options: of the annotation.
            transport_properties: names of those asked for with ``trp:``.
            context: the app and the stream.

        Raises:
            SiddhiAppError: an option is missing or wrong; the app is refused.
        """
        raise NotImplementedError

    def pause(self) -> None:
        """Hold payloads back until :meth:`resume`; return when none is on its way any more."""
        raise NotImplementedError

    def resume(self) -> None:
        """Go on."""
        raise NotImplementedError


class SourceMapper:
    """Makes events of payloads. Subclasses are declared with ``@siddhi.extension.source_mapper(name)``.

    Attributes:
        supported_input_event_classes: payloads it takes; empty: anything.
        allow_null_in_transport_properties: whether events may lack a transport property.
    """

    supported_input_event_classes: ClassVar[tuple[type, ...]] = ()
    allow_null_in_transport_properties: ClassVar[bool] = True

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        """Take options and ``@attributes`` (without those of ``trp:``, which are filled in behind the mapper).

        Raises:
            SiddhiAppError: an option is missing or wrong; the app is refused.
        """

    def map(self, payload: Any, handler: InputEventHandler) -> None:
        """Make events of a payload and hand them on.

        Raises:
            MappingFailedError: it can't be mapped; it is logged and dropped.
        """
        raise NotImplementedError
