"""Regular expressions in Java's syntax → programs for the matcher (``_core/function/regex.pyx``).

A program is matched in time linear in the text. What would need backtracking is refused: back references, look-around, atomic
groups and possessive quantifiers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from siddhi._frozen import frozen

__all__ = ["Program", "compile_pattern", "replacement_parts"]

SET, SPLIT, JUMP, SAVE, ASSERT, MATCH = range(6)
BEGIN, END, END_BEFORE_LINE_END, LINE_BEGIN, LINE_END, WORD_EDGE, NO_WORD_EDGE = range(7)
MOST_INSTRUCTIONS, MOST_REPEATS, DEEPEST = 20_000, 1000, 200
_LAST = 0x10FFFF
_LINEAR = "patterns are matched in linear time: without back references, look-around, atomic groups and possessive quantifiers"

Ranges = tuple[tuple[int, int], ...]


@frozen
class Program:
    """A compiled pattern.

    Attributes:
        instructions: operation and two operands each.
        sets: ranges of code points, which SET refers to by index.
        groups: number of capturing groups.
        names: number of each named group.
    """

    instructions: tuple[tuple[int, int, int], ...]
    sets: tuple[Ranges, ...]
    groups: int
    names: dict[str, int]


def compile_pattern(pattern: str) -> Program:
    """Compile a pattern.

    Raises:
        ValueError: it is invalid, too large, or needs backtracking; a second argument is the hint.
    """
    parser = _Parser(pattern)
    tree = parser.parse()
    writer = _Writer()
    writer.emit(SAVE, 0)
    writer.write(tree)
    writer.emit(SAVE, 1)
    writer.emit(MATCH)
    return Program(
        tuple((one, two, three) for one, two, three in writer.code), tuple(writer.sets), parser.groups, parser.names
    )


# --- sets of code points


def _union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Ranges) -> Ranges:
    found, start = [], 0
    for low, high in ranges:
        if low > start:
            found.append((start, low - 1))
        start = high + 1
    if start <= _LAST:
        found.append((start, _LAST))
    return tuple(found)


def _intersection(one: Ranges, other: Ranges) -> Ranges:
    return _complement(_union((*_complement(one), *_complement(other))))


def _of(text: str) -> Ranges:
    return _union((ord(character), ord(character)) for character in text)


def _either_case(ranges: Ranges) -> Ranges:
    """Return the ranges with the other case of ASCII letters, and of single other letters."""
    found = list(ranges)
    for low, high in ranges:
        for start, end, shift in ((0x41, 0x5A, 32), (0x61, 0x7A, -32)):
            if low <= end and high >= start:
                found.append((max(low, start) + shift, min(high, end) + shift))
        if high - low < 256 and high > 0x7F:
            for code in range(max(low, 0x80), high + 1):
                found += ((ord(other),) * 2 for other in (chr(code).lower(), chr(code).upper()) if len(other) == 1)
    return _union(found)


_DIGIT: Ranges = ((0x30, 0x39),)
_WORD = _union(((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)))
_SPACE = _of(" \t\n\x0b\f\r")
_HORIZONTAL = _union((*_of("\t \xa0\u1680\u180e\u202f\u205f\u3000"), (0x2000, 0x200A)))
_VERTICAL = _of("\n\x0b\f\r\x85\u2028\u2029")
_LINE_ENDS = _of("\n\r\x85\u2028\u2029")
_CLASSES = {"d": _DIGIT, "w": _WORD, "s": _SPACE, "h": _HORIZONTAL, "v": _VERTICAL}
_ESCAPES = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_PUNCT = _union(((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)))
_NAMED: dict[str, Ranges] = {
    "Lower": ((0x61, 0x7A),),
    "Upper": ((0x41, 0x5A),),
    "ASCII": ((0, 0x7F),),
    "Alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "Digit": _DIGIT,
    "Alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "Punct": _PUNCT,
    "Graph": ((0x21, 0x7E),),
    "Print": ((0x20, 0x7E),),
    "Blank": _of(" \t"),
    "Cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "XDigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
    "Space": _SPACE,
}
_CATEGORIES = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Co Cs Cn".split()
)


@cache
def _category(name: str) -> Ranges:
    return _union((code, code) for code in range(_LAST + 1) if unicodedata.category(chr(code)).startswith(name))


def _property(name: str) -> Ranges | None:
    """Return the set of a property by its name, or None."""
    if name in _NAMED:
        return _NAMED[name]
    plain = name.removeprefix("Is")
    words = {"Alphabetic": "L", "Letter": "L", "Digit": "Nd", "Uppercase": "Lu", "Lowercase": "Ll", "Punctuation": "P"}
    plain = words.get(plain, plain) if name.startswith("Is") else plain
    return _category(plain) if plain in _CATEGORIES else None


# --- parser. A tree is a tuple: its kind and operands.


_QUOTED = re.compile(r"\\Q(.*?)(?:\\E|\Z)|\\.", re.DOTALL)


def _unquoted(part: re.Match[str]) -> str:
    """Return a quotation as single characters, the last of which a quantifier refers to."""
    if part[1] is None:
        return part[0]
    return "".join(one if one.isalnum() else f"\\{one}" for one in part[1])


class _Parser:
    """Parses one pattern; ``groups`` and ``names`` are its capturing groups."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at, self.depth = _QUOTED.sub(_unquoted, pattern), 0, 0
        self.groups = 0
        self.names: dict[str, int] = {}
        self.flags: frozenset[str] = frozenset()

    def parse(self) -> Any:
        tree = self.alternatives()
        if self.at < len(self.pattern):
            raise self.error("unmatched ')'")
        return tree

    def error(self, why: str, hint: str | None = None) -> ValueError:
        message = f"invalid regular expression '{self.pattern}': {why} at position {self.at}"
        return ValueError(message) if hint is None else ValueError(message, hint)

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if not self.peek(text):
            return False
        self.at += len(text)
        return True

    def next(self, what: str) -> str:
        if self.at == len(self.pattern):
            raise self.error(f"it ends where {what} is expected")
        self.at += 1
        return self.pattern[self.at - 1]

    def alternatives(self) -> Any:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(f"more than {DEEPEST} nested groups")
        flags = self.flags  # a group restores them at its end
        found = [self.sequence()]
        while self.take("|"):
            found.append(self.sequence())
        self.flags = flags
        self.depth -= 1
        return found[0] if len(found) == 1 else ("alt", found)

    def sequence(self) -> Any:
        parts = []
        while self.at < len(self.pattern) and not self.peek("|") and not self.peek(")"):
            atom = self.atom()
            if atom is not None:
                parts.append(self.repeated(atom))
        return ("cat", parts)

    def repeated(self, atom: Any) -> Any:
        while self.at < len(self.pattern):
            if self.take("*"):
                low, high = 0, -1
            elif self.take("+"):
                low, high = 1, -1
            elif self.take("?"):
                low, high = 0, 1
            elif self.take("{"):
                low, high = self.counts()
            else:
                break
            if self.take("+"):
                raise self.error("a possessive quantifier", _LINEAR)
            atom = ("rep", atom, low, high, not self.take("?"))
        return atom

    def counts(self) -> tuple[int, int]:
        end = self.pattern.find("}", self.at)
        low, comma, high = self.pattern[self.at : max(end, self.at)].partition(",")
        if end < 0 or not low.isdecimal() or (high and not high.isdecimal()):
            raise self.error("expected {n}, {n,} or {n,m}")
        self.at = end + 1
        least = int(low)
        most = int(high) if high else -1 if comma else least
        if max(least, most) > MOST_REPEATS or 0 <= most < least:
            raise self.error(f"a count is out of range: at most {MOST_REPEATS}, the second not below the first")
        return least, most

    def atom(self) -> Any:
        character = self.next("a character")
        if character == "(":
            return self.group()
        if character == "[":
            return self.set_of(self.char_class())
        if character == ".":
            return ("set", ((0, _LAST),) if "s" in self.flags else _complement(_LINE_ENDS))
        if character == "^":
            return ("assert", LINE_BEGIN if "m" in self.flags else BEGIN)
        if character == "$":
            return ("assert", LINE_END if "m" in self.flags else END_BEFORE_LINE_END)
        if character == "\\":
            return self.escape()
        if character in "*+?":
            self.at -= 1
            raise self.error(f"a dangling '{character}'")
        return self.set_of(_of(character))

    def set_of(self, ranges: Ranges) -> Any:
        return ("set", _either_case(ranges) if "i" in self.flags else ranges)

    def group(self) -> Any:
        number = None
        if self.take("?"):
            if self.take(":"):
                pass
            elif any(map(self.peek, ("=", "!", "<=", "<!", ">"))):
                raise self.error("look-around or an atomic group", _LINEAR)
            elif self.take("<") or self.take("P<"):
                number = self.named()
            else:
                return self.with_flags()
        else:
            self.groups += 1
            number = self.groups
        flags = self.flags
        tree = self.alternatives()
        self.flags = flags
        if not self.take(")"):
            raise self.error("a group without ')'")
        return ("group", tree, number)

    def named(self) -> int:
        end = self.pattern.find(">", self.at)
        name = self.pattern[self.at : max(end, self.at)]
        if not name.isascii() or not name.isidentifier():
            raise self.error("expected a name and '>'")
        if name in self.names:
            raise self.error(f"a second group '{name}'")
        self.at = end + 1
        self.groups += 1
        self.names[name] = self.groups
        return self.groups

    def with_flags(self) -> Any:
        """Parse ``(?i)``, which applies to the rest of the group, or ``(?i:...)``."""
        added: set[str] = set()
        removed: set[str] = set()
        target = added
        while True:
            character = self.next("')' or ':'")
            if character == "-":
                target = removed
            elif character in "ims":
                target.add(character)
            elif character in ":)":
                break
            else:
                raise self.error(f"unknown flag '{character}'", "the flags are i, m and s")
        before = self.flags
        self.flags = (before | added) - removed
        if character == ")":
            return None
        tree = self.alternatives()
        self.flags = before
        if not self.take(")"):
            raise self.error("a group without ')'")
        return ("group", tree, None)

    def escape(self) -> Any:
        character = self.next("an escaped character")
        edges = {"b": WORD_EDGE, "B": NO_WORD_EDGE, "A": BEGIN, "z": END, "Z": END_BEFORE_LINE_END}
        if character in edges:
            return ("assert", edges[character])
        if character == "R":
            return ("alt", [("cat", [("set", _of("\r")), ("set", _of("\n"))]), ("set", _VERTICAL)])
        if character in "123456789k":
            raise self.error("a back reference", _LINEAR)
        self.at -= 1
        return self.set_of(self.escaped_set())

    def escaped_set(self) -> Ranges:
        """Parse what follows a backslash, inside or outside of brackets."""
        character = self.next("an escaped character")
        if character.lower() in _CLASSES:
            found = _CLASSES[character.lower()]
            return found if character.islower() else _complement(found)
        if character in "pP":
            name = self.braced() if self.peek("{") else self.next("a property")
            named = _property(name)
            if named is None:
                raise self.error(
                    f"unknown property '{name}'", f"known are {', '.join(_NAMED)} and categories such as Lu"
                )
            return named if character == "p" else _complement(named)
        if character in _ESCAPES:
            return ((_ESCAPES[character],) * 2,)
        if character == "c":
            return ((ord(self.next("a control character")) ^ 64,) * 2,)
        if character in "xu0":
            return ((self.code_point(character),) * 2,)
        if character.isalnum():
            raise self.error(f"unknown escape '\\{character}'", f"write '{character}' for the character itself")
        return _of(character)

    def braced(self) -> str:
        end = self.pattern.find("}", self.at)
        if end < 0:
            raise self.error("'{' without '}'")
        name = self.pattern[self.at + 1 : end]
        self.at = end + 1
        return name

    def code_point(self, kind: str) -> int:
        if kind == "x" and self.peek("{"):
            digits, base = self.braced(), 16
        elif kind == "0":
            start = self.at
            while self.at < min(start + 3, len(self.pattern)) and self.pattern[self.at] in "01234567":
                self.at += 1
            digits, base = self.pattern[start : self.at], 8
        else:
            size = 2 if kind == "x" else 4
            digits, base = self.pattern[self.at : self.at + size], 16
            self.at += size
            digits = digits if len(digits) == size else ""
        try:
            code = int(digits, base) if digits.isalnum() else -1
        except ValueError:
            code = -1
        if not 0 <= code <= _LAST:
            raise self.error(f"expected the digits of a code point after '\\{kind}'")
        return code

    def char_class(self) -> Ranges:
        """Parse behind ``[``: members, ranges, nested classes, and ``&&``."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.error(f"more than {DEEPEST} nested classes")
        negated = self.take("^")
        operands: list[Ranges] = []
        members: list[tuple[int, int]] = []
        first = True
        while True:
            if self.take("&&"):
                operands.append(_union(members))
                members = []
            elif self.peek("]") and not first:
                self.at += 1
                break
            elif self.take("["):
                members += self.char_class()
            else:
                members += self.member()
            first = False
        found = _union(members)
        for operand in operands:
            found = _intersection(operand, found)
        self.depth -= 1
        if "i" in self.flags:
            found = _either_case(found)
        return _complement(found) if negated else found

    def member(self) -> Ranges:
        low = self.one_member()
        if (
            len(low) != 1
            or low[0][0] != low[0][1]
            or not self.peek("-")
            or self.pattern[self.at + 1 : self.at + 2] in "[]"
        ):
            return low
        self.at += 1
        high = self.one_member()
        if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
            raise self.error("an invalid range")
        return ((low[0][0], high[0][0]),)

    def one_member(self) -> Ranges:
        character = self.next("']'")
        return self.escaped_set() if character == "\\" else _of(character)


# --- code


class _Writer:
    """Writes the instructions of a tree."""

    def __init__(self) -> None:
        self.code: list[list[int]] = []
        self.sets: list[Ranges] = []
        self._numbers: dict[Ranges, int] = {}

    def emit(self, operation: int, first: int = 0, second: int = 0) -> int:
        if len(self.code) >= MOST_INSTRUCTIONS:
            raise ValueError(f"a regular expression is too large: more than {MOST_INSTRUCTIONS} instructions")
        self.code.append([operation, first, second])
        return len(self.code) - 1

    def write(self, tree: Any) -> None:
        kind = tree[0]
        if kind == "set":
            ranges = tree[1]
            if ranges not in self._numbers:
                self._numbers[ranges] = len(self.sets)
                self.sets.append(ranges)
            self.emit(SET, self._numbers[ranges])
        elif kind == "cat":
            for part in tree[1]:
                self.write(part)
        elif kind == "alt":
            self._alternatives(tree[1])
        elif kind == "group":
            if tree[2] is not None:
                self.emit(SAVE, 2 * tree[2])
            self.write(tree[1])
            if tree[2] is not None:
                self.emit(SAVE, 2 * tree[2] + 1)
        elif kind == "assert":
            self.emit(ASSERT, tree[1])
        else:
            self._repeated(*tree[1:])

    def _alternatives(self, parts: Sequence[Any]) -> None:
        ends = []
        for part in parts[:-1]:
            split = self.emit(SPLIT, len(self.code) + 1)
            self.write(part)
            ends.append(self.emit(JUMP))
            self.code[split][2] = len(self.code)
        self.write(parts[-1])
        for end in ends:
            self.code[end][1] = len(self.code)

    def _repeated(self, part: Any, low: int, high: int, greedy: bool) -> None:
        for _ in range(low):
            self.write(part)
        if high < 0:
            start = self.emit(SPLIT)
            self.write(part)
            self.emit(JUMP, start)
            self._branch(start, start + 1, len(self.code), greedy)
            return
        splits = []
        for _ in range(high - low):
            splits.append(self.emit(SPLIT))
            self.write(part)
        for split in splits:
            self._branch(split, split + 1, len(self.code), greedy)

    def _branch(self, split: int, body: int, end: int, greedy: bool) -> None:
        self.code[split][1:] = (body, end) if greedy else (end, body)


def replacement_parts(text: str, groups: int, names: dict[str, int]) -> Iterator[str | int]:
    r"""Yield the literal parts and group numbers of a replacement: ``$1``, ``${name}``, and ``\\`` before a literal character.

    Raises:
        ValueError: it refers to a group that the pattern does not have.
    """
    at = 0
    while at < len(text):
        character = text[at]
        at += 1
        if character == "\\":
            if at == len(text):
                raise ValueError(f"replacement '{text}' ends with a backslash")
            yield text[at]
            at += 1
        elif character != "$":
            yield character
        elif text.startswith("{", at):
            name, end, rest = text[at + 1 :].partition("}")
            if not end or name not in names:
                raise ValueError(f"replacement '{text}' refers to the unknown group '{name}'")
            yield names[name]
            at = len(text) - len(rest)
        else:
            if not text[at : at + 1].isdecimal() or int(text[at]) > groups:
                raise ValueError(
                    f"replacement '{text}' refers to a group that the pattern does not have: write \\$ for a dollar sign"
                )
            number = int(text[at])
            at += 1
            # As in Java, further digits belong to the number while there is such a group.
            while text[at : at + 1].isdecimal() and 10 * number + int(text[at]) <= groups:
                number = 10 * number + int(text[at])
                at += 1
            yield number
