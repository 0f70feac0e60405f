"""A folder of output keeps its format: of two, no reader takes both. The names that Spark gives its files tell which it is."""

from __future__ import annotations

import re

from pyspark.sql import SparkSession

from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark.sinks.ownership import batches_of

__all__ = ["require_format"]

_PART = re.compile(r"part-[^.]*(?:\.\w+)*?\.(parquet|csv|json|orc)(?:\.\w+)*")


def require_format(spark: SparkSession, folder: str, format_: str) -> None:
    """See to it that the batches in a folder are of a format, as far as the last one tells.

    Raises:
        SparkRunError: it is of another one.
    """
    there = batches_of(files.names(spark, folder))
    if not there:
        return
    names = files.names(spark, f"{folder}/batch={max(there)}")
    others = {part[1] for name in names if (part := _PART.fullmatch(name))} - {format_}
    if others:
        other = min(others)
        raise SparkRunError(
            f"folder {folder} holds batches in {other}, and with {format_} beside them nothing could read it: go on with "
            f"{other}, or give the sink a folder of its own"
        )
