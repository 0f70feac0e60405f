"""The classes behind the names of the built-in stores (:mod:`siddhi.library.connectors`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from siddhi.errors import SiddhiAppCreationError
from siddhi.extension.connectors import StoreMetadata

if TYPE_CHECKING:
    from siddhi.stores.record_table import RecordTable

__all__ = ["make_store"]


def make_store(metadata: StoreMetadata) -> RecordTable:
    """A store of this kind: of the user's class, or built in.

    Raises:
        SiddhiAppCreationError: it needs a package that is not installed.
    """
    made: Any = metadata.implementation or _rdbms()
    return cast("RecordTable", made())


def _rdbms() -> type[RecordTable]:
    # Imported where it is asked for: most apps need no database.
    try:
        from siddhi.stores.rdbms import RdbmsTable
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "sqlalchemy":
            raise
        raise SiddhiAppCreationError(
            "store 'rdbms' needs SQLAlchemy", code="E326", hint="pip install 'siddhi[rdbms]'"
        ) from error
    return RdbmsTable
