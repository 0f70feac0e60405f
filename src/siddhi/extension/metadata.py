"""The metadata of an extension: name, parameters, types, and its implementation.

The registry treats built-ins and users' extensions alike (registry.py). ``builtin`` names an implementation in the compiled
core; extensions written in Python have an ``implementation`` instead. Exactly one of the two is set.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar

from siddhi._frozen import field, frozen
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = [
    "AggregatorMetadata",
    "Awaiting",
    "ExtensionMetadata",
    "FunctionMetadata",
    "IncrementalAggregatorMetadata",
    "NullRule",
    "Overload",
    "Parameter",
    "Repeat",
    "ReturnRule",
    "ScriptLanguageMetadata",
    "StreamFunctionMetadata",
    "StreamProcessorMetadata",
    "WindowMetadata",
]

ReturnRule = AttributeType | Callable[..., AttributeType]
"""A fixed type, or a function ``(argument_types, constants) -> type``; constants holds a value or None per argument."""


@frozen
class Parameter:
    """One parameter. ``types`` are the accepted types. A parameter that is not ``dynamic`` takes literals only;
    ``attribute_only`` takes plain attribute references only, ``plain`` either of the two, and ``event_only`` an event
    itself (``eventTimestamp(e1)``)."""

    name: str
    types: frozenset[AttributeType]
    dynamic: bool = True
    attribute_only: bool = False
    description: str = ""
    plain: bool = False
    event_only: bool = False


class Repeat(Enum):
    """Whether the last parameter of an overload can repeat."""

    NO = "once"
    ZERO_OR_MORE = "zero or more times"
    ONE_OR_MORE = "one or more times"


@frozen
class Overload:
    """One accepted list of parameters. ``same_type``: all arguments must have the same type."""

    parameters: tuple[Parameter, ...] = ()
    repeat: Repeat = Repeat.NO
    same_type: bool = False


class NullRule(Enum):
    """What a function does if one of its arguments is null."""

    NULL = "The result is null if an argument is null."
    ERROR = "An event with a null argument fails."
    CONTAINER = "An event with a null map or list fails; null is a value among others."


@frozen(kw_only=True)
class ExtensionMetadata:
    """Base of the metadata. ``check`` can raise :class:`ValueError` for invalid constant arguments (it receives the
    argument types, and the constants or None); a second argument of the error is the hint. ``results`` are worked examples:
    calls of a function with literal arguments, and their values."""

    title: ClassVar[str] = "extension"

    def __repr__(self) -> str:
        return f"<{self.title} {self.full_name}>"

    name: str
    namespace: str | None = None
    overloads: tuple[Overload, ...] = ()
    description: str = ""
    example: str = ""
    results: tuple[tuple[str, Any], ...] = ()
    builtin: str | None = None
    implementation: Any = None
    check: Callable[..., None] | None = None
    deprecated: str | None = None

    @property
    def full_name(self) -> str:
        """``namespace:name``, or the name alone."""
        return self.name if self.namespace is None else f"{self.namespace}:{self.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names it can be found by."""
        return (self.full_name,)


@frozen(kw_only=True)
class FunctionMetadata(ExtensionMetadata):
    """A scalar function. ``deterministic``: the result depends only on the arguments. ``reads_clock``:
    the result depends on the clock of the app. ``nulls``: its rule for null arguments; None: the description says it."""

    title: ClassVar[str] = "function"

    returns: ReturnRule
    deterministic: bool = True
    reads_clock: bool = False
    nulls: NullRule | None = None


@frozen(kw_only=True)
class AggregatorMetadata(ExtensionMetadata):
    """An attribute aggregator. A Python implementation is a class with add(*values), remove(*values), reset(), value().
    ``any_order``: its value does not depend on the order in which values are added, and any of them can be removed.
    ``kept``: the position of the argument that says how many values a group keeps; None: it has none."""

    title: ClassVar[str] = "aggregator"

    returns: ReturnRule
    any_order: bool = False
    kept: int | None = None


