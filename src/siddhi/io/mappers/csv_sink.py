"""``@map(type = 'csv')`` of a sink: events are mapped to CSV texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from siddhi.errors import SiddhiAppCreationError, did_you_mean
from siddhi.event import Event
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.csv_records import column_of, format_of
from siddhi.io.mappers.texts import checked
from siddhi.io.options import OptionHolder, Template
from siddhi.io.sink import SinkListener, SinkMapper
from siddhi.types import AttributeType

__all__ = ["CsvSinkMapper"]

_UNQUOTED = frozenset("0123456789+-.EINTUafinrstuyle")  # characters of numbers and truth values


class CsvSinkMapper(SinkMapper):
    """Maps an event to a record: its attributes in their order, or the columns that ``@payload`` gives them."""

    output_event_classes: ClassVar[tuple[type, ...]] = (str,)

    def init(self, options: OptionHolder, payloads: Mapping[str, Template], context: ConnectorContext) -> None:
        self._grouped = options.flag("event.grouping.enabled", default=False)
        self._null = options.static("null.text", "null")
        names = [name for name, _ in context.attributes]
        positions = _positions(payloads, names) if payloads else list(range(len(names)))
        format_ = format_of(options)
        self._delimiter, field = format_.delimiter, format_.field_writer()
        self._header: str | None = None  # to be published
        self._whole_header: str | None = None
        if options.flag("header", default=False):
            self._header = self._whole_header = format_.record_writer()(names[position] for position in positions)
        needs_quotes = not _UNQUOTED.isdisjoint(self._delimiter)
        self._fields = [
            (position, self._writer(context.attributes[position][1], context.texts[position], field, needs_quotes))
            for position in positions
        ]

    def _writer(
        self,
        type_: AttributeType,
        text_of: Callable[[object], str],
        field: Callable[[str], str],
        needs_quotes: bool,
    ) -> Callable[[object], str]:
        """Return the function that writes values of a type; numbers need quotes only if the delimiter is a part of one."""
        if type_ is AttributeType.STRING:
            return field  # type: ignore[return-value]
        if type_ is AttributeType.OBJECT or needs_quotes:
            return lambda value: field(text_of(value))
        return text_of

    def map_event(self, event: Event, listener: SinkListener) -> None:
        """Publish the record of an event; before the first one, the header."""
        self._publish_header(listener)
        listener.publish(checked(self._record_of(event)))

    def map_events(self, events: Sequence[Event], listener: SinkListener) -> None:
        """Publish each record by itself, or all in one payload if ``event.grouping.enabled`` is true."""
        self._publish_header(listener)
        if self._grouped:
            listener.publish(checked("".join(map(self._record_of, events))))
        else:
            for event in events:
                listener.publish(checked(self._record_of(event)))

    def take_header(self) -> object:
        header, self._header, self._whole_header = self._header, None, None
        return header

    def begin_replay(self) -> None:
        self._header = None

    def snapshot(self) -> object:
        return {"header": self._header is not None}

    def restore(self, state: Any) -> None:
        self._header = self._whole_header if state["header"] else None

    def _publish_header(self, listener: SinkListener) -> None:
        if self._header is not None:
            header, self._header = self._header, None
            listener.publish(header)

    def _record_of(self, event: Event) -> str:
        data, null = event.data, self._null
        fields = [null if data[position] is None else write(data[position]) for position, write in self._fields]
        if not fields[0]:
            fields[0] = '""'
        return self._delimiter.join(fields) + "\n"


def _positions(payloads: Mapping[str, Template], names: Sequence[str]) -> list[int]:
    """Return the position of the attribute of each column.

    Raises:
        SiddhiAppCreationError: an attribute is unknown, or the columns are not the numbers from 0 without a gap.
    """
    found: dict[int, int] = {}
    for name, template in payloads.items():
        if name not in names:
            what = (
                f"unknown attribute '{name}' in @payload{did_you_mean(name, names)}"
                if name
                else "@payload has no names"
            )
            raise SiddhiAppCreationError(
                f"sink mapper 'csv': {what}", code="E326", hint="write @payload(<attribute> = '<column>', ...)"
            )
        column = column_of("".join(map(str, template.parts)), f"attribute '{name}' in @payload")
        if column in found:
            raise SiddhiAppCreationError(f"sink mapper 'csv': duplicate column {column} in @payload", code="E326")
        found[column] = names.index(name)
    if sorted(found) != list(range(len(found))):
        raise SiddhiAppCreationError(
            f"sink mapper 'csv': the columns in @payload are {', '.join(map(str, sorted(found)))}; expected 0 to "
            f"{len(found) - 1}",
            code="E326",
        )
    return [found[column] for column in range(len(found))]
