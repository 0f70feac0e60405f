"""Content of files as text."""

from __future__ import annotations

__all__ = ["BOM", "text_of"]

BOM = b"\xef\xbb\xbf"
"""The mark that may precede a text in UTF-8."""


def text_of(content: bytes) -> str | bytes:
    """Return bytes as text; bytes that are not UTF-8 stay bytes, which mappers reject with the reason."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content
