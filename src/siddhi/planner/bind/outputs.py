"""Bind the output of a query: insert into a stream, table or window, change a table, or return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from siddhi.planner.bind.catalog import same_schema
from siddhi.planner.bind.operators import widen
from siddhi.planner.bind.query_parameters import typed_parameter
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.scope import OutputScope, RowScope
from siddhi.planner.plan.expressions import OUTPUT_SLOT, Attr, Const, TypedExpression
from siddhi.planner.plan.nodes import Action, OutputPlan, SetPlan, SourceKind, TablePlan
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.problems import (
    a_type,
    creation_error,
    different_schema,
    located,
    unknown_attribute,
    unknown_definition,
)
from siddhi.query_api.definition import Attribute
from siddhi.query_api.expression import Expression
from siddhi.query_api.selection import (
    DeleteFrom,
    InsertInto,
    Output,
    OutputEventType,
    ReturnOutput,
    SetAttribute,
    UpdateOrInsertInto,
    UpdateTable,
)
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["plan_output", "target_label"]

_NUMERIC_ORDER = (AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE)


def target_label(output: Output) -> str | None:
    """Return the id that can qualify output attributes in ``having`` and ``order by``."""
    if isinstance(output, InsertInto):
        return f"#{output.target}" if output.is_inner else output.target
    if isinstance(output, (DeleteFrom, UpdateTable, UpdateOrInsertInto)):
        return output.target
    return None


def plan_output(
    catalog: Catalog,
    output: Output,
    columns: tuple[Attribute, ...],
    event_type: OutputEventType,
    at: Node,
    *,
    unqualified: bool = False,
    events: bool = True,
) -> OutputPlan:
    """Bind an output clause.

    Args:
        columns: the output attributes of the selection.
        at: the query, the location of errors in nodes without a span.
        unqualified: unqualified names in conditions can refer to attributes of the table (on-demand queries).
        events: whether there is an output event to read.

    Raises:
        SiddhiAppError: the target is unknown, or does not match the output.
    """
    location = located(output, at)
    if isinstance(output, InsertInto):
        # The '!' of an insertion into a fault stream has no effect: the stream itself receives the event.
        kind, label = catalog.insert_target(output.target, columns, location, is_inner=output.is_inner)
        return OutputPlan(action=Action.INSERT, target=label, kind=kind, event_type=event_type)
    if isinstance(output, ReturnOutput):
        return OutputPlan(action=Action.RETURN, target="", kind=SourceKind.STREAM, event_type=event_type)
    assert isinstance(output, (DeleteFrom, UpdateTable, UpdateOrInsertInto))
    table = catalog.tables.get(output.target)
    if table is None:
        hint_error = unknown_definition("table", output.target, catalog.tables, location)
        if output.target in catalog.streams or output.target in catalog.windows:
            hint_error.hint = "only tables can be updated; write 'insert into' for streams and windows"
        raise hint_error
    catalog.refuse_owned(table.id, location)
    what = f"table '{table.id}'"
    scope = RowScope(
        (table.id,),
        table.attributes,
        what=what,
        events=OutputScope(columns, label=None) if events else None,
        unqualified=unqualified,
    )
    resolver = Resolver(catalog, scope)
    if output.on is None:
        raise creation_error(
            "E321", f"'delete {table.id}' requires a condition", location, f"write 'delete {table.id} on ...'"
        )
    setting: tuple[SetPlan, ...] | None = None
    action = Action.DELETE
    if isinstance(output, UpdateTable):
        action = Action.UPDATE
        setting = _set(resolver, table, output.set, columns, location)
    elif isinstance(output, UpdateOrInsertInto):
        action = Action.UPDATE_OR_INSERT
        if not same_schema(table.attributes, columns):
            raise different_schema(what, table.attributes, columns, location)
        setting = _set(resolver, table, output.set, columns, location)
    condition = resolver.condition("the 'on' condition", output.on, location)
    return OutputPlan(
        action=action,
        target=table.id,
        kind=SourceKind.TABLE,
        event_type=event_type,
        condition=condition,
        set=setting,
    )


def _set(
    resolver: Resolver,
    table: TablePlan,
    written: tuple[SetAttribute, ...] | None,
    columns: tuple[Attribute, ...],
    at: Node,
) -> tuple[SetPlan, ...]:
    """Return the assignments; without ``set``, assign every output attribute to the table attribute of the same name."""
    if written is None:
        return tuple(_assign_column(table, columns, position, at) for position in range(len(columns)))
    assignments: list[SetPlan] = []
    for assignment in written:
        target = assignment.target
        if target.source not in (None, table.id):
            resolver.catalog.note(
                AppWarning(
                    f"'set {target.source}.{target.name}' assigns '{target.name}' of table '{table.id}': "
                    f"the qualifier '{target.source}' is ignored",
                    located(target, at),
                    f"write set {table.id}.{target.name} = ...",
                )
            )
        position = _position(table, target.name, located(target, at))
        given = typed_parameter(resolver.catalog, resolver(assignment.value), table.attributes[position].type)
        value = _as_type(given, table.attributes[position], assignment.value, at)
        assignments.append(SetPlan(position, value))
    return tuple(assignments)


def _assign_column(table: TablePlan, columns: Sequence[Attribute], column: int, at: Node) -> SetPlan:
    attribute = columns[column]
    position = _position(table, attribute.name, at)
    if table.attributes[position].type is not attribute.type:
        raise creation_error(
            "E310",
            f"'{attribute.name}' of table '{table.id}' is {a_type(table.attributes[position].type)}, "
            f"but the output attribute is {a_type(attribute.type)}",
            at,
            "select a value of the table's type, or assign with 'set'",
        )
    return SetPlan(position, Attr(attribute.type, OUTPUT_SLOT, column, attribute.name))


def _position(table: TablePlan, name: str, at: Node) -> int:
    for position, attribute in enumerate(table.attributes):
        if attribute.name == name:
            return position
    raise unknown_attribute(name, f"table '{table.id}'", _names(table.attributes), at)


def _as_type(value: TypedExpression, attribute: Attribute, written: Expression, at: Node) -> TypedExpression:
    """Return the value in the type of the attribute; widen numbers."""
    if value.type is attribute.type or attribute.type is AttributeType.OBJECT:
        return value
    if value.type in _NUMERIC_ORDER and attribute.type in _NUMERIC_ORDER:
        if _NUMERIC_ORDER.index(value.type) < _NUMERIC_ORDER.index(attribute.type):
            return widen(value, attribute.type)
        if isinstance(value, Const) and value.type is AttributeType.DOUBLE and attribute.type is AttributeType.FLOAT:
            return Const(attribute.type, value.value)
    raise creation_error(
        "E310",
        f"'{attribute.name}' is {a_type(attribute.type)} and can't be set to {a_type(value.type)}",
        located(written, at),
        f"convert it: convert(..., '{attribute.type}')",
    )


def _names(attributes: Iterable[Attribute]) -> list[str]:
    return [attribute.name for attribute in attributes]
