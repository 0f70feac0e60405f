"""Reads the bytes of an input file or of standard input, and tracks the progress."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from siddhi.cli.endpoints import Endpoint
from siddhi.cli.failures import BadInput, reason

BLOCK_BYTES = 1 << 20  # about 20,000 short lines: one batch for the engine


class ByteSource:
    """Reads pieces of at most ``BLOCK_BYTES``; a pipe returns the bytes available, so that live lines are not delayed."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.name = "standard input" if endpoint.is_standard else endpoint.path
        self.total_bytes: int | None = None
        self._compression = endpoint.compression
        try:
            if endpoint.is_standard:
                self._raw: BinaryIO = sys.stdin.buffer
            else:
                path = Path(endpoint.path)
                self._raw = path.open("rb", buffering=0)
                self.total_bytes = path.stat().st_size if path.is_file() else None
        except OSError as error:
            raise BadInput(f"cannot read {self.name}: {reason(error)}") from error
        self._done = 0
        self._decoded = pa.CompressedInputStream(self._raw, self._compression) if self._compression else None

    def pieces(self) -> Iterator[bytes]:
        """Yield bytes until the end of the input.

        Raises:
            BadInput: the input can't be read, or is not compressed as its suffix indicates.
        """
        while True:
            try:
                piece = self._read()
            except OSError as error:
                raise BadInput(f"cannot read {self.name}: {reason(error)}") from error
            if not piece:
                return
            yield piece

    def _read(self) -> bytes:
        if self._decoded is not None:
            piece: bytes = self._decoded.read(BLOCK_BYTES)
            self._done = self._raw.tell()
            return piece
        read1 = getattr(self._raw, "read1", None)
        piece = read1(BLOCK_BYTES) if read1 is not None else self._raw.read(BLOCK_BYTES)
        self._done += len(piece)
        return piece

    @property
    def done_bytes(self) -> int:
        """Number of (compressed) bytes of the file read so far."""
        return self._done

    def close(self) -> None:
        """Close the input."""
        if self._raw is not sys.stdin.buffer:
            self._raw.close()
