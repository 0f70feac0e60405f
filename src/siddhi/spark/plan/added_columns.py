"""Names of columns that outputs get beside their attributes; no attribute may have one of them."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi.query_api.definition import Attribute

__all__ = ["require_no_batch", "require_no_timestamp"]


def require_no_timestamp(stream: str, attributes: Sequence[Attribute]) -> None:
    """Check that the rows of a stream can get their event time as ``_timestamp``.

    Raises:
        ValueError: an attribute has this name, in any case.
    """
    _require_none(stream, attributes, "_timestamp", "the name of the added column of event time")


def require_no_batch(stream: str, attributes: Sequence[Attribute]) -> None:
    """Check that the rows of a stream can be written to folders ``batch=<number>``.

    Raises:
        ValueError: an attribute is called ``batch``, in any case.
    """
    _require_none(stream, attributes, "batch", "a column that readers of the files take from the folder names batch=N")


def _require_none(stream: str, attributes: Sequence[Attribute], name: str, why: str) -> None:
    for attribute in attributes:
        if attribute.name.lower() == name:
            raise ValueError(
                f"stream '{stream}' has an attribute '{attribute.name}', {why}: rename it (select {attribute.name} as ...)"
            )
