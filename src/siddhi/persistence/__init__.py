"""Where snapshots of apps are kept: a store in memory, one in a folder, and the interface for others."""

from __future__ import annotations

from siddhi.persistence.filesystem import FileSystemPersistenceStore
from siddhi.persistence.memory import InMemoryPersistenceStore
from siddhi.persistence.store import PersistenceStore

__all__ = ["FileSystemPersistenceStore", "InMemoryPersistenceStore", "PersistenceStore"]
