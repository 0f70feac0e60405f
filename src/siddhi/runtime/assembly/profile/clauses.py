"""Clauses of the queries of an app → probes that measure them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from siddhi._core.aggregate.aggregator import AggregatorStates
from siddhi._core.join.join import JoinStep, PassingWindow
from siddhi._core.join.self_join import SelfJoinEntry
from siddhi._core.pattern.automaton import Pattern, PatternEntry
from siddhi._core.profile.probes import (
    ProfiledEntries,
    ProfiledEntry,
    QueryProbe,
    TimerSite,
    calibrate,
    limiter_of,
    next_of,
)
from siddhi._core.query.entry import FilterProcessor, QueryEntry, RecordCopyProcessor
from siddhi._core.query.key_limiter import KeyLimiter
from siddhi._core.query.partition import PartitionReceiver
from siddhi._core.query.projection import Projection
from siddhi._core.query.selector import Selector
from siddhi._core.rollup.aggregation import AggregationJoin
from siddhi._core.runtime.operator import Processor, Receiver
from siddhi._core.runtime.sampler import Meter, Sampler, SampleSite, add_site, remove_site
from siddhi._core.snapshot.format import SnapshotWriter
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.window.base import Window
from siddhi.planner.plan.nodes import PartitionPlan, QueryPlan
from siddhi.query_api.input import (
    AbsentState,
    AnonymousInput,
    CountState,
    EveryState,
    Filter,
    Handler,
    Input,
    JoinInput,
    LogicalState,
    NextState,
    SingleInput,
    State,
    StreamState,
    WindowHandler,
)
from siddhi.query_api.input import Pattern as PatternInput
from siddhi.query_api.input import Sequence as SequenceInput
from siddhi.query_api.query import Partition, Query
from siddhi.query_api.span import Node, Span
from siddhi.runtime.assembly.app import Assembly
from siddhi.runtime.assembly.query import BuiltQuery

__all__ = ["Clause", "Probes"]


@dataclass(eq=False, slots=True)
class Clause:
    """A clause of a query, or another element whose time is measured.

    Attributes:
        owner: the query, as ``partition/query`` inside a partition; for other elements their name.
        kind: input, trigger, partition, from, filter, function, window, join, pattern, select, output, aggregation.
        spans: where it stands in the text of the app.
        meter: its events and time.
        site: where units begin, of an input; it counts the rows that were sent.
        state: its operators with state.
        follows: the clause that receives what this one emits; None: unknown.
        size: returns the bytes of state that is not in ``state``; None: there is none.
    """

    owner: str
    kind: str
    spans: tuple[Span, ...]
    meter: Meter
    site: SampleSite | None = None
    state: list[Processor] = field(default_factory=list)
    follows: Clause | None = None
    size: Callable[[], int | None] | None = None

    def meters(self) -> list[Meter]:
        """Return the meters of its time."""
        site = self.site
        if site is None or site.blocks is None or site.flushes is None or site.reading is None:
            return [self.meter]
        return [self.meter, site.blocks.meter, site.flushes.meter, site.reading]

    def state_bytes(self) -> int | None:
        """Return the bytes of its state as in a snapshot; None: it has none, or it can't be serialized. Needs the app's lock."""
        if self.size is not None:
            return self.size()
        if not self.state:
            return None
        writer = SnapshotWriter()
        try:
            for step in self.state:
                step.save(writer)
        except (TypeError, ValueError, OverflowError):
            return None
        return len(writer.getvalue())

    def keys(self) -> int | None:
        """Return the number of groups that it has state for; None: it has no groups. Needs the app's lock."""
        for step in self.state:
            if isinstance(step, Selector) and step.groups is not None:
                return len(step.groups)
            if hasattr(step, "__len__") and self.kind == "partition":
                return len(step)
        return None

    def partial_matches(self) -> int | None:
        """Return the number of current partial matches; None: other clauses. Needs the app's lock."""
        return next((step.alive for step in self.state if isinstance(step, Pattern)), None)


