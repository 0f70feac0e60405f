"""``@source(type = 'fileeventlistener')``: tells which files of a folder were created, changed and removed."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, cast

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import ReplayableSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.file.options import checked_path
from siddhi.io.file.watch import Watch
from siddhi.io.options import OptionHolder
from siddhi.io.schedule import wait_until
from siddhi.io.source import SourceEventListener

__all__ = ["FileEventSource"]

_RESCAN_SECONDS = 10.0
"""Between two comparisons of all files: the system drops notifications when too many wait (inotify's ``max_queued_events``)."""
_RESCAN_SHARE = 50
"""How many times as long as a comparison of all files the pause until the next one is, at least."""

_Signature = list[int]  # time of the last change, size, inode
_Entry = list[Any]  # a signature, and whether modifyingCompleted was reported for it


class FileEventSource(ReplayableSource):
    """Reports the changes of files by comparing them with what was reported last; notifications tell which to compare, and at times all
    are compared.

    What was reported of each file is part of snapshots. After a restore the changes that came meanwhile are reported.
    """

    output_event_classes: ClassVar[tuple[type, ...]] = (tuple,)

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        owner = "source 'fileeventlistener'"
        if transport_properties:
            raise SiddhiAppCreationError(
                f"{owner} has no transport property '{transport_properties[0]}'",
                code="E326",
                hint="its events have a path, a name and a status: use @map(type = 'passThrough')",
            )
        if "file.system.options" in options:
            raise SiddhiAppCreationError(f"{owner} does not support the option 'file.system.options'", code="E326")
        self._folder = os.path.abspath(checked_path(owner, "dir.uri", options.static("dir.uri")))
        self._interval = options.duration("monitoring.interval", "100 ms")
        if not self._interval:
            raise options.invalid("monitoring.interval", "a time above 0")
        names = (os.path.normpath(name.strip()) for name in options.static("file.name.list", "").split(","))
        self._names = {name for name in names if name != "."}
        self._files: dict[str, _Entry] | None = None  # what the app has processed, by path in the folder
        self._real = ""  # the folder without links, as in notifications
        self._identity: tuple[int, int] = (0, 0)
        self._watch: Watch | None = None

    # --- state

    def advance(self, position: object) -> None:
        path, entry = cast("tuple[str, _Entry | None]", position)
        files = self._files
        if files is None:
            return
        if entry is None:
            files.pop(path, None)
        else:
            files[path] = entry

    def snapshot(self) -> object:
        files = self._files
        return {"files": None if files is None else {path: list(entry) for path, entry in files.copy().items()}}

    def restore(self, state: object) -> None:
        self._files = cast("dict[str, Any]", state)["files"]
        super().restore([None])

    async def seek(self) -> None:
        """Do nothing: the files are compared while receiving."""

    # --- watching

    async def open(self) -> None:
        self._real = await asyncio.to_thread(os.path.realpath, self._folder)
        status = await asyncio.to_thread(os.stat, self._real)
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(f"'{self._folder}' is not a folder")
        self._identity = (status.st_dev, status.st_ino)
        self._watch = Watch(self._real, self._interval)
        await self._watch.open()
        if self._files is None:
            found = await asyncio.to_thread(self._found, [""])
            self._files = {path: [*signature, True] for path, signature in found.items() if signature is not None}

    async def close(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            await watch.close()

    async def receive(self) -> None:
        watch = self._watch
        if watch is None:
            return
        known = dict(self._files or {})
        now = time.monotonic()
        due = {path: now + self._interval for path, entry in known.items() if not entry[-1]}
        paths: set[str] = set()
        rescan_at = now
        while True:
            if now >= rescan_at:
                await self._compare(known, due, {"", *known})
                ended = time.monotonic()
                rescan_at = ended + max(_RESCAN_SECONDS, _RESCAN_SHARE * (ended - now))
            else:
                await self._compare(known, due, paths)
            pause = min((rescan_at, *due.values())) - time.monotonic()
            if pause > 0:
                await wait_until(watch.notified, pause)
            now = time.monotonic()
            paths = {path[len(self._real) :].strip(os.sep) for path in watch.take()}
            paths |= {path for path, at in due.items() if at <= now}

    async def _compare(self, known: dict[str, _Entry], due: dict[str, float], paths: set[str]) -> None:
        """Report what has changed of some paths, and which files have not changed for an interval."""
        found = await asyncio.to_thread(self._found, paths)
        # What is removed with its folder has no notification on all systems.
        folders = {path for path in paths if path not in known and found.get(path) is None}
        if folders and (inside := [path for path in known if path not in found and _is_below(path, folders)]):
            found |= await asyncio.to_thread(self._found, inside)
        now = time.monotonic()
        for path, signature in sorted(found.items()):
            old = known.get(path)
            if signature is None:
                due.pop(path, None)
                if old is not None:
                    del known[path]
                    await self._report(path, "removed", None)
            elif old is None:
                known[path] = entry = [*signature, signature[1] == 0]
                if not entry[-1]:
                    due[path] = now + self._interval
                await self._report(path, "created", entry)
            elif old[:-1] != signature:
                known[path] = entry = [*signature, False]
                due[path] = now + self._interval
                await self._report(path, "modifying", entry)
            elif path in due and due[path] <= now:
                del due[path]
                known[path] = entry = [*signature, True]
                await self._report(path, "modifyingCompleted", entry)

    async def _report(self, path: str, status: str, entry: _Entry | None) -> None:
        payload = (os.path.join(self._folder, path), os.path.basename(path), status)
        await self.put(payload, position=(path, entry))

    def _found(self, paths: Iterable[str]) -> dict[str, _Signature | None]:
        """Return the signatures of files, also of those in folders; None: there is no file.

        Raises:
            OSError: the folder is gone, or is another one.
        """
        status = os.stat(self._real)
        if (status.st_dev, status.st_ino) != self._identity:
            raise FileNotFoundError(f"the folder '{self._folder}' was replaced")
        return {
            file: signature
            for path in paths
            for file, signature in self._walk(path)
            if not self._names or file in self._names or os.path.basename(file) in self._names
        }

    def _walk(self, path: str) -> Iterator[tuple[str, _Signature | None]]:
        """Yield a file, or the files of a folder; links are files, and are not followed."""
        place = os.path.join(self._real, path)
        try:
            status = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            yield path, None
            return
        if not stat.S_ISDIR(status.st_mode):
            yield path, [status.st_mtime_ns, status.st_size, status.st_ino]
            return
        yield path, None  # it may have taken the place of a file
        try:
            names = sorted(os.listdir(place))
        except (FileNotFoundError, NotADirectoryError):
            return
        for name in names:
            yield from self._walk(os.path.join(path, name))


def _is_below(path: str, folders: set[str]) -> bool:
    while path := os.path.dirname(path):
        if path in folders:
            return True
    return False
