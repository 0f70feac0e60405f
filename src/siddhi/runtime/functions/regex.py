"""The functions with regular expressions, of the namespaces ``regex`` and ``str``."""

from __future__ import annotations

from collections.abc import Iterator

from siddhi._core.expression.executor import Executor
from siddhi._core.function.regex import Regex, split
from siddhi._core.function.regex import make as make_regex
from siddhi._core.function.text import make as make_text
from siddhi._core.record.event import TypeCode
from siddhi.event import Event
from siddhi.extension.processors import ProcessorContext
from siddhi.library.namespaces.regex_syntax import compile_pattern, replacement_parts

__all__ = ["Tokenize", "make", "make_str"]

_OF_STR = ("regexp", "replaceAll", "replaceFirst", "split")


def make(name: str, arguments: tuple[Executor, ...], _type: int) -> Executor:
    """Make the executor of a function of ``regex``."""
    return make_regex(f"regex:{name}", arguments, compile_pattern, replacement_parts)


def make_str(name: str, arguments: tuple[Executor, ...], type_: int) -> Executor:
    """Make the executor of a function of ``str``."""
    if name in _OF_STR or (name == "substr" and arguments[1].type == TypeCode.STRING):
        return make_regex(f"str:{name}", arguments, compile_pattern, replacement_parts)
    return make_text(name, arguments, type_)


class Tokenize:
    """``str:tokenize``: an event for each part of a text between the matches of a regular expression."""

    def __init__(self, _context: ProcessorContext) -> None:
        self._source: str | None = None
        self._regex: Regex | None = None

    def snapshot(self) -> None:
        """Return no state: events do not depend on each other."""

    def restore(self, _state: None) -> None:
        pass

    def process(
        self, event: Event, text: str | None, regex: str | None, is_distinct: bool | None = False
    ) -> Iterator[Event]:
        if text is None or regex is None:
            raise ValueError(f"str:tokenize() got null as {'text' if text is None else 'regular expression'}")
        if self._regex is None or regex != self._source:
            self._source, self._regex = regex, Regex(compile_pattern(regex))
        parts = split(self._regex, text)
        for part in dict.fromkeys(parts) if is_distinct else parts:
            yield Event(event.timestamp, (*event.data, part), event.is_expired)
