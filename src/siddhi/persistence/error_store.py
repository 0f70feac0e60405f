"""Where events are kept whose processing failed, until somebody sends them again or lets them go."""

from __future__ import annotations

import logging
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Literal

from siddhi.event import Event
from siddhi.repeats import Repeats

__all__ = ["ErrorEntry", "ErrorOccurrence", "ErrorStore", "InMemoryErrorStore", "UnkeptValue"]

logger = logging.getLogger("siddhi")

BUFFER_SIZE = 1024
"""Entries that wait to be written; more are dropped."""
MAX_ENTRIES = 10_000
"""Entries that a store in memory keeps where nothing else is said; they take some 27 MB."""


class ErrorOccurrence(Enum):
    """Where an event failed."""

    BEFORE_SOURCE_MAPPING = "BEFORE_SOURCE_MAPPING"
    """A source's mapper could not make an event of the payload."""
    STORE_ON_SINK_ERROR = "STORE_ON_SINK_ERROR"
    """A sink with ``on.error = 'STORE'`` could not publish it."""
    STORE_ON_STREAM_ERROR = "STORE_ON_STREAM_ERROR"
    """A reader of a stream with ``@OnError(action = 'store')`` failed."""
    STORE_ON_TABLE_ADD = "STORE_ON_TABLE_ADD"
    """The store of a table with ``on.error = 'STORE'`` could not take rows in."""
    STORE_ON_TABLE_DELETE = "STORE_ON_TABLE_DELETE"
    """It could not delete rows."""
    STORE_ON_TABLE_UPDATE = "STORE_ON_TABLE_UPDATE"
    """It could not update rows."""
    STORE_ON_TABLE_UPDATE_OR_ADD = "STORE_ON_TABLE_UPDATE_OR_ADD"
    """It could not update rows, nor take in those that are new."""


@dataclass(frozen=True, slots=True)
class UnkeptValue:
    """Stands in an entry for a value that its store could not keep.

    Attributes:
        type: name of its class.
        text: what its ``repr`` was.
    """

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """One failure.

    Attributes:
        id: given by the store; 0 before.
        timestamp: system time of the failure, ms since the epoch.
        app: name of the app.
        name: of the stream or table.
        occurrence: where it failed.
        events: those that failed; none where there was no event yet.
        cause: the error in a line.
        stack_trace: of the error.
        payload: what the source received, or the sink was to publish; of a table, ``{"change": text, "values": [...]}``: what a
            query was to do, and the values it needs, by name for each event, besides the events; None otherwise.
        connector: of the sinks or sources of the stream, the one it failed at, in text order from 0.
        transport_properties: what the source gave with the payload.
    """

    id: int
    timestamp: int
    app: str
    name: str
    occurrence: ErrorOccurrence
    events: tuple[Event, ...]
    cause: str
    stack_trace: str
    payload: object = None
    connector: int = 0
    transport_properties: tuple[object, ...] = ()

    @property
    def error_type(self) -> str:
        """``MAPPING`` for what failed before it was an event, else ``TRANSPORT``."""
        return "MAPPING" if self.occurrence is ErrorOccurrence.BEFORE_SOURCE_MAPPING else "TRANSPORT"


class ErrorStore(ABC):
    """Takes entries from apps without holding them up; a thread of its own writes them.

    Args:
        buffer_size: entries that may wait; what comes then is dropped, with a log.
    """

    def __init__(self, *, buffer_size: int = BUFFER_SIZE) -> None:
        self._waiting: queue.Queue[ErrorEntry] = queue.Queue(buffer_size)
        self._writer: threading.Thread | None = None
        self._guard = threading.Lock()
        self._repeats = Repeats()
        self.dropped = 0

    def refuses(self, name: str) -> str | None:  # noqa: ARG002 - for those that can't keep any name
        """Why it can't keep entries of an app, stream or table of this name; None: it can. Asked when the app is created."""
        return None

    def save(self, entry: ErrorEntry) -> None:
        """Have an entry written; returns at once."""
        with self._guard:
            try:
                self._waiting.put_nowait(entry)
            except queue.Full:
                self.dropped += 1
                if (note := self._repeats.note("the error store can't keep up: entries dropped")) is not None:
                    logger.error(
                        "the error store can't keep up: %d entries dropped; the last: %r%s", self.dropped, entry, note
                    )
                return
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_all, name="siddhi-error-store", daemon=True)
                self._writer.start()

    def flush(self) -> None:
        """Return when everything saved until now is written."""
        self._waiting.join()

    def _write_all(self) -> None:
        while True:
            # The thread lives as long as there is something to write: nobody has to end it.
            with self._guard:
                try:
                    entry = self._waiting.get_nowait()
                except queue.Empty:
                    self._writer = None
                    return
            try:
                self.write(entry)
            except Exception as error:
                if (note := self._repeats.note(f"{type(error).__name__}: entries not written")) is not None:
                    logger.exception("the error store could not write %r%s", entry, note)
            finally:
                self._waiting.task_done()

    @abstractmethod
    def write(self, entry: ErrorEntry) -> None:
        """Keep an entry under a new id; called by one thread at a time."""

    @abstractmethod
    def load_error_entries(
        self,
        app: str,
        *,
        name: str | None = None,
        occurrence: ErrorOccurrence | None = None,
        limit: int | None = None,
    ) -> list[ErrorEntry]:
        """The entries of an app, oldest first; of one stream or occurrence only, ``limit`` of them at the most."""

    @abstractmethod
    def load_error_entry(self, entry_id: int) -> ErrorEntry | None:
        """The entry of an id, or None."""

    @abstractmethod
    def discard_error_entry(self, entry_id: int) -> bool:
        """Let an entry go; whether there was one."""

    @abstractmethod
    def discard_error_entries(self, app: str) -> int:
        """Let all entries of an app go; how many there were."""

    @abstractmethod
    def count(self, app: str | None = None) -> int:
        """How many entries there are, of an app or in all."""

    @abstractmethod
    def purge(self, before: int) -> int:
        """Let entries from before a time (ms since the epoch) go; how many those were."""


