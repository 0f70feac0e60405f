"""Interfaces of sinks, sink mappers and distribution strategies."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Protocol

from siddhi.event import Event
from siddhi.io.connector import Connector, ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder, Template

__all__ = ["DistributionStrategy", "PublishingCallback", "Sink", "SinkListener", "SinkMapper"]


class PublishingCallback(Protocol):
    """Called by a sink that publishes later than the app hands payloads over.

    Attributes:
        lock: the app's lock.
    """

    lock: AbstractContextManager[Any]

    def sent(self, payload: object) -> None:
        """Count a payload that is published."""

    def failed(self, error: Exception, payload: object, events: Sequence[Event]) -> None:
        """Handle a payload that could not be published by ``on.error``; to be called with :attr:`lock` held."""

    def pause(self, error: Exception, failures: int) -> float | None:
        """Return the seconds before the next attempt to publish a payload; None: :meth:`failed` is to be called.

        Args:
            error: the error of the last attempt.
            failures: number of failed attempts of the payload.
        """

    def begin_connecting(self) -> bool:
        """Record that the connection is lost, and reserve the next attempt to connect; False: one is in progress."""

    def end_connecting(self, error: BaseException | None) -> None:
        """Record the end of an attempt: its error; None: it succeeded."""


class SinkListener(Protocol):
    """Receives the payloads of a mapper."""

    def publish(self, payload: object) -> None:
        """Publish one payload; ``on.error`` handles failures."""


class Sink(Connector):
    """Publishes payloads. Declare subclasses with ``@siddhi.extension.sink(name)``.

    Attributes:
        supported_input_event_classes: classes of payloads that it accepts; empty: any.
        writes_headers: whether it publishes :attr:`header` itself, at the beginning of each file that it begins.
        header: the payload of its mapper that precedes all others, such as the names of columns, set before it is connected;
            None: there is none.
    """

    supported_input_event_classes: ClassVar[tuple[type, ...]] = ()
    writes_headers: bool = False
    header: object = None

    @abstractmethod
    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        """Read the options; do not connect yet.

        Raises:
            SiddhiAppError: an option is missing or invalid; the app is not created.
        """
        raise NotImplementedError

    @abstractmethod
    def publish(self, payload: Any, options: DynamicOptions) -> None:
        """Publish a payload.

        Args:
            payload: a payload of the mapper.
            options: pass this to ``Option.value`` of dynamic options.

        Raises:
            ConnectionUnavailableError: the connection is lost. The app reconnects and publishes the payload again; if that
                fails, ``on.error`` decides.
        """
        raise NotImplementedError

    def attach(self, callback: PublishingCallback) -> Callable[[object, Sequence[Event]], None] | None:
        """Connect a sink that publishes later, such as :class:`AsyncSink`, with its app; None: it publishes at once.

        Returns:
            The function that the app calls with a payload and its events, instead of :meth:`publish`.
        """
        return None

    def checkpoint(self) -> Callable[[bool], None] | None:
        """Note what was published so far, to commit it once ``persist`` has saved the app's state.

        Called while no event is processed and the state is taken. The result is called with whether that state was saved.
        """
        return None

    def release(self) -> None:
        """End waits for the connection: the app is being shut down."""

    def flush(self) -> None:
        """Publish what is queued, within a limit; called at shutdown, before :meth:`disconnect`."""


class SinkMapper:
    """Maps events to payloads. Declare subclasses with ``@siddhi.extension.sink_mapper(name)``.

    A mapper whose payloads depend on earlier events implements ``snapshot`` and ``restore``; stored events are then mapped
    again by another instance of it.

    Attributes:
        output_event_classes: classes of its payloads; empty: any.
    """

    output_event_classes: ClassVar[tuple[type, ...]] = ()

    def init(self, options: OptionHolder, payloads: Mapping[str, Template], context: ConnectorContext) -> None:
        """Read the options and the templates of ``@payload`` (by key; ``""`` for one without key).

        Raises:
            SiddhiAppError: an option is missing or invalid; the app is not created.
        """

    @abstractmethod
    def map_event(self, event: Event, listener: SinkListener) -> None:
        """Map an event to a payload, and pass it to the listener."""
        raise NotImplementedError

    def map_events(self, events: Sequence[Event], listener: SinkListener) -> None:
        """Map the events of a chunk that have the same values of dynamic options to one payload.

        The default maps each event to a payload of its own.
        """
        for event in events:
            self.map_event(event, listener)

    def take_header(self) -> object:
        """Return the payload that precedes all others, and do not publish it: the sink does; None: there is none."""
        return None

    def begin_replay(self) -> None:
        """Prepare this instance, just initialised, for stored events, which are not the first of its sink."""

    def snapshot(self) -> object:
        """Return the state for snapshots of the app: numbers, strings, bytes, lists and dicts; None: there is none."""
        return None

    def restore(self, state: object) -> None:
        """Restore a state returned by ``snapshot``; not called for None."""


class DistributionStrategy:
    """Chooses destinations. Declare subclasses with ``@siddhi.extension.distribution_strategy(name)``.

    Attributes:
        available: numbers of the connected destinations, in text order.
    """

    available: Sequence[int] = ()

    def init(self, destinations: int, options: OptionHolder, context: ConnectorContext) -> None:
        """Read the number of destinations and the options of ``@distribution``.

        Raises:
            SiddhiAppError: an option is missing or invalid; the app is not created.
        """

    def group(self, event: Event) -> object:
        """Return the group of an event: only events of the same group share a payload; for keyed strategies only."""
        return None

    @abstractmethod
    def destinations_to_publish(self, payload: object, options: DynamicOptions) -> Sequence[int]:
        """Return the destinations of a payload."""
        raise NotImplementedError
