"""Metadata of the mapper ``text``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMapperMetadata, SourceMapperMetadata

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMapperMetadata(
        name="text",
        builtin="text",
        location="mappers.text_source.TextSourceMapper",
        options=(
            ConnectorOption("regex.*", "a regular expression, as in regex.A; @attributes names its groups: 'A[1]'"),
            ConnectorOption(
                "fail.on.missing.attribute",
                "whether an event without a value for an attribute is dropped; default: 'true'",
            ),
            ConnectorOption("event.grouping.enabled", "whether a payload has several events; default: 'false'"),
            ConnectorOption("delimiter", "the line between two events; default: '~~~~~~~~~~'"),
            ConnectorOption("new.line.character", "the line end; default: '\\n'"),
        ),
        description="Maps lines of name:value, or the groups of regular expressions, to an event.",
        example="@source(type = 'inMemory', topic = 'log', @map(type = 'text', regex.A = 'price of (\\\\w+) is ([0-9.]+)',\n"
        "    @attributes(symbol = 'A[1]', price = 'A[2]')))\n"
        "define stream Prices (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="text",
        builtin="text",
        location="mappers.text_sink.TextSinkMapper",
        plain_payload_if="mustache.enabled",
        options=(
            ConnectorOption("event.grouping.enabled", "whether a chunk becomes one payload; default: 'false'"),
            ConnectorOption("delimiter", "the line between two events; default: '~~~~~~~~~~'"),
            ConnectorOption("new.line.character", "the line end; default: '\\n'"),
            ConnectorOption("mustache.enabled", "whether @payload is a Mustache template; default: 'false'"),
        ),
        description="Maps an event to lines of name:value, or fills the template of @payload.",
        example="@sink(type = 'inMemory', topic = 'alerts', @map(type = 'text', @payload('{{symbol}} costs {{price}}')))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