class InMemoryErrorStore(ErrorStore):
    """Keeps entries as long as the process lives.

    Args:
        buffer_size: entries that may wait; what comes then is dropped, with a log.
        max_entries: how many it keeps; None: any number. A warning says that four fifths of them are there.
        on_full: what happens when one more comes: ``drop_oldest`` drops the oldest entry, ``log`` the new one. Both are
            counted in ``dropped``, and logged ever more rarely.

    Raises:
        TypeError: ``max_entries`` is not an int.
        ValueError: ``max_entries`` is below 1, or there is no such ``on_full``.
    """

    def __init__(
        self,
        *,
        buffer_size: int = BUFFER_SIZE,
        max_entries: int | None = MAX_ENTRIES,
        on_full: Literal["drop_oldest", "log"] = "drop_oldest",
    ) -> None:
        super().__init__(buffer_size=buffer_size)
        if max_entries is not None and type(max_entries) is not int:
            raise TypeError(f"max_entries must be an int or None, not {max_entries!r}")
        if max_entries is not None and max_entries < 1:
            raise ValueError(f"max_entries must be at least 1, not {max_entries}; None keeps any number")
        if on_full not in ("drop_oldest", "log"):
            raise ValueError(f"on_full must be 'drop_oldest' or 'log', not {on_full!r}")
        self.max_entries = max_entries
        self.on_full = on_full
        self._entries: dict[int, ErrorEntry] = {}
        self._last_id = 0
        self._lock = threading.Lock()
        self._overflowed = 0
        self._overflows = Repeats(first=1)
        self._is_warned = False

    def write(self, entry: ErrorEntry) -> None:
        with self._lock:
            if self.max_entries is not None and len(self._entries) >= self.max_entries:
                self._overflow()
                if self.on_full == "log":
                    return
                del self._entries[next(iter(self._entries))]
            self._last_id += 1
            self._entries[self._last_id] = replace(entry, id=self._last_id)
            if self.max_entries is not None and not self._is_warned and 5 * len(self._entries) >= 4 * self.max_entries:
                self._is_warned = True
                logger.warning(
                    "the error store in memory keeps %d entries, and at most %d: replay or discard them",
                    len(self._entries),
                    self.max_entries,
                )

    def _overflow(self) -> None:
        """Count an entry that is dropped; say so at the first, the second, the fourth, ..."""
        with self._guard:
            self.dropped += 1
        self._overflowed += 1
        if self._overflows.note("full") is not None:
            logger.error(
                "the error store in memory is full: %d %s entries dropped; it keeps max_entries=%d: replay or discard "
                "entries, or keep them in a database (RdbmsErrorStore)",
                self._overflowed,
                "of the oldest" if self.on_full == "drop_oldest" else "new",
                self.max_entries,
            )

    def load_error_entries(
        self,
        app: str,
        *,
        name: str | None = None,
        occurrence: ErrorOccurrence | None = None,
        limit: int | None = None,
    ) -> list[ErrorEntry]:
        found = [
            entry
            for entry in self._all()
            if entry.app == app and name in (None, entry.name) and occurrence in (None, entry.occurrence)
        ]
        return found[:limit]

    def load_error_entry(self, entry_id: int) -> ErrorEntry | None:
        self.flush()
        with self._lock:
            return self._entries.get(entry_id)

    def discard_error_entry(self, entry_id: int) -> bool:
        self.flush()
        with self._lock:
            return self._entries.pop(entry_id, None) is not None

    def discard_error_entries(self, app: str) -> int:
        return self._discard(entry for entry in self._all() if entry.app == app)

    def count(self, app: str | None = None) -> int:
        return sum(1 for entry in self._all() if app in (None, entry.app))

    def purge(self, before: int) -> int:
        return self._discard(entry for entry in self._all() if entry.timestamp < before)

    def _all(self) -> list[ErrorEntry]:
        self.flush()
        with self._lock:
            return list(self._entries.values())

    def _discard(self, entries: Iterable[ErrorEntry]) -> int:
        gone = [entry.id for entry in entries]
        with self._lock:
            return sum(1 for entry_id in gone if self._entries.pop(entry_id, None) is not None)
