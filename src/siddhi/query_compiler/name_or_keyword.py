"""Decides between a keyword and a name in the few places where the grammar allows both, by what follows.

``not``, ``every`` and ``from`` stand in front of something; without it they are names themselves: ``from every[a > 1]``
reads a stream called "every". Where even that leaves both readings, the keyword wins; back quotes say otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping

from siddhi.query_compiler.tokens import shape_at

__all__ = ["BEHIND_EXPRESSION", "OPERAND_STARTS", "is_name"]

OPERAND_STARTS = frozenset({"word", "quoted", "FLOAT", "DOUBLE", "LONG", "INT", "string", "long_string", "(", "#", "!"})
# Without the bracket: and(...) and or(...) are aggregators.
PLAIN_STARTS = OPERAND_STARTS - {"(", "#", "!"} | {"*"}
BEHIND_EXPRESSION = frozenset(
    """
    as and or in is of on per within group having order limit offset output insert update delete return select aggregate
    end
    """.split()
)
# Words that go on behind a source, with what follows them there; None where any name or number may.
JOINS = frozenset({"join", "inner", "left", "right", "full", "unidirectional"})
BEHIND_SOURCE: dict[str, frozenset[str] | None] = {
    **dict.fromkeys(("select", "insert", "output", "update", "delete", "return", "join", "within")),
    **dict.fromkeys(("left", "right", "full"), frozenset({"outer"})),
    "inner": frozenset({"join"}),
    "unidirectional": JOINS,
}


def is_name(keyword: str, row: Mapping[str, int], text: str, end: int) -> bool:
    """Whether a word is a name although its keyword could stand here.

    Args:
        keyword: the terminal of the word as a keyword.
        row: the actions of the parser's state; has both ``keyword`` and ``ID``.
        text: the whole text.
        end: the offset behind the word.
    """
    if keyword == "BOOL":
        shape, word, _ = _peek(text, end)
        return shape in (".", "(", ":", "[") or word == "is"
    if keyword == "NOT" and "INT" in row:  # in an expression
        return _has_no_operand(text, end)
    if row["ID"] < 0 or row[keyword] < 0:  # the word ends what stands in front of it, it does not begin something
        return False
    if keyword in ("NOT", "EVERY", "FROM"):
        return _has_no_source(keyword, text, end)
    if keyword == "OR":  # update or insert into ..., or a table called "or"
        return _peek(text, end)[1] != "insert"
    if keyword == "WINDOW":  # #window.length(1), or a stream function called "window"
        return _peek(text, end)[0] != "."
    return False


def _has_no_operand(text: str, end: int) -> bool:
    """Whether no expression follows."""
    shape, word, after = _peek(text, end)
    following, next_word, _ = _peek(text, after)
    if shape == "(":
        return following == ")"
    if shape == "word" and word in BEHIND_EXPRESSION:  # `not is null`, but `not is` negates an attribute "is"
        return following in PLAIN_STARTS and next_word not in BEHIND_EXPRESSION
    return shape not in OPERAND_STARTS


def _has_no_source(_keyword: str, text: str, end: int) -> bool:
    """Whether no element of a pattern (behind ``not``, ``every``) or source (behind ``from``) follows."""
    shape, word, after = _peek(text, end)
    if shape == "#":  # every #Inner, or a stream called "every" with a handler
        return _is_handler(text, after)
    if shape != "word":
        return shape not in OPERAND_STARTS
    following, next_word, then = _peek(text, after)
    if word in ("and", "or"):
        return following in OPERAND_STARTS and next_word not in BEHIND_SOURCE and next_word != "for"
    if word == "as":
        return _peek(text, then)[1] in JOINS
    followers = BEHIND_SOURCE.get(word, frozenset())
    if followers is not None:
        return next_word in followers
    return following in PLAIN_STARTS and next_word not in BEHIND_EXPRESSION | {"for"}


def _is_handler(text: str, end: int) -> bool:
    """Whether a filter, stream function or window follows a ``#``."""
    shape, word, after = _peek(text, end)
    following = _peek(text, after)[0]
    return shape == "[" or following in ("(", ":") or (word == "window" and following == ".")


def _peek(text: str, position: int) -> tuple[str, str, int]:
    """The shape of the token at a position, its text in lower case, and its end."""
    shape, value, _, end = shape_at(text, position)
    return shape, value.lower(), end
