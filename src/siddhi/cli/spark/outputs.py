"""Several ``--output`` of one stream, on Spark."""

from __future__ import annotations

from pyspark.sql import DataFrame

from siddhi.spark.sinks.declared import DeclaredSinks

__all__ = ["FolderSinks"]


class FolderSinks(DeclaredSinks):
    """All folders of a stream, with the time of its rows, as a single one gets them."""

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Give each the rows of a micro-batch, which are made once: what is read twice would be counted twice."""
        frame.persist()
        try:
            return max(sink(frame, batch) for sink in self.sinks)
        finally:
            frame.unpersist()
