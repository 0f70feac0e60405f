"""Metadata of the mapper ``keyvalue``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMapperMetadata, SourceMapperMetadata

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMapperMetadata(
        name="keyvalue",
        builtin="keyvalue",
        location="mappers.key_value.KeyValueSourceMapper",
        options=(
            ConnectorOption(
                "fail.on.missing.attribute",
                "whether an event without a value for an attribute is dropped; default: 'true'",
            ),
            ConnectorOption(
                "implicit.cast.enable", "whether the text of a value of another type is converted; default: 'false'"
            ),
        ),
        description="Maps a dict to an event.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'keyvalue', implicit.cast.enable = 'true'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="keyvalue",
        builtin="keyvalue",
        location="mappers.key_value.KeyValueSinkMapper",
        description="Maps an event to a dict, or to the dict of @payload: values of attributes, and texts.",
        example="@sink(type = 'inMemory', topic = 'alerts',\n"
        "    @map(type = 'keyvalue', @payload(price = 'price', text = '{{symbol}} costs {{price}}')))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
