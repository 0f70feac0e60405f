"""Check the installed PySpark, and bridge differences between its versions."""

from __future__ import annotations

import re
from importlib import metadata

from siddhi.errors import SparkSetupError

__all__ = ["FILE_MANAGER", "FLOOR", "checkpoint_files", "require_spark", "spark_version", "version_tuple"]

FLOOR = (4, 0, 1)
"""The first PySpark with the stateful operators, timers and state reader that siddhi uses."""
FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_INSTALL = "install it with: pip install 'siddhi[spark]'"
_NEEDED = ("pyspark", "pyarrow", "pandas", "google.protobuf")


def version_tuple(text: str) -> tuple[int, ...]:
    """Return ``(4, 1, 0)`` for ``'4.1.0.dev2'``."""
    found = re.match(r"\d+(?:\.\d+)*", text)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def spark_version() -> tuple[int, ...]:
    """Return the version of the installed PySpark.

    Raises:
        SparkSetupError: PySpark is not installed.
    """
    try:
        return version_tuple(metadata.version("pyspark"))
    except metadata.PackageNotFoundError:
        pass
    try:
        import pyspark
    except ModuleNotFoundError as error:
        raise SparkSetupError(f"siddhi.spark needs pyspark; {_INSTALL}") from error
    return version_tuple(pyspark.__version__)  # put on the path by a Spark distribution


def require_spark() -> None:
    """Check that the required packages are installed.

    Raises:
        SparkSetupError: a package is missing or too old.
    """
    from importlib.util import find_spec

    for module in _NEEDED:
        try:
            found = find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            package = "protobuf" if module == "google.protobuf" else module
            raise SparkSetupError(f"siddhi.spark needs {package}; {_INSTALL}")
    version = spark_version()
    if version < FLOOR or version >= (5,):
        have = ".".join(map(str, version))
        floor = ".".join(map(str, FLOOR))
        raise SparkSetupError(f"siddhi.spark needs pyspark {floor} or newer (below 5), not {have}; {_INSTALL}")


def checkpoint_files(*, quick: bool = True) -> dict[str, str]:
    """Return the settings of who writes checkpoint files: a file manager that starts no processes on a local disk, or Spark's.

    A repeated batch must replace what its first attempt wrote; the quick file manager leaves that to the file system.
    """
    package = "org.apache.spark.sql.execution.streaming"
    if spark_version() >= (4, 1):
        package += ".checkpointing"
    kind = "FileSystem" if quick else "FileContext"
    return {FILE_MANAGER: f"{package}.{kind}BasedCheckpointFileManager"}
