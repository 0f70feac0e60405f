"""Kafka, through Spark's connector."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi.errors import SparkSetupError
from siddhi.query_api.definition import Attribute
from siddhi.spark._compat import spark_version
from siddhi.spark.sources.annotations import Connector
from siddhi.spark.sources.text import BAD, Text, typed_rows

__all__ = ["kafka_options", "messages_as_rows", "read_kafka", "require_kafka"]

_PROVIDER = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


def kafka_options(connector: Connector) -> dict[str, str]:
    """Return the options of Spark's reader or writer; a reader starts at the first message by default."""
    options = {name: value for name, value in connector.extra().items() if name.lower() != "mode"}
    begins = any(name.lower().startswith("starting") for name in options)
    where = "subscribe" if connector.direction == "source" else "topic"
    defaults = {} if begins or connector.direction == "sink" else {"startingOffsets": "earliest"}
    return {
        "kafka.bootstrap.servers": connector.options["bootstrap.servers"],
        where: connector.options["topic"],
        **defaults,
        **options,
    }


def read_kafka(
    spark: SparkSession, connector: Connector, attributes: Sequence[Attribute], *, streaming: bool
) -> DataFrame:
    """Return the messages of topics as rows with ``partition`` and ``offset``, which order those of one ms.

    Raises:
        SparkSetupError: Spark's Kafka connector is missing.
    """
    require_kafka(spark)
    reader = spark.readStream if streaming else spark.read
    messages = reader.format("kafka").options(**kafka_options(connector)).load()
    return messages_as_rows(messages, connector, attributes)


def messages_as_rows(messages: DataFrame, connector: Connector, attributes: Sequence[Attribute]) -> DataFrame:
    """Return the rows of messages with a JSON object.

    Args:
        messages: a DataFrame with ``topic``, ``partition``, ``offset`` and ``value``.
    """
    schema = ", ".join([*(f"`{a.name}` string" for a in attributes), f"`{BAD}` string"])
    # Text without an object has no struct: all columns would be null.
    value = F.coalesce(F.col("value").cast("string"), F.lit(""))
    parsed = F.from_json(value, schema, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": BAD})
    bad = F.when(F.col(f"__row.`{BAD}`").isNotNull() | F.col("__row").isNull(), F.col("__value")).alias(BAD)
    where = F.concat_ws(" ", F.lit("topic"), F.col("topic"), F.lit("partition"), F.col("partition").cast("string"))
    location = F.concat(where, F.lit(" offset "), F.col("offset").cast("string"))
    raw = messages.select(
        value.alias("__value"), parsed.alias("__row"), location.alias("__place"), "partition", "offset"
    )
    raw = raw.select(*(F.col(f"__row.`{a.name}`") for a in attributes), bad, "__place", "partition", "offset")
    text = Text(
        f"stream '{connector.stream}'",
        F.col("__place"),
        mode=_mode(connector),
        timed=connector.options["timestamp"],
        is_json=True,
    )
    return typed_rows(raw, text, attributes, keep=["partition", "offset"])


def _mode(connector: Connector) -> str:
    return next((value for name, value in connector.options.items() if name.lower() == "mode"), "FAILFAST")


def require_kafka(spark: SparkSession) -> None:
    """Check that Spark's Kafka connector is on the class path.

    Raises:
        SparkSetupError: it is not; the message names the package.
    """
    assert spark._jvm is not None
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource(_PROVIDER.replace(".", "/") + ".class") is None:
        version = ".".join(map(str, spark_version()))
        raise SparkSetupError(
            "Kafka needs Spark's connector: start the session with "
            f"spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:{version}"
        )
