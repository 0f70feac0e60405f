from __future__ import annotations

import datetime as dt
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from siddhi._core.columnar.batch import BatchBuilder
from siddhi._core.columnar.reader import read_columns
from siddhi._core.record.event import Layout
from tests.kit.columns import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    INT_MAX,
    INTEGERS,
    LONG,
    LONG_MAX,
    OBJECT,
    STRING,
    read,
    shortest,
    times,
)

# -- numbers ----------------------------------------------------------------------------------------------------------

FORMS = {
    "numpy": lambda values, kind: np.array(values, dtype=kind),
    "numpy strided": lambda values, kind: np.repeat(np.array(values, dtype=kind), 3)[::3],
    "numpy reversed": lambda values, kind: np.array(values[::-1], dtype=kind)[::-1],
    "numpy swapped": lambda values, kind: np.array(values, dtype=np.dtype(kind).newbyteorder(">")),
    "numpy read-only": lambda values, kind: np.frombuffer(np.array(values, dtype=kind).tobytes(), dtype=kind),
    "memoryview": lambda values, kind: memoryview(np.array(values, dtype=kind)),
    "pyarrow": lambda values, kind: pa.array(values, pa.from_numpy_dtype(kind)),
    "pyarrow dictionary": lambda values, kind: pa.array(values, pa.from_numpy_dtype(kind)).dictionary_encode(),
    "pandas": lambda values, kind: pd.Series(values, dtype=kind),
    "pandas nullable": lambda values, kind: pd.Series(values, dtype=kind.replace("int", "Int").replace("u", "U")),
    "polars": lambda values, kind: pl.Series(values, dtype=getattr(pl, kind.replace("int", "Int").replace("u", "U"))),
}


def range_of(kind: str) -> tuple[int, int]:
    info = np.iinfo(kind)
    return int(info.min), int(info.max)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_of_every_width(kind: str, form: Any) -> None:
    low, high = range_of(kind)
    small = [max(low, -(2**31)), 0, 1, 77, min(high, INT_MAX)]
    large = [low, 0, 1, 77, min(high, LONG_MAX)]
    assert read(form(small, kind), INT) == small
    assert read(form(large, kind), LONG) == large
    assert read(form(large, kind), DOUBLE) == [float(value) for value in large]
    assert read(form(large, kind), FLOAT) == [shortest(float(value)) for value in large]
    assert read(form(large, kind), OBJECT) == large


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    ("kind", "code", "value"),
    [
        ("int64", INT, 2**31),
        ("int64", INT, -(2**31) - 1),
        ("uint32", INT, 2**31),
        ("uint64", INT, 2**31),
        ("uint64", INT, 2**64 - 1),
        ("uint64", LONG, 2**63),
    ],
)
def test_an_integer_out_of_range_is_named(kind: str, code: int, value: int, form: Any) -> None:
    with pytest.raises(
        ValueError, match=rf"^row 2: attribute 'x' \((int|long)\) can't take {value}: it is out of range$"
    ):
        read(form([0, 1, value, value], kind), code)


def test_the_row_number_counts_through_chunks() -> None:
    chunks = pa.chunked_array([[1, 2, 3], [4], [5, 2**31]], type=pa.int64())
    with pytest.raises(ValueError, match="row 5: attribute 'x'"):
        read(chunks, INT)


