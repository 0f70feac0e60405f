"""Errors for characters that start no token, and for text whose closing quote is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siddhi.errors import SiddhiParserError
    from siddhi.query_compiler.source import Source

__all__ = ["stray_character"]

HINTS = {
    "&": "conditions are joined with 'and'",
    "|": "conditions are joined with 'or'",
    "$": "a variable is written ${name}",
    "}": "attributes stand in ( ), filters in [ ], the queries of a partition between 'begin' and 'end'",
    "\\": "text has no escape sequences",
}


def stray_character(source: Source, begin: int) -> SiddhiParserError:
    """The error for the character at an offset, which no token starts with."""
    char = source.text[begin]
    if char in "'\"`":
        return _unclosed(source, begin, char)
    # && and || are one mistake, not two
    end = begin + 2 if char in "&|" and source.text[begin : begin + 2] == char * 2 else begin + 1
    shown = source.text[begin:end] if char.isprintable() else f"U+{ord(char):04X}"
    hint = HINTS.get(char)
    if hint is None and char.isalpha():
        hint = "plain names are made of a-z, A-Z, 0-9 and _; put others in back quotes: `größe`"
    elif hint is None and char.isspace():
        hint = "only space, tab, line breaks and vertical tab are white space"
    return source.error(f"unexpected character '{shown}'", begin, end, code="E101", hint=hint)


def _unclosed(source: Source, begin: int, quote: str) -> SiddhiParserError:
    line_end = source.text.find("\n", begin)
    rest = source.text[begin + 1 : line_end if line_end >= 0 else None]
    if quote == "`":
        message = "a name can't be empty" if rest.startswith("`") else "this name is never closed with a back quote"
        return source.error(message, begin, begin + 1, code="E101")
    closing = rest.find(quote)
    if closing < 0:
        hint = 'text over several lines is written """..."""'
        return source.error(
            f"this text is not closed with {quote} on its line", begin, begin + 1, code="E101", hint=hint
        )
    message = "a text in double quotes can't contain control characters"
    if quote == "'":
        message = "a text in single quotes can't contain double quotes or control characters"
    hint = 'write """...""", which may contain anything'
    return source.error(message, begin, begin + closing + 2, code="E101", hint=hint)
