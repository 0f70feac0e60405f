"""What says that a batch is written: an object that comes last, with the names and sizes of its files.

A folder that is there says nothing: on an object store a rename copies file by file, and who is killed half-way leaves a
part of them under the final name. A batch without its mark, or with other files than that says, is written anew when it comes
again; its rows are the same then.
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
"""The name of the mark in the folder of a batch; Spark reads nothing that begins with ``_``."""

logger = logging.getLogger("siddhi")


def rows_written(spark: SparkSession, folder: str) -> int | None:
    """How many rows a batch has, all files of which are in its folder; None where it has not been written, or in part."""
    mark = f"{folder}/{MARK}"
    if not files.exists(spark, mark):
        return None
    try:
        said = json.loads(files.read_text(spark, mark))
    except ValueError:  # torn, where a file system copies it to its name bit by bit
        return None
    if not isinstance(said, dict) or type(said.get("rows")) is not int:  # another program's
        return None
    return int(said["rows"]) if said.get("files") == _files(spark, folder) else None


def put(spark: SparkSession, fresh: str, goal: str, rows: int, *, is_own: bool) -> None:
    """Give the folder of a batch, which is whole, its name, and mark it.

    Args:
        fresh: the folder it was written to.
        goal: its name; what is there without being a whole batch goes.
        rows: how many it has.
        is_own: whether the folder above belongs to the checkpoint at work, so that what goes is an attempt of its own and may
            be deleted. Else it stands aside, under a name that Spark does not read.

    Raises:
        SparkRunError: the file system does not rename, or another process writes the same batch.
    """
    brought = _files(spark, fresh)
    if rows_written(spark, goal) is not None:  # by another process, meanwhile
        files.delete(spark, fresh)
        return
    if files.exists(spark, goal):
        _clear(spark, goal, is_own=is_own)
    files.rename(spark, fresh, goal)
    found = _files(spark, goal)
    if found != brought:
        lacking, more = sorted(brought.items() - found.items()), sorted(found.items() - brought.items())
        told = [
            f"{word} {', '.join(name for name, _ in these)}"
            for word, these in (("without", lacking), ("with", more))
            if these
        ]
        raise SparkRunError(
            f"{goal} is {' and '.join(told)} after {fresh} was renamed to it: does another process write there? When the query is "
            "started again, it writes this batch anew"
        )
    said = json.dumps({"rows": rows, "files": brought}, sort_keys=True)
    files.write_new(spark, goal, MARK, said.encode())


def _clear(spark: SparkSession, goal: str, *, is_own: bool) -> None:
    if is_own:
        logger.warning("%s was written in part, or by a version that marked no batches: it is written anew", goal)
        files.delete(spark, goal)
        return
    above, _, name = goal.rpartition("/")
    aside = f"{above}/_aside-{name.removeprefix('batch=')}-{uuid.uuid4().hex}"
    logger.warning(
        "%s was written in part, or by a version that marked no batches: it is written anew, and what was there is in %s",
        goal,
        aside,
    )
    files.rename(spark, goal, aside)


def _files(spark: SparkSession, folder: str) -> dict[str, int]:
    """Names and bytes of the files with rows."""
    sizes = files.sizes(spark, folder)
    return {name: size for name, size in sizes.items() if not name.startswith(("_", "."))}
