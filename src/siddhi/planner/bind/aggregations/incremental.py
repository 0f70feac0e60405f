"""Bind calls of incremental aggregators: the base values that rows store, and the value computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from siddhi._frozen import frozen, replace
from siddhi.errors import SiddhiAppError, SiddhiParserError
from siddhi.extension.incremental import BaseAttribute, IncrementalAttributeAggregator
from siddhi.extension.metadata import IncrementalAggregatorMetadata
from siddhi.planner.bind.parameters import return_type
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.scope import SourceScope
from siddhi.planner.plan.aggregations import BaseKind, OutputKind
from siddhi.planner.plan.expressions import Attr, InTable, TypedExpression
from siddhi.planner.plan.text import expression_text
from siddhi.planner.plan.walk import has_aggregate, substitute, walk
from siddhi.planner.problems import a_type, close_to, creation_error, located, unsupported_type
from siddhi.query_api.definition import Attribute
from siddhi.query_api.expression import Expression, FunctionCall
from siddhi.query_api.span import Node
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["Base", "Incremental", "at_positions", "base_text", "plan_incremental"]

_LONG, _DOUBLE = AttributeType.LONG, AttributeType.DOUBLE
_MERGED = {
    kind.value: kind for kind in (BaseKind.COUNT, BaseKind.LATEST, BaseKind.MAXIMUM, BaseKind.MINIMUM, BaseKind.SUM)
}


@frozen
class Base:
    """A base value and the row attributes that store it."""

    kind: BaseKind
    argument: TypedExpression | None
    cells: tuple[Attribute, ...]


@frozen
class Incremental:
    """A bound call. ``expression``, set only for COMPUTED, reads the cells of the base values in order, in slot 0.
    A MEAN divides its first base value by the last, the count; all others use the first."""

    bases: tuple[Base, ...]
    type: AttributeType
    kind: OutputKind = OutputKind.STORED
    expression: TypedExpression | None = None


def base_text(base: Base) -> str:
    """Return the text of a base value, such as ``sum my:log(price)``."""
    return base.kind.value if base.argument is None else f"{base.kind.value} {expression_text(base.argument, {})}"


def plan_incremental(
    resolve: Resolver, metadata: IncrementalAggregatorMetadata, call: FunctionCall, at: Node
) -> Incremental:
    """Bind a call of an incremental aggregator.

    Args:
        resolve: resolver of the selection of the aggregation.
        metadata: the aggregator that is called.
        at: the call, or its nearest ancestor with a span.

    Raises:
        SiddhiAppError: the aggregator does not accept these arguments, or its description is invalid.
    """
    arguments = _arguments(resolve, metadata, call, at)
    type_ = return_type(metadata, arguments)
    if metadata.builtin is not None:
        return _BUILT_IN[metadata.builtin](type_, *arguments)
    return _Described(resolve.catalog, metadata, arguments, at).plan(type_)


def _arguments(
    resolve: Resolver, metadata: IncrementalAggregatorMetadata, call: FunctionCall, location: Node
) -> tuple[Attr, ...]:
    name = metadata.full_name
    overload = next((known for known in metadata.overloads if len(known.parameters) == len(call.arguments)), None)
    if call.star or overload is None:
        number = len(metadata.overloads[-1].parameters)
        wanted = "exactly one attribute" if number == 1 else f"{number or 'no'} attributes"
        raise creation_error("E325", f"'{name}' of an aggregation takes {wanted}", location)
    arguments = []
    for written, formal in zip(call.arguments, overload.parameters, strict=True):
        argument = resolve(written)
        at = located(written, location)
        if not isinstance(argument, Attr):
            raise creation_error(
                "E325",
                f"'{name}' of an aggregation takes {'an attribute' if len(call.arguments) == 1 else 'attributes'}, "
                "not an expression",
                at,
                "compute it in a query, and aggregate the stream it fills",
            )
        if argument.type not in formal.types:
            accepted = [str(type_) for type_ in AttributeType if type_ in formal.types]
            listed = " and ".join(filter(None, (", ".join(accepted[:-1]), accepted[-1])))
            message = f"'{name}' of an aggregation does not accept {a_type(argument.type)}"
            raise unsupported_type(message, at, f"it accepts {listed}")
        arguments.append(argument)
    return tuple(arguments)


# --- built in


def _stored(kind: BaseKind, prefix: str) -> Callable[[AttributeType, Attr], Incremental]:
    return lambda type_, of: Incremental((Base(kind, of, (Attribute(f"{prefix}_{of.name}", type_),)),), type_)


def _count(type_: AttributeType, *_of: Attr) -> Incremental:
    return Incremental((_COUNT,), type_)


def _mean(type_: AttributeType, of: Attr) -> Incremental:
    summed = _DOUBLE if of.type in (AttributeType.FLOAT, AttributeType.DOUBLE) else _LONG
    return Incremental((*_sum(summed, of).bases, _COUNT), type_, OutputKind.MEAN)


def _distinct(type_: AttributeType, of: Attr) -> Incremental:
    values = Attribute(f"AGG_SET_{of.name}", AttributeType.OBJECT)
    return Incremental((Base(BaseKind.DISTINCT, of, (values,)),), type_, OutputKind.SIZE)


def _deviation(type_: AttributeType, of: Attr) -> Incremental:
    cells = (
        Attribute(f"AGG_VALUES_{of.name}", _LONG),
        Attribute(f"AGG_MEAN_{of.name}", _DOUBLE),
        Attribute(f"AGG_SQUARES_{of.name}", _DOUBLE),
    )
    return Incremental((Base(BaseKind.DEVIATION, of, cells),), type_, OutputKind.SPREAD)


_COUNT = Base(BaseKind.COUNT, None, (Attribute("AGG_COUNT", _LONG),))
_sum = _stored(BaseKind.SUM, "AGG_SUM")
_BUILT_IN: dict[str, Callable[..., Incremental]] = {
    "sum": _sum,
    "count": _count,
    "avg": _mean,
    "min": _stored(BaseKind.MINIMUM, "AGG_MIN"),
    "max": _stored(BaseKind.MAXIMUM, "AGG_MAX"),
    "distinctCount": _distinct,
    "stdDev": _deviation,
}


# --- extensions


class _Described:
    """A call of an aggregator that an extension describes. Errors in the description are reported at the call."""

    def __init__(
        self, catalog: Catalog, metadata: IncrementalAggregatorMetadata, arguments: Sequence[Attr], at: Node
    ) -> None:
        self._catalog = catalog
        self._metadata = metadata
        self._arguments = tuple({argument.name: argument for argument in arguments}.values())
        self._given = [Attribute(argument.name, argument.type) for argument in arguments]
        self._at = at

    def plan(self, type_: AttributeType) -> Incremental:
        described = self._described()
        if not described.base:
            raise self._error("has no base attribute", "declare at least one")
        names = [attribute.name for attribute in described.base]
        for name in names:
            if names.count(name) > 1:
                raise self._error(f"has duplicate base attribute '{name}'")
        bases = tuple(self._base(attribute) for attribute in described.base)
        cells = [base.cells[0] for base in bases]
        final = self._expression("the final expression", "", described.final, cells, "its base attributes")
        if final.type is not type_:
            raise self._error(
                f"is declared to return {a_type(type_)}, but its final expression is {a_type(final.type)}",
                f"change the declared type, or write convert(..., '{type_}')",
            )
        return Incremental(bases, type_, OutputKind.COMPUTED, final)

    def _described(self) -> IncrementalAttributeAggregator:
        try:
            described = self._metadata.implementation(*self._given)
        except ValueError as error:
            hint = str(error.args[1]) if len(error.args) > 1 else None
            raise creation_error(
                "E325", str(error.args[0]) if error.args else "invalid arguments", self._at, hint
            ) from error
        except Exception as error:
            raise self._error(f"failed to describe itself: {type(error).__name__}: {error}") from error
        if not isinstance(described, IncrementalAttributeAggregator):
            raise self._error(f"returned {described!r}", "its function must return an IncrementalAttributeAggregator")
        if not all(isinstance(attribute, BaseAttribute) for attribute in described.base):
            raise self._error("has a base attribute that is not a BaseAttribute")
        return described

    def _base(self, attribute: BaseAttribute) -> Base:
        what = f"base attribute '{attribute.name}'"
        kind = _MERGED.get(attribute.aggregator)
        if kind is None:
            hint = close_to(attribute.aggregator, _MERGED) or f"use one of {', '.join(_MERGED)}"
            raise self._error(f"uses the unknown base aggregator '{attribute.aggregator}' for {what}", hint)
        argument: TypedExpression | None = None
        if kind is BaseKind.COUNT:
            if attribute.initial is not None:
                raise self._error(
                    f"has an initial value for {what}, which counts events",
                    "'count' adds 1 per event; use 'sum' of ifThenElse(..., 1L, 0L) to count some of them",
                )
            kept = _LONG
        else:
            if attribute.initial is None:
                raise self._error(
                    f"has no initial value for {what}", f"give the expression that '{kind.value}' aggregates"
                )
            given = [Attribute(of.name, of.type) for of in self._arguments]
            initial = self._expression("the initial value", f" of {what}", attribute.initial, given, "its arguments")
            argument = substitute(
                initial, lambda node: self._arguments[node.position] if isinstance(node, Attr) else None
            )
            kept = self._kept(kind, argument.type, what)
        if kept is not attribute.type:
            raise self._error(
                f"declares {what} as {a_type(attribute.type)}, but its type is {a_type(kept)}",
                f"declare it as {a_type(kept)}",
            )
        return Base(kind, argument, (Attribute(attribute.name, attribute.type),))

    def _kept(self, kind: BaseKind, type_: AttributeType, what: str) -> AttributeType:
        if kind is BaseKind.LATEST:
            return type_
        if not type_.is_numeric:
            raise self._error(f"applies '{kind.value}' to {a_type(type_)} in {what}", "only numbers are allowed")
        if kind is not BaseKind.SUM:
            return type_
        return _DOUBLE if type_ in (AttributeType.FLOAT, AttributeType.DOUBLE) else _LONG

    def _expression(
        self, which: str, of: str, written: str | Expression, attributes: Sequence[Attribute], what: str
    ) -> TypedExpression:
        """Bind one of the expressions of the description, over these attributes in slot 0."""
        if not isinstance(written, (str, Expression)):
            raise self._error(
                f"gives {written!r} as {which}{of}", "give SiddhiQL text or an expression of siddhi.query_api"
            )
        shown = f"{which} '{written}'{of}" if isinstance(written, str) else f"{which}{of}"
        try:
            if isinstance(written, str):
                # Imported here: it loads the parse tables.
                from siddhi.query_compiler import parse_expression

                written = parse_expression(written)
            typed = Resolver(self._catalog, SourceScope(None, attributes, what=what))(written)
        except SiddhiParserError as error:
            raise self._error(f"has an invalid description: {shown} is not an expression: {error.message}") from error
        except SiddhiAppError as error:
            raise self._error(f"has an invalid description: {shown}: {error.message}", error.hint) from error
        if has_aggregate(typed):
            raise self._error(
                f"has an invalid description: {shown} contains an aggregator", "aggregate with base attributes"
            )
        if any(isinstance(node, InTable) for node in walk(typed)):
            raise self._error(f"has an invalid description: {shown} reads a table")
        return typed

    def _error(self, problem: str, hint: str | None = None) -> SiddhiAppError:
        return creation_error("E325", f"{self._metadata.title} '{self._metadata.full_name}' {problem}", self._at, hint)


def at_positions(expression: TypedExpression, positions: Sequence[int]) -> TypedExpression:
    """Rewrite an expression over base values into one over rows that store them at these positions."""
    return substitute(
        expression, lambda node: replace(node, position=positions[node.position]) if isinstance(node, Attr) else None
    )
