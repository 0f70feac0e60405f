"""``@map(type = 'keyvalue')``: payloads are dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timezone
from decimal import Decimal
from operator import itemgetter
from typing import Any, ClassVar

from siddhi.errors import EventError, MappingFailedError, shown
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder, Template
from siddhi.io.sink import SinkListener, SinkMapper
from siddhi.io.source import AttributeMapping, InputEventHandler, SourceMapper
from siddhi.types import AttributeType

__all__ = ["KeyValueSinkMapper", "KeyValueSourceMapper"]

_CLASSES = {
    AttributeType.STRING: str,
    AttributeType.BOOL: bool,
    AttributeType.INT: int,
    AttributeType.LONG: int,
    AttributeType.FLOAT: float,
    AttributeType.DOUBLE: float,
}
_LIMITS = {AttributeType.INT: 2**31, AttributeType.LONG: 2**63}

Convert = Callable[[Any], object]


class KeyValueSourceMapper(SourceMapper):
    """Maps a dict to an event. The keys are the names of the attributes, or those that ``@attributes`` gives."""

    supported_input_event_classes: ClassVar[tuple[type, ...]] = (Mapping,)

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        self._strict = options.flag("fail.on.missing.attribute", default=True)
        casts = options.flag("implicit.cast.enable", default=False)
        self.allow_null_in_transport_properties = not self._strict
        mapped = {mapping.position: mapping.mapping for mapping in mappings}
        self._fields = [
            (mapped.get(position) if mappings else name, name, type_, _converter(type_, text_reader, casts=casts))
            for position, ((name, type_), text_reader) in enumerate(
                zip(context.attributes, context.readers, strict=True)
            )
        ]
        # Values that have the attributes' types already are a row.
        keys = [key for key, *_ in self._fields]
        classes = tuple(_CLASSES.get(type_) for _, type_ in context.attributes)
        is_usual = len(keys) > 1 and None not in keys and None not in classes
        self._classes = classes if is_usual else ()
        self._values: Callable[[Any], tuple[Any, ...]] = itemgetter(*keys) if is_usual else lambda _: (None,)

    def map(self, payload: Any, handler: InputEventHandler) -> None:
        """Map a payload.

        Raises:
            MappingFailedError: it is not a dict, or a value is missing or has another type than its attribute.
        """
        if not isinstance(payload, Mapping):
            raise MappingFailedError(f"expected a dict, got {type(payload).__name__}")
        try:
            usual = self._values(payload)
        except KeyError:
            usual = ()
        if usual and tuple(map(type, usual)) == self._classes:
            try:
                handler.send_row(usual)
            except EventError:  # a number is out of range: found again below
                pass
            else:
                return
        row: list[object] = []
        for key, name, type_, convert in self._fields:
            value = None if key is None else payload.get(key)
            if value is None:
                if self._strict and key is not None:
                    raise MappingFailedError(f"attribute '{name}': the payload has no value for the key '{key}'")
                row.append(None)
                continue
            try:
                row.append(convert(value))
            except (ValueError, OverflowError):
                raise MappingFailedError(
                    f"attribute '{name}': {shown(value)} ({type(value).__name__}) is not {_named(type_)}"
                ) from None
        handler.send_row(tuple(row))


class KeyValueSinkMapper(SinkMapper):
    """Maps an event to a dict of its values, or of the values and texts of ``@payload``."""

    output_event_classes: ClassVar[tuple[type, ...]] = (dict,)

    def init(self, options: OptionHolder, payloads: Mapping[str, Template], context: ConnectorContext) -> None:
        self._names = [name for name, _ in context.attributes]
        self._templates = [(key or None, template) for key, template in payloads.items()]

    def map_event(self, event: Event, listener: SinkListener) -> None:
        """Publish the dict of an event."""
        if self._templates:
            listener.publish({key: template.render(event) for key, template in self._templates})
        else:
            listener.publish(dict(zip(self._names, event.data, strict=True)))


def _converter(type_: AttributeType, text_reader: Callable[[str], object], *, casts: bool) -> Convert:
    """Return the conversion of values to a type; it raises ValueError.

    Args:
        type_: the type.
        text_reader: converts a text to the type.
        casts: whether the text of a value that has another type is converted.
    """
    if type_ is AttributeType.OBJECT:
        return lambda value: value
    exact = _string if type_ is AttributeType.STRING else _number(type_)
    if not casts or type_ is AttributeType.STRING:
        return exact
    if type_ is AttributeType.BOOL:
        return lambda value: value if isinstance(value, bool) else str(value).lower() == "true"

    def convert(value: Any) -> object:
        try:
            return exact(value)
        except ValueError:
            return text_reader(value if isinstance(value, str) else str(value))

    return convert


def _string(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (Decimal, date, time)):
        return str(value)
    raise ValueError


def _number(type_: AttributeType) -> Convert:
    """Return the conversion of values that have the type, or are Decimals or times, to numbers of a type, or to a bool."""
    if type_ is AttributeType.BOOL:
        return _bool
    if type_ in (AttributeType.FLOAT, AttributeType.DOUBLE):
        return _float
    limit, takes_times = _LIMITS[type_], type_ is AttributeType.LONG

    def integer(value: Any) -> int:
        if isinstance(value, datetime) and takes_times:
            value = _milliseconds(value)
        elif isinstance(value, Decimal):
            value = int(value) if value.is_finite() and -limit - 1 < value < limit else None
        if not isinstance(value, int) or isinstance(value, bool) or not -limit <= value < limit:
            raise ValueError
        return value

    return integer


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _float(value: Any) -> float:
    if not isinstance(value, (float, Decimal)):
        raise ValueError
    return float(value)


def _milliseconds(value: datetime) -> int:
    """Return the time since the epoch; a datetime without a time zone is local."""
    since = value.astimezone(timezone.utc) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (since.days * 86_400_000_000 + since.seconds * 1_000_000 + since.microseconds) // 1000


def _named(type_: AttributeType) -> str:
    return f"an {type_.value}" if type_ is AttributeType.INT else f"a {type_.value}"
