"""The classes behind the names of the built-in connectors (:mod:`siddhi.library.connectors`), loaded at their first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from siddhi.extension.connectors import ConnectorMetadata

__all__ = ["class_of"]

_CLASSES: dict[tuple[str, str], str] = {
    ("source", "file"): "file.source.FileSource",
    ("source", "inMemory"): "sources.in_memory.InMemorySource",
    ("source", "tcp"): "sources.tcp.TcpSource",
    ("source mapper", "binary"): "mappers.binary.BinarySourceMapper",
    ("source mapper", "csv"): "mappers.csv_source.CsvSourceMapper",
    ("source mapper", "json"): "mappers.json_source.JsonSourceMapper",
    ("source mapper", "keyvalue"): "mappers.key_value.KeyValueSourceMapper",
    ("source mapper", "text"): "mappers.text_source.TextSourceMapper",
    ("source mapper", "passThrough"): "mappers.pass_through.PassThroughSourceMapper",
    ("source mapper", "xml"): "mappers.xml_source.XmlSourceMapper",
    ("sink", "file"): "file.sink.FileSink",
    ("sink", "stdout"): "sinks.stdout.StdoutSink",
    ("sink", "inMemory"): "sinks.in_memory.InMemorySink",
    ("sink", "tcp"): "sinks.tcp.TcpSink",
    ("sink", "log"): "sinks.log.LogSink",
    ("sink mapper", "binary"): "mappers.binary.BinarySinkMapper",
    ("sink mapper", "csv"): "mappers.csv_sink.CsvSinkMapper",
    ("sink mapper", "json"): "mappers.json_sink.JsonSinkMapper",
    ("sink mapper", "keyvalue"): "mappers.key_value.KeyValueSinkMapper",
    ("sink mapper", "text"): "mappers.text_sink.TextSinkMapper",
    ("sink mapper", "passThrough"): "mappers.pass_through.PassThroughSinkMapper",
    ("sink mapper", "xml"): "mappers.xml_sink.XmlSinkMapper",
    ("distribution strategy", "roundRobin"): "distribution.RoundRobinStrategy",
    ("distribution strategy", "partitioned"): "distribution.PartitionedStrategy",
    ("distribution strategy", "broadcast"): "distribution.BroadcastStrategy",
}


def class_of(metadata: ConnectorMetadata) -> Any:
    """Return the class of an extension: the user's, or the built-in one."""
    if metadata.native is None:
        return metadata.implementation
    module, _, name = _CLASSES[metadata.title, metadata.native].rpartition(".")
    return getattr(import_module(f"siddhi.io.{module}"), name)
