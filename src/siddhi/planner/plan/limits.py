"""Limits on memory that data can fill, as the plan holds them: keys and values of queries, keys of partitions, rows of tables."""

from __future__ import annotations

from enum import Enum

from siddhi._frozen import frozen

__all__ = ["AppLimits", "KeyLimitPlan", "OnFull", "RowLimitPlan"]


class OnFull(Enum):
    """What happens to an event that would need more than a limit allows."""

    ERROR = "error"
    """It fails with a LimitExceededError, which goes to ``@OnError`` of its stream."""
    DROP_OLDEST = "drop_oldest"
    """It is taken: the state of the least recently used key, or the oldest row, is dropped."""
    LOG = "log"
    """It is dropped, and a log entry counts what was dropped."""


@frozen(kw_only=True)
class KeyLimitPlan:
    """Limits of keyed state; None: no limit.

    Attributes:
        keys: group-by keys of a query over all partition keys, or keys of a partition.
        values: distinct values of each ``distinctCount`` and ``unionSet``, per group.
        ttl_ms: a key unused for this long is forgotten.
        on_full: what happens at ``keys``.
        annotation: which annotation says ``keys`` or ``ttl_ms``, as messages show it.
        values_on_full: what happens at ``values``.
        values_annotation: which annotation says ``values``.
    """

    keys: int | None = None
    values: int | None = None
    ttl_ms: int | None = None
    on_full: OnFull = OnFull.ERROR
    annotation: str = "@limit"
    values_on_full: OnFull = OnFull.ERROR
    values_annotation: str = "@limit"


@frozen(kw_only=True)
class RowLimitPlan:
    """Limit of a table's rows."""

    rows: int
    on_full: OnFull = OnFull.ERROR
    annotation: str = "@limit"


@frozen(kw_only=True)
class AppLimits:
    """``@app:limits``: what holds where an element has no ``@limit`` of its own; None: no limit."""

    keys: int | None = None
    values: int | None = None
    ttl_ms: int | None = None
    partition_keys: int | None = None
    table_rows: int | None = None
    on_full: OnFull = OnFull.ERROR
    annotation: str = "@app:limits"
