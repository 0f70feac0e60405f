"""Distribution of the state of a query: windows, groups, rates, joins and patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from siddhi.planner.distribution.keys import (
    KEY_TYPES,
    UNSPECIFIED,
    Distribution,
    KeyPart,
    StreamAttribute,
    combine,
    partitioned_by,
    plain_part,
    single_partition,
)
from siddhi.planner.plan.expressions import Attr, Comparison, Const, TypedExpression
from siddhi.planner.plan.graph import sources_of
from siddhi.planner.plan.nodes import FilterPlan, JoinPlan, QueryPlan, SingleInputPlan, SourceKind, WindowPlan
from siddhi.planner.plan.patterns import PatternPlan, StateKind
from siddhi.planner.plan.processors import processors_of
from siddhi.planner.plan.walk import conjuncts, has_aggregate
from siddhi.query_api.expression import CompareOperator
from siddhi.query_api.input import JoinType, Trigger
from siddhi.query_api.selection import EventRate, OutputEventType, RateKind, TimeRate
from siddhi.types import AttributeType

__all__ = [
    "attribute_equalities",
    "equal_attributes",
    "handler_distribution",
    "join_distribution",
    "locator",
    "query_distribution",
    "selected_locator",
    "window_distribution",
]

_BY_TIME_ALONE = ("time", "delay")
_STATIC = (SourceKind.TABLE, SourceKind.AGGREGATION)


def query_distribution(query: QueryPlan) -> Distribution:
    """Return the distribution of a query, without the tables, named windows and aggregations it uses."""
    locate = locator(query)
    found = handler_distribution(sources_of(query))
    if found is not UNSPECIFIED:
        return found
    if isinstance(query.input, PatternPlan):
        found = _pattern(query.input)
    elif isinstance(query.input, JoinPlan):
        found = _join(query.input, locate)
    else:
        found = _window(query)
    if query.limit is not None and query.limit.keys is not None:
        return single_partition("'@limit' counts the keys of all rows together")
    selected = selected_locator(query)
    return combine(combine(found, _selection(query, selected)), _rate(query, selected))


def handler_distribution(sources: Sequence[SingleInputPlan]) -> Distribution:
    """Return the distribution of filters and stream functions; those with state need a single partition."""
    if any(
        isinstance(handler, FilterPlan) and has_aggregate(handler.condition)
        for source in sources
        for handler in (*source.before, *source.after)
    ):
        return single_partition("an aggregate in a filter sees all rows")
    processor = next(processors_of(sources), None)
    if processor is None:
        return UNSPECIFIED
    return single_partition(f"stream processor '{processor.full_name}' may hold state of all keys")


def locator(query: QueryPlan) -> Callable[[Attr], StreamAttribute | None]:
    """Return a function for the stream and name of an attribute; it returns None for anything but an attribute of a stream."""
    input_ = query.input
    if isinstance(input_, PatternPlan):
        slots = input_.slots

        def in_pattern(attribute: Attr) -> StreamAttribute | None:
            if not 0 <= attribute.slot < len(slots) or attribute.index is not None or slots[attribute.slot].counting:
                return None
            slot = slots[attribute.slot]
            return slot.source, slot.attributes[attribute.position].name

        return in_pattern
    sides = sources_of(query)
    changed = [any(processors_of((side,))) for side in sides]

    def in_sides(attribute: Attr) -> StreamAttribute | None:
        if not 0 <= attribute.slot < len(sides):
            return None
        side = sides[attribute.slot]
        if changed[attribute.slot]:
            return None  # a stream processor may change events
        if attribute.position >= side.source_width or side.kind in _STATIC:
            return None
        return side.source, side.attributes[attribute.position].name

    return in_sides


def selected_locator(query: QueryPlan) -> Callable[[Attr], StreamAttribute | None]:
    """Return a function like :func:`locator` for a selection; it returns None for slots that may be empty, whose null is in every
    partition."""
    locate, empty = locator(query), _may_be_empty(query.input)
    return lambda attribute: None if attribute.slot in empty else locate(attribute)


def _may_be_empty(input_: SingleInputPlan | JoinPlan | PatternPlan) -> frozenset[int]:
    """Return the slots that are empty in some output of a query."""
    if isinstance(input_, JoinPlan):
        # A side is empty if an event of the other side, kept without match, came or went.
        ways = (
            (0, input_.right, JoinType.RIGHT_OUTER, Trigger.LEFT),
            (1, input_.left, JoinType.LEFT_OUTER, Trigger.RIGHT),
        )
        return frozenset(
            slot
            for slot, other, kept, alone in ways
            if input_.type in (kept, JoinType.FULL_OUTER) and input_.trigger is not alone and other.kind not in _STATIC
        )
    if isinstance(input_, PatternPlan):
        optional = {
            slot for state in input_.states if state.kind is StateKind.OR or not state.min for slot in state.slots
        }
        return frozenset(optional | {number for number, slot in enumerate(input_.slots) if slot.absent})
    return frozenset()


# --- one stream


def _window(query: QueryPlan) -> Distribution:
    assert isinstance(query.input, SingleInputPlan)
    if query.input.window is None:
        return UNSPECIFIED
    return window_distribution(query.input.window, query.input.source, query.output.event_type)


def window_distribution(window: WindowPlan, source: str, shown: OutputEventType) -> Distribution:
    """Return the distribution of a window.

    Args:
        source: the stream whose attributes its arguments read.
        shown: the events of the window that are emitted.
    """
    name, arguments = window.window.builtin, window.arguments
    if name in _BY_TIME_ALONE:
        return UNSPECIFIED
    if name == "externalTime":
        if shown is OutputEventType.CURRENT:
            return UNSPECIFIED
        return single_partition("events that leave 'externalTime' have the time of the next event of any key")
    if name == "timeBatch":
        if len(arguments) > 1 and isinstance(arguments[1], Const) and arguments[1].type is not AttributeType.BOOL:
            if _is_past(arguments[1]):
                return UNSPECIFIED
            return single_partition(
                "the first period of 'timeBatch' depends on the distance of its start from the first event"
            )
        return single_partition("the periods of 'timeBatch' without a start begin with the first event of all keys")
    if name == "externalTimeBatch":
        return single_partition("a batch of 'externalTimeBatch' ends with the next event of any key")
    if name == "session":
        if len(arguments) > 1 and isinstance(arguments[1], Attr) and arguments[1].type in KEY_TYPES:
            key = arguments[1]
            return Distribution((plain_part(((source, key.name),), key.type),))
        return single_partition("a 'session' without a key is one for all events")
    return single_partition(f"the content of window '{window.window.full_name}' depends on all events")


def _is_past(start: Const) -> bool:
    """Return whether no event precedes the start of periods, so that all begin at multiples from there."""
    return isinstance(start.value, int) and start.value <= 0


# --- the selection


def _selection(query: QueryPlan, locate: Callable[[Attr], StreamAttribute | None]) -> Distribution:
    selector, input_ = query.selector, query.input
    window = input_.window if isinstance(input_, SingleInputPlan) else None
    found = UNSPECIFIED
    if selector.has_aggregates and not selector.group_by:
        return single_partition("it aggregates over all events, without 'group by'")
    if selector.group_by and (selector.has_aggregates or window is not None):
        names = ", ".join(attribute.name for attribute in selector.group_by)
        found = partitioned_by(selector.group_by, locate, f"'group by {names}' groups by no attribute of the stream")
    if selector.limit is not None or selector.offset:
        # A chunk of one event has its key; a chunk of a timer or a batch has all keys.
        shared = window is not None and (window.window.batch or query.output.event_type is not OutputEventType.CURRENT)
        if shared or (window is not None and window.window.builtin in ("session", "delay")):
            word = "limit" if selector.limit is not None else "offset"
            return single_partition(f"'{word}' applies to chunks with the events of all keys")
    return found


def _rate(query: QueryPlan, locate: Callable[[Attr], StreamAttribute | None]) -> Distribution:
    rate = query.rate
    if rate is None:
        return UNSPECIFIED
    if isinstance(rate, (EventRate, TimeRate)) and rate.kind is RateKind.FIRST and query.selector.group_by:
        return partitioned_by(query.selector.group_by, locate, "the rate counts by no attribute of the stream")
    return single_partition("the output rate counts, or ticks, for all events")


# --- joins


def _join(join: JoinPlan, locate: Callable[[Attr], StreamAttribute | None]) -> Distribution:
    sides = (join.left, join.right)
    if any(side.kind is SourceKind.AGGREGATION for side in sides):
        return single_partition("it reads an aggregation")
    tables = [side for side in sides if side.kind is SourceKind.TABLE]
    for side in sides:
        shown = UNSPECIFIED if side.window is None else join_distribution(side.window)
        if shown is not UNSPECIFIED:
            return shown
    if tables:
        return UNSPECIFIED
    pairs = equal_attributes(join, locate)
    if join.left.source == join.right.source:
        pairs = [(one, other) for one, other in pairs if one == other]
    types = {(side.source, attribute.name): attribute.type for side in sides for attribute in side.attributes}
    parts = tuple(plain_part(pair, types[pair[0]]) for pair in pairs if types[pair[0]] in KEY_TYPES)
    return Distribution(parts) if parts else single_partition("its two sides have no equality of keys")


def join_distribution(window: WindowPlan) -> Distribution:
    """Return the distribution of a window that joins read."""
    if window.window.builtin == "time":
        return UNSPECIFIED
    return single_partition(f"what a join sees in window '{window.window.full_name}' depends on all events")


def equal_attributes(
    join: JoinPlan, locate: Callable[[Attr], StreamAttribute | None]
) -> list[tuple[StreamAttribute, StreamAttribute]]:
    """Return the attributes of the left and the right stream that must be equal."""
    found = []
    for left, right in attribute_equalities(join.on):
        first, second = sorted((left, right), key=lambda attribute: attribute.slot)
        sources = (locate(first), locate(second))
        if (first.slot, second.slot) == (0, 1) and sources[0] is not None and sources[1] is not None:
            found.append((sources[0], sources[1]))
    return found


def attribute_equalities(condition: TypedExpression | None) -> list[tuple[Attr, Attr]]:
    """Return the pairs of attributes that a condition requires to be equal."""
    return [
        (node.left, node.right)
        for node in conjuncts(condition)
        if isinstance(node, Comparison)
        and node.operator is CompareOperator.EQUAL
        and isinstance(node.left, Attr)
        and isinstance(node.right, Attr)
    ]


# --- patterns


def _pattern(pattern: PatternPlan) -> Distribution:
    if pattern.is_sequence:
        return single_partition("a sequence reacts to every event")
    if pattern.max_partial_matches is not None:
        return single_partition("the partial matches of all keys are counted together")
    first = pattern.states[0]
    if any(state.again is not None for state in pattern.states[1:]):
        return single_partition("'every' is not on the first state alone")
    if first.kind is not StateKind.STREAM:
        return single_partition("its first state is not one event")
    if first.again != 0:
        return single_partition("without 'every' on the first state, one match ends the search for all keys")
    if len(pattern.slots) == 1:
        return UNSPECIFIED
    parts: list[KeyPart] = []
    slot = pattern.slots[first.slots[0]]
    for position, attribute in enumerate(slot.attributes):
        part = _followed(pattern, first.slots[0], position) if attribute.type in KEY_TYPES else None
        if part is not None and part not in parts:
            parts.append(part)
    if parts:
        return Distribution(tuple(parts))
    return single_partition("its states have no equality of keys with the first one")


def _followed(pattern: PatternPlan, first: int, position: int) -> KeyPart | None:
    """Return the key of an attribute of the first event, if every later event must have the same value."""
    slots = pattern.slots
    type_ = slots[first].attributes[position].type
    equal = {first: position}
    for number, slot in enumerate(slots):
        if number == first:
            continue
        for left, right in (pair for condition in slot.conditions for pair in attribute_equalities(condition)):
            own, other = (left, right) if left.slot == number else (right, left)
            if own.slot != number or other.slot not in equal or own.index is not None or other.index is not None:
                continue
            if equal[other.slot] == other.position and not slots[other.slot].counting and own.type is type_:
                equal[number] = own.position
                break
        if number not in equal:
            return None
    named = [(slots[number].source, slots[number].attributes[at].name) for number, at in equal.items()]
    if len(set(named)) != len({stream for stream, _ in named}):
        return None
    return plain_part(named, type_)
