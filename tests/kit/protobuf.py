"""Message classes of Protocol Buffers, made without protoc: the file of ``trade.proto``."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["descriptor_set", "message_classes", "module", "write_set"]

# message name -> (field, number, type, of which message or enum, label or "optional")
_FIELDS: dict[str, list[tuple[str, int, str, str, str]]] = {
    "Stock": [("symbol", 1, "string", "", ""), ("name", 2, "string", "", "optional")],
    "Trade": [
        ("stock", 1, "message", ".t.Stock", ""),
        ("price", 2, "float", "", ""),
        ("volume", 3, "int64", "", ""),
        ("side", 4, "enum", ".t.Side", ""),
        ("lots", 5, "int32", "", "repeated"),
        ("counts", 6, "message", ".t.Trade.CountsEntry", "repeated"),
        ("big", 7, "uint64", "", ""),
        ("small", 8, "uint32", "", ""),
        ("raw", 9, "bytes", "", ""),
        ("others", 10, "message", ".t.Stock", "repeated"),
        ("sides", 11, "enum", ".t.Side", "repeated"),
        ("stocks", 12, "message", ".t.Trade.StocksEntry", "repeated"),
        ("time", 13, "message", ".google.protobuf.Timestamp", ""),
    ],
    "Six": [
        ("s", 1, "string", "", "optional"),
        ("i", 2, "sint32", "", "optional"),
        ("l", 3, "sint64", "", "optional"),
        ("f", 4, "float", "", "optional"),
        ("d", 5, "double", "", "optional"),
        ("b", 6, "bool", "", "optional"),
    ],
    "Plain": [("s", 1, "string", "", ""), ("i", 2, "int32", "", ""), ("b", 3, "bool", "", "")],
}
_MAPS = {"CountsEntry": ("int32", ""), "StocksEntry": ("message", ".t.Stock")}


def descriptor_set(*, whole: bool = True) -> bytes:
    """Return what ``protoc --descriptor_set_out`` writes for the file, without the well-known types that it imports."""
    from google.protobuf import descriptor_pb2

    files = descriptor_pb2.FileDescriptorSet()
    file = files.file.add(name="trade.proto", package="t", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto" if whole else "elsewhere.proto")
    side = file.enum_type.add(name="Side")
    for number, name in enumerate(("NONE", "BUY", "SELL")):
        side.value.add(name=name, number=number)
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for field in fields:
            _add(message, *field)
        if name == "Trade":
            for entry, (type_, of) in _MAPS.items():
                nested = message.nested_type.add(name=entry)
                nested.options.map_entry = True
                _add(nested, "key", 1, "string", "", "")
                _add(nested, "value", 2, type_, of, "")
    return bytes(files.SerializeToString())


def _add(message: Any, name: str, number: int, type_: str, of: str, label: str) -> None:
    from google.protobuf.descriptor_pb2 import FieldDescriptorProto

    field = message.field.add(name=name, number=number, type_name=of or None)
    field.type = FieldDescriptorProto.Type.Value(f"TYPE_{type_.upper()}")
    field.label = FieldDescriptorProto.LABEL_REPEATED if label == "repeated" else FieldDescriptorProto.LABEL_OPTIONAL
    if label == "optional":
        field.proto3_optional = True
        field.oneof_index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{name}")


def message_classes() -> dict[str, Any]:
    """Return the classes by name of the message."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(descriptor_pb2.FileDescriptorSet.FromString(descriptor_set()).file[0])
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"t.{name}")) for name in _FIELDS}


@contextmanager
def module(name: str) -> Iterator[dict[str, Any]]:
    """Offer the classes in a module, as one that protoc generated."""
    made, classes = ModuleType(name), message_classes()
    vars(made).update(classes)
    sys.modules[name] = made
    try:
        yield classes
    finally:
        del sys.modules[name]


def write_set(folder: Path, *, whole: bool = True) -> Path:
    """Write the file of descriptors."""
    path = folder / "trade.bin"
    path.write_bytes(descriptor_set(whole=whole))
    return path