class Probes:
    """The probes of a profiled app.

    Args:
        assembly: the app's operators.
        sampler: says what is sampled, and gets the times.

    Attributes:
        clauses: what is measured, in the order of the text: each query from its input to its output.
        patches: what stands before the entries of the queries in detailed bursts.
    """

    def __init__(self, assembly: Assembly, sampler: Sampler) -> None:
        self._assembly = assembly
        self._sampler = sampler
        self.clauses: list[Clause] = []
        self._entries: list[ProfiledEntry] = []
        self._sites: list[tuple[object, SampleSite]] = []
        self._inputs: dict[int, SampleSite] = {}
        self._queries: dict[str, _MeasuredQuery] = {}
        self._texts = {query.span: query for query in _queries(assembly.plan.app.executions) if query.span is not None}
        with assembly.context.lock:
            calibrate(assembly.context, sampler)
            self._build()
            self._mark_waiting()
            self.patches = ProfiledEntries(self._entries)
            sampler.set_patches(self.patches)

    def attach(self) -> None:
        """Begin to measure; the app's lock must be held."""
        for place, site in self._sites:
            add_site(place, site)

    def detach(self) -> None:
        """Measure no more; the app's lock must be held."""
        for place, site in self._sites:
            remove_site(place, site)

    def units(self) -> tuple[int, int, float]:
        """Return the number of units of work, of those that were measured in detail, and how many these stand for."""
        sites = list(self._all_sites())
        return (
            sum(site.units for site in sites),
            sum(site.detailed for site in sites),
            sum(site.represented for site in sites),
        )

    def totals(self) -> dict[int, float]:
        """Return the ticks of all units that begin with a meter, by the meter's id."""
        found: dict[int, float] = {}
        for site in self._all_sites():
            found[id(site.meter)] = found.get(id(site.meter), 0.0) + site.ticks
        return found

    def spent(self) -> float:
        """Return the ticks that measuring units in detail has cost."""
        return sum(site.spent for site in self._all_sites())

    def _mark_waiting(self) -> None:
        """Let the clauses that may wait for the database of a table count that as their time."""
        if self._assembly.tables.stores:
            for clause in self.clauses:
                clause.meter.waits = clause.kind in ("output", "join", "filter", "select")

    def _all_sites(self) -> Iterator[SampleSite]:
        for _, site in self._sites:
            yield from (one for one in (site, site.blocks, site.flushes) if one is not None)

    def _build(self) -> None:
        assembly = self._assembly
        spans = {stream.id: stream.span for stream in assembly.plan.streams.values()}
        for id_, junction in assembly.junctions.items():
            self._input(junction, id_, spans.get(id_))
        plans = _plans(assembly)
        partitions = {
            execution.name: execution for execution in assembly.plan.executions if isinstance(execution, PartitionPlan)
        }
        for path, built in assembly.built_queries().items():
            self._queries[path] = _MeasuredQuery(self, path, built, self.text_of(plans[path].span), assembly)
        for name, place, receiver in assembly.entries:
            if isinstance(receiver, PartitionReceiver):
                partition = assembly.partitions[name]
                clause = self.clause(name, "partition", partitions[name].span)
                clause.state.append(partition.keys)
                self._enter(
                    clause, receiver, place, QueryProbe(assembly.context, self._sampler, None, Meter("output", None))
                )
        # Receivers of a partition are entries before those of its queries.
        sources = {
            id(receiver): place.id for _, place, receiver in assembly.entries if isinstance(place, StreamJunction)
        }
        for name, place, receiver in assembly.entries:
            if not isinstance(receiver, PartitionReceiver):
                query = self._queries[name]
                source = place.id if isinstance(place, StreamJunction) else sources[id(place)]
                self._enter(query.entry(receiver, source), receiver, place, query.probe)
        for query in self._queries.values():
            query.end()
        for name, trigger in assembly.triggers.items():
            plain = QueryProbe(assembly.context, self._sampler, None, Meter("output", None))
            self.time(trigger, self.clause(name, "trigger", assembly.plan.triggers[name].span), plain)
        for (kind, name), junction, receiver in assembly.insert_entries:
            plain = QueryProbe(assembly.context, self._sampler, None, Meter("output", None))
            span = (assembly.plan.windows if kind == "Windows" else assembly.plan.aggregations)[name].span
            clause = self.clause(name, "window" if kind == "Windows" else "aggregation", span)
            owner = assembly.windows[name] if kind == "Windows" else assembly.aggregations[name]
            clause.state += owner.stateful.values()
            self._enter(clause, receiver, junction, plain)
            for step in owner.stateful.values():
                self.time(step, clause, plain)

    def clause(self, owner: str, kind: str, *spans: Span | None) -> Clause:
        """Make a clause."""
        clause = Clause(owner, kind, tuple(span for span in spans if span is not None), Meter(kind, owner))
        self.clauses.append(clause)
        return clause

    def time(self, step: Processor, clause: Clause, probe: QueryProbe) -> None:
        """Measure the timers of an operator."""
        self._sites.append((step, TimerSite(self._sampler, clause.meter, probe)))

    @property
    def sampler(self) -> Sampler:
        """What is sampled."""
        return self._sampler

    def text_of(self, span: Span | None) -> Query | None:
        """Return the query at a place of the text."""
        return None if span is None else self._texts.get(span)

    def _input(self, junction: StreamJunction, name: str, span: Span | None) -> SampleSite:
        site = self._inputs.get(id(junction))
        if site is None:
            clause = self.clause(name, "input", span)
            clause.site = site = SampleSite(self._sampler, clause.meter)
            blocks, flushes, reading = (Meter("input", name) for _ in range(3))
            site.divide(SampleSite(self._sampler, blocks), SampleSite(self._sampler, flushes), reading)
            self._inputs[id(junction)] = site
            self._sites.append((junction, site))
        return site

    def _enter(
        self, clause: Clause, receiver: Receiver, place: StreamJunction | PartitionReceiver, probe: QueryProbe
    ) -> None:
        self._entries.append(ProfiledEntry(receiver, place, clause.meter, probe))