def test_the_value_under_a_null_is_ignored() -> None:
    array = np.ma.MaskedArray([1, 2**40, 3], mask=[False, True, False])
    assert read(array, INT) == [1, None, 3]
    values = pa.py_buffer(np.array([1.0, 1e300, 2.0]).tobytes())
    valid = pa.py_buffer(b"\x05")
    assert read(pa.Array.from_buffers(pa.float64(), 3, [valid, values]), FLOAT) == [1.0, None, 2.0]
    indices = pa.Array.from_buffers(pa.int32(), 3, [valid, pa.py_buffer(np.array([0, 99, 0], np.int32).tobytes())])
    assert read(pa.DictionaryArray.from_arrays(indices, ["a"], safe=False), STRING) == ["a", None, "a"]


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "form", [FORMS["numpy"], FORMS["numpy strided"], FORMS["pyarrow"]], ids=["numpy", "strided", "arrow"]
)
def test_floats_of_every_width(kind: str, form: Any) -> None:
    values = [0.0, -0.0, 1.5, -65504.0, 6e-8, 0.0001, float("inf"), float("-inf"), float("nan")]
    exact = np.array(values, dtype=kind).astype("float64")
    np.testing.assert_array_equal(read(form(np.array(values, dtype=kind), kind), DOUBLE), exact)
    np.testing.assert_array_equal(read(form(np.array(values, dtype=kind), kind), FLOAT), [shortest(v) for v in exact])
    if kind == "float64":
        np.testing.assert_array_equal(read(form(np.array(values, dtype=kind), kind), OBJECT), exact)
    else:
        np.testing.assert_array_equal(
            read(form(np.array(values, dtype=kind), kind), OBJECT), [shortest(v) for v in exact]
        )


def test_every_half_float() -> None:
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(read(pa.array(halves), DOUBLE), halves.astype("float64"))


def test_a_double_out_of_range_of_float_is_named() -> None:
    for values in (np.array([1.0, 1e39]), pa.array([1.0, 1e39]), [1.0, 1e39]):
        with pytest.raises(ValueError, match=r"row 1: attribute 'x' \(float\) can't take 1e\+39: it is out of range"):
            read(values, FLOAT)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (np.array([1.0]), INT),
        (np.array([1.0]), LONG),
        (np.array([1], "f4"), LONG),
        (np.array([True]), INT),
        (np.array([True]), DOUBLE),
        (np.array([1]), BOOL),
        (np.array([1.0]), BOOL),
        (np.array([1]), STRING),
        (np.array(["1"]), INT),
        (np.array([b"1"]), STRING),
        (np.array(["2020-01-01"], "M8[ms]"), INT),
        (np.array(["2020-01-01"], "M8[ms]"), DOUBLE),
        (np.array(["2020-01-01"], "M8[ms]"), STRING),
        (np.array([True]), STRING),
        (pa.array(["1"]), INT),
        (pa.array(["1"]), DOUBLE),
        (pa.array(["1"]), BOOL),
        (pa.array(["1"]).dictionary_encode(), LONG),
        (pa.array([b"1"]), STRING),
        (pa.array([True]), LONG),
        (pa.array([1]), STRING),
        (pa.array([1]).dictionary_encode(), BOOL),
        (pa.array([1.0]), INT),
        (pl.Series([1.5]), LONG),
        (pd.Series([1.5]), LONG),
        (["1"], INT),
        ([1], STRING),
        ([1.0], INT),
        ([True], INT),
        ([1], BOOL),
        ([b"1"], STRING),
        ([dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc)], LONG),
    ],
    ids=str,
)
def test_types_are_accepted_as_for_a_single_row(values: Any, code: int) -> None:
    with pytest.raises(ValueError, match=r"'x'.*can't take"):
        read(values, code)


def test_a_type_error_suggests_a_conversion() -> None:
    with pytest.raises(
        ValueError, match=r"^column 'x' is float64, attribute 'x' \(long\) can't take it: cast it to an integer"
    ):
        read(np.array([1.0]), LONG)
    with pytest.raises(ValueError, match="unless they are of its type Int64"):
        read_columns(pd.DataFrame({"x": [1, None]}), Layout(("x",), (LONG,)), None)
    with pytest.raises(ValueError, match=r"^row 1: attribute 'x' \(int\) can't take 'b': it is a str$"):
        read([1, "b"], INT)


REFUSED = {
    "decimal": pa.array([1], pa.decimal128(5, 2)),
    "duration": pa.array([1], pa.duration("s")),
    "time of day": pa.array([1], pa.time32("s")),
    "nested": pa.array([[1]]),
    "fixed-size binary": pa.array([b"ab"], pa.binary(2)),
    "run-end": pa.RunEndEncodedArray.from_arrays([1], ["a"]),
    "complex": np.array([1j]),
    "timedelta": np.array([1], "m8[s]"),
    "without a unit": np.array(["NaT"], "M8"),
    "2 dimensions": np.zeros((2, 2)),
    "0 dimensions": np.array(1),
    "longdouble|float128": np.zeros(1, np.longdouble),
}


