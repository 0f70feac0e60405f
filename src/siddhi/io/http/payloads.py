"""Bodies of HTTP messages and payloads of mappers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.message import Message
from urllib.parse import parse_qsl, urlencode

from siddhi.errors import MappingFailedError

__all__ = ["content_type", "encode", "payload_reader"]

_CONTENT_TYPES = {
    "json": "application/json",
    "xml": "application/xml",
    "keyvalue": "application/x-www-form-urlencoded",
    "text": "text/plain",
    "csv": "text/csv",
    "avro": "avro/binary",
    "protobuf": "application/x-protobuf",
    "binary": "application/octet-stream",
}
_BYTES = frozenset({"json", "xml", "binary", "avro", "protobuf"})
"""Mappers that read bytes, and need no other line ends."""
_UTF8 = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


def content_type(mapper: str) -> str:
    """Return the content type of the payloads of a mapper."""
    return _CONTENT_TYPES.get(mapper.lower(), "text/plain")


def encode(payload: object) -> bytes:
    """Return the body of a payload: UTF-8, bytes as they are, and a form of a mapping.

    Raises:
        MappingFailedError: it is none of them.
    """
    if isinstance(payload, str):
        return payload.encode()
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return bytes(payload)
    if isinstance(payload, Mapping):
        texts = {str(key): _form_text(value) for key, value in payload.items() if value is not None}
        return urlencode(texts).encode()
    raise MappingFailedError(f"HTTP sends texts, bytes and forms, not {type(payload).__name__}")


def _form_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def payload_reader(mapper: str) -> Callable[[bytes, str | None], object]:
    """Return the function that makes the payload for a mapper from a body and its content type.

    It raises ValueError or LookupError if the body is not in its charset, or that is unknown.
    """
    mapper = mapper.lower()
    if mapper == "keyvalue":
        return _form
    if mapper in _BYTES:
        return _bytes if mapper in ("json", "xml") else lambda body, _: body
    return _text


def _charset(type_: str | None) -> str:
    if type_ is None or "charset" not in type_.lower():
        return "utf-8"
    message = Message()
    message["Content-Type"] = type_
    return str(message.get_param("charset", "utf-8")).lower()


def _bytes(body: bytes, type_: str | None) -> object:
    charset = _charset(type_)
    return body if charset in _UTF8 else body.decode(charset)


def _text(body: bytes, type_: str | None) -> object:
    text = body.decode(_charset(type_))
    return text.replace("\r\n", "\n") if "\r" in text else text


def _form(body: bytes, type_: str | None) -> object:
    return dict(parse_qsl(body.decode(_charset(type_)).lstrip("&"), keep_blank_values=True, strict_parsing=True))
