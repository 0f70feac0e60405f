"""Characters to tokens.

SiddhiQL reserves no word: ``define stream stream (select string)`` is legal. So the scanner asks the parser what can
stand at this place: a word is a keyword where the grammar can use that keyword, and a name everywhere else. In the few
places where both could stand (``not``, ``every``, ``true``, ... at the start of an operand) what follows decides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from siddhi.query_compiler.script import script_end, script_language
from siddhi.query_compiler.stray import stray_character
from siddhi.query_compiler.tables import END

if TYPE_CHECKING:
    from collections.abc import Mapping

    from siddhi.query_compiler.source import Source

__all__ = ["Scanner", "shape_at"]

# One alternative always matches, which keeps the skipped part in front of it from being tried in pieces.
TOKEN = re.compile(
    r"""
    (?: [ \t\r\n\v]+ | --[^\r\n]* | /\*(?s:.*?)(?:\*/|\Z) )*
    (?:
        (?P<word> [A-Za-z_][A-Za-z0-9_]* )
      | (?P<FLOAT> (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fF] )
      | (?P<DOUBLE>
            (?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[dD]
          | [0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)? | [0-9]+\.?[eE][+-]?[0-9]+ )
      | (?P<LONG> [0-9]+[lL] )
      | (?P<INT> [0-9]+ )
      | (?P<sign> -> | \.\.\. | == | != | <= | >= | [-+*/%()\[\],;:.\#@!<>=?] )
      | (?P<long_string> \"{3}(?s:.*?)\"{3} )
      | (?P<string> "[^"\x00-\x1f]*" | '[^'"\x00-\x1f]*' )
      | (?P<quoted> `[^`]+` )
      | (?P<script> \{ )
      | (?P<end> \Z )
      | (?P<stray> (?s:.) )
    )
    """,
    re.VERBOSE,
)

OPERAND_STARTS = frozenset({"word", "quoted", "FLOAT", "DOUBLE", "LONG", "INT", "string", "long_string", "(", "#", "!"})
STARTS_OR_STAR = OPERAND_STARTS - {"#", "!"} | {"*"}
JOINING = frozenset({"as", "and", "or", "in", "is"})  # words that go on with an expression which has ended
# Words that begin a clause behind an input, with the words that follow there; None where any operand follows.
JOINS = frozenset({"join", "inner", "left", "right", "full"})
CLAUSES: dict[str, frozenset[str] | None] = {
    **dict.fromkeys(("select", "insert", "output", "update", "delete", "return", "join", "within")),
    **dict.fromkeys(("left", "right", "full"), frozenset({"outer"})),
    "inner": frozenset({"join"}),
    "unidirectional": JOINS,
}
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
        if group == "stray":
            raise stray_character(self.source, begin)
        return group, value, begin, end  # a number, whose group is its terminal, or a brace where no script can stand

    def _word(self, keyword: str, row: Mapping[str, int], end: int) -> str:
        """Whether a word that is a keyword in some places is one here."""
        if keyword in row:
            return "ID" if "ID" in row and self._is_name(keyword, row, end) else keyword
        # Behind `insert into S` a projection may follow (Siddhi 2), that is, any name. But `insert into A from B` is a
        # semicolon forgotten, not an attribute called "from".
        if "ID" in row and "SEMICOLON" in row and keyword.lower() in STATEMENTS:
            kind, word, _ = self._peek(end)
            if kind in OPERAND_STARTS and word.lower() not in JOINING:
                return keyword
        return "ID"

    def _is_name(self, keyword: str, row: Mapping[str, int], end: int) -> bool:
        """Decide between a keyword and a name where the grammar allows both, by what follows."""
        if keyword == "BOOL":
            kind, word, _ = self._peek(end)
            return kind in (".", "(", ":", "[") or word.lower() == "is"
        shifts = row["ID"] >= 0 and row[keyword] >= 0
        if keyword == "NOT" or (shifts and keyword in ("EVERY", "FROM")):
            return self._is_operand_itself(end, at_input="EVERY" in row)
        if shifts and keyword == "OR":  # update or insert into ..., or a table called "or"
            return self._peek(end)[1].lower() != "insert"
        if shifts and keyword == "WINDOW":  # #window.length(1), or a stream function called "window"
            return self._peek(end)[0] != "."
        return False

    def _is_operand_itself(self, end: int, *, at_input: bool) -> bool:
        """Whether a prefix word (not, every, from) has no operand behind it, and so is the operand's own name."""
        kind, word, after = self._peek(end)
        if kind not in OPERAND_STARTS:
            return True
        if kind == "#":  # every #Inner, or a stream called "every" with a handler
            kind, word, after = self._peek(after)
            return kind == "[" or self._peek(after)[0] in ("(", ":") or self._is_window(word, after)
        if kind != "word":
            return False
        word = word.lower()
        following, next_word, _ = self._peek(after)
        next_word = next_word.lower()
        if at_input and word in CLAUSES:
            followers = CLAUSES[word]
            if followers is not None:
                return next_word in followers
            return following in STARTS_OR_STAR and next_word not in JOINING | {"for", "within"}
        return word in JOINING and following in STARTS_OR_STAR and next_word not in JOINING

    def _is_window(self, word: str, after: int) -> bool:
        return word.lower() == "window" and self._peek(after)[0] == "."

    def _peek(self, position: int) -> tuple[str, str, int]:
        """The shape, text and end of the token at a position."""
        shape, value, _, end = shape_at(self._text, position)
        return shape, value, end


def shape_at(text: str, position: int) -> tuple[str, str, int, int]:
    """The token at a position by its look alone: shape, text, begin, end. The shape of a sign is the sign."""
    match = TOKEN.match(text, position)
    assert match is not None
    shape = match.lastgroup
    assert shape is not None
    begin, end = match.span(shape)
    value = text[begin:end]
    return (value if shape == "sign" else shape), value, begin, end
