"""Null and NaN stay what they are, the same for rows, numpy, pandas, polars and Arrow, in and out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import siddhi

NAN = float("nan")
VALUES: dict[str, list[Any]] = {
    "price": [1.5, None, NAN],
    "n": [1, None, 3],
    "ok": [True, None, False],
    "name": ["a", None, "c"],
}
TEXT = "define stream S (price double, n int, ok bool, name string);\nfrom S select price, n, ok, name insert into Out;"
ROWS = [dict(zip(VALUES, row, strict=True)) for row in zip(*VALUES.values(), strict=True)]
ARROW = pa.table(
    {
        "price": pa.array(VALUES["price"], pa.float64()),
        "n": pa.array(VALUES["n"], pa.int32()),
        "ok": pa.array(VALUES["ok"]),
        "name": pa.array(VALUES["name"]),
    }
)
MASK = [False, True, False]


def nullable() -> pd.DataFrame:
    price = pd.arrays.FloatingArray(np.array([1.5, 0.0, NAN]), np.array(MASK))
    return pd.DataFrame(
        {
            "price": price,
            "n": pd.array(VALUES["n"], "Int32"),
            "ok": pd.array(VALUES["ok"], "boolean"),
            "name": pd.array(VALUES["name"], "string"),
        }
    )


INPUTS: dict[str, Callable[[], Any]] = {
    "mappings": lambda: ROWS,
    "tuples": lambda: [tuple(row.values()) for row in ROWS],
    "lists": lambda: VALUES,
    "numpy": lambda: {
        "price": np.ma.MaskedArray([1.5, 0.0, NAN], MASK),
        "n": np.ma.MaskedArray([1, 0, 3], MASK),
        "ok": np.ma.MaskedArray([True, False, False], MASK),
        "name": np.array(VALUES["name"], object),
    },
    "pandas": nullable,
    "pandas with Arrow types": lambda: ARROW.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(ARROW),
    "polars lazily": lambda: pl.DataFrame(ARROW).lazy(),
    "arrow": lambda: ARROW,
}


def of_pandas(frame: pd.DataFrame) -> dict[str, list[Any]]:
    return {name: [None if value is pd.NA else value for value in frame[name]] for name in frame.columns}


def of_numpy(table: Any) -> dict[str, list[Any]]:
    return {name: table[name].tolist() for name in table.dtype.names}


OUTPUTS: dict[str, Callable[[siddhi.EventBatch], dict[str, list[Any]]]] = {
    "rows": lambda batch: {name: [row[i] for row in batch] for i, name in enumerate(batch.names)},
    "dicts": lambda batch: {name: [row[name] for row in batch.to_dicts()] for name in batch.names},
    "numpy": lambda batch: of_numpy(batch.to_numpy()),
    "columns": lambda batch: {name: batch[name].tolist() for name in batch.names},
    "pandas": lambda batch: of_pandas(batch.to_pandas()),
    "polars": lambda batch: pl.DataFrame(batch).to_dict(as_series=False),
    "arrow": lambda batch: pa.table(batch).to_pydict(),
}


def comparable(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """The columns, with a text for NaN, which equals nothing."""
    return {
        name: ["NaN" if isinstance(value, float) and math.isnan(value) else value for value in values]
        for name, values in columns.items()
    }


@pytest.mark.parametrize("given", INPUTS)
def test_null_and_nan_go_in_and_come_out_as_they_are(given: str) -> None:
    batch = siddhi.query(TEXT, S=INPUTS[given]())["Out"]
    for name, read in OUTPUTS.items():
        assert comparable(read(batch)) == comparable(VALUES), name
