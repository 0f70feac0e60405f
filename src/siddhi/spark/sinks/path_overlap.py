"""Refuse sinks that write where the app reads: a batch would delete its input, and a stream would read its output."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from siddhi.spark import files
from siddhi.spark.sinks.declared import file_sinks
from siddhi.spark.sources.locations import relation
from siddhi.spark.sources.read_locations import locations_of

__all__ = ["refuse_sinks_in_sources"]


def refuse_sinks_in_sources(spark: SparkSession, sinks: Mapping[str, object], frames: Mapping[str, DataFrame]) -> None:
    """Check that the folder of no sink is, contains or lies within one that is read.

    Args:
        spark: session with the default file system.
        sinks: sinks by stream.
        frames: DataFrames of bound streams and tables.

    Raises:
        ValueError: one does.
    """
    folders = [(stream, sink.path) for stream, given in sinks.items() for sink in file_sinks(given)]
    if not folders:
        return
    read = [
        (name, location, files.qualified(spark, location))
        for name, frame in frames.items()
        for location in locations_of(frame)
    ]
    for stream, folder in folders:
        own = files.qualified(spark, folder)
        for name, location, there in read:
            lies = relation(own, there)
            if lies is not None:
                raise ValueError(
                    f"the sink of '{stream}' writes to folder {folder}, which {lies} {location}, the input of '{name}': use a folder "
                    "apart from all inputs"
                )
