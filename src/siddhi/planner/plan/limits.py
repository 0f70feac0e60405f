"""Limits of state that grows with the data: keys and values of queries, keys of partitions, rows of tables."""

from __future__ import annotations

from enum import Enum

from siddhi._frozen import frozen

__all__ = ["AppLimits", "Expiry", "KeyLimitPlan", "OnFull", "RowLimitPlan"]


class OnFull(Enum):
    """The action on an event that would exceed a limit."""

    ERROR = "error"
    """The event fails with a LimitExceededError, which ``@OnError`` of its stream handles."""
    DROP_OLDEST = "drop_oldest"
    """The event is accepted: the state of the least recently used key, or the oldest row, is dropped."""
    LOG = "log"
    """The event is dropped; the log reports how many were dropped."""


class Expiry(Enum):
    """How the refused rows of a query are recognized when they expire."""

    BY_RECORD = "by record"
    """Rows expire in the record in which they came, if they do."""
    IN_ORDER = "in order"
    """The rows of a key expire in the order in which they came."""
    BY_KEY = "by key"
    """Rows expire in any order: a key stays refused until as many of its rows have expired as were refused."""
    NEVER = "never"
    """The input is a named window that emits no expired rows."""


@frozen(kw_only=True)
class KeyLimitPlan:
    """Limits of keyed state; None: no limit.

    Attributes:
        keys: group-by keys of a query over all partition keys, keys of a partition, or rows of an aggregation: a group in a
            bucket is a row.
        values: distinct values of each ``distinctCount`` and ``unionSet``, per group.
        ttl_ms: the state of a key unused for this long is dropped.
        on_full: the action at the limit ``keys``.
        annotation: the annotation that sets ``keys`` or ``ttl_ms``, for messages.
        values_on_full: the action at the limit ``values``.
        values_annotation: the annotation that sets ``values``.
        expiry: how refused rows are recognized when they expire.
    """

    keys: int | None = None
    values: int | None = None
    ttl_ms: int | None = None
    on_full: OnFull = OnFull.ERROR
    annotation: str = "@limit"
    values_on_full: OnFull = OnFull.ERROR
    values_annotation: str = "@limit"
    expiry: Expiry = Expiry.BY_RECORD


@frozen(kw_only=True)
class RowLimitPlan:
    """Limit of the rows of a table."""

    rows: int
    on_full: OnFull = OnFull.ERROR
    annotation: str = "@limit"


@frozen(kw_only=True)
class AppLimits:
    """``@app:limits``: the limits of elements without ``@limit``; None: no limit."""

    keys: int | None = None
    values: int | None = None
    ttl_ms: int | None = None
    partition_keys: int | None = None
    aggregation_keys: int | None = None
    table_rows: int | None = None
    on_full: OnFull = OnFull.ERROR
    annotation: str = "@app:limits"

    @property
    def limits_no_query(self) -> bool:
        """Whether queries are unlimited."""
        return self.keys is None and self.values is None and self.ttl_ms is None
