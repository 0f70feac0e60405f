"""Date patterns in Java's letters (``yyyy-MM-dd HH:mm:ss.SSS``) → their fields."""

from __future__ import annotations

__all__ = ["DEFAULT", "check_parsed", "fields_of"]

DEFAULT = "yyyy-MM-dd HH:mm:ss.SSS"
LONGEST = 200
_LETTERS = frozenset("GyYuMLwWDdFEaHkKhmsSzZX")
_NOT_PARSED = frozenset("GYuwWDF")
_HINT = "the letters are those of java.text.SimpleDateFormat; put other text in single quotes"


def fields_of(pattern: str) -> tuple[tuple[str, int] | str, ...]:
    """Return the fields of a pattern, letter and count each, and the texts between them.

    Raises:
        ValueError: the pattern is invalid; a second argument is the hint.
    """
    found: list[tuple[str, int] | str] = []
    at = 0
    if len(pattern) > LONGEST:
        raise ValueError(f"a date pattern has {len(pattern)} characters: expected at most {LONGEST}")
    while at < len(pattern):
        character = pattern[at]
        end = at + 1
        if character == "'":
            text, end = _quoted(pattern, at)
            found.append(text)
        elif character.isascii() and character.isalpha():
            if character not in _LETTERS:
                raise ValueError(f"invalid date pattern '{pattern}': unknown letter '{character}'", _HINT)
            while end < len(pattern) and pattern[end] == character:
                end += 1
            found.append((character, end - at))
        else:
            found.append(character)
        at = end
    return tuple(found)


def check_parsed(pattern: str) -> None:
    """Check a pattern that texts are read with.

    Raises:
        ValueError: it is invalid, or has a field that does not determine a date.
    """
    for field in fields_of(pattern):
        if isinstance(field, tuple) and field[0] in _NOT_PARSED:
            raise ValueError(
                f"date pattern '{pattern}' cannot read texts: '{field[0]}' is only for output",
                "read year, month and day by y, M and d",
            )


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    """Return the text of a quotation and the position after it; two quotes are one."""
    if pattern.startswith("''", at):
        return "'", at + 2
    text, end = "", at + 1
    while True:
        close = pattern.find("'", end)
        if close < 0:
            raise ValueError(f"invalid date pattern '{pattern}': a quotation without end", _HINT)
        text += pattern[end:close]
        if not pattern.startswith("''", close):
            return text, close + 1
        text += "'"
        end = close + 2
