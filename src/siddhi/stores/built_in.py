"""The classes behind the names of the built-in stores (:mod:`siddhi.library.connectors`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from siddhi.errors import SiddhiAppCreationError
from siddhi.extension.connectors import StoreMetadata

if TYPE_CHECKING:
    from siddhi.stores.record_table import RecordTable

__all__ = ["make_store"]


def make_store(metadata: StoreMetadata) -> RecordTable:
    """Make a store: an instance of the user's class, or a built-in one.

    Raises:
        SiddhiAppCreationError: a package that the store needs is not installed.
    """
    made: Any = metadata.implementation or _rdbms()
    return cast("RecordTable", made())


def _rdbms() -> type[RecordTable]:
    # Imported on demand: most apps use no database.
    try:
        from siddhi.stores.rdbms import RdbmsTable
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sqlalchemy":
            raise
        raise SiddhiAppCreationError(
            "store 'rdbms' requires SQLAlchemy, which is not installed",
            code="E326",
            hint="pip install 'siddhi[rdbms]'",
        ) from error
    return RdbmsTable
