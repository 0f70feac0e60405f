"""Frames of Siddhi's TCP protocol.

A frame is one message to one channel, big endian: the byte 2, the int32 size of the rest, then the session, the channel and the
payload, each as an int32 length and its bytes. Nothing is answered.
"""

from __future__ import annotations

import struct

__all__ = ["LARGEST_FRAME", "FrameBuffer", "FrameError", "frame"]

LARGEST_FRAME = 64 * 1024 * 1024
"""Bytes of the largest frame that is read."""

_PROTOCOL = 2
_HEAD = struct.Struct(">Bi")
_LENGTH = struct.Struct(">i")


class FrameError(ValueError):
    """Bytes that are not a frame."""


def frame(session: str, channel: str, payload: bytes) -> bytes:
    """Return the bytes of a frame."""
    parts = [session.encode(), channel.encode(), payload]
    size = sum(_LENGTH.size + len(part) for part in parts)
    return b"".join([_HEAD.pack(_PROTOCOL, size), *(_LENGTH.pack(len(part)) + part for part in parts)])


class FrameBuffer:
    """Cuts the bytes of a connection into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, content: bytes) -> tuple[list[tuple[str, bytes]], FrameError | None]:
        """Add bytes, and return the channel and payload of each frame that is complete.

        Returns:
            The frames, and the error after them; None: the rest is the beginning of a frame.
        """
        buffer, at = self._buffer, 0
        buffer += content
        found: list[tuple[str, bytes]] = []
        with memoryview(buffer) as view:
            try:
                while (size := _size(view, at)) is not None:
                    start, at = at + _HEAD.size, at + _HEAD.size + size
                    found.append(_parts(view, start, at))
            except FrameError as error:
                return found, error
        del buffer[:at]
        return found, None

    def end(self) -> FrameError | None:
        """Return the error of a connection that ends here; None: no frame is incomplete."""
        return FrameError("the connection ended within a frame") if self._buffer else None


def _size(view: memoryview, at: int) -> int | None:
    """Return the size of the rest of a frame; None: it is incomplete."""
    left = len(view) - at
    if left and view[at] != _PROTOCOL:
        raise FrameError(f"expected protocol {_PROTOCOL}, got {view[at]}")
    if left < _HEAD.size:
        return None
    size: int = _HEAD.unpack_from(view, at)[1]
    if not 0 <= size <= LARGEST_FRAME:
        raise FrameError(f"a frame of {size} bytes is too large: expected at most {LARGEST_FRAME}")
    return size if size <= left - _HEAD.size else None


def _parts(view: memoryview, at: int, end: int) -> tuple[str, bytes]:
    """Return the channel and the payload of the frame whose parts begin at an index."""
    bounds: list[tuple[int, int]] = []
    for _ in range(3):
        start = at + _LENGTH.size
        if start > end:
            raise FrameError("a frame ends within a length")
        length: int = _LENGTH.unpack_from(view, at)[0]
        if not 0 <= length <= end - start:
            raise FrameError(f"invalid length {length}: {end - start} bytes are left in the frame")
        at = start + length
        bounds.append((start, at))
    if at != end:
        raise FrameError(f"a frame has {end - at} bytes after its payload")
    _, (channel, channel_end), (payload, payload_end) = bounds
    try:
        return str(view[channel:channel_end], "utf-8"), view[payload:payload_end].tobytes()
    except UnicodeDecodeError as error:
        raise FrameError(f"the name of the channel is not UTF-8: {error}") from None
