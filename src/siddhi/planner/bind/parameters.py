"""Check arguments of functions, aggregators, windows and stream functions against their metadata."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.errors import SiddhiAppError
from siddhi.extension.docgen import signature
from siddhi.extension.metadata import ExtensionMetadata, Overload, Parameter, Repeat, WindowMetadata
from siddhi.planner.plan.expressions import Attr, Const, EventReference, TypedExpression
from siddhi.planner.problems import creation_error
from siddhi.query_api.expression import Expression
from siddhi.query_api.span import Node
from siddhi.query_compiler.time_units import LONGEST_MS
from siddhi.types import AttributeType

_TIME = {AttributeType.INT, AttributeType.LONG}  # of a parameter that is a duration or an instant

__all__ = ["check_arguments", "constants_of", "return_type"]


def constants_of(arguments: Sequence[TypedExpression]) -> list[Any]:
    """Return the value of each literal argument, None for the others. A computed constant is not a literal."""
    return [argument.value if isinstance(argument, Const) else None for argument in arguments]


def check_arguments(
    metadata: ExtensionMetadata,
    arguments: Sequence[TypedExpression],
    written: Sequence[Expression],
    at: Node,
) -> None:
    """Reject arguments that no overload accepts, or that the check of the extension rejects.

    Args:
        written: the arguments as written, for the location of an error (can be shorter than ``arguments``).
        at: the whole call.

    Raises:
        SiddhiAppCreationError: no overload accepts the arguments.
    """
    mismatch: SiddhiAppError | None = None
    for overload in metadata.overloads:
        formals = _formals(overload, len(arguments))
        if formals is None or not _types_fit(overload, formals, arguments):
            continue
        found = _first_mismatch(metadata, formals, arguments, written, at)
        if found is None:
            _run_check(metadata, arguments, at)
            return
        mismatch = mismatch or found
    raise mismatch or _no_overload(metadata, arguments, at)


def return_type(metadata: Any, arguments: Sequence[TypedExpression]) -> AttributeType:
    """Return the type of the result of a function or aggregator for these arguments."""
    returns = metadata.returns
    if isinstance(returns, AttributeType):
        return returns
    found = returns([argument.type for argument in arguments], constants_of(arguments))
    assert isinstance(found, AttributeType)
    return found


def _formals(overload: Overload, count: int) -> Sequence[Parameter] | None:
    """Return one parameter per argument, or None if the number of arguments does not match."""
    parameters = overload.parameters
    if len(parameters) == count:
        return parameters
    if overload.repeat is Repeat.NO or not parameters:
        return None
    least = len(parameters) - (1 if overload.repeat is Repeat.ZERO_OR_MORE else 0)
    if count < least:
        return None
    return [parameters[min(position, len(parameters) - 1)] for position in range(count)]


def _types_fit(overload: Overload, formals: Sequence[Parameter], arguments: Sequence[TypedExpression]) -> bool:
    for formal, argument in zip(formals, arguments, strict=True):
        if isinstance(argument, EventReference) is not formal.event_only or argument.type not in formal.types:
            return False
    return not overload.same_type or len({argument.type for argument in arguments}) <= 1


def _first_mismatch(
    metadata: ExtensionMetadata,
    formals: Sequence[Parameter],
    arguments: Sequence[TypedExpression],
    written: Sequence[Expression],
    at: Node,
) -> SiddhiAppError | None:
    """Return the error for the first argument of the wrong kind (literal, attribute), or None."""
    for position, (formal, argument) in enumerate(zip(formals, arguments, strict=True)):
        location = written[position] if position < len(written) and written[position].span is not None else at
        called = f"parameter '{formal.name}' of {metadata.title} '{metadata.full_name}'"
        if not formal.dynamic and not isinstance(argument, Const):
            hint = None if isinstance(argument, Attr) else "write the value itself; an expression is not a literal"
            return creation_error("E304", f"{called} must be a literal", location, hint)
        if formal.attribute_only and not isinstance(argument, Attr):
            return creation_error("E306", f"{called} must be an attribute of the stream", location)
        if formal.plain and not isinstance(argument, (Attr, Const)):
            return creation_error("E306", f"{called} must be a literal or an attribute of the stream", location)
        if isinstance(metadata, WindowMetadata) and formal.types == _TIME and _is_too_long(argument):
            return creation_error(
                "E305",
                f"{called} is out of range",
                location,
                f"a duration is at most {LONGEST_MS} ms (146 million years)",
            )
    return None


def _is_too_long(argument: TypedExpression) -> bool:
    return isinstance(argument, Const) and isinstance(argument.value, int) and abs(argument.value) > LONGEST_MS


def _run_check(metadata: ExtensionMetadata, arguments: Sequence[TypedExpression], at: Node) -> None:
    if metadata.check is None:
        return
    try:
        metadata.check([argument.type for argument in arguments], constants_of(arguments))
    except ValueError as error:
        message = str(error.args[0]) if error.args else f"invalid arguments of {metadata.title} '{metadata.full_name}'"
        hint = str(error.args[1]) if len(error.args) > 1 else None
        raise creation_error("E305", message, at, hint) from error


def _no_overload(metadata: ExtensionMetadata, arguments: Sequence[TypedExpression], at: Node) -> SiddhiAppError:
    given = ", ".join("event" if isinstance(a, EventReference) else str(a.type) for a in arguments)
    accepted = " | ".join(signature(metadata, overload) for overload in metadata.overloads)
    return creation_error(
        "E303", f"{metadata.title} '{metadata.full_name}' does not accept ({given})", at, f"it accepts {accepted}"
    )
