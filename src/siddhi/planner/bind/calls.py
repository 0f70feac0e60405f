"""Bind calls: look a name up among script functions, then scalar functions, then aggregators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.extension.metadata import AggregatorMetadata, FunctionMetadata
from siddhi.planner.bind.parameters import check_arguments, constants_of, return_type
from siddhi.planner.bind.properties import PROPERTY_FUNCTIONS, property_value
from siddhi.planner.bind.query_parameters import typed_argument
from siddhi.planner.plan.expressions import Aggregate, Call, Const, EventReference, ScriptCall, TypedExpression
from siddhi.planner.plan.warning import AppWarning
from siddhi.planner.problems import creation_error, unknown_extension
from siddhi.query_api.expression import Expression, FunctionCall, Variable
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi.planner.bind.resolver import Resolver

__all__ = ["call", "resolve_arguments"]

_EVENT_END = FunctionMetadata(name="eventEnd", builtin="eventEnd", returns=AttributeType.LONG)


def call(resolve: Resolver, node: FunctionCall) -> TypedExpression:
    """Return the typed call.

    Raises:
        ExtensionNotFoundError: the function is unknown.
        SiddhiAppCreationError: the function does not accept these arguments.
    """
    bound = resolve.scope.call(resolve, node)
    if bound is not None:
        return bound
    arguments = typed_argument(resolve.catalog, node, resolve_arguments(resolve, node))
    if node.namespace is None and node.name in resolve.catalog.functions:
        definition = resolve.catalog.functions[node.name]
        if any(isinstance(argument, EventReference) for argument in arguments):
            raise creation_error("E303", f"script function '{node.name}' does not accept events as arguments", node)
        return ScriptCall(definition.return_type, definition, arguments)
    registry = resolve.catalog.registry
    function = registry.called(node.namespace, node.name, FunctionMetadata, AggregatorMetadata)
    if isinstance(function, FunctionMetadata):
        check_arguments(function, arguments, node.arguments, node)
        resolve.catalog.note_use(function)
        resolve.catalog.permissions.function(function, next(iter(constants_of(arguments)), None), node)
        if function.builtin == "cast":
            _advise_to_convert(resolve, node, arguments[0].type, return_type(function, arguments))
        if function.builtin in PROPERTY_FUNCTIONS:
            found = _property(resolve, node, function, arguments)
            if found is not None:
                return found
        return Call(return_type(function, arguments), function, arguments)
    if isinstance(function, AggregatorMetadata):
        check_arguments(function, arguments, node.arguments, node)
        resolve.catalog.note_use(function)
        if function.kept is not None:
            for argument in arguments[function.kept : function.kept + 1]:
                assert isinstance(argument, Const)
                what = f"the number of values of {function.full_name}()"
                resolve.catalog.permissions.limit("max_events", int(argument.value), what, node)
        return Aggregate(return_type(function, arguments), function, arguments)
    name = node.name if node.namespace is None else f"{node.namespace}:{node.name}"
    if registry.incremental_aggregator(node.namespace, node.name) is not None:
        raise creation_error(
            "E325",
            f"'{name}' is an incremental aggregator, which only the selection of 'define aggregation' can call",
            node,
            "select it there alone, and compute with it where the aggregation is read",
        )
    if node.namespace is None and node.name in ("eventStart", "eventEnd"):
        lifetime = _of_lifetime(resolve, node, arguments)
        if lifetime is not None:
            return lifetime
    known = [*resolve.catalog.functions, *registry.names(FunctionMetadata, AggregatorMetadata)]
    error = unknown_extension("function or aggregator", name, known, node)
    raise resolve.catalog.permissions.not_found(error, registry, name, FunctionMetadata, AggregatorMetadata)


def _property(
    resolve: Resolver, node: FunctionCall, function: FunctionMetadata, arguments: tuple[TypedExpression, ...]
) -> TypedExpression | None:
    """Return the value of a property of the configuration, or the default of the call; None: it has neither."""
    key, *rest = arguments
    position = PROPERTY_FUNCTIONS[function.full_name]
    assert isinstance(key, Const)
    return property_value(
        str(key.value),
        rest[position - 1] if len(arguments) > position else None,
        return_type(function, arguments),
        resolve.catalog.system_properties(function.name),
        node,
    )


def _of_lifetime(
    resolve: Resolver, node: FunctionCall, arguments: tuple[TypedExpression, ...]
) -> TypedExpression | None:
    """Return the start or the end of an event's lifetime in a classical query; None: the app has no lifetimes.

    Raises:
        SiddhiAppCreationError: no input of the query is temporal, or there are too many arguments.
    """
    catalog = resolve.catalog
    if not any(stream.temporal or stream.correction for stream in catalog.streams.values()):
        return None
    if not catalog.reads_lifetimes:
        raise creation_error(
            "E303",
            f"{node.name}() belongs to queries on temporal streams, and this one reads none",
            node,
            "use eventTimestamp(), or declare the stream with @temporal(...)",
        )
    timestamp = catalog.registry.function(None, "eventTimestamp")
    assert timestamp is not None
    check_arguments(timestamp, arguments, node.arguments, node)
    if node.name == "eventStart":
        return Call(AttributeType.LONG, timestamp, arguments)
    catalog.note(
        AppWarning(
            "eventEnd() is null in a classical query, which gets a row when it starts",
            node,
            "let a query without classical parts select it into an interval stream",
        )
    )
    return Call(AttributeType.LONG, _EVENT_END, ())


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
