"""Stream processors and windows as extensions: classes that receive events, keep state, and emit events.

    @extension.stream_processor("my:deduplicate", args=(STRING, Parameter("period", TIME, dynamic=False)))
    class Deduplicate:
        def __init__(self, context): ...
        def process(self, event, key, period): ...   # answers with an Event, several, or None

An app makes one object per use and partition key. Events come and go as :class:`siddhi.Event`.
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
        app_name: the name of the app.
        now: the clock of the app in ms.
    """

    @property
    def arguments(self) -> tuple[Any, ...]: ...

    @property
    def attributes(self) -> tuple[str, ...]: ...

    @property
    def app_name(self) -> str: ...

    @property
    def now(self) -> int: ...

    def schedule(self, when: int) -> None:
        """Have ``on_timer(when)`` called when the app's clock reaches a time (ms); once, however often it is asked for.

        A time that ``on_timer`` asks for is after the one it was called for.
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
    """Declare a stream processor, used as ``from S#ns:name(...)``: it may pass, change, add, drop or delay events.

    The class is made with a :class:`ProcessorContext`, once per use and partition key. ``process(event, *values)`` gets
    every event and answers with an Event, an iterable of them, or None; so do ``on_timer(time)``, where it has
    scheduled a time, and ``end_chunk()``, which is called behind events that came together. ``snapshot()`` and
    ``restore(state)`` give and take the state (built-in types, events, deques); without them it is the object's attributes.

    Args:
        name: ``namespace:name``.
        args: types of the arguments.
        repeat: whether the last argument can repeat.
        appends: attributes it adds: their values stand behind those of the events it answers with. Also a function of
            the argument types and the literals.
        check: called with the argument types and the literals (None for others) when an app is created; raises
            ValueError with what is wrong and, as a second argument, a hint.
        description: for the reference page; the class's docstring where there is none.
        example: for the reference page.
        registry: that knows it; that of the process where there is none.

    Raises:
        ExtensionError: name, arguments or methods are wrong, or the name is taken.
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

    The class is one as for :func:`stream_processor`; it answers with the events that pass, with those that leave
    (``Event(time, event.data, is_expired=True)``), and with :data:`RESET` in between where it forgets. Where it has
    ``events()``, joins and on-demand queries find these in it, in this order.

    Args:
        name: ``namespace:name``.
        args: types of the arguments; what is not a literal is evaluated for each event.
        repeat: whether the last argument can repeat.
        batch: what one call answers with is a chunk of its own, also where several events came together: an aggregating
            query puts out one event for it, or one per group.
        check, description, example, registry: as of a stream processor.

    Raises:
        ExtensionError: name, arguments or methods are wrong, or the name is taken.
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
    """The way to call it, once its methods are found to fit.

    Raises:
        ExtensionError: they do not.
    """
    process = getattr(implementation, "process", None)
    if process is None:
        raise ExtensionError(f"'{name}': {implementation!r} lacks process()")
    check_signature(f"{name}.process", process, len(args) + 2, repeat)
    if hasattr(implementation, "on_timer"):
        check_signature(f"{name}.on_timer", implementation.on_timer, 2, Repeat.NO)
    if hasattr(implementation, "snapshot") is not hasattr(implementation, "restore"):
        raise ExtensionError(f"'{name}' has one of snapshot() and restore(), but not the other")
    try:
        check_signature(name, implementation, 1, Repeat.NO)
    except ExtensionError:
        raise ExtensionError(f"'{name}' is made with a ProcessorContext, which its constructor does not take") from None
    return Overload(parameters(name, args, process, 2), repeat)
