"""JSONPath: keys, indexes, slices, unions, wildcards, descendants and filters, over parsed JSON."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from siddhi.errors import shown

__all__ = ["MISSING", "JsonPath", "parsed"]

MISSING: Any = object()
"""The result of a path that a document does not have."""

DEEPEST = 100
_NAME = re.compile(r"[^\s.\[\]()*?,:'\"@$<>=!&|]+")
_INDEX = re.compile(r"-?\d+")
_SLICE = re.compile(r"(-?\d+)?\s*:\s*(-?\d+)?(?:\s*:\s*(-?\d+)?)?")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}

Step = Callable[[Any], Iterable[Any]]
Test = Callable[[Any], bool]


def parsed(document: Any, function: str) -> Any:
    """Return a document that may be text as parsed JSON.

    Raises:
        ValueError: it is null, or a text that is not JSON.
    """
    if isinstance(document, str):
        try:
            return json.loads(document)
        except ValueError as error:
            raise ValueError(f"{function}() got {shown(document)}, which is not JSON: {error}") from None
        except RecursionError:
            raise ValueError(f"{function}() got JSON that is nested too deeply") from None
    if document is None:
        raise ValueError(f"{function}() got null: expected JSON")
    return document


class JsonPath:
    """A path such as ``$.a.b[0]``, ``$..price`` or ``$.items[?(@.price < 10)].name``; ``$.`` at the begin can be left out.

    Args:
        text: the path.

    Attributes:
        keys: the keys and indexes of a path that selects one value; None for other paths.

    Raises:
        ValueError: it is not such a path.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._at = 0
        self.keys: list[str | int] | None = []
        self._steps: list[Step] = []
        if not text.strip():
            raise self._error("it is empty")
        self._take("$")
        while self._at < len(text):
            self._steps.append(self._step())

    def find(self, document: Any) -> Any:
        """Return the value, :data:`MISSING`, or the list of the values of a path that can select several."""
        if self.keys is None:
            return list(self.values(document))
        for key in self.keys:
            if isinstance(key, int):
                if not isinstance(document, list) or not -len(document) <= key < len(document):
                    return MISSING
                document = document[key]
            elif not isinstance(document, dict) or key not in document:
                return MISSING
            else:
                document = document[key]
        return document

    def values(self, document: Any) -> Iterable[Any]:
        """Return all values that the path selects."""
        found: Iterable[Any] = [document]
        for step in self._steps:
            found = [value for each in found for value in step(each)]
        return found

    def _error(self, why: str) -> ValueError:
        return ValueError(f"invalid JSONPath '{self.text}': {why} at position {self._at}", "write such as $.a.b[0]")

    def _take(self, text: str) -> bool:
        if not self.text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self._at)
        if found is not None:
            self._at = found.end()
        return found

    def _blanks(self) -> None:
        while self.text[self._at : self._at + 1].isspace():
            self._at += 1

    def _several(self, step: Step) -> Step:
        self.keys = None
        return step

    def _step(self) -> Step:
        if self._take(".."):
            inner = self._bracket() if self._take("[") else self._name()
            return self._several(lambda value: [one for each in _descendants(value, 0) for one in inner(each)])
        if self._take("["):
            return self._bracket()
        if not self._take(".") and self._at > 0 and self.text[self._at - 1] != "$":
            raise self._error("expected '.' or '['")
        return self._name()

    def _name(self) -> Step:
        if self._take("*"):
            return self._several(_children)
        name = self._match(_NAME)
        if name is None:
            raise self._error("expected a name")
        return self._key(name[0])

    def _key(self, key: str | int) -> Step:
        if self.keys is not None:
            self.keys.append(key)
        return lambda value: _at_key(value, key)

    def _bracket(self) -> Step:
        self._blanks()
        if self._take("*"):
            step = self._several(_children)
        elif self._take("?"):
            test = self._condition()
            step = self._several(lambda value: [each for each in _children(value) if test(each)])
        else:
            step = self._selectors()
        self._blanks()
        if not self._take("]"):
            raise self._error("expected ']'")
        return step

    def _selectors(self) -> Step:
        found: list[Step] = []
        while True:
            self._blanks()
            quote = self.text[self._at : self._at + 1]
            sliced = None if quote in ("'", '"') else self._match(_SLICE)
            if sliced is not None:
                start, stop, pace = (None if part is None else int(part) for part in sliced.groups())
                if pace == 0:
                    raise self._error("a slice of step 0")
                cut = slice(start, stop, pace)
                found.append(self._several(lambda value, cut=cut: value[cut] if isinstance(value, list) else []))  # type: ignore[misc]
            elif quote in ("'", '"'):
                found.append(self._key(self._quoted()))
            elif (index := self._match(_INDEX)) is not None:
                found.append(self._key(int(index[0])))
            else:
                raise self._error("expected a key in quotes, an index, a slice, '*' or a filter")
            self._blanks()
            if not self._take(","):
                break
        if len(found) == 1:
            return found[0]
        self.keys = None
        return lambda value: [one for step in found for one in step(value)]

    def _quoted(self) -> str:
        quote = self.text[self._at]
        self._at += 1
        parts = []
        while self._at < len(self.text) and self.text[self._at] != quote:
            if self.text[self._at] == "\\":
                self._at += 1
            parts.append(self.text[self._at : self._at + 1])
            self._at += 1
        if not self._take(quote):
            raise self._error("a text without end")
        return "".join(parts)

    # --- filters: || over && over comparisons, negations and parentheses

    def _condition(self) -> Test:
        tests = [self._conjunction()]
        while self._operator("||"):
            tests.append(self._conjunction())
        return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)

    def _conjunction(self) -> Test:
        tests = [self._comparison()]
        while self._operator("&&"):
            tests.append(self._comparison())
        return tests[0] if len(tests) == 1 else lambda value: all(test(value) for test in tests)

    def _operator(self, text: str) -> bool:
        self._blanks()
        return self._take(text)

    def _comparison(self) -> Test:
        self._blanks()
        if self._take("!"):
            test = self._comparison()
            return lambda value: not test(value)
        if self._take("("):
            test = self._condition()
            self._blanks()
            if not self._take(")"):
                raise self._error("expected ')'")
            return test
        left = self._operand()
        self._blanks()
        name = next((name for name in _COMPARISONS if self._take(name)), None)
        if name is None:
            return lambda value: left(value) is not MISSING
        right = self._operand()
        return lambda value: _holds(name, left(value), right(value))

    def _operand(self) -> Callable[[Any], Any]:
        self._blanks()
        if self._take("@"):
            start = self._at
            # The rest of the path ends where no step begins.
            outer, self.keys, steps = self.keys, [], []
            while self.text[self._at : self._at + 1] in (".", "["):
                steps.append(self._step())
            self.keys = outer
            inner = JsonPath("$" + self.text[start : self._at])
            return inner.find
        quote = self.text[self._at : self._at + 1]
        if quote in ("'", '"'):
            constant: Any = self._quoted()
        elif (number := self._match(_NUMBER)) is not None:
            constant = json.loads(number[0])
        else:
            for word, meant in (("true", True), ("false", False), ("null", None)):
                if self._take(word):
                    constant = meant
                    break
            else:
                raise self._error("expected @, a number, a text, true, false or null")
        return lambda _value: constant


def _holds(name: str, left: Any, right: Any) -> bool:
    if left is MISSING or right is MISSING:
        return name == "!=" and left is not right
    if name not in ("==", "!="):
        numbers = all(isinstance(each, (int, float)) and not isinstance(each, bool) for each in (left, right))
        if not numbers and not (isinstance(left, str) and isinstance(right, str)):
            return False
    return _COMPARISONS[name](left, right)


def _at_key(value: Any, key: str | int) -> list[Any]:
    if isinstance(key, int):
        return [value[key]] if isinstance(value, list) and -len(value) <= key < len(value) else []
    return [value[key]] if isinstance(value, dict) and key in value else []


def _children(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _descendants(value: Any, depth: int) -> Iterator[Any]:
    if depth > DEEPEST:
        raise ValueError(f"JSON is nested more than {DEEPEST} times")
    yield value
    for each in _children(value):
        yield from _descendants(each, depth + 1)
