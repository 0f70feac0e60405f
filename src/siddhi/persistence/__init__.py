"""Where snapshots of apps and events that failed are kept.

Stores in memory, in a folder and in an SQL database, and the interfaces for others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.persistence.error_store import ErrorEntry, ErrorOccurrence, ErrorStore, InMemoryErrorStore, UnkeptValue
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
    "RdbmsPersistenceStore",
    "UnkeptValue",
]


if TYPE_CHECKING:
    from siddhi.persistence.rdbms import RdbmsPersistenceStore


def __getattr__(name: str) -> object:
    # Imported where it is asked for: it needs SQLAlchemy.
    if name != "RdbmsPersistenceStore":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    try:
        from siddhi.persistence.rdbms import RdbmsPersistenceStore
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise ImportError("RdbmsPersistenceStore needs SQLAlchemy: pip install 'siddhi[rdbms]'") from error
    return RdbmsPersistenceStore
