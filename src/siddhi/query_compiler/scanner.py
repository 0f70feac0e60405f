"""Characters to tokens.

SiddhiQL reserves no word: ``define stream stream (select string)`` is legal. So the scanner asks the parser what can
stand at this place: a word is a keyword where the grammar can use that keyword, and a name everywhere else. In the few
places where both could stand, what follows decides (see ``name_or_keyword``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.query_compiler.lexer_errors import stray_character
from siddhi.query_compiler.name_or_keyword import BEHIND_EXPRESSION, OPERAND_STARTS, is_name
from siddhi.query_compiler.script import script_end, script_language
from siddhi.query_compiler.tables import END
from siddhi.query_compiler.tokens import TOKEN, shape_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from siddhi.query_compiler.source import Source

__all__ = ["Scanner"]

STATEMENTS = frozenset("define from partition select insert update delete return output".split())


class Scanner:
    """Hands out the tokens of one text, one at a time."""

    __slots__ = ("_keywords", "_match", "_position", "_punctuation", "_text", "source")

    def __init__(self, source: Source, keywords: Mapping[str, str], punctuation: Mapping[str, str]) -> None:
        self.source = source
        self._text = source.text
        self._match = TOKEN.match
        self._position = 0
        self._keywords = keywords
        self._punctuation = punctuation

    def next(self, row: Mapping[str, int]) -> tuple[str, str, int, int]:
        """The next token as (terminal, value, begin, end); ``row`` has the actions of the parser's state.

        Raises:
            SiddhiParserError: a character that starts no token, or text without its closing quote.
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
            return ("ID" if keyword is None else self._word(keyword, row, end)), value, begin, end
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
                raise self.source.error("this '{' is never closed", begin, begin + 1, code="E101")
            self._position = closed
            return "SCRIPT", self._text[begin + 1 : closed - 1], begin, closed
        if group == "comment":
            # As in Siddhi, the text may end here. Whoever asked for it to be compiled has to be told what is left out.
            self.source.open_comment = begin
            if END not in row:
                raise self.source.unclosed_comment()
            return END, "", begin, begin
        if group == "stray":
            raise stray_character(self.source, begin)
        return group, value, begin, end  # a number, whose group is its terminal, or a brace where no script can stand

    def _word(self, keyword: str, row: Mapping[str, int], end: int) -> str:
        """Whether a word that is a keyword in some places is one here."""
        if keyword in row:
            return "ID" if "ID" in row and is_name(keyword, row, self._text, end) else keyword
        # Behind `insert into S` a projection may follow (Siddhi 2), that is, any name. But `insert into A from B` is a
        # semicolon forgotten, not an attribute called "from".
        if "ID" in row and "SEMICOLON" in row and keyword.lower() in STATEMENTS:
            shape, word, _, _ = shape_at(self._text, end)
            if shape in OPERAND_STARTS and word.lower() not in BEHIND_EXPRESSION:
                return keyword
        return "ID"
