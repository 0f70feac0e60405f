"""Where a checkpoint was written, which is where it stays."""

from __future__ import annotations

from pyspark.sql import SparkSession

from siddhi.errors import SparkRunError
from siddhi.spark import files

__all__ = ["STAYS", "require_location"]

STAYS = "a checkpoint stays where it was written: Spark keeps its absolute path in it"


def require_location(spark: SparkSession, checkpoint: str, written: str) -> None:
    """See to it that a checkpoint is none that was moved or copied, whose batches would pass for those of the original.

    Args:
        checkpoint: its folder, however that is put.
        written: the qualified path it was written at; "": it was begun before that was kept, and may be anywhere.

    Raises:
        SparkRunError: it is another folder.
    """
    if written and not files.is_same_folder(spark, checkpoint, written):
        raise SparkRunError(
            f"checkpoint {checkpoint} was moved or copied from {written} ({STAYS}): go on there, or take a new checkpoint, with "
            "the rows from the beginning"
        )
