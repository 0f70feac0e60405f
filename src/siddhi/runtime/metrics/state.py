"""Number of keys, values and rows in the state of an app, and what its limits refused and dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from siddhi._core.pattern.automaton import Pattern
from siddhi._core.query.selector import Selector

if TYPE_CHECKING:
    from siddhi._core.runtime.key_limit import KeyLimit
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["StateStatistics", "state_statistics"]


@dataclass(frozen=True, slots=True)
class StateStatistics:
    """Size of a part of the state that grows with the data.

    Attributes:
        held: current number; of distinct values the number in the largest group.
        limit: maximum number, see ``@limit``; None: no limit.
        refused: events refused because of the limit, since the app was created.
        dropped: oldest keys or rows dropped because of the limit, since then.
        purged: keys removed because they were idle, since then.
    """

    held: int
    limit: int | None = None
    refused: int = 0
    dropped: int = 0
    purged: int = 0


def state_statistics(assembly: Assembly) -> Iterator[tuple[tuple[str, str, str], StateStatistics]]:
    """Yield the sizes of the state of an app by kind, name and counted item; the caller holds the app's lock.

    Kinds and items: "Partitions" have keys, in-memory "Tables" have rows, "Aggregations" have keys (groups in buckets: the
    rows in memory), and "Queries" have keys (groups, over all partition keys), partialMatches and, if limited, values.
    """
    for name, partition in assembly.partitions.items():
        counts = _limited(len(partition.keys), partition.limit, partition.keys.purged)
        yield ("Partitions", name, "keys"), counts
    for id_, table in assembly.tables.in_memory().items():
        yield ("Tables", id_, "rows"), _limited(len(table), table.limit)
    for id_, aggregation in assembly.aggregations.items():
        yield ("Aggregations", id_, "keys"), _limited(aggregation.core.held, aggregation.core.limit)
    for path, query in assembly.built_queries().items():
        pattern = query.stateful.get("pattern")
        if isinstance(pattern, Pattern):
            yield ("Queries", path, "partialMatches"), _limited(pattern.alive, pattern.limit)
        selector, key_limiter = query.stateful.get("selector"), query.key_limiter
        if key_limiter is not None:
            if key_limiter.values.most >= 0:
                yield ("Queries", path, "values"), _limited(key_limiter.most_values, key_limiter.values)
            if key_limiter.keys.most >= 0 or key_limiter.keys.ttl:
                yield (
                    ("Queries", path, "keys"),
                    _limited(key_limiter.live_keys, key_limiter.keys, key_limiter.keys.purged),
                )
                continue
        if isinstance(selector, Selector) and selector.groups is not None:
            yield ("Queries", path, "keys"), StateStatistics(len(selector.groups))


def _limited(count: int, limit: KeyLimit | None, purged: int = 0) -> StateStatistics:
    if limit is None:
        return StateStatistics(count, purged=purged)
    return StateStatistics(count, limit.most if limit.most >= 0 else None, limit.refused, limit.dropped, purged)
