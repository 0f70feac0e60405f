"""The folder of a batch write, which replaces the rows of the last one and nothing else.

A mark identifies such a folder. It is there before the rows and while they are deleted, so leftovers of a crash may be
replaced, too.
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
"""Files that Spark's committers leave."""


def require_replaceable(spark: SparkSession, folder: str) -> None:
    """Check that a batch may write to a folder, without changing it.

    Raises:
        SparkRunError: it has rows of a stream, or files that no batch wrote.
    """
    if files.is_file(spark, folder):
        raise SparkRunError(f"{folder} is a file, and the sink writes a folder: give it another path")
    names = files.names(spark, folder)
    if is_of_a_stream(spark, folder):
        raise SparkRunError(
            f"folder {folder} belongs to a stream, whose rows a batch would delete: use another folder for the batch, or delete this "
            "one"
        )
    ours = _MARK in names
    others = sorted(name for name in names if not (ours and (name == _MARK or _WRITTEN.fullmatch(name))))
    if others:
        more = "" if len(others) <= 3 else f" and {len(others) - 3} more"
        raise SparkRunError(
            f"folder {folder} has files that no batch of an app wrote and that would be deleted ({', '.join(others[:3])}{more}): use "
            "another folder, or empty this one"
        )


def clear(spark: SparkSession, folder: str) -> None:
    """Make a folder that has nothing but the mark.

    Raises:
        SparkRunError: it has rows of a stream, or files that no batch wrote.
    """
    require_replaceable(spark, folder)
    files.make_folder(spark, folder)
    files.touch(spark, f"{folder}/{_MARK}")
    for name in files.names(spark, folder):
        if name != _MARK:
            files.delete(spark, f"{folder}/{name}")
