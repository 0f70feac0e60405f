"""``@map(type = 'csv')`` of a source: records of CSV texts are mapped to events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from siddhi.errors import MappingFailedError, shown
from siddhi.io.connector import ConnectorContext
from siddhi.io.mappers.csv_records import column_of, format_of
from siddhi.io.mappers.texts import decoded
from siddhi.io.options import OptionHolder
from siddhi.io.source import AttributeMapping, InputEventHandler, SourceMapper

__all__ = ["CsvSourceMapper"]


class CsvSourceMapper(SourceMapper):
    """Maps each record to an event, and the records of a payload to a chunk.

    Without ``@attributes`` the columns are the attributes in their order; with ``@attributes`` each names its column.
    """

    supported_input_event_classes: ClassVar[tuple[type, ...]] = (str, bytes, bytearray, memoryview)

    def init(self, options: OptionHolder, mappings: tuple[AttributeMapping, ...], context: ConnectorContext) -> None:
        strict = options.flag("fail.on.unknown.attribute", default=True)
        options.flag("event.grouping.enabled", default=False)  # the records of a payload are a chunk in any case
        self._skips_header = options.flag("header" if "header" in options else "header.present", default=False)
        self.allow_null_in_transport_properties = not strict
        null = options.static("null.text") if "null.text" in options else None
        columns = [-1] * len(context.attributes) if mappings else list(range(len(context.attributes)))
        for mapping in mappings:
            columns[mapping.position] = column_of(mapping.mapping, f"attribute '{mapping.name}'")
        self._columns = list(zip(columns, context.attributes, context.readers, strict=True))
        self._null = null
        format_ = format_of(options)
        self._records = format_.reader()
        self._header_end = format_.first_record_end()
        self._scanner = format_.line_scanner()
        self._write = format_.record_writer()
        self._rows = context.record_reader(columns, null=null, lenient=not strict).rows

    def line_scanner(self) -> Callable[[bytes, bool], bool | None]:
        return self._scanner

    def map(self, payload: Any, handler: InputEventHandler) -> None:
        """Map a payload.

        Raises:
            MappingFailedError: the payload is not CSV, or its only record can't be mapped. Of several records, those that
                can't be mapped are reported to the handler after the others are sent.
        """
        text = decoded(payload)
        if not self._skips_header:
            self._map(text, handler)
            return
        end = self._header_end(text)
        if not end:
            return  # there are only empty lines
        self._skips_header = False
        text = text[end:]
        try:
            self._map(text, handler)
        except MappingFailedError as error:
            handler.fail(error, text)  # without the header: a replay expects none

    def _map(self, text: str, handler: InputEventHandler) -> None:
        records = self._records(text)
        try:
            rows = self._rows(records)
        except (IndexError, ValueError):
            if len(records) == 1:
                raise self._error(records[0]) from None
        else:
            handler.send_rows(rows)
            return
        rows, failed = [], []
        for record in records:
            try:
                rows += self._rows([record])
            except (IndexError, ValueError):
                failed.append(record)
        handler.send_rows(rows)
        for record in failed:
            handler.fail(self._error(record), self._write(record))

    def begin_replay(self) -> None:
        self._skips_header = False

    def snapshot(self) -> object:
        return {"header": self._skips_header}

    def restore(self, state: Any) -> None:
        self._skips_header = state["header"]

    def _error(self, record: list[str]) -> MappingFailedError:
        """Return the error of a record that can't be mapped."""
        for column, (name, _), read in self._columns:
            if column >= len(record):
                return MappingFailedError(
                    f"attribute '{name}': the record has {len(record)} columns, expected at least {column + 1}"
                )
            try:
                if column >= 0 and record[column] != self._null:
                    read(record[column])
            except ValueError as error:
                return MappingFailedError(f"attribute '{name}': {error}")
        return MappingFailedError(f"the record can't be mapped: {shown(record)}")
