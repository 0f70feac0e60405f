"""The errors of the planner, one function per kind; codes are permanent.

E201 ambiguous attribute            E202 name out of scope           E203 unknown attribute
E204 duplicate definition           E205 duplicate attribute         E206 duplicate annotation
E207 type not supported             E208 duplicate name              E209 different schema
E301 unknown extension              E303 no such overload            E304 literal expected
E305 invalid argument               E306 attribute expected          E310 type mismatch
E311 not a condition                E312 unknown definition          E313 wrong kind of source
E314 window on a named window       E315 invalid annotation          E316 invalid output rate
E317 invalid join                   E318 invalid partition           E319 invalid limit or offset
E320 not supported yet              E321 invalid output              E322 invalid window condition
E323 invalid cron expression        E324 invalid pattern             E325 invalid aggregation
E326 invalid option of a connector
E328 limit that an element cannot enforce
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from siddhi.errors import (
    AttributeNotExistError,
    DuplicateAnnotationError,
    DuplicateAttributeError,
    DuplicateDefinitionError,
    ExtensionNotFoundError,
    SiddhiAppCreationError,
    SiddhiAppError,
    SiddhiAppValidationError,
    UnsupportedAttributeTypeError,
)
from siddhi.query_api.definition import Attribute
from siddhi.query_api.span import Node, Span
from siddhi.types import AttributeType

__all__ = [
    "MOST_OF_A_KEY",
    "a_type",
    "ambiguous_attribute",
    "check_key",
    "close_to",
    "creation_error",
    "different_schema",
    "duplicate_annotation",
    "duplicate_attribute",
    "duplicate_definition",
    "duplicate_name",
    "located",
    "out_of_scope",
    "schema_text",
    "unknown_attribute",
    "unknown_definition",
    "unknown_extension",
    "unsupported",
    "unsupported_type",
]


_N = TypeVar("_N", bound=Node)

MOST_OF_A_KEY = 64
"""Limit for the attributes of a key: engines store their null bits in one word."""


def located(node: _N, otherwise: _N) -> _N:
    """Return the node, or the other one if the node has no location: it was not parsed from a text."""
    return node if node.span is not None else otherwise


def check_key(what: str, parts: Sequence[Node | None], at: Node | None, others: int = 0) -> None:
    """Reject a key with too many attributes.

    Args:
        what: the name of the key, for the message.
        parts: the node of each attribute.
        at: the location of attributes without a node.
        others: the number of attributes that engines add, such as a partition or a time.

    Raises:
        SiddhiAppError: the key has too many attributes; located at the first excess attribute.
    """
    most = MOST_OF_A_KEY - others
    if len(parts) > most:
        raise creation_error(
            "E320",
            f"{what} of more than {most} attributes ({len(parts)} here) is not supported yet",
            parts[most] or at,
            "remove attributes that others determine, or combine several in an earlier query",
        )


def close_to(name: str, known: Iterable[str]) -> str | None:
    """Return the hint "did you mean ...", or None if no known name is similar."""
    from difflib import get_close_matches

    candidates = list(dict.fromkeys(known))
    lowered = {candidate.lower(): candidate for candidate in reversed(candidates)}
    if name.lower() in lowered:
        return f"did you mean '{lowered[name.lower()]}'? Names are case-sensitive"
    matches = get_close_matches(name, candidates, n=1, cutoff=0.6)
    return f"did you mean '{matches[0]}'?" if matches else None


def schema_text(attributes: Iterable[Attribute]) -> str:
    """Return the text of a schema, such as ``(a string, b int)``."""
    return f"({', '.join(f'{attribute.name} {attribute.type}' for attribute in attributes)})"


def a_type(type_: AttributeType) -> str:
    """Return a type with its article: ``a string``, ``an int``."""
    return f"{'an' if type_ in (AttributeType.INT, AttributeType.OBJECT) else 'a'} {type_}"


def creation_error(code: str, message: str, at: Node | Span | None, hint: str | None = None) -> SiddhiAppCreationError:
    """Return a creation error with this code and location."""
    return SiddhiAppCreationError(message, code=code, span=_span(at), hint=hint)


def unknown_attribute(
    name: str, where: str, known: Iterable[str], at: Node | None, hint: str | None = None
) -> SiddhiAppError:
    known = list(known)
    fallback = f"the attributes are {', '.join(known)}" if known else None
    return AttributeNotExistError(
        f"unknown attribute '{name}' in {where}", span=_span(at), hint=hint or close_to(name, known) or fallback
    )


def ambiguous_attribute(name: str, sources: Sequence[str], at: Node | None) -> SiddhiAppError:
    """Return the error for an attribute of several sources; an unnamed source is ''."""
    message = f"attribute '{name}' is ambiguous: {' and '.join(sources)} have it"
    hint = f"write {' or '.join(f'{source}.{name}' for source in sources)}"
    if len(set(sources)) == 1:
        message = f"attribute '{name}' is ambiguous: several events of '{sources[0]}' have it"
        one = sources[0]
        hint = f"name them ({one} as a join {one} as b, or a={one} -> b={one}) and write a.{name} or b.{name}"
    if not all(sources):
        message = f"attribute '{name}' is ambiguous: several events have it"
        hint = f"name them (a=... -> b=...) and write a.{name} or b.{name}"
    return SiddhiAppValidationError(message, code="E201", span=_span(at), hint=hint)


def out_of_scope(name: str, known: Iterable[str], at: Node | None) -> SiddhiAppError:
    known = [source for source in known if source]
    hint = close_to(name, known)
    if hint is None and known:
        hint = f"in scope: {', '.join(known)}"
    return creation_error("E202", f"'{name}' is not in scope here", at, hint)


def unknown_definition(what: str, name: str, known: Iterable[str], at: Node | None) -> SiddhiAppError:
    return creation_error("E312", f"{what} '{name}' is not defined", at, close_to(name, known))


def unknown_extension(what: str, name: str, known: Iterable[str], at: Node | Span | None) -> SiddhiAppError:
    return ExtensionNotFoundError(f"unknown {what} '{name}'", span=_span(at), hint=close_to(name, known))


def unsupported(what: str, at: Node | Span | None, hint: str | None = None) -> SiddhiAppError:
    return creation_error("E320", f"{what} are not supported yet", at, hint)


def unsupported_type(message: str, at: Node | None, hint: str | None = None) -> SiddhiAppError:
    return UnsupportedAttributeTypeError(message, span=_span(at), hint=hint)


def duplicate_definition(message: str, at: Node | None, hint: str | None = None) -> SiddhiAppError:
    return DuplicateDefinitionError(message, span=_span(at), hint=hint)


def different_schema(
    what: str, has: Iterable[Attribute], found: Iterable[Attribute], at: Node | None
) -> SiddhiAppError:
    return DuplicateDefinitionError(
        f"the output {schema_text(found)} does not match the schema of {what}",
        code="E209",
        span=_span(at),
        hint=f"{what} has {schema_text(has)}; names, order and types must match",
    )


def duplicate_attribute(message: str, at: Node | None, hint: str | None = None) -> SiddhiAppError:
    return DuplicateAttributeError(message, span=_span(at), hint=hint)


def duplicate_annotation(name: str, at: Node | None) -> SiddhiAppError:
    return DuplicateAnnotationError(f"duplicate {name}", span=_span(at))


def duplicate_name(message: str, at: Node | None) -> SiddhiAppError:
    return SiddhiAppValidationError(message, code="E208", span=_span(at))


def _span(at: Node | Span | None) -> Span | None:
    return at.span if isinstance(at, Node) else at
