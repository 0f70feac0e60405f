from __future__ import annotations

import datetime as dt
import gc
import itertools
import subprocess
import sys
import textwrap
from collections import deque
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.batch import BatchBuilder
from siddhi._core.column import read_columns
from siddhi._core.event import Layout

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
    """One column through a reader."""
    return [row[0] for row in read_columns({"x": values}, Layout(("x",), (code,)), None).to_rows()]


def times(values: Any) -> list[int] | None:
    return read_columns({"ts": values}, Layout((), ()), "ts").timestamp_list()


def table(columns: dict[str, list[Any]]) -> pa.Table:
    return pa.table({name: pa.array(values, ARROW_TYPES[name]) for name, values in columns.items()})


def shortest(value: float) -> float:
    """What a float attribute shows: the double with the fewest digits that names the same float."""
    return float(str(np.float32(value)))


def structured(columns: dict[str, list[Any]]) -> np.ndarray:
    dtype = [("symbol", "U20"), ("price", "f8"), ("volume", "i8"), ("ok", "?")]
    return np.array(list(zip(*columns.values())), dtype=dtype)


def batch(columns: dict[str, list[Any]]) -> Any:
    builder = BatchBuilder(TRADES)
    for i, row in enumerate(zip(*columns.values())):
        builder.append_row(i, row)
    return builder.take_batch()


# -- every kind of table ----------------------------------------------------------------------------------------------

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
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
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


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_kind_of_table(make: Any) -> None:
    columns = read_columns(make(COLUMNS), TRADES, None)
    assert len(columns) == columns.length == len(ROWS)
    assert [reader.length for reader in columns.readers] == [len(ROWS)] * 4
    assert [reader.code for reader in columns.readers] == list(TRADES.types)
    assert columns.to_rows() == ROWS
    assert columns.timestamp_list() is None


@pytest.mark.parametrize("make", NULLABLE_MAKERS.values(), ids=NULLABLE_MAKERS)
def test_nulls_in_every_kind_of_table(make: Any) -> None:
    assert read_columns(make(HOLE_COLUMNS), TRADES, None).to_rows() == HOLES


SLICEABLE = {
    name: make
    for name, make in MAKERS.items()
    if name not in ("deques", "pyarrow reader", "event batch", "pyarrow record batch")
}


@pytest.mark.parametrize("make", SLICEABLE.values(), ids=SLICEABLE)
def test_tables_without_rows(make: Any) -> None:
    data = make(COLUMNS)
    data = {name: values[:0] for name, values in data.items()} if isinstance(data, dict) else data[:0]
    columns = read_columns(data, TRADES, [])
    assert (len(columns), columns.to_rows(), columns.timestamp_list()) == (0, [], [])


def test_a_table_without_rows_or_chunks_has_types() -> None:
    empty = pa.table({"x": pa.chunked_array([], pa.string()), "y": pa.chunked_array([], pa.timestamp("us"))})
    assert read_columns(empty, Layout(("x", "y"), (STRING, LONG)), "y").to_rows() == []
    with pytest.raises(ValueError, match="column 'x' is utf8"):
        read_columns(empty, Layout(("x",), (INT,)), None)
    assert read_columns({"x": np.array([])}, Layout(("x",), (STRING,)), None).to_rows() == []


def test_columns_are_found_by_name_and_others_left_alone() -> None:
    data = {"b": [1, 2], "rubbish": object(), "a": ["x", "y"]}
    assert read_columns(data, Layout(("a", "b"), (STRING, INT)), None).to_rows() == [("x", 1), ("y", 2)]


def test_a_layout_of_more_than_64_cells() -> None:
    names = tuple(f"c{i}" for i in range(130))
    data = {name: [i, None, -i] for i, name in enumerate(names)}
    rows = read_columns(data, Layout(names, (INT,) * 130), None).to_rows()
    assert rows == [tuple(range(130)), (None,) * 130, tuple(-i for i in range(130))]


def test_more_rows_than_a_block_over_uneven_chunks() -> None:
    values = [None if i % 7 == 0 else i for i in range(5000)]
    edges = [0, 1, 9, 255, 256, 257, 1000, 1000, 4999, 5000]
    array = pa.array(values, pa.int64())
    chunks = pa.chunked_array([array.slice(a, b - a) for a, b in itertools.pairwise(edges)], type=pa.int64())
    assert read(chunks, LONG) == values


