"""Local sessions for the command line, tests and benchmarks; elsewhere users have their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from siddhi.spark._compat import FILE_MANAGER, checkpoint_files, require_spark
from siddhi.spark.java import use_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SETTINGS", "local_session"]

_LOCAL_FILES = "org.apache.hadoop.fs.LocalFileSystem"
SETTINGS: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.daemon.module": "siddhi.spark.workers.daemon",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647",
    # The Python origin of each column costs five JVM calls, and always is a line of siddhi.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
    # Hive's copy of the local file system silently fails to rename over a file.
    "spark.hadoop.fs.file.impl": _LOCAL_FILES,
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
}
"""Default settings of a local session."""


def local_session(
    master: str = "local[2]", *, app_name: str = "siddhi", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """Return a session on this machine, with a Java that is found and workers that run this Python.

    Args:
        master: Spark's master, as ``local[4]`` for four cores.
        app_name: name of the application in Spark.
        settings: Spark settings by name, which override :data:`SETTINGS`.

    Raises:
        SparkSetupError: PySpark or Java is missing.
    """
    require_spark()
    use_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(app_name)
    given = settings or {}
    for name, value in {**SETTINGS, **checkpoint_files(), **given}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    if FILE_MANAGER not in given and not _replaces_files(session):
        for name, value in checkpoint_files(quick=False).items():
            session.conf.set(name, value)
    return session


def _replaces_files(session: SparkSession) -> bool:
    """Return whether the session renames over files; the JVM keeps the local file system of its first session."""
    system = session._jvm.org.apache.hadoop.fs.Path("file:///").getFileSystem(session._jsc.hadoopConfiguration())
    return str(system.getClass().getName()) == _LOCAL_FILES
