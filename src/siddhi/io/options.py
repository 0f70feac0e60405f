"""Options of annotations, and templates with attributes of events in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from siddhi.errors import SiddhiAppCreationError
from siddhi.event import Event

__all__ = ["DynamicOptions", "Option", "OptionHolder", "Template"]


class Template:
    """Text in which ``{{attribute}}`` stands for the text of an event's attribute.

    Args:
        parts: texts, and positions of attributes.
        texts: the text form of each attribute's values, by position.
    """

    def __init__(self, parts: Sequence[str | int], texts: Sequence[Callable[[object], str]] = ()) -> None:
        self._parts = tuple(parts)
        self._texts = tuple(texts)

    @property
    def is_static(self) -> bool:
        """Whether there is no attribute in it."""
        return not any(isinstance(part, int) for part in self._parts)

    def render(self, event: Event | None) -> object:
        """The text for an event. A template that is one attribute and nothing else gives the value itself."""
        if event is None:
            if not self.is_static:
                raise ValueError("a template with attributes needs an event")
            return "".join(map(str, self._parts))
        if len(self._parts) == 1 and isinstance(self._parts[0], int):
            return event.data[self._parts[0]]
        data = event.data
        return "".join(self._texts[part](data[part]) if isinstance(part, int) else part for part in self._parts)


@dataclass(frozen=True, slots=True)
class DynamicOptions:
    """What the values of dynamic options follow from: the first event of a payload, and the destination it goes to."""

    event: Event | None = None
    destination: int = 0


@dataclass(frozen=True, slots=True)
class Option:
    """One option. ``templates``: one, or one per destination of a sink that serves several."""

    name: str
    templates: tuple[Template, ...]

    @property
    def is_static(self) -> bool:
        """Whether its value is always the same."""
        return len(self.templates) == 1 and self.templates[0].is_static

    def value(self, options: DynamicOptions | None = None) -> object:
        """Its value for a payload; static options need no argument."""
        if options is None:
            return self.templates[0].render(None)
        return self.templates[options.destination if len(self.templates) > 1 else 0].render(options.event)


class OptionHolder:
    """The options of one annotation, found by name in any case.

    Args:
        owner: such as "sink 'inMemory'", for messages.
        options: in text order.
    """

    def __init__(self, owner: str, options: Iterable[Option] = ()) -> None:
        self._owner = owner
        self._options = {option.name.lower(): option for option in options}

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._options

    @property
    def names(self) -> tuple[str, ...]:
        """As written."""
        return tuple(option.name for option in self._options.values())

    @property
    def dynamic(self) -> tuple[Option, ...]:
        """Those whose value follows from the event."""
        return tuple(option for option in self._options.values() if not option.is_static)

    def option(self, name: str, default: str | None = None) -> Option:
        """The option of a name.

        Raises:
            SiddhiAppCreationError: it is not given, and there is no default.
        """
        found = self._options.get(name.lower())
        if found is not None:
            return found
        if default is None:
            raise SiddhiAppCreationError(f"{self._owner} requires the option '{name}'", code="E326")
        return Option(name, (Template((default,)),))

    def static(self, name: str, default: str | None = None) -> str:
        """The text of an option that is the same for all events.

        Raises:
            SiddhiAppCreationError: it is not given and there is no default, or attributes stand in it.
        """
        option = self.option(name, default)
        if not option.is_static:
            raise SiddhiAppCreationError(f"option '{name}' of {self._owner} can't contain attributes", code="E326")
        return str(option.value())

    def texts(self) -> Mapping[str, str]:
        """All static options by name."""
        return {option.name: str(option.value()) for option in self._options.values() if option.is_static}
