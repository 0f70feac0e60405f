"""Corrected streams: what enters an app that corrects late events, and what leaves it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from siddhi._core.correction.input import CorrectedInputHandler
from siddhi._core.correction.output import ChangeCallback, RevisedOutput, RevisedQuery, RevisionCallback, RevisionMarker
from siddhi._core.correction.replay import Corrections
from siddhi._core.record.user_event import Event
from siddhi._core.stream.junction import StreamJunction
from siddhi._frozen import replace
from siddhi.errors import SiddhiTemporalError
from siddhi.planner.plan.temporal import ACTION
from siddhi.query_api.definition import Attribute
from siddhi.runtime.assembly.elements import CORRECTIONS, stateful_elements
from siddhi.runtime.assembly.types import layout_of
from siddhi.temporal import TemporalEvent
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi._core.runtime.context import AppContext
    from siddhi.planner.plan.nodes import StreamPlan
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.attachments import QueryCallbackFunction
    from siddhi.runtime.state.snapshot import Stateful
    from siddhi.temporal import TemporalCallbackFunction

__all__ = ["CorrectedInput", "CorrectedStreams"]


class CorrectedStreams:
    """The streams of an app that corrects late events.

    Args:
        assembly: the app's operators, whose streams exist.

    Attributes:
        core: log, checkpoints and replays.
    """

    spacing = 0
    """Events between two checkpoints; 0: by their cost. Tests set it."""

    def __init__(self, assembly: Assembly) -> None:
        self._context = assembly.context
        self._plan = assembly.plan
        self._junctions = assembly.junctions
        self._windows: Mapping[str, object] = assembly.windows
        self._queries = assembly.queries
        corrected = assembly.plan.corrected_streams()
        self._inputs = {stream.id: stream.correction for stream in corrected if stream.correction is not None}
        inputs = [(assembly.junctions[id_], correction.bound_ms) for id_, correction in self._inputs.items()]
        self.core = Corrections(assembly.context, inputs, lambda: _stateful(assembly), self.spacing)
        self._outputs: dict[str, RevisedOutput] = {}
        self._said: dict[str, RevisedOutput] = {}
        self._columns: dict[str, StreamJunction] = {}
        self._of_queries: defaultdict[tuple[str, QueryCallbackFunction], list[ChangeCallback]] = defaultdict(list)
        self._callbacks: defaultdict[tuple[str, TemporalCallbackFunction], list[RevisionCallback]] = defaultdict(list)

    def new_input_handler(self, stream: str) -> CorrectedInputHandler:
        """Make an input handler of a stream.

        Raises:
            SiddhiTemporalError: queries or triggers fill the stream.
        """
        if stream not in self._inputs:
            raise SiddhiTemporalError(
                f"stream '{stream}' is filled by the app, which corrects late events: send to {_listed(self._inputs)}"
            )
        start = self._inputs[stream].start
        return CorrectedInputHandler(self._context, self._junctions[stream], self.core, -1 if start is None else start)

    def figures(self) -> list[tuple[str, tuple[int, int, int]]]:
        """Return by corrected stream: the time before which events are dropped, number of late events, of dropped ones."""
        return [(stream, self.core.figures_of(self._junctions[stream])) for stream in self._inputs]

    def once(self, handler: Callable[[Exception, str, list[Event]], object]) -> ErrorsOnce:
        """Return a handler of errors that leaves out what a replay repeats."""
        return ErrorsOnce(self.core, handler.handler if isinstance(handler, ErrorsOnce) else handler)

    def new_source_input(self, stream: str) -> CorrectedInput:
        """Make an input of a stream for a source."""
        return CorrectedInput(self.new_input_handler(stream), is_carried=self._inputs[stream].start is not None)

    def output(self, stream: str) -> StreamJunction:
        """Return the junction of what a stream or named window shows; a retraction is a row of the other type.

        All rows of a stream are current events; rows that leave a window are expired ones.
        """
        output = self._outputs.get(stream)
        if output is None:
            junction = self._junctions[stream]
            output = RevisedOutput(
                self._context, stream, junction.layout, junction.pool, copies=stream in self._windows
            )
            self._outputs[stream] = output
            junction.subscribe(output)
            self.core.add_output(output)
        return output.shown

    def marked(self, stream: StreamPlan, action: str) -> tuple[StreamPlan, StreamJunction]:
        """Return a stream with an attribute at the end that says what a row does, and its junction."""
        attributes, made = self._marked(stream.id, stream.attributes, action)
        return replace(stream, attributes=attributes), made

    def _marked(
        self, stream: str, attributes: Sequence[Attribute], action: str
    ) -> tuple[tuple[Attribute, ...], StreamJunction]:
        marked = (*attributes, Attribute(action, AttributeType.STRING))
        shown = self.output(stream)
        made = StreamJunction(self._context, stream, layout_of(marked))
        shown.subscribe(RevisionMarker(shown, made))
        return marked, made

    def column_output(self, stream: str) -> StreamJunction:
        """Return the junction of the rows of which columns are made; they have the attribute ACTION.

        Raises:
            ValueError: the stream has such an attribute.
        """
        found = self._columns.get(stream)
        if found is None:
            self.output(stream)
            plan = self._plan.windows[stream] if stream in self._windows else self._plan.streams[stream]
            if any(attribute.name == ACTION for attribute in plan.attributes):
                raise ValueError(
                    f"columns of stream '{stream}' would have two columns '{ACTION}': rename its attribute"
                )
            found = self._columns[stream] = self._marked(stream, plan.attributes, ACTION)[1]
        return found

    def add_callback(self, stream: str, function: TemporalCallbackFunction) -> None:
        """Call a function with the rows and retractions of a stream."""
        shown = self.output(stream)
        callback = RevisionCallback(self._context, shown.layout, stream, function, TemporalEvent)
        self._callbacks[stream, function].append(callback)
        shown.subscribe(callback)

    def remove_callback(self, stream: str, function: TemporalCallbackFunction) -> None:
        """Call a function no more."""
        self.output(stream).unsubscribe(self._callbacks[stream, function].pop())

    def add_query_callback(self, query: str, function: QueryCallbackFunction) -> None:
        """Call a function with what a query says; a retraction is a row of the other type."""
        output = self._said.get(query)
        if output is None:
            source = self._queries[query].output
            output = self._said[query] = RevisedOutput(self._context, query, source.layout, source.pool, copies=True)
            source.add_callback(RevisedQuery(output))
            self.core.add_output(output)
        callback = ChangeCallback(output, function)
        self._of_queries[query, function].append(callback)
        output.shown.subscribe(callback)

    def remove_query_callback(self, query: str, function: QueryCallbackFunction) -> None:
        """Call a function no more."""
        self._said[query].shown.unsubscribe(self._of_queries[query, function].pop())


class ErrorsOnce:
    """Gives errors to a handler, but not again where a replay repeats them.

    Args:
        core: log of the app.
        handler: the handler.
    """

    def __init__(self, core: Corrections, handler: Callable[[Exception, str, list[Event]], object]) -> None:
        self._core = core
        self.handler = handler

    def __call__(self, error: Exception, origin: str, events: list[Event]) -> None:
        """Handle an error."""
        if self._core.is_news(origin):
            self.handler(error, origin, events)


class CorrectedInput:
    """Sends what a source received.

    Args:
        handler: input handler of the stream.
        is_carried: whether an attribute carries the time of rows; else a row has the time of the system.
    """

    def __init__(self, handler: CorrectedInputHandler, *, is_carried: bool) -> None:
        self._handler = handler
        self._is_carried = is_carried

    @staticmethod
    def now() -> int:
        """Return the time of the system in ms."""
        return time.time_ns() // 1_000_000

    def row_input(self, _context: AppContext) -> CorrectedInput:
        """Return the sender of rows for a source; they do not get the time of the app."""
        return self

    def send(self, row: Event | tuple[object, ...]) -> None:
        """Send a row, or an event with a timestamp; errors are those of the input handler."""
        if self._is_carried or isinstance(row, Event):
            self._handler.send(row)
        else:
            self._handler.send(row, self.now())

    def send_events(self, events: Sequence[Event]) -> None:
        """Send events, and correct once at their end."""
        self._handler.send_events(events)

    def send_rows(self, rows: list[tuple[object, ...]]) -> None:
        """Send rows, and correct once at their end."""
        self._handler.send_rows(rows, self.now())


def _stateful(assembly: Assembly) -> list[Stateful]:
    """Return the objects whose state a replay restores: all but log and connectors, which a replay does not reach."""
    outside = {CORRECTIONS, *assembly.connectors.states()}
    return [
        step
        for name, element in stateful_elements(assembly).items()
        if name not in outside
        for step in element.steps.values()
    ]


def _listed(streams: Iterable[str]) -> str:
    return ", ".join(f"'{stream}'" for stream in sorted(streams))
