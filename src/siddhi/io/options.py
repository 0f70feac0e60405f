"""Options of annotations, and templates with attributes of events."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from siddhi.errors import SiddhiAppCreationError
from siddhi.event import Event
from siddhi.extension.local_files import local_path

__all__ = ["DynamicOptions", "Option", "OptionHolder", "Template", "pairs_of", "seconds_of"]

_DURATION = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*")
_UNITS = {
    1e-3: "ms milli millis millisec millisecond milliseconds",
    1.0: "s sec second seconds",
    60.0: "m min minute minutes",
    3600.0: "h hour hours",
    86400.0: "d day days",
}
_SECONDS = {name: seconds for seconds, names in _UNITS.items() for name in names.split()}
_LONGEST = 366 * 86400.0
_QUOTED_PAIR = re.compile(r"\s*'([^:']+):((?:[^']|'(?!\s*(?:,|$)))*)'\s*(?:,|$)")


def pairs_of(text: str) -> dict[str, str]:
    """Return names and values of a list such as ``'a:1','b:2'`` or ``a:1,b:2``; a value can contain colons.

    Quoted values can contain commas. Spaces around names and unquoted values are left out.

    Raises:
        ValueError: a part has no colon, or quotes are wrong.
    """
    found: dict[str, str] = {}
    if text.lstrip().startswith("'"):
        at = 0
        while at < len(text):
            match = _QUOTED_PAIR.match(text, at)
            if match is None:
                raise ValueError(f"expected 'name:value' at {text[at:]!r}")
            found[match[1].strip()] = match[2]
            at = match.end()
        return found
    for part in text.split(",") if text.strip() else ():
        name, colon, value = part.partition(":")
        if not colon or not name.strip():
            raise ValueError(f"expected name:value, got {part!r}")
        found[name.strip()] = value.strip()
    return found


def seconds_of(text: str, unit: str = "ms") -> float:
    """Return the seconds of a duration: ``5 sec``, or a number of a unit, which is ``ms`` or ``sec``.

    Raises:
        ValueError: it is none, or longer than a year.
    """
    found = _DURATION.fullmatch(text)
    seconds = math.inf if found is None else float(found[1]) * _SECONDS.get(found[2].lower() or unit, math.inf)
    if seconds > _LONGEST:
        raise ValueError(f"expected a duration such as '5 sec', or a number of {'ms' if unit == 'ms' else 'seconds'}")
    return seconds


class Template:
    """A text with placeholders ``{{attribute}}`` for attributes of an event, or the value of one attribute.

    Args:
        parts: literal texts, and positions of attributes.
        texts: functions that format the values of each attribute, by position.
        is_value: the only part is the position of the attribute whose value, not its text, is the result.
    """

    def __init__(
        self, parts: Sequence[str | int], texts: Sequence[Callable[[object], str]] = (), *, is_value: bool = False
    ) -> None:
        self._parts = tuple(parts)
        self._texts = tuple(texts)
        self.is_value = is_value

    @property
    def parts(self) -> tuple[str | int, ...]:
        """Literal texts, and positions of attributes."""
        return self._parts

    @property
    def is_static(self) -> bool:
        """Whether it has no placeholders."""
        return not any(isinstance(part, int) for part in self._parts)

    def render(self, event: Event | None) -> object:
        """Return the text for an event, or the value of the attribute."""
        if event is None:
            if not self.is_static:
                raise ValueError("a template with attributes needs an event")
            return "".join(map(str, self._parts))
        data = event.data
        if self.is_value and isinstance(position := self._parts[0], int):
            return data[position]
        return "".join(self._texts[part](data[part]) if isinstance(part, int) else part for part in self._parts)


@dataclass(frozen=True, slots=True)
class DynamicOptions:
    """Input of dynamic options: the first event of a payload, and its destination.

    ``number`` counts the payloads of an :class:`~siddhi.io.AsyncSink`, from 1; it is the same in each attempt to publish one.
    """

    event: Event | None = None
    destination: int = 0
    number: int = 0


@dataclass(frozen=True, slots=True)
class Option:
    """One option. ``templates`` has one template, or one per destination of a distributed sink."""

    name: str
    templates: tuple[Template, ...]

    @property
    def is_static(self) -> bool:
        """Whether its value is always the same."""
        return len(self.templates) == 1 and self.templates[0].is_static

    def value(self, options: DynamicOptions | None = None) -> object:
        """Return its value for a payload; static options need no argument."""
        if options is None:
            return self.templates[0].render(None)
        return self.templates[options.destination if len(self.templates) > 1 else 0].render(options.event)


class OptionHolder:
    """The options of one annotation; names are case-insensitive.

    Args:
        owner: owner for messages, such as "sink 'inMemory'".
        options: options in text order.
    """

    def __init__(self, owner: str, options: Iterable[Option] = ()) -> None:
        self._owner = owner
        self._options = {option.name.lower(): option for option in options}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._options

    @property
    def names(self) -> tuple[str, ...]:
        """Names as written."""
        return tuple(option.name for option in self._options.values())

    @property
    def dynamic(self) -> tuple[Option, ...]:
        """The options whose value depends on the event."""
        return tuple(option for option in self._options.values() if not option.is_static)

    def option(self, name: str, default: str | None = None) -> Option:
        """Return the option of a name.

        Raises:
            SiddhiAppCreationError: the option is missing and has no default.
        """
        found = self._options.get(name.lower())
        if found is not None:
            return found
        if default is None:
            raise SiddhiAppCreationError(f"{self._owner} requires the option '{name}'", code="E326")
        return Option(name, (Template((default,)),))

    def static(self, name: str, default: str | None = None) -> str:
        """Return the text of a static option.

        Raises:
            SiddhiAppCreationError: the option is missing and has no default, or it has placeholders.
        """
        option = self.option(name, default)
        if not option.is_static:
            raise SiddhiAppCreationError(f"option '{name}' of {self._owner} can't contain attributes", code="E326")
        return str(option.value())

    def flag(self, name: str, *, default: bool) -> bool:
        """Return whether a static option is 'true' (any case).

        Raises:
            SiddhiAppCreationError: it is neither 'true' nor 'false'.
        """
        text = self.static(name, str(default)).strip().lower()
        if text not in ("true", "false"):
            raise SiddhiAppCreationError(
                f"invalid option '{name}' of {self._owner}: '{text}'; expected 'true' or 'false'", code="E326"
            )
        return text == "true"

    def invalid(self, name: str, expected: str, *, shown: bool = True) -> SiddhiAppCreationError:
        """Return the error for an option with an invalid value.

        Args:
            name: the option.
            expected: what is expected, such as "a number of seconds".
            shown: whether the message quotes the value; not for secrets.
        """
        value = f": '{self.static(name)}'" if shown and name in self else ""
        return SiddhiAppCreationError(
            f"invalid option '{name}' of {self._owner}{value}", code="E326", hint=f"expected {expected}"
        )

    def optional(self, name: str) -> str | None:
        """Return the text of a static option; None: it is not set."""
        return self.static(name) if name in self else None

    def choice(self, name: str, choices: Sequence[str], default: str | None = None) -> str:
        """Return which of some texts a static option is; case is ignored.

        Raises:
            SiddhiAppCreationError: it is none of them, or missing and has no default.
        """
        text = self.static(name, default).strip().lower()
        for choice in choices:
            if choice.lower() == text:
                return choice
        raise self.invalid(name, f"one of {', '.join(choices)}")

    def integer(self, name: str, default: int | None = None, *, least: int = 0, most: int = 2**63 - 1) -> int:
        """Return the value of a static option that is an integer between two limits.

        Raises:
            SiddhiAppCreationError: it is not, or missing and has no default.
        """
        text = self.static(name, None if default is None else str(default)).strip()
        if re.fullmatch(r"-?[0-9]{1,19}", text) and least <= int(text) <= most:
            return int(text)
        raise self.invalid(name, f"an integer from {least}" + (f" to {most}" if most < 2**63 - 1 else ""))

    def number(self, name: str, default: float | None = None, *, least: float = 0.0) -> float:
        """Return the value of a static option that is a number of at least ``least``.

        Raises:
            SiddhiAppCreationError: it is not, or missing and has no default.
        """
        text = self.static(name, None if default is None else repr(default)).strip()
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if least <= value < math.inf:
            return value
        raise self.invalid(name, f"a number from {least:g}")

    def duration(
        self,
        name: str,
        default: str | None = None,
        *,
        unit: str = "ms",
        least: float = 0.0,
        most: float = _LONGEST,
        whole: bool = False,
    ) -> float:
        """Return the seconds of a static option that is a duration: ``'5 sec'``, or a number of a unit.

        Args:
            name: the option.
            default: its default, such as ``'5 sec'``.
            unit: unit of a plain number: ``ms``, or ``sec`` where Siddhi on the JVM has seconds.
            least: the least value in seconds.
            most: the largest value in seconds.
            whole: whether only whole seconds are accepted.

        Raises:
            SiddhiAppCreationError: it is not a duration, or missing and has no default.
        """
        try:
            seconds = seconds_of(self.static(name, default), unit)
        except ValueError:
            pass
        else:
            if least <= seconds <= most and (not whole or seconds.is_integer()):
                return seconds
        expected = f"a duration such as '5 sec', or a number of {'ms' if unit == 'ms' else 'seconds'}"
        if least > 0.0 or most < _LONGEST or whole:
            expected += (
                f", from {least:g}{'' if most == _LONGEST else f' to {most:g}'} seconds{', without fractions' * whole}"
            )
        raise self.invalid(name, expected)

    def without_effect(self, names: Iterable[str], expected: str) -> None:
        """Refuse options that have no effect beside the other ones.

        Args:
            names: the options.
            expected: what they need to have one, such as "mode = 'line'".

        Raises:
            SiddhiAppCreationError: one of them is set.
        """
        for name in names:
            if name in self:
                raise self.invalid(name, f"{expected} beside it: it has no effect otherwise", shown=False)

    def pairs(self, name: str) -> dict[str, str]:
        """Return the texts of a static option ``'a:1','b:2'`` or ``a:1,b:2``, by name; see :func:`pairs_of`.

        Raises:
            SiddhiAppCreationError: it is not a list of names and texts.
        """
        try:
            return pairs_of(self.static(name, ""))
        except ValueError:
            raise self.invalid(name, "names and values such as 'a:1','b:2'") from None

    def secret(self, name: str) -> str | None:
        """Return the secret in a static option: the text itself, or what ``env:NAME`` or ``file:/path`` refers to.

        None: the option is not set. The line end after the secret in a file is left out.

        Raises:
            SiddhiAppCreationError: the environment variable is not set, or the file can't be read.
        """
        text = self.optional(name)
        if text is None:
            return None
        kind, colon, place = text.partition(":")
        if colon and kind == "env":
            if place not in os.environ:
                raise self.invalid(name, f"an environment variable that is set; '{place}' is not", shown=False)
            return os.environ[place]
        if colon and kind == "file":
            path = local_path(text)
            try:
                return Path(path or place).read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, UnicodeDecodeError) as error:
                expected = f"a file that can be read: {type(error).__name__} of '{place}'"
                raise self.invalid(name, expected, shown=False) from None
        return text

    def texts(self) -> Mapping[str, str]:
        """Return all static options by name."""
        return {option.name: str(option.value()) for option in self._options.values() if option.is_static}
