"""Limits of a query's keys and values → the operator before its selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.aggregate.distinct import DistinctAggregator, UnionAggregator
from siddhi._core.query.key_limiter import KeyLimiter
from siddhi._core.query.selector import Selector
from siddhi._core.runtime.key_limit import KeyLimit
from siddhi._frozen import replace
from siddhi.planner.plan.expressions import Const
from siddhi.planner.plan.limits import Expiry, KeyLimitPlan, OnFull, RowLimitPlan
from siddhi.planner.plan.nodes import JoinPlan, QueryPlan, SingleInputPlan, SourceKind
from siddhi.planner.plan.patterns import OverflowPolicy, PatternPlan
from siddhi.runtime.metrics.limits import LimitReport

if TYPE_CHECKING:
    from siddhi.runtime.assembly.query import Site

__all__ = ["build_key_limiter", "key_limit", "match_limit"]

_REMEDIES = {
    "keys": "raise the limit, or drop keys with ttl or on.full = 'drop_oldest'",
    "aggregation.keys": "raise the limit, delete old rows with @purge, or drop them with on.full = 'drop_oldest'",
    "partition.keys": "raise the limit, or drop keys with @purge or on.full = 'drop_oldest'",
    "table.rows": "raise the limit, delete rows, or drop old ones with on.full = 'drop_oldest'",
    "values": "raise the limit, or count within a window",
}
_IN_USE = "raise the limit: every key is in use, by rows in a window or by events being processed, so that none can be dropped"
_MAY_STREAM = frozenset({"lengthBatch", "timeBatch"})
"""Windows that pass rows on at once with ``stream.current.event``."""
_POLICIES = {OnFull.ERROR: 0, OnFull.DROP_OLDEST: 1, OnFull.LOG: 2}


def build_key_limiter(plan: QueryPlan, selector: Selector, site: Site, *, marks: bool) -> KeyLimiter | None:
    """Build the operator that enforces the limit in front of a selection; None if the query has no limit.

    Args:
        plan: the query.
        selector: its selection.
        site: build context of the query.
        marks: whether a window emits the same records again when they expire.
    """
    limit = plan.limit
    if limit is None:
        return None
    where = f"query '{plan.name}'"
    counted = () if limit.values is None else tuple(filter(_holds_values, selector.aggregators))
    of_values = replace(limit, on_full=limit.values_on_full, annotation=limit.values_annotation)
    return KeyLimiter(
        site.context,
        where,
        selector,
        key_limit(site.context.name, where, "group-by keys", "keys", limit, limit.keys, limit.ttl_ms),
        key_limit(site.context.name, where, "distinct values", "values", of_values, limit.values, None),
        counted,
        _rows_return(plan) and limit.expiry is not Expiry.NEVER,
        marks and limit.expiry is Expiry.BY_RECORD,
        _delays_rows(plan),
        limit.expiry in (Expiry.IN_ORDER, Expiry.BY_KEY),
        limit.expiry is Expiry.IN_ORDER,
    )


def key_limit(
    app: str,
    where: str,
    what: str,
    option: str,
    limit: KeyLimitPlan | RowLimitPlan,
    most: int | None,
    ttl_ms: int | None,
) -> KeyLimit:
    """Make a limit and its report.

    Args:
        app: name of the app.
        where: owner of the state.
        what: what is limited.
        option: option of ``@app:limits`` that sets the maximum.
        limit: the plan of the limit.
        most: the maximum; None: no limit.
        ttl_ms: time after which an unused key is dropped; None: never.
    """
    remedy = _IN_USE if limit.on_full is OnFull.DROP_OLDEST and option != "values" else _REMEDIES[option]
    text = f"{limit.annotation}({option if limit.annotation != '@limit' else option.rpartition('.')[2]} = '{most}')"
    if limit.annotation == "SandboxPolicy":
        text = f"SandboxPolicy({'max_rows' if option == 'table.rows' else 'max_keys'}={most})"
    # Values are never dropped: they would be counted twice.
    on_full = OnFull.ERROR if option == "values" and limit.on_full is OnFull.DROP_OLDEST else limit.on_full
    number = -1 if most is None else most
    full = None
    if option == "aggregation.keys":
        # A row needs room for the rows that it will make of coarser buckets.
        full = "has no room for another group or bucket"
        if limit.on_full is OnFull.DROP_OLDEST:
            remedy = "raise the limit: all rows are of current buckets, so that none can be dropped"
    return KeyLimit(number, ttl_ms or 0, _POLICIES[on_full], LimitReport(app, where, what, number, text, remedy, full))


def match_limit(app: str, query: str, pattern: PatternPlan) -> KeyLimit | None:
    """Make the limit of a pattern's partial matches; None if it has none."""
    most = pattern.max_partial_matches
    if most is None:
        return None
    remedy = "raise the limit, end old ones with 'within', or drop them with partial.matches.overflow = 'drop.oldest'"
    report = LimitReport(app, f"query '{query}'", "partial matches", most, pattern.limited_by, remedy)
    on_full = OnFull.DROP_OLDEST if pattern.overflow is OverflowPolicy.DROP_OLDEST else OnFull.ERROR
    return KeyLimit(most, 0, _POLICIES[on_full], report)


def _holds_values(aggregator: Aggregator) -> bool:
    return isinstance(aggregator, (DistinctAggregator, UnionAggregator))


def _rows_return(plan: QueryPlan) -> bool:
    """Return whether rows come back to the selection: as expired events, or all at once by RESET."""
    if isinstance(plan.input, SingleInputPlan):
        window = plan.input.window
        return plan.input.kind is SourceKind.WINDOW or (window is not None and window.window.expires)
    return isinstance(plan.input, JoinPlan)


def _delays_rows(plan: QueryPlan) -> bool:
    """Return whether a window passes rows on later than they arrive."""
    window = plan.input.window if isinstance(plan.input, SingleInputPlan) else None
    if window is None:
        return False
    if window.window.builtin in _MAY_STREAM:
        return not any(isinstance(argument, Const) and argument.value is True for argument in window.arguments)
    return window.window.batch or not window.window.expires
