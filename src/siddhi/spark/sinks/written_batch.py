"""The mark of a complete batch: an object that is written last, with names and sizes of the files.

The existence of a folder proves nothing, as object stores rename by copying files, and a kill leaves some of them. A repeated
batch has the same rows; a folder without mark, or with other files, is written again.
"""

from __future__ import annotations

import json
import logging
import uuid

from pyspark.sql import SparkSession

from siddhi.errors import SparkRunError
from siddhi.spark import files

__all__ = ["MARK", "put", "rows_written"]

MARK = "_siddhi_batch"
"""Name of the mark in the folder of a batch; Spark ignores names with ``_`` in front."""

logger = logging.getLogger("siddhi")


def rows_written(spark: SparkSession, folder: str) -> int | None:
    """Return the number of rows of a complete batch; None: it is missing or incomplete."""
    mark = f"{folder}/{MARK}"
    if not files.exists(spark, mark):
        return None
    try:
        said = json.loads(files.read_text(spark, mark))
    except ValueError:  # truncated, on a file system that copies piece by piece
        return None
    if not isinstance(said, dict) or type(said.get("rows")) is not int:  # of another program
        return None
    return int(said["rows"]) if said.get("files") == _files(spark, folder) else None


def put(spark: SparkSession, fresh: str, goal: str, rows: int, *, is_own: bool) -> None:
    """Rename the folder of a complete batch to its name, and mark it.

    Args:
        fresh: the folder it was written to.
        goal: its name; an incomplete batch there is removed.
        rows: number of rows.
        is_own: whether the parent folder belongs to this checkpoint, so that an incomplete batch is its own and may be deleted;
            otherwise it is renamed to a name that Spark ignores.

    Raises:
        SparkRunError: the file system does not rename, or another process writes the same batch.
    """
    brought = _files(spark, fresh)
    if rows_written(spark, goal) is not None:  # another process was faster
        files.delete(spark, fresh)
        return
    if files.exists(spark, goal):
        _clear(spark, goal, is_own=is_own)
    files.rename(spark, fresh, goal)
    found = _files(spark, goal)
    if found != brought:
        lacking, more = sorted(brought.items() - found.items()), sorted(found.items() - brought.items())
        found_there = [
            f"{word} {', '.join(name for name, _ in these)}"
            for word, these in (("without", lacking), ("with", more))
            if these
        ]
        raise SparkRunError(
            f"{goal} is {' and '.join(found_there)} after {fresh} was renamed to it: another process may write there; the batch is written "
            "again when the query is restarted"
        )
    said = json.dumps({"rows": rows, "files": brought}, sort_keys=True)
    files.write_new(spark, goal, MARK, said.encode())


def _clear(spark: SparkSession, goal: str, *, is_own: bool) -> None:
    if is_own:
        logger.warning("%s is incomplete, or of a version without marks: it is written again", goal)
        files.delete(spark, goal)
        return
    above, _, name = goal.rpartition("/")
    aside = f"{above}/_aside-{name.removeprefix('batch=')}-{uuid.uuid4().hex}"
    logger.warning(
        "%s is incomplete, or of a version without marks: it is written again, and its files are moved to %s",
        goal,
        aside,
    )
    files.rename(spark, goal, aside)


def _files(spark: SparkSession, folder: str) -> dict[str, int]:
    """Return the sizes of the files with rows by name."""
    sizes = files.sizes(spark, folder)
    return {name: size for name, size in sizes.items() if not name.startswith(("_", "."))}