@pytest.mark.parametrize("what", REFUSED)
@pytest.mark.parametrize("code", range(7))
def test_columns_of_unsupported_types_are_refused(what: str, code: int) -> None:
    with pytest.raises(ValueError, match=f"column 'x'.*({what}|no attribute can take|dimensions)"):
        read(REFUSED[what], code)


# -- bools and objects ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", range(10))
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 30])
def test_bits_at_every_offset(offset: int, length: int) -> None:
    values = [None if i % 5 == 3 else i % 3 == 0 for i in range(64)]
    want = values[offset : offset + length]
    array = pa.array(values, pa.bool_()).slice(offset, length)
    assert read(array, BOOL) == want
    assert read(array, OBJECT) == want
    assert (
        read(pa.array([None if v is None else int(v) for v in values], pa.int64()).slice(offset, length), LONG) == want
    )
    assert read(array.dictionary_encode(), BOOL) == want
    struct = pa.StructArray.from_arrays([pa.array(values, pa.bool_())], ["x"]).slice(offset, length)
    assert [row[0] for row in read_columns(struct, Layout(("x",), (BOOL,)), None).to_rows()] == want


@pytest.mark.parametrize("code", [INT, LONG, FLOAT, DOUBLE])
def test_values_may_be_at_any_address(code: int) -> None:
    kind = {INT: "i4", LONG: "i8", FLOAT: "f4", DOUBLE: "f8"}[code]
    shifted = np.frombuffer(b"." + np.arange(9, dtype=kind).tobytes(), dtype=np.uint8)[1:].view(kind)
    assert not shifted.flags.aligned
    assert read(shifted, code) == list(range(9))
    buffer = pa.py_buffer(b"." + np.arange(9, dtype=kind).tobytes()).slice(1)
    assert read(pa.Array.from_buffers(pa.from_numpy_dtype(kind), 9, [None, buffer]), code) == list(range(9))


def test_a_long_dictionary_of_bools_has_a_cell_for_each_row():
    values = [True, False, None] * 30_000  # longer than the memory after it
    assert read(pa.array(values).dictionary_encode(), BOOL) == values


def test_bytes_as_bools() -> None:
    assert read(np.array([True, False, True]), BOOL) == [True, False, True]
    assert read(np.array([0, 2, 1], np.uint8).view(bool), BOOL) == [False, True, True]
    assert read([True, None, np.bool_(False)], BOOL) == [True, None, False]


def test_object_attributes_accept_any_value() -> None:
    values = [{1}, None, "x", 1.5, [1, [2]], float("nan")]
    assert read(values, OBJECT) == values
    array = np.empty(3, dtype=object)
    array[:] = [{1}, None, [1, 2]]
    assert read(array, OBJECT) == [{1}, None, [1, 2]]
    assert read(pa.array(["a", None]), OBJECT) == ["a", None]
    assert read(pa.array([b"\xff", None]), OBJECT) == [b"\xff", None]
    assert read(np.array(["1970-01-02", "NaT"], "M8[D]"), OBJECT) == [86_400_000, None]
    assert read(np.array([True]), OBJECT) == [True]


@pytest.mark.parametrize("code", range(7))
def test_a_column_of_nulls_fits_every_type(code: int) -> None:
    assert read(pa.nulls(3), code) == [None] * 3
    assert read([None, None], code) == [None, None]
    assert read(pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.nulls(1)), code) == [None, None]


def test_missing_values_of_pandas_are_null() -> None:
    frame = pd.DataFrame(
        {
            "d": pd.Series([1.0, None], dtype="Float64"),
            "s": pd.Series(["a", np.nan], dtype=object),
            "t": ["a", None],
            "l": pd.Series([1, np.nan], dtype=object),
            "b": pd.Series([True, pd.NA], dtype=object),
        }
    )
    layout = Layout(("d", "s", "t", "l", "b"), (DOUBLE, STRING, STRING, LONG, BOOL))
    assert read_columns(frame, layout, None).to_rows() == [(1.0, "a", "a", 1, True), (None,) * 5]
    assert frame["s"].isna().tolist() == [False, True]


