"""Tables of every supported library with the same rows, and helpers to read one column."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from siddhi._core.columnar.batch import BatchBuilder
from siddhi._core.columnar.reader import read_columns
from siddhi._core.record.event import Layout

STRING, INT, LONG, FLOAT, DOUBLE, BOOL, OBJECT = range(7)
INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1

TRADES = Layout(("symbol", "price", "volume", "ok"), (STRING, DOUBLE, LONG, BOOL))
ROWS = [
    ("IBM", 1.5, 10, True),
    ("WSO2", -2.0, 2**40, False),
    ("", 0.0, -1, True),
    ("Größe, 12+ bytes", 1e300, 0, False),
]
COLUMNS = {name: [row[i] for row in ROWS] for i, name in enumerate(TRADES.names)}
HOLES = [("IBM", None, 10, True), (None, -2.0, None, None), ("WSO2", None, 3, False)]
HOLE_COLUMNS = {name: [row[i] for row in HOLES] for i, name in enumerate(TRADES.names)}
ARROW_TYPES = {"symbol": pa.string(), "price": pa.float64(), "volume": pa.int64(), "ok": pa.bool_()}


def read(values: Any, code: int) -> list[Any]:
    """Read one column."""
    return [row[0] for row in read_columns({"x": values}, Layout(("x",), (code,)), None).to_rows()]


def times(values: Any) -> list[int] | None:
    return read_columns({"ts": values}, Layout((), ()), "ts").timestamp_list()


def table(columns: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(values, ARROW_TYPES[name]) for name, values in columns.items()})


def shortest(value: float) -> float:
    """Return a float as results show it: the double with the fewest digits that identify the float."""
    return float(str(np.float32(value)))


def structured(columns: dict[str, list[Any]]) -> np.ndarray:
    dtype = [("symbol", "U20"), ("price", "f8"), ("volume", "i8"), ("ok", "?")]
    return np.array(list(zip(*columns.values())), dtype=dtype)


def batch(columns: dict[str, list[Any]]) -> Any:
    builder = BatchBuilder(TRADES)
    for i, row in enumerate(zip(*columns.values())):
        builder.append_row(i, row)
    return builder.take_batch()


def nullable_frame(columns: dict[str, list[object]]) -> pd.DataFrame:
    """Return a column of pandas' nullable types. ``convert_dtypes`` would round integers above 2^53 beside nulls."""
    return pd.DataFrame({name: pd.array(values) for name, values in columns.items()})


INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

NULLABLE_MAKERS = {
    "lists": lambda columns: columns,
    "tuples": lambda columns: {name: tuple(values) for name, values in columns.items()},
    "deques": lambda columns: {name: deque(values) for name, values in columns.items()},
    "object arrays": lambda columns: {name: np.array(values, dtype=object) for name, values in columns.items()},
    "pyarrow table": table,
    "pyarrow table in chunks": lambda columns: pa.concat_tables(
        [table(columns).slice(i, 1) for i in range(len(columns["ok"]))]
    ),
    "pyarrow record batch": lambda columns: table(columns).to_batches()[0],
    "pyarrow reader": lambda columns: table(columns).to_reader(),
    "pyarrow struct array": lambda columns: table(columns).to_struct_array().combine_chunks(),
    "pyarrow arrays": lambda columns: {name: table(columns)[name].combine_chunks() for name in columns},
    "pyarrow chunked arrays": lambda columns: {name: table(columns)[name] for name in columns},
    "polars": pl.DataFrame,
    "polars series": lambda columns: {name: pl.Series(values) for name, values in columns.items()},
    "polars categorical": lambda columns: pl.DataFrame(columns).with_columns(pl.col("symbol").cast(pl.Categorical)),
    "pandas nullable": nullable_frame,
    "pandas arrow": lambda columns: table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "event batch": batch,
}
MAKERS = NULLABLE_MAKERS | {
    "pandas": pd.DataFrame,
    "pandas objects": lambda columns: pd.DataFrame(columns).astype({"symbol": object}),
    "pandas categories": lambda columns: pd.DataFrame(columns).astype({"symbol": "category"}),
    "pandas series": lambda columns: dict(pd.DataFrame(columns).items()),
    "numpy": lambda columns: {name: np.array(values) for name, values in columns.items()},
    "numpy structured": structured,
    "numpy record array": lambda columns: structured(columns).view(np.recarray),
}
