"""Functions that users hand in: whether the engine can call them, asked when they are attached."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["asynchronous_methods", "require_function"]

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
"""What the engine calls of the classes of extensions."""


def require_function(function: object, what: str, arguments: str) -> None:
    """Refuse what can't be called with some arguments, or would return without having done its work.

    What doesn't tell its arguments, as many functions written in C, is taken.

    Args:
        function: what a user attaches.
        what: it is, in messages.
        arguments: names of those it is called with, by position.

    Raises:
        TypeError: it isn't callable, takes other arguments, or is asynchronous or a generator.
    """
    import inspect

    if not callable(function):
        raise TypeError(f"{what} is a function that takes ({arguments}), not {function!r}")
    if is_asynchronous(function):
        raise TypeError(
            f"{what} can't be asynchronous, since nobody awaits it: {function!r}; give a plain function that hands over to "
            "the event loop, such as one that calls asyncio.run_coroutine_threadsafe(..., loop) and does not wait for it"
        )
    if any(map(inspect.isgeneratorfunction, _called(function))):
        raise TypeError(
            f"{what} can't be a generator, since nobody iterates over it: {function!r}; leave out the yield"
        )
    try:
        signature = inspect.signature(function, follow_wrapped=False)
    except (ValueError, TypeError):
        return
    try:
        signature.bind(*arguments.split(", "))
    except TypeError:
        raise TypeError(f"{what} is called with ({arguments}), and {function!r} takes {signature}") from None


def asynchronous_methods(implementation: object) -> Iterator[str]:
    """Of an extension: the function itself, or the methods the engine calls, where they are asynchronous."""
    if not isinstance(implementation, type):
        if is_asynchronous(implementation):
            yield getattr(implementation, "__name__", repr(implementation))
        return
    yield from (name for name in _METHODS if is_asynchronous(getattr(implementation, name, None)))


def is_asynchronous(function: object) -> bool:
    """Whether a call only makes a coroutine or an asynchronous generator."""
    import inspect

    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in _called(function))


def _called(function: object) -> tuple[object, object]:
    """What may run where an object is called: itself, and the method of its class."""
    import functools
    import inspect

    while isinstance(function, functools.partial):
        function = function.func
    return function, inspect.getattr_static(type(function), "__call__", None)
