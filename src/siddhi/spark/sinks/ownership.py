"""Ownership of output folders: batches of another checkpoint have the same numbers, and would count as written."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pyspark.sql import SparkSession

from siddhi.errors import SparkRunError
from siddhi.spark import files

__all__ = ["Owner", "batches_of", "claim", "is_of_a_stream", "require_own", "require_still_own"]

_BATCH = re.compile(r"batch=(\d+)")


@dataclass(frozen=True, slots=True)
class Owner:
    """A checkpoint that writes.

    Attributes:
        checkpoint: its folder, for messages.
        id: its id.
        parents: ids of the checkpoints it was migrated from.
        last: number of the last planned batch, as sinks know it; None: there was none.
    """

    checkpoint: str
    id: str
    parents: tuple[str, ...] = ()
    last: int | None = None


def require_own(spark: SparkSession, folder: str, owner: Owner) -> None:
    """Check that a checkpoint may write to a folder, without changing it.

    A folder without owner belongs to a checkpoint that can have written its batches, and so does the folder of a parent. A folder
    that is new to the checkpoint may have files that Spark does not read (``_SUCCESS``).

    Raises:
        SparkRunError: another checkpoint, or no stream, wrote its files.
    """
    if files.is_file(spark, folder):
        raise SparkRunError(f"{folder} is a file, and the sink writes a folder: give it another path")
    mark = files.text_of(spark, _name(folder))
    if mark == owner.id:
        return
    names = files.names(spark, folder)
    there = batches_of(names)
    may_be_own = mark is None or mark in owner.parents
    if there and may_be_own and owner.last is not None and max(there) <= owner.last:
        return
    if not there:
        foreign = sorted(name for name in names if not name.startswith(("_", ".")))
        if not foreign or mark in owner.parents:
            return
        more = "" if len(foreign) <= 3 else f" and {len(foreign) - 3} more"
        raise SparkRunError(
            f"folder {folder} has files that no stream wrote ({', '.join(foreign[:3])}{more}), which would be read as its rows: use "
            "another folder, or empty this one"
        )
    raise SparkRunError(
        f"folder {folder} has batches that checkpoint {owner.checkpoint} did not write, and batches of the same number would count as "
        "written: use another folder, or empty this one"
    )


def batches_of(names: Iterable[str]) -> list[int]:
    """Return the numbers of the batches in a folder, from the names of its entries."""
    return [int(found[1]) for name in names if (found := _BATCH.fullmatch(name))]


def is_of_a_stream(spark: SparkSession, folder: str) -> bool:
    """Return whether a checkpoint owns a folder, or has written batches there."""
    if batches_of(files.names(spark, folder)):
        return True
    return files.text_of(spark, _name(folder)) is not None


def claim(spark: SparkSession, folder: str, owner: Owner) -> None:
    """Make a checkpoint the owner of a folder; see :func:`require_own`."""
    if files.text_of(spark, _name(folder)) != owner.id:
        files.make_folder(spark, folder)
        files.write_text(spark, _name(folder), owner.id)


def require_still_own(spark: SparkSession, folder: str, owner: Owner) -> None:
    """Check that no other checkpoint has claimed a folder since.

    Raises:
        SparkRunError: one has.
    """
    if files.text_of(spark, _name(folder)) != owner.id:
        raise SparkRunError(
            f"folder {folder} was claimed by another checkpoint than {owner.checkpoint}, or emptied while it was written: use a folder "
            "per checkpoint"
        )


def _name(folder: str) -> str:
    return f"{folder}/_siddhi"
