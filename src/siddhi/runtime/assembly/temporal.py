"""Temporal streams and queries → operators on lifetimes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.aggregate.python import make_python_aggregator
from siddhi._core.expression.cast import make_convert
from siddhi._core.expression.executor import Executor
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.callback import Collector
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.temporal.aggregate import make_deviation, make_extremum, make_real_sum, make_time_weighted, make_truth
from siddhi._core.temporal.ingress import ClassicalEntry, CtiImport, TemporalIngress
from siddhi._core.temporal.input import TemporalInputHandler
from siddhi._core.temporal.lifetime import LifetimePool, TemporalOperator, TemporalStream
from siddhi._core.temporal.match import Clip, Matcher, Side
from siddhi._core.temporal.output import ClassicalRelease, TemporalOutput
from siddhi._core.temporal.probe import TemporalProbe
from siddhi._core.temporal.rows import RowMaker, lifetime_layout
from siddhi._core.temporal.select import AlterLifetime, Select, SelectClosed, Shift
from siddhi._core.temporal.window import CountByStart, Groups, Hopping, Snapshot
from siddhi.errors import SiddhiTemporalError
from siddhi.planner.plan.expressions import OUTPUT_SLOT, Aggregate, Const, IsNull, Not, TypedExpression
from siddhi.planner.plan.nodes import Plan, StreamPlan, ValueKeyPlan
from siddhi.planner.plan.temporal import (
    LIFETIME_SLOT,
    AlterLifetimePlan,
    AntiJoinPlan,
    ClipPlan,
    LatePolicy,
    MatchPlan,
    ShiftPlan,
    TemporalFilterPlan,
    TemporalInputPlan,
    TemporalModel,
    TemporalPartitionPlan,
    TemporalQueryPlan,
    TemporalStepPlan,
    TemporalStreamPlan,
    TemporalWindowPlan,
    WindowKind,
)
from siddhi.query_api.definition import Attribute
from siddhi.query_api.input import JoinType
from siddhi.query_api.selection import Order
from siddhi.query_api.span import Span
from siddhi.runtime.assembly.expressions import Cells, ExpressionBuilder
from siddhi.runtime.assembly.temporal_connectors import AsyncTemporalStream, TemporalInput, publisher_of
from siddhi.runtime.assembly.temporal_state import SHARED, steps_of
from siddhi.runtime.assembly.types import layout_of, type_code
from siddhi.temporal import MAX, TemporalEvent
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi._core.record.user_event import _Time
    from siddhi.io.sinks.in_memory import InMemorySink
    from siddhi.io.sources.in_memory import InMemorySource
    from siddhi.planner.plan.connectors import SinkPlan
    from siddhi.runtime.connectors.sink import SinkRuntime
    from siddhi.runtime.connectors.source import SourceRuntime
    from siddhi.runtime.state.snapshot import Stateful
    from siddhi.temporal import TemporalCallbackFunction

__all__ = ["TemporalNetwork"]

_MODELS = (TemporalModel.POINT, TemporalModel.INTERVAL, TemporalModel.EDGE)
_POLICIES = (LatePolicy.ERROR, LatePolicy.DROP, LatePolicy.ADJUST)
_OF_QUERY, _EDGES = "query/", "edges/"
"""Before the name of a query, or of a stream that is published to other apps, among the names of outputs."""
_LIFETIME = Cells(lifetime_layout, source=LIFETIME_SLOT)


class _Expressions(ExpressionBuilder):
    """Builds expressions whose aggregators see rows leave in any order."""

    def with_output(self, layout: Layout) -> _Expressions:
        """Return a builder that can read the output row, too; both collect their aggregators in one list."""
        slots = {**self.slots, OUTPUT_SLOT: Cells(layout, source="output")}
        return _Expressions(slots, self.scripts, aggregators=self.aggregators)

    def _aggregate(self, node: Aggregate) -> Executor:
        builtin = node.aggregator.builtin
        made: Aggregator
        if builtin in ("min", "max"):
            made = make_extremum(builtin, self.build(node.arguments[0]))
        elif builtin == "avg" or (builtin == "sum" and node.type in (AttributeType.FLOAT, AttributeType.DOUBLE)):
            made = make_real_sum(builtin, self.build(node.arguments[0]))
        elif builtin is not None and builtin.startswith("timeWeightedAvg"):
            made = make_time_weighted(self.build(node.arguments[0]), builtin.endswith("Covered"))
        elif builtin == "stdDev":
            made = make_deviation(self.build(node.arguments[0]))
        elif builtin in ("and", "or"):
            made = make_truth(builtin, self.build(node.arguments[0]))
        elif builtin is None:
            made = make_python_aggregator(
                node.aggregator.implementation,
                self.build_all(node.arguments),
                type_code(node.type),
                node.aggregator.full_name,
                recomputed=not node.aggregator.any_order,
            )
        else:
            return ExpressionBuilder._aggregate(self, node)
        self.aggregators.append(made)
        return made


Place = tuple[TemporalOperator, TemporalOperator, int]
"""An operator, one that gets its output, and the input of that one."""


def _behind_probes(operator: TemporalOperator) -> TemporalOperator:
    """Return the first operator behind the probes that stand here."""
    while isinstance(operator, TemporalProbe):
        operator = operator.targets[0][0]
    return operator


def _place(query: str, span: Span | None) -> str:
    """Return where a query, or a part of it, is written, for errors while it runs."""
    return f"query '{query}'" if span is None else f"query '{query}', line {span.line}, column {span.column}"


class TemporalNetwork:
    """The temporal streams of one app, and the operators between them.

    Args:
        plan: plan of the app.
        context: context of the app.
        junctions: junctions of the streams: classical queries read temporal streams there.
        pool: returns the pool of records of a layout.
        scripts: compiled functions by name.

    Attributes:
        context: as passed.
        lifetimes: of the app.
        streams: by name.
        ingresses: of the streams that get events from outside or from classical queries, by name.
        buffered: those with ``@async``, by name.
        keyed: streams inside partitions, whose rows carry the key, by name.
        keys: the operators that add the key to rows, by a name.
        targets: the streams that queries fill, by query; inner streams of partitions are not among them.
        queries: by name: its operators, in the order in which lifetimes pass them.
        released: the release to classical queries and its streams; None: there are none.
    """

    def __init__(
        self,
        plan: Plan,
        context: AppContext,
        junctions: Mapping[str, StreamJunction],
        pool: Callable[[Layout], EventPool],
        scripts: Mapping[str, Callable[..., object]],
    ) -> None:
        self._context = self.context = context
        self._junctions = junctions
        self._pool = pool
        self._scripts = scripts
        self._lifetimes = self.lifetimes = LifetimePool()
        most = None if plan.policy is None else plan.policy.max_events
        if most is not None:
            self.lifetimes.limit(
                most,
                f"the temporal queries of app '{plan.name}' hold {most} lifetimes and matches, which is all that its policy "
                "allows (SandboxPolicy.max_events): send CTIs, or shorten the lifetimes",
            )
        self._plans: dict[str, TemporalStreamPlan] = {}
        self.streams: dict[str, TemporalStream] = {}
        self.ingresses: dict[str, TemporalIngress] = {}
        self.buffered: dict[str, AsyncTemporalStream] = {}
        self.keyed: dict[str, TemporalStream] = {}
        self.keys: dict[str, TemporalOperator] = {}
        self._outputs: dict[str, TemporalOutput] = {}
        self._shown: dict[str, StreamJunction] = {}
        self.queries: dict[str, list[TemporalOperator]] = {}
        self.released: tuple[ClassicalRelease, tuple[str, ...]] | None = None
        fed = {query.target for query in plan.temporal_queries}
        self.targets = {query.name: query.target for query in plan.temporal_queries if query.target in plan.streams}
        self._filled = {stream.id for stream in plan.streams.values() if stream.temporal and stream.temporal.filled}
        for stream in plan.streams.values():
            if stream.temporal is not None:
                has_ingress = stream.id not in fed or stream.id in self._filled
                self._add_stream(stream, stream.temporal, has_ingress=has_ingress)
        for partition in plan.temporal_partitions:
            self._add_partition(partition, plan.streams)
        for query in plan.temporal_queries:
            self._add_query(query)
        for stream_id, settings in self._plans.items():
            if settings.advance is not None and settings.advance.imported is not None:
                importer = CtiImport(context, self._lifetimes, self.ingresses[stream_id])
                self.streams[settings.advance.imported].connect(importer)

    def __contains__(self, stream: str) -> bool:
        return stream in self.streams

    # --- state

    @property
    def operators(self) -> dict[str, TemporalOperator]:
        """The operators that every build of the app has, by a stable name; see ``temporal_state``."""
        found: dict[str, TemporalOperator] = {
            f"{SHARED}/ingress of '{name}'": ingress for name, ingress in self.ingresses.items()
        }
        found |= {f"{SHARED}/stream '{name}'": stream for name, stream in self.streams.items()}
        found |= {f"{SHARED}/{name}": operator for name, operator in self.keys.items()}
        found |= {f"{SHARED}/stream '{name}'": stream for name, stream in self.keyed.items()}
        for query, operators in self.queries.items():
            for number, operator in enumerate(operators, 1):
                found[f"{query}/{number} {type(operator).__name__}"] = operator
        return found

    @property
    def outputs(self) -> dict[str, TemporalOutput]:
        """What streams show and queries emit, by name; only those that something receives."""
        return self._outputs

    def require_output(self, stream: str) -> TemporalOutput:
        """Return what a stream shows.

        Raises:
            ValueError: there is no such temporal stream.
        """
        if stream in self._outputs:
            return self._outputs[stream]
        query = stream.removeprefix(_OF_QUERY)
        if query != stream and query in self.targets:
            return self._emitted_by(query)
        if stream not in self.streams:
            raise ValueError(f"the app has no temporal stream '{stream}'")
        return self._shown_by(stream)

    def steps(self) -> dict[str, Stateful]:
        """Return the state, in the order in which it is restored."""
        return steps_of(self)

    # --- probes

    def crossings(self, query: str) -> tuple[list[Place], list[Place]]:
        """Return where lifetimes enter and leave a query: operator, next operator and its input."""
        own = {id(operator) for operator in self.queries[query]}
        places = self.places()
        return (
            [place for place in places if id(place[0]) not in own and id(place[1]) in own],
            [(source, target, number) for source, target, number in places if self.leaves(query, source, target)],
        )

    def places(self) -> list[Place]:
        """Return where lifetimes pass from one operator to another."""
        return [(source, target, number) for source in self._reached() for target, number in source.targets]

    def leaves(self, query: str, source: TemporalOperator, target: TemporalOperator) -> bool:
        """Return whether what passes from an operator to another leaves a query, not for its callbacks alone."""
        own = self.queries[query]
        behind = _behind_probes(target)
        return source in own and behind not in own and not isinstance(behind, TemporalOutput)

    def before(self, operator: TemporalOperator) -> TemporalOperator:
        """Return the operator that gives its output to a probe."""
        return next(source for source in self._reached() if any(target is operator for target, _ in source.targets))

    def _reached(self) -> list[TemporalOperator]:
        """Return all operators, with probes that stand between them."""
        found: dict[int, TemporalOperator] = {}
        waiting: list[TemporalOperator] = [*self.ingresses.values(), *self.streams.values()]
        while waiting:
            operator = waiting.pop(0)
            if id(operator) not in found:
                found[id(operator)] = operator
                waiting += [target for target, _ in operator.targets]
        return list(found.values())

    # --- streams

    def new_input_handler(self, stream: str, *, checks: bool = True) -> TemporalInputHandler:
        """Make an input handler of a stream.

        Args:
            stream: its name.
            checks: whether attributes that carry times have to be equal to those of an item.

        Raises:
            SiddhiTemporalError: queries fill the stream.
        """
        ingress = self.ingresses.get(stream)
        if ingress is None or stream in self._filled:
            raise SiddhiTemporalError(
                f"temporal stream '{stream}' is filled by queries, which give its CTIs: send to their input streams"
            )
        buffered = self.buffered.get(stream)
        if buffered is not None:
            return buffered.new_temporal_handler(*self._at(stream), checks=checks)
        return self._handler(stream, ingress, checks=checks)

    def _handler(self, stream: str, ingress: TemporalIngress, *, checks: bool = True) -> TemporalInputHandler:
        return TemporalInputHandler(self._context, self._junctions[stream], ingress, *self._at(stream), checks)

    def _at(self, stream: str) -> tuple[int, int]:
        """Return the positions of the attributes that carry the start and the end; -1: none does."""
        plan = self._plans[stream]
        return -1 if plan.start is None else plan.start, -1 if plan.end is None else plan.end

    def end_inputs(self) -> None:
        """End the streams that are to end with the app."""
        for stream, ingress in self.ingresses.items():
            advance = self._plans[stream].advance
            if advance is not None and advance.shutdown and ingress.cti < MAX:
                self._handler(stream, ingress).cti(MAX)

    def advance_inputs(self, time: _Time = MAX) -> None:
        """Send a CTI to every stream that gets events from outside."""
        for stream, ingress in self.ingresses.items():
            if stream not in self._filled:
                self._handler(stream, ingress).cti(time)

    def new_source_input(self, stream: str) -> TemporalInput:
        """Make an input of a stream for a source."""
        plan = self._plans[stream]
        return TemporalInput(
            self.new_input_handler(stream, checks=False),  # rows of other apps have the attributes of those
            self._context,
            self._junctions[stream],
            is_carried=plan.start is not None,
            is_point=plan.model is TemporalModel.POINT,
            is_bare=plan.model is not TemporalModel.POINT and plan.start is None and plan.end is None,
        )

    def connect_sources(self, stream: StreamPlan, sources: Sequence[SourceRuntime]) -> None:
        """Let the sources of a stream get lifetimes from other apps."""
        for plan, source in zip(stream.sources, sources, strict=True):
            if plan.lifetimes:
                assert isinstance(source.input, TemporalInput)
                cast("InMemorySource", source.source).take_lifetimes(source.input.receive)

    def replay(self, stream: str, event: Event) -> None:
        """Insert an event again that the stream has refused.

        Raises:
            SiddhiTemporalError: it is refused again.
            EventError: it does not fit the stream.
        """
        plan, handler = self._plans[stream], self._handler(stream, self.ingresses[stream])
        if plan.start is not None:
            handler.send(event.data)
        elif plan.end is not None or plan.model is TemporalModel.POINT:
            handler.send(event.data, event.timestamp)
        elif event.is_expired:
            handler.end_edge(event.timestamp, MAX if event.end is None else event.end, event.data)
        elif event.end is None and plan.model is TemporalModel.EDGE:
            handler.start_edge(event.timestamp, event.data)
        else:
            handler.insert(event.timestamp, MAX if event.end is None else event.end, event.data)

    def connect_sink(self, stream: str, plan: SinkPlan, sink: SinkRuntime) -> None:
        """Give what a stream shows to a sink; one of the in-memory broker gets edges and CTIs, too, whatever the model."""
        self.add_callback(stream, publisher_of(self._plans[stream], sink.receive))
        if not plan.lifetimes:
            return
        name = _EDGES + stream
        output = self._outputs.get(name)
        if output is None:
            model = TemporalModel.POINT if self._plans[stream].model is TemporalModel.POINT else TemporalModel.EDGE
            output = self._new_output(name, stream, self.streams[stream], model, keeps_open=True)
        client = cast("InMemorySink", sink.sink)
        output.callbacks.append(partial(self._publish, stream, client))
        client.pass_lifetimes(output.alive, self._context.lock)

    def _publish(self, stream: str, client: InMemorySink, items: Sequence[TemporalEvent]) -> None:
        try:
            client.publish_items(items)
        except Exception as error:  # noqa: BLE001 - of a stream that received them
            self._context.handle(error, f"sink of stream '{stream}'", [])

    def output(self, stream: str) -> StreamJunction:
        """Return the junction of what a stream shows to classical callbacks."""
        self._shown_by(stream)
        return self._shown[stream]

    def add_callback(self, stream: str, function: TemporalCallbackFunction) -> None:
        """Call a function with what a stream shows."""
        self._shown_by(stream).callbacks.append(function)

    def remove_callback(self, stream: str, function: TemporalCallbackFunction) -> None:
        """Call a function no more."""
        self._shown_by(stream).callbacks.remove(function)

    def add_event_callback(self, stream: str, function: Callable[[list[Event]], object]) -> None:
        """Call a function with what a stream shows, as events."""
        self._shown_by(stream).event_callbacks.append(function)

    def remove_event_callback(self, stream: str, function: Callable[[list[Event]], object]) -> None:
        """Call a function no more."""
        self._shown_by(stream).event_callbacks.remove(function)

    def layout_of(self, query: str) -> Layout:
        """Return the names and types of what a query emits."""
        return self._junctions[self.targets[query]].layout

    def add_query_callback(self, query: str, function: Callable[[list[Event]], object]) -> None:
        """Call a function with the events that a query emits."""
        self._emitted_by(query).event_callbacks.append(function)

    def remove_query_callback(self, query: str, function: Callable[[list[Event]], object]) -> None:
        """Call a function no more."""
        self._emitted_by(query).event_callbacks.remove(function)

    def add_collector(self, stream: str, collector: Collector) -> None:
        """Collect what a stream shows as columns."""
        self._shown_by(stream).collectors.append(collector)

    def remove_collector(self, stream: str, collector: Collector) -> None:
        """Collect no more."""
        self._shown_by(stream).collectors.remove(collector)

    def release(self) -> None:
        """Give streams to the classical queries that have subscribed to their junctions, and take what these insert."""
        read = [stream for stream in self.streams if self._junctions[stream].receivers]
        if read:
            release = ClassicalRelease(
                self._context,
                self._lifetimes,
                [self._junctions[stream] for stream in read],
                tuple(self._plans[stream].by_row for stream in read),
                [ingress for stream, ingress in self.ingresses.items() if stream in self._filled],
            )
            self.released = (release, tuple(read))
            for number, stream in enumerate(read):
                self.streams[stream].connect(release, number)
        for stream in self._filled:
            junction = self._junctions[stream]
            junction.subscribe(ClassicalEntry(self._context, junction, self.ingresses[stream]))

    def _shown_by(self, stream: str) -> TemporalOutput:
        return self._outputs.get(stream) or self._new_output(stream, stream, self.streams[stream])

    def _emitted_by(self, query: str) -> TemporalOutput:
        """Return what a query emits, in the form of the model of its stream."""
        name = _OF_QUERY + query
        return self._outputs.get(name) or self._new_output(name, self.targets[query], self.queries[query][-1])

    def _new_output(
        self,
        name: str,
        stream: str,
        operator: TemporalOperator,
        model: TemporalModel | None = None,
        *,
        keeps_open: bool = False,
    ) -> TemporalOutput:
        settings, junction = self._plans[stream], self._junctions[stream]
        output = TemporalOutput(
            self._context,
            self._lifetimes,
            shown := StreamJunction(self._context, name, junction.layout, junction.pool),
            _MODELS.index(model or settings.model),
            settings.by_start,
            TemporalEvent,
            keeps_open,
        )
        operator.connect(output)
        self._outputs[name] = output
        self._shown[name] = shown
        return output

    def _add_stream(self, stream: StreamPlan, settings: TemporalStreamPlan, *, has_ingress: bool) -> None:
        self._plans[stream.id] = settings
        made = self.streams[stream.id] = TemporalStream(self._context, self._lifetimes, 0)
        made.row_pool = self._junctions[stream.id].pool
        self._lifetimes.keep(made.row_pool)
        if not has_ingress:
            return
        advance = settings.advance
        ingress = TemporalIngress(
            self._context,
            self._lifetimes,
            stream.id,
            self._junctions[stream.id].pool,
            _MODELS.index(TemporalModel.EDGE if settings.edges else settings.model),
            _POLICIES.index(settings.policy),
            None if advance is None else (advance.count, advance.duration_ms, advance.delay_ms, advance.last),
        )
        ingress.connect(made, made.add_input())
        self.ingresses[stream.id] = ingress
        if stream.async_settings is not None:
            junction = self._junctions[stream.id]
            self.buffered[stream.id] = AsyncTemporalStream(self._context, junction, ingress, stream.async_settings)

    def _add_partition(self, plan: TemporalPartitionPlan, streams: Mapping[str, StreamPlan]) -> None:
        for stream in plan.inner_streams:
            self._add_keyed(stream.id, stream.attributes)
        for key in plan.keys:
            attributes = streams[key.stream].attributes
            made = self._add_keyed(f"{plan.name}/{key.stream}", (*attributes, Attribute("#key", plan.key_type)))
            assert made.row_pool is not None
            cells = Cells(layout_of(attributes))
            builder = self._builder({0: cells})
            columns = tuple(cells.variable(position) for position in range(len(attributes)))
            parts: list[tuple[TypedExpression, TypedExpression]]
            if isinstance(key, ValueKeyPlan):
                known = IsNull(AttributeType.BOOL, key.expression)
                parts = [(Not(AttributeType.BOOL, known), key.expression)]
            else:
                parts = [(condition, Const(AttributeType.STRING, label)) for label, condition in key.ranges]
            for number, (condition, value) in enumerate(parts, 1):
                written = builder.build(value)
                if value.type is not plan.key_type:
                    written = make_convert(written, type_code(plan.key_type))
                rows = RowMaker(self._context, made.row_pool, (*columns, written))
                adder = Select(self._context, self._lifetimes, (builder.build(condition),), rows)
                self.streams[key.stream].connect(adder)
                adder.connect(made, made.add_input())
                self.keys[f"key {number} of stream '{plan.name}/{key.stream}'"] = adder

    def _add_keyed(self, name: str, attributes: tuple[Attribute, ...]) -> TemporalStream:
        made = self.keyed[name] = TemporalStream(self._context, self._lifetimes, 0)
        made.row_pool = self._pool(layout_of(attributes))
        self._lifetimes.keep(made.row_pool)
        return made

    def _source(self, name: str) -> TemporalStream:
        """Return a stream, of a partition or outside."""
        return self.keyed[name] if name in self.keyed else self.streams[name]

    def _add_query(self, plan: TemporalQueryPlan) -> None:
        self._query = self.queries.setdefault(plan.name, [])
        target = self._source(plan.target)
        pool = target.row_pool
        assert pool is not None
        self._lifetimes.keep(pool)
        made: TemporalOperator
        if plan.join is not None:
            made = self._join(plan, pool)
        else:
            (input_,) = plan.inputs
            steps = list(input_.steps)
            conditions: list[TypedExpression] = []
            if plan.window is None:
                # The last filters are fused with the projection.
                while steps and isinstance(last := steps[-1], TemporalFilterPlan):
                    conditions.insert(0, last.condition)
                    steps.pop()
            source = self._stepped(plan.name, input_, steps)
            slots = self._single(input_.attributes)
            if plan.window is None:
                builder = self._builder(slots)
                filters = builder.build_all(conditions)
                kind = SelectClosed if plan.reads_end else Select
                made = kind(self._context, self._lifetimes, filters, self._rows(plan, builder, pool))
            else:
                made = self._window(plan, plan.window, layout_of(input_.attributes), self._builder(slots), pool)
            source.connect(made)
        self._query.append(made)
        for operator in self._query:
            operator.origin = _place(plan.name, plan.span)
        made.connect(target, target.add_input())

    def _stepped(self, query: str, input_: TemporalInputPlan, steps: list[TemporalStepPlan]) -> TemporalOperator:
        """Return the last operator of a stream and its steps."""
        operator: TemporalOperator = self._source(input_.source)
        layout = layout_of(input_.attributes)
        pool = self._pool(layout)
        self._lifetimes.keep(pool)
        for step in steps:
            operator = self._step(query, operator, step, input_, layout, pool)
            self._query.append(operator)
        return operator

    def _step(
        self,
        query: str,
        source: TemporalOperator,
        step: TemporalStepPlan,
        input_: TemporalInputPlan,
        layout: Layout,
        pool: EventPool,
    ) -> TemporalOperator:
        context, lifetimes = self._context, self._lifetimes
        made: TemporalOperator
        if isinstance(step, ShiftPlan):
            made = Shift(context, lifetimes, step.by_ms)
        elif isinstance(step, TemporalFilterPlan):
            builder = self._builder(self._single(input_.attributes))
            columns = tuple(Cells(layout).variable(position) for position in range(len(input_.attributes)))
            made = Select(context, lifetimes, (builder.build(step.condition),), RowMaker(context, pool, columns))
        elif isinstance(step, AlterLifetimePlan):
            builder = self._builder(self._single(input_.attributes))
            start = None if step.start is None else builder.build(step.start)
            duration = None if step.duration is None else builder.build(step.duration)
            rows, place = RowMaker(context), _place(query, step.span)
            made = AlterLifetime(context, lifetimes, start, duration, step.reads_end, rows, input_.source, place)
        else:
            other = input_.source if step.other is None else step.other
            attributes = input_.attributes if step.other is None else step.other_attributes
            left, right, condition = self._sides(
                step.match, input_.attributes, attributes, outer=isinstance(step, AntiJoinPlan)
            )
            if isinstance(step, ClipPlan):
                made = Clip(context, lifetimes, left, right, condition, RowMaker(context))
            else:
                made = Matcher(context, lifetimes, left, right, condition, RowMaker(context), False)
            source.connect(made, 0)
            (source if step.other is None else self._source(other)).connect(made, 1)
            return made
        source.connect(made)
        return made

    def _join(self, plan: TemporalQueryPlan, pool: EventPool) -> TemporalOperator:
        assert plan.join is not None
        left_input, right_input = plan.inputs
        left, right, condition = self._sides(
            plan.join.match,
            left_input.attributes,
            right_input.attributes,
            outer=plan.join.type in (JoinType.LEFT_OUTER, JoinType.FULL_OUTER),
            right_outer=plan.join.type in (JoinType.RIGHT_OUTER, JoinType.FULL_OUTER),
        )
        builder = self._builder(self._double(left_input.attributes, right_input.attributes))
        rows = self._rows(plan, builder, pool)
        made = Matcher(self._context, self._lifetimes, left, right, condition, rows, True)
        for number, input_ in enumerate(plan.inputs):
            self._stepped(plan.name, input_, list(input_.steps)).connect(made, number)
        return made

    def _sides(
        self,
        match: MatchPlan,
        left: tuple[Attribute, ...],
        right: tuple[Attribute, ...],
        *,
        outer: bool = False,
        right_outer: bool = False,
    ) -> tuple[Side, Side, Executor | None]:
        builder = self._builder(self._double(left, right))
        return (
            Side(self._lifetimes, layout_of(left), match.left_keys, outer),
            Side(self._lifetimes, layout_of(right), match.right_keys, right_outer),
            None if match.condition is None else builder.build(match.condition),
        )

    def _window(
        self,
        plan: TemporalQueryPlan,
        window: TemporalWindowPlan,
        layout: Layout,
        builder: _Expressions,
        pool: EventPool,
    ) -> TemporalOperator:
        rows = self._rows(plan, builder, pool)
        groups = Groups(
            self._lifetimes,
            layout,
            window.group_by,
            rows,
            builder.aggregators,
            window.aggregates,
            tuple((position, order is Order.DESC) for position, order in window.order_by),
            -1 if window.limit is None else window.limit,
            builder.build_all(window.conditions),
        )
        if window.kind is WindowKind.SNAPSHOT:
            return Snapshot(self._context, self._lifetimes, groups)
        if window.kind is WindowKind.COUNT_BY_START:
            purge = () if window.purge is None else (window.purge.idle_period_ms, window.purge.interval_ms)
            return CountByStart(self._context, self._lifetimes, groups, window.count, *purge)
        grid = window.size_ms, window.hop_ms, window.alignment_ms
        return Hopping(self._context, self._lifetimes, groups, *grid, window.clip, _place(plan.name, plan.span))

    def _rows(self, plan: TemporalQueryPlan, builder: _Expressions, pool: EventPool) -> RowMaker:
        output = builder.with_output(pool.layout)
        columns = tuple(output.build(column.expression) for column in plan.selector.columns)
        having = None if plan.selector.having is None else output.build(plan.selector.having)
        return RowMaker(self._context, pool, columns, having)

    def _builder(self, slots: dict[int, Cells]) -> _Expressions:
        return _Expressions({**slots, LIFETIME_SLOT: _LIFETIME}, self._scripts)

    @staticmethod
    def _single(attributes: tuple[Attribute, ...]) -> dict[int, Cells]:
        return {0: Cells(layout_of(attributes))}

    @staticmethod
    def _double(left: tuple[Attribute, ...], right: tuple[Attribute, ...]) -> dict[int, Cells]:
        return {0: Cells(layout_of(left), source=0), 1: Cells(layout_of(right), source=1)}
