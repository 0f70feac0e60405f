"""The source text of a compilation, and locations in it."""

from __future__ import annotations

import re
from bisect import bisect_right

from siddhi.errors import SiddhiParserError
from siddhi.query_api.span import Span

__all__ = ["Source"]


class Source:
    """A source text; converts offsets into lines and columns."""

    __slots__ = ("_lines", "open_comment", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.open_comment: int | None = None
        """Offset of an unterminated comment, once the scanner has reached it."""
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]

    def span(self, begin: int, end: int) -> Span:
        """Return the span of ``text[begin:end]``."""
        lines = self._lines
        line = bisect_right(lines, begin)
        start = lines[line - 1]
        if line == len(lines) or end < lines[line]:
            return Span(line, begin - start, line, end - start)
        end_line = bisect_right(lines, end)
        return Span(line, begin - start, end_line, end - lines[end_line - 1])

    def unclosed_comment(self) -> SiddhiParserError:
        """Return the error for ``open_comment``."""
        begin = self.open_comment or 0
        return self.error(
            "unterminated comment: this '/*' is never closed", begin, begin + 2, code="E101", hint="close it with '*/'"
        )

    def error(
        self, message: str, begin: int, end: int, *, code: str | None = None, hint: str | None = None
    ) -> SiddhiParserError:
        """Return a syntax error at ``text[begin:end]``."""
        return SiddhiParserError(message, code=code, span=self.span(begin, end), source=self.text, hint=hint)