@pytest.mark.parametrize("code", [FLOAT, DOUBLE])
@pytest.mark.parametrize(
    "column",
    [
        [math.nan],
        np.array([math.nan]),
        np.array([math.nan], np.float32),
        np.array([math.nan], np.float16),
        np.array([math.nan], object),
        pd.Series([math.nan]),
        pd.Series([math.nan], dtype=object),
        pd.Series(pd.arrays.SparseArray([math.nan])),
        pl.Series([math.nan]),
        pa.array([math.nan]),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]}-{getattr(column, 'dtype', '')}",
)
def test_nan_is_a_number_in_every_library(column: Any, code: int) -> None:
    (value,) = read(column, code)
    assert value != value


@pytest.mark.parametrize("null", [pd.NA, pd.NaT, np.ma.masked], ids=["NA", "NaT", "masked"])
@pytest.mark.parametrize("code", range(7))
def test_na_of_pandas_and_masked_of_numpy_are_null_in_a_list_and_in_a_row(code: int, null: object) -> None:
    assert read([null, None], code) == [None, None]
    builder = BatchBuilder(Layout(("a",), (code,)))
    builder.append_row(0, (null,))
    assert list(builder.take_batch()) == [(None,)]


def test_a_sparse_column_is_read_as_a_dense_one() -> None:
    sparse = pd.arrays.SparseArray([0, 5, 0], fill_value=0)
    assert read(pd.Series(sparse), LONG) == [0, 5, 0]
    assert read(pd.Index(sparse), LONG) == [0, 5, 0]


# -- timestamps -------------------------------------------------------------------------------------------------------

NOON = 1_600_000_000_123
AS_DATETIME = np.datetime64(NOON, "ms")


@pytest.mark.parametrize(
    "values",
    [
        [NOON, -1, 0],
        (NOON, -1, 0),
        np.array([NOON, -1, 0]),
        pa.array([NOON, -1, 0]),
        pa.chunked_array([[NOON], [-1, 0]]),
        np.array([NOON, -1, 0], "M8[ms]"),
        np.array([NOON * 1000 + 999, -1, 0], "M8[us]"),
        np.array([NOON * 10**6 + 999_999, -1, 0], "M8[ns]"),
        pa.array([NOON, -1, 0], pa.timestamp("ms")),
        pa.array([NOON * 1000 + 999, -1, 0], pa.timestamp("us", "Europe/Berlin")),
        pa.array([NOON * 10**6 + 1, -1, 0], pa.timestamp("ns", "UTC")),
        pa.array([NOON * 1000, -1, 0], pa.timestamp("us")).dictionary_encode(),
        pa.array([NOON, -1, 0], pa.timestamp("ms")).cast(pa.timestamp("us")),
        pl.Series([NOON, -1, 0]).cast(pl.Datetime("ms")),
        pl.Series([NOON * 1000, -1, 0]).cast(pl.Datetime("us", "Asia/Tokyo")),
        pd.Series(np.array([NOON, -1, 0], "M8[ms]")),
        pd.Series(np.array([NOON, -1, 0], "M8[ms]")).dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
        pd.Series(np.array([NOON, -1, 0], "M8[ms]").astype("M8[ns]")).dt.tz_localize("UTC"),
        pd.DatetimeIndex(np.array([NOON, -1, 0], "M8[ms]")),
        pd.Series(pd.array([NOON, -1, 0], dtype="timestamp[ms][pyarrow]")),
    ],
    ids=lambda values: (
        f"{type(values).__module__.split('.')[0]} {getattr(values, 'dtype', getattr(values, 'type', ''))}"
    ),
)
def test_timestamps_become_milliseconds(values: Any) -> None:
    assert times(values) == [NOON, -1, 0]
    assert read_columns({"x": [1, 2, 3]}, Layout(("x",), (INT,)), values).timestamp_list() == [NOON, -1, 0]
    assert read(values, LONG) == [NOON, -1, 0]


