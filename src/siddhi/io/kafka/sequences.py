"""Sequence headers of Siddhi's Kafka messages: the id of the sender and the number of the message, before the payload.

A text is ``id:number~payload``; bytes are the big-endian int32 length of ``id:number~``, that, and the payload.
"""

from __future__ import annotations

import re

__all__ = ["add_sequence", "has_sequence", "split_sequence"]

_HEADER = re.compile(rb"([^:~]*):([0-9]{1,19})~", re.DOTALL)
_LONGEST = 1024


def add_sequence(payload: str | bytes, sender: str, number: int) -> str | bytes:
    """Return a payload with its sequence header."""
    header = f"{sender}:{number}~"
    if isinstance(payload, str):
        return header + payload
    encoded = header.encode()
    return len(encoded).to_bytes(4, "big") + encoded + bytes(payload)


def split_sequence(payload: bytes, *, is_binary: bool) -> tuple[str, int, bytes] | None:
    """Return sender, number and payload of a message; None: it has no sequence header."""
    start = end = 0
    if is_binary:
        start = 4
        end = start + int.from_bytes(payload[:4], "big")
        if len(payload) < end or end > _LONGEST:
            return None
    match = _HEADER.match(payload, start)
    if match is None or (is_binary and match.end() != end):
        return None
    try:
        return match[1].decode(), int(match[2]), payload[match.end() :]
    except UnicodeDecodeError:
        return None


def has_sequence(payload: str | bytes, sender: str) -> bool:
    """Return whether a payload has the sequence header of a sender already."""
    encoded = payload.encode() if isinstance(payload, str) else bytes(payload)
    split = split_sequence(encoded, is_binary=not isinstance(payload, str))
    return split is not None and split[0] == sender
