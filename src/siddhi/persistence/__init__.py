"""Persistence stores (snapshots of apps) and error stores (events that failed).

Implementations in memory, in a folder and in an SQL database, and the interfaces for others.
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
    "RdbmsErrorStore",
    "RdbmsPersistenceStore",
    "UnkeptValue",
]


if TYPE_CHECKING:
    from siddhi.persistence.rdbms import RdbmsPersistenceStore
    from siddhi.persistence.rdbms_errors import RdbmsErrorStore


def __getattr__(name: str) -> object:
    # Imported on demand: they require SQLAlchemy.
    if name not in ("RdbmsErrorStore", "RdbmsPersistenceStore"):
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    try:
        from siddhi.persistence.rdbms import RdbmsPersistenceStore
        from siddhi.persistence.rdbms_errors import RdbmsErrorStore
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise ImportError(f"{name} requires SQLAlchemy: pip install 'siddhi[rdbms]'") from error
    return RdbmsErrorStore if name == "RdbmsErrorStore" else RdbmsPersistenceStore
