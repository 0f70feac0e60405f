"""Settings of the session while a query starts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

__all__ = ["STATE_STORE", "query_settings", "with_settings"]

STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The state store that stateful operators in Python need."""
_setting = threading.RLock()
_NO_LIMIT = str((1 << 31) - 1)


@contextmanager
def with_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Change settings of the session until the block ends; a query keeps the settings it was started with.

    Locked, as another thread would take the changed settings for the user's. Session objects may share settings, so there is one
    lock for all.
    """
    with _setting:
        before = {name: spark.conf.get(name, None) for name in settings}
        try:
            for name, value in settings.items():
                spark.conf.set(name, value)
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, value)


def query_settings(partitions: int) -> dict[str, str]:
    """Return the settings of a query; ``partitions``: number of partitions of the stateful operator."""
    return {
        "spark.sql.streaming.stateStore.providerClass": STATE_STORE,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # Otherwise each value is read before it is written, to count keys.
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        "spark.sql.execution.arrow.maxBytesPerBatch": _NO_LIMIT,  # otherwise the size of a batch is computed per row
        "spark.sql.streaming.multipleWatermarkPolicy": "min",
        "spark.sql.streaming.noDataMicroBatches.enabled": "true",  # such a batch emits what the watermark has passed
        "spark.sql.inMemoryColumnarStorage.compressed": "false",  # cached rows for sinks are compressed already
    }
