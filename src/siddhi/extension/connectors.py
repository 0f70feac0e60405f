"""Extensions that connect to external systems: sources, sinks, mappers, distribution strategies and
stores of tables.

    @extension.sink("mail", options=(ConnectorOption("to", required=True, dynamic=True),))
    class MailSink(siddhi.io.Sink): ...

They are subclasses of those in :mod:`siddhi.io` and :mod:`siddhi.stores`; an app creates one instance per annotation,
without arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from siddhi._frozen import frozen
from siddhi.errors import ExtensionError
from siddhi.extension.metadata import ExtensionMetadata

__all__ = [
    "ConnectorMetadata",
    "ConnectorOption",
    "DistributionStrategyMetadata",
    "SinkMapperMetadata",
    "SinkMetadata",
    "SourceMapperMetadata",
    "SourceMetadata",
    "StoreMetadata",
]

_C = TypeVar("_C", bound=type)


@frozen
class ConnectorOption:
    """An option of an annotation.

    ``dynamic``: the value can contain attributes of the events, as ``{{name}}``. ``place``: the value is a location, which a
    policy (:class:`siddhi.SandboxPolicy`) can restrict: ``url`` (also host and port), ``name`` (such as a topic) or ``file``.
    ``secret``: the value is a secret, or says where it is: ``env:NAME`` or ``file:/path``; read it with
    :meth:`siddhi.io.OptionHolder.secret`. ``unit``: the value is a duration, such as ``'5 sec'``, or a plain number of this unit;
    read it with :meth:`siddhi.io.OptionHolder.duration`.
    """

    name: str
    description: str = ""
    required: bool = False
    dynamic: bool = False
    place: Literal["url", "name", "file"] | None = None
    secret: bool = False
    unit: Literal["ms", "sec"] | None = None

    @property
    def is_prefix(self) -> bool:
        """Whether it stands for any number of options that begin with its name, which ends with ``.*``."""
        return self.name.endswith(".*")


@frozen(kw_only=True)
class ConnectorMetadata(ExtensionMetadata):
    """Base of the connectors. ``options`` are the declared options; an unknown option is passed on, with a warning.

    Attributes:
        common: options that all connectors of the kind have.
        location: the class of a built-in: module below :mod:`siddhi.io`, and name.
        packages: modules of other packages that the class imports; without them an app is not created.
        extra: the extra of this package that installs them.
    """

    default_namespace: ClassVar[str] = ""
    methods: ClassVar[tuple[str, ...]] = ()
    common: ClassVar[tuple[ConnectorOption, ...]] = ()

    options: tuple[ConnectorOption, ...] = ()
    location: str | None = None
    packages: tuple[str, ...] = ()
    extra: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names it can be found by, also with the namespace of its kind: ``sink:log``."""
        return (self.full_name,) if self.namespace is not None else (self.name, f"{self.default_namespace}:{self.name}")

    def option(self, name: str) -> ConnectorOption | None:
        """Return the option of this name (any case), or None. An option ``regex.*`` stands for all of that prefix."""
        lowered = name.lower()
        for option in (*self.options, *self.common):
            if option.name.lower() == lowered or (option.is_prefix and lowered.startswith(option.name[:-1].lower())):
                return option
        return None


RETRY_OPTIONS: tuple[ConnectorOption, ...] = (
    ConnectorOption(
        "retry.initial",
        "pause before the second attempt to connect, in ms; default: 5 sec, then 10, 15, 30 sec, ...",
        unit="ms",
    ),
    ConnectorOption("retry.multiplier", "factor from one pause to the next; default with 'retry.initial': 2"),
    ConnectorOption("retry.max", "longest pause, in ms; default: 5 min", unit="ms"),
    ConnectorOption("retry.jitter", "share by which a pause varies at random; default: 0.1"),
    ConnectorOption("retry.limit", "number of attempts after which no more are made; default: none"),
)
"""Options of all sources and sinks: the pauses between attempts to connect."""


@frozen(kw_only=True)
class SourceMetadata(ConnectorMetadata):
    """``@source(type = 'name')``."""

    title: ClassVar[str] = "source"
    default_namespace: ClassVar[str] = "source"
    common: ClassVar[tuple[ConnectorOption, ...]] = RETRY_OPTIONS
    methods: ClassVar[tuple[str, ...]] = ("init", "connect", "disconnect", "pause", "resume")


@frozen(kw_only=True)
class SourceMapperMetadata(ConnectorMetadata):
    """``@map(type = 'name')`` of a source."""

    title: ClassVar[str] = "source mapper"
    default_namespace: ClassVar[str] = "sourceMapper"
    methods: ClassVar[tuple[str, ...]] = ("init", "map")


@frozen(kw_only=True)
class SinkMetadata(ConnectorMetadata):
    """``@sink(type = 'name')``."""

    title: ClassVar[str] = "sink"
    default_namespace: ClassVar[str] = "sink"
    common: ClassVar[tuple[ConnectorOption, ...]] = RETRY_OPTIONS
    methods: ClassVar[tuple[str, ...]] = ("init", "connect", "publish", "disconnect")


@frozen(kw_only=True)
class SinkMapperMetadata(ConnectorMetadata):
    """``@map(type = 'name')`` of a sink. ``plain_payload_if``: the option that, if it is true, passes ``@payload`` on as it is."""

    title: ClassVar[str] = "sink mapper"
    default_namespace: ClassVar[str] = "sinkMapper"
    methods: ClassVar[tuple[str, ...]] = ("init", "map_event")

    plain_payload_if: str | None = None


@frozen(kw_only=True)
class DistributionStrategyMetadata(ConnectorMetadata):
    """``@distribution(strategy = 'name')``. ``keyed``: it requires ``partitionKey``, and splits chunks by it."""

    title: ClassVar[str] = "distribution strategy"
    default_namespace: ClassVar[str] = "distributionStrategy"
    methods: ClassVar[tuple[str, ...]] = ("init", "destinations_to_publish")

    keyed: bool = False


@frozen(kw_only=True)
class StoreMetadata(ConnectorMetadata):
    """``@store(type = 'name')``."""

    title: ClassVar[str] = "store"
    default_namespace: ClassVar[str] = "store"
    methods: ClassVar[tuple[str, ...]] = (
        "init",
        "connect",
        "disconnect",
        "compile_condition",
        "compile_value",
        "add",
        "find",
        "contains",
        "delete",
        "update",
        "update_or_add",
    )


def declare(
    kind: type[ConnectorMetadata],
    name: str,
    options: Sequence[ConnectorOption],
    description: str | None,
    example: str,
    register: Callable[[ExtensionMetadata, _C], _C],
    **more: Any,
) -> Callable[[_C], _C]:
    """Return the decorator that declares a class as an extension of this kind.

    Raises:
        ExtensionError: an option is duplicated, or the namespace is empty.
    """
    names = [option.name.lower() for option in options]
    if len(set(names)) != len(names):
        raise ExtensionError(f"{kind.title} '{name}' declares an option twice")
    namespace, colon, plain = name.rpartition(":")
    if colon and not namespace:
        raise ExtensionError(f"'{name}' has an empty namespace")

    def decorate(implementation: _C) -> _C:
        said = implementation.__doc__ or ""
        metadata = kind(
            name=plain,
            namespace=namespace if namespace not in ("", kind.default_namespace) else None,
            options=tuple(options),
            implementation=implementation,
            description=said.strip() if description is None else description,
            example=example,
            **more,
        )
        return register(metadata, implementation)

    return decorate
