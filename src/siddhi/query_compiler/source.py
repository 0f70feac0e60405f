"""The source text of a compilation, and locations in it."""

from __future__ import annotations

import re
from bisect import bisect_right

from siddhi.errors import SiddhiParserError
from siddhi.query_api.span import Node, Span

__all__ = ["Source", "blanked"]


def blanked(text: str, begin: int, end: int) -> str:
    """Return a text with spaces in place of a part of it; everything else stays in its place."""
    return text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]


class Source:
    """A source text; converts offsets into lines and columns."""

    __slots__ = ("_line", "_lines", "open_comment", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.open_comment: int | None = None
        """Offset of an unterminated comment, once the scanner has reached it."""
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._line = 1

    def span(self, begin: int, end: int) -> Span:
        """Return the span of ``text[begin:end]``."""
        lines, line = self._lines, self._line
        start = lines[line - 1]
        if begin < start or (line < len(lines) and begin >= lines[line]):  # not on the line of the last span
            self._line = line = bisect_right(lines, begin)
            start = lines[line - 1]
        if line == len(lines) or end < lines[line]:
            return Span(line, begin - start, line, end - start)
        end_line = bisect_right(lines, end)
        return Span(line, begin - start, end_line, end - lines[end_line - 1])

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a place: line 1-based, column 0-based."""
        return self._lines[line - 1] + column

    def extent(self, node: Node) -> tuple[int, int]:
        """Return the offsets of the begin and end of a definition, query or partition with its annotations."""
        spans = [each.span for each in (*getattr(node, "annotations", ()), node) if each.span is not None]
        begin = min(self.offset(span.line, span.column) for span in spans)
        return begin, max(self.offset(span.end_line, span.end_column) for span in spans)

    @property
    def lines(self) -> int:
        """The number of lines."""
        return len(self._lines)

    def grow(self, text: str) -> None:
        """Take a text that begins with the present one."""
        begin = len(self.text)
        self._lines.extend([match.end() for match in re.compile("\n").finditer(text, begin)])
        self.text = text

    def cut(self, begin: int) -> None:
        """Drop the text from an offset on."""
        self.text = self.text[:begin]
        while self._lines[-1] > begin:
            self._lines.pop()
        self._line = 1

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
