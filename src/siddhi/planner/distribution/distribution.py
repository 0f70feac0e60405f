"""By which keys an app falls apart: what each element keeps can be kept apart for each key, with the same results.

An element separates by a key if, for each value of the key, what it puts out for that value depends on the events of that
value alone, and on the clock under exact timers (``@app:playback(timers = 'exact')``). Who spreads an app over machines
needs to know; nothing in the engine does.
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
    """What is known of one element of an app.

    Attributes:
        name, kind, reads, writes: see :class:`siddhi.planner.plan.elements.AppElement`.
        tables: those it reads or writes.
        stateful: it remembers something from event to event.
        keys: those it separates by, each by itself and so any of them together; None: anything, () nothing. Streams that
            it reads and that a key does not name must reach every key.
        reason: why it separates by nothing; a clause.
        chunk_sensitive: what it puts out depends on which events came in one chunk.
        emits_chunks: it may put several events into one chunk.
        at_once: each event it puts out comes of one event, alone, at that event's time; so it is known where it belongs among
            other events.
        reads_clock: its expressions look at the clock.
        deterministic: the same events give the same results.
        endless: why it never comes to rest, or "".
        notes: in what it separates less than exactly; clauses.
        carries: (stream written, attribute, stream read, attribute) where an attribute is passed on as it is.
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
    """Every element of an app, in the order of :func:`siddhi.planner.plan.elements.app_elements`."""
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
            found[number] = replace(one, keys=(), reason="it keeps for a time what comes behind its time, in one queue")
        elif one.name in woken and one.keys != ():
            found[number] = replace(
                one, keys=(), reason="it keeps what timers put out just when its own are due, in one queue"
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
        return UNSPECIFIED  # its own, as that of its readers, comes with the stream it is
    return single_partition("a trigger is one for the whole app")


def _named_window(plan: NamedWindowPlan, joined: bool) -> Distribution:
    """By which keys a named window separates, for all who read it: what a join has looked at may leave it otherwise."""
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
    # Keys of one type are compared as they are; those of several types meet as text.
    type_ = types.pop() if len(types) == 1 and not ranged else AttributeType.STRING
    if type_ not in KEY_TYPES:
        return single_partition(f"its key is a {type_}")
    odd = next((str(other) for other in types if other not in KEY_TYPES), None)
    if odd is not None:
        return single_partition(f"its key is a {odd}, and meets others as text")
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
    if not plan.group_by:
        return single_partition(f"aggregation '{plan.id}' has one row per bucket for all events, without 'group by'")

    def locate(attribute: Attr) -> tuple[str, str] | None:
        own = attribute.position < plan.input.source_width
        return (plan.input.source, plan.input.attributes[attribute.position].name) if own else None

    return partitioned_by(plan.group_by, locate, "it groups by no key of the stream")


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
    return any(source.window is not None and source.window.window.native == "batch" for source in sources_of(query))


def _makes_chunks(query: QueryPlan) -> bool:
    if isinstance(query.input, (JoinPlan, PatternPlan)) or holds_back(query):
        return True
    window = query.input.window
    functions = any(
        isinstance(handler, StreamFunctionPlan) and handler.function.native is None
        for handler in (*query.input.before, *query.input.after)
    )
    if window is None or functions:
        return functions
    return (
        window.window.batch
        or window.window.native is None
        or window.window.native in ("session", "delay")
        or (query.output.event_type is not OutputEventType.CURRENT)
    )


def _passes_chunks(element: AppElement | Element) -> bool:
    return element.kind in (ElementKind.QUERY, ElementKind.PARTITION)


def _propagate_chunks(found: list[Element]) -> tuple[Element, ...]:
    """Chunks go through filters, projections and more: whoever reads from someone who makes them may put them out."""
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
    """They, as they separate where events of several keys may come in one chunk."""
    whole = [element for element in elements if element.kind is not ElementKind.PARTITION]
    # What a partition puts out together is of one key; so are the matches of one event in a join or pattern.
    mixed = _written(whole, [element for element in whole if _mixes_keys(element)])
    # But where a partition cuts chunks, it depends on who stood between whom.
    parts = [element for element in elements if element.kind is ElementKind.PARTITION]
    cut = _written(elements, [element for element in parts if not mixed.isdisjoint(element.reads)])
    for plain, element in zip(elements, found, strict=True):
        felt = mixed | cut if element.kind is ElementKind.PARTITION else cut
        reason = ""
        if _counts_in_chunks(plain) and not mixed.isdisjoint(element.reads):
            reason = "it takes some of a chunk in which the events of all keys meet"
        elif _depends_on_cuts(plain) and not felt.isdisjoint(element.reads):
            reason = "chunks of several keys come to it in runs of one key each"
        yield replace(element, keys=(), reason=reason) if reason and element.keys != () else element


def _written(elements: Sequence[AppElement], first: Iterable[AppElement]) -> frozenset[str]:
    """The streams that some elements write, and those that others make of them."""
    found = {stream for element in first for stream in element.writes}
    while True:
        more = {stream for element in elements if not found.isdisjoint(element.reads) for stream in element.writes}
        if more <= found:
            return frozenset(found)
        found |= more


def _mixes_keys(element: AppElement) -> bool:
    """Whether what comes of several events may be one chunk."""
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
    """Whether what it puts out for one key depends on where the events of the key are cut into chunks."""
    windows = [element.plan.window] if isinstance(element.plan, NamedWindowPlan) else []
    for query in _queries(element):
        windows += [source.window for source in sources_of(query) if source.window is not None]
        if _looks_at_chunks(query) or _calls_processors(query):
            return True
    # A session takes no event that comes in one chunk with its end; what windows of others do is not known.
    return any(window.window.native in (None, "session", "batch") for window in windows)


def _calls_processors(query: QueryPlan) -> bool:
    """Whether it calls stream functions that are not built in: these see chunks."""
    return any(
        isinstance(handler, StreamFunctionPlan) and handler.function.native is None
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
    if any(source.window is not None and source.window.window.native is None for source in sources_of(query)):
        return False
    return not _calls_processors(query)


def _is_random(node: TypedExpression) -> bool:
    """Whether its value differs from run to run; the clock and the times of events do not."""
    if not isinstance(node, Call):
        return False
    return node.function.native == "UUID" or (node.function.native is None and not node.function.deterministic)


def _notes(element: AppElement, queries: Iterable[QueryPlan]) -> Iterator[str]:
    if isinstance(element.plan, PartitionPlan) and element.plan.purge is not None:
        yield "idle keys are purged at times counted from the first event of all keys"
    for query in queries:
        for source in sources_of(query):
            if source.window is not None and source.window.window.native == "externalTime":
                yield f"'externalTime' of '{query.name}' must see the time of its events go on"


def _carried(element: AppElement) -> Iterator[tuple[str, str, str, str]]:
    """What is passed on as it is, and never left out, by every query that writes the stream, through streams of a
    partition's own, too."""
    if isinstance(element.plan, NamedWindowPlan):
        for kept in element.plan.attributes:
            yield element.name, kept.name, element.name, kept.name
        return
    carried: dict[str, set[tuple[str, str, str]]] = {}
    for query in _queries(element):
        found = set()
        locate = selected_locator(query)
        for column in query.selector.columns:
            place = locate(column.expression) if isinstance(column.expression, Attr) else None
            if place is not None and place[0].startswith("#"):
                origins = [(stream, origin) for name, stream, origin in carried.get(place[0], ()) if name == place[1]]
                found |= {(column.name, *origin) for origin in origins}
            elif place is not None:
                found.add((column.name, *place))
        target = query.output.target
        carried[target] = found if target not in carried else carried[target] & found
    for target, each in carried.items():
        if target in element.writes:
            for name, stream, attribute in sorted(each):
                yield target, name, stream, attribute
