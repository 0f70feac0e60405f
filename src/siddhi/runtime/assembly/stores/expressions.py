"""Typed expressions → what stores are asked for: the row's attributes, and parameters for everything else."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi.planner.plan.expressions import (
    OUTPUT_SLOT,
    TABLE_SLOT,
    Aggregate,
    And,
    Arithmetic,
    Attr,
    Call,
    Comparison,
    Const,
    EventReference,
    InTable,
    IsNull,
    IsNullEvent,
    Not,
    Or,
    TypedExpression,
    Widen,
)
from siddhi.planner.plan.walk import children, conjuncts, disjuncts
from siddhi.query_api.definition import Attribute
from siddhi.stores import expression as asked
from siddhi.types import AttributeType

__all__ = ["StoreExpressions"]


class StoreExpressions:
    """Makes what one condition, and the assignments that go with it, ask of a store.

    Args:
        attributes: of the table.
        row_slot: the slot by which the expressions call the row.
        parameters: those made already, to which its own are added.

    Attributes:
        parameters: those made until now, with what gives their values.
    """

    def __init__(
        self, attributes: Sequence[Attribute], row_slot: int, parameters: dict[str, TypedExpression] | None = None
    ) -> None:
        self._attributes = attributes
        self._row_slot = row_slot
        self.parameters: dict[str, TypedExpression] = {} if parameters is None else parameters

    def make(self, node: TypedExpression) -> asked.Expression:
        """What to ask for.

        Raises:
            UnsupportedExpressionError: it reads the row in a way that is the engine's own.
        """
        if isinstance(node, Const) and node.type is not AttributeType.FLOAT:  # its value is shown as events show theirs
            return asked.Constant(node.type, node.value)
        if not self._reads_row(node):
            return self._parameter(node)
        match node:
            case Attr(index=None):
                return asked.Attribute(node.type, self._attributes[node.position].name, node.position)
            case Widen():
                return asked.Cast(node.type, self.make(node.operand))
            case Comparison():
                return asked.Comparison(node.type, node.operator.value, self.make(node.left), self.make(node.right))
            case And():
                return asked.And(node.type, tuple([self.make(part) for part in conjuncts(node)]))
            case Or():
                return asked.Or(node.type, tuple([self.make(part) for part in disjuncts(node)]))
            case Not():
                return asked.Not(node.type, self.make(node.operand))
            case IsNull():
                return asked.IsNull(node.type, self.make(node.operand))
            case Arithmetic():
                return asked.Arithmetic(node.type, node.operator.value, self.make(node.left), self.make(node.right))
            case Aggregate(arguments=(argument,)):
                return asked.Aggregate(node.type, node.aggregator.full_name, self.make(argument))
            case Aggregate(arguments=()):
                return asked.Aggregate(node.type, node.aggregator.full_name, None)
            case Call():
                arguments = tuple([self.make(argument) for argument in node.arguments])
                return asked.Function(node.type, node.function.full_name, arguments)
        raise asked.UnsupportedExpressionError(f"a store can't evaluate a {type(node).__name__}")

    def _parameter(self, node: TypedExpression) -> asked.Parameter:
        # An attribute that is read twice is one parameter; what is computed may differ from call to call.
        known = (
            name
            for name, other in self.parameters.items()
            if other is node or (isinstance(node, Attr) and other == node)
        )
        name = next(known, f"p{len(self.parameters)}")
        self.parameters[name] = node
        output = node.position if isinstance(node, Attr) and node.slot == OUTPUT_SLOT and node.index is None else None
        return asked.Parameter(node.type, name, output)

    def _reads_row(self, node: TypedExpression) -> bool:
        pending = [node]
        while pending:
            part = pending.pop()
            if isinstance(part, Aggregate):
                return True
            if isinstance(part, (Attr, EventReference, IsNullEvent)) and part.slot == self._row_slot:
                return True
            # Inside `in`, TABLE_SLOT is the row of that other table.
            if not (isinstance(part, InTable) and self._row_slot == TABLE_SLOT):
                pending += children(part)
        return False
