"""How users write extensions: a decorator above a function or class.

    @extension.function("geo:distance", args=(DOUBLE,) * 4, returns=DOUBLE)
    def distance(lat1: float, lon1: float, lat2: float, lon2: float) -> float: ...

Without ``registry`` the extension is known to every manager of the process. Mistakes raise ExtensionError at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from siddhi.errors import ExtensionError
from siddhi.extension.connectors import (
    ConnectorOption,
    DistributionStrategyMetadata,
    SinkMapperMetadata,
    SinkMetadata,
    SourceMapperMetadata,
    SourceMetadata,
    StoreMetadata,
    declare,
)
from siddhi.extension.metadata import (
    AggregatorMetadata,
    ExtensionMetadata,
    FunctionMetadata,
    Overload,
    Parameter,
    Repeat,
    ReturnRule,
    StreamFunctionMetadata,
)
from siddhi.extension.registry import Registry, shared_registry
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = [
    "ArgumentSpec",
    "aggregator",
    "distribution_strategy",
    "function",
    "sink",
    "sink_mapper",
    "source",
    "source_mapper",
    "store",
    "stream_function",
]

ArgumentSpec = AttributeType | Parameter | Iterable[AttributeType]
"""One argument: a type, a set of types, or a whole :class:`Parameter`."""

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)
_T = TypeVar("_T")


def function(
    name: str,
    *,
    args: Sequence[ArgumentSpec] = (),
    returns: ReturnRule,
    repeat: Repeat = Repeat.NO,
    same_type: bool = False,
    deterministic: bool = True,
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_F], _F]:
    """Declare a scalar function ``name`` or ``namespace:name``; it is called with one Python value per argument.

    ``repeat`` says how often the last argument may come; ``same_type`` that all arguments must have one type.

    Raises:
        ExtensionError: name, arguments or signature are wrong, or the name is taken.
    """

    def declare(implementation: _F) -> _F:
        overload = Overload(_parameters(name, args, implementation), repeat, same_type)
        _check_signature(name, implementation, len(args), repeat)
        namespace, plain = _split(name)
        metadata = FunctionMetadata(
            name=plain,
            namespace=namespace,
            overloads=(overload,),
            returns=returns,
            deterministic=deterministic,
            implementation=implementation,
            description=_described(description, implementation),
            example=example,
        )
        return _register(metadata, implementation, registry)

    return declare


def aggregator(
    name: str,
    *,
    args: Sequence[ArgumentSpec] = (),
    returns: ReturnRule,
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_C], _C]:
    """Declare an attribute aggregator: a class with ``add(*values)``, ``remove(*values)``, ``reset()`` and ``value()``.

    Raises:
        ExtensionError: name, arguments or methods are wrong, or the name is taken.
    """

    def declare(implementation: _C) -> _C:
        parameters = _parameters(name, args, implementation)
        for method in ("add", "remove"):
            if hasattr(implementation, method):
                _check_signature(f"{name}.{method}", getattr(implementation, method), len(args) + 1, Repeat.NO)
        namespace, plain = _split(name)
        metadata = AggregatorMetadata(
            name=plain,
            namespace=namespace,
            overloads=(Overload(parameters),),
            returns=returns,
            implementation=implementation,
            description=_described(description, implementation),
            example=example,
        )
        return _register(metadata, implementation, registry)

    return declare


def stream_function(
    name: str,
    *,
    args: Sequence[ArgumentSpec] = (),
    appends: Mapping[str, AttributeType] | Sequence[Attribute] = (),
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_F], _F]:
    """Declare a stream function: called with the arguments, it returns one value per attribute of ``appends``.

    Raises:
        ExtensionError: name, arguments or signature are wrong, or the name is taken.
    """

    def declare(implementation: _F) -> _F:
        parameters = _parameters(name, args, implementation)
        _check_signature(name, implementation, len(args), Repeat.NO)
        added = tuple(Attribute(*item) for item in appends.items()) if isinstance(appends, Mapping) else tuple(appends)
        if len({attribute.name for attribute in added}) != len(added):
            raise ExtensionError(f"'{name}' appends an attribute twice")
        namespace, plain = _split(name)
        metadata = StreamFunctionMetadata(
            name=plain,
            namespace=namespace,
            overloads=(Overload(parameters),),
            appends=added,
            implementation=implementation,
            description=_described(description, implementation),
            example=example,
        )
        return _register(metadata, implementation, registry)

    return declare


def source(
    name: str,
    *,
    options: Sequence[ConnectorOption] = (),
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_C], _C]:
    """Declare a :class:`siddhi.io.Source`, used as ``@source(type = 'name')``.

    Raises:
        ExtensionError: name, options or methods are wrong, or the name is taken.
    """
    return declare(SourceMetadata, name, options, description, example, _registering(registry))


def source_mapper(
    name: str,
    *,
    options: Sequence[ConnectorOption] = (),
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_C], _C]:
    """Declare a :class:`siddhi.io.SourceMapper`, used as ``@map(type = 'name')`` in a source.

    Raises:
        ExtensionError: as :func:`source`.
    """
    return declare(SourceMapperMetadata, name, options, description, example, _registering(registry))


def sink(
    name: str,
    *,
    options: Sequence[ConnectorOption] = (),
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_C], _C]:
    """Declare a :class:`siddhi.io.Sink`, used as ``@sink(type = 'name')``.

    Raises:
        ExtensionError: as :func:`source`.
    """
    return declare(SinkMetadata, name, options, description, example, _registering(registry))


def sink_mapper(
    name: str,
    *,
    options: Sequence[ConnectorOption] = (),
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_C], _C]:
    """Declare a :class:`siddhi.io.SinkMapper`, used as ``@map(type = 'name')`` in a sink.

    Raises:
        ExtensionError: as :func:`source`.
    """
    return declare(SinkMapperMetadata, name, options, description, example, _registering(registry))


def store(
    name: str,
    *,
    options: Sequence[ConnectorOption] = (),
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_C], _C]:
    """Declare a :class:`siddhi.stores.RecordTable`, used as ``@store(type = 'name')`` above ``define table``.

    Raises:
        ExtensionError: as :func:`source`.
    """
    return declare(StoreMetadata, name, options, description, example, _registering(registry))


def distribution_strategy(
    name: str,
    *,
    options: Sequence[ConnectorOption] = (),
    keyed: bool = False,
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_C], _C]:
    """Declare a :class:`siddhi.io.DistributionStrategy`, used as ``@distribution(strategy = 'name')``.

    ``keyed``: it needs a ``partitionKey``, and events sent together are split by the destination their key names.

    Raises:
        ExtensionError: as :func:`source`.
    """
    return declare(
        DistributionStrategyMetadata, name, options, description, example, _registering(registry), keyed=keyed
    )


def _registering(registry: Registry | None) -> Callable[[ExtensionMetadata, _T], _T]:
    return lambda metadata, implementation: _register(metadata, implementation, registry)


def _register(metadata: ExtensionMetadata, implementation: _T, registry: Registry | None) -> _T:
    (registry if registry is not None else shared_registry()).register(metadata)
    implementation.__siddhi_extension__ = metadata  # type: ignore[attr-defined]
    return implementation


def _split(name: str) -> tuple[str | None, str]:
    namespace, colon, plain = name.rpartition(":")
    if colon and not namespace:
        raise ExtensionError(f"'{name}' has an empty namespace")
    return (namespace or None), plain


def _described(description: str | None, implementation: Any) -> str:
    return description if description is not None else (getattr(implementation, "__doc__", None) or "").strip()


def _parameters(name: str, args: Sequence[ArgumentSpec], implementation: Any) -> tuple[Parameter, ...]:
    """Parameters named as those of the implementation, where it names them."""
    from inspect import signature

    target = (
        implementation.add if isinstance(implementation, type) and hasattr(implementation, "add") else implementation
    )
    names = [parameter for parameter in signature(target).parameters if parameter != "self"] if callable(target) else []
    parameters: list[Parameter] = []
    for position, spec in enumerate(args):
        label = names[position] if position < len(names) else f"arg{position + 1}"
        if isinstance(spec, Parameter):
            parameters.append(spec)
        elif isinstance(spec, AttributeType):
            parameters.append(Parameter(label, frozenset({spec})))
        else:
            try:
                types = frozenset(spec)
            except TypeError:
                raise ExtensionError(f"'{name}': argument {position + 1} is no attribute type: {spec!r}") from None
            if not all(isinstance(type_, AttributeType) for type_ in types):
                raise ExtensionError(f"'{name}': argument {position + 1} is no attribute type: {spec!r}")
            parameters.append(Parameter(label, types))
    return tuple(parameters)


def _check_signature(name: str, implementation: Any, count: int, repeat: Repeat) -> None:
    """Refuse a Python function that cannot take the declared arguments."""
    from inspect import Parameter as Formal
    from inspect import signature

    if not callable(implementation):
        raise ExtensionError(f"'{name}': {implementation!r} cannot be called")
    formals = list(signature(implementation).parameters.values())
    positional = [formal for formal in formals if formal.kind in (Formal.POSITIONAL_ONLY, Formal.POSITIONAL_OR_KEYWORD)]
    variadic = any(formal.kind is Formal.VAR_POSITIONAL for formal in formals)
    required = sum(1 for formal in positional if formal.default is Formal.empty)
    if any(formal.kind is Formal.KEYWORD_ONLY and formal.default is Formal.empty for formal in formals):
        raise ExtensionError(f"'{name}': arguments come by position, but the implementation requires keywords")
    least = count - 1 if repeat is Repeat.ZERO_OR_MORE else count
    if required > least or (len(positional) < count and not variadic) or (repeat is not Repeat.NO and not variadic):
        raise ExtensionError(f"'{name}' is declared with {count} argument(s), which its implementation does not take")
