"""Where snapshots of apps and events that failed are kept: stores in memory, in a folder, and the interfaces for others."""

from __future__ import annotations

from siddhi.persistence.error_store import ErrorEntry, ErrorOccurrence, ErrorStore, InMemoryErrorStore
from siddhi.persistence.filesystem import FileSystemPersistenceStore
from siddhi.persistence.memory import InMemoryPersistenceStore
from siddhi.persistence.store import PersistenceStore

__all__ = [
    "ErrorEntry",
    "ErrorOccurrence",
    "ErrorStore",
    "FileSystemPersistenceStore",
    "InMemoryErrorStore",
    "InMemoryPersistenceStore",
    "PersistenceStore",
]
