"""The type of an attribute for a column depends on its type in numpy, pandas, polars or Arrow alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from siddhi.frames.schema import columns_of

TABLES: list[tuple[str, Any]] = [
    ("int", pa.table({"a": pa.array([1], pa.uint16())})),
    ("long", pa.table({"a": pa.array([1], pa.uint32())})),
    ("float", pa.table({"a": pa.array([1], pa.float32())})),
    ("double", pa.table({"a": pa.array([Decimal("1.5")])})),
    ("string", pa.table({"a": pa.array(["x"]).dictionary_encode()})),
    ("string", pa.table({"a": pa.array(["x"], pa.large_string())})),
    ("object", pa.table({"a": pa.array([[1]])})),
    ("object", pa.table({"a": pa.array([{"x": 1}])})),
    ("string", pa.table({"a": pa.nulls(1)})),
    ("bool", pl.DataFrame({"a": [True]})),
    ("float", pl.DataFrame({"a": [1.0]}, schema={"a": pl.Float32})),
    ("string", pl.DataFrame({"a": ["x"]}, schema={"a": pl.Categorical})),
    ("object", pl.DataFrame({"a": [{"x": 1}]})),
    ("object", pl.DataFrame({"a": [[1]]})),
    ("int", pl.DataFrame({"a": [1]}, schema={"a": pl.Int8}).lazy()),
    ("int", pd.DataFrame({"a": pd.array([1, None], "Int32")})),
    ("bool", pd.DataFrame({"a": pd.array([True, None], "boolean")})),
    ("double", pd.DataFrame({"a": [1.0, None]})),
    ("string", pd.DataFrame({"a": ["x", None]}, dtype=object)),
    ("string", pd.DataFrame({"a": pd.Categorical(["x"])})),
    ("long", pd.DataFrame({"a": pd.Categorical([7])})),
    ("object", pd.DataFrame({"a": [b"x", 1]})),
    ("long", pd.DataFrame({"a": pd.array([1], "int64[pyarrow]")})),
    ("string", np.array([("x",)], [("a", "U3")])),
    ("float", np.array([(1,)], [("a", "f2")])),
    ("long", {"a": [1, None]}),
    ("double", {"a": [1, 2.5]}),
    ("object", {"a": [1, "x"]}),
    ("string", {"a": pl.Series(["x"])}),
    ("int", {"a": pa.array([1], pa.int32())}),
    ("double", {"a": memoryview(np.array([1.5]))}),
]


@pytest.mark.parametrize(("expected", "table"), TABLES, ids=lambda value: value if isinstance(value, str) else "")
def test_a_column_gives_the_type_of_its_attribute(expected: str, table: Any) -> None:
    columns = columns_of(table)
    assert columns is not None
    assert [(name, column.type.value) for name, column in columns.items()] == [("a", expected)]


INSTANTS = [
    pd.DataFrame({"a": pd.to_datetime(["2020-01-01"], utc=True)}),
    pd.DataFrame({"a": pd.array([0], "timestamp[ms][pyarrow]")}),
    pl.DataFrame({"a": [0]}, schema={"a": pl.Datetime("us")}),
    pl.DataFrame({"a": [0]}, schema={"a": pl.Date}),
    pa.table({"a": pa.array([0], pa.timestamp("ns", "UTC"))}),
    pa.table({"a": pa.array([0], pa.date32())}),
    np.array([(0,)], [("a", "M8[s]")]),
]


@pytest.mark.parametrize("table", INSTANTS, ids=lambda table: type(table).__name__)
def test_dates_and_date_times_are_long_and_may_be_times(table: Any) -> None:
    columns = columns_of(table)
    assert columns is not None
    assert (columns["a"].type.value, columns["a"].is_instant) == ("long", True)


def test_a_value_that_is_no_table_has_no_columns() -> None:
    assert columns_of(5) is None
