"""The standard input of the process, which one source at a time reads."""

from __future__ import annotations

import os
import select
import sys
import threading
from contextlib import suppress

from siddhi.errors import ConnectionUnavailableError, SiddhiRuntimeError

__all__ = ["StandardInput"]

_BLOCK = 64 * 1024

_guard = threading.Lock()
_reader: str | None = None  # who reads now
_last: tuple[tuple[int, int], bytes] | None = None  # device and inode of the last input, and what its reader has left


class StandardInput:
    """The right to read the standard input, until :meth:`close`.

    Its descriptor stays as it is, since other processes may share it: it is not set to non-blocking.

    Args:
        reader: who reads, for messages, such as ``app 'A'``.

    Attributes:
        is_begun: whether an earlier reader has read a part of this input.
        rest: what an earlier reader has left of it; what is set is left to the next one.

    Raises:
        SiddhiRuntimeError: another source reads it.
        ConnectionUnavailableError: it is closed.
    """

    def __init__(self, reader: str) -> None:
        global _reader, _last  # noqa: PLW0603 - there is one standard input
        # The descriptor of a closed input may belong to something else by now.
        if sys.stdin is None or sys.stdin.closed:
            raise ConnectionUnavailableError("the standard input is closed")
        try:
            self._descriptor = sys.stdin.fileno()
        except OSError:  # replaced by an object without descriptor
            self._descriptor = 0
        try:
            status = os.fstat(self._descriptor)
        except OSError as error:
            raise ConnectionUnavailableError(f"the standard input is closed: {error.strerror}") from error
        self._identity = (status.st_dev, status.st_ino)
        with _guard:
            if _reader is not None:
                raise SiddhiRuntimeError(
                    f"the standard input is read by {_reader}: only one source 'stdin' of a process can run at a time"
                )
            _reader = reader
            last, _last = _last, None
        self.is_begun = last is not None and last[0] == self._identity
        self.rest = last[1] if last is not None and self.is_begun else b""
        self._wake_reader, self._wake = os.pipe()
        self._reading = threading.Lock()

    def read(self) -> bytes:
        """Wait for input and return it; empty: the end of the input, or :meth:`wake` was called."""
        with self._reading:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            poll.register(self._wake_reader, select.POLLIN)
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self._wake_reader in ready:
                return b""
            return os.read(self._descriptor, _BLOCK)

    def wake(self) -> None:
        """End the present and all further calls of :meth:`read`."""
        with suppress(OSError):  # the pipe is closed
            os.write(self._wake, b"x")

    def close(self) -> None:
        """Let others read."""
        global _reader, _last  # noqa: PLW0603 - as above
        self.wake()
        with self._reading:
            os.close(self._wake_reader)
            os.close(self._wake)
        with _guard:
            _reader = None
            _last = (self._identity, self.rest)
