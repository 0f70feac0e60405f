"""JSONPath of RFC 9535 by the package python-jsonpath, without its extensions; imported when a path needs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from jsonpath.match import NodeList

from siddhi.errors import SiddhiAppCreationError

__all__ = ["finder"]

_EXTENSIONS = frozenset({"TOKEN_CONTAINS", "TOKEN_IN", "TOKEN_RE_PATTERN", "TOKEN_AND", "TOKEN_OR", "TOKEN_NOT"})
"""Operators of Java's JSONPath that are taken beside those of the RFC."""
_REFUSED = (
    "TOKEN_LG", "TOKEN_UNION", "TOKEN_INTERSECTION", "TOKEN_PSEUDO_ROOT", "TOKEN_FILTER_CONTEXT", "TOKEN_UNDEFINED",
    "TOKEN_MISSING", "TOKEN_KEY", "TOKEN_KEYS", "TOKEN_KEYS_FILTER", "TOKEN_KEY_NAME", "TOKEN_DOT_KEY_PROPERTY",
)  # fmt: skip
_OPERATORS = "the operators of filters are ==, !=, <, <=, >, >=, &&, ||, ! and, as in Java, in, contains and =~"


class _Environment(JSONPathEnvironment):
    """Texts have no elements, and numbers and bools are not compared with each other."""

    def getitem(self, obj: Any, key: Any) -> Any:
        return () if isinstance(obj, str) and isinstance(key, slice) else super().getitem(obj, key)

    def compare(self, left: object, operator: str, right: object) -> bool:
        if (
            operator in ("==", "!=", "<", "<=", ">", ">=")
            and not isinstance(left, NodeList)
            and not isinstance(right, NodeList)
        ):
            are_equal = "=" in operator and _equal(left, right)
            if operator in ("==", "!="):
                return are_equal is (operator == "==")
            if isinstance(left, bool) or isinstance(right, bool):
                return are_equal
            return are_equal or super().compare(left, operator[0], right)
        return super().compare(left, operator, right)


def _equal(left: object, right: object) -> bool:
    """Return whether two JSON values are equal; 1 and true are not."""
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(value, right[key]) for key, value in left.items())
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def finder(text: str) -> tuple[Callable[[Any], Sequence[object]], bool]:
    """Return the function that finds the values of a path in a document, and whether it can find several.

    Raises:
        SiddhiAppCreationError: it is not a JSONPath.
    """
    relaxed = _Environment()
    try:
        kinds = {token.kind: token.value for token in relaxed.lexer.tokenize(text)}
        extends = not _EXTENSIONS.isdisjoint(kinds)
        for kind in _REFUSED if extends else ("TOKEN_LG",):
            if kind in kinds:
                raise SiddhiAppCreationError(
                    f"invalid JSONPath '{text}': there is no '{kinds[kind]}'", code="E326", hint=_OPERATORS
                )
        path = (relaxed if extends else _Environment(strict=True)).compile(text)
    except JSONPathError as error:
        raise SiddhiAppCreationError(f"invalid JSONPath '{text}': {error}", code="E326", hint=_OPERATORS) from error
    is_single = isinstance(path, JSONPath) and path.singular_query()
    return path.findall, not is_single
