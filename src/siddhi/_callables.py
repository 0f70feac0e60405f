"""Checks of the functions that users pass to the engine, done when a function is attached."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = [
    "asynchronous_methods",
    "is_asynchronous",
    "is_coroutine_function",
    "is_generator_function",
    "require_function",
]

_METHODS = (
    "add",
    "connect",
    "contains",
    "delete",
    "destinations_to_publish",
    "destroy",
    "disconnect",
    "end_chunk",
    "events",
    "find",
    "init",
    "map",
    "map_event",
    "map_events",
    "on_timer",
    "pause",
    "process",
    "publish",
    "remove",
    "reset",
    "restore",
    "resume",
    "snapshot",
    "update",
    "update_or_add",
    "update_or_add_each",
    "value",
)
"""The methods of extension classes that the engine calls."""


def require_function(function: object, what: str, arguments: str, *, may_be_async: bool = False) -> None:
    """Check that a function can be called with the given arguments and does its work when it is called.

    A function without a signature, such as many functions written in C, is accepted.

    Args:
        function: the function to check.
        what: its role, for error messages.
        arguments: the names of its positional arguments, separated by commas.
        may_be_async: whether a coroutine function will do in a thread where an event loop runs: its calls run there.

    Raises:
        TypeError: it is not callable, takes other arguments, or is asynchronous or a generator.
    """
    import inspect

    if not callable(function):
        raise TypeError(f"{what} must be a function that takes ({arguments}), not {function!r}")
    if may_be_async and is_coroutine_function(function):
        if not _runs_loop():
            raise TypeError(
                f"{what} can't be asynchronous here: {function!r} would run on the event loop of this thread, which has none; "
                "attach it inside a coroutine, such as main() of asyncio.run(main())"
            )
    elif may_be_async and is_asynchronous(function):
        raise TypeError(
            f"{what} can't be an asynchronous generator, since the engine does not iterate over it: {function!r}; an 'async def' "
            "function without yield will do"
        )
    elif is_asynchronous(function):
        raise TypeError(
            f"{what} can't be asynchronous, since the engine does not await it: {function!r}; pass a plain function that "
            "submits the work to an event loop, such as asyncio.run_coroutine_threadsafe(..., loop), without waiting for it"
        )
    if is_generator_function(function):
        raise TypeError(
            f"{what} can't be a generator, since the engine does not iterate over it: {function!r}; remove the yield"
        )
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (ValueError, TypeError):
        return
    try:
        signature.bind(*arguments.split(", "))
    except TypeError:
        raise TypeError(f"{what} is called with ({arguments}), but {function!r} takes {signature}") from None


def _runs_loop() -> bool:
    """Return whether an event loop runs in this thread."""
    import sys

    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and asyncio._get_running_loop() is not None


def asynchronous_methods(implementation: object) -> Iterator[str]:
    """Yield the names of the asynchronous functions of an extension: its own, or those of methods that the engine calls."""
    if not isinstance(implementation, type):
        if is_asynchronous(implementation):
            yield getattr(implementation, "__name__", repr(implementation))
        return
    yield from (name for name in _METHODS if is_asynchronous(getattr(implementation, name, None)))


def is_coroutine_function(function: object) -> bool:
    """Return whether a call creates a coroutine."""
    import inspect

    return any(map(inspect.iscoroutinefunction, _called(function)))


def is_generator_function(function: object) -> bool:
    """Return whether a call creates a generator."""
    import inspect

    return any(map(inspect.isgeneratorfunction, _called(function)))


def is_asynchronous(function: object) -> bool:
    """Return whether a call only creates a coroutine or an asynchronous generator."""
    import inspect

    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in _called(function))


def _called(function: object) -> tuple[object, object]:
    """Return what a call of an object can run: the object itself, and ``__call__`` of its class."""
    import functools
    import inspect

    while isinstance(function, functools.partial):
        function = function.func
    return function, inspect.getattr_static(type(function), "__call__", None)
