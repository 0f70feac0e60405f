"""``@map(type = 'passThrough')``: events as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from siddhi.errors import MappingFailedError
from siddhi.event import Event
from siddhi.io.sink import SinkListener, SinkMapper
from siddhi.io.source import InputEventHandler, SourceMapper

__all__ = ["PassThroughSinkMapper", "PassThroughSourceMapper"]


class PassThroughSourceMapper(SourceMapper):
    """Takes an event, a sequence of events (one chunk), or a sequence of values (one event, with the time of now)."""

    supported_input_event_classes: ClassVar[tuple[type, ...]] = (Event, list, tuple)

    def map(self, payload: object, handler: InputEventHandler) -> None:
        if isinstance(payload, Event):
            handler.send_event(payload)
        elif isinstance(payload, (list, tuple)):
            if payload and all(isinstance(item, Event) for item in payload):
                handler.send_events(payload)
            else:
                handler.send_event(Event(-1, payload))
        else:
            raise MappingFailedError(f"expected an event, a list of events or a list of values, not {payload!r}")


class PassThroughSinkMapper(SinkMapper):
    """Gives an event as it is, and events that came together as a list."""

    output_event_classes: ClassVar[tuple[type, ...]] = (Event, list)

    def map_event(self, event: Event, listener: SinkListener) -> None:
        listener.publish(event)

    def map_events(self, events: Sequence[Event], listener: SinkListener) -> None:
        listener.publish(list(events))
