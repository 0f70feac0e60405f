"""File queries in the predicate index of their stream, each under the most selective part of its filters.

Of a thousand queries that ask for ``symbol == '...' and price > ...``, an event concerns few: the junction looks them up
instead of offering the event to all. The results are unchanged: a query ignores an event that its filters reject. The
order of conditions does not matter, with one exception: what stands behind a condition that can fail or has side effects
(a function, a script, ``in table``) is not used, since that condition must be evaluated for every event it sees today.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from siddhi._frozen import replace
from siddhi.planner.plan.expressions import Attr, TypedExpression
from siddhi.planner.plan.filing import Filing, FilingEntry, Interval, KeyValue
from siddhi.planner.plan.filing_parts import cannot_fail, parts_of
from siddhi.planner.plan.nodes import (
    FilterPlan,
    JoinPlan,
    Plan,
    PredicateIndex,
    QueryPlan,
    SingleInputPlan,
    SourceKind,
)
from siddhi.planner.plan.patterns import PatternPlan, SlotPlan, StateKind
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.planner.plan.walk import conjuncts, substitute
from siddhi.types import AttributeType

__all__ = ["FEWEST_QUERIES", "can_be_filed", "file_alone", "file_queries"]

FEWEST_QUERIES = 8
"""Minimum number of filed queries of a stream; with fewer, evaluating each filter costs less than a lookup."""

_UNBOUNDED = {
    AttributeType.LONG: (-(2**63), 2**63 - 1),
    AttributeType.DOUBLE: (float("-inf"), float("inf")),
}


def file_queries(plan: Plan) -> Plan:
    """Set :attr:`StreamPlan.predicate_index`, and the filings of the queries, join sides and patterns in the index.

    Queries in partitions are not filed: they receive the events of a key, not those of the stream.
    """
    places: dict[int, list[_Place]] = {}
    for execution in plan.executions:
        if isinstance(execution, QueryPlan) and (found := _places(execution.input)):
            places[id(execution)] = found
    every = [place for found in places.values() for place in found]
    queries = Counter(place.stream for place in every if place.first is None)
    many = {stream for stream, number in queries.items() if number >= FEWEST_QUERIES}
    queries.update(place.stream for place in every if place.first in many)
    many |= {stream for stream, number in queries.items() if number >= FEWEST_QUERIES}
    if not many:
        return plan
    values = _distinct_values(places.values())
    attributes: dict[str, dict[int, None]] = {stream: {} for stream in many}
    filed_under: Counter[str] = Counter()

    def filing_of(query: QueryPlan) -> Iterator[Filing | None]:
        for place in places[id(query)]:
            if place.stream not in many or (place.first is not None and place.first not in many):
                yield None
                continue
            filed_under[place.stream] += 1
            found = [_most_selective(parts, values[place.stream]) for parts in (place.parts, *place.more)]
            filing = tuple(dict.fromkeys([entry for each in found for entry in each]))
            used = attributes[place.stream]
            for entry in filing:
                if entry.position is not None:
                    used[entry.position] = None
                if entry.interval is not None:
                    used[entry.interval.position] = None
            yield filing

    def filed(query: QueryPlan, partitioned: bool) -> QueryPlan:
        if partitioned or id(query) not in places:
            return query
        input_, filings = query.input, list(filing_of(query))
        if isinstance(input_, SingleInputPlan):
            return replaced(query, input=replaced(input_, filing=filings[0]))
        if isinstance(input_, PatternPlan):
            return query if filings[0] is None else _with_filings(query, input_, filings, places[id(query)][0].sleeps)
        sides = [input_.left, input_.right]
        for place, filing in zip(places[id(query)], filings, strict=True):
            sides[place.number] = replaced(sides[place.number], filing=filing)
        return replaced(query, input=replaced(input_, left=sides[0], right=sides[1]))

    plan = map_queries(plan, filed)
    indexes = {stream: PredicateIndex(tuple(attributes[stream]), filed_under[stream]) for stream in many}
    return replaced(
        plan,
        streams={id_: replaced(stream, predicate_index=indexes.get(id_)) for id_, stream in plan.streams.items()},
    )


def can_be_filed(query: QueryPlan) -> bool:
    """Return whether a query over one stream has filters under which it can be filed."""
    return bool(_places(query.input))


def file_alone(query: QueryPlan, index: PredicateIndex, values: Counter[int]) -> tuple[QueryPlan, PredicateIndex]:
    """File a query over one stream, which :func:`can_be_filed`, beside those that are filed; return it and the index.

    Args:
        query: the query.
        index: the index of the stream.
        values: under how many values queries are filed, by attribute.
    """
    assert isinstance(query.input, SingleInputPlan)
    filing = _most_selective(_places(query.input)[0].parts, values)
    positions = [entry.position for entry in filing if entry.position is not None]
    positions += [entry.interval.position for entry in filing if entry.interval is not None]
    return (
        replaced(query, input=replaced(query.input, filing=filing)),
        PredicateIndex(tuple(dict.fromkeys([*index.positions, *positions])), index.queries + 1),
    )


class _Place(NamedTuple):
    """A source of a query that can be filed.

    Attributes:
        number: its number in the query.
        stream: the stream.
        parts: under what it can be filed: each filing covers every event that the filters accept or fail with.
        more: the same for further states of a pattern that receive the stream.
        sleeps: they hold only while no partial match of the pattern waits.
        first: the first stream of the pattern, if it is another one: this source is filed only if that one is.
    """

    number: int
    stream: str
    parts: Sequence[Filing]
    first: str | None = None
    more: Sequence[Sequence[Filing]] = ()
    sleeps: bool = False


def _places(input_: SingleInputPlan | JoinPlan | PatternPlan) -> list[_Place]:
    if isinstance(input_, PatternPlan):
        return _pattern_places(input_)
    sources = [input_] if isinstance(input_, SingleInputPlan) else [input_.left, input_.right]
    if len(sources) == 2 and sources[0].source == sources[1].source:
        return []  # one receiver serves both sides
    found = []
    for number, source in enumerate(sources):
        if source.kind is SourceKind.STREAM and (parts := list(parts_of(_conditions(source)))):
            found.append(_Place(number, source.source, parts))
    return found


def _with_filings(query: QueryPlan, input_: PatternPlan, filings: list[Filing | None], sleeps: bool) -> QueryPlan:
    return replaced(query, input=replaced(input_, filings=tuple(filings), sleeps=sleeps))


def _pattern_places(input_: PatternPlan) -> list[_Place]:
    """Return the places of a pattern: by the filters of all its states, or else while it sleeps by those of the first.

    It sleeps while it has no partial match, if each begins with an event of a filtered first state: no other event has an
    effect on it then. If it begins with an ``every`` group of several states, or with none, a partial match waits for its
    first event, and it never sleeps.
    """
    if {slot.kind for slot in input_.slots} != {SourceKind.STREAM}:
        return []
    if (parts := _parts_of_all(input_)) is not None:
        return [_Place(0, input_.slots[0].source, parts[0], more=parts[1:])]
    first = input_.states[0]
    slot = input_.slots[first.slots[0]]
    begins = first.kind is StateKind.STREAM and first.again == 0 and not slot.conditions
    own = _own_parts(slot, 0) if begins and all(cannot_fail(each) for each in slot.alone) else []
    if not own:
        return []
    return [
        _Place(number, stream, [()], slot.source, sleeps=True) if number else _Place(number, stream, own, sleeps=True)
        for number, stream in enumerate(input_.sources)
    ]


def _parts_of_all(input_: PatternPlan) -> list[list[Filing]] | None:
    """Return under what each state of a pattern can be filed; None if it depends on other events as well.

    These expire partial matches (``within``), end absences, break sequences, and count for limits. Between two streams they
    also settle the order in which partial matches wait.
    """
    conditions = [condition for slot in input_.slots for condition in (*slot.alone, *slot.conditions)]
    if (
        input_.is_sequence
        or input_.within_ms is not None
        or input_.max_partial_matches is not None
        or len(input_.sources) > 1
        or any(slot.absent for slot in input_.slots)
        or not all(cannot_fail(condition) for condition in conditions)
    ):
        return None
    found: list[list[Filing]] = []
    for number, slot in enumerate(input_.slots):
        own = _own_parts(slot, number)
        for key in slot.keys:
            value = _value_of(key.earlier, input_.slots, found)
            if isinstance(key.own, Attr) and value is not None and key.own.type is key.earlier.type:
                own.append((FilingEntry(key.own.position, value),))
        if not own:
            return None
        found.append(own)
    return found


def _own_parts(slot: SlotPlan, number: int) -> list[Filing]:
    """Return under what the conditions on the current event of a slot alone can be filed."""

    def as_first(node: TypedExpression) -> TypedExpression | None:
        return replace(node, slot=0) if isinstance(node, Attr) and node.slot == number else None

    return [part for condition in slot.alone for part in parts_of(conjuncts(substitute(condition, as_first)))]


def _value_of(earlier: TypedExpression, slots: Sequence[SlotPlan], known: Sequence[list[Filing]]) -> KeyValue:
    """Return the only value that an attribute of an earlier event can have, after the filter of its state; None: unknown."""
    if not isinstance(earlier, Attr) or earlier.index is not None or not 0 <= earlier.slot < len(known):
        return None
    if slots[earlier.slot].counting:
        return None
    for filing in known[earlier.slot]:
        if len(filing) == 1 and filing[0].position == earlier.position:
            return filing[0].value
    return None


def _conditions(input_: SingleInputPlan) -> Iterator[TypedExpression]:
    """Yield the conditions that an event must meet, up to the first that can fail."""
    before: TypedExpression | None = None
    for handler in input_.before:
        if not isinstance(handler, FilterPlan):
            return
        for condition in conjuncts(handler.condition):
            if before is not None and not cannot_fail(before):
                return
            yield condition
            before = condition


def _distinct_values(places: Iterable[list[_Place]]) -> dict[str, Counter[int]]:
    """Return for each stream how many values its queries ask for, by attribute."""
    seen: dict[str, set[tuple[int, object]]] = {}
    for found in places:
        for place in found:
            asked = seen.setdefault(place.stream, set())
            for filing in (filing for parts in (place.parts, *place.more) for filing in parts):
                asked.update((entry.position, entry.value) for entry in filing if entry.position is not None)
    return {stream: Counter(position for position, _ in asked) for stream, asked in seen.items()}


def _most_selective(parts: Iterable[Filing], values: Counter[int]) -> Filing:
    """Return the filing that finds the fewest events: equalities with the attribute that has most values, then intervals.

    A single interval on another attribute narrows the equalities.
    """
    keyed: list[Filing] = []
    others: list[Filing] = []
    intervals: dict[tuple[int, AttributeType], Interval] = {}
    for filing in parts:
        if not filing:
            return ()
        if len(filing) == 1 and filing[0].position is None and filing[0].interval is not None:
            interval = filing[0].interval
            known = intervals.get((interval.position, interval.type))
            if known is not None:
                interval = replace(interval, low=max(known.low, interval.low), high=min(known.high, interval.high))
                if interval.low > interval.high:
                    return ()
            intervals[interval.position, interval.type] = interval
        elif all(entry.position is not None for entry in filing):
            keyed.append(filing)
        else:
            others.append(filing)
    narrowest = min(intervals.values(), key=_width, default=None)
    if keyed:
        best = max(keyed, key=lambda filing: min(values[_position(entry)] for entry in filing) / len(filing))
        if narrowest is None:
            return best
        return tuple([entry if entry.interval is not None else replace(entry, interval=narrowest) for entry in best])
    if narrowest is not None:
        return (FilingEntry(interval=narrowest),)
    return min(others, key=len)


def _position(entry: FilingEntry) -> int:
    assert entry.position is not None
    return entry.position


def _width(interval: Interval) -> int:
    """Return how wide an interval is by its form: 0 is one value, 1 has two bounds, 2 has one bound."""
    low, high = _UNBOUNDED[interval.type]
    return 0 if interval.low == interval.high else 2 if interval.low == low or interval.high == high else 1
