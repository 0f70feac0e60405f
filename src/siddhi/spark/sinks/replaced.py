"""The folder of a batch write: it takes the place of what the last one left there, and of nothing else.

A mark says that a folder is one: it is there before the rows, and stays while they are deleted, so whatever a crash leaves
may be replaced, too.
"""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark.sinks.ownership import is_of_a_stream

__all__ = ["clear", "require_replaceable"]

_MARK = "_siddhi_write"
_WRITTEN = re.compile(r"part-.*|_SUCCESS|_temporary|__magic.*|_(?:started|committed)_.*")
"""What Spark leaves of a write, by its committers."""


def require_replaceable(spark: SparkSession, folder: str) -> None:
    """See to it that a batch may write to a folder, and change nothing yet.

    Raises:
        SparkRunError: there is something else than what another batch wrote: rows of a stream, or files of somebody.
    """
    if files.is_file(spark, folder):
        raise SparkRunError(f"{folder} is a file: a sink writes a folder of files. Give it another path")
    names = files.names(spark, folder)
    if is_of_a_stream(spark, folder):
        raise SparkRunError(
            f"folder {folder} belongs to a stream, whose rows a batch would delete: give the batch a folder of its own, or "
            "delete this one first"
        )
    ours = _MARK in names
    others = sorted(name for name in names if not (ours and (name == _MARK or _WRITTEN.fullmatch(name))))
    if others:
        more = "" if len(others) <= 3 else f" and {len(others) - 3} more"
        raise SparkRunError(
            f"folder {folder} holds what no batch of an app wrote there, and would be deleted ({', '.join(others[:3])}{more}): "
            "give the sink a folder of its own, or empty this one first"
        )


def clear(spark: SparkSession, folder: str) -> None:
    """Make a folder that is empty but for the mark.

    Raises:
        SparkRunError: it holds something else than what another batch wrote.
    """
    require_replaceable(spark, folder)
    files.make_folder(spark, folder)
    files.touch(spark, f"{folder}/{_MARK}")
    for name in files.names(spark, folder):
        if name != _MARK:
            files.delete(spark, f"{folder}/{name}")
