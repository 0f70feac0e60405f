"""Bind a stream to its ``@source`` annotations."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi.planner.plan.nodes import StreamPlan
from siddhi.query_api.app import SiddhiApp
from siddhi.query_api.definition import Attribute
from siddhi.spark.catalyst.bindings import Binding
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.sources.annotations import Connector, refuse_connector
from siddhi.spark.sources.files import Files, read_files
from siddhi.spark.sources.kafka import read_kafka

__all__ = ["declared_binding", "rows_in_order"]

_PLACE = "__source"
_ORDER = "__order"


def declared_binding(
    spark: SparkSession, app: SiddhiApp, stream: StreamPlan, sources: Sequence[Connector], *, streaming: bool
) -> Binding:
    """Return the binding of a stream's sources: the rows of all, those of one ms in the order of the sources.

    Raises:
        SparkLoweringError: a source does not fit the stream; the error has its place.
        SparkSetupError: Spark's Kafka connector is missing.
    """
    frames, orders = [], []
    for source in sources:
        if source.type == "rate" and not streaming:
            message = f"{source.what} generates rows over time, so it has none in batch"
            raise refuse_connector(source, app, message, "use start(checkpoint, ...)")
        try:
            frame, order = _read(spark, source, stream.attributes, streaming=streaming)
        except ValueError as error:
            hint = "give a file or folder that Spark can read, with a column for every attribute; or bind a DataFrame"
            raise refuse_connector(source, app, f"{source.what}: {error}", hint) from error
        frames.append(frame)
        orders.append(order)
    options = sources[0].options
    # Batch ignores them, but checks that they are intervals.
    watermark, idle = options.get("watermark", "0 seconds" if streaming else None), options.get("max.idle")
    if len(sources) == 1:
        return Binding(stream.id, frames[0], options["timestamp"], watermark, orders[0], idle)
    union, sequence = rows_in_order(stream.attributes, frames, orders)
    orders_shown = tuple(" ".join((source.type, *order)) for source, order in zip(sources, orders, strict=True))
    return Binding(stream.id, union, options["timestamp"], watermark, sequence, idle, orders_shown)


def _read(
    spark: SparkSession, source: Connector, attributes: Sequence[Attribute], *, streaming: bool
) -> tuple[DataFrame, tuple[str, ...]]:
    """Return the rows of a source, and the columns that order those of one ms."""
    if source.type == "file":
        uri = source.options["file.uri"]
        files = Files(
            source.stream,
            source.format,
            uri,
            attributes,
            source.sequence,
            None,
            source.extra(),
            source.options["timestamp"],
        )
        read = read_files(spark, files, streaming=streaming)
        return read.frame, read.order
    if source.type == "kafka":
        rows = read_kafka(spark, source, attributes, streaming=streaming)
        return rows, source.sequence or ("partition", "offset")
    if not streaming:
        raise ValueError(
            "it generates rows over time, so it has none in batch; start(checkpoint, ...) runs it as a stream"
        )
    ticks = spark.readStream.format("rate").options(**source.extra()).load()
    columns = [
        (F.unix_millis("timestamp") if a.name == source.options["timestamp"] else F.col("value"))
        .cast(SPARK_TYPES[a.type])
        .alias(a.name)
        for a in attributes
    ]
    return ticks.select(*columns), source.sequence


def rows_in_order(
    attributes: Sequence[Attribute],
    frames: Sequence[DataFrame],
    orders: Sequence[Sequence[str]],
    more: Sequence[Sequence[Column]] = (),
) -> tuple[DataFrame, tuple[str, ...]]:
    """Return the rows of several frames as those of one stream.

    Args:
        attributes: attributes of the stream.
        frames: frames with a column per attribute.
        orders: by frame, the columns that order its rows of one ms; none: a hash of the row does.
        more: by frame, other columns to keep.

    Returns:
        The rows, and the columns that order those of one ms: first those of the first frame.
    """
    width = max(1, *(len(order) for order in orders))
    union = None
    for place, (frame, order) in enumerate(zip(frames, orders, strict=True)):
        values = [F.col(f"`{a.name}`").cast(SPARK_TYPES[a.type]).alias(a.name) for a in attributes]
        by = [F.col(f"`{name}`").cast("bigint") for name in order] or [F.xxhash64(*values)]
        by += [F.lit(0).cast("bigint")] * (width - len(by))
        places = [F.lit(place).alias(_PLACE), *(c.alias(f"{_ORDER}{n}") for n, c in enumerate(by))]
        placed = frame.select(*values, *(more[place] if more else ()), *places)
        union = placed if union is None else union.unionAll(placed)
    assert union is not None
    return union, (_PLACE, *(f"{_ORDER}{n}" for n in range(width)))
