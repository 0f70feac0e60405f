"""The decorators that declare a function or class as an extension.

    @extension.function("geo:distance", args=(DOUBLE,) * 4, returns=DOUBLE)
    def distance(lat1: float, lon1: float, lat2: float, lon2: float) -> float: ...

Without ``registry`` the extension is available to every manager of the process. Errors raise ExtensionError at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from siddhi._callables import is_coroutine_function
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
    Awaiting,
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

CONCURRENCY = 8
"""Calls of a coroutine function that run beside each other."""
BUFFER = 1024
"""Number of events that wait for the results of such calls before senders do."""

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
    any_order: bool = False,
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_C], _C]:
    """Declare an attribute aggregator: a class with ``add(*values)``, ``remove(*values)``, ``reset()`` and ``value()``.

    Args:
        any_order: the value does not depend on the order in which values are added, and any of them can be removed. Then a
            temporal window adds and removes each row once; else it adds all its rows to a new object for each result.

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
            any_order=any_order,
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
    concurrency: int | None = None,
    timeout: float | None = None,
    buffer: int | None = None,
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_F], _F]:
    """Declare a stream function: called with the arguments, it returns one value per attribute of ``appends``.

    It may be an ``async def`` function. Then its calls run beside each other on an event loop of the engine, and the events go
    on in their order.

    Args:
        name: ``name`` or ``namespace:name``.
        args: types of the arguments.
        appends: attributes it appends, with their types.
        concurrency: how many calls of one query run at a time; None: 8. As ``timeout`` and ``buffer`` for ``async def`` only.
        timeout: seconds that a call may take before it is cancelled and its event fails; None: any time.
        buffer: number of events that wait for results, beyond which senders wait; None: 1024.
        description: for the reference page; by default the docstring of the function.
        example: for the reference page.
        registry: the registry to add it to; None: that of the process.

    Raises:
        ExtensionError: name, arguments, signature or settings are invalid, or the name is taken.
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
            awaiting=_awaiting(name, implementation, concurrency, timeout, buffer),
            implementation=implementation,
            description=described(description, implementation),
            example=example,
        )
        return register(metadata, implementation, registry)

    return declare


def _awaiting(
    name: str, implementation: object, concurrency: int | None, timeout: float | None, buffer: int | None
) -> Awaiting | None:
    """Return how the calls of a stream function run; None: it is a plain function.

    Raises:
        ExtensionError: a setting is invalid, or the function is plain and has one.
    """
    if not is_coroutine_function(implementation):
        if (concurrency, timeout, buffer) != (None, None, None):
            raise ExtensionError(f"'{name}': concurrency, timeout and buffer are for async def functions")
        return None
    for setting, value in (("concurrency", concurrency), ("buffer", buffer)):
        if value is not None and (type(value) is not int or value < 1):
            raise ExtensionError(f"'{name}': {setting} must be a number of at least 1, not {value!r}")
    if timeout is not None and (type(timeout) not in (int, float) or not timeout > 0):
        raise ExtensionError(f"'{name}': timeout must be a number of seconds above 0, not {timeout!r}")
    return Awaiting(concurrency or CONCURRENCY, timeout, buffer or BUFFER)


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
