"""Bind the handlers of a source: filters, stream functions, one window."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from siddhi.extension.metadata import StreamFunctionMetadata, StreamProcessorMetadata, WindowMetadata
from siddhi.planner.bind.calls import resolve_arguments
from siddhi.planner.bind.expression_window import plan_window_condition
from siddhi.planner.bind.parameters import check_arguments, constants_of
from siddhi.planner.bind.resolver import Resolver
from siddhi.planner.bind.resources import with_resources
from siddhi.planner.bind.sandbox_limits import limit_window
from siddhi.planner.bind.scope import SourceScope
from siddhi.planner.plan.expressions import Const
from siddhi.planner.plan.nodes import FilterPlan, HandlerPlan, StreamFunctionPlan, WindowPlan
from siddhi.planner.plan.temporal import TEMPORAL_WINDOWS
from siddhi.planner.problems import creation_error, duplicate_attribute, located, unknown_extension
from siddhi.query_api.expression import FunctionCall
from siddhi.query_api.input import Filter, Handler, StreamFunction, WindowHandler
from siddhi.query_api.span import Node

if TYPE_CHECKING:
    from siddhi.planner.bind.catalog import Catalog

__all__ = ["Handlers", "check_cron", "plan_handlers", "plan_window"]


@dataclass(slots=True)
class Handlers:
    """The bound handlers of one source, before and after its window."""

    before: list[HandlerPlan] = field(default_factory=list)
    window: WindowPlan | None = None
    after: list[HandlerPlan] = field(default_factory=list)


def plan_handlers(
    catalog: Catalog, scope: SourceScope, handlers: tuple[Handler, ...], *, place: str | None = None
) -> Handlers:
    """Bind the handlers in order; stream functions extend the scope.

    Args:
        catalog: what the app defines.
        scope: the attributes of the source.
        handlers: the handlers.
        place: where they stand, if no handler may be a coroutine function there, such as ``in a join``.

    Raises:
        SiddhiAppError: a filter is not a condition, an extension is unknown, or arguments are invalid.
    """
    planned = Handlers()
    resolver = Resolver(catalog, scope)
    for handler in handlers:
        target = planned.before if planned.window is None else planned.after
        if isinstance(handler, Filter):
            target.append(FilterPlan(resolver.condition("a filter", handler.condition, handler)))
        elif isinstance(handler, StreamFunction):
            found = _plan_stream_function(resolver, scope, handler)
            if found.function.awaiting is not None:
                _check_awaited(found, place or _place(planned), handler)
            target.append(found)
        elif isinstance(handler, WindowHandler):
            if planned.window is not None:
                raise creation_error("E314", "a stream can have at most one window in a query", handler)
            planned.window = plan_window(catalog, scope, handler.call, handler)
    return planned


def _place(planned: Handlers) -> str | None:
    """Return why no coroutine function may follow handlers, or None."""
    if planned.window is not None:
        return "behind a window"
    if not all(isinstance(handler, FilterPlan) for handler in planned.before):
        return "behind another stream function"
    return None


def _check_awaited(plan: StreamFunctionPlan, place: str | None, handler: StreamFunction) -> None:
    """Reject a coroutine function where events can't wait for results.

    Raises:
        SiddhiAppCreationError: it stands there.
    """
    if place is not None:
        name = plan.function.full_name
        raise creation_error(
            "E320",
            f"stream function '{name}' is asynchronous, which is not supported {place}",
            located(handler.call, handler),
            f"call it in a query of its own: from S#{name}(...) select * insert into T",
        )


def plan_window(catalog: Catalog, scope: SourceScope, node: FunctionCall, at: Node) -> WindowPlan:
    """Return a window with checked arguments.

    Raises:
        ExtensionNotFoundError: the window is unknown.
        SiddhiAppCreationError: the window does not accept these arguments.
    """
    location = located(node, at)
    window = catalog.registry.window(node.namespace, node.name)
    if window is None:
        known = [*catalog.registry.names(WindowMetadata), *TEMPORAL_WINDOWS]
        error = unknown_extension("window", _full_name(node), known, location)
        raise catalog.permissions.not_found(error, catalog.registry, _full_name(node), WindowMetadata)
    arguments = resolve_arguments(Resolver(catalog, scope), node)
    check_arguments(window, arguments, node.arguments, location)
    arguments = with_resources(window, arguments, catalog.resources, location)
    limit_window(catalog.permissions, window, arguments, location)
    catalog.note_use(window)
    condition = plan_condition = None
    first = arguments[0] if arguments else None
    if window.takes_condition and isinstance(first, Const):
        written = node.arguments[0]
        condition = plan_window_condition(catalog, scope.attributes, str(first.value), located(written, location))
    elif window.takes_condition:
        plan_condition = partial(plan_window_condition, catalog, tuple(scope.attributes))
    if window.takes_cron and isinstance(first, Const):
        check_cron(str(first.value), located(node.arguments[0], location))
    return WindowPlan(window, arguments, condition, plan_condition)


def check_cron(text: str, at: Node) -> None:
    """Reject an invalid cron expression.

    Raises:
        SiddhiAppCreationError: the expression is invalid.
    """
    # Imported here: the calendar is slow to load, and few apps have a cron expression.
    from siddhi.planner.bind.cron import parse_cron

    try:
        parse_cron(text)
    except ValueError as error:
        raise creation_error("E323", str(error.args[0]), at, str(error.args[1])) from error


def _plan_stream_function(resolver: Resolver, scope: SourceScope, handler: StreamFunction) -> StreamFunctionPlan:
    node = handler.call
    location = located(node, handler)
    registry = resolver.catalog.registry
    function = registry.stream_function(node.namespace, node.name)
    if function is None:
        hint_names = registry.names(StreamFunctionMetadata, StreamProcessorMetadata)
        error = unknown_extension("stream function", _full_name(node), hint_names, location)
        if registry.window(node.namespace, node.name) is not None:
            error.hint = f"write a window as #window.{node.name}(...)"
        permissions = resolver.catalog.permissions
        raise permissions.not_found(error, registry, _full_name(node), StreamFunctionMetadata, StreamProcessorMetadata)
    resolver.catalog.permissions.stream_function(function, location)
    arguments = resolve_arguments(resolver, node)
    check_arguments(function, arguments, node.arguments, location)
    resolver.catalog.note_use(function)
    appends = function.appends
    appended = appends([a.type for a in arguments], constants_of(arguments)) if callable(appends) else appends
    for attribute in appended:
        if scope.at(attribute.name) is not None:
            raise duplicate_attribute(
                f"'{node.name}' appends attribute '{attribute.name}', which {scope.what} already has",
                location,
                "rename the existing attribute in an earlier query",
            )
    scope.extend(appended)
    return StreamFunctionPlan(function, arguments, tuple(appended))


def _full_name(node: FunctionCall) -> str:
    return node.name if node.namespace is None else f"{node.namespace}:{node.name}"
