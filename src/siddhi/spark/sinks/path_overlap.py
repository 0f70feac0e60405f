"""No sink writes where the app reads: a batch would delete its own input, and a stream would feed itself for ever."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from siddhi.spark import files
from siddhi.spark.sinks.declared import file_sinks
from siddhi.spark.sources.locations import relation
from siddhi.spark.sources.read_locations import places_of

__all__ = ["refuse_sinks_in_sources"]


def refuse_sinks_in_sources(spark: SparkSession, sinks: Mapping[str, object], frames: Mapping[str, DataFrame]) -> None:
    """See to it that no sink writes to a folder that is, lies within or contains one that is read.

    Args:
        spark: the session, which says where a path without scheme lies.
        sinks: by stream.
        frames: what streams and tables are bound to.

    Raises:
        ValueError: one does.
    """
    folders = [(stream, sink.path) for stream, given in sinks.items() for sink in file_sinks(given)]
    if not folders:
        return
    read = [
        (name, place, files.qualified(spark, place)) for name, frame in frames.items() for place in places_of(frame)
    ]
    for stream, folder in folders:
        own = files.qualified(spark, folder)
        for name, place, there in read:
            lies = relation(own, there)
            if lies is not None:
                raise ValueError(
                    f"the sink of '{stream}' writes to folder {folder}, which {lies} {place}, where '{name}' is read from: "
                    "give the sink a folder apart from all that is read"
                )
