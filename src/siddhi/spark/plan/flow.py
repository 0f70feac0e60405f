"""Order the elements of an app by data flow, and group those that must share an engine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from siddhi.planner.distribution.distribution import Element
from siddhi.planner.plan.elements import app_elements
from siddhi.planner.plan.nodes import OnErrorAction, Plan

__all__ = ["groups_in_order"]


def groups_in_order(plan: Plan, elements: Sequence[Element], written: Collection[str]) -> list[list[Element]]:
    """Return groups of elements that must share an engine, producers first and otherwise in text order.

    Args:
        plan: plan of the app.
        elements: its elements, in text order.
        written: tables that queries write.
    """
    together = _UnionFind(len(elements))
    for shared in _shared(plan, elements, written):
        for other in shared[1:]:
            together.join(shared[0], other)
    while True:
        follows = _edges(elements, together)
        cycle = _cycle(follows)
        if cycle is None:
            break
        for other in cycle[1:]:
            together.join(cycle[0], other)
    groups: dict[int, list[Element]] = {}
    for number, element in enumerate(elements):
        groups.setdefault(together.root(number), []).append(element)
    pending = dict(groups)
    ordered: list[list[Element]] = []
    while pending:
        ready = next(root for root in pending if not any(before in pending for before in follows.get(root, ())))
        ordered.append(pending.pop(ready))
    return ordered


def _shared(plan: Plan, elements: Sequence[Element], written: Collection[str]) -> Iterator[list[int]]:
    """Yield the indexes of elements that use one shared thing: a table, window, trigger, aggregation or fault stream."""
    parts = {element.name: element for element in app_elements(plan)}

    def users(*names: str) -> list[int]:
        found = []
        for number, element in enumerate(elements):
            part = parts[element.name]
            touched = {element.name, *element.reads, *element.writes, *part.uses, *part.changes}
            if touched.intersection(names):
                found.append(number)
        return found

    for name in (*written, *plan.windows, *plan.triggers, *plan.aggregations):
        yield users(name)
    for name in dict.fromkeys(stream for element in elements for stream in element.writes):
        if name.startswith("anonymous-"):  # an inner query and the query that reads it are one text
            yield users(name)
    for stream in plan.streams.values():
        if stream.on_error is OnErrorAction.STREAM:
            yield [n for n, e in enumerate(elements) if stream.id in e.reads or f"!{stream.id}" in e.reads]


class _UnionFind:
    """Disjoint sets of elements."""

    def __init__(self, n: int) -> None:
        self._up = list(range(n))

    def root(self, number: int) -> int:
        while self._up[number] != number:
            number = self._up[number]
        return number

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self.root(one), self.root(other)))
        self._up[second] = first


def _edges(elements: Sequence[Element], together: _UnionFind) -> dict[int, set[int]]:
    """Return the groups that each group reads from, without itself."""
    producers: dict[str, set[int]] = {}
    for number, element in enumerate(elements):
        for stream in element.writes:
            producers.setdefault(stream, set()).add(together.root(number))
    found: dict[int, set[int]] = {}
    for number, element in enumerate(elements):
        root = together.root(number)
        before = found.setdefault(root, set())
        for stream in element.reads:
            before.update(producers.get(stream, ()))
        before.discard(root)
    return found


def _cycle(follows: dict[int, set[int]]) -> list[int] | None:
    """Return the groups of one cycle, or None."""
    done: set[int] = set()
    for start in follows:
        path: list[int] = []
        pending: list[tuple[int, bool]] = [(start, False)]
        while pending:
            node, leaving = pending.pop()
            if leaving:
                path.pop()
                done.add(node)
                continue
            if node in done:
                continue
            if node in path:
                return path[path.index(node) :]
            path.append(node)
            pending.append((node, True))
            pending += [(before, False) for before in follows.get(node, ()) if before not in done]
    return None
