"""To which checkpoint a folder of output belongs: batches of another one have the same numbers, and would pass for written."""

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
        id: of the checkpoint.
        parents: of those it was migrated from.
        last: the number of the last batch that was planned, as sinks know it; None: there was none.
    """

    checkpoint: str
    id: str
    parents: tuple[str, ...] = ()
    last: int | None = None


def require_own(spark: SparkSession, folder: str, owner: Owner) -> None:
    """See to it that a checkpoint may write to a folder, and change nothing yet.

    A folder without a mark is that of a checkpoint whose batches it may hold, and so is that of a checkpoint it was migrated
    from. What Spark does not read (``_SUCCESS``) may lie in a folder that is new to the checkpoint.

    Raises:
        SparkRunError: another checkpoint wrote what is there, or no stream.
    """
    if files.is_file(spark, folder):
        raise SparkRunError(f"{folder} is a file: a sink writes a folder of files. Give it another path")
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
            f"folder {folder} holds files that no stream wrote ({', '.join(foreign[:3])}{more}), which would be read as its rows: "
            "give the sink a folder of its own, or empty this one first"
        )
    raise SparkRunError(
        f"folder {folder} holds batches that checkpoint {owner.checkpoint} did not write: batches of the same number would "
        "pass for written. Give a folder of its own, or empty this one first"
    )


def batches_of(names: Iterable[str]) -> list[int]:
    """The numbers of the batches in a folder, by the names of what is there."""
    return [int(found[1]) for name in names if (found := _BATCH.fullmatch(name))]


def is_of_a_stream(spark: SparkSession, folder: str) -> bool:
    """Whether a checkpoint has marked a folder as its own, or written batches there."""
    if batches_of(files.names(spark, folder)):
        return True
    return files.text_of(spark, _name(folder)) is not None


def claim(spark: SparkSession, folder: str, owner: Owner) -> None:
    """Mark a folder as that of a checkpoint; see :func:`require_own`."""
    if files.text_of(spark, _name(folder)) != owner.id:
        files.make_folder(spark, folder)
        files.write_text(spark, _name(folder), owner.id)


def require_still_own(spark: SparkSession, folder: str, owner: Owner) -> None:
    """See to it that nobody else has claimed a folder since.

    Raises:
        SparkRunError: somebody has.
    """
    if files.text_of(spark, _name(folder)) != owner.id:
        raise SparkRunError(
            f"folder {folder} was taken over by another checkpoint than {owner.checkpoint}, or emptied while it was written to: "
            "give each checkpoint a folder of its own"
        )


def _name(folder: str) -> str:
    return f"{folder}/_siddhi"
