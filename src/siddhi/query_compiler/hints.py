"""Syntax errors: what was not expected, what could have stood there, and what was probably meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.query_compiler.tables import END, Tables

if TYPE_CHECKING:
    from siddhi.errors import SiddhiParserError
    from siddhi.query_compiler.source import Source

__all__ = ["syntax_error"]


def syntax_error(
    source: Source, tables: Tables, states: list[int], kind: str, begin: int, end: int
) -> SiddhiParserError:
    """The error for a token that can't stand where it is."""
    found = "the end of the text" if kind == END else f"'{source.text[begin:end]}'"
    return source.error(f"unexpected {found}", begin, end)
