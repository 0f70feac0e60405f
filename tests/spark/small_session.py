"""Sessions for tests: a JVM that lives for a minute or two spends most of it on compiling itself."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from siddhi.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["small_session"]

SMALL = {
    "spark.driver.memory": "1g",
    # The first of the JVM's compilers alone, one collector thread: half the CPU of a short run, and the same results.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
}


def small_session(name: str) -> SparkSession:
    """A session on two cores.

    Raises:
        SparkSetupError: there is no Java, or no PySpark.
    """
    # Workers are started all the time: else each would compile anew what it imports of a source tree.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    return local_session("local[2]", app_name=name, settings=SMALL)
