"""Texts of payloads."""

from __future__ import annotations

from siddhi.errors import MappingFailedError

__all__ = ["checked", "decoded", "unescaped"]


def decoded(payload: object) -> str:
    """Return a payload as text, without a byte order mark before it; bytes are UTF-8.

    Raises:
        MappingFailedError: it is neither a text nor bytes of UTF-8.
    """
    if isinstance(payload, str):
        return str.removeprefix(payload, "\ufeff")  # an exact str, also of a subclass
    if not isinstance(payload, (bytes, bytearray, memoryview)):
        raise MappingFailedError(f"expected a text or bytes, got {type(payload).__name__}")
    try:
        return str(payload, "utf-8").removeprefix("\ufeff")
    except ValueError as error:
        raise MappingFailedError(f"the payload is not UTF-8: {error}") from None


def checked(text: str) -> str:
    """Return the text of a payload that can be written as UTF-8.

    Raises:
        MappingFailedError: it has a lone surrogate.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise MappingFailedError(f"the payload can't be written as UTF-8: {error}") from None
    return text


def unescaped(text: str) -> str:
    r"""Return the text of an option with ``\n``, ``\r`` and ``\t`` as the characters that they stand for."""
    for written, character in ((r"\n", "\n"), (r"\r", "\r"), (r"\t", "\t")):
        text = text.replace(written, character)
    return text