class _MeasuredQuery:
    """The clauses of a query."""

    def __init__(self, probes: Probes, path: str, built: BuiltQuery, text: Query | None, assembly: Assembly) -> None:
        self._probes = probes
        self._path = path
        self._built = built
        self._text = text
        self._linked: set[int] = set()
        self._by_step: dict[int, Clause] = {}
        output_span = None if text is None else text.output.span
        rate_span = None if text is None or text.rate is None else text.rate.span
        self._heads: list[Clause] = []
        emitted = Meter("output", path)
        self._output = Clause(path, "output", tuple(span for span in (rate_span, output_span) if span), emitted)
        self.probe = QueryProbe(assembly.context, probes.sampler, built.output, emitted)
        self._select: Clause | None = None
        self._remaining = _inputs(text)

    def entry(self, receiver: Receiver, source: str) -> Clause:
        """Return the clause of an entry of a stream, and measure the operators that it calls."""
        if isinstance(receiver, PatternEntry):
            return self._pattern(source)
        if isinstance(receiver, SelfJoinEntry):
            first: Clause | None = None
            for side in (receiver.left, receiver.right):
                if side is not None:
                    clause = self._chain(side, source)
                    first = first or clause
            assert first is not None
            return first
        assert isinstance(receiver, QueryEntry)
        return self._chain(receiver, source)

    def _chain(self, entry: QueryEntry, source: str) -> Clause:
        """Measure the operators of one source."""
        text = next((text for text in self._remaining if _source_of(text) == source.lstrip("#!")), None)
        if text is None and self._remaining:
            text = self._remaining[0]
        if text is not None:
            self._remaining.remove(text)
        handlers: list[Handler] = [] if text is None else list(text.handlers)
        filters: list[Handler] = []
        while handlers and isinstance(handlers[0], Filter):
            filters.append(handlers.pop(0))
        if filters:
            first = self._clause("filter", *filters)
        else:
            first = self._probes.clause(self._path, "from", None if text is None else _source_span(text))
        self._heads.append(first)
        before = first
        owner: QueryEntry | Processor = entry
        step = next_of(owner)
        while step is not None:
            clause = self._step(step, handlers)
            if clause is not None:
                before.follows = clause
                self._measure(owner, clause)
                before = clause
            if isinstance(step, KeyLimiter | Selector | Projection):
                break
            owner, step = step, next_of(step)
        return first

    def _step(self, step: Processor, handlers: list[Handler]) -> Clause | None:
        """Return the clause of an operator; None: its time is that of the one before it."""
        known = self._by_step.get(id(step))
        if known is not None:
            return known
        if isinstance(step, RecordCopyProcessor | PassingWindow):
            return None
        if isinstance(step, KeyLimiter | Selector | Projection):
            clause = self._selection(handlers)
        elif isinstance(step, JoinStep | AggregationJoin):
            clause = self._clause("join", None if self._text is None else self._text.input)
        elif isinstance(step, FilterProcessor):
            clause = self._clause("filter", _next(handlers, Filter))
        elif isinstance(step, Window):
            clause = self._clause("window", _next(handlers, WindowHandler))
        else:
            clause = self._clause("function", handlers.pop(0) if handlers else None)
        self._by_step[id(step)] = clause
        clause.state.append(step)
        self._probes.time(step, clause, self.probe)
        return clause

    def _selection(self, handlers: list[Handler]) -> Clause:
        # A window that is fused with the selection has no operator of its own.
        window = next((handler for handler in handlers if isinstance(handler, WindowHandler)), None)
        if self._select is None:
            selector = None if self._text is None else self._text.selector
            self._select = self._clause("select" if window is None else "window, select", selector, window)
            self._select.follows = self._output
        return self._select

    def _pattern(self, source: str) -> Clause:
        states = [] if self._text is None else list(_states(self._text.input))
        mine = [state for state in states if state.source == source.lstrip("#!")]
        clause = self._clause("pattern", *mine)
        pattern = self._built.stateful["pattern"]
        assert isinstance(pattern, Pattern)
        if not self._heads:
            clause.state.append(pattern)
            self._probes.time(pattern, clause, self.probe)
            selection = next_of(pattern)
            assert selection is not None
            select = self._selection([])
            self._measure(pattern, select)
            if "selector" in self._built.stateful:
                select.state.append(selection)
        clause.follows = self._select
        self._heads.append(clause)
        return clause

    def end(self) -> None:
        """Add the output after the clauses that lead to it, and the operators with state that no clause has yet."""
        self._probes.clauses.append(self._output)
        owned = {id(step) for clause in self._probes.clauses for step in clause.state}
        for step in self._built.stateful.values():
            if id(step) not in owned and self._heads:
                home = self._heads[0] if isinstance(step, AggregatorStates) else self._select or self._heads[0]
                home.state.append(step)
        limiter = limiter_of(self._built.output)
        if limiter is not None:
            self._probes.time(limiter, self._output, self.probe)

    def _measure(self, owner: QueryEntry | Pattern | Processor, clause: Clause) -> None:
        if id(owner) not in self._linked:
            self._linked.add(id(owner))
            self.probe.measure(owner, clause.meter)

    def _clause(self, kind: str, *nodes: Node | None) -> Clause:
        return self._probes.clause(self._path, kind, *(None if node is None else node.span for node in nodes))


