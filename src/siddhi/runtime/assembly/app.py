"""Plan of an app → connected junctions and queries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from siddhi._core.query.output import QueryOutput
from siddhi._core.query.partition import PartitionReceiver
from siddhi._core.record.event import EventPool, Layout, TypeCode
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor, Receiver
from siddhi._core.stream.input import InputHandler
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.table.query import OnDemand
from siddhi._core.table.store import CachedAnswer, StoreAnswer
from siddhi._frozen import replace
from siddhi.extension.registry import Registry
from siddhi.persistence.error_store import ErrorStore
from siddhi.planner.bind.sandbox_limits import limit_text
from siddhi.planner.on_demand import plan_on_demand
from siddhi.planner.plan.nodes import (
    Action,
    JoinPlan,
    OnErrorAction,
    OutputPlan,
    PartitionPlan,
    Plan,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
    StreamOrigin,
    StreamPlan,
)
from siddhi.planner.plan.on_demand import OnDemandPlan
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.query_api.definition import Attribute, StreamDefinition, TableDefinition
from siddhi.query_api.span import Span
from siddhi.query_compiler.parser import parse_on_demand_query
from siddhi.runtime.assembly.aggregation.aggregation import AggregationContent, BuiltAggregation
from siddhi.runtime.assembly.async_stream import AsyncInputHandler, AsyncStream, close, drain
from siddhi.runtime.assembly.broker_lock import share_broker_lock
from siddhi.runtime.assembly.join import JoinSource, TableContent, build_join_query
from siddhi.runtime.assembly.named_window import BuiltNamedWindow
from siddhi.runtime.assembly.on_demand import build_on_demand
from siddhi.runtime.assembly.partition import BuiltPartition
from siddhi.runtime.assembly.patterns import build_pattern_query
from siddhi.runtime.assembly.query import BuiltQuery, Site, build_single_query
from siddhi.runtime.assembly.selector import has_side_effects
from siddhi.runtime.assembly.stores.stores import StoreTable
from siddhi.runtime.assembly.tables.output import build_table_output
from siddhi.runtime.assembly.tables.tables import Tables
from siddhi.runtime.assembly.trigger import build_trigger
from siddhi.runtime.assembly.types import layout_of
from siddhi.runtime.assembly.unsupported import not_supported
from siddhi.runtime.connectors.retry import RetryScheduler, ThreadedRetries
from siddhi.runtime.connectors.service import Connectors
from siddhi.runtime.connectors.worker import Worker
from siddhi.runtime.errors.faults import FaultHandling

if TYPE_CHECKING:
    from siddhi.runtime.connectors.sink import SinkRuntime
    from siddhi.runtime.connectors.source import SourceRuntime

__all__ = ["Assembly", "Plan"]

logger = logging.getLogger("siddhi")


class Assembly:
    """The operators of one app.

    Args:
        plan: the app's plan.
        scripts: compiled ``define function`` bodies by name.
        registry: extensions that on-demand queries may use; None: the extensions available to every app.
        retries: schedules reconnects; None: by the system clock.
        error_store: returns the error store, or None.

    Attributes:
        plan: as passed.
        context: clock, lock and timers of the app.
        junctions: by stream id.
        async_streams: streams with a buffer in front of their junction, by id.
        tables: by id.
        queries: by name, in build order.
        entries: for each query or partition its name, the junction it subscribes to, and its receiver.
        insert_entries: for each named window and aggregation its kind and name, the junction it subscribes to, and its
            receiver.
        partitions: by name.
        windows: named windows by id; their output junctions are among the junctions.
        aggregations: by id.
        triggers: by id.
        connectors: sources and sinks.
        faults: error handling of failed events.

    Raises:
        SiddhiAppCreationError: the plan needs a feature that this engine does not support.
    """

    def __init__(
        self,
        plan: Plan,
        scripts: dict[str, Callable[..., object]],
        registry: Registry | None = None,
        retries: RetryScheduler | None = None,
        error_store: Callable[[], ErrorStore | None] = lambda: None,
    ) -> None:
        self.plan = plan
        self._registry = registry
        self.context = context = AppContext(plan.name)
        share_broker_lock(plan, context)  # before anything uses the app's own lock
        self.faults = FaultHandling(context, error_store)
        self.junctions: dict[str, StreamJunction] = {}
        self.async_streams: dict[str, AsyncStream] = {}
        self._drain_deadline = 0
        self._pools: dict[tuple[object, ...], EventPool] = {}
        self.queries: dict[str, BuiltQuery] = {}
        self._built: list[tuple[str, BuiltQuery]] = []
        self.insert_entries: list[tuple[tuple[str, str], StreamJunction, Receiver]] = []
        self.entries: list[tuple[str, StreamJunction | PartitionReceiver, Receiver]] = []
        self._top_level: list[tuple[str, BuiltQuery]] = []
        self.partitions: dict[str, BuiltPartition] = {}
        self.windows: dict[str, BuiltNamedWindow] = {}
        retries = ThreadedRetries() if retries is None else retries
        # With @OnError on a stream, each event's change is made at once, so that a failure belongs to its event.
        gathers = all(stream.on_error is OnErrorAction.LOG for stream in plan.streams.values())
        self.tables = Tables(
            plan.tables.values(),
            context,
            self._pool,
            lambda table, pool, layout: StoreTable(table, context, pool, layout, self.faults, retries, gathers=gathers),
        )
        self.aggregations: dict[str, BuiltAggregation] = {}
        self._site = Site(
            context,
            scripts,
            self.tables,
            self.windows,
            aggregations=self.aggregations,
            counts_records=plan.policy is not None and plan.policy.max_record_bytes is not None,
        )
        for stream in plan.streams.values():
            self._add_stream(stream, self.junctions)
        self.triggers = {
            trigger.id: build_trigger(trigger, context, self.junctions[trigger.id])
            for trigger in plan.triggers.values()
        }
        for window in plan.windows.values():
            built = BuiltNamedWindow(window, context, self._pool(layout_of(window.attributes)), scripts)
            self.windows[window.id] = built
            self.junctions[window.id] = built.output
            self.insert_entries.append((("Windows", window.id), built.input, built.entry))
        for aggregation in plan.aggregations.values():
            # Subscribed before queries: a query that reads the aggregation finds the current event in it.
            built_aggregation = BuiltAggregation(aggregation, self.junctions[aggregation.input.source], self._site)
            self.aggregations[aggregation.id] = built_aggregation
            built_aggregation.source.subscribe(built_aggregation.entry)
            kind = ("Aggregations", aggregation.id)
            self.insert_entries.append((kind, built_aggregation.source, built_aggregation.entry))
        for execution in plan.executions:
            if isinstance(execution, PartitionPlan):
                self._add_partition(execution)
            else:
                self._add_query(execution, None)
        self._connect_faults()
        self.connectors = self._build_connectors(retries)
        for batch in plan.batches:
            if batch.stream in self.junctions:
                self.junctions[batch.stream].columnar = batch.columnar

    @property
    def stream_definitions(self) -> dict[str, StreamDefinition]:
        """Definitions of all streams except fault streams by name, including inferred ones."""
        return {
            stream.id: StreamDefinition(id=stream.id, attributes=stream.attributes, annotations=stream.annotations)
            for stream in self.plan.streams.values()
            if stream.origin is not StreamOrigin.FAULT
        }

    @property
    def table_definitions(self) -> dict[str, TableDefinition]:
        """Definitions of all tables, by name."""
        return {
            table.id: TableDefinition(id=table.id, attributes=table.attributes, annotations=table.annotations)
            for table in self.plan.tables.values()
        }

    def new_input_handler(self, stream: str) -> InputHandler | AsyncInputHandler:
        """Make an input handler of a stream."""
        buffered = self.async_streams.get(stream)
        return InputHandler(self.context, self.junctions[stream]) if buffered is None else buffered.new_input_handler()

    def built_queries(self) -> dict[str, BuiltQuery]:
        """Return all queries by name, those of partitions as ``partition/query``."""
        return dict(self._built)

    def top_level_queries(self) -> Iterable[tuple[str, BuiltQuery]]:
        """Return the queries outside of partitions, by name."""
        return self._top_level

    def owned_steps(self) -> Iterator[tuple[tuple[str, str], Processor]]:
        """Yield every operator with state, with kind and name of its owner."""
        for name, partition in self.partitions.items():
            yield ("Partitions", name), partition.keys
        for id_, state in self.tables.states().items():
            yield ("Tables", id_), state
        for id_, stream in self.async_streams.items():
            yield ("Streams", id_), stream.buffer
        for id_, window in self.windows.items():
            yield from ((("Windows", id_), step) for step in window.stateful.values())
        for id_, aggregation in self.aggregations.items():
            yield from ((("Aggregations", id_), step) for step in aggregation.stateful.values())
        for path, query in self._built:
            yield from ((("Queries", path), step) for step in query.stateful.values())

    def start(self) -> None:
        """Start the operators that count time from the start of the app; the caller holds the app's lock."""
        for element in self._site.starting:
            element.start()
        for trigger in self.triggers.values():
            trigger.start()
        for stream in self.async_streams.values():
            stream.start()

    def await_first_instant(self) -> None:
        """Let operators that count time from the start begin with the next event: playback begins in a running app."""
        with self.context.lock:
            for element in self._site.starting:
                element.await_first_instant()
            for trigger in self.triggers.values():
                trigger.await_first_instant()

    def drain(self) -> None:
        """Accept no more events from outside into buffers, and deliver the buffered events."""
        streams = tuple(self.async_streams.values())
        self._drain_deadline = close(streams)
        drain(self.context, streams, self._drain_deadline)

    def stop(self) -> None:
        """Deliver the events still buffered and end the workers; the app accepts no more events."""
        streams = tuple(self.async_streams.values())
        for stream in streams:
            stream.end()
        drain(self.context, streams, self._drain_deadline)
        for stream in streams:
            stream.join()
        if left := sum(len(stream.buffer) for stream in streams):
            logger.warning("%d events of @async streams were not delivered before the app was shut down", left)
        for id_, aggregation in self.aggregations.items():
            try:
                aggregation.core.settle()
            except Exception:
                logger.exception(
                    "app '%s', aggregation '%s': replayed events could not be added to the coarser durations",
                    self.context.name,
                    id_,
                )

    def plan_on_demand(self, text: str) -> OnDemandPlan:
        """Plan an on-demand query.

        Raises:
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: a name is unknown or a type does not match.
        """
        if self.plan.policy is not None:
            limit_text(self.plan.policy, text, "the on-demand query")
        return plan_on_demand(parse_on_demand_query(text), self.plan, self._registry, source=text)

    def on_demand(self, text: str) -> OnDemand | StoreAnswer | CachedAnswer:
        """Build the operators of an on-demand query.

        Raises:
            SiddhiParserError, OnDemandQueryCreationError: as :meth:`plan_on_demand`.
            SiddhiAppCreationError: the query needs a feature that this engine does not support.
        """
        plan = self.plan_on_demand(text)
        with self.context.lock:
            return build_on_demand(plan, self._site, self._pool)

    def _build_connectors(self, retries: RetryScheduler) -> Connectors:
        sources: dict[str, list[SourceRuntime]] = {}
        sinks: dict[str, list[SinkRuntime]] = {}
        connected = [stream for stream in self.plan.streams.values() if stream.sources or stream.sinks]
        if connected:
            # Imported only if there is a connector: most apps have none.
            from siddhi.runtime.assembly.connectors import build_sink, build_source

        worker = Worker(f"siddhi-{self.context.name}-connectors")
        for stream in connected:
            # Sources have handlers of their own: those of users survive a restart of the app, its sources do not.
            handler = self.new_input_handler(stream.id)
            junction = self.junctions[stream.id]
            sources[stream.id] = [
                build_source(plan, number, stream, self.context, worker, handler, self.faults, retries)
                for number, plan in enumerate(stream.sources)
            ]
            built = [
                build_sink(plan, number, stream, self.context, worker, junction, self.faults, retries)
                for number, plan in enumerate(stream.sinks)
            ]
            for _, receiver in built:
                junction.subscribe(receiver)
            sinks[stream.id] = [sink for sink, _ in built]
        stores = {id_: table.runtime for id_, table in self.tables.stores.items()}
        context = self.context
        return Connectors(sources, sinks, stores, lambda: context.lock.is_mine, worker)

    def _connect_faults(self) -> None:
        for stream in self.plan.streams.values():
            if stream.on_error is OnErrorAction.STREAM:
                fault = self.junctions[f"!{stream.id}"]
                self.junctions[stream.id].on_error = self.faults.forward(stream.id, fault)
            elif stream.on_error is OnErrorAction.STORE:
                self.junctions[stream.id].on_error = self.faults.keep(stream.id)
            if stream.id in self.async_streams:
                self.async_streams[stream.id].entry.on_error = self.junctions[stream.id].on_error

    def _add_stream(self, stream: StreamPlan, junctions: dict[str, StreamJunction]) -> None:
        layout = layout_of(stream.attributes)
        junction = StreamJunction(self.context, stream.id, layout, self._pool(layout))
        junctions[stream.id] = junction
        if stream.async_settings is not None:
            self.async_streams[stream.id] = AsyncStream(self.context, junction, stream.async_settings)

    def _pool(self, layout: Layout) -> EventPool:
        """Return the pool shared by streams of these types, so that a record can pass from one to another."""
        # Errors about objects in snapshots name the attribute, so layouts with objects share a pool only by name.
        key = (layout.types, layout.names if TypeCode.OBJECT in layout.types else ())
        return self._pools.setdefault(key, EventPool(layout))

    def _add_partition(self, plan: PartitionPlan) -> None:
        partition = BuiltPartition(plan, replace(self._site, partitioned=True), self.junctions)
        self.partitions[plan.name] = partition
        for stream in plan.inner_streams:
            self._add_stream(stream, partition.inner)
        for query in plan.queries:
            self._add_query(query, partition)

    def _add_query(self, plan: QueryPlan, partition: BuiltPartition | None) -> None:
        input_ = plan.input
        if isinstance(input_, PatternPlan):
            self._add_pattern(plan, partition)
            return
        output = self._build_output(plan, partition)
        site = self._site if partition is None else partition.site
        if isinstance(input_, JoinPlan):
            sides = (input_.left, input_.right)
            left, right = (self._join_source(side, partition, plan) for side in sides)
            entries, built = build_join_query(plan, (left, right), output, site)
            for source, receiver in entries:
                self._subscribe(plan, source, partition, receiver)
        else:
            entry, built = build_single_query(plan, self._source(input_, partition, plan), output, site)
            self._subscribe(plan, input_.source, partition, entry)
        self._register(plan, built, partition)

    def _add_pattern(self, plan: QueryPlan, partition: BuiltPartition | None) -> None:
        inner = {} if partition is None else partition.inner
        entries, built = build_pattern_query(
            plan,
            lambda source: inner.get(source) or self.junctions[source],
            self._build_output(plan, partition),
            self._site if partition is None else partition.site,
        )
        for source, entry in entries:
            self._subscribe(plan, source, partition, entry)
        self._register(plan, built, partition)

    def _register(self, plan: QueryPlan, built: BuiltQuery, partition: BuiltPartition | None) -> None:
        if partition is not None:
            partition.queries.append(built)
        else:
            self._top_level.append((plan.name, built))
        self._built.append((_path(plan, partition), built))
        # Queries of partitions may share a name: the first one is registered.
        self.queries.setdefault(plan.name, built)

    def _source(self, input_: SingleInputPlan, partition: BuiltPartition | None, plan: QueryPlan) -> StreamJunction:
        if input_.kind is SourceKind.AGGREGATION:
            raise not_supported("reading from an aggregation is", plan.span)
        if partition is not None and input_.source in partition.inner:
            return partition.inner[input_.source]
        return self.junctions[input_.source]

    def _join_source(self, input_: SingleInputPlan, partition: BuiltPartition | None, plan: QueryPlan) -> JoinSource:
        if input_.kind is SourceKind.TABLE:
            return JoinSource(None, TableContent(self.tables, input_.source))
        if input_.kind is SourceKind.AGGREGATION:
            assert isinstance(plan.input, JoinPlan)
            assert plan.input.reading is not None
            return JoinSource(None, AggregationContent(self.aggregations[input_.source], plan.input.reading))
        content = self.windows[input_.source] if input_.kind is SourceKind.WINDOW else None
        return JoinSource(self._source(input_, partition, plan), content)

    def _subscribe(self, plan: QueryPlan, source: str, partition: BuiltPartition | None, entry: Receiver) -> None:
        if partition is None or source in partition.inner:
            junction = self.junctions[source] if partition is None else partition.inner[source]
            junction.subscribe(entry)
            self.entries.append((_path(plan, partition), junction, entry))
            return
        receiver = partition.receiver(source)
        receiver.subscribe(entry)
        if not any(known is receiver for _, _, known in self.entries):
            self.entries.append((partition.plan.name, self.junctions[source], receiver))
        self.entries.append((_path(plan, partition), receiver, entry))

    def _build_output(self, plan: QueryPlan, partition: BuiltPartition | None) -> QueryOutput:
        inner = {} if partition is None else partition.inner
        layout = layout_of([Attribute(column.name, column.expression.type) for column in plan.selector.columns])
        if plan.output.kind is SourceKind.TABLE:
            return build_table_output(plan.output, layout, self._site, self._pool, plan.span)
        target = self._target(plan.output, inner, plan.span)
        if target is None:
            return QueryOutput(self.context, self._pool(layout), layout, None)
        return QueryOutput(
            self.context,
            target.pool,
            target.layout,
            target,
            leaves_partition=partition is not None and plan.output.target not in inner,
            always=has_side_effects(plan.selector),
        )

    def _target(self, output: OutputPlan, inner: dict[str, StreamJunction], span: Span | None) -> StreamJunction | None:
        if output.action is Action.RETURN:
            return None
        if output.action is Action.INSERT and output.kind is SourceKind.WINDOW:
            return self.windows[output.target].input
        if output.action is not Action.INSERT or output.kind not in (
            SourceKind.STREAM,
            SourceKind.INNER,
            SourceKind.FAULT,
        ):
            raise not_supported(f"'{output.action.value}' with a {output.kind.value} is", span)
        if output.target in inner:
            return inner[output.target]
        buffered = self.async_streams.get(output.target)
        return self.junctions[output.target] if buffered is None else buffered.entry


def _path(plan: QueryPlan, partition: BuiltPartition | None) -> str:
    return plan.name if partition is None else f"{partition.plan.name}/{plan.name}"
