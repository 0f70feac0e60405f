"""What the session is set to while a query of ours is started."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

__all__ = ["STATE_STORE", "query_settings", "with_settings"]

STATE_STORE = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The state store that stateful operators written in Python need."""
_setting = threading.RLock()
_NO_LIMIT = str((1 << 31) - 1)


@contextmanager
def with_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """The session with other settings until the block ends; a query keeps those it was started with.

    One thread at a time: what another one had set would be taken for the user's. Sessions may share their settings under
    several objects, so the lock is one for all.
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
    """What a query is started with; ``partitions``: of the stateful operator."""
    return {
        "spark.sql.streaming.stateStore.providerClass": STATE_STORE,
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
        # Else every value is read before it is written anew, to count how many there are.
        "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        "spark.sql.execution.arrow.maxBytesPerBatch": _NO_LIMIT,  # else every row is asked how large the batch is by now
        "spark.sql.streaming.multipleWatermarkPolicy": "min",
        "spark.sql.streaming.noDataMicroBatches.enabled": "true",  # what the watermark has passed is released in one
        "spark.sql.inMemoryColumnarStorage.compressed": "false",  # what is kept for the sinks is compressed already
    }
