"""Times of inputs come from columns, text and indexes; other values, and rows out of order, are refused."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import siddhi
from siddhi.errors import EventError

TEXT = "from T select p insert into Out;"
ISO = ["1970-01-01T00:00:01Z", "1970-01-01 00:01:01"]
INDEX = pd.to_datetime([1000, 61_000], unit="ms")

INPUTS: dict[str, Callable[[], Any]] = {
    "text in pandas": lambda: pd.DataFrame({"timestamp": ISO, "p": [1, 2]}),
    "text in polars": lambda: pl.DataFrame({"timestamp": ISO, "p": [1, 2]}),
    "text in a lazy frame": lambda: pl.LazyFrame({"timestamp": ISO, "p": [1, 2]}),
    "text in Arrow": lambda: pa.table({"timestamp": ISO, "p": [1, 2]}),
    "text in numpy": lambda: {"timestamp": np.array(ISO), "p": [1, 2]},
    "text in mappings": lambda: [{"timestamp": ISO[0], "p": 1}, {"timestamp": ISO[1], "p": 2}],
    "floats in pandas": lambda: pd.DataFrame({"timestamp": [1000.0, 61_000.0], "p": [1, 2]}),
    "floats in polars": lambda: pl.DataFrame({"timestamp": [1000.0, 61_000.0], "p": [1, 2]}),
    "floats in Arrow": lambda: pa.table({"timestamp": [1000.0, 61_000.0], "p": [1, 2]}),
    "floats in mappings": lambda: [{"timestamp": 1000.0, "p": 1}, {"timestamp": 61_000.0, "p": 2}],
    "index": lambda: pd.DataFrame({"p": [1, 2]}, index=INDEX),
    "index with a zone": lambda: pd.DataFrame({"p": [1, 2]}, index=INDEX.tz_localize("UTC").tz_convert("Asia/Tokyo")),
    "level of an index": lambda: pd.DataFrame({"p": [1, 2]}, index=pd.MultiIndex.from_arrays([INDEX, ["a", "b"]])),
    "date-times in lists": lambda: {"at": [at.to_pydatetime() for at in INDEX], "p": [1, 2]},
    "pandas objects": lambda: pd.DataFrame({"at": pd.Series(list(INDEX), dtype=object), "p": [1, 2]}),
    "numpy scalars in mappings": lambda: [{"at": at.to_datetime64(), "p": 1} for at in INDEX],
}


@pytest.mark.parametrize("kind", INPUTS)
def test_times_of_every_form_count(kind: str) -> None:
    assert siddhi.query(TEXT, T=INPUTS[kind]())["Out"].timestamps.tolist() == [1000, 61_000]


def test_an_index_is_named_like_a_column() -> None:
    frame = pd.DataFrame({"p": [1, 2], "timestamp": [5, 6]}, index=INDEX.rename("ts"))
    assert siddhi.query(TEXT, T=frame, timestamp="ts")["Out"].timestamps.tolist() == [1000, 61_000]
    assert siddhi.query(TEXT, T=frame)["Out"].timestamps.tolist() == [5, 6]
    with pytest.raises(TypeError, match=r"no column 'tss' with times; did you mean 'ts'"):
        siddhi.query(TEXT, T=frame, timestamp="tss")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["1970-01-01", "noon"],
            r"stream 'T': row 1: column 'timestamp' is invalid: expected a time in ISO 8601 as '.*', not 'noon'",
        ),
        (["1970-01-01", None], r"row 1: column 'timestamp' is null, an event needs a timestamp"),
        ([1.0, 2.5], r"row 1: column 'timestamp' is 2.5, but times are whole numbers, in ms"),
        ([1.0, float("nan")], r"row 1: column 'timestamp' is NaN or null, an event needs a timestamp"),
    ],
)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_a_value_that_is_no_time_is_refused(values: list[Any], message: str, make: Callable[[Any], Any]) -> None:
    with pytest.raises(EventError, match=message):
        siddhi.query(TEXT, T=make({"timestamp": values, "p": [1, 2]}))


def test_a_column_called_timestamp_of_another_type_is_refused() -> None:
    rows = {"timestamp": [True, False], "p": [1, 2]}
    with pytest.raises(
        TypeError, match=r"column 'timestamp' of type bool, which can't be the times .*timestamp={'T': None}"
    ):
        siddhi.query(TEXT, T=rows)
    assert len(siddhi.query(TEXT, T=rows, timestamp={"T": None})["Out"]) == 2


def test_the_name_of_the_column_must_be_a_text() -> None:
    with pytest.raises(TypeError, match=r"invalid timestamp 5: expected the name of the column"):
        siddhi.query(TEXT, T={"p": [1]}, timestamp=5)  # type: ignore[arg-type]


class TestOrder:
    FRAME = pd.DataFrame({"timestamp": [0, 180_000, 1000, 2000, 200_000], "p": range(5)})

    @pytest.mark.parametrize(
        ("data", "hint"),
        [
            (FRAME, r"frame\.sort_values\('timestamp'\)"),
            (pl.DataFrame(FRAME), r"frame\.sort\('timestamp'\)"),
            (FRAME.to_dict("records"), r"sort it by 'timestamp'"),
            (pd.DataFrame({"p": range(5)}, pd.to_datetime(FRAME.timestamp, unit="ms")), r"frame\.sort_index\(\)"),
        ],
    )
    def test_rows_out_of_order_are_refused_with_a_hint(self, data: Any, hint: str) -> None:
        with pytest.raises(EventError, match=r"'T', row 2: its time 1000 .* before 180000 .*; 2 of 5 rows .*" + hint):
            siddhi.query(TEXT, T=data)

    def test_the_order_is_checked_from_table_to_table(self) -> None:
        reader = pa.Table.from_pandas(self.FRAME.drop(index=[0, 3]).drop(columns="p").assign(p=1)).to_batches(1)
        with pytest.raises(EventError, match=r"'T', row 1: its time 1000"):
            siddhi.query(TEXT, T=pa.RecordBatchReader.from_batches(reader[0].schema, reader))

    def test_events_with_own_times_keep_their_order_and_are_counted(self, caplog: pytest.LogCaptureFixture) -> None:
        events = [siddhi.Event(time, (time,)) for time in self.FRAME.timestamp.tolist()]
        with caplog.at_level(logging.WARNING, "siddhi"):
            out = siddhi.query("define stream T (p long);\n" + TEXT, T=events)["Out"]
        assert out.column("p") == self.FRAME.timestamp.tolist()
        assert [record.message for record in caplog.records if "2 of 5 events" in record.message]


class TestTypes:
    @pytest.mark.parametrize(
        ("expected", "data"),
        [
            (("long", 86_400_000), [{"a": date(1970, 1, 2)}]),
            (("long", 86_400_000), {"a": [date(1970, 1, 2)]}),
            (("long", 86_400_000), pd.DataFrame({"a": [date(1970, 1, 2)]})),
            (("long", None), [{"a": None}, {"a": datetime(1970, 1, 2)}]),  # noqa: DTZ001
            (("long", 2), [{"a": np.int64(2)}]),
            (("double", 1.5), {"a": [np.float32(1.5)]}),
            (("string", "x"), {"a": [np.str_("x")]}),
            (("long", None), [{"a": pd.NA}, {"a": 2}]),
            (("long", None), {"a": [pd.NA, 5]}),
            (("double", 0.25), pd.DataFrame({"a": [Decimal("0.25")]})),
            (("double", 0.25), [{"a": Decimal("0.25")}, {"a": 1}]),
        ],
    )
    def test_scalars_of_libraries_have_the_type_of_their_value(self, expected: tuple[str, object], data: Any) -> None:
        batch = siddhi.query("from T select a insert into Out;", T=data, timestamp={"T": None})["Out"]
        assert (batch.types[0], batch[0][0]) == expected

    def test_date_times_in_lists_are_attributes_of_a_defined_stream(self) -> None:
        text = "define stream T (at long, o object); from T select at, o insert into Out;"
        at = datetime(1970, 1, 2)  # noqa: DTZ001
        assert list(siddhi.query(text, T={"at": [at], "o": [at]}, timestamp="at")["Out"]) == [(86_400_000, at)]

    @pytest.mark.parametrize("data", [[{"a": 1}, {"a": "x"}], {"a": [1, "x"]}, pd.DataFrame({"a": [1, "x"]})])
    def test_a_column_of_several_types_is_refused_with_its_row(self, data: Any) -> None:
        with pytest.raises(
            EventError, match=r"'T': column 'a' has values of several types: row 1 is 'x', a str, after int"
        ):
            siddhi.query("from T select a insert into Out;", T=data)
        text = "define stream T (a object); from T select a insert into Out;"
        assert list(siddhi.query(text, T=data)["Out"]) == [(1,), ("x",)]

    def test_the_row_of_an_error_is_that_of_the_input(self) -> None:
        with pytest.raises(EventError, match=r"row 8192: attribute 'a' \(long\) can't take 2.5"):
            siddhi.query("from T select a insert into Out;", T=[{"a": 1}] * 8192 + [{"a": 2.5}])

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (pd.DataFrame([[1, 2]]), r"a column called 0, a int: attributes need names that are texts"),
            ({"a": 1}, r"column 'a' is 1, not an array or a list; one row is given as \[\{...\}\]"),
            ({"a": "xy"}, r"column 'a' is 'xy', not an array or a list"),
            (pd.Series([1], name="a"), r"is a Series: a column needs a name, as in series.to_frame"),
        ],
    )
    def test_what_has_no_columns_with_names_is_refused(self, data: Any, message: str) -> None:
        with pytest.raises(TypeError, match=r"the input of stream 'T'.* " + message):
            siddhi.query("from T select * insert into Out;", T=data)