# -- numbers ----------------------------------------------------------------------------------------------------------

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
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


def test_what_lies_under_a_null_is_not_looked_at() -> None:
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


def test_a_double_beyond_float_is_named() -> None:
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
def test_types_are_those_of_a_single_row(values: Any, code: int) -> None:
    with pytest.raises(ValueError, match=r"'x'.*can't take"):
        read(values, code)


def test_an_error_of_type_says_what_to_do() -> None:
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
def test_columns_that_no_attribute_takes(what: str, code: int) -> None:
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


def test_bytes_as_bools() -> None:
    assert read(np.array([True, False, True]), BOOL) == [True, False, True]
    assert read(np.array([0, 2, 1], np.uint8).view(bool), BOOL) == [False, True, True]
    assert read([True, None, np.bool_(False)], BOOL) == [True, None, False]


def test_objects_take_anything() -> None:
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
def test_a_column_of_nulls_fits_everywhere(code: int) -> None:
    assert read(pa.nulls(3), code) == [None] * 3
    assert read([None, None], code) == [None, None]
    assert read(pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.nulls(1)), code) == [None, None]


def test_missing_values_of_pandas_are_null() -> None:
    frame = pd.DataFrame({"d": [1.0, np.nan], "s": pd.Series(["a", np.nan], dtype=object), "t": ["a", None]})
    rows = read_columns(frame, Layout(("d", "s", "t"), (DOUBLE, STRING, STRING)), None).to_rows()
    assert rows == [(1.0, "a", "a"), (None, None, None)]
    assert frame["s"].isna().tolist() == [False, True]


def test_nan_of_numpy_is_a_value() -> None:
    (value,) = read(np.array([np.nan]), DOUBLE)
    assert value != value


# -- texts ------------------------------------------------------------------------------------------------------------

TEXTS = [
    "",
    "a",
    "ab",
    "abc",
    "abcd",
    "abcdefgh",
    "twelve bytes",
    "thirteen bytes",
    "ünï",
    "x" * 300,
    "\0",
    "日本語テキスト",
    None,
    "a",
]
TEXT_FORMS = {
    "utf8": lambda values: pa.array(values, pa.string()),
    "large": lambda values: pa.array(values, pa.large_string()),
    "view": lambda values: pa.array(values, pa.string_view()),
    "polars": lambda values: pl.Series(values, dtype=pl.String),
    "categorical": lambda values: pl.Series(values, dtype=pl.Categorical),
    "enum": lambda values: pl.Series(values, dtype=pl.Enum(sorted({v for v in values if v is not None}))),
    "dictionary": lambda values: pa.array(values).dictionary_encode(),
    "dictionary of large": lambda values: pa.array(values, pa.large_string()).dictionary_encode(),
    "dictionary of views": lambda values: pa.array(values, pa.string_view()).dictionary_encode(),
    "dictionary with null": lambda values: pa.array(values).dictionary_encode(null_encoding="encode"),
    "pandas": lambda values: pd.Series(values),
    "pandas python": lambda values: pd.Series(values, dtype=pd.StringDtype("python")),
    "numpy objects": lambda values: np.array(values, dtype=object),
    "list": list,
}


@pytest.mark.parametrize("form", TEXT_FORMS.values(), ids=TEXT_FORMS)
def test_texts_of_every_form(form: Any) -> None:
    assert read(form(TEXTS), STRING) == TEXTS


@pytest.mark.parametrize("name", ["utf8", "large", "view", "dictionary", "dictionary with null"])
def test_slices_of_texts(name: str) -> None:
    for offset in range(len(TEXTS)):
        assert read(TEXT_FORMS[name](TEXTS).slice(offset, 5), STRING) == TEXTS[offset : offset + 5]


def test_numpy_texts() -> None:
    assert read(np.array(["a", "bcd", ""]), STRING) == ["a", "bcd", ""]
    if hasattr(np.dtypes, "StringDType"):
        array = np.array(["a", None, "b" * 50], dtype=np.dtypes.StringDType(na_object=None))
        assert read(array, STRING) == ["a", None, "b" * 50]


