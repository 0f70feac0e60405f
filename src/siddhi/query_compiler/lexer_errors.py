"""Lexer errors: unexpected characters and unterminated strings and names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siddhi.errors import SiddhiParserError
    from siddhi.query_compiler.source import Source

__all__ = ["unexpected_character"]

HINTS = {
    "&": "write 'and' between conditions",
    "|": "write 'or' between conditions",
    "$": "write a variable as ${name}",
    "}": "write attributes in ( ), filters in [ ], the queries of a partition between 'begin' and 'end'",
    "\\": "strings have no escape sequences",
}


def unexpected_character(source: Source, begin: int) -> SiddhiParserError:
    """Return the error for the character at an offset, which cannot start a token."""
    char = source.text[begin]
    if char in "'\"`":
        return _unclosed(source, begin, char)
    # report && and || as one unexpected token
    end = begin + 2 if char in "&|" and source.text[begin : begin + 2] == char * 2 else begin + 1
    shown = source.text[begin:end] if char.isprintable() else f"U+{ord(char):04X}"
    hint = HINTS.get(char)
    if hint is None and char.isalpha():
        hint = "unquoted names consist of a-z, A-Z, 0-9 and _; put other names in back quotes: `größe`"
    elif hint is None and char.isspace():
        hint = "white space is space, tab, line break and vertical tab only"
    return source.error(f"unexpected character '{shown}'", begin, end, code="E101", hint=hint)


def _unclosed(source: Source, begin: int, quote: str) -> SiddhiParserError:
    line_end = source.text.find("\n", begin)
    text = source.text[begin + 1 : line_end if line_end >= 0 else None]
    if quote == "`":
        message = (
            "a name can't be empty" if text.startswith("`") else "unterminated name: the closing back quote is missing"
        )
        return source.error(message, begin, begin + 1, code="E101")
    closing = text.find(quote)
    if closing < 0:
        hint = 'write strings of several lines as """..."""'
        return source.error(
            f"unterminated string: the closing {quote} is missing on this line",
            begin,
            begin + 1,
            code="E101",
            hint=hint,
        )
    message = "a string in double quotes can't contain control characters"
    if quote == "'":
        message = "a string in single quotes can't contain double quotes or control characters"
    hint = 'write """...""", which can contain any character'
    return source.error(message, begin, begin + closing + 2, code="E101", hint=hint)
