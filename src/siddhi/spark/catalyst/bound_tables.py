"""Tables with bound rows: DataFrames for Catalyst joins, or rows sent to the workers."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from siddhi.errors import DefinitionNotExistError, did_you_mean
from siddhi.planner.plan.nodes import Plan
from siddhi.spark.catalyst.bindings import check_columns, check_kinds
from siddhi.spark.catalyst.expressions import SPARK_TYPES
from siddhi.spark.catalyst.table_keys import key_of_several
from siddhi.spark.failures import BadRowError
from siddhi.spark.plan.naming import app_called

__all__ = ["BoundTables"]

_LIMIT = 256 << 20


class BoundTables:
    """The tables of an app by their DataFrames.

    Args:
        plan: plan of the app.
        read_only: tables that no query writes.
    """

    def __init__(self, plan: Plan, read_only: Collection[str]) -> None:
        self._plan = plan
        self._read_only = read_only
        self.frames: dict[str, DataFrame] = {}

    def bind(self, table: str, frame: DataFrame) -> None:
        """Bind a table to its rows.

        Raises:
            DefinitionNotExistError: the app has no such table.
            ValueError: the app writes the table, or a column is missing or has another type.
            TypeError: the frame is not a Spark DataFrame.
        """
        if table not in self._plan.tables:
            raise DefinitionNotExistError(
                f"{app_called(self._plan)} has no table '{table}'{did_you_mean(table, self._plan.tables)}"
            )
        if table not in self._read_only:
            raise ValueError(f"table '{table}' is written by the app: insert rows by a stream instead")
        check_kinds(f"table '{table}'", frame)
        if frame.isStreaming:
            raise ValueError(
                f"table '{table}' can't be bound to a streaming DataFrame: bind a stream and insert from it"
            )
        check_columns(f"table '{table}'", frame, self._plan.tables[table].attributes)
        self.frames[table] = frame

    def require(self, needed: Sequence[str]) -> None:
        """Check that tables have rows.

        Raises:
            ValueError: some are not bound.
        """
        missing = [name for name in needed if name not in self.frames]
        if missing:
            raise ValueError(f"table {', '.join(missing)} has no rows: call bind_table first")

    def rows(self, name: str) -> bytes:
        """Compute the rows of a table, and return them as an Arrow stream for the workers.

        Raises:
            BadRowError: several rows share a primary key.
            ValueError: the rows exceed the limit for workers.
        """
        attributes = self._plan.tables[name].attributes
        frame = self.frames[name].select(
            *(F.col(f"`{a.name}`").cast(SPARK_TYPES[a.type]).alias(a.name) for a in attributes)
        )
        table: pa.Table = frame.toArrow()
        wrong = key_of_several(table, self._plan.tables[name])
        if wrong is not None:
            raise BadRowError(wrong)
        if table.nbytes > _LIMIT:
            raise ValueError(
                f"table '{name}' has {table.nbytes >> 20} MB, more than the {_LIMIT >> 20} MB that are sent to every worker: join it "
                "with Spark before the app, or write a join that Catalyst can run"
            )
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(table)
        return sink.getvalue()
