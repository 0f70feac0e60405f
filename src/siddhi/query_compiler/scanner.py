"""Split the source text into tokens.

SiddhiQL reserves no keyword: ``define stream stream (select string)`` is legal. So the scanner takes the state of the
parser into account: a word is a keyword where the grammar expects that keyword, and a name everywhere else. Where the
grammar allows both, the tokens that follow decide (see ``name_or_keyword``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.query_compiler.lexer_errors import unexpected_character
from siddhi.query_compiler.name_or_keyword import AFTER_EXPRESSION, OPERAND_STARTS, is_name
from siddhi.query_compiler.script import script_end, script_language
from siddhi.query_compiler.tables import END
from siddhi.query_compiler.tokens import TOKEN, token_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from siddhi.query_compiler.source import Source

__all__ = ["Scanner"]

STATEMENTS = frozenset("define from partition select insert update delete return output".split())


class Scanner:
    """Iterator over the tokens of one text."""

    __slots__ = ("_keywords", "_match", "_position", "_punctuation", "_text", "source")

    def __init__(self, source: Source, keywords: Mapping[str, str], punctuation: Mapping[str, str]) -> None:
        self.source = source
        self._text = source.text
        self._match = TOKEN.match
        self._position = 0
        self._keywords = keywords
        self._punctuation = punctuation

    def next(self, row: Mapping[str, int]) -> tuple[str, str, int, int]:
        """Return the next token as (terminal, value, begin, end); ``row`` holds the actions of the parser's state.

        Raises:
            SiddhiParserError: an unexpected character, or an unterminated string, name, script or comment.
        """
        match = self._match(self._text, self._position)
        assert match is not None
        group = match.lastgroup
        assert group is not None
        begin, end = match.span(group)
        value = self._text[begin:end]
        self._position = end
        if group == "word":
            keyword = self._keywords.get(value) or self._keywords.get(value.lower())
            return ("ID" if keyword is None else self._keyword_or_name(keyword, row, end)), value, begin, end
        if group == "sign":
            return self._punctuation[value], value, begin, end
        if group == "string":
            return "STRING", value[1:-1], begin, end
        if group == "long_string":
            return "STRING", value[3:-3], begin, end
        if group == "quoted":
            return "ID", value[1:-1], begin, end
        if group == "end":
            return END, "", begin, end
        if group == "script" and "SCRIPT" in row:
            closed = script_end(self._text, begin, script_language(self._text, begin))
            if closed is None:
                raise self.source.error("unterminated script: this '{' is never closed", begin, begin + 1, code="E101")
            self._position = closed
            return "SCRIPT", self._text[begin + 1 : closed - 1], begin, closed
        if group == "comment":
            # As in Siddhi, an unterminated comment may end the text. The caller warns about it.
            self.source.open_comment = begin
            if END not in row:
                raise self.source.unclosed_comment()
            return END, "", begin, begin
        if group == "unknown":
            raise unexpected_character(self.source, begin)
        return group, value, begin, end  # a number, whose group is its terminal, or an unexpected '{'

    def _keyword_or_name(self, keyword: str, row: Mapping[str, int], end: int) -> str:
        """Return the terminal of a word that is a keyword somewhere in the grammar."""
        if keyword in row:
            return "ID" if "ID" in row and is_name(keyword, row, self._text, end) else keyword
        # After `insert into S` a projection may follow (Siddhi 2), that is, any name. But `insert into A from B` lacks a
        # semicolon; it does not select an attribute called "from".
        if "ID" in row and "SEMICOLON" in row and keyword.lower() in STATEMENTS:
            kind, word, _, _ = token_at(self._text, end)
            if kind in OPERAND_STARTS and word.lower() not in AFTER_EXPRESSION:
                return keyword
        return "ID"
