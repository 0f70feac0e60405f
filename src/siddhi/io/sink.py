"""What takes events out: sinks, the mappers that make payloads for them, and strategies to choose destinations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from siddhi.event import Event
from siddhi.io.connector import Connector, ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder, Template

__all__ = ["DistributionStrategy", "Sink", "SinkListener", "SinkMapper"]


class SinkListener(Protocol):
    """Takes the payloads a mapper made."""

    def publish(self, payload: object) -> None:
        """Publish one payload, as ``on.error`` says where that fails."""


class Sink(Connector):
    """Publishes payloads. Subclasses are declared with ``@siddhi.extension.sink(name)``.

    Attributes:
        supported_input_event_classes: payloads it takes; empty: anything.
    """

    supported_input_event_classes: ClassVar[tuple[type, ...]] = ()

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        """Take the options; nothing is connected yet.

        Raises:
            SiddhiAppError: an option is missing or wrong; the app is refused.
        """
        raise NotImplementedError

    def publish(self, payload: Any, options: DynamicOptions) -> None:
        """Publish a payload.

        Args:
            payload: what the mapper made.
            options: give this to ``Option.value`` of dynamic options.

        Raises:
            ConnectionUnavailableError: the connection is lost. It is connected again, and the payload published once
                more; if that fails, ``on.error`` says what happens.
        """
        raise NotImplementedError


class SinkMapper:
    """Makes payloads of events. Subclasses are declared with ``@siddhi.extension.sink_mapper(name)``.

    Attributes:
        output_event_classes: what its payloads are; empty: anything.
    """

    output_event_classes: ClassVar[tuple[type, ...]] = ()

    def init(self, options: OptionHolder, payloads: Mapping[str, Template], context: ConnectorContext) -> None:
        """Take the options and the templates of ``@payload`` (by key; ``""`` for one without).

        Raises:
            SiddhiAppError: an option is missing or wrong; the app is refused.
        """

    def map_event(self, event: Event, listener: SinkListener) -> None:
        """Make the payload of an event, and hand it on."""
        raise NotImplementedError

    def map_events(self, events: Sequence[Event], listener: SinkListener) -> None:
        """Make a payload of events that came together and share the values of dynamic options.

        Where it is not overridden, each event gets a payload of its own.
        """
        for event in events:
            self.map_event(event, listener)


class DistributionStrategy:
    """Chooses among destinations. Subclasses are declared with ``@siddhi.extension.distribution_strategy(name)``.

    Attributes:
        available: the destinations that are connected, by number in the order of their text.
    """

    available: Sequence[int] = ()

    def init(self, destinations: int, options: OptionHolder, context: ConnectorContext) -> None:
        """Take the number of destinations and the options of ``@distribution``.

        Raises:
            SiddhiAppError: an option is missing or wrong; the app is refused.
        """

    def group(self, event: Event) -> object:
        """What an event must share with others to go out together with them; of keyed strategies only."""
        return None

    def destinations_to_publish(self, payload: object, options: DynamicOptions) -> Sequence[int]:
        """The destinations a payload goes to."""
        raise NotImplementedError
