"""Stream function plans → operators."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from siddhi._core.expression.executor import Executor
from siddhi._core.python.operators import PythonStep, PythonStreamProcessor
from siddhi._core.python.stream_function import LogFunction, Pol2Cart, PythonStreamFunction
from siddhi._core.record.event import EventPool, Layout
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Processor
from siddhi.extension.metadata import StreamProcessorMetadata
from siddhi.planner.bind.parameters import constants_of
from siddhi.planner.plan.nodes import StreamFunctionPlan
from siddhi.runtime.functions.builtin import processor_class
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from siddhi._core.query.entry import RecordCopier
    from siddhi._core.stream.junction import StreamJunction
    from siddhi.runtime.assembly.awaited import AwaitedCalls
    from siddhi.runtime.assembly.query import Site

__all__ = ["build_awaited", "build_stream_function"]

_LEVELS = {
    "TRACE": logging.DEBUG,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}


def build_stream_function(
    plan: StreamFunctionPlan,
    context: AppContext,
    pool: EventPool,
    arguments: tuple[Executor, ...],
    first: int,
) -> Processor:
    """Build the operator of a stream function.

    Args:
        plan: the function with its arguments.
        context: the app's context.
        pool: pool of its input records.
        arguments: executors of the arguments.
        first: cell of the first attribute it appends.
    """
    function = plan.function
    if function.builtin == "log":
        return _log(plan, context, pool, arguments)
    if function.builtin == "pol2Cart":
        return Pol2Cart(context, pool, arguments, first)
    if isinstance(function, StreamProcessorMetadata):
        layout = Layout(pool.layout.names[:first], pool.layout.types[:first])
        what = f"{function.title} '{function.full_name}'"
        constants = tuple(constants_of(plan.arguments))
        return PythonStreamProcessor(
            PythonStep(context, pool, layout, processor_class(function), what, arguments, constants, len(plan.appended))
        )
    return PythonStreamFunction(context, pool, function.implementation, arguments, first, len(plan.appended))


def build_awaited(
    plan: StreamFunctionPlan,
    site: Site,
    source: StreamJunction,
    copier: RecordCopier,
    arguments: tuple[Executor, ...],
    first: int,
) -> AwaitedCalls:
    """Build the calls of a coroutine function with their operator.

    Args:
        plan: the function with its arguments.
        site: of the query.
        source: the stream, whose records the operator takes.
        copier: makes the records of the query.
        arguments: executors of the arguments, on records of the stream.
        first: cell of the first attribute it appends.
    """
    # Imported only if there is such a function: most apps have none.
    from siddhi._core.awaiting.function import AwaitedFunction
    from siddhi.runtime.assembly.awaited import AwaitedCalls

    function = plan.function
    assert function.awaiting is not None
    calls = AwaitedCalls(function.implementation, function.full_name, function.awaiting, site.context)
    calls.operator = AwaitedFunction(
        site.context, source, copier, function.implementation, arguments, first, len(plan.appended), calls
    )
    return calls


def _log(plan: StreamFunctionPlan, context: AppContext, pool: EventPool, arguments: tuple[Executor, ...]) -> Processor:
    types = [argument.type for argument in plan.arguments]
    texts = [executor for executor, type_ in zip(arguments, types, strict=True) if type_ is AttributeType.STRING]
    flag = next((e for e, t in zip(arguments, types, strict=True) if t is AttributeType.BOOL), None)
    priority = texts[0] if len(texts) == 2 else None
    message = texts[-1] if texts else None
    return LogFunction(context, pool, _logger(context.name), priority, message, flag)


def _logger(app: str) -> Callable[[str | None, str | None, str | None], None]:
    logger = logging.getLogger("siddhi")

    def write(priority: str | None, message: str | None, event: str | None) -> None:
        level = _LEVELS.get((priority or "INFO").upper())
        if level is None:
            return  # OFF
        parts = [part for part in (message, event) if part is not None] or ["Event Arrived"]
        logger.log(level, "%s: %s", app, ", ".join(parts))

    return write