@pytest.mark.parametrize(
    ("values", "want"),
    [
        (np.array([1, -1], "M8[s]"), [1000, -1000]),
        (np.array([1, -1], "M8[m]"), [60_000, -60_000]),
        (np.array([1, -1], "M8[h]"), [3_600_000, -3_600_000]),
        (np.array([1, -1], "M8[D]"), [86_400_000, -86_400_000]),
        (np.array([0, 1], "M8[M]"), [0, 31 * 86_400_000]),
        (np.array([1, -1], "M8[25s]"), [25_000, -25_000]),
        (np.array([10**9, -1], "M8[ps]"), [1, -1]),
        (np.array([1, 2], "i4"), [1, 2]),
        (np.array([1, 2], "u1"), [1, 2]),
        (np.array([1, 2], ">i8"), [1, 2]),
        (np.array([1, 0, 2, 0])[::2], [1, 2]),
        (pa.array([1, -1], pa.date32()), [86_400_000, -86_400_000]),
        (pa.array([1, -1], pa.int32()).cast(pa.date32()).cast(pa.date64()), [86_400_000, -86_400_000]),
        (pa.array([1, -1], pa.timestamp("s")), [1000, -1000]),
        (pa.array([1, -1], pa.int16()), [1, -1]),
        (range(2), [0, 1]),
        ([], []),
        (pa.array([], pa.timestamp("us")), []),
    ],
    ids=str,
)
def test_timestamps_of_other_units(values: Any, want: list[int]) -> None:
    assert times(values) == want


def test_a_timestamp_may_be_an_attribute_or_another_column() -> None:
    data = {"ts": [5, 6], "x": [1, 2], "when": np.array([7, 8])}
    layout = Layout(("ts", "x"), (LONG, INT))
    assert read_columns(data, layout, "ts").timestamp_list() == [5, 6]
    assert read_columns(data, layout, "when").timestamp_list() == [7, 8]
    assert read_columns(data, layout, [9, 10]).timestamp_list() == [9, 10]
    assert read_columns(data, layout, "when").to_rows() == [(5, 1), (6, 2)]
    assert read_columns(pa.table(data), layout, "when").timestamp_list() == [7, 8]


@pytest.mark.parametrize(
    ("timestamp", "message"),
    [
        ("tss", r"no column 'tss' for the timestamps; the data has: ts, x, y. Did you mean 'ts'\?"),
        ("y", r"'y' \(long\)"),
        ([1], "there are 1 timestamps for 2 rows"),
        ([1, None], "row 1: column 'timestamp' is null, an event needs a timestamp"),
        (np.array(["2020", "NaT"], "M8[s]"), "row 1: column 'timestamp' is null"),
        (pa.array([None, None], pa.int64()), "row 0: column 'timestamp' is null"),
        (pa.nulls(2), "row 0: column 'timestamp' is null"),
        (np.array([1.0, 2.0]), "is float64"),
        (np.array([0, 2**63], np.uint64), "row 1: .* out of range"),
        (np.array([0, 2**60], "M8[s]"), "row 1: .*out of the range of milliseconds"),
        (np.array([0, 2**60], "M8[D]"), "out of the range"),
    ],
)
def test_bad_timestamps(timestamp: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_columns({"ts": [5, 6], "x": [1, 2], "y": ["a", "b"]}, Layout(("x",), (INT,)), timestamp)


@pytest.mark.parametrize("timestamp", [5, 5.0, b"ts", {"ts": 1}, object()])
def test_values_that_are_not_timestamps_are_refused(timestamp: Any) -> None:
    with pytest.raises(TypeError, match="column 'timestamp' is a "):
        read_columns({"x": [1, 2]}, Layout(("x",), (INT,)), timestamp)


def test_nulls_among_times_become_null_in_a_long_attribute() -> None:
    assert read(pa.array([1, None, -1], pa.timestamp("s")), LONG) == [1000, None, -1000]
    assert read(np.array([1, "NaT"], "M8[s]"), LONG) == [1000, None]
    assert read(pd.Series(np.array([1, "NaT"], "M8[s]")).dt.tz_localize("UTC"), LONG) == [1000, None]
