"""Bind calls: look a name up among script functions, then scalar functions, then aggregators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.extension.metadata import AggregatorMetadata, FunctionMetadata
from siddhi.planner.bind.parameters import check_arguments, return_type
from siddhi.planner.plan.expressions import Aggregate, Call, EventReference, ScriptCall, TypedExpression
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.problems import creation_error, unknown_extension
from siddhi.query_api.expression import Expression, FunctionCall, Variable
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.resolver import Resolver

__all__ = ["call", "resolve_arguments"]


def call(resolve: Resolver, node: FunctionCall) -> TypedExpression:
    """Return the typed call.

    Raises:
        ExtensionNotFoundError: the function is unknown.
        SiddhiAppCreationError: the function does not accept these arguments.
    """
    arguments = resolve_arguments(resolve, node)
    if node.namespace is None and node.name in resolve.catalog.functions:
        definition = resolve.catalog.functions[node.name]
        if any(isinstance(argument, EventReference) for argument in arguments):
            raise creation_error("E303", f"script function '{node.name}' does not accept events as arguments", node)
        return ScriptCall(definition.return_type, definition, arguments)
    registry = resolve.catalog.registry
    function = registry.function(node.namespace, node.name)
    if function is not None:
        check_arguments(function, arguments, node.arguments, node)
        resolve.catalog.note_use(function)
        if function.native == "cast":
            _advise_to_convert(resolve, node, arguments[0].type, return_type(function, arguments))
        return Call(return_type(function, arguments), function, arguments)
    aggregator = registry.aggregator(node.namespace, node.name)
    if aggregator is not None:
        check_arguments(aggregator, arguments, node.arguments, node)
        resolve.catalog.note_use(aggregator)
        return Aggregate(return_type(aggregator, arguments), aggregator, arguments)
    name = node.name if node.namespace is None else f"{node.namespace}:{node.name}"
    if registry.incremental_aggregator(node.namespace, node.name) is not None:
        raise creation_error(
            "E325",
            f"'{name}' is an incremental aggregator, which only the selection of 'define aggregation' can call",
            node,
            "select it there alone, and compute with it where the aggregation is read",
        )
    known = [*resolve.catalog.functions, *registry.names(FunctionMetadata, AggregatorMetadata)]
    error = unknown_extension("function or aggregator", name, known, node)
    raise resolve.catalog.permissions.not_found(error, registry, name, FunctionMetadata, AggregatorMetadata)


def _advise_to_convert(resolve: Resolver, node: FunctionCall, source: AttributeType, target: AttributeType) -> None:
    """Warn that a cast converts the value; in Siddhi it returns the value unchanged."""
    if source is target or source is AttributeType.OBJECT:
        return
    if (source, target) != (AttributeType.INT, AttributeType.LONG):
        clearer = f"write convert(..., '{target}') to make that explicit"
        if source is AttributeType.STRING and target.is_numeric:
            clearer += "; it returns null for a string that is not a number"
        resolve.catalog.note(AppWarning(f"cast() converts the {source} to {target} here", node, clearer))


def resolve_arguments(resolve: Resolver, node: FunctionCall) -> tuple[TypedExpression, ...]:
    """Return the typed arguments; ``*`` expands to every attribute of the inputs."""
    if node.star:
        return resolve.scope.every_attribute()
    arguments = []
    for argument in node.arguments:
        arguments.append(_argument(resolve, argument))  # noqa: PERF401 - a comprehension adds a frame per nested call
    return tuple(arguments)


def _argument(resolve: Resolver, node: Expression) -> TypedExpression:
    """Return a typed argument. In joins and patterns, a name that is not an attribute can refer to an event."""
    scope = resolve.scope
    if scope.has_event_references and isinstance(node, Variable) and node.source is None and node.index is None:
        slot = scope.event_slot(node.name)
        if slot is not None and scope.find(node.name) is None:
            return EventReference(AttributeType.OBJECT, slot)
    return resolve(node)
