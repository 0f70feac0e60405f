"""Texts of payloads."""

from __future__ import annotations

from siddhi.errors import MappingFailedError

__all__ = ["decoded"]


def decoded(payload: object) -> str:
    """Return a payload as text; bytes are UTF-8.

    Raises:
        MappingFailedError: it is neither a text nor bytes of UTF-8.
    """
    if isinstance(payload, str):
        return payload
    if not isinstance(payload, (bytes, bytearray, memoryview)):
        raise MappingFailedError(f"expected a text or bytes, got {type(payload).__name__}")
    try:
        return str(payload, "utf-8")
    except ValueError as error:
        raise MappingFailedError(f"the payload is not UTF-8: {error}") from None
