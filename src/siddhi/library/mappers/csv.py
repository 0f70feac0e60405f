"""Metadata of the mapper ``csv``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMapperMetadata, SourceMapperMetadata

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMapperMetadata(
        name="csv",
        builtin="csv",
        location="mappers.csv_source.CsvSourceMapper",
        options=(
            ConnectorOption("delimiter", "one or more characters between the columns; default: ','"),
            ConnectorOption("header", "whether the first record of the first payload is skipped; default: 'false'"),
            ConnectorOption("header.present", "the same as 'header'"),
            ConnectorOption(
                "fail.on.unknown.attribute",
                "whether a record with a missing column, or a text that is not a number, is dropped; otherwise the value is "
                "null; default: 'true'",
            ),
            ConnectorOption("event.grouping.enabled", "has no effect: the records of a payload are one chunk"),
            ConnectorOption("null.text", "a column with this text is null; default: none"),
        ),
        description="Maps each record of a CSV text to an event.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'csv', @attributes(symbol = '2', price = '0')))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="csv",
        builtin="csv",
        location="mappers.csv_sink.CsvSinkMapper",
        options=(
            ConnectorOption("delimiter", "one or more characters between the columns; default: ','"),
            ConnectorOption("header", "whether the names are published before the first event; default: 'false'"),
            ConnectorOption(
                "event.grouping.enabled", "whether the events of a chunk become one payload; default: 'false'"
            ),
            ConnectorOption("null.text", "the text of null; default: 'null'"),
        ),
        description="Maps an event to a record of CSV.",
        example="@sink(type = 'inMemory', topic = 'alerts', @map(type = 'csv', @payload(price = '0', symbol = '1')))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
