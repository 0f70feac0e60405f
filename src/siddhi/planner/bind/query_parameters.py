"""Bind the parameters of an on-demand query, ``:name``: each gets the type that its use requires."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from siddhi.planner.plan.expressions import PARAMETER_SLOT, Attr, TypedExpression
from siddhi.planner.plan.on_demand import ParameterPlan
from siddhi.planner.problems import creation_error
from siddhi.query_api.expression import Constant, Expression, FunctionCall, QueryParameter
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["QueryParameters", "parameter", "typed_argument", "typed_parameter", "with_types"]

T = TypeVar("T")


class QueryParameters:
    """The parameters of one on-demand query, in order of their first use.

    A use beside something typed (a comparison, a calculation, an assignment) gives a parameter its type, the first one counts.
    Until then it is an attribute of type object, which :meth:`is_open` recognises.
    """

    def __init__(self) -> None:
        self._types: dict[str, AttributeType | None] = {}
        self._places: dict[str, Node] = {}
        self._met_open = False

    def attribute(self, node: QueryParameter) -> TypedExpression:
        """Return a parameter as an attribute in the slot of parameters."""
        self._types.setdefault(node.name, None)
        self._places.setdefault(node.name, node)
        found = self._types[node.name]
        self._met_open |= found is None
        position = list(self._types).index(node.name)
        return Attr(found or AttributeType.OBJECT, PARAMETER_SLOT, position, node.name)

    def is_open(self, expression: TypedExpression) -> bool:
        """Return whether an expression is a parameter whose type is not known yet."""
        return (
            isinstance(expression, Attr) and expression.slot == PARAMETER_SLOT and self._types[expression.name] is None
        )

    def typed(self, expression: TypedExpression, type_: AttributeType) -> TypedExpression:
        """Return an expression; a parameter whose type is not known yet gets this one."""
        if not self.is_open(expression):
            return expression
        assert isinstance(expression, Attr)
        self._types[expression.name] = type_
        return Attr(type_, PARAMETER_SLOT, expression.position, expression.name)

    def bound(self, bind: Callable[[], T]) -> T:
        """Call a function that binds the query, a second time if a type became known behind another use.

        Raises:
            SiddhiAppError: *bind* fails, or no use gives a parameter its type.
        """
        made = bind()
        if not self._met_open:
            return made
        for name, found in self._types.items():
            if found is None:
                raise unknown_type(name, self._places[name])
        return bind()

    def plans(self) -> tuple[ParameterPlan, ...]:
        """Return the parameters in the order of their positions."""
        return tuple(
            ParameterPlan(name, found or AttributeType.OBJECT, self._places[name].span)
            for name, found in self._types.items()
        )


def unknown_type(name: str, at: Node) -> Exception:
    """Return the error of a parameter without type."""
    return creation_error(
        "E310",
        f"the type of parameter ':{name}' is not known: nothing it is compared with or assigned to gives it one",
        at,
        f"write its type: cast(:{name}, 'double')",
    )


def parameter(catalog: Catalog, node: QueryParameter) -> TypedExpression:
    """Return a parameter as a typed expression.

    Raises:
        SiddhiAppCreationError: it is not in an on-demand query.
    """
    if catalog.parameters is None:
        raise creation_error(
            "E310",
            f"':{node.name}' is a parameter of an on-demand query, which an app can't have",
            node,
            f"write ${{{node.name}}}, and pass its value when the app is created: siddhi.App(text, {node.name}=...)",
        )
    return catalog.parameters.attribute(node)


def with_types(
    catalog: Catalog, left: TypedExpression, right: TypedExpression, at: Node
) -> tuple[TypedExpression, TypedExpression]:
    """Return two operands; a parameter gets the type of the other operand.

    Raises:
        SiddhiAppCreationError: both are parameters whose types are not known.
    """
    known = catalog.parameters
    if known is None:
        return left, right
    if not known.is_open(left):
        return left, known.typed(right, left.type)
    if known.is_open(right):
        assert isinstance(left, Attr)
        raise unknown_type(left.name, at)
    return known.typed(left, right.type), right


def typed_parameter(catalog: Catalog, expression: TypedExpression, type_: AttributeType) -> TypedExpression:
    """Return an expression where a type is needed; a parameter of unknown type gets it."""
    return expression if catalog.parameters is None else catalog.parameters.typed(expression, type_)


def typed_argument(
    catalog: Catalog, node: FunctionCall, arguments: Sequence[TypedExpression]
) -> tuple[TypedExpression, ...]:
    """Return the arguments of a function; ``cast`` and ``convert`` give a parameter its type.

    Raises:
        SiddhiAppCreationError: another function has a parameter whose type is not known.
    """
    known = catalog.parameters
    if known is None:
        return tuple(arguments)
    found = list(arguments)
    for position, argument in enumerate(arguments):
        if not known.is_open(argument):
            continue
        written = node.arguments[position]
        named = _named_type(node) if position == 0 else None
        if named is None:
            assert isinstance(argument, Attr)
            raise unknown_type(argument.name, written)
        found[position] = known.typed(argument, named)
    return tuple(found)


def _named_type(node: FunctionCall) -> AttributeType | None:
    if node.namespace is not None or node.name not in ("cast", "convert") or len(node.arguments) != 2:
        return None
    written: Expression = node.arguments[1]
    names: Mapping[object, AttributeType] = {kind.value: kind for kind in AttributeType}
    return names.get(written.value) if isinstance(written, Constant) else None
