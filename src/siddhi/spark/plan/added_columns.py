"""Columns that rows get beside their attributes on the way out: no attribute may have the name of one."""

from __future__ import annotations

from collections.abc import Sequence

from siddhi.query_api.definition import Attribute

__all__ = ["require_no_batch", "require_no_timestamp"]


def require_no_timestamp(stream: str, attributes: Sequence[Attribute]) -> None:
    """Whether rows of a stream can get their event time as ``_timestamp``.

    Raises:
        ValueError: an attribute has this name, in any case.
    """
    _require_none(stream, attributes, "_timestamp", "the name of the column of event time that is added to it")


def require_no_batch(stream: str, attributes: Sequence[Attribute]) -> None:
    """Whether rows of a stream can be read from folders ``batch=<number>``.

    Raises:
        ValueError: an attribute is called ``batch``, in any case.
    """
    _require_none(
        stream, attributes, "batch", "which who reads the files finds replaced by the N of their folders batch=N"
    )


def _require_none(stream: str, attributes: Sequence[Attribute], name: str, why: str) -> None:
    for attribute in attributes:
        if attribute.name.lower() == name:
            raise ValueError(
                f"stream '{stream}' has an attribute '{attribute.name}', {why}: rename it, select {attribute.name} as ..."
            )
