"""The distribution of an app's elements: unspecified, on a single partition, or hash partitioned by keys.

An element can be partitioned by a key if, for each value of the key, its output for that value depends on the events of that
value and on the clock under exact timers (``@app:playback(timers = 'exact')``) only. Running an app on several machines needs
this; the engine does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from siddhi._frozen import frozen, replace
from siddhi.planner.distribution.keys import (
    KEY_TYPES,
    UNSPECIFIED,
    Distribution,
    KeyExpression,
    KeyPart,
    combine,
    partitioned_by,
    range_key,
    single_partition,
)
from siddhi.planner.distribution.queries import (
    handler_distribution,
    join_distribution,
    query_distribution,
    selected_locator,
    window_distribution,
)
from siddhi.planner.distribution.tables import table_distributions
from siddhi.planner.distribution.timers import holds_back, late_event_keepers, woken_by_timers
from siddhi.planner.plan.aggregations import AggregationPlan
from siddhi.planner.plan.elements import AppElement, ElementKind, app_elements
from siddhi.planner.plan.endless import endless_parts, endless_query
from siddhi.planner.plan.expressions import Attr, Call, TypedExpression
from siddhi.planner.plan.graph import expressions_of, sources_of
from siddhi.planner.plan.nodes import (
    JoinPlan,
    NamedWindowPlan,
    PartitionPlan,
    Plan,
    QueryPlan,
    SelectMode,
    SingleInputPlan,
    SourceKind,
    StreamFunctionPlan,
    ValueKeyPlan,
)
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.plan.processors import processors_of
from siddhi.planner.plan.text import expression_text
from siddhi.planner.plan.walk import has_aggregate, walk
from siddhi.query_api.selection import OutputEventType
from siddhi.query_api.span import Span
from siddhi.types import AttributeType

__all__ = ["Element", "KeyExpression", "KeyPart", "distributions"]


@frozen(kw_only=True)
class Element:
    """An element of an app with its distribution.

    Attributes:
        name, kind, reads, writes: see :class:`siddhi.planner.plan.elements.AppElement`.
        tables: tables that it reads or writes.
        stateful: whether it holds state.
        keys: keys it can be partitioned by, each alone or any of them together; None: unspecified; (): a single partition.
            Events of a stream that a key does not name must reach every partition.
        reason: why it needs a single partition; a clause.
        chunk_sensitive: whether its output depends on the chunks of its input.
        emits_chunks: whether it may emit chunks of several events.
        one_to_one: whether each output event comes from one input event, alone and at its time, so that its position among other
            events is known.
        reads_clock: whether its expressions read the clock.
        deterministic: whether equal events give equal results.
        endless: why it never stops emitting, or "".
        notes: conditions of exact partitioning; clauses.
        carries: (stream written, attribute, stream read, attribute) for each attribute that is copied.
    """

    name: str
    kind: ElementKind
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    tables: tuple[str, ...]
    stateful: bool
    keys: tuple[KeyPart, ...] | None
    reason: str = ""
    chunk_sensitive: bool = False
    emits_chunks: bool = False
    one_to_one: bool = False
    reads_clock: bool = False
    deterministic: bool = True
    endless: str = ""
    notes: tuple[str, ...] = ()
    carries: tuple[tuple[str, str, str, str], ...] = ()
    span: Span | None = None


def distributions(plan: Plan) -> tuple[Element, ...]:
    """Return every element of an app, in the order of :func:`siddhi.planner.plan.elements.app_elements`."""
    elements = app_elements(plan)
    by_tables = table_distributions(plan, elements)
    joined = {name for element in elements for name in element.uses if name in plan.windows}
    windows = {id_: _named_window(window, id_ in joined) for id_, window in plan.windows.items()}
    endless = {part.name: part.reason for part in endless_parts(plan)}
    found = []
    for element in elements:
        distribution = combine(_own(element), by_tables.get(element.name, UNSPECIFIED))
        for window in element.reads:
            distribution = combine(distribution, windows.get(window, UNSPECIFIED))
        found.append(_described(plan, element, distribution, endless.get(element.name, "")))
    late, woken = late_event_keepers(elements), woken_by_timers(elements)
    for number, one in enumerate(found):
        if one.name in late and one.keys != ():
            found[number] = replace(one, keys=(), reason="it queues late events of all keys together")
        elif one.name in woken and one.keys != ():
            found[number] = replace(
                one, keys=(), reason="it queues events of timers, which fire with its own, for all keys together"
            )
    return tuple(_restrict_by_chunks(elements, _propagate_chunks(found)))


def _own(element: AppElement) -> Distribution:
    plan = element.plan
    if isinstance(plan, QueryPlan):
        return query_distribution(plan)
    if isinstance(plan, PartitionPlan):
        return _partition(plan)
    if isinstance(plan, AggregationPlan):
        return _aggregation(plan)
    if isinstance(plan, NamedWindowPlan):
        return UNSPECIFIED  # it is part of the distribution of its readers
    return single_partition("a trigger is one for the whole app")


def _named_window(plan: NamedWindowPlan, joined: bool) -> Distribution:
    """Return the distribution of a named window and its readers; a window that joins read may emit its events in another order."""
    shown = join_distribution(plan.window) if joined else UNSPECIFIED
    return combine(shown, window_distribution(plan.window, plan.id, plan.output))


def _partition(plan: PartitionPlan) -> Distribution:
    if any(isinstance(query.input, JoinPlan) and query.input.reading is not None for query in plan.queries):
        return single_partition("it reads an aggregation")
    if plan.limit is not None or any(
        query.limit is not None and query.limit.keys is not None for query in plan.queries
    ):
        return single_partition("'@limit' counts the keys of all rows together")
    sources = [source for query in plan.queries for source in sources_of(query)]
    for query in plan.queries:
        for side in sources_of(query) if isinstance(query.input, JoinPlan) else ():
            if side.kind is SourceKind.WINDOW:
                return single_partition(f"a join finds the events of all keys in window '{side.source}'")
    for window in (source.window for source in sources if source.window is not None):
        if window.window.takes_condition and (window.condition is None or has_aggregate(window.condition)):
            return single_partition(
                f"the condition of window '{window.window.full_name}' counts the events of all keys"
            )
    by = []
    types = {key.expression.type for key in plan.keys if isinstance(key, ValueKeyPlan)}
    ranged = any(not isinstance(key, ValueKeyPlan) for key in plan.keys)
    # Keys of one type are compared by value, those of several types as text.
    type_ = types.pop() if len(types) == 1 and not ranged else AttributeType.STRING
    if type_ not in KEY_TYPES:
        return single_partition(f"its key is a {type_}")
    odd = next((str(other) for other in types if other not in KEY_TYPES), None)
    if odd is not None:
        return single_partition(f"its key is a {odd}, and is compared with others as text")
    for key in plan.keys:
        if isinstance(key, ValueKeyPlan):
            text = expression_text(key.expression, {})
            plain = key.expression.name if isinstance(key.expression, Attr) else None
            by.append((key.stream, KeyExpression(text, plain)))
        else:
            by.append((key.stream, range_key(key)))
    return Distribution((KeyPart(tuple(by), type_),))


def _aggregation(plan: AggregationPlan) -> Distribution:
    found = handler_distribution((plan.input,))
    if found is not UNSPECIFIED:
        return found
    if plan.limit is not None:
        return single_partition(f"the limit of aggregation '{plan.id}' counts the rows of all groups together")
    if not plan.group_by:
        return single_partition(f"aggregation '{plan.id}' has one row per bucket for all events, without 'group by'")

    def locate(attribute: Attr) -> tuple[str, str] | None:
        own = attribute.position < plan.input.source_width
        return (plan.input.source, plan.input.attributes[attribute.position].name) if own else None

    return partitioned_by(plan.group_by, locate, "it groups by no attribute of the stream")


def _described(plan: Plan, element: AppElement, distribution: Distribution, endless: str) -> Element:
    queries = tuple(_queries(element))
    touched = element.uses | element.changes
    return Element(
        name=element.name,
        kind=element.kind,
        reads=element.reads,
        writes=element.writes,
        tables=tuple(table for table in plan.tables if table in touched),
        stateful=not isinstance(element.plan, QueryPlan) or _is_stateful(element.plan) or bool(element.changes),
        keys=distribution.parts,
        reason=distribution.reason,
        chunk_sensitive=any(map(_looks_at_chunks, queries)),
        emits_chunks=isinstance(element.plan, NamedWindowPlan) or any(map(_makes_chunks, queries)),
        one_to_one=_passes_chunks(element) and not any(map(_makes_chunks, queries)),
        reads_clock=any(map(_looks_at_clock, queries)),
        deterministic=all(map(_is_deterministic, queries)),
        endless=endless or next((why for why in map(endless_query, queries) if why), ""),
        notes=tuple(_notes(element, queries)),
        carries=tuple(_carried(element)),
        span=element.plan.span,
    )


def _queries(element: AppElement) -> Iterator[QueryPlan]:
    if isinstance(element.plan, QueryPlan):
        yield element.plan
    elif isinstance(element.plan, PartitionPlan):
        yield from element.plan.queries


def _is_stateful(query: QueryPlan) -> bool:
    if (
        not isinstance(query.input, SingleInputPlan)
        or query.rate is not None
        or query.selector.has_aggregates
        or query.limit
    ):
        return True
    if any(has_aggregate(expression) for expression in expressions_of(query)) or any(processors_of(sources_of(query))):
        return True
    return query.input.window is not None or query.input.kind is SourceKind.WINDOW


# --- chunks


def _looks_at_chunks(query: QueryPlan) -> bool:
    selector = query.selector
    if selector.mode is not SelectMode.EACH or selector.order_by or selector.limit is not None or selector.offset:
        return True
    return any(source.window is not None and source.window.window.builtin == "batch" for source in sources_of(query))


def _makes_chunks(query: QueryPlan) -> bool:
    if isinstance(query.input, (JoinPlan, PatternPlan)) or holds_back(query):
        return True
    window = query.input.window
    functions = any(
        isinstance(handler, StreamFunctionPlan) and handler.function.builtin is None
        for handler in (*query.input.before, *query.input.after)
    )
    if window is None or functions:
        return functions
    return (
        window.window.batch
        or window.window.builtin is None
        or window.window.builtin in ("session", "delay")
        or (query.output.event_type is not OutputEventType.CURRENT)
    )


def _passes_chunks(element: AppElement | Element) -> bool:
    return element.kind in (ElementKind.QUERY, ElementKind.PARTITION)


def _propagate_chunks(found: list[Element]) -> tuple[Element, ...]:
    """Propagate chunks through filters, projections and more: a reader of chunks may emit chunks."""
    while True:
        chunked = {stream for element in found if element.emits_chunks for stream in element.writes}
        later = {stream for element in found if not element.one_to_one for stream in element.writes}
        changed = False
        for number, element in enumerate(found):
            if not element.emits_chunks and _passes_chunks(element) and not chunked.isdisjoint(element.reads):
                found[number] = element = replace(element, emits_chunks=True)
                changed = True
            if element.one_to_one and not later.isdisjoint(element.reads):
                found[number] = replace(element, one_to_one=False)
                changed = True
        if not changed:
            return tuple(found)


def _restrict_by_chunks(elements: Sequence[AppElement], found: Sequence[Element]) -> Iterator[Element]:
    """Yield the elements, on a single partition where chunks with several keys change their results."""
    whole = [element for element in elements if element.kind is not ElementKind.PARTITION]
    # The chunks of a partition have one key, and so do the matches of one event in a join or pattern.
    mixed = _written(whole, [element for element in whole if _mixes_keys(element)])
    # A partition that cuts chunks makes the results depend on the order of their keys.
    parts = [element for element in elements if element.kind is ElementKind.PARTITION]
    cut = _written(elements, [element for element in parts if not mixed.isdisjoint(element.reads)])
    for plain, element in zip(elements, found, strict=True):
        felt = mixed | cut if element.kind is ElementKind.PARTITION else cut
        reason = ""
        if _counts_in_chunks(plain) and not mixed.isdisjoint(element.reads):
            reason = "it takes a part of chunks with the events of all keys"
        elif _depends_on_cuts(plain) and not felt.isdisjoint(element.reads):
            reason = "chunks of several keys reach it in runs of one key each"
        yield replace(element, keys=(), reason=reason) if reason and element.keys != () else element


def _written(elements: Sequence[AppElement], first: Iterable[AppElement]) -> frozenset[str]:
    """Return the streams that elements write, directly or through others."""
    found = {stream for element in first for stream in element.writes}
    while True:
        more = {stream for element in elements if not found.isdisjoint(element.reads) for stream in element.writes}
        if more <= found:
            return frozenset(found)
        found |= more


def _mixes_keys(element: AppElement) -> bool:
    """Return whether results of several events may be one chunk."""
    if not isinstance(element.plan, QueryPlan):
        return isinstance(element.plan, NamedWindowPlan)
    query = element.plan
    if isinstance(query.input, JoinPlan):
        return holds_back(query) or query.output.event_type is not OutputEventType.CURRENT
    return holds_back(query) or (not isinstance(query.input, PatternPlan) and _makes_chunks(query))


def _counts_in_chunks(element: AppElement) -> bool:
    if not isinstance(element.plan, QueryPlan):
        return False
    return element.plan.selector.limit is not None or bool(element.plan.selector.offset)


def _depends_on_cuts(element: AppElement) -> bool:
    """Return whether the output for one key depends on where chunks are cut."""
    windows = [element.plan.window] if isinstance(element.plan, NamedWindowPlan) else []
    for query in _queries(element):
        windows += [source.window for source in sources_of(query) if source.window is not None]
        if _looks_at_chunks(query) or _calls_processors(query):
            return True
    # A session takes no event of a chunk that ends it; windows of extensions are unknown.
    return any(window.window.builtin in (None, "session", "batch") for window in windows)


def _calls_processors(query: QueryPlan) -> bool:
    """Return whether a query calls stream functions of extensions, which see chunks."""
    return any(
        isinstance(handler, StreamFunctionPlan) and handler.function.builtin is None
        for source in sources_of(query)
        for handler in (*source.before, *source.after)
    )


# --- further properties


def _looks_at_clock(query: QueryPlan) -> bool:
    return any(
        isinstance(node, Call) and node.function.reads_clock
        for expression in expressions_of(query)
        for node in walk(expression)
    )


def _is_deterministic(query: QueryPlan) -> bool:
    if any(_is_random(node) for expression in expressions_of(query) for node in walk(expression)):
        return False
    if any(source.window is not None and source.window.window.builtin is None for source in sources_of(query)):
        return False
    return not _calls_processors(query)


def _is_random(node: TypedExpression) -> bool:
    """Return whether the value of an expression differs from run to run; the clock and event times do not."""
    if not isinstance(node, Call):
        return False
    if node.function.builtin == "eventTimestamp":
        return False
    return not node.function.deterministic and not (node.function.builtin is not None and node.function.reads_clock)


def _notes(element: AppElement, queries: Iterable[QueryPlan]) -> Iterator[str]:
    if isinstance(element.plan, PartitionPlan) and element.plan.purge is not None:
        yield "idle keys are purged at times counted from the first event of all keys"
    for query in queries:
        for source in sources_of(query):
            if source.window is not None and source.window.window.builtin == "externalTime":
                yield f"'externalTime' of '{query.name}' needs times that do not go back"


def _carried(element: AppElement) -> Iterator[tuple[str, str, str, str]]:
    """Yield the attributes that every query copies to a stream, and that are never missing, also through inner streams of a
    partition."""
    if isinstance(element.plan, NamedWindowPlan):
        for kept in element.plan.attributes:
            yield element.name, kept.name, element.name, kept.name
        return
    carried: dict[str, set[tuple[str, str, str]]] = {}
    for query in _queries(element):
        found = set()
        locate = selected_locator(query)
        for column in query.selector.columns:
            located = locate(column.expression) if isinstance(column.expression, Attr) else None
            if located is not None and located[0].startswith("#"):
                origins = [
                    (stream, origin) for name, stream, origin in carried.get(located[0], ()) if name == located[1]
                ]
                found |= {(column.name, *origin) for origin in origins}
            elif located is not None:
                found.add((column.name, *located))
        target = query.output.target
        carried[target] = found if target not in carried else carried[target] & found
    for target, each in carried.items():
        if target in element.writes:
            for name, stream, attribute in sorted(each):
                yield target, name, stream, attribute