@frozen(kw_only=True)
class IncrementalAggregatorMetadata(ExtensionMetadata):
    """An aggregator of ``define aggregation``. A Python implementation returns, for its argument attributes, the
    base attributes and the final expression (incremental.py)."""

    title: ClassVar[str] = "incremental aggregator"
    default_namespace: ClassVar[str] = "incrementalAggregator"

    returns: ReturnRule

    @property
    def names(self) -> tuple[str, ...]:
        """The names it can be found by, also with the namespace of its kind."""
        return (self.full_name,) if self.namespace is not None else (self.name, f"{self.default_namespace}:{self.name}")


@frozen
class Awaiting:
    """How the calls of a coroutine function run.

    Attributes:
        concurrency: how many of them beside each other.
        timeout: seconds that one may take; None: any time.
        buffer: number of events that wait for results, beyond which senders wait.
    """

    concurrency: int
    timeout: float | None
    buffer: int


@frozen(kw_only=True)
class StreamFunctionMetadata(ExtensionMetadata):
    """A stream function or processor. ``appends`` are the attributes it appends: fixed, or a function of the argument types.

    ``reads_event``: it reads every attribute of the event, not only its arguments. ``awaiting``: it is a coroutine function,
    whose calls run in this way.
    """

    title: ClassVar[str] = "stream function"

    appends: tuple[Attribute, ...] | Callable[..., tuple[Attribute, ...]] = ()
    reads_event: bool = False
    awaiting: Awaiting | None = None


@frozen(kw_only=True)
class StreamProcessorMetadata(StreamFunctionMetadata):
    """A stream processor in Python: a class with process(event, *values), and perhaps on_timer(time) and end_chunk().

    ``clock_driven``: it uses timers of the app clock.
    """

    title: ClassVar[str] = "stream processor"

    reads_event: bool = True
    clock_driven: bool = False


@frozen(kw_only=True)
class WindowMetadata(ExtensionMetadata):
    """A window. A Python implementation is a class like that of a stream processor, optionally with events().

    The attributes below tell the planner what the window emits. They must be true of its class: rules rely on them to leave
    out what no receiver needs, such as EXPIRED events, and to answer joins and on-demand queries from its events.

    Attributes:
        operator: module and class in ``siddhi._core.window``, such as ``length.LengthWindow``, that is called with the app's
            context, the pool of its records, the constant arguments and ``stamps``; None: ``runtime/assembly/windows.py``
            builds it.
        batch: it emits batches, each preceded by RESET.
        emits_reset: it emits RESET events.
        expires: it emits each CURRENT event again as EXPIRED.
        expires_passed: an event expires only after it was emitted as CURRENT, and at most once.
        clock_driven: it uses timers of the app clock.
        searchable: joins and on-demand queries can read its events.
        reads_event: it reads every attribute of the event, not only its arguments.
        takes_condition: its first argument is the text of a condition over its events.
        takes_cron: its first argument is a cron expression.
    """

    title: ClassVar[str] = "window"

    operator: str | None = None
    batch: bool = False
    emits_reset: bool = False
    expires: bool = True
    expires_passed: bool = True
    clock_driven: bool = False
    searchable: bool = True
    reads_event: bool = False
    takes_condition: bool = False
    takes_cron: bool = False
    tags: frozenset[str] = field(default_factory=frozenset)

    @property
    def takes_away(self) -> bool:
        """Whether aggregates need its EXPIRED events, whatever the query emits, because no RESET clears them."""
        if self.implementation is not None:
            return self.expires  # the behaviour of a user's window is not known in advance
        return self.expires and not (self.batch and self.emits_reset)


@frozen(kw_only=True)
class ScriptLanguageMetadata(ExtensionMetadata):
    """A language for ``define function f[language]``; ``implementation(definition)`` returns a callable."""

    title: ClassVar[str] = "script language"
