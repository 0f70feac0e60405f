"""Incremental aggregators as extensions: the base values that buckets store, and the value computed from them.

    @extension.incremental_aggregator("my:spread", args=((INT, LONG, DOUBLE),), returns=lambda types, _: types[0])
    def spread(x):
        lowest = BaseAttribute(f"AGG_MIN_{x.name}", x.type, "min", x.name)
        highest = BaseAttribute(f"AGG_MAX_{x.name}", x.type, "max", x.name)
        return IncrementalAttributeAggregator((lowest, highest), final=f"{highest.name} - {lowest.name}")

The function does not run per event: it describes once, when an app is created, the expressions that the core evaluates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from siddhi._frozen import frozen, replace
from siddhi.errors import ExtensionError
from siddhi.extension.declaring import ArgumentSpec, check_signature, described, parameters, register, split
from siddhi.extension.metadata import IncrementalAggregatorMetadata, Overload, Repeat, ReturnRule
from siddhi.extension.registry import Registry
from siddhi.query_api.expression import Expression
from siddhi.types import AttributeType

__all__ = ["BaseAggregator", "BaseAttribute", "IncrementalAttributeAggregator", "incremental_aggregator"]

_F = TypeVar("_F", bound=Callable[..., "IncrementalAttributeAggregator"])

BaseAggregator = Literal["count", "latest", "max", "min", "sum"]
"""How the values of two events or buckets are merged. All but ``count`` and ``latest`` ignore null."""


@frozen
class BaseAttribute:
    """One value that the rows of an aggregation store.

    Attributes:
        name: the name of the attribute in the tables of the aggregation. Aggregators with base attributes of the same name
            share the stored value, so these must be equal.
        type: the type of the attribute: long for ``count``; long (of int and long) or double (of float and double) for
            ``sum``; otherwise the type of the initial value.
        aggregator: how values are merged.
        initial: the value for one event: SiddhiQL over the arguments of the aggregator, as text or as an object; None for
            ``count``, where it is 1.
    """

    name: str
    type: AttributeType
    aggregator: BaseAggregator
    initial: str | Expression | None = None


@frozen
class IncrementalAttributeAggregator:
    """The description of an incremental aggregator.

    Attributes:
        base: the stored base attributes.
        final: the result: SiddhiQL over the names of the base attributes, as text or as an object.
    """

    base: Sequence[BaseAttribute]
    final: str | Expression


def incremental_aggregator(
    name: str,
    *,
    args: Sequence[ArgumentSpec] = (),
    returns: ReturnRule,
    description: str | None = None,
    example: str = "",
    registry: Registry | None = None,
) -> Callable[[_F], _F]:
    """Declare an incremental aggregator, used as ``define aggregation A from S select name(x) as y ...``.

    The function is called with a :class:`siddhi.query_api.Attribute` (name and type) for each argument, and returns an
    :class:`IncrementalAttributeAggregator`. A ValueError rejects the app; its second argument is the hint.

    Args:
        name: ``namespace:name`` or ``name``; apps can omit the namespace ``incrementalAggregator``.
        args: types of the arguments, which are attributes.
        returns: type of the final expression.
        description: for the reference page; by default the docstring of the function.
        example: for the reference page.
        registry: the registry to add it to; None: that of the process.

    Raises:
        ExtensionError: name, arguments or signature are invalid, or the name is taken.
    """

    def declare(implementation: _F) -> _F:
        formals = parameters(name, args, implementation)
        for formal in formals:
            if not formal.dynamic or formal.event_only:
                raise ExtensionError(f"'{name}': argument '{formal.name}' must accept attributes")
        check_signature(name, implementation, len(args), Repeat.NO)
        namespace, plain = split(name)
        metadata = IncrementalAggregatorMetadata(
            name=plain,
            namespace=None if namespace == IncrementalAggregatorMetadata.default_namespace else namespace,
            overloads=(Overload(tuple(replace(formal, attribute_only=True) for formal in formals)),),
            returns=returns,
            implementation=implementation,
            description=described(description, implementation),
            example=example,
        )
        return register(metadata, implementation, registry)

    return declare