@pytest.mark.parametrize("kind", INTEGERS)
def test_dictionary_indices_of_every_width(kind: str) -> None:
    words = [f"word {i}" for i in range(100)]
    indices = [3, 99, None, 0, 3]
    array = pa.DictionaryArray.from_arrays(pa.array(indices, pa.from_numpy_dtype(kind)), words)
    want = [None if i is None else words[i] for i in indices]
    assert read(array, STRING) == want
    assert read(array.slice(1, 3), STRING) == want[1:4]
    assert read(pa.DictionaryArray.from_arrays(array.indices, list(range(100))), LONG) == indices


def test_repeated_texts_are_one_object() -> None:
    for form in (TEXT_FORMS["utf8"], TEXT_FORMS["view"], TEXT_FORMS["dictionary"]):
        first, second, third = read(form(["a long symbol", "other", "a long symbol"]), STRING)
        assert first is third
        assert second == "other"


def test_a_dictionary_much_longer_than_its_slice() -> None:
    words = pa.array([f"w{i}" for i in range(10_000)])
    array = pa.DictionaryArray.from_arrays(pa.array([9999, 1]), words)
    assert read(array, STRING) == ["w9999", "w1"]


def test_more_distinct_texts_than_the_cache_holds() -> None:
    words = [f"{i % 3000:08d}-in the middle-{i % 7}" for i in range(10_000)]
    assert read(pa.array(words), STRING) == words


@given(
    st.lists(st.none() | st.text(max_size=20), max_size=40),
    st.integers(0, 10),
    st.sampled_from(["utf8", "large", "view", "dictionary"]),
)
def test_any_texts(values: list[str | None], offset: int, name: str) -> None:
    values = [None if v is None else v.encode("utf-8", "replace").decode() for v in values]
    form = {"utf8": pa.string(), "large": pa.large_string(), "view": pa.string_view(), "dictionary": pa.string()}[name]
    array = pa.array(values, form)
    if name == "dictionary":
        array = array.dictionary_encode()
    assert read(array.slice(min(offset, len(values))), STRING) == values[offset:]


def test_what_is_not_utf8_is_named() -> None:
    offsets = pa.py_buffer(np.array([0, 1, 3], np.int32).tobytes())
    bad = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"a\xff\xfe")])
    with pytest.raises(ValueError, match=r"^row 1: column 'x' holds what is not UTF-8") as caught:
        read(bad, STRING)
    assert type(caught.value) is ValueError


def test_torn_arrays_are_refused() -> None:
    outside = pa.DictionaryArray.from_arrays(pa.array([0, 5]), ["a"], safe=False)
    with pytest.raises(ValueError, match=r"^row 1: column 'x' is torn"):
        read(outside, STRING)
    with pytest.raises(ValueError, match=r"^row 1: column 'x' is torn"):
        read(pa.DictionaryArray.from_arrays(pa.array([0, -1]), [7], safe=False), LONG)
    backwards = pa.py_buffer(np.array([0, 3, 1], np.int32).tobytes())
    with pytest.raises(ValueError, match=r"^row 1: column 'x' is torn"):
        read(pa.Array.from_buffers(pa.string(), 2, [None, backwards, pa.py_buffer(b"abc")]), STRING)


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
def test_what_timestamps_can_never_be(timestamp: Any) -> None:
    with pytest.raises(TypeError, match="column 'timestamp' is a "):
        read_columns({"x": [1, 2]}, Layout(("x",), (INT,)), timestamp)


def test_nulls_among_times_of_a_long_attribute() -> None:
    assert read(pa.array([1, None, -1], pa.timestamp("s")), LONG) == [1000, None, -1000]
    assert read(np.array([1, "NaT"], "M8[s]"), LONG) == [1000, None]
    assert read(pd.Series(np.array([1, "NaT"], "M8[s]")).dt.tz_localize("UTC"), LONG) == [1000, None]


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [MAKERS["lists"], MAKERS["pyarrow table"], MAKERS["polars"], MAKERS["pandas"], structured]
)
def test_a_missing_column_is_named(make: Any) -> None:
    with pytest.raises(ValueError, match="prize") as caught:
        read_columns(make(COLUMNS), Layout(("prize",), (DOUBLE,)), None)
    assert str(caught.value) == (
        "no column 'prize' for attribute 'prize'; the data has: symbol, price, volume, ok. Did you mean 'price'?"
    )


