"""Metadata of the mapper ``avro``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMapperMetadata, SourceMapperMetadata
from siddhi.library.transports.security import CLIENT_TLS, java_stores

__all__ = ["CONNECTORS"]


_SCHEMA = (
    ConnectorOption(
        "schema.def", "the schema as JSON; default: 'schema.file', then 'schema.registry', then the stream"
    ),
    ConnectorOption("schema.file", "the file of the schema", place="file"),
    ConnectorOption("schema.registry", "URL of a schema registry", place="url"),
    ConnectorOption("schema.id", "id of the schema in the registry"),
    ConnectorOption("basic.auth.username", "user of the registry", secret=True),
    ConnectorOption("basic.auth.password", "password of the user", secret=True),
    *CLIENT_TLS,
    *java_stores("ssl.keystore.path", "ssl.keystore.password", "ssl.truststore.path", "ssl.truststore.password"),
)

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMapperMetadata(
        name="avro",
        builtin="avro",
        location="mappers.avro_source.AvroSourceMapper",
        packages=("fastavro", "httpx2"),
        extra="avro",
        options=(
            *_SCHEMA,
            ConnectorOption(
                "fail.on.missing.attribute",
                "with @attributes: whether a record without a value for an attribute is dropped; default: 'true'",
            ),
            ConnectorOption(
                "use.avro.deserializer", "whether payloads can be records, which are dicts; default: 'false'"
            ),
        ),
        description="Maps a record of Avro to an event, and an array of records to a chunk of events.",
        example="@source(type = 'inMemory', topic = 'trades', @map(type = 'avro', schema.file = '/etc/trades.avsc'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMapperMetadata(
        name="avro",
        builtin="avro",
        location="mappers.avro_sink.AvroSinkMapper",
        packages=("fastavro", "httpx2"),
        extra="avro",
        options=(
            *_SCHEMA,
            ConnectorOption(
                "use.avro.serializer",
                "whether a payload begins with the id of its schema in the registry; without a registry it is a dict; "
                "default: 'false'",
            ),
        ),
        description="Maps an event to a record of Avro, or to the record of @payload.",
        example="@sink(type = 'inMemory', topic = 'alerts', @map(type = 'avro', schema.file = '/etc/alerts.avsc'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
