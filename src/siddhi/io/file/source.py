"""``@source(type = 'file')``: reads a file or the files of a folder."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, BinaryIO, cast

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import ReplayableSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.file.content import BOM, text_of
from siddhi.io.file.options import PROPERTIES, FileOptions
from siddhi.io.file.splitting import Splitter
from siddhi.io.options import OptionHolder
from siddhi.io.schedule import Schedule
from siddhi.io.source import SourceEventListener

__all__ = ["FileSource"]

logger = logging.getLogger("siddhi")

_BLOCK = 256 * 1024


class FileSource(ReplayableSource):
    """Reads a file, or the files of a folder one after the other.

    The position is the byte after the last processed payload, its number in the file, and the identity of the file: device,
    inode, and for a finished file time of change and size. While tailing, a renamed file is read to its end before its successor.
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
        self.is_finite = not (self._options.tailing or self._options.is_folder or self._options.is_cron)
        self._polls = Schedule.read(options, context, self._options.interval)
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
        if options.is_cron and not options.is_folder:
            return  # the file may appear later
        if not await asyncio.to_thread(os.path.isdir if options.is_folder else os.path.isfile, options.path):
            raise FileNotFoundError(f"no {'folder' if options.is_folder else 'file'} '{options.path}'")

    async def receive(self) -> None:
        options = self._options
        start = cast("list[Any] | None", self.position)
        if start is not None and start[4]:
            self._done[start[0]] = start[4]
        if options.tailing:
            await self._tail(start)
        elif options.is_folder or options.is_cron:
            while True:
                if options.is_cron:
                    await self._polls.wait()
                waits = await self._read_found(start)
                while waits and options.is_cron:
                    await asyncio.sleep(options.interval)
                    waits = await self._read_found(start)
                if not options.is_cron:
                    await self._polls.wait()
        else:
            identity = _identity(await asyncio.to_thread(os.stat, options.path))
            if self._done.get(options.path) != identity:
                await self._read_whole(options.path, identity, start)

    async def _read_found(self, start: list[Any] | None) -> bool:
        """Read the files that are there; return whether one was left out, since it may still be written."""
        found = await asyncio.to_thread(self._list)
        self._done = {path: identity for path, identity in self._done.items() if path in found}
        left = {path: identity for path, (identity, _) in found.items() if self._done.get(path) != identity}
        for path, identity in left.items():
            if found[path][1]:
                await self._read_whole(path, identity, start)
        return any(not found[path][1] for path in left)

    def _list(self) -> dict[str, tuple[list[int], bool]]:
        """Return identity, and whether it can be read, of each file; links out of the folder are left out."""
        options, found = self._options, {}
        folder = os.path.realpath(options.path)
        for name in sorted(os.listdir(options.path)) if options.is_folder else [""]:
            path = os.path.join(options.path, name) if name else options.path
            if name and options.pattern is not None and options.pattern.fullmatch(name) is None:
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
        if start is not None and start[4] and (self._options.is_folder or self._options.is_cron):
            resumes = False  # that file was read to its end: this one is another one, perhaps with the same inode
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
                offset, number = (start[3], _number_after(start)) if resumes and start else (0, 0)
                succeeded = await self._deliver_whole(path, identity, file, offset, number)
        except (OSError, ValueError) as error:
            logger.error("source 'file' of stream '%s': can't read '%s': %s", self.context.stream, path, error)
            succeeded = False
        if restores != self._restores:
            await asyncio.Event().wait()  # the position was restored: receiving begins again
        self._done[path] = identity
        await asyncio.to_thread(self._act, path, 0 if succeeded else 1)

    async def _deliver_whole(self, path: str, identity: list[int], file: BinaryIO, offset: int, number: int) -> bool:
        options = self._options
        pending = None
        if options.cutting.mode in ("text.full", "binary.full"):
            content = await asyncio.to_thread(file.read)
            payload = content if options.cutting.mode == "binary.full" else text_of(content.removeprefix(BOM))
            properties = self._properties(path, is_last=True, number=0, length=len(content))
            return await self.deliver(payload, properties, [path, *identity[:2], len(content), identity, 0])
        # One payload is held back, so that the last one is known.
        async for payload, end in self._payloads(file, offset):
            if pending is not None:
                properties = self._properties(path, is_last=False, number=number, length=len(pending[0]))
                await self.put(pending[0], properties, [path, *identity[:2], pending[1], None, number])
                number += 1
            pending = (payload, end)
        if pending is not None:
            properties = self._properties(path, is_last=True, number=number, length=len(pending[0]))
            # A line that can't be mapped is logged or stored; its file does not fail.
            await self.deliver(pending[0], properties, [path, *identity[:2], pending[1], identity, number])
        return True

    async def _payloads(self, file: BinaryIO, offset: int) -> Any:
        options = self._options
        if options.cutting.mode == "binary.chunked":
            file.seek(offset)
            while chunk := await asyncio.to_thread(file.read, options.size):
                offset += len(chunk)
                yield chunk, offset
            return
        lines = self._splitter(file, offset)
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
        self._warn_of_rest(lines, file)
        if options.part == "last" and last is not None:
            yield last

    def _splitter(self, file: BinaryIO, offset: int) -> Splitter:
        """Return what cuts the content of a file from an offset on, and move the file to it."""
        cutting = self._options.cutting
        first = cutting.first_byte(offset)
        file.seek(first)
        return cutting.splitter(offset, file.read(offset - first), self.context.line_scanner)

    def _warn_of_rest(self, lines: Splitter, file: BinaryIO) -> None:
        if lines.is_unfinished:
            logger.warning(
                "source 'file' of stream '%s': the last match in '%s' has no end; it is left out",
                self.context.stream,
                file.name,
            )

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
        number = _number_after(start) if start is not None and offset else 0
        try:
            while True:
                if file is None:  # between the two steps of a rotation
                    await asyncio.sleep(self._options.interval)
                    file, offset = await asyncio.to_thread(_opened, path, None)
                    continue
                status = os.fstat(file.fileno())
                key = [status.st_dev, status.st_ino]
                lines, numbers = self._splitter(file, offset), count(number)
                number, is_told = 0, False
                while True:
                    rotated = not await asyncio.to_thread(_is_at, path, key)
                    size = os.fstat(file.fileno()).st_size
                    if size < lines.end:
                        logger.warning("source 'file': '%s' was truncated; reading it from its beginning", path)
                        lines, numbers = self._splitter(file, 0), count()
                    at_rest = True
                    while block := await asyncio.to_thread(file.read, _BLOCK):
                        at_rest = False
                        await self._put_found(lines, lines.feed(block), numbers, key)
                    if rotated:
                        break
                    await self._put_found(lines, lines.settle(at_rest=at_rest), numbers, key)
                    if lines.is_open and at_rest and not is_told:
                        is_told = True
                        logger.warning(
                            "source 'file' of stream '%s': a quoted field in '%s' has no end yet; waiting for it",
                            self.context.stream,
                            path,
                        )
                    await asyncio.sleep(self._options.interval)
                await self._put_found(lines, lines.finish(), numbers, key)
                self._warn_of_rest(lines, file)
                file.close()
                file, offset = await asyncio.to_thread(_opened, path, None)
        finally:
            if file is not None:
                file.close()

    async def _put_found(
        self, lines: Splitter, found: Iterator[tuple[str | bytes, int]], numbers: Iterator[int], key: list[int]
    ) -> None:
        path = self._options.path
        try:
            for payload, end in found:
                number = next(numbers)
                properties: Sequence[object] = ()
                if self._names:
                    properties = self._properties(path, is_last=False, number=number, length=len(payload))
                await self.put(payload, properties, [path, *key, end, None, number])
        except ValueError as error:
            logger.error("source 'file' of stream '%s': '%s': %s", self.context.stream, path, error)
            lines.skip()


def _number_after(position: list[Any]) -> int:
    """Return the number of the payload after that of a position; snapshots of earlier versions do not have it."""
    return position[5] + 1 if len(position) > 5 else 0


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
                return file, offset
    try:
        return open(path, "rb"), 0
    except FileNotFoundError:
        return None, 0
