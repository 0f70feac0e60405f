"""The process from which Spark forks its Python workers, with the modules that each worker of ours needs.

Spark starts a worker for each task of a stateful operator in each micro-batch. Forked from this process instead of Spark's own
(``spark.python.daemon.module``), a worker begins with pandas, Arrow and the engine in memory.
"""

from __future__ import annotations

from importlib import import_module

from siddhi.spark.workers.worker import freeze_modules

MODULES = (
    "pandas",
    "pyarrow.compute",
    "pyarrow.pandas_compat",
    "pyspark.worker",
    "siddhi.planner.app",
    "siddhi.runtime.assembly.app",
    "siddhi.runtime.manager",
    "siddhi.spark.workers.batch",
    "siddhi.spark.workers.stateful",
)


def main() -> None:
    """Import the modules, then run Spark's daemon, whose workers inherit them."""
    for name in MODULES:
        import_module(name)
    freeze_modules()
    import_module("pyspark.daemon").manager()


if __name__ == "__main__":
    main()
