"""The same app on Apache Spark, batch and streaming. Needs the extra ``siddhi[spark]``; ``import siddhi`` loads none of it.

from siddhi.spark import SparkRuntime

runtime = SparkRuntime(app_text, spark)
runtime.bind("Trades", trades, timestamp="ts")
alerts = runtime.output("Alerts")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from siddhi.errors import SparkLoweringError, SparkRunError, SparkSetupError

if TYPE_CHECKING:
    from siddhi.spark.runtime import SparkRuntime
    from siddhi.spark.session import local_session

__all__ = ["SparkLoweringError", "SparkRunError", "SparkRuntime", "SparkSetupError", "local_session"]


def __getattr__(name: str) -> object:
    """Load what needs PySpark when it is asked for, so that the error names what to install."""
    if name == "SparkRuntime":
        from siddhi.spark._compat import require_spark

        require_spark()
        from siddhi.spark.runtime import SparkRuntime

        return SparkRuntime
    if name == "local_session":
        from siddhi.spark.session import local_session

        return local_session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