def _next(handlers: list[Handler], kind: type[Handler]) -> Handler | None:
    """Take the next handler of a kind, and those before it: an operator need not have a handler of its own."""
    while handlers:
        found = handlers.pop(0)
        if isinstance(found, kind):
            return found
    return None


def _plans(assembly: Assembly) -> Mapping[str, QueryPlan]:
    """Return the plans of all queries by name, those of partitions as ``partition/query``."""
    found: dict[str, QueryPlan] = {}
    for execution in assembly.plan.executions:
        if isinstance(execution, PartitionPlan):
            found |= {f"{execution.name}/{query.name}": query for query in execution.queries}
        else:
            found[execution.name] = execution
    return found


def _queries(executions: tuple[Query | Partition, ...]) -> Iterator[Query]:
    for execution in executions:
        for query in execution.queries if isinstance(execution, Partition) else (execution,):
            while True:
                yield query
                if not isinstance(query.input, AnonymousInput):
                    break
                query = query.input.query


def _inputs(text: Query | None) -> list[SingleInput | AnonymousInput]:
    """Return the sources of a query in text order."""
    input_: Input | None = None if text is None else text.input
    if isinstance(input_, JoinInput):
        return [input_.left, input_.right]
    return [input_] if isinstance(input_, SingleInput | AnonymousInput) else []


def _source_span(text: SingleInput | AnonymousInput) -> Span | None:
    """Return where the source stands, without its handlers."""
    first = text.handlers[0].span if text.handlers else None
    if text.span is None or first is None:
        return text.span
    return Span(text.span.line, text.span.column, first.line, first.column)


def _source_of(text: SingleInput | AnonymousInput) -> str | None:
    return text.source if isinstance(text, SingleInput) else None


def _states(input_: Input | State) -> Iterator[SingleInput]:
    """Yield the sources of a pattern or sequence in text order."""
    match input_:
        case PatternInput() | SequenceInput():
            yield from _states(input_.state)
        case StreamState() | AbsentState():
            yield input_.input
        case CountState() | EveryState():
            yield from _states(input_.state)
        case NextState() | LogicalState():
            for state in input_.states:
                yield from _states(state)
