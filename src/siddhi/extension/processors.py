"""Stream processors and windows as extensions: classes that receive events, keep state, and emit events.

    @extension.stream_processor("my:deduplicate", args=(STRING, Parameter("period", TIME, dynamic=False)))
    class Deduplicate:
        def __init__(self, context): ...
        def process(self, event, key, period): ...   # returns an Event, an iterable of events, or None

An app creates one object per use and partition key. Events are passed as :class:`siddhi.Event`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from siddhi.errors import ExtensionError
from siddhi.extension.declaring import (
    ArgumentSpec,
    appended,
    check_signature,
    described,
    parameters,
    register,
    split,
)
from siddhi.extension.metadata import Overload, Repeat, StreamProcessorMetadata, WindowMetadata
from siddhi.extension.registry import Registry
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = ["RESET", "ProcessorContext", "Reset", "stream_processor", "window"]

_C = TypeVar("_C", bound=type)


class ProcessorContext(Protocol):
    """The argument of the constructor of a stream processor or window.

    Attributes:
        arguments: the value of each literal argument (times in ms), None for the others.
        attributes: the names of the attributes of the events.
        argument_names: the name of each argument that is an attribute, None for the others.
        app_name: the name of the app.
        now: the clock of the app in ms.
    """

    @property
    def arguments(self) -> tuple[Any, ...]: ...

    @property
    def attributes(self) -> tuple[str, ...]: ...

    @property
    def argument_names(self) -> tuple[str | None, ...]: ...

    @property
    def app_name(self) -> str: ...

    @property
    def now(self) -> int: ...

    def schedule(self, when: int) -> None:
        """Schedule one call of ``on_timer(when)`` at a time of the app clock (ms), even if scheduled repeatedly.

        A time that is scheduled in ``on_timer`` must be later than its argument.
        """


class Reset:
    """The class of :data:`RESET`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "RESET"


RESET: Final = Reset()
"""An item that a window can return among its events: it resets the aggregators of the query."""


def stream_processor(
    name: str,
    *,
    args: Sequence[ArgumentSpec] = (),
    repeat: Repeat = Repeat.NO,
    appends: Mapping[str, AttributeType] | Sequence[Attribute] | Callable[..., tuple[Attribute, ...]] = (),
    check: Callable[..., None] | None = None,
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_C], _C]:
    """Declare a stream processor, used as ``from S#ns:name(...)``: it can pass, change, add, drop or delay events.

    The class is instantiated with a :class:`ProcessorContext`, once per use and partition key. ``process(event, *values)``
    receives every event and returns an Event, an iterable of events, or None. So do the optional ``on_timer(time)``, called
    at scheduled times, and ``end_chunk()``, called after the events of a chunk. ``snapshot()`` returns the state (built-in
    types, events, deques) and ``restore(state)`` sets it; without them the state is the attributes of the object.

    Args:
        name: ``namespace:name``.
        args: types of the arguments.
        repeat: whether the last argument can repeat.
        appends: attributes it appends; returned events have their values at the end. Or a function of the argument types
            and the literals that returns the attributes.
        check: called with the argument types and the literals (None for others) when an app is created; it can raise
            ValueError with a message and, as a second argument, a hint.
        description: for the reference page; by default the docstring of the class.
        example: for the reference page.
        registry: the registry to add it to; None: that of the process.

    Raises:
        ExtensionError: name, arguments or methods are invalid, or the name is taken.
    """

    def declare(implementation: _C) -> _C:
        overload = _overload(name, args, repeat, implementation)
        namespace, plain = split(name)
        metadata = StreamProcessorMetadata(
            name=plain,
            namespace=namespace,
            overloads=(overload,),
            appends=appends if callable(appends) else appended(name, appends),
            clock_driven=hasattr(implementation, "on_timer"),
            implementation=implementation,
            check=check,
            description=described(description, implementation),
            example=example,
        )
        return register(metadata, implementation, registry)

    return declare


def window(
    name: str,
    *,
    args: Sequence[ArgumentSpec] = (),
    repeat: Repeat = Repeat.NO,
    batch: bool = False,
    check: Callable[..., None] | None = None,
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_C], _C]:
    """Declare a window, used as ``from S#window.ns:name(...)`` and ``define window W (...) ns:name(...)``.

    The class is like that of :func:`stream_processor`. It returns current events, expired events
    (``Event(time, event.data, is_expired=True)``), and :data:`RESET` where the aggregators start again. With an optional
    method ``events()``, joins and on-demand queries can read the window; they see the returned events in order.

    Args:
        name: ``namespace:name``.
        args: types of the arguments; arguments that are not literals are evaluated for each event.
        repeat: whether the last argument can repeat.
        batch: whether the result of each call is a separate chunk, even within one chunk of input: an aggregating query
            then emits one event per result, or one per group.
        check, description, example, registry: as in :func:`stream_processor`.

    Raises:
        ExtensionError: name, arguments or methods are invalid, or the name is taken.
    """

    def declare(implementation: _C) -> _C:
        overload = _overload(name, args, repeat, implementation)
        namespace, plain = split(name)
        metadata = WindowMetadata(
            name=plain,
            namespace=namespace,
            overloads=(overload,),
            batch=batch,
            emits_reset=True,
            expires_passed=False,
            clock_driven=hasattr(implementation, "on_timer"),
            searchable=hasattr(implementation, "events"),
            reads_event=True,
            implementation=implementation,
            check=check,
            description=described(description, implementation),
            example=example,
        )
        return register(metadata, implementation, registry)

    return declare


def _overload(name: str, args: Sequence[ArgumentSpec], repeat: Repeat, implementation: type) -> Overload:
    """Check the methods of the class and return its overload.

    Raises:
        ExtensionError: a method is missing or does not accept the declared arguments.
    """
    process = getattr(implementation, "process", None)
    if process is None:
        raise ExtensionError(f"'{name}': {implementation!r} lacks process()")
    check_signature(f"{name}.process", process, len(args) + 2, repeat)
    if hasattr(implementation, "on_timer"):
        check_signature(f"{name}.on_timer", implementation.on_timer, 2, Repeat.NO)
    if hasattr(implementation, "snapshot") is not hasattr(implementation, "restore"):
        raise ExtensionError(f"'{name}' must define both snapshot() and restore(), or neither")
    try:
        check_signature(name, implementation, 1, Repeat.NO)
    except ExtensionError:
        raise ExtensionError(f"'{name}': the constructor must take one argument, the ProcessorContext") from None
    return Overload(parameters(name, args, process, 2), repeat)
