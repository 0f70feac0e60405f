"""The temporal algebra over whole histories: every operator by its definition, without increments.

A history is a sorted list of (start, end, row). Results of operators equal those of the engine at CTI MAX.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from siddhi.temporal import MAX

Row = tuple[Any, ...]
Lifetime = tuple[int, int, Row]
History = list[Lifetime]


def ordered(lifetimes: Iterable[Lifetime]) -> History:
    """Return a history in a stable order; null comes first."""
    return sorted(lifetimes, key=lambda one: (one[0], one[1], [(value is not None, value or 0) for value in one[2]]))


def history(items: Iterable[Sequence[Any]]) -> History:
    """Return the history that output items of any model tell: interval, point, or edges."""
    told: History = []
    open_: dict[Any, list[int]] = defaultdict(list)
    for kind, start, end, data in items:
        if kind == "insert":
            told.append((start, end, tuple(data)))
        elif kind == "point":
            told.append((start, start + 1, tuple(data)))
        elif kind == "start":
            open_[start, tuple(data)].append(MAX)
        elif kind == "end":
            open_[start, tuple(data)].pop()
            told.append((start, end, tuple(data)))
    told += [(start, end, row) for (start, row), ends in open_.items() for end in ends]
    return ordered(told)


def moved(time: int, by: int) -> int:
    return time if time == MAX else time + by


def shift(left: History, by: int) -> History:
    return ordered((moved(start, by), moved(end, by), row) for start, end, row in left)


def alter(left: History, new_start: Callable[[int], int], duration: Callable[[int, int, Row], int]) -> History:
    made = []
    for start, end, row in left:
        length = duration(start, end, row)
        if length > 0:
            begin = new_start(start)
            made.append((begin, MAX if length == MAX else begin + length, row))
    return ordered(made)


def matching(right: History, row: Row, match: Callable[[Row, Row], bool]) -> History:
    return [one for one in right if match(row, one[2])]


def clip(left: History, right: History, match: Callable[[Row, Row], bool]) -> History:
    return ordered(
        (start, min([end, *(k for k, _, _ in matching(right, row, match) if start < k < end)]), row)
        for start, end, row in left
    )


def join(left: History, right: History, match: Callable[[Row, Row], bool]) -> History:
    return ordered(
        (max(start, begin), min(end, over), row + other)
        for start, end, row in left
        for begin, over, other in matching(right, row, match)
        if max(start, begin) < min(end, over)
    )


def anti_join(left: History, right: History, match: Callable[[Row, Row], bool]) -> History:
    pieces: History = []
    for start, end, row in left:
        covering = sorted((begin, over) for begin, over, _ in matching(right, row, match))
        at = start
        for begin, over in covering:
            if at < min(begin, end):
                pieces.append((at, min(begin, end), row))
            at = max(at, over)
        if at < end:
            pieces.append((at, end, row))
    return ordered(pieces)


def left_outer(left: History, right: History, match: Callable[[Row, Row], bool], width: int) -> History:
    alone = [(start, end, row + (None,) * width) for start, end, row in anti_join(left, right, match)]
    return ordered([*join(left, right, match), *alone])


def grouped(left: History, key: Callable[[Row], Any], apply: Callable[[History], History]) -> History:
    groups: dict[Any, History] = defaultdict(list)
    for one in left:
        groups[key(one[2])].append(one)
    return ordered(result for group in groups.values() for result in apply(group))


def snapshot(left: History, results: Callable[[History, int, int], list[Row]]) -> History:
    cuts = sorted({time for start, end, _ in left for time in (start, end)})
    made: History = []
    for begin, over in pairwise(cuts):
        alive = [one for one in left if one[0] < over and begin < one[1]]
        if alive:
            made += [(begin, over, row) for row in results(alive, begin, over)]
    return ordered(made)


def hopping(
    left: History,
    size: int,
    hop: int,
    alignment: int,
    results: Callable[[History, int, int], list[Row]],
    latest: int,
    *,
    is_clip: bool = False,
) -> History:
    """Windows of a grid; ``latest`` is the largest finite time that the operator knows."""
    made: History = []
    if not left:
        return made
    number = (min(start for start, _, _ in left) - alignment - size) // hop
    while (begin := alignment + number * hop) < latest:
        over = begin + size
        alive = [one for one in left if one[0] < over and begin < one[1]]
        if alive:
            made += [(begin, over, row) if is_clip else (over, over + 1, row) for row in results(alive, begin, over)]
        number += 1
    return ordered(made)


def count_by_start(left: History, count: int, results: Callable[[History, int, int], list[Row]]) -> History:
    starts = sorted({start for start, _, _ in left})
    made: History = []
    for first, last in zip(starts, starts[count - 1 :], strict=False):
        inside = [one for one in left if first <= one[0] <= last]
        made += [(last + 1, last + 2, row) for row in results(inside, first, last + 1)]
    return ordered(made)


def aggregates(position: int) -> Callable[[History, int, int], list[Row]]:
    """Return count, sum, avg, min and max of an attribute."""

    def results(alive: History, _begin: int, _over: int) -> list[Row]:
        values = [row[position] for _, _, row in alive if row[position] is not None]
        if not values:
            return [(len(alive), None, None, None, None)]
        return [(len(alive), sum(values), sum(values) / len(values), min(values), max(values))]

    return results


def having_large(
    results: Callable[[History, int, int], list[Row]], least: int
) -> Callable[[History, int, int], list[Row]]:
    """Return results of the rows whose value is at least as large; the others only cut the time axis."""

    def chosen(alive: History, begin: int, over: int) -> list[Row]:
        kept = [one for one in alive if one[2][1] is not None and one[2][1] >= least]
        return results(kept, begin, over) if kept else []

    return chosen


def more_aggregates(alive: History, _begin: int, _over: int) -> list[Row]:
    """Return the number of distinct values, their deviation, whether all and any of them are large, and the number of ids."""
    known = [row[1] for _, _, row in alive if row[1] is not None]
    large = [row[1] is not None and row[1] > 3 for _, _, row in alive]
    deviation = statistics.pstdev(known) if known else None
    return [
        (len({row[1] for _, _, row in alive}), deviation, all(large), any(large), len({row[0] for _, _, row in alive}))
    ]


def in_order(alive: History, _begin: int, _over: int) -> list[Row]:
    """Return the values as text, in order of start, then of value; null comes first."""
    held = sorted((start, row[1] is not None, row[1] or 0) for start, _, row in alive)
    return [(" ".join(str(value) if known else "-" for _, known, value in held),)]


def time_weighted(position: int, *, covered: bool) -> Callable[[History, int, int], list[Row]]:
    def results(alive: History, begin: int, over: int) -> list[Row]:
        parts = [
            (row[position], min(end, over) - max(start, begin))
            for start, end, row in alive
            if row[position] is not None
        ]
        if not parts:
            return [(None,)]
        return [(math.fsum(x * d for x, d in parts) / (sum(d for _, d in parts) if covered else over - begin),)]

    return results


def top(position: int, limit: int, *, ascending: bool = False) -> Callable[[History, int, int], list[Row]]:
    """Return the rows with the greatest values, ties at the last place kept, each with its rank; null ranks last.

    ``ascending``: those with the smallest values, of rows without null.
    """

    def results(alive: History, _begin: int, _over: int) -> list[Row]:
        def value(row: Row) -> tuple[bool, Any]:
            return (row[position] is not None, (row[position] or 0) * (-1 if ascending else 1))

        ranks = [(1 + sum(value(other) > value(row) for _, _, other in alive), row) for _, _, row in alive]
        return [(*row, rank) for rank, row in ranks if rank <= limit]

    return results
