"""Functions shared by the decorators of extensions: names, parameters, signatures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from siddhi.errors import ExtensionError
from siddhi.extension.metadata import ExtensionMetadata, Parameter, Repeat
from siddhi.extension.registry import Registry, shared_registry
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

if TYPE_CHECKING:
    from inspect import Parameter as Formal

__all__ = ["ArgumentSpec", "appended", "check_signature", "described", "parameters", "register", "split"]

ArgumentSpec = AttributeType | Parameter | Iterable[AttributeType]
"""One argument: a type, a set of types, or a whole :class:`Parameter`."""

_T = TypeVar("_T")


def register(metadata: ExtensionMetadata, implementation: _T, registry: Registry | None) -> _T:
    """Register an extension, and attach its metadata to the implementation.

    Raises:
        ExtensionError: the metadata contradicts itself, or the name is taken.
    """
    try:
        implementation.__siddhi_extension__ = metadata  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        raise ExtensionError(
            f"'{metadata.full_name}': {implementation!r} can't be declared, since it has no place for the declaration (functions "
            "written in C and methods have none); wrap it in a function of your own"
        ) from None
    try:
        (registry if registry is not None else shared_registry()).register(metadata)
    except BaseException:
        del implementation.__siddhi_extension__  # type: ignore[attr-defined]
        raise
    return implementation


def split(name: str) -> tuple[str | None, str]:
    """Split a name into namespace and plain name.

    Raises:
        ExtensionError: the namespace is empty.
    """
    namespace, colon, plain = name.rpartition(":")
    if colon and not namespace:
        raise ExtensionError(f"'{name}' has an empty namespace")
    return (namespace or None), plain


def described(description: str | None, implementation: Any) -> str:
    """Return the description of an extension, by default the docstring of its implementation."""
    return description if description is not None else (getattr(implementation, "__doc__", None) or "").strip()


def parameters(name: str, args: Sequence[ArgumentSpec], target: Any, first: int = 0) -> tuple[Parameter, ...]:
    """Return the parameters, named like those of a function or method from position ``first``.

    Raises:
        ExtensionError: an argument is not an attribute type.
    """
    names = [formal.name for formal in _formals(name, target)][first:] if callable(target) else []
    found: list[Parameter] = []
    for position, spec in enumerate(args):
        label = names[position] if position < len(names) else f"arg{position + 1}"
        if isinstance(spec, Parameter):
            found.append(spec)
        elif isinstance(spec, AttributeType):
            found.append(Parameter(label, frozenset({spec})))
        else:
            try:
                types = frozenset(spec)
            except TypeError:
                raise ExtensionError(f"'{name}': argument {position + 1} is not an attribute type: {spec!r}") from None
            if not all(isinstance(type_, AttributeType) for type_ in types):
                raise ExtensionError(f"'{name}': argument {position + 1} is not an attribute type: {spec!r}")
            found.append(Parameter(label, types))
    return tuple(found)


def appended(name: str, appends: Mapping[str, AttributeType] | Sequence[Attribute]) -> tuple[Attribute, ...]:
    """Return the attributes that an extension appends.

    Raises:
        ExtensionError: an attribute is duplicated.
    """
    added = tuple(Attribute(*item) for item in appends.items()) if isinstance(appends, Mapping) else tuple(appends)
    if len({attribute.name for attribute in added}) != len(added):
        raise ExtensionError(f"'{name}' appends an attribute twice")
    return added


def _formals(name: str, implementation: Any) -> list[Formal]:
    """Return the parameters of a function.

    Raises:
        ExtensionError: it has no signature.
    """
    from inspect import signature

    try:
        return list(signature(implementation).parameters.values())
    except (TypeError, ValueError):
        raise ExtensionError(
            f"'{name}': {implementation!r} does not say what arguments it takes; wrap it in a function of your own"
        ) from None


def check_signature(name: str, implementation: Any, count: int, repeat: Repeat) -> None:
    """Reject a Python function that can't accept the declared arguments.

    Raises:
        ExtensionError: the signature does not match, or it is not a function.
    """
    from inspect import Parameter as Formal

    if not callable(implementation):
        raise ExtensionError(f"'{name}': {implementation!r} cannot be called")
    formals = _formals(name, implementation)
    positional = [formal for formal in formals if formal.kind in (Formal.POSITIONAL_ONLY, Formal.POSITIONAL_OR_KEYWORD)]
    variadic = any(formal.kind is Formal.VAR_POSITIONAL for formal in formals)
    required = sum(1 for formal in positional if formal.default is Formal.empty)
    if any(formal.kind is Formal.KEYWORD_ONLY and formal.default is Formal.empty for formal in formals):
        raise ExtensionError(
            f"'{name}': arguments are passed by position, but the implementation requires keyword arguments"
        )
    least = count - 1 if repeat is Repeat.ZERO_OR_MORE else count
    if required > least or (len(positional) < count and not variadic) or (repeat is not Repeat.NO and not variadic):
        raise ExtensionError(
            f"'{name}' is declared with {count} argument(s), but its implementation does not accept them"
        )
