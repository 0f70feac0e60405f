"""Explain errors for file systems that Spark lacks: object stores need packages that a session is started with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from siddhi.errors import SparkSetupError

__all__ = ["reaching"]

_LACKING = re.compile(r'No FileSystem for scheme:? "?([\w+.-]+)|ClassNotFoundException: (?:Class )?(\S*FileSystem\b)')
_SCHEME = re.compile(r"([A-Za-z][\w+.-]+):")
_PACKAGES: Mapping[str, str] = {"s3a": "hadoop-aws", "azurebfs": "hadoop-azure", "gs": "hadoop-gcp"}
"""Packages of Hadoop's file systems, by the package of their class."""
_OTHER_NAMES = ("s3", "s3n")
"""Schemes of other Spark services for the store that Spark itself calls ``s3a``."""


@contextmanager
def reaching(spark: SparkSession, location: str) -> Iterator[None]:
    """Replace an error for a missing file system by one sentence; other errors pass.

    Raises:
        SparkSetupError: Spark lacks the file system; the message names its package, if it is one of Hadoop's.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        found = _LACKING.search(str(error))
        if found is None:
            raise
        written = _SCHEME.match(location)
        scheme = written[1] if written else found[1] or "its location"  # without scheme, that of Hadoop's configuration
        raise SparkSetupError(
            f"{location} can't be reached, as Spark lacks the file system of {scheme}: {_help(spark, scheme, found[2] or '')}"
        ) from error


def _help(spark: SparkSession, scheme: str, class_: str) -> str:
    if scheme in _OTHER_NAMES:
        return f"open-source Spark calls this store s3a://; start the session with {_setting(spark, _PACKAGES['s3a'])}"
    package = _PACKAGES.get(class_.rpartition(".")[0].rpartition(".")[2])
    if package is not None:
        return f"start the session with {_setting(spark, package)}"
    return "start the session with its package (spark.jars.packages), or correct the path"


def _setting(spark: SparkSession, package: str) -> str:
    """Return the setting for a package of Hadoop, in the version that Spark runs on."""
    try:
        version = spark._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    except (PySparkException, Py4JError, AttributeError):  # unknown over Spark Connect
        version = "<version of Spark's Hadoop>"
    return f"spark.jars.packages=org.apache.hadoop:{package}:{version}"
