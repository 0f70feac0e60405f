"""The same data have the same results through every input: null remains null, and NaN a number."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiManager
from siddhi.cli.endpoints import Endpoint, Format
from siddhi.cli.inputs.source import BadLines, open_source
from tests.kit.running import collect

NAMES = ("t", "l", "d", "f", "b")
KINDS = ("string", "long", "double", "float", "bool")
APP = """
define stream S (t string, l long, d double, f float, b bool);
from S#window.length(3)
select t, l, d, f, b, avg(d) as a, sum(f) as s, max(d) as m, min(f) as low, stdDev(d) as dev, count() as n, d is null as no
insert into Out;
"""
ARROW = pa.schema(zip(NAMES, (pa.string(), pa.int64(), pa.float64(), pa.float32(), pa.bool_()), strict=True))
POLARS = dict(zip(NAMES, (pl.String, pl.Int64, pl.Float64, pl.Float32, pl.Boolean), strict=True))
DTYPES = dict(zip(NAMES, (object, np.int64, np.float64, np.float32, bool), strict=True))

Row = tuple[Any, ...]
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=4)
ROWS = st.lists(
    st.tuples(
        st.none() | TEXTS,
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.just(math.nan) | st.floats(),
        st.none() | st.just(math.nan) | st.floats(width=32),
        st.none() | st.booleans(),
    ),
    max_size=12,
)


def columns(rows: list[Row]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(NAMES)}


def arrow(rows: list[Row]) -> pa.Table:
    return pa.table(columns(rows), ARROW)


def masked(rows: list[Row]) -> dict[str, Any]:
    def array(name: str, values: list[Any]) -> Any:
        if name == "t":
            return np.array(values, object)
        plain = np.array([0 if value is None else value for value in values], DTYPES[name])
        return np.ma.MaskedArray(plain, mask=[value is None for value in values])

    return {name: array(name, values) for name, values in columns(rows).items()}


def plain_pandas(rows: list[Row]) -> pd.DataFrame:
    """What can be said without null is a column of numpy's floats, integers or bools, as pandas makes it."""
    return pd.DataFrame(
        {
            name: pd.Series(values, dtype=object if None in values else DTYPES[name])
            for name, values in columns(rows).items()
        }
    )


BATCHES: dict[str, Callable[[list[Row]], Any]] = {
    "lists": columns,
    "masked arrays": masked,
    "pandas": plain_pandas,
    "pandas of Arrow": lambda rows: arrow(rows).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda rows: pl.DataFrame(columns(rows), POLARS),
    "pyarrow": arrow,
}
SINGLE: dict[str, Callable[[Row], Any]] = {
    "lists": list,
    "dicts": lambda row: dict(zip(reversed(NAMES), reversed(row), strict=True)),
    "Series": lambda row: pd.Series(row, NAMES, dtype=object),
    "NA for null": lambda row: tuple(pd.NA if value is None else value for value in row),
    "events": lambda row: Event(0, row),
    "numpy scalars": lambda row: (
        *row[:2],
        *(None if value is None else DTYPES[name](value) for name, value in zip(NAMES[2:], row[2:], strict=True)),
    ),
}


def csv(rows: list[Row]) -> str:
    def cell(value: Any) -> str:
        if isinstance(value, str):
            return '"' + value.replace('"', '""') + '"'
        return "" if value is None else str(value).lower()

    return "".join(",".join(cells) + "\n" for cells in [NAMES, *([cell(value) for value in row] for row in rows)])


def write_csv(rows: list[Row], path: Path) -> None:
    path.write_text(csv(rows), encoding="utf-8", newline="")


def write_jsonl(rows: list[Row], path: Path) -> None:
    lines = [json.dumps(dict(zip(NAMES, row, strict=True))).replace("Infinity", "Inf") for row in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


FILES: dict[Format, Callable[[list[Row], Path], None]] = {
    Format.CSV: write_csv,
    Format.JSONL: write_jsonl,
    Format.PARQUET: lambda rows, path: pq.write_table(arrow(rows), path),
}


def answers(send: Callable[[Any], None]) -> str:
    """Return the outputs of the app as text, in which NaN equals itself, and -0.0 is not 0.0."""
    with SiddhiManager().create_siddhi_app_runtime(APP) as runtime:
        rows = collect(runtime, "Out")
        send(runtime.input_handler("S"))
    return repr(rows)


def one_by_one(rows: list[Any]) -> str:
    def send(handler: Any) -> None:
        for row in rows:
            handler.send(row)

    return answers(send)


@given(ROWS)
def test_rows_of_any_form_give_the_same_results(rows: list[Row]) -> None:
    expected = one_by_one(rows)
    for form, make in SINGLE.items():
        assert one_by_one([make(row) for row in rows]) == expected, form


@given(ROWS)
def test_tables_of_every_library_give_the_results_of_rows(rows: list[Row]) -> None:
    expected = one_by_one(rows)
    logging.disable(logging.WARNING)  # of NaN in frames
    try:
        for form, make in BATCHES.items():
            table = make(rows)
            assert answers(lambda handler, table=table: handler.send_batch(table)) == expected, form
    finally:
        logging.disable(logging.NOTSET)


@given(ROWS)
def test_files_give_the_results_of_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    expected = one_by_one(rows)
    folder = tmp_path_factory.mktemp("inputs")
    for form, write in FILES.items():
        path = folder / f"in.{form.value}"
        write(rows, path)
        source = open_source(
            Endpoint("S", str(path), form),
            list(zip(NAMES, KINDS, strict=True)),
            None,
            BadLines(skip=False, warn=print),
        )

        def send(handler: Any, source: Any = source) -> None:
            for chunk in source.chunks():
                handler.send_batch(chunk.columns)

        try:
            assert answers(send) == expected, form
        finally:
            source.close()


def test_nan_in_a_pandas_frame_is_reported_once_per_stream(caplog: pytest.LogCaptureFixture) -> None:
    frame = plain_pandas([("x", 1, 1.0, math.nan, True)])
    with SiddhiManager().create_siddhi_app_runtime(APP) as runtime:
        handler = runtime.input_handler("S")
        handler.send_batch(frame.assign(f=np.float32(1)))
        assert caplog.messages == []
        handler.send_batch(frame)
        handler.send_batch({name: frame[name] for name in frame})
        (message,) = caplog.messages
        assert "stream 'S': column 'f' of a pandas frame has NaN" in message
        assert "convert_dtypes()" in message


def test_nan_in_a_sparse_column_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    frame = plain_pandas([("x", 1, 1.0, math.nan, True)])
    with SiddhiManager().create_siddhi_app_runtime(APP) as runtime:
        runtime.input_handler("S").send_batch(frame.assign(f=pd.arrays.SparseArray([math.nan])))
    assert "column 'f' of a pandas frame has NaN" in caplog.text


def test_null_values_of_a_pandas_frame(caplog: pytest.LogCaptureFixture) -> None:
    frame = pd.DataFrame({"d": [1.0, np.nan, 3.0]})
    app = "define stream S (d double); from S select avg(d) as a insert into Out;"
    for table in (frame.convert_dtypes(), pa.Table.from_pandas(frame), pl.from_pandas(frame), frame.astype("Float64")):
        with SiddhiManager().create_siddhi_app_runtime(app) as runtime:
            rows = collect(runtime, "Out")
            runtime.input_handler("S").send_batch(table)
        assert rows == [(1.0,), (1.0,), (2.0,)]
    assert caplog.messages == []
