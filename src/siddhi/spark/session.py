"""Sessions on this machine, for the command line, tests and benches; elsewhere users bring their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from siddhi.spark._compat import checkpoint_files, require_spark
from siddhi.spark.java import use_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SETTINGS", "local_session"]

SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    # Where in Python a column was made: five calls to the JVM for each column, and the place is always inside siddhi.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
}
"""What a local session is started with, unless other settings are given."""


def local_session(
    master: str = "local[2]", *, app_name: str = "siddhi", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session on this machine, with a Java that was looked for and workers that run this Python.

    Args:
        master: Spark's master, as ``local[4]`` for four cores.
        app_name: as Spark shows it.
        settings: Spark's settings by name, over :data:`SETTINGS`.

    Raises:
        SparkSetupError: PySpark or Java is missing.
    """
    require_spark()
    use_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(app_name)
    for name, value in {**SETTINGS, **checkpoint_files(), **(settings or {})}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
