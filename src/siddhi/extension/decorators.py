"""The decorators that declare a function or class as an extension.

    @extension.function("geo:distance", args=(DOUBLE,) * 4, returns=DOUBLE)
    def distance(lat1: float, lon1: float, lat2: float, lon2: float) -> float: ...

Without ``registry`` the extension is available to every manager of the process. Errors raise ExtensionError at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

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
from siddhi.extension.declaring import (
    ArgumentSpec,
    appended,
    check_signature,
    described,
    parameters,
    register,
    split,
)
from siddhi.extension.metadata import (
    AggregatorMetadata,
    ExtensionMetadata,
    FunctionMetadata,
    Overload,
    Repeat,
    ReturnRule,
    StreamFunctionMetadata,
)
from siddhi.extension.registry import Registry
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = [
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
    """Declare a scalar function ``name`` or ``namespace:name``; the engine calls it with one Python value per argument.

    ``repeat`` says whether the last argument can repeat; ``same_type`` that all arguments must have the same type.

    Raises:
        ExtensionError: name, arguments or signature are invalid, or the name is taken.
    """

    def declare(implementation: _F) -> _F:
        overload = Overload(parameters(name, args, implementation), repeat, same_type)
        check_signature(name, implementation, len(args), repeat)
        namespace, plain = split(name)
        metadata = FunctionMetadata(
            name=plain,
            namespace=namespace,
            overloads=(overload,),
            returns=returns,
            deterministic=deterministic,
            implementation=implementation,
            description=described(description, implementation),
            example=example,
        )
        return register(metadata, implementation, registry)

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
        ExtensionError: name, arguments or methods are invalid, or the name is taken.
    """

    def declare(implementation: _C) -> _C:
        added = getattr(implementation, "add", None)
        overload = Overload(parameters(name, args, added, 1))
        for method in ("add", "remove"):
            if hasattr(implementation, method):
                check_signature(f"{name}.{method}", getattr(implementation, method), len(args) + 1, Repeat.NO)
        namespace, plain = split(name)
        metadata = AggregatorMetadata(
            name=plain,
            namespace=namespace,
            overloads=(overload,),
            returns=returns,
            implementation=implementation,
            description=described(description, implementation),
            example=example,
        )
        return register(metadata, implementation, registry)

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
        ExtensionError: name, arguments or signature are invalid, or the name is taken.
    """

    def declare(implementation: _F) -> _F:
        overload = Overload(parameters(name, args, implementation))
        check_signature(name, implementation, len(args), Repeat.NO)
        added = appended(name, appends)
        namespace, plain = split(name)
        metadata = StreamFunctionMetadata(
            name=plain,
            namespace=namespace,
            overloads=(overload,),
            appends=added,
            implementation=implementation,
            description=described(description, implementation),
            example=example,
        )
        return register(metadata, implementation, registry)

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
        ExtensionError: name, options or methods are invalid, or the name is taken.
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

    ``keyed``: it requires a ``partitionKey``, and the events of a chunk are split by the destination of their key.

    Raises:
        ExtensionError: as :func:`source`.
    """
    return declare(
        DistributionStrategyMetadata, name, options, description, example, _registering(registry), keyed=keyed
    )


def _registering(registry: Registry | None) -> Callable[[ExtensionMetadata, _T], _T]:
    return lambda metadata, implementation: register(metadata, implementation, registry)
