"""Decide between a keyword and a name where the grammar allows both, by the tokens that follow.

``not``, ``every`` and ``from`` need an operand; without one they are names themselves: ``from every[a > 1]``
reads a stream called "every". Where both readings remain possible, the keyword wins; back quotes make it a name.
"""

from __future__ import annotations

from collections.abc import Mapping

from siddhi.query_compiler.tokens import token_at

__all__ = ["AFTER_EXPRESSION", "OPERAND_STARTS", "is_name"]

OPERAND_STARTS = frozenset({"word", "quoted", "FLOAT", "DOUBLE", "LONG", "INT", "string", "long_string", "(", "#", "!"})
# Without the parenthesis: and(...) and or(...) are aggregators.
PLAIN_STARTS = OPERAND_STARTS - {"(", "#", "!"} | {"*"}
AFTER_EXPRESSION = frozenset(
    """
    as and or in is of on per within group having order limit offset output insert update delete return select aggregate
    end
    """.split()
)
# Keywords that can follow a source, with the words that can follow them; None where any name or number can.
JOINS = frozenset({"join", "inner", "left", "right", "full", "unidirectional"})
AFTER_SOURCE: dict[str, frozenset[str] | None] = {
    **dict.fromkeys(("select", "insert", "output", "update", "delete", "return", "join", "within")),
    **dict.fromkeys(("left", "right", "full"), frozenset({"outer"})),
    "inner": frozenset({"join"}),
    "unidirectional": JOINS,
}


def is_name(keyword: str, row: Mapping[str, int], text: str, end: int) -> bool:
    """Return whether a word is a name although the grammar also allows its keyword here.

    Args:
        keyword: the terminal of the word read as a keyword.
        row: the actions of the parser's state; has both ``keyword`` and ``ID``.
        text: the whole source text.
        end: the offset after the word.
    """
    if keyword == "BOOL":
        kind, word, _ = _peek(text, end)
        return kind in (".", "(", ":", "[") or word == "is"
    if keyword == "NOT" and "INT" in row:  # in an expression
        return _has_no_operand(text, end)
    if row["ID"] < 0 or row[keyword] < 0:  # both readings reduce first: the word continues what precedes it
        return False
    if keyword in ("NOT", "EVERY", "FROM"):
        return _has_no_source(keyword, text, end)
    if keyword == "OR":  # update or insert into ..., or a table called "or"
        return _peek(text, end)[1] != "insert"
    if keyword == "WINDOW":  # #window.length(1), or a stream function called "window"
        return _peek(text, end)[0] != "."
    return False


def _has_no_operand(text: str, end: int) -> bool:
    """Return whether no expression follows."""
    kind, word, after = _peek(text, end)
    following, next_word, _ = _peek(text, after)
    if kind == "(":
        return following == ")"
    if kind == ":":  # `not :done` negates a parameter, `not:f(1)` is a call
        _, _, then = _peek(text, after)
        return _peek(text, then)[0] == "("
    if kind == "word" and word in AFTER_EXPRESSION:  # `not is null`, but `not is` negates an attribute "is"
        return following in PLAIN_STARTS and next_word not in AFTER_EXPRESSION
    return kind not in OPERAND_STARTS


def _has_no_source(_keyword: str, text: str, end: int) -> bool:
    """Return whether no pattern element (after ``not``, ``every``) or source (after ``from``) follows."""
    kind, word, after = _peek(text, end)
    if kind == "#":  # every #Inner, or a stream called "every" with a handler
        return _is_handler(text, after)
    if kind != "word":
        return kind not in OPERAND_STARTS
    following, next_word, then = _peek(text, after)
    if word in ("and", "or"):
        return following in OPERAND_STARTS and next_word not in AFTER_SOURCE and next_word != "for"
    if word == "as":
        return _peek(text, then)[1] in JOINS
    followers = AFTER_SOURCE.get(word, frozenset())
    if followers is not None:
        return next_word in followers
    return following in PLAIN_STARTS and next_word not in AFTER_EXPRESSION | {"for"}


def _is_handler(text: str, end: int) -> bool:
    """Return whether a filter, stream function or window follows a ``#``."""
    kind, word, after = _peek(text, end)
    following = _peek(text, after)[0]
    return kind == "[" or following in ("(", ":") or (word == "window" and following == ".")


def _peek(text: str, position: int) -> tuple[str, str, int]:
    """Return the kind, the text in lower case and the end of the token at a position."""
    kind, value, _, end = token_at(text, position)
    return kind, value.lower(), end
