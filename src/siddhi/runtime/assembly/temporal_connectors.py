"""Sources, sinks and buffers of temporal streams."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from siddhi._core.awaiting.items import AsyncIngress, QueuedItems, item_layout
from siddhi._core.record.event import EventPool
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.async_buffer import AsyncEntry
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.temporal.ingress import TemporalIngress
from siddhi._core.temporal.input import TemporalInputHandler
from siddhi.errors import EventError, InvalidTemporalEvent, NotRunningError, SiddhiTemporalError
from siddhi.planner.plan.nodes import AsyncSettings
from siddhi.runtime.assembly.async_stream import AsyncStream

if TYPE_CHECKING:
    from siddhi.planner.plan.temporal import TemporalStreamPlan
    from siddhi.temporal import TemporalCallbackFunction, TemporalEvent

__all__ = ["AsyncTemporalStream", "TemporalInput", "publisher_of"]


class TemporalInput:
    """Inserts what a source received. Items that the stream refuses go to its ``@OnError``, else to the exception handler.

    Args:
        handler: input handler of the stream.
        context: context of the app.
        junction: of the stream; it has the error handling.
        is_carried: whether an attribute carries the start of rows.
        is_point: whether the stream is of model 'point'.
        is_bare: whether only events that have an end, or other apps, give lifetimes.
    """

    def __init__(
        self,
        handler: TemporalInputHandler,
        context: AppContext,
        junction: StreamJunction,
        *,
        is_carried: bool,
        is_point: bool,
        is_bare: bool,
    ) -> None:
        self._handler = handler
        self._context = context
        self._junction = junction
        self._is_carried = is_carried
        self._is_point = is_point
        self._is_bare = is_bare
        self._ctis: dict[object, int] = {}

    @staticmethod
    def now() -> int:
        """Return the time of the system, which is the start of a row that carries none."""
        return time.time_ns() // 1_000_000

    def row_input(self, _context: AppContext) -> TemporalInput:
        """Return the sender of rows for a source; they do not get the time of the app."""
        return self

    def send(self, row: Event | tuple[object, ...]) -> None:
        """Insert a row, or an event with a timestamp.

        Raises:
            EventError: it does not fit the stream.
            NotRunningError: the app is not running.
        """
        try:
            if isinstance(row, Event) and self._is_bare and row.end is not None:
                self._handler.insert(row.timestamp, row.end, row.data)
            elif isinstance(row, Event) or self._is_carried:
                self._handler.send(row)
            else:
                self._handler.send(row, self.now())
        except SiddhiTemporalError as error:
            self._refused(error, row if isinstance(row, Event) else Event(self.now(), row))

    def _refused(self, error: Exception, event: Event) -> None:
        with self._context.lock:
            if self._junction.on_error is not None:
                self._junction.on_error(error, [event])
            else:
                self._context.handle(error, self._junction.id, [event])

    def receive(self, publisher: object, items: Sequence[TemporalEvent]) -> None:
        """Insert what a temporal stream of an app publishes; the CTI is the smallest one of all its publishers.

        No items: the publisher has ended, so that its CTI holds back no more.
        """
        try:
            if not items and self._ctis.pop(publisher, None) is not None and self._ctis:
                self._handler.cti(min(self._ctis.values()))
            for item in items:
                if item.kind == "cti":
                    self._ctis[publisher] = item.start
                    self._handler.cti(min(self._ctis.values()))
                else:
                    self._insert(item)
        except NotRunningError:
            return  # a shutdown has begun, and disconnects the source next

    def _insert(self, item: TemporalEvent) -> None:
        assert item.data is not None
        try:
            if self._is_point or item.kind == "point":
                if item.kind != "end":
                    self._handler.point(item.start, item.data)
            elif item.kind == "start":
                self._handler.start_edge(item.start, item.data)
            else:
                self._end(item)
        except (SiddhiTemporalError, EventError) as error:
            self._refused(error, Event(item.start, item.data, item.kind == "end", item.end))

    def _end(self, item: TemporalEvent) -> None:
        assert item.data is not None
        assert item.end is not None
        try:
            self._handler.end_edge(item.start, item.end, item.data)
        except InvalidTemporalEvent:
            return  # its START was published before this source was connected

    def send_events(self, events: Sequence[Event]) -> None:
        """Insert events one by one; errors are those of :meth:`send`."""
        for event in events:
            self.send(event)

    def send_rows(self, rows: list[tuple[object, ...]]) -> None:
        """Insert rows one by one; errors are those of :meth:`send`."""
        for row in rows:
            self.send(row)


def publisher_of(plan: TemporalStreamPlan, receive: Callable[[list[Event]], None]) -> TemporalCallbackFunction:
    """Return a callback that publishes rows, with their lifetimes in the attributes that carry them."""

    def event_of(item: TemporalEvent) -> Event:
        data: list[Any] = list(item.data or ())
        if plan.start is not None:
            data[plan.start] = item.start
        if plan.end is not None:
            data[plan.end] = item.end
        return Event(item.start, tuple(data), end=item.end)

    def publish(items: list[TemporalEvent]) -> None:
        events = [event_of(item) for item in items if item.kind != "cti"]
        if events:
            receive(events)

    return publish


class AsyncTemporalStream(AsyncStream):
    """A temporal stream whose senders do not wait for what follows from their items.

    Args:
        context: the app's context.
        junction: of the stream.
        ingress: of the stream.
        settings: settings of the annotation.
    """

    def __init__(
        self, context: AppContext, junction: StreamJunction, ingress: TemporalIngress, settings: AsyncSettings
    ) -> None:
        layout = item_layout(junction.layout)
        items = StreamJunction(context, junction.id, layout, EventPool(layout))
        items.subscribe(QueuedItems(context, junction, ingress, layout))
        super().__init__(context, items, settings)
        self._junction = junction
        self._ingress = ingress
        self._outside = StreamJunction(self._input_context, junction.id, layout, items.pool)
        self._outside.subscribe(AsyncEntry(self.buffer, False, self._input_context.lock))

    def new_temporal_handler(self, start_at: int, end_at: int, *, checks: bool = True) -> TemporalInputHandler:
        """Make an input handler for senders outside the app.

        Args:
            start_at: position of the attribute with the start; -1: there is none.
            end_at: position of the attribute with the end; -1: there is none.
            checks: whether these attributes have to be equal to the times of an item.
        """
        context, junction = self._input_context, self._junction
        rows = StreamJunction(context, junction.id, junction.layout, junction.pool)
        ingress = AsyncIngress(context, self._ingress, self._outside)
        return TemporalInputHandler(context, rows, ingress, start_at, end_at, checks)
