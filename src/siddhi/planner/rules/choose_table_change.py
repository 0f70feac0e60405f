"""Choose how an output changes the rows of a table that its condition finds.

Fastest is an ``update or insert`` by the whole primary key that sets every attribute to that of the output event: the event
takes the place of the row. Where a later event of a chunk could change a row that an earlier one would insert, rows are
collected in a table without a key until the chunk ends; with the primary key as condition that is not needed, since the
later event finds the row by its key.
"""

from __future__ import annotations

from collections.abc import Mapping

from siddhi.planner.plan.access import KeyLookup
from siddhi.planner.plan.expressions import OUTPUT_SLOT, Attr, Call, TypedExpression
from siddhi.planner.plan.nodes import Action, OutputPlan, Plan, SetPlan, TableChangePlan, TablePlan
from siddhi.planner.plan.on_demand import OnDemandPlan
from siddhi.planner.plan.rewrite import map_queries, replaced
from siddhi.planner.plan.walk import walk
from siddhi.planner.rules.choose_table_access import access_of
from siddhi.types import AttributeType

__all__ = ["choose_on_demand_change", "choose_table_changes"]

_EXACT = (AttributeType.STRING, AttributeType.INT, AttributeType.LONG, AttributeType.BOOL)
"""Types whose equal values are the same: 0.0 equals -0.0."""


def choose_table_changes(plan: Plan) -> Plan:
    """Set :attr:`OutputPlan.change`."""
    if not plan.tables:
        return plan
    return map_queries(plan, lambda query, _: replaced(query, output=_with_change(plan.tables, query.output)))


def choose_on_demand_change(plan: OnDemandPlan, tables: Mapping[str, TablePlan]) -> OnDemandPlan:
    """Do the same for an on-demand query.

    Args:
        tables: the tables of the app.
    """
    return plan if plan.output is None else replaced(plan, output=_with_change(tables, plan.output))


def _with_change(tables: Mapping[str, TablePlan], output: OutputPlan) -> OutputPlan:
    if output.condition is None:
        return output
    change = _change(tables[output.target], output, output.condition)
    return output if change == output.change else replaced(output, change=change)


def _change(table: TablePlan, output: OutputPlan, condition: TypedExpression) -> TableChangePlan:
    row_is_current = not any(
        isinstance(node, Call) and node.function.builtin == "eventTimestamp" for node in walk(condition)
    )
    sets = output.assignments()
    key = _key_of(table, output)
    assigned = tuple(
        [
            set_
            for set_ in sets
            if key.get(set_.position) != set_.value or table.attributes[set_.position].type not in _EXACT
        ]
    )
    if output.action is not Action.UPDATE_OR_INSERT or not table.primary_key:
        return TableChangePlan(row_is_current=row_is_current, assigned=assigned)
    by_own_key = all(_is_output(key.get(position), position) for position in table.primary_key)
    overwrites = by_own_key and _sets_everything(sets, table)
    leaves_key = all(set_.position not in table.primary_key for set_ in assigned)
    at_once = overwrites or (by_own_key and leaves_key)
    return TableChangePlan(
        row_is_current=row_is_current,
        assigned=assigned,
        overwrites=overwrites,
        pending=None if at_once else access_of(table.pending(), condition),
    )


def _key_of(table: TablePlan, output: OutputPlan) -> Mapping[int, TypedExpression]:
    """Return the values of the whole primary key by position, if the condition tests nothing else of the row."""
    access = output.access
    if access is None or not isinstance(access.lookup, KeyLookup) or access.residual:
        return {}
    return dict(zip(table.primary_key, access.lookup.values, strict=True))


def _sets_everything(sets: list[SetPlan], table: TablePlan) -> bool:
    """Return whether every attribute is set to the output's attribute at its position."""
    return len(sets) == len(table.attributes) and all(_is_output(set_.value, set_.position) for set_ in sets)


def _is_output(value: TypedExpression | None, position: int) -> bool:
    """Return whether a value is the output's attribute at a position."""
    return isinstance(value, Attr) and value.slot == OUTPUT_SLOT and value.position == position
