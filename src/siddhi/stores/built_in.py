"""The classes behind the names of the built-in stores (:mod:`siddhi.library.connectors`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from siddhi.extension.connectors import StoreMetadata

if TYPE_CHECKING:
    from siddhi.stores.record_table import RecordTable

__all__ = ["make_store"]


def make_store(metadata: StoreMetadata) -> RecordTable:
    """A store of this kind: of the user's class, or built in."""
    made: Any = metadata.implementation
    return cast("RecordTable", made())
