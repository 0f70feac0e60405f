"""The namespace ``regex``, and the check of regular expressions that are literals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from siddhi.extension.metadata import ExtensionMetadata, NullRule, Parameter
from siddhi.library.namespaces.declare import Namespace, takes
from siddhi.library.type_sets import INT, STRING
from siddhi.types import AttributeType

__all__ = ["EXTENSIONS", "check_pattern"]


def check_pattern(position: int) -> Callable[[Sequence[AttributeType], Sequence[Any]], None]:
    """Return a check of the argument at a position, a regular expression."""

    def check(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
        if constants[position] is not None:
            # Imported here: few apps have regular expressions.
            from siddhi.library.namespaces.regex_syntax import compile_pattern

            compile_pattern(constants[position])

    return check


_regex = Namespace("regex", NullRule.ERROR)
_REGEX = Parameter(
    "regex",
    STRING,
    description="in Java's syntax, without back references, look-around, atomic groups and possessive quantifiers: the time of "
    "a match is linear in the length of the text",
)
_INPUT = Parameter("input.sequence", STRING, description="the text")
_BOOL = AttributeType.BOOL

EXTENSIONS: tuple[ExtensionMetadata, ...] = (
    _regex.function(
        "find",
        takes(_REGEX, _INPUT, optional=(Parameter("starting.index", INT, description="where the search starts"),)),
        _BOOL,
        "Whether a part of the text matches; false for a text that is null. An event with another null fails.",
        (r"regex:find('\d\d(.*)WSO2', '21 products are produced by WSO2 currently')", True),
        (r"regex:find('WSO2', '21 products are produced by WSO2', 30)", False),
        check=check_pattern(0),
        own_nulls=True,
    ),
    _regex.function(
        "group",
        takes(_REGEX, _INPUT, Parameter("group.id", INT, description="0: the whole match")),
        AttributeType.STRING,
        "The text of a group of the first match; null if nothing matches.",
        (
            r"regex:group('\d\d(.*)(WSO2.*)', '21 products are produced within 10 years by WSO2 currently', 2)",
            "WSO2 currently",
        ),
        ("regex:group('x', 'abc', 0)", None),
        check=check_pattern(0),
    ),
    _regex.function(
        "lookingAt",
        takes(_REGEX, _INPUT),
        _BOOL,
        "Whether the begin of the text matches.",
        (r"regex:lookingAt('\d\d', '21 products')", True),
        (r"regex:lookingAt('\d\d', 'all 21 products')", False),
        check=check_pattern(0),
    ),
    _regex.function(
        "matches",
        takes(_REGEX, _INPUT),
        _BOOL,
        "Whether the whole text matches.",
        (r"regex:matches('WSO2(.*)middleware(.*)', 'WSO2 is situated in trace and its middleware company')", True),
        (r"regex:matches('WSO2', 'WSO2 is situated')", False),
        check=check_pattern(0),
    ),
)