def test_columns_of_unequal_length() -> None:
    with pytest.raises(ValueError, match=r"^column 'b' has 1 rows, column 'a' has 2$"):
        read_columns({"a": [1, 2], "b": [1]}, Layout(("a", "b"), (INT, INT)), None)


def test_columns_of_one_name() -> None:
    twice = pa.table([[1], [2], [3]], names=["x", "x", "y"])
    with pytest.raises(ValueError, match="2 columns named 'x'"):
        read_columns(twice, Layout(("x",), (INT,)), None)
    assert read_columns(twice, Layout(("y",), (INT,)), None).to_rows() == [(3,)]
    frame = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(ValueError, match="2 columns named 'x'"):
        read_columns(frame, Layout(("x",), (INT,)), None)


@pytest.mark.parametrize(
    "data", [None, 5, "x", [1, 2], [(1, 2)], {1, 2}, np.array([1]), pd.Series([1], name="x")], ids=repr
)
def test_what_is_not_a_table(data: Any) -> None:
    with pytest.raises(TypeError, match="a table is needed"):
        read_columns(data, Layout(("x",), (INT,)), None)


@pytest.mark.parametrize("values", [5, "abc", b"abc", None, {"a": 1}, object()])
def test_what_is_not_a_column(values: Any) -> None:
    with pytest.raises(TypeError, match=f"column 'x' is a {type(values).__name__}, not an array or a list"):
        read(values, INT)


def test_a_single_arrow_column_is_not_a_table_nor_a_table_a_column() -> None:
    with pytest.raises(TypeError, match="one column without a name"):
        read_columns(pa.array([1]), Layout(("x",), (INT,)), None)
    with pytest.raises(ValueError, match="column 'x' is a table or struct"):
        read(pa.table({"a": [1]}), INT)


def test_null_rows_of_a_struct_are_refused() -> None:
    struct = pa.array([{"x": 1}, None, {"x": 2}])
    with pytest.raises(ValueError, match="null as a whole"):
        read_columns(struct, Layout(("x",), (INT,)), None)
    assert read_columns(struct.slice(2), Layout(("x",), (INT,)), None).to_rows() == [(2,)]


def test_a_failing_stream() -> None:
    def batches() -> Any:
        yield pa.record_batch({"x": [1]})
        raise RuntimeError("the disk is gone")

    reader = pa.RecordBatchReader.from_batches(pa.schema([("x", pa.int64())]), batches())
    with pytest.raises(ValueError, match=r"the Arrow stream failed: .*the disk is gone"):
        read_columns(reader, Layout(("x",), (LONG,)), None)


def test_capsules_that_were_used_up() -> None:
    class Once:
        def __init__(self, data: Any) -> None:
            self.capsules = data.__arrow_c_array__()
            self.stream = pa.table(data).__arrow_c_stream__() if isinstance(data, pa.RecordBatch) else None

    class Array(Once):
        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return self.capsules

    class Stream(Once):
        def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
            return self.stream

    layout = Layout(("x",), (LONG,))
    for data in (Array(pa.record_batch({"x": [1]})), Stream(pa.table({"x": [1]}).to_batches()[0])):
        if isinstance(data, Stream):
            data.stream = pa.table({"x": [1]}).__arrow_c_stream__()
        assert read_columns(data, layout, None).to_rows() == [(1,)]
        with pytest.raises(ValueError, match="taken by somebody else"):
            read_columns(data, layout, None)


# -- ownership --------------------------------------------------------------------------------------------------------


def test_columns_outlive_what_they_were_read_from() -> None:
    for make in MAKERS.values():
        columns = read_columns(make(COLUMNS), TRADES, None)
        gc.collect()
        assert columns.to_rows() == ROWS


def test_strings_are_owned_while_the_columns_live() -> None:
    text = repr(object())  # a text that nobody else holds
    before = sys.getrefcount(text)
    values = [text] * 5
    columns = read_columns({"x": values}, Layout(("x",), (STRING,)), None)
    values.clear()
    assert sys.getrefcount(text) == before + 5
    assert columns.to_rows() == [(text,)] * 5
    del columns
    assert sys.getrefcount(text) == before


