"""Apps on Apache Spark, batch and streaming. Needs the extra ``siddhi[spark]``; ``import siddhi`` does not load it.

from siddhi.spark import SparkRuntime

runtime = SparkRuntime(app_text, spark)
runtime.bind("Trades", trades, timestamp="ts")
alerts = runtime.output("Alerts")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from siddhi.errors import SparkLoweringError, SparkRunError, SparkSetupError

if TYPE_CHECKING:
    from siddhi.spark.checkpoint.inspection import CheckpointState
    from siddhi.spark.failures import run_errors
    from siddhi.spark.runtime import SparkRuntime
    from siddhi.spark.session import local_session
    from siddhi.spark.sinks.declared import FileSink, KafkaSink, MemorySink
    from siddhi.spark.streaming.query import SparkQuery

__all__ = [
    "CheckpointState",
    "FileSink",
    "KafkaSink",
    "MemorySink",
    "SparkLoweringError",
    "SparkQuery",
    "SparkRunError",
    "SparkRuntime",
    "SparkSetupError",
    "local_session",
    "run_errors",
]

_MODULES = {
    "CheckpointState": "checkpoint.inspection",
    "FileSink": "sinks.declared",
    "KafkaSink": "sinks.declared",
    "MemorySink": "sinks.declared",
    "SparkQuery": "streaming.query",
    "SparkRuntime": "runtime",
    "local_session": "session",
    "run_errors": "failures",
}


def __getattr__(name: str) -> object:
    """Load the modules that need PySpark on first access, so that an error names what to install."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if module != "session":
        from siddhi.spark._compat import require_spark

        require_spark()
    return getattr(import_module(f"{__name__}.{module}"), name)
