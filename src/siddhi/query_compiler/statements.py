"""Cut a text into statements without parsing it, so that one with an error can be left out and the others be checked."""

from __future__ import annotations

import itertools
import re

from siddhi._frozen import frozen
from siddhi.query_compiler.script import script_end, script_language
from siddhi.query_compiler.source import Source
from siddhi.query_compiler.tokens import token_at

__all__ = ["Statement", "without_statement"]

_DEFINED = re.compile(r"\bdefine\s+\w+\s+`?(\w+)", re.IGNORECASE)
_FILLED = re.compile(r"\binto\s+[#!]?`?(\w+)", re.IGNORECASE)
_NOT_LINE_END = re.compile(r"[^\r\n]")


@frozen
class Statement:
    """A definition or query with its annotations, the head of a partition, or ``end``: ``text[begin:end]``."""

    text: str
    begin: int
    end: int

    @property
    def names(self) -> set[str]:
        """The names that the statement defines or fills."""
        return {match[1] for pattern in (_DEFINED, _FILLED) for match in pattern.finditer(self.text)}

    @property
    def is_definition(self) -> bool:
        """Whether the statement defines something."""
        return _DEFINED.search(self.text) is not None

    def reads(self, names: set[str]) -> bool:
        """Return whether the statement contains one of the names as a word, other than as what it fills."""
        return not names.isdisjoint(re.findall(r"\w+", _FILLED.sub("", self.text)))

    @property
    def is_end_of_partition(self) -> bool:
        """Whether the statement is the ``end`` of a partition."""
        return self.text.strip(" \t\r\n\v;").lower() == "end"


def _statements(text: str) -> list[Statement]:
    cuts, position, first = [0], 0, ""
    while True:
        kind, value, begin, end = token_at(text, position)
        if kind in ("end", "comment"):  # an unclosed comment takes the rest of the text
            break
        if kind == "script":
            end = script_end(text, begin, script_language(text, begin)) or end
        word = value.lower() if kind == "word" else ""
        first = first or word
        if kind == ";" or (word == "begin" and first == "partition"):
            cuts.append(end)
            first = ""
        position = end
    cuts.append(len(text))
    return [Statement(text[begin:end], begin, end) for begin, end in itertools.pairwise(cuts) if begin < end]


def without_statement(text: str, line: int, column: int) -> tuple[str, Statement] | None:
    """Return the text with the statement at a place blanked out, and that statement; None if there is none.

    All other statements keep their places. The ``end`` of a partition takes the whole partition with it.

    Args:
        text: the text of an app.
        line: 1-based.
        column: 0-based.
    """
    place = Source(text).offset(line, column)
    if not text[place:].strip() and text[:place].rstrip().endswith(";"):
        return None  # more was expected: no statement is at fault
    statements = _statements(text)
    at = next((number for number, one in enumerate(statements) if one.begin <= place < one.end), len(statements) - 1)
    while at > 0 and not statements[at].text.strip():
        at -= 1  # an error behind the last statement is one of it
    if not statements or not statements[at].text.strip():
        return None
    found = statements[at]
    begin = found.begin
    if found.is_end_of_partition:
        heads = [one.begin for one in statements[:at] if re.search(r"\bbegin\s*\Z", one.text, re.IGNORECASE)]
        begin = heads[-1] if heads else begin
    blank = _NOT_LINE_END.sub(" ", text[begin : found.end])
    return text[:begin] + blank + text[found.end :], found
