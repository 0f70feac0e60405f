"""Calls: script functions, then scalar functions, then aggregators."""

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
    """A typed call.

    Raises:
        ExtensionNotFoundError: nothing has that name.
        SiddhiAppCreationError: it does not take these arguments.
    """
    arguments = resolve_arguments(resolve, node)
    if node.namespace is None and node.name in resolve.catalog.functions:
        definition = resolve.catalog.functions[node.name]
        if any(isinstance(argument, EventReference) for argument in arguments):
            raise creation_error("E303", f"script function '{node.name}' does not take events", node)
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
            f"'{name}' is an incremental aggregator: it is selected by itself, in 'define aggregation'",
            node,
            "select it there as it is, and calculate where the aggregation is read",
        )
    known = [*resolve.catalog.functions, *registry.names(FunctionMetadata, AggregatorMetadata)]
    error = unknown_extension("function or aggregator", name, known, node)
    raise resolve.catalog.permissions.not_found(error, registry, name, FunctionMetadata, AggregatorMetadata)


def _advise_to_convert(resolve: Resolver, node: FunctionCall, source: AttributeType, target: AttributeType) -> None:
    """Say that a cast converts: in Siddhi it leaves the value as it was."""
    if source is target or source is AttributeType.OBJECT:
        return
    if (source, target) != (AttributeType.INT, AttributeType.LONG):
        clearer = f"write convert(..., '{target}'), which says so"
        if source is AttributeType.STRING and target.is_numeric:
            clearer += " and gives null where a text holds no number"
        resolve.catalog.note(AppWarning(f"cast() converts the {source} to {target} here", node, clearer))


def resolve_arguments(resolve: Resolver, node: FunctionCall) -> tuple[TypedExpression, ...]:
    """The typed arguments; ``*`` stands for every attribute of the inputs."""
    if node.star:
        return resolve.scope.every_attribute()
    arguments = []
    for argument in node.arguments:
        arguments.append(_argument(resolve, argument))  # noqa: PERF401 - a loop, not one more frame for each nested call
    return tuple(arguments)


def _argument(resolve: Resolver, node: Expression) -> TypedExpression:
    """An argument; in joins and patterns the bare name of an event means the event, unless an attribute has it."""
    scope = resolve.scope
    if scope.has_event_references and isinstance(node, Variable) and node.source is None and node.index is None:
        slot = scope.event_slot(node.name)
        if slot is not None and scope.find(node.name) is None:
            return EventReference(AttributeType.OBJECT, slot)
    return resolve(node)
