"""Short forms to declare the functions of a namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from siddhi.extension.metadata import FunctionMetadata, NullRule, Overload, Parameter, Repeat, ReturnRule

__all__ = ["Namespace", "takes"]


def takes(*parameters: Parameter, optional: tuple[Parameter, ...] = (), repeat: Repeat = Repeat.NO) -> list[Overload]:
    """Return the overloads with the parameters, followed by none, one, two ... of the optional ones."""
    return [
        Overload((*parameters, *optional[:count]), repeat if count == len(optional) else Repeat.NO)
        for count in range(len(optional) + 1)
    ]


class Namespace:
    """Declares functions of one namespace; ``nulls`` is the rule of those that state none."""

    def __init__(self, name: str, nulls: NullRule | None) -> None:
        self._name = name
        self._nulls = nulls

    def function(
        self,
        name: str,
        overloads: list[Overload],
        returns: ReturnRule,
        description: str,
        *results: tuple[str, Any],
        nulls: NullRule | None = None,
        own_nulls: bool = False,
        check: Callable[..., None] | None = None,
        deterministic: bool = True,
        reads_clock: bool = False,
    ) -> FunctionMetadata:
        """Return the metadata of a function.

        Args:
            overloads: see :func:`takes`.
            returns: type of the result.
            description: one sentence or more.
            results: worked examples, a call of this function with literals and its value each.
            nulls: rule for null arguments; None: that of the namespace.
            own_nulls: whether the description states the rule instead.
        """
        return FunctionMetadata(
            name=name,
            namespace=self._name,
            builtin=f"{self._name}:{name}",
            overloads=tuple(overloads),
            returns=returns,
            description=description,
            results=results,
            check=check,
            deterministic=deterministic,
            reads_clock=reads_clock,
            nulls=None if own_nulls else nulls or self._nulls,
        )