def test_a_refused_table_leaves_nothing_behind() -> None:
    text = repr(object())  # a text that nobody else holds
    before = sys.getrefcount(text)
    layout = Layout(("x", "y"), (STRING, INT))
    for _ in range(100):
        with pytest.raises(ValueError, match="'y'"):
            read_columns({"x": [text, text], "y": [1, 2**31]}, layout, None)
    assert sys.getrefcount(text) == before


def test_arrow_memory_is_released() -> None:
    data = table({name: values * 1000 for name, values in COLUMNS.items()})
    encoded = data.set_column(0, "symbol", data["symbol"].dictionary_encode())
    gc.collect()
    before = pa.total_allocated_bytes()
    for _ in range(20):
        for one in (data, encoded):
            for source in (one, one.combine_chunks().to_batches()[0], one.slice(3)):
                read_columns(source, TRADES, [1] * len(source)).to_rows()
    copies = [pa.concat_tables([data, data]).combine_chunks() for _ in range(3)]
    columns = [read_columns(copy, TRADES, None) for copy in copies]
    assert pa.total_allocated_bytes() > before
    del copies
    assert pa.total_allocated_bytes() > before
    del columns, one, source
    assert pa.total_allocated_bytes() == before


def test_reading_does_not_grow_the_heap() -> None:
    blocks = []
    for _ in range(6):
        for make in MAKERS.values():
            read_columns(make(COLUMNS), TRADES, [1, 2, 3, 4]).to_rows()
            with pytest.raises(ValueError, match="'price'"):
                read_columns(make(COLUMNS), Layout(("symbol", "price"), (STRING, BOOL)), None)
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    assert max(blocks[3:]) - min(blocks[3:]) < 200


def test_pandas_without_pyarrow() -> None:
    script = textwrap.dedent(
        """
        import sys
        sys.modules["pyarrow"] = None
        import numpy as np
        import pandas as pd
        from siddhi._core.column import read_columns
        from siddhi._core.event import Layout

        frame = pd.DataFrame({
            "s": pd.Series(["a", None], dtype="string"), "t": ["x", "y"], "i": pd.array([1, None], dtype="Int64"),
            "c": pd.Categorical(["u", None]), "d": [1.5, None], "b": pd.array([True, None], dtype="boolean"),
            "w": pd.to_datetime([1, 2], unit="s", utc=True),
        })
        layout = Layout(tuple(frame.columns), (0, 0, 1, 0, 4, 5, 2))
        print(read_columns(frame, layout, "w").to_rows())
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() == "[('a', 'x', 1, 'u', 1.5, True, 1000), (None, 'y', None, None, None, None, 2000)]"


def test_numpy_columns_are_read_where_they_lie() -> None:
    values = np.arange(5)
    columns = read_columns({"x": values}, Layout(("x",), (LONG,)), values)
    values[0] = 77
    assert columns.to_rows()[0] == (77,)
    assert columns.timestamp_list()[0] == 77


# -- laws -------------------------------------------------------------------------------------------------------------

ANY_ROW = st.tuples(
    st.none() | st.text(st.characters(codec="utf-8"), max_size=15),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.integers(-(2**63), LONG_MAX),
    st.none() | st.booleans(),
)


@given(st.lists(ANY_ROW, min_size=1, max_size=30), st.sampled_from(sorted(NULLABLE_MAKERS)), st.integers(0, 9))
def test_any_rows_in_any_form(rows: list[Any], name: str, offset: int) -> None:
    if name in ("pandas nullable", "polars series", "polars", "polars categorical"):
        # They guess types from the values: have one of each.
        rows = [*rows, ROWS[0]]
        if name == "pandas nullable":
            rows = [
                (s, None if d is None else d + 0.5 if d == int(min(max(d, -1e9), 1e9)) else d, i, b)
                for s, d, i, b in rows
            ]
    columns = {n: [row[i] for row in rows] for i, n in enumerate(TRADES.names)}
    data = NULLABLE_MAKERS[name](columns)
    if hasattr(data, "slice"):
        data, rows = data.slice(min(offset, len(rows))), rows[offset:]
    assert read_columns(data, TRADES, None).to_rows() == rows
