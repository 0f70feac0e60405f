"""Typed expressions → store expressions over the row's attributes; other operands become parameters."""

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
from siddhi.stores import expression as store_expression
from siddhi.types import AttributeType

__all__ = ["StoreExpressions"]


class StoreExpressions:
    """Translates one condition and its assignments for a store.

    Args:
        attributes: attributes of the table.
        row_slot: slot of the row in the expressions.
        parameters: existing parameters, to which new ones are added.

    Attributes:
        parameters: the parameters made so far, with the expressions of their values.
    """

    def __init__(
        self, attributes: Sequence[Attribute], row_slot: int, parameters: dict[str, TypedExpression] | None = None
    ) -> None:
        self._attributes = attributes
        self._row_slot = row_slot
        self.parameters: dict[str, TypedExpression] = {} if parameters is None else parameters

    def make(self, node: TypedExpression) -> store_expression.Expression:
        """Translate an expression.

        Raises:
            UnsupportedExpressionError: the expression reads the row in a way that only the engine can.
        """
        if (
            isinstance(node, Const) and node.type is not AttributeType.FLOAT
        ):  # a float is a parameter, in single precision
            return store_expression.Constant(node.type, node.value)
        if not self._reads_row(node):
            return self._parameter(node)
        match node:
            case Attr(index=None):
                return store_expression.Attribute(node.type, self._attributes[node.position].name, node.position)
            case Widen():
                return store_expression.Cast(node.type, self.make(node.operand))
            case Comparison():
                return store_expression.Comparison(
                    node.type, node.operator.value, self.make(node.left), self.make(node.right)
                )
            case And():
                return store_expression.And(node.type, tuple([self.make(part) for part in conjuncts(node)]))
            case Or():
                return store_expression.Or(node.type, tuple([self.make(part) for part in disjuncts(node)]))
            case Not():
                return store_expression.Not(node.type, self.make(node.operand))
            case IsNull():
                return store_expression.IsNull(node.type, self.make(node.operand))
            case Arithmetic():
                return store_expression.Arithmetic(
                    node.type, node.operator.value, self.make(node.left), self.make(node.right)
                )
            case Aggregate(arguments=(argument,)):
                return store_expression.Aggregate(node.type, node.aggregator.full_name, self.make(argument))
            case Aggregate(arguments=()):
                return store_expression.Aggregate(node.type, node.aggregator.full_name, None)
            case Call():
                arguments = tuple([self.make(argument) for argument in node.arguments])
                return store_expression.Function(node.type, node.function.full_name, arguments)
        raise store_expression.UnsupportedExpressionError(f"a store can't evaluate a {type(node).__name__}")

    def _parameter(self, node: TypedExpression) -> store_expression.Parameter:
        # An attribute that is read twice is one parameter; a computed value may differ from call to call.
        known = (
            name
            for name, other in self.parameters.items()
            if other is node or (isinstance(node, Attr) and other == node)
        )
        name = next(known, f"p{len(self.parameters)}")
        self.parameters[name] = node
        output = node.position if isinstance(node, Attr) and node.slot == OUTPUT_SLOT and node.index is None else None
        return store_expression.Parameter(node.type, name, output)

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
