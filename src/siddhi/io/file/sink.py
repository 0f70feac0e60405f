"""``@sink(type = 'file')``: writes payloads to files."""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from contextlib import suppress
from typing import cast

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.io.connector import ConnectorContext
from siddhi.io.file.options import invalid, path_of_event, path_prefixes
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.sink import Sink

__all__ = ["FileSink"]

logger = logging.getLogger("siddhi")

_MOST_OPEN = 64


class FileSink(Sink):
    """Appends payloads to files, or replaces a file by each payload.

    A payload counts as published when the operating system has accepted it, with ``fsync`` when it is on the disk. A file that
    was renamed or removed is created anew. The header of the mapper is the beginning of each file that was empty or not there.
    """

    supported_input_event_classes = (str, bytes, bytearray, memoryview)
    writes_headers = True

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        owner = "sink 'file'"
        self._context = context
        self._uri = options.option("file.uri")
        if "file.system.options" in options:
            raise SiddhiAppCreationError(f"{owner} does not support the option 'file.system.options'", code="E326")
        self._appends = options.flag("append", default=True)
        self._adds = options.flag("add.line.separator", default=True)
        self._always_adds = "add.line.separator" in options and self._adds
        self._syncs = options.flag("fsync", default=False)
        restore = options.static("on.restore", "keep").lower()
        if restore not in ("keep", "truncate"):
            raise invalid(owner, "on.restore", restore, "use keep or truncate")
        self._truncates = restore == "truncate"
        if self._truncates and not (self._uri.is_static and self._appends):
            raise SiddhiAppCreationError(
                f"{owner}: on.restore = 'truncate' needs a 'file.uri' without attributes, and append = 'true'",
                code="E326",
            )
        self._prefixes = path_prefixes(owner, self._uri)
        self._open: OrderedDict[str, int] = OrderedDict()
        self._torn: set[str] = set()  # files that end with a part of a payload

    def connect(self) -> None:
        """Do nothing: files are opened when they are written."""

    def disconnect(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])

    def publish(self, payload: object, options: DynamicOptions) -> None:
        path = self._path(options)
        content = self._content(payload)
        header = b"" if self.header is None else self._content(self.header)
        try:
            if self._appends:
                self._append(path, content, header, is_line=isinstance(payload, str) and self._adds)
            else:
                self._replace(path, header + content)
        except OSError as error:
            raise ConnectionUnavailableError(f"can't write '{path}': {error.strerror}") from error

    def _content(self, payload: object) -> bytes:
        content = payload.encode() if isinstance(payload, str) else bytes(cast("bytes", payload))
        is_line = isinstance(payload, str) and self._adds
        return content + b"\n" if is_line and (self._always_adds or not content.endswith(b"\n")) else content

    def _path(self, options: DynamicOptions) -> str:
        return path_of_event("sink 'file'", self._uri, self._prefixes, options)

    def _append(self, path: str, content: bytes, header: bytes, *, is_line: bool) -> None:
        file = self._file(path)
        start = os.fstat(file).st_size
        if not start:
            content = header + content
        # A part of a payload that could not be cut off becomes a line of its own.
        left = memoryview(b"\n" + content if is_line and path in self._torn else content)
        written = 0
        try:
            while left:
                count = os.write(file, left)
                left, written = left[count:], written + count
            if self._syncs:
                os.fsync(file)
        except OSError:
            if written and not _cut(file, start, written):
                self._torn.add(path)
                logger.error("sink 'file' of stream '%s': '%s' has a part of a payload", self._context.stream, path)
            raise
        self._torn.discard(path)

    def _file(self, path: str) -> int:
        file = self._open.get(path)
        if file is not None:
            with suppress(FileNotFoundError):
                at, status = os.stat(path), os.fstat(file)
                if (at.st_dev, at.st_ino) == (status.st_dev, status.st_ino):
                    self._open.move_to_end(path)
                    return file
            os.close(self._open.pop(path))
            self._torn.discard(path)  # it is another file now
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        self._open[path] = file
        if len(self._open) > _MOST_OPEN:
            os.close(self._open.popitem(last=False)[1])
        return file

    def _replace(self, path: str, content: bytes) -> None:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        written = f"{path}.{os.getpid()}.tmp"
        try:
            with open(written, "wb") as file:
                file.write(content)
                if self._syncs:
                    file.flush()
                    os.fsync(file.fileno())
            os.replace(written, path)
        except OSError:
            with suppress(OSError):
                os.remove(written)
            raise

    # --- snapshots: the length of the file

    def snapshot(self) -> object:
        if not self._truncates:
            return None
        try:
            status = os.stat(self._path(DynamicOptions()))
        except FileNotFoundError:
            return [0, 0, 0]
        return [status.st_dev, status.st_ino, status.st_size]

    def restore(self, state: object) -> None:
        """Cut off what was written after the snapshot: it will be written again."""
        if not self._truncates:
            return
        device, inode, size = cast("list[int]", state)
        path = self._path(DynamicOptions())
        try:
            status = os.stat(path)
        except FileNotFoundError:
            return
        if (inode and [status.st_dev, status.st_ino] != [device, inode]) or status.st_size < size:
            logger.warning(
                "sink 'file' of stream '%s': '%s' is another file now; it is kept", self._context.stream, path
            )
            return
        os.truncate(path, size)


def _cut(file: int, start: int, written: int) -> bool:
    """Cut off the part of a payload that was written, since the next attempt repeats it; return whether that was possible.

    It is not if somebody else has written to the file meanwhile.
    """
    try:
        if os.fstat(file).st_size != start + written:
            return False
        os.ftruncate(file, start)
    except OSError:
        return False
    return True
