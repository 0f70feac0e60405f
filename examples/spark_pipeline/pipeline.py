"""Raw flight records → cleaning in Spark → a Siddhi app → Parquet: ``python pipeline.py OUT [MASTER]``."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from siddhi.spark import SparkRuntime, local_session

HERE = Path(__file__).parent


def cleaned(spark: SparkSession) -> DataFrame:
    """Departures that took place, typed; ``ts`` is when they left, in ms since 1970."""
    raw = spark.read.parquet(str(HERE / "flights.parquet"))
    scheduled = F.unix_millis(F.to_timestamp("time_hour")) + F.col("minute").cast("bigint") * 60_000
    delay = F.col("dep_delay").try_cast("double").cast("int")
    return raw.where(delay.isNotNull() & F.col("tailnum").isNotNull()).select(
        (scheduled + delay.cast("bigint") * 60_000).alias("ts"),
        "carrier",
        F.col("flight").cast("int").alias("flight"),
        F.col("tailnum").alias("tail"),
        "origin",
        "dest",
        delay.alias("delay"),
    )


def run(spark: SparkSession, out: Path) -> None:
    """Write the streams of the app."""
    runtime = SparkRuntime((HERE / "worsening.siddhi").read_text(encoding="utf-8"), spark, shards=8)
    runtime.bind("Departures", cleaned(spark), timestamp="ts")
    runtime.output("Worsening").write.mode("overwrite").parquet(str(out / "worsening"))
    runtime.aggregation("ByHour", per="hours").write.mode("overwrite").parquet(str(out / "by_hour"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    session = local_session(*sys.argv[2:3])
    run(session, Path(sys.argv[1]))
    session.stop()
