"""Options of annotations, and templates with attributes of events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from siddhi.errors import SiddhiAppCreationError
from siddhi.event import Event

__all__ = ["DynamicOptions", "Option", "OptionHolder", "Template"]


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
    """Input of dynamic options: the first event of a payload, and its destination."""

    event: Event | None = None
    destination: int = 0


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

    def texts(self) -> Mapping[str, str]:
        """Return all static options by name."""
        return {option.name: str(option.value()) for option in self._options.values() if option.is_static}
