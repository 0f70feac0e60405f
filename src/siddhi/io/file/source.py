"""``@source(type = 'file')``: reads a file or the files of a folder."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import ReplayableSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.file.options import PROPERTIES, FileOptions
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener

__all__ = ["LARGEST_LINE", "FileSource"]

logger = logging.getLogger("siddhi")

LARGEST_LINE = 64 * 1024 * 1024
"""Bytes of the largest line; a larger one is a failure of its file."""

_BLOCK = 256 * 1024
_BOM = b"\xef\xbb\xbf"


class FileSource(ReplayableSource):
    """Reads a file, or the files of a folder one after the other.

    The position is the byte after the last processed payload and the identity of its file: device, inode, and for a
    finished file time of change and size. While tailing, a renamed file is read to its end before its successor.
    """

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        for name in transport_properties:
            if name not in PROPERTIES:
                raise SiddhiAppCreationError(
                    f"source 'file' has no transport property '{name}'",
                    code="E326",
                    hint=f"use {', '.join(PROPERTIES)}",
                )
        self._options = FileOptions.read(options)
        self._names = transport_properties
        self._done: dict[str, list[int]] = {}
        self._restores = 0

    # --- state

    def snapshot(self) -> object:
        return {
            "position": self.position,
            "done": {path: list(identity) for path, identity in dict(self._done).items()},
        }

    def restore(self, state: object) -> None:
        self._restores += 1
        values = cast("dict[str, Any]", state)
        self._done = dict(values["done"])
        super().restore([values["position"]])

    async def seek(self) -> None:
        """Do nothing: files are opened while receiving."""

    # --- reading

    async def open(self) -> None:
        options = self._options
        if not await asyncio.to_thread(os.path.isdir if options.is_folder else os.path.isfile, options.path):
            raise FileNotFoundError(f"no {'folder' if options.is_folder else 'file'} '{options.path}'")

    async def receive(self) -> None:
        options = self._options
        start = cast("list[Any] | None", self.position)
        if start is not None and start[4]:
            self._done[start[0]] = start[4]
        if options.tailing:
            await self._tail(start)
        elif not options.is_folder:
            identity = _identity(await asyncio.to_thread(os.stat, options.path))
            if self._done.get(options.path) != identity:
                await self._read_whole(options.path, identity, start)
        else:
            while True:
                found = await asyncio.to_thread(self._list)
                self._done = {path: identity for path, identity in self._done.items() if path in found}
                for path, (identity, is_quiet) in found.items():
                    if is_quiet and self._done.get(path) != identity:
                        await self._read_whole(path, identity, start)
                await asyncio.sleep(options.interval)

    def _list(self) -> dict[str, tuple[list[int], bool]]:
        """Return identity, and whether it can be read, of each file of the folder; links out of the folder are left out."""
        found = {}
        options = self._options
        folder = os.path.realpath(options.path)
        for name in sorted(os.listdir(options.path)):
            path = os.path.join(options.path, name)
            if options.pattern is not None and options.pattern.fullmatch(name) is None:
                continue
            try:
                if os.path.isfile(path) and os.path.commonpath((folder, os.path.realpath(path))) == folder:
                    status = os.stat(path)
                    found[path] = (_identity(status), not 0 <= time.time() - status.st_mtime < options.quiet)
            except FileNotFoundError:
                continue
        return found

    async def _read_whole(self, path: str, identity: list[int], start: list[Any] | None) -> None:
        restores = self._restores
        resumes = start is not None and start[0] == path and start[1:3] == identity[:2] and start[3] <= identity[2]
        try:
            file = await asyncio.to_thread(open, path, "rb")
        except FileNotFoundError:
            return  # removed since it was listed
        except OSError as error:
            logger.error("source 'file' of stream '%s': can't open '%s': %s", self.context.stream, path, error)
            self._done[path] = identity
            await asyncio.to_thread(self._act, path, 1)
            return
        succeeded = True
        try:
            with file:
                succeeded = await self._deliver_whole(path, identity, file, start[3] if resumes and start else 0)
        except (OSError, ValueError) as error:
            logger.error("source 'file' of stream '%s': can't read '%s': %s", self.context.stream, path, error)
            succeeded = False
        if restores != self._restores:
            await asyncio.Event().wait()  # the position was restored: receiving begins again
        self._done[path] = identity
        await asyncio.to_thread(self._act, path, 0 if succeeded else 1)

    async def _deliver_whole(self, path: str, identity: list[int], file: BinaryIO, offset: int) -> bool:
        options = self._options
        number, pending = 0, None
        if options.mode in ("text.full", "binary.full"):
            content = await asyncio.to_thread(file.read)
            payload = content if options.mode == "binary.full" else _text(content.removeprefix(_BOM))
            properties = self._properties(path, is_last=True, number=0, length=len(content))
            return await self.deliver(payload, properties, [path, *identity[:2], len(content), identity])
        # One payload is held back, so that the last one is known.
        async for payload, end in self._payloads(file, offset):
            if pending is not None:
                properties = self._properties(path, is_last=False, number=number, length=len(pending[0]))
                await self.put(pending[0], properties, [path, *identity[:2], pending[1], None])
                number += 1
            pending = (payload, end)
        if pending is not None:
            properties = self._properties(path, is_last=True, number=number, length=len(pending[0]))
            # A line that can't be mapped is logged or stored; its file does not fail.
            await self.deliver(pending[0], properties, [path, *identity[:2], pending[1], identity])
        return True

    async def _payloads(self, file: BinaryIO, offset: int) -> Any:
        options = self._options
        file.seek(offset)
        if options.mode == "binary.chunked":
            while chunk := await asyncio.to_thread(file.read, options.size):
                offset += len(chunk)
                yield chunk, offset
            return
        lines = _Lines(offset, 0 if offset else options.skipped, strips=True)
        last = None
        while True:
            block = await asyncio.to_thread(file.read, _BLOCK)
            for found in lines.feed(block) if block else lines.finish():
                if options.part == "first":
                    yield found
                    return
                if options.part == "all":
                    yield found
                elif options.part == "but last" and last is not None:
                    yield last
                last = found
            if not block:
                break
        if options.part == "last" and last is not None:
            yield last

    def _properties(self, path: str, *, is_last: bool, number: int, length: int) -> list[object]:
        values = {
            "file.path": path,
            "file.name": os.path.basename(path),
            "eof": "true" if is_last else "false",
            "sequence.number": number,
            "content.length": length,
        }
        return [values[name] for name in self._names]

    def _act(self, path: str, outcome: int) -> None:
        action, target = self._options.actions[outcome], self._options.targets[outcome]
        try:
            if action == "delete":
                os.remove(path)
            elif action == "move":
                if self._options.is_folder:
                    os.makedirs(target, exist_ok=True)
                    target = os.path.join(target, os.path.basename(path))
                else:
                    os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
                if os.path.exists(target) and not self._options.overwrites:
                    target = f"{target}.{time.time_ns()}"
                shutil.move(path, target)
        except OSError as error:
            logger.error("source 'file' of stream '%s': can't %s '%s': %s", self.context.stream, action, path, error)

    # --- tailing

    async def _tail(self, start: list[Any] | None) -> None:
        path = self._options.path
        file, offset = await asyncio.to_thread(_opened, path, start)
        try:
            while True:
                if file is None:  # between the two steps of a rotation
                    await asyncio.sleep(self._options.interval)
                    file, offset = await asyncio.to_thread(_opened, path, None)
                    continue
                status = os.fstat(file.fileno())
                key = [status.st_dev, status.st_ino]
                lines = _Lines(offset, 0 if offset else self._options.skipped, strips=False)
                while True:
                    rotated = not await asyncio.to_thread(_is_at, path, key)
                    size = os.fstat(file.fileno()).st_size
                    if size < lines.end:
                        logger.warning("source 'file': '%s' was truncated; reading it from its beginning", path)
                        lines = _Lines(0, self._options.skipped, strips=False)
                        file.seek(0)
                    while block := await asyncio.to_thread(file.read, _BLOCK):
                        try:
                            await self._put_lines(lines.feed(block), key)
                        except ValueError as error:
                            logger.error("source 'file' of stream '%s': '%s': %s", self.context.stream, path, error)
                            lines = _Lines(lines.end, 1, strips=False)  # the rest of the line is skipped, too
                    if rotated:
                        break
                    await asyncio.sleep(self._options.interval)
                await self._put_lines(lines.finish(), key)
                file.close()
                file, offset = await asyncio.to_thread(_opened, path, None)
        finally:
            if file is not None:
                file.close()

    async def _put_lines(self, lines: Iterator[tuple[str | bytes, int]], key: list[int]) -> None:
        path = self._options.path
        for number, (line, end) in enumerate(lines):
            properties = self._properties(path, is_last=False, number=number, length=len(line)) if self._names else ()
            await self.put(line, properties, [path, *key, end, None])


class _Lines:
    """Splits blocks of a file into lines.

    Args:
        offset: offset of the first block.
        skipped: number of lines to skip.
        strips: whether lines lose the spaces around them.

    Attributes:
        end: offset after the blocks.
    """

    def __init__(self, offset: int, skipped: int, *, strips: bool) -> None:
        self.end = offset
        self._offset = offset  # of the rest
        self._rest = b""
        self._skipped = skipped
        self._strips = strips

    def feed(self, block: bytes) -> Iterator[tuple[str | bytes, int]]:
        """Return the lines that a block completes, each with the offset after it; empty ones are left out.

        Raises:
            ValueError: a line is larger than :data:`LARGEST_LINE`.
        """
        self.end += len(block)
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            self._offset += len(line) + 1
            yield from self._line(line, self._offset)
        if len(self._rest) > LARGEST_LINE:
            raise ValueError(f"a line of more than {LARGEST_LINE} bytes")

    def finish(self) -> Iterator[tuple[str | bytes, int]]:
        """Return the last line, if it has no line end."""
        rest, self._rest = self._rest, b""
        if rest:
            yield from self._line(rest, self.end)

    def _line(self, line: bytes, end: int) -> Iterator[tuple[str | bytes, int]]:
        if self._skipped:
            self._skipped -= 1
            return
        if end - len(line) <= 1 and line.startswith(_BOM):
            line = line.removeprefix(_BOM)
        text = _text(line.strip() if self._strips else line.removesuffix(b"\r"))
        if text:
            yield text, end


def _text(content: bytes) -> str | bytes:
    """Return bytes as text; bytes that are not UTF-8 stay bytes, which mappers reject with the reason."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def _identity(status: os.stat_result) -> list[int]:
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns]


def _is_at(path: str, key: list[int]) -> bool:
    """Return whether a path leads to a file, or to none: the file may be between two steps of a rotation."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return True
    return [status.st_dev, status.st_ino] == key


def _opened(path: str, start: list[Any] | None) -> tuple[BinaryIO | None, int]:
    """Open the file to tail, and return it with the offset to start from; None: there is no file.

    If the file of a position was renamed in its folder, it is that one.
    """
    if start is not None:
        key, offset = start[1:3], start[3]
        folder = os.path.dirname(path) or "."
        for candidate in (path, *(entry.path for entry in os.scandir(folder) if entry.is_file())):
            try:
                status = os.stat(candidate)
            except FileNotFoundError:
                continue
            if [status.st_dev, status.st_ino] == key and status.st_size >= offset:
                file = open(candidate, "rb")  # noqa: SIM115 - closed by the caller
                file.seek(offset)
                return file, offset
    try:
        return open(path, "rb"), 0
    except FileNotFoundError:
        return None, 0
