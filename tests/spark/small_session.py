"""Sessions for tests: a JVM that lives for a minute or two spends most of it on compiling itself."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from siddhi.spark import local_session
from siddhi.spark._compat import require_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["COMPILED", "INTERPRETED", "small_session"]

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}  # Spark's defaults
SMALL = {
    "spark.driver.memory": "1g",
    # The first of the JVM's compilers alone, one collector thread: half the CPU of a short run, and the same results.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    # For a handful of rows to compile an expression costs more than to interpret it, and for hundreds of apps in one
    # query it is more than the JVM takes in a method. Tests of Catalyst's results turn it on: see `compiled`.
    **INTERPRETED,
}
_homes: list[tempfile.TemporaryDirectory[str]] = []


def small_session(name: str) -> SparkSession:
    """A session on two cores.

    Raises:
        SparkSetupError: there is no Java, or no PySpark.
    """
    # Workers are started all the time: else each would compile anew what it imports of a source tree.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    require_spark()
    _without_zip()
    return local_session("local[2]", app_name=name, settings=SMALL)


def _without_zip() -> None:
    """Point ``SPARK_HOME`` at the installed PySpark without ``python/lib/pyspark.zip``.

    The zip is the first place where Spark's workers look, and there is no bytecode in it: half a second for each start of
    a stream. Without it they take the package that is installed, which is the same.
    """
    if "SPARK_HOME" in os.environ or os.name == "nt":
        return
    import pyspark

    _homes.append(tempfile.TemporaryDirectory(prefix="spark-home-"))
    home = Path(_homes[0].name)
    for folder in ("bin", "jars", "sbin"):
        (home / folder).symlink_to(Path(pyspark.__file__).parent / folder)
    os.environ["SPARK_HOME"] = str(home)
