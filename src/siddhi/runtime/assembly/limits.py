"""A query's limits of keys and values → the gate in front of its selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.aggregate.distinct import DistinctAggregator, UnionAggregator
from siddhi._core.query.key_gate import KeyGate
from siddhi._core.query.selector import Selector
from siddhi._core.runtime.key_limit import KeyLimit
from siddhi._frozen import replace
from siddhi.planner.plan.expressions import Const
from siddhi.planner.plan.limits import KeyLimitPlan, OnFull, RowLimitPlan
from siddhi.planner.plan.nodes import JoinPlan, QueryPlan, SingleInputPlan, SourceKind
from siddhi.planner.plan.patterns import OverflowPolicy, PatternPlan
from siddhi.runtime.metrics.limits import LimitReport

if TYPE_CHECKING:
    from siddhi.runtime.assembly.query import Site

__all__ = ["build_gate", "key_limit", "match_limit"]

_REMEDIES = {
    "keys": "raise the limit, or forget keys with ttl or on.full = 'drop_oldest'",
    "partition.keys": "raise the limit, or forget keys with @purge or on.full = 'drop_oldest'",
    "table.rows": "raise the limit, delete rows, or let old ones go with on.full = 'drop_oldest'",
    "values": "raise the limit, or count within a window",
}
_IN_USE = "raise the limit: every key is in use, by rows in a window or by events being processed, so that none can be dropped"
_MAY_STREAM = frozenset({"lengthBatch", "timeBatch"})
"""Windows whose ``stream.current.event`` lets rows pass as they come."""
_POLICIES = {OnFull.ERROR: 0, OnFull.DROP_OLDEST: 1, OnFull.LOG: 2}


def build_gate(plan: QueryPlan, selector: Selector, site: Site, *, marks: bool) -> KeyGate | None:
    """The step in front of a selection that holds it to its limit; None where the query has none.

    Args:
        plan: the query.
        selector: its selection.
        site: where it stands.
        marks: a window gives back the records it took.
    """
    limit = plan.limit
    if limit is None:
        return None
    where = f"query '{plan.name}'"
    counted = () if limit.values is None else tuple(filter(_holds_values, selector.aggregators))
    of_values = replace(limit, on_full=limit.values_on_full, annotation=limit.values_annotation)
    return KeyGate(
        site.context,
        where,
        selector,
        key_limit(site.context.name, where, "group-by keys", "keys", limit, limit.keys, limit.ttl_ms),
        key_limit(site.context.name, where, "distinct values", "values", of_values, limit.values, None),
        counted,
        _returns(plan),
        marks,
        _holds_back(plan),
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
    """A limit and who reports it.

    Args:
        app: name of the app.
        where: what holds the state.
        what: what it holds.
        option: of ``@app:limits`` that says how many it may hold.
        limit: what the app says.
        most: how many; None: any number.
        ttl_ms: how long one may be unused; None: for good.
    """
    remedy = _IN_USE if limit.on_full is OnFull.DROP_OLDEST and option != "values" else _REMEDIES[option]
    text = f"{limit.annotation}({option if limit.annotation != '@limit' else option.rpartition('.')[2]} = '{most}')"
    if limit.annotation == "SandboxPolicy":
        text = f"SandboxPolicy({'max_rows' if option == 'table.rows' else 'max_keys'}={most})"
    # Values are never dropped: they would be counted twice.
    on_full = OnFull.ERROR if option == "values" and limit.on_full is OnFull.DROP_OLDEST else limit.on_full
    number = -1 if most is None else most
    return KeyLimit(number, ttl_ms or 0, _POLICIES[on_full], LimitReport(app, where, what, number, text, remedy))


def match_limit(app: str, query: str, pattern: PatternPlan) -> KeyLimit | None:
    """The limit of a pattern's partial matches; None where it has none."""
    most = pattern.max_partial_matches
    if most is None:
        return None
    remedy = "raise the limit, end old ones with 'within', or drop them with partial.matches.overflow = 'drop.oldest'"
    report = LimitReport(app, f"query '{query}'", "partial matches", most, pattern.limited_by, remedy)
    on_full = OnFull.DROP_OLDEST if pattern.overflow is OverflowPolicy.DROP_OLDEST else OnFull.ERROR
    return KeyLimit(most, 0, _POLICIES[on_full], report)


def _holds_values(aggregator: Aggregator) -> bool:
    return isinstance(aggregator, (DistinctAggregator, UnionAggregator))


def _returns(plan: QueryPlan) -> bool:
    """Whether rows come back to the selection: as expired events, or all at once by RESET."""
    if isinstance(plan.input, SingleInputPlan):
        window = plan.input.window
        return plan.input.kind is SourceKind.WINDOW or (window is not None and window.window.expires)
    return isinstance(plan.input, JoinPlan)


def _holds_back(plan: QueryPlan) -> bool:
    """Whether a window passes rows on later than they come."""
    window = plan.input.window if isinstance(plan.input, SingleInputPlan) else None
    if window is None:
        return False
    if window.window.native in _MAY_STREAM:
        return not any(isinstance(argument, Const) and argument.value is True for argument in window.arguments)
    return window.window.batch or not window.window.expires
