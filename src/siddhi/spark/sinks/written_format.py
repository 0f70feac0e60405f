"""Check the format of an output folder, by the names that Spark gives its files: no reader takes two formats."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark.sinks.ownership import batches_of

__all__ = ["require_format"]

_PART = re.compile(r"part-[^.]*(?:\.\w+)*?\.(parquet|csv|json|orc)(?:\.\w+)*")


def require_format(spark: SparkSession, folder: str, format_: str) -> None:
    """Check that the last batch in a folder has a format.

    Raises:
        SparkRunError: it has another one.
    """
    there = batches_of(files.names(spark, folder))
    if not there:
        return
    names = files.names(spark, f"{folder}/batch={max(there)}")
    others = {part[1] for name in names if (part := _PART.fullmatch(name))} - {format_}
    if others:
        other = min(others)
        raise SparkRunError(
            f"folder {folder} has batches in {other}, and no reader takes {format_} beside them: write {other}, or use another "
            "folder"
        )
