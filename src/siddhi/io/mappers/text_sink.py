"""``@map(type = 'text')`` of a sink: events are mapped to lines of ``name:value``, or fill a template."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from siddhi.errors import SiddhiAppCreationError
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.templates import only_template
from siddhi.io.mappers.text_source import DELIMITER
from siddhi.io.mappers.texts import checked, unescaped
from siddhi.io.options import OptionHolder, Template
from siddhi.io.sink import SinkListener, SinkMapper
from siddhi.types import AttributeType

__all__ = ["TextSinkMapper"]


class TextSinkMapper(SinkMapper):
    """Maps an event to lines of ``name:value``, or fills the template of ``@payload``, optionally one of Mustache."""

    output_event_classes: ClassVar[tuple[type, ...]] = (str,)

    def init(self, options: OptionHolder, payloads: Mapping[str, Template], context: ConnectorContext) -> None:
        newline = unescaped(options.static("new.line.character", "\n"))
        self._grouped = options.flag("event.grouping.enabled", default=False)
        self._delimiter = f"{newline}{unescaped(options.static('delimiter', DELIMITER))}{newline}"
        template = only_template("text", payloads)
        self._text_of: Callable[[Event], str]
        if options.flag("mustache.enabled", default=False):
            if template is None:
                raise SiddhiAppCreationError(
                    "mustache.enabled = 'true' needs a template", code="E326", hint="@payload('…')"
                )
            self._text_of = _mustache(str(template.parts[0]), context)
        elif template is not None:
            self._text_of = lambda event: str(template.render(event))
        else:
            self._text_of = _lines(context, f",{newline}")

    def map_event(self, event: Event, listener: SinkListener) -> None:
        """Publish the text of an event."""
        listener.publish(checked(self._text_of(event)))

    def map_events(self, events: Sequence[Event], listener: SinkListener) -> None:
        """Publish the text of each event; one payload with all of them if ``event.grouping.enabled`` is true."""
        if self._grouped:
            listener.publish(checked(self._delimiter.join(map(self._text_of, events))))
        else:
            for event in events:
                self.map_event(event, listener)


def _lines(context: ConnectorContext, separator: str) -> Callable[[Event], str]:
    writers = [
        (f"{name}:", _quoted if type_ is AttributeType.STRING else text_of)
        for (name, type_), text_of in zip(context.attributes, context.texts, strict=True)
    ]
    return lambda event: separator.join(
        name + write(value) for (name, write), value in zip(writers, event.data, strict=True)
    )


def _quoted(value: object) -> str:
    return "null" if value is None else f'"{value}"'


def _mustache(template: str, context: ConnectorContext) -> Callable[[Event], str]:
    try:
        import chevron
    except ImportError:
        raise SiddhiAppCreationError(
            "mustache.enabled = 'true' needs the package chevron", code="E326", hint="pip install 'siddhi[text]'"
        ) from None
    try:
        chevron.render(template, {})
    except (SyntaxError, chevron.ChevronError) as error:
        raise SiddhiAppCreationError(f"invalid Mustache template: {error}", code="E326") from None
    values = [
        (name, _mustache_value(type_, text_of))
        for (name, type_), text_of in zip(context.attributes, context.texts, strict=True)
    ]

    def render(event: Event) -> str:
        data = {name: value_of(value) for (name, value_of), value in zip(values, event.data, strict=True)}
        return str(chevron.render(template, data))

    return render


def _mustache_value(type_: AttributeType, text_of: Callable[[object], str]) -> Callable[[Any], object]:
    if type_ is AttributeType.BOOL:
        return lambda value: None if value is None else _Bool(value)
    if type_ in (AttributeType.FLOAT, AttributeType.DOUBLE):
        return lambda value: None if value is None else text_of(value)
    return _with_exact_texts


def _with_exact_texts(value: object) -> object:
    """Return a value with exact texts, down to the elements of lists and dicts: chevron would write the name of an enum."""
    if isinstance(value, str):
        return str.__str__(value)
    if type(value) is list:
        return [_with_exact_texts(item) for item in value]
    if type(value) is dict:
        return {key: _with_exact_texts(item) for key, item in value.items()}
    return value


class _Bool:
    """A truth value that is written as in Siddhi."""

    _CHEVRON_return_scope_when_falsy = True  # a variable of chevron's: a false value is written, not left out

    def __init__(self, value: bool) -> None:
        self._value = value

    def __bool__(self) -> bool:
        return self._value

    def __str__(self) -> str:
        return "true" if self._value else "false"
