"""The same app on Apache Spark, batch and streaming. Needs the extra ``siddhi[spark]``; ``import siddhi`` loads none of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.errors import SparkLoweringError, SparkRunError, SparkSetupError

if TYPE_CHECKING:
    from siddhi.spark.session import local_session

__all__ = ["SparkLoweringError", "SparkRunError", "SparkSetupError", "local_session"]


def __getattr__(name: str) -> object:
    """Load what needs PySpark when it is asked for, so that the error names what to install."""
    if name == "local_session":
        from siddhi.spark.session import local_session

        return local_session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
