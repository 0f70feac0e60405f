"""``@map(type = 'passThrough')``: payloads are events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from siddhi.errors import EventError, MappingFailedError
from siddhi.event import Event, row_values
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.sink import SinkListener, SinkMapper
from siddhi.io.source import AttributeMapping, InputEventHandler, SourceMapper

__all__ = ["PassThroughSinkMapper", "PassThroughSourceMapper"]


class PassThroughSourceMapper(SourceMapper):
    """Accepts an event, a list or tuple of events (one chunk), or a row as in ``send`` (one event with the current time)."""

    supported_input_event_classes: ClassVar[tuple[type, ...]] = (Event, list, tuple, Mapping)

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        """Read the names of the stream's attributes."""
        self._names = tuple(name for name, _ in context.attributes)

    def map(self, payload: object, handler: InputEventHandler) -> None:
        if isinstance(payload, Event):
            handler.send_event(payload)
        elif isinstance(payload, (list, tuple)) and payload and all(isinstance(item, Event) for item in payload):
            handler.send_events(payload)
        else:
            try:
                row = row_values(payload, self._names)
            except EventError as error:
                raise MappingFailedError(f"expected an event, a list of events or a row: {error}") from error
            handler.send_event(Event(-1, row))


class PassThroughSinkMapper(SinkMapper):
    """Publishes an event as it is, and the events of a chunk as a list."""

    output_event_classes: ClassVar[tuple[type, ...]] = (Event, list)

    def map_event(self, event: Event, listener: SinkListener) -> None:
        listener.publish(event)

    def map_events(self, events: Sequence[Event], listener: SinkListener) -> None:
        listener.publish(list(events))
