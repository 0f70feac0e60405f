"""Typed expressions of a plan: names are positions, every node has a type.

Operands are already widened to the type their operator computes in (:class:`Widen`), so the type of a node (for comparisons
``operand_type``) fixes the arithmetic. Positions refer to the attribute list of the query part the expression belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi._frozen import frozen
from siddhi.query_api.expression import CompareOperator, EventIndex, MathOperator
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.extension.metadata import AggregatorMetadata, FunctionMetadata
    from siddhi.planner.plan.access import TableAccess
    from siddhi.query_api.definition import FunctionDefinition

__all__ = [
    "FIRST_SLOT",
    "LAST_SLOT",
    "OUTPUT_SLOT",
    "PARAMETER_SLOT",
    "TABLE_SLOT",
    "Aggregate",
    "And",
    "Arithmetic",
    "Attr",
    "Call",
    "Comparison",
    "Const",
    "EventReference",
    "InTable",
    "IsNull",
    "IsNullEvent",
    "Not",
    "Or",
    "ScriptCall",
    "TypedExpression",
    "Widen",
]

OUTPUT_SLOT = -1
"""Slot of the output event: ``having`` and ``order by`` read the output attributes of the query."""
TABLE_SLOT = -2
"""Slot of the table row in a condition over a table (``on``, ``set``, ``in``)."""
FIRST_SLOT = -3
"""Slot of the oldest buffered event, in the condition of an expression window."""
LAST_SLOT = -4
"""Slot of the newest buffered event, in the condition of an expression window."""
PARAMETER_SLOT = -5
"""Slot of the parameters of an on-demand query: constants whose values are set before each run."""


@frozen
class TypedExpression:
    """Base of the typed expressions. ``type`` is the static type of the value."""

    type: AttributeType


@frozen
class Const(TypedExpression):
    """A literal, already converted to its type (an int as Python int, a float as Python float)."""

    value: bool | int | float | str


@frozen
class Attr(TypedExpression):
    """An attribute. ``slot`` is the event of the input (0 for a single stream; join side; pattern state), OUTPUT_SLOT or
    TABLE_SLOT; ``position`` is its index in that event's attribute list; ``index`` selects one event of a counting state,
    and a counting state without index is the list of all (type OBJECT)."""

    slot: int
    position: int
    name: str
    index: EventIndex | None = None


@frozen
class Widen(TypedExpression):
    """The operand as a wider numeric type (int → long → float → double)."""

    operand: TypedExpression


@frozen
class Arithmetic(TypedExpression):
    operator: MathOperator
    left: TypedExpression
    right: TypedExpression


@frozen
class Comparison(TypedExpression):
    """Both operands have type ``operand_type`` (a numeric type, STRING or BOOL); the result is BOOL and never null."""

    operator: CompareOperator
    operand_type: AttributeType
    left: TypedExpression
    right: TypedExpression


@frozen
class And(TypedExpression):
    left: TypedExpression
    right: TypedExpression


@frozen
class Or(TypedExpression):
    left: TypedExpression
    right: TypedExpression


@frozen
class Not(TypedExpression):
    operand: TypedExpression


@frozen
class IsNull(TypedExpression):
    operand: TypedExpression


@frozen
class IsNullEvent(TypedExpression):
    """True while the event slot (or that event of a counting state) is empty."""

    slot: int
    index: EventIndex | None = None


@frozen
class EventReference(TypedExpression):
    """An event itself as a function argument (``eventTimestamp(e1)``)."""

    slot: int


@frozen
class Call(TypedExpression):
    """A scalar function. Null results of BOOL functions become false in the executor."""

    function: FunctionMetadata
    arguments: tuple[TypedExpression, ...]


@frozen
class ScriptCall(TypedExpression):
    """A call of ``define function``."""

    definition: FunctionDefinition
    arguments: tuple[TypedExpression, ...]


@frozen
class Aggregate(TypedExpression):
    """An attribute aggregator: evaluation updates its state with the current event and returns the new value."""

    aggregator: AggregatorMetadata
    arguments: tuple[TypedExpression, ...]


@frozen
class InTable(TypedExpression):
    """``condition in table``: true iff a row matches; the row is TABLE_SLOT inside the condition.

    ``access``: how such a row is found; None until the rule has chosen it.
    """

    table: str
    condition: TypedExpression
    access: TableAccess | None = None
