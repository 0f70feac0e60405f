from __future__ import annotations

import gc
import itertools
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.columnar.reader import read_columns
from siddhi._core.record.event import Layout
from tests.kit.columns import (
    BOOL,
    COLUMNS,
    DOUBLE,
    HOLE_COLUMNS,
    HOLES,
    INT,
    LONG,
    LONG_MAX,
    MAKERS,
    NULLABLE_MAKERS,
    ROWS,
    STRING,
    TRADES,
    read,
    structured,
    table,
)


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


def test_columns_are_matched_by_name_and_others_are_ignored() -> None:
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


def test_duplicate_column_names_are_refused() -> None:
    twice = pa.table([[1], [2], [3]], names=["x", "x", "y"])
    with pytest.raises(ValueError, match="2 columns named 'x'"):
        read_columns(twice, Layout(("x",), (INT,)), None)
    assert read_columns(twice, Layout(("y",), (INT,)), None).to_rows() == [(3,)]
    frame = pd.DataFrame([[1, 2]], columns=["x", "x"])
    with pytest.raises(ValueError, match="2 columns named 'x'"):
        read_columns(frame, Layout(("x",), (INT,)), None)


@pytest.mark.parametrize("data", [None, 5, "x", {1, 2}, np.array([1]), pd.Series([1], name="x")], ids=repr)
def test_other_objects_are_refused_as_tables(data: Any) -> None:
    with pytest.raises(TypeError, match="a table is needed"):
        read_columns(data, Layout(("x",), (INT,)), None)


def test_a_lazy_frame_is_refused_with_a_hint_to_compute_it() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"not LazyFrame, which has not been computed: send its \.collect\(\)"):
        read_columns(polars.LazyFrame({"x": [1]}), Layout(("x",), (INT,)), None)


@pytest.mark.parametrize("values", [5, "abc", b"abc", None, {"a": 1}, object()])
def test_other_objects_are_refused_as_columns(values: Any) -> None:
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


def test_used_capsules_are_refused() -> None:
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
    text = repr(object())  # a text without other references
    before = sys.getrefcount(text)
    values = [text] * 5
    columns = read_columns({"x": values}, Layout(("x",), (STRING,)), None)
    values.clear()
    assert sys.getrefcount(text) == before + 5
    assert columns.to_rows() == [(text,)] * 5
    del columns
    assert sys.getrefcount(text) == before


def test_a_refused_table_is_released() -> None:
    text = repr(object())  # a text without other references
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

        class NoPyArrow:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name.partition(".")[0] == "pyarrow":
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        sys.meta_path.insert(0, NoPyArrow)
        import numpy as np
        import pandas as pd
        from siddhi._core.columnar.reader import read_columns
        from siddhi._core.record.event import Layout

        frame = pd.DataFrame({
            "s": pd.Series(["a", None], dtype="string"), "t": ["x", "y"], "i": pd.array([1, None], dtype="Int64"),
            "c": pd.Categorical(["u", None]), "d": pd.array([1.5, None], dtype="Float64"),
            "b": pd.array([True, None], dtype="boolean"), "w": pd.to_datetime([1, 2], unit="s", utc=True),
        })
        layout = Layout(tuple(frame.columns), (0, 0, 1, 0, 4, 5, 2))
        print(read_columns(frame, layout, "w").to_rows())
        """
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.strip() == "[('a', 'x', 1, 'u', 1.5, True, 1000), (None, 'y', None, None, None, None, 2000)]"


def test_numpy_columns_are_read_without_a_copy() -> None:
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
