"""Error stores: they keep events whose processing failed until they are replayed or discarded."""

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
"""Default size of the write buffer in entries; further entries are dropped."""
MAX_ENTRIES = 10_000
"""Default capacity of an in-memory store in entries; they take about 27 MB."""


class ErrorOccurrence(Enum):
    """Where an event failed."""

    BEFORE_SOURCE_MAPPING = "BEFORE_SOURCE_MAPPING"
    """A source's mapper could not map the payload."""
    STORE_ON_SINK_ERROR = "STORE_ON_SINK_ERROR"
    """A sink with ``on.error = 'STORE'`` could not publish the payload."""
    STORE_ON_STREAM_ERROR = "STORE_ON_STREAM_ERROR"
    """A query or callback of a stream with ``@OnError(action = 'store')`` failed."""
    STORE_ON_TABLE_ADD = "STORE_ON_TABLE_ADD"
    """The store of a table with ``on.error = 'STORE'`` could not add rows."""
    STORE_ON_TABLE_DELETE = "STORE_ON_TABLE_DELETE"
    """The store could not delete rows."""
    STORE_ON_TABLE_UPDATE = "STORE_ON_TABLE_UPDATE"
    """The store could not update rows."""
    STORE_ON_TABLE_UPDATE_OR_ADD = "STORE_ON_TABLE_UPDATE_OR_ADD"
    """The store could not update or add rows."""


@dataclass(frozen=True, slots=True)
class UnkeptValue:
    """Placeholder in an entry for a value that its store could not save.

    Attributes:
        type: name of the value's class.
        text: ``repr`` of the value.
    """

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class ErrorEntry:
    """One failure.

    Attributes:
        id: assigned by the store; 0 before.
        timestamp: system time of the failure, ms since the epoch.
        app: name of the app.
        name: name of the stream or table.
        occurrence: where it failed.
        events: the failed events; empty if the payload was not mapped yet.
        cause: the error in one line.
        stack_trace: stack trace of the error.
        payload: the payload of a source or sink; for a table ``{"change": text, "values": [...]}``: the change of the query,
            and its parameters by name for each event; None otherwise.
        connector: number of the source or sink within its stream, in text order from 0.
        transport_properties: transport properties of the source's payload.
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
        """``MAPPING`` if a payload could not be mapped, else ``TRANSPORT``."""
        return "MAPPING" if self.occurrence is ErrorOccurrence.BEFORE_SOURCE_MAPPING else "TRANSPORT"


class ErrorStore(ABC):
    """Accepts entries from apps without blocking them; a background thread writes them.

    Args:
        buffer_size: capacity of the write buffer; further entries are dropped and logged.
    """

    def __init__(self, *, buffer_size: int = BUFFER_SIZE) -> None:
        self._waiting: queue.Queue[ErrorEntry] = queue.Queue(buffer_size)
        self._writer: threading.Thread | None = None
        self._guard = threading.Lock()
        self._repeats = Repeats()
        self.dropped = 0

    def refuses(self, name: str) -> str | None:  # noqa: ARG002 - for stores that restrict names
        """Return why entries can't be saved under the name of an app, stream or table; None: they can.

        Called when the app is created.
        """
        return None

    def save(self, entry: ErrorEntry) -> None:
        """Put an entry into the write buffer; return at once."""
        with self._guard:
            try:
                self._waiting.put_nowait(entry)
            except queue.Full:
                self.dropped += 1
                if (note := self._repeats.note("the error store is too slow: entries dropped")) is not None:
                    logger.error(
                        "the error store is too slow: %d entries dropped; the last: %r%s", self.dropped, entry, note
                    )
                return
            if self._writer is None:
                self._writer = threading.Thread(target=self._write_all, name="siddhi-error-store", daemon=True)
                self._writer.start()

    def flush(self) -> None:
        """Wait until all entries saved so far are written."""
        self._waiting.join()

    def _write_all(self) -> None:
        while True:
            # The thread ends when the buffer is empty, so that it need not be stopped.
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
        """Write an entry under a new id; called by one thread at a time."""

    @abstractmethod
    def load_error_entries(
        self,
        app: str,
        *,
        name: str | None = None,
        occurrence: ErrorOccurrence | None = None,
        limit: int | None = None,
    ) -> list[ErrorEntry]:
        """Return the entries of an app, oldest first; filter by stream or table and by occurrence, return at most ``limit``."""

    @abstractmethod
    def load_error_entry(self, entry_id: int) -> ErrorEntry | None:
        """Return the entry of an id, or None."""

    @abstractmethod
    def discard_error_entry(self, entry_id: int) -> bool:
        """Delete an entry; return whether it existed."""

    @abstractmethod
    def discard_error_entries(self, app: str) -> int:
        """Delete all entries of an app; return their number."""

    @abstractmethod
    def count(self, app: str | None = None) -> int:
        """Return the number of entries, of an app or in total."""

    @abstractmethod
    def purge(self, before: int) -> int:
        """Delete entries from before a time (ms since the epoch); return their number."""


class InMemoryErrorStore(ErrorStore):
    """Keeps entries in memory until the process ends.

    Args:
        buffer_size: capacity of the write buffer; further entries are dropped and logged.
        max_entries: maximum number of entries; None: no limit. A warning is logged at four fifths.
        on_full: what to do with an entry beyond the maximum: ``drop_oldest`` drops the oldest entry, ``log`` the new one.
            Both count in ``dropped``, and are logged less and less often.

    Raises:
        TypeError: ``max_entries`` is not an int.
        ValueError: ``max_entries`` is below 1, or ``on_full`` is invalid.
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
            raise TypeError(f"invalid max_entries {max_entries!r}: expected an int or None")
        if max_entries is not None and max_entries < 1:
            raise ValueError(f"invalid max_entries {max_entries}: expected 1 or more, or None for no limit")
        if on_full not in ("drop_oldest", "log"):
            raise ValueError(f"invalid on_full {on_full!r}: expected 'drop_oldest' or 'log'")
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
                    "the in-memory error store has %d of at most %d entries: replay or discard them",
                    len(self._entries),
                    self.max_entries,
                )

    def _overflow(self) -> None:
        """Count a dropped entry; log the first, the second, the fourth, ..."""
        with self._guard:
            self.dropped += 1
        self._overflowed += 1
        if self._overflows.note("full") is not None:
            logger.error(
                "the in-memory error store is full: %d %s entries dropped; max_entries is %d: replay or discard entries, "
                "or use a database (RdbmsErrorStore)",
                self._overflowed,
                "oldest" if self.on_full == "drop_oldest" else "new",
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
        removed = [entry.id for entry in entries]
        with self._lock:
            return sum(1 for entry_id in removed if self._entries.pop(entry_id, None) is not None)
