"""Metadata of the mappers, one module each; their classes are those of :mod:`siddhi.io`."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata
from siddhi.library.mappers import avro, binary, csv, json, key_value, pass_through, protobuf, text, xml

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    *avro.CONNECTORS,
    *binary.CONNECTORS,
    *csv.CONNECTORS,
    *json.CONNECTORS,
    *key_value.CONNECTORS,
    *pass_through.CONNECTORS,
    *protobuf.CONNECTORS,
    *text.CONNECTORS,
    *xml.CONNECTORS,
)
