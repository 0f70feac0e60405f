"""Metadata of the mapper ``json``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMapperMetadata, SourceMapperMetadata

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMapperMetadata(
        name="json",
        builtin="json",
        location="mappers.json_source.JsonSourceMapper",
        options=(
            ConnectorOption(
                "lenient",
                "'true': without @attributes, the text of a value counts in a single object, too: \"1\" is a double, and "
                "unknown keys are ignored; default: 'false'",
            ),
            ConnectorOption("enclosing.element", "JSONPath of the event or list of events; default: '$'"),
            ConnectorOption(
                "fail.on.missing.attribute",
                "whether an event without a value for an attribute is dropped; default: 'true'",
            ),
            ConnectorOption(
                "event.grouping.enabled", "whether the events of a list enter the app as one chunk; default: 'true'"
            ),
        ),
        description="Maps a JSON object to an event and a list of objects to a chunk of events.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'json', enclosing.element = '$.trades',\n"
        "    @attributes(symbol = 'stock.symbol', price = 'stock.price')))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="json",
        builtin="json",
        location="mappers.json_sink.JsonSinkMapper",
        options=(
            ConnectorOption("enclosing.element", "keys around the event, such as '$.portfolio.trade'; default: none"),
            ConnectorOption("event.grouping.enabled", "whether a chunk becomes one list; default: 'true'"),
            ConnectorOption(
                "enable.null.attribute.value", "whether null is written as null, not as \"undefined\"; default: 'false'"
            ),
            ConnectorOption("validate.json", "whether the payload of a template must be JSON; default: 'false'"),
        ),
        description="Maps an event to a JSON object, or fills the template of @payload.",
        example="@sink(type = 'inMemory', topic = 'alerts', @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
