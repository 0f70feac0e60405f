"""Plan of an app → connected junctions and queries."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from siddhi._core.query.output import QueryOutput
from siddhi._core.query.partition import PartitionReceiver
from siddhi._core.record.event import EventPool, Layout, TypeCode
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Receiver
from siddhi._core.stream.callback import StreamCallback
from siddhi._core.stream.input import InputHandler
from siddhi._core.stream.junction import StreamJunction
from siddhi._frozen import replace
from siddhi.errors import OnDemandQueryCreationError
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
    TablePlan,
)
from siddhi.planner.plan.on_demand import OnDemandPlan
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.walk import has_side_effects
from siddhi.query_api.definition import Attribute, StreamDefinition, TableDefinition
from siddhi.query_api.span import Span
from siddhi.query_compiler.parser import parse_on_demand_query
from siddhi.runtime.assembly.aggregation.aggregation import AggregationContent, BuiltAggregation
from siddhi.runtime.assembly.async_stream import AsyncInputHandler, AsyncStream, close, drain
from siddhi.runtime.assembly.broker_lock import share_broker_lock
from siddhi.runtime.assembly.join import JoinSource, TableContent, build_join_query
from siddhi.runtime.assembly.named_window import BuiltNamedWindow
from siddhi.runtime.assembly.on_demand import BuiltOnDemand, build_on_demand
from siddhi.runtime.assembly.partition import BuiltPartition
from siddhi.runtime.assembly.patterns import build_pattern_query
from siddhi.runtime.assembly.query import BuiltQuery, CountsFromStart, Site, build_single_query
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
    from siddhi._core.correction.input import CorrectedInputHandler
    from siddhi._core.record.user_event import Event
    from siddhi._core.temporal.input import TemporalInputHandler
    from siddhi.runtime.assembly.awaited import AwaitedCalls
    from siddhi.runtime.assembly.corrections import CorrectedInput, CorrectedStreams
    from siddhi.runtime.assembly.kept import Kept
    from siddhi.runtime.assembly.temporal import TemporalNetwork
    from siddhi.runtime.assembly.temporal_connectors import TemporalInput
    from siddhi.runtime.connectors.sink import SinkRuntime
    from siddhi.runtime.connectors.source import SourceRuntime
    from siddhi.runtime.profile.profile import Profile
    from siddhi.runtime.state.snapshot import Stateful

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
        context: that of the running operators of the app, which these ones replace; None: a new one.
        kept: what goes on with these operators as it is; None: all is new.

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
        awaited: the calls of coroutine functions, by query.
        partitions: by name.
        windows: named windows by id; their output junctions are among the junctions.
        aggregations: by id.
        triggers: by id.
        temporal: the temporal streams and queries; None: there are none.
        corrections: input and output of an app that corrects late events; None: it does not.
        connectors: sources and sinks.
        pools: of records, by their types.
        faults: error handling of failed events.
        profile: the profile that is running, or None.
        last_profile: the profile that ended last, or None.

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
        *,
        context: AppContext | None = None,
        kept: Kept | None = None,
    ) -> None:
        self.plan = plan
        self._registry = registry
        if context is None:
            context = AppContext(plan.name)
            share_broker_lock(plan, context)  # before anything uses the app's own lock
        self.context = context
        self.faults = FaultHandling(context, error_store)
        self.profile: Profile | None = None
        self.last_profile: Profile | None = None
        self.junctions: dict[str, StreamJunction] = {}
        self.async_streams: dict[str, AsyncStream] = {}
        self._drain_deadline = 0
        self.pools: dict[tuple[object, ...], EventPool] = {} if kept is None else kept.pools
        self.queries: dict[str, BuiltQuery] = {}
        self._is_built = False
        self._built: dict[int, tuple[str, BuiltQuery]] = {}  # by the id of the query
        self.insert_entries: list[tuple[tuple[str, str], StreamJunction, Receiver]] = []
        self.entries: list[tuple[str, StreamJunction | PartitionReceiver, Receiver]] = []
        self._top_level: dict[str, BuiltQuery] = {}
        self.awaited: dict[str, AwaitedCalls] = {}
        self.partitions: dict[str, BuiltPartition] = {}
        self.windows: dict[str, BuiltNamedWindow] = {}
        retries = ThreadedRetries() if retries is None else retries
        # With @OnError on a stream, each event's change is made at once, so that a failure belongs to its event.
        gathers = all(stream.on_error is OnErrorAction.LOG for stream in plan.streams.values())

        def make_store(table: TablePlan, pool: EventPool, layout: Layout) -> StoreTable:
            found = None if kept is None else kept.store(table.id, gathers=gathers)
            if found is not None:
                return found
            return StoreTable(table, context, pool, layout, self.faults, retries, gathers=gathers)

        self.tables: Tables = Tables(
            plan.tables.values(),
            context,
            self._pool,
            make_store,
            (lambda _: None) if kept is None else kept.table,
        )
        self.aggregations: dict[str, BuiltAggregation] = {}
        self._site = Site(
            context,
            scripts,
            self.tables,
            self.windows,
            aggregations=self.aggregations,
        )
        for stream in plan.streams.values():
            self._add_stream(stream, self.junctions)
        self.temporal: TemporalNetwork | None = None
        if any(stream.temporal is not None for stream in plan.streams.values()):
            # Imported only if there is a temporal stream: most apps have none.
            from siddhi.runtime.assembly.temporal import TemporalNetwork

            self.temporal = TemporalNetwork(plan, context, self.junctions, self._pool, scripts)
            self.async_streams |= self.temporal.buffered
        self.corrections: CorrectedStreams | None = None
        if plan.corrected_streams():
            from siddhi.runtime.assembly.corrections import CorrectedStreams

            self.corrections = CorrectedStreams(self)
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
        if self.temporal is not None:
            self.temporal.release()
        self._connect_faults()
        self.connectors: Connectors = self._build_connectors(retries, kept)
        self._follow_batches()
        self._is_built = True

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

    def output(self, stream: str) -> StreamJunction:
        """Return the junction that callbacks subscribe to; that of a temporal stream shows lifetimes by its model."""
        if self.temporal is not None and stream in self.temporal:
            return self.temporal.output(stream)
        if self.corrections is not None:
            return self.corrections.output(stream)
        return self.junctions[stream]

    def column_output(self, stream: str) -> StreamJunction:
        """Return the junction for receivers of columns: its rows say what they do, in an app that corrects late events."""
        return self.output(stream) if self.corrections is None else self.corrections.column_output(stream)

    def handle_errors_with(self, handler: Callable[[Exception, str, list[Event]], object]) -> None:
        """Give the exceptions of processing and callbacks to a handler; those that a replay repeats once."""
        self.context.on_error = handler if self.corrections is None else self.corrections.once(handler)

    @property
    def starting(self) -> list[CountsFromStart]:
        """The operators that count time from the start of the app, in the order in which they start."""
        return self._site.starting

    @property
    def temporal_callbacks(self) -> TemporalNetwork | CorrectedStreams:
        """What temporal callbacks are added to; the app has temporal or corrected streams."""
        owner = self.temporal or self.corrections
        assert owner is not None
        return owner

    def new_input_handler(
        self, stream: str
    ) -> InputHandler | AsyncInputHandler | TemporalInputHandler | CorrectedInputHandler:
        """Make an input handler of a stream."""
        if self.corrections is not None:
            return self.corrections.new_input_handler(stream)
        if self.temporal is not None and stream in self.temporal:
            return self.temporal.new_input_handler(stream)
        return self._new_classical_handler(stream)

    def _new_classical_handler(self, stream: str) -> InputHandler | AsyncInputHandler:
        buffered = self.async_streams.get(stream)
        return InputHandler(self.context, self.junctions[stream]) if buffered is None else buffered.new_input_handler()

    def built_queries(self) -> dict[str, BuiltQuery]:
        """Return all queries by name, those of partitions as ``partition/query``."""
        return dict(self._built.values())

    def top_level_queries(self) -> Iterable[tuple[str, BuiltQuery]]:
        """Return the queries outside of partitions, by name."""
        return self._top_level.items()

    def owned_steps(self) -> Iterator[tuple[tuple[str, str], Stateful]]:
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
        if self.temporal is not None:
            yield from ((("Temporal", "lifetimes"), step) for step in self.temporal.steps().values())
        for path, query in self._built.values():
            yield from ((("Queries", path), step) for step in query.stateful.values())

    def add_queries(self, plans: Iterable[QueryPlan]) -> list[BuiltQuery]:
        """Build queries over single streams behind those that there are; if that fails, there are none of them.

        The caller holds the app's lock, and no event is being processed.

        Raises:
            SiddhiAppCreationError: as :class:`Assembly`.
        """
        added: list[BuiltQuery] = []
        for plan in plans:
            target = None if plan.output.action is Action.RETURN else self._target(plan.output, {}, plan.span)
            feeders, starting = 0 if target is None else len(target.feeders), len(self.starting)
            try:
                self._add_query(plan, None)
            except BaseException:
                if target is not None:
                    del target.feeders[feeders:]
                del self.starting[starting:]
                for built in added:
                    self.remove_query(built.name)
                raise
            added.append(self.queries[plan.name])
        return added

    def remove_query(self, name: str, first: int = 0) -> BuiltQuery:
        """Take a query over a single stream away; the conditions are those of :meth:`add_queries`.

        Args:
            name: its name.
            first: where its entry is looked for first: the number of queries and partitions before it.
        """
        built = self.queries.pop(name)
        places = chain(range(first, len(self.entries)), range(first))
        number = next(number for number in places if self.entries[number][0] == name)
        _, place, entry = self.entries.pop(number)
        place.unsubscribe(entry)  # type: ignore[union-attr]  # a stream, outside partitions
        del self._built[id(built)], self._top_level[name]
        if built.output.target is not None:
            built.output.target.leave(built.output)
        steps = {id(step) for step in built.timed_steps().values()}
        self.starting[:] = [step for step in self.starting if id(step) not in steps]
        timers = self.context.pending_timers()
        left = [timer for timer in timers if id(timer[0]) not in steps]
        if len(left) != len(timers):
            self.context.set_timers(left)
        return built

    def follow(self, plan: Plan) -> None:
        """Take up the plan of the app with queries that were added or removed; the conditions are those of :meth:`add_queries`."""
        before, self.plan = self.plan, plan
        if plan.batches is not before.batches:
            self._follow_batches()

    def _follow_batches(self) -> None:
        for batch in self.plan.batches:
            if batch.stream in self.junctions:
                self.junctions[batch.stream].columnar = batch.columnar

    def start(self) -> None:
        """Start the operators that count time from the start of the app; the caller holds the app's lock."""
        for element in self._site.starting:
            element.start()
        for calls in self.awaited.values():
            calls.start()
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
        """Accept no more events from outside into buffers, deliver the buffered events, and wait for the calls of coroutine
        functions."""
        streams = tuple(self.async_streams.values())
        self._drain_deadline = close(streams)
        drain(self.context, streams, self._drain_deadline)
        for _ in self.awaited:  # the calls of one function can lead to calls of another one
            for calls in self.awaited.values():
                calls.drain(self._drain_deadline)
            drain(self.context, streams, self._drain_deadline)

    def stop(self) -> None:
        """Deliver the events still buffered and end the workers; the app accepts no more events."""
        streams = tuple(self.async_streams.values())
        for calls in self.awaited.values():
            calls.stop()
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

    def on_demand(self, text: str) -> BuiltOnDemand:
        """Build the operators of an on-demand query.

        Raises:
            SiddhiParserError, OnDemandQueryCreationError: as :meth:`plan_on_demand`.
            SiddhiAppCreationError: the query needs a feature that this engine does not support.
        """
        plan = self.plan_on_demand(text)
        if self.corrections is not None and plan.output is not None:
            raise OnDemandQueryCreationError(
                "an on-demand query can't change an app that corrects late events: its next correction would undo it",
                code="E326",
                source=text,
                hint="send an event that leads to the change",
                app=self.context.name,
            )
        with self.context.lock:
            return build_on_demand(plan, self._site, self._pool)

    def _build_connectors(self, retries: RetryScheduler, kept: Kept | None) -> Connectors:
        sources: dict[str, list[SourceRuntime]] = {}
        sinks: dict[str, list[SinkRuntime]] = {}
        connected = [stream for stream in self.plan.streams.values() if stream.sources or stream.sinks]
        if connected:
            # Imported only if there is a connector: most apps have none.
            from siddhi.runtime.assembly.connectors import build_sink, build_source

        worker = Worker(f"siddhi-{self.context.name}-connectors") if kept is None else kept.worker
        for stream in connected:
            temporal = self.temporal if stream.temporal is not None else None
            # Sources have handlers of their own: those of users survive a restart of the app, its sources do not.
            handler: InputHandler | AsyncInputHandler | TemporalInput | CorrectedInput
            if self.corrections is not None and stream.correction is not None and stream.sources:
                handler = self.corrections.new_source_input(stream.id)
            elif temporal is None or not stream.sources:
                handler = self._new_classical_handler(stream.id)
            else:
                handler = temporal.new_source_input(stream.id)
            junction = self.junctions[stream.id]
            sources[stream.id] = [
                (None if kept is None else kept.source(stream.id, number, handler))
                or build_source(plan, number, stream, self.context, worker, handler, junction, self.faults, retries)
                for number, plan in enumerate(stream.sources)
            ]
            if temporal is not None:
                temporal.connect_sources(stream, sources[stream.id])
            built = []
            for number, plan in enumerate(stream.sinks):
                of_sink, carrier = stream, junction
                if self.corrections is not None and plan.action is not None:
                    of_sink, carrier = self.corrections.marked(stream, plan.action)
                running = None if kept is None else kept.sink(stream.id, number, carrier)
                if running is None:
                    sink = build_sink(plan, number, of_sink, self.context, worker, carrier, self.faults, retries)
                else:
                    sink = running
                receiver = StreamCallback(self.context, carrier.pool, carrier.layout, of_sink.id, sink.receive)
                if temporal is None:
                    carrier.subscribe(receiver)
                else:
                    temporal.connect_sink(stream.id, plan, sink)
                built.append(sink)
            sinks[stream.id] = built
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
            if stream.id in self.async_streams and stream.temporal is None:
                self.async_streams[stream.id].entry.on_error = self.junctions[stream.id].on_error

    def _add_stream(self, stream: StreamPlan, junctions: dict[str, StreamJunction]) -> None:
        layout = layout_of(stream.attributes)
        junction = StreamJunction(self.context, stream.id, layout, self._pool(layout))
        junctions[stream.id] = junction
        if stream.async_settings is not None and stream.temporal is None:
            self.async_streams[stream.id] = AsyncStream(self.context, junction, stream.async_settings)

    def _pool(self, layout: Layout) -> EventPool:
        """Return the pool shared by streams of these types, so that a record can pass from one to another."""
        # Errors about objects in snapshots name the attribute, so layouts with objects share a pool only by name.
        key = (layout.types, layout.names if TypeCode.OBJECT in layout.types else ())
        return self.pools.setdefault(key, EventPool(layout))

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
        if built.awaited is not None:
            self.awaited[plan.name] = built.awaited
        if partition is not None:
            partition.queries.append(built)
        else:
            self._top_level[plan.name] = built
        self._built[id(built)] = (_path(plan, partition), built)
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
            if self._is_built:
                junction.insert(self._behind_queries(junction), entry)
            else:
                junction.subscribe(entry)
            self.entries.append((_path(plan, partition), junction, entry))
            return
        receiver = partition.receiver(source)
        receiver.subscribe(entry)
        if not any(known is receiver for _, _, known in self.entries):
            self.entries.append((partition.plan.name, self.junctions[source], receiver))
        self.entries.append((_path(plan, partition), receiver, entry))

    def _behind_queries(self, junction: StreamJunction) -> int:
        """Return the place of another query among the receivers of a stream: before its sinks and callbacks."""
        for _, place, entry in chain(reversed(self.entries), reversed(self.insert_entries)):
            if place is junction:
                receivers = junction.receivers
                return next(n for n in range(len(receivers), 0, -1) if receivers[n - 1] is entry)
        return 0

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
