"""Several ``--output`` options of one stream."""

from __future__ import annotations

from pyspark.sql import DataFrame

from siddhi.spark.sinks.declared import DeclaredSinks

__all__ = ["FolderSinks"]


class FolderSinks(DeclaredSinks):
    """All output folders of a stream, with the time of its rows."""

    def __call__(self, frame: DataFrame, batch: int) -> int:
        """Pass each folder the rows of a micro-batch, cached, as rows that are read twice would be counted twice."""
        frame.persist()
        try:
            return max(sink(frame, batch) for sink in self.sinks)
        finally:
            frame.unpersist()
