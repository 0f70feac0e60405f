from __future__ import annotations

import gc
import pickle
import sys
import threading
from copy import copy as copied
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import siddhi
from siddhi._core.columnar.batch import BatchBuilder, EventBatch
from siddhi._core.columnar.buffer import drop_kept_blocks, kept_blocks
from siddhi._core.columnar.reader import read_columns
from siddhi._core.record.event import Layout
from tests.kit.no_memory import each_allocation_failing

STRING, INT, LONG, FLOAT, DOUBLE, BOOL, OBJECT = range(7)
LONG_MAX = 2**63 - 1

ALL = Layout(("s", "i", "l", "f", "d", "b"), (STRING, INT, LONG, FLOAT, DOUBLE, BOOL))
ROWS: list[tuple[Any, ...]] = [
    ("IBM", 1, 2**40, 1.5, 2.5, True),
    ("", -(2**31), -(2**63), -0.1, 1e300, False),
    ("Größe", 2**31 - 1, LONG_MAX, 0.0, -0.0, True),
]
HOLES = [*ROWS, (None,) * 6, ("x", None, 3, None, 4.0, None)]
DTYPES = {"i": "int32", "l": "int64", "f": "float32", "d": "float64", "b": "bool"}


def collect(rows: list[tuple[Any, ...]], layout: Layout = ALL) -> EventBatch:
    builder = BatchBuilder(layout)
    for i, row in enumerate(rows):
        builder.append_row(1000 + i, row)
    assert len(builder) == builder.size == len(rows)
    batch = builder.take_batch()
    assert len(builder) == 0
    return batch


# -- Python values ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [[], ROWS, HOLES], ids=["empty", "rows", "nulls"])
def test_rows_are_returned_unchanged(rows: list[Any]) -> None:
    batch = collect(rows)
    assert len(batch) == len(rows)
    assert list(batch) == rows
    assert batch.names == ALL.names
    assert batch.types == ("string", "int", "long", "float", "double", "bool")
    assert batch.to_pylist() == [dict(zip(ALL.names, row)) for row in rows]
    assert batch.to_pydict() == {name: [row[i] for row in rows] for i, name in enumerate(ALL.names)}
    assert batch.column("f") == [row[3] for row in rows]
    assert batch.timestamps.tolist() == [1000 + i for i in range(len(rows))]
    expected = pd.DataFrame(rows, columns=list(ALL.names))
    pd.testing.assert_frame_equal(pd.DataFrame(batch.to_pydict()), expected, check_dtype=bool(rows))


def test_batches_of_growing_and_shrinking_size() -> None:
    builder = BatchBuilder(ALL)
    for n in (0, 1, 15, 16, 17, 1000, 3, 0, 5000, 5000, 1):
        for i in range(n):
            builder.append_row(i, HOLES[i % 5])
        batch = builder.take_batch()
        assert list(batch) == [HOLES[i % 5] for i in range(n)]
        assert batch.timestamps.tolist() == list(range(n))


def test_more_than_64_columns() -> None:
    layout = Layout(tuple(f"c{i}" for i in range(150)), tuple(i % 7 for i in range(150)))
    row = tuple([f"s{i}", i, -i, i / 2, i / 4, i % 2 == 1, {i}][i % 7] for i in range(150))
    holes = tuple(None if i % 3 == 0 else value for i, value in enumerate(row))
    assert list(collect([row, holes, (None,) * 150, row], layout)) == [row, holes, (None,) * 150, row]


def test_a_batch_of_no_columns_still_has_events() -> None:
    batch = collect([(), ()], Layout((), ()))
    assert (len(batch), list(batch), batch.to_pydict(), batch.timestamps.tolist()) == (2, [(), ()], {}, [1000, 1001])
    assert repr(batch) == "EventBatch(2 events: )"


def test_a_row_that_does_not_fit_is_not_collected() -> None:
    builder = BatchBuilder(ALL)
    builder.append_row(1, ROWS[0])
    text = repr(object())  # a text without other references
    before = sys.getrefcount(text)
    for bad in [(text, 2**31, 1, 1.0, 1.0, True), (text, 1), (text, 1, 1, 1.0, 1.0, 5), (*ROWS[0], 1)]:
        with pytest.raises(ValueError, match=r"can't take|a row of 6 values"):
            builder.append_row(2, bad)
    with pytest.raises(TypeError):
        builder.append_row("now", ROWS[0])
    assert sys.getrefcount(text) == before
    assert list(builder.take_batch()) == [ROWS[0]]


def test_only_the_engine_can_create_batches() -> None:
    with pytest.raises(TypeError, match="made by the engine"):
        EventBatch()


@pytest.mark.parametrize("name", ["prize", 1.5, None, b"price"])
def test_an_unknown_column_is_an_error(name: Any) -> None:
    batch = collect([(1.0,)], Layout(("price",), (DOUBLE,)))
    for ask in (batch.__getitem__, batch.column):
        with pytest.raises(
            KeyError,
            match="no column .* in this batch of price" + (".*did you mean 'price'" if name == "prize" else ""),
        ):
            ask(name)


# -- numpy ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DTYPES)
def test_numbers_are_views_of_the_batch(name: str) -> None:
    batch = collect(ROWS)
    array = batch[name]
    assert array.dtype == np.dtype(DTYPES[name])
    assert array.dtype.char == np.dtype(DTYPES[name]).char
    assert array.tolist() == np.array([row[ALL.names.index(name)] for row in ROWS], DTYPES[name]).tolist()
    assert type(array) is np.ndarray
    assert np.shares_memory(array, batch[name])
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 0


@pytest.mark.parametrize("name", DTYPES)
def test_nulls_are_masked(name: str) -> None:
    batch = collect(HOLES)
    array = batch[name]
    values = [row[ALL.names.index(name)] for row in HOLES]
    assert isinstance(array, np.ma.MaskedArray)
    assert array.dtype == np.dtype(DTYPES[name])
    assert array.mask.tolist() == [value is None for value in values]
    below = np.asarray(array)[array.mask]
    assert np.isnan(below).all() if name in "fd" else not below.any()
    assert np.shares_memory(array.data, batch[name].data)


def test_strings_and_objects_are_arrays_of_objects() -> None:
    values = [{1}, None, [1, [2]], (3,), "x", np.arange(3)]
    batch = collect([(value, str(i)) for i, value in enumerate(values)], Layout(("o", "s"), (OBJECT, STRING)))
    objects = batch["o"]
    assert objects.dtype == object
    assert all(a is b for a, b in zip(objects, values))
    assert batch["s"].tolist() == ["0", "1", "2", "3", "4", "5"]
    objects[0] = 7
    assert batch["o"][0] == {1}
    assert batch.column("o")[2] is values[2]


@pytest.mark.parametrize("name", ALL.names)
def test_empty_columns_have_a_type(name: str) -> None:
    array = collect([])[name]
    assert (len(array), array.dtype) == (0, np.dtype(DTYPES.get(name, object)))
    assert collect([]).timestamps.dtype == np.int64


def test_views_outlive_the_batch() -> None:
    batch = collect(ROWS * 1000)
    views = [batch[name] for name in DTYPES] + [batch.timestamps]
    copies = [view.copy() for view in views]
    del batch
    gc.collect()
    others = [collect(HOLES * 1000) for _ in range(5)]
    for view, copy in zip(views, copies):
        np.testing.assert_array_equal(view, copy)
    assert len(others) == 5


def test_a_view_can_be_asked_for_as_a_buffer_but_not_written() -> None:
    view = memoryview(collect(ROWS)["d"])
    assert (view.format, view.shape, view.readonly) == ("d", (3,), True)
    with pytest.raises(TypeError):
        view[0] = 1.0


# -- Arrow ------------------------------------------------------------------------------------------------------------

SCHEMA = pa.schema(
    [
        ("s", pa.string()),
        ("i", pa.int32()),
        ("l", pa.int64()),
        ("f", pa.float32()),
        ("d", pa.float64()),
        ("b", pa.bool_()),
    ]
)


@pytest.mark.parametrize("rows", [[], ROWS, HOLES, HOLES * 13], ids=["empty", "rows", "nulls", "many"])
def test_arrow_takes_a_batch(rows: list[Any]) -> None:
    batch = collect(rows)
    arrow = pa.record_batch(batch)
    arrow.validate(full=True)
    assert arrow.schema == SCHEMA
    assert pa.schema(batch) == SCHEMA
    want = {
        name: [np.float32(row[i]) if name == "f" and row[i] is not None else row[i] for row in rows]
        for i, name in enumerate(ALL.names)
    }
    assert arrow.to_pydict() == want
    assert [column.null_count for column in arrow.columns] == [want[name].count(None) for name in ALL.names]
    frame = pl.DataFrame(batch)
    assert frame.columns == list(ALL.names)
    assert frame.to_dict(as_series=False) == want
    assert pa.table(arrow).num_rows == len(rows)


def test_numbers_are_exported_to_arrow_without_a_copy() -> None:
    batch = collect(ROWS)
    for name in ("i", "l", "f", "d"):
        assert pa.record_batch(batch)[name].buffers()[1].address == batch[name].__array_interface__["data"][0]


def test_arrow_data_outlives_the_batch_and_its_other_columns() -> None:
    batch = collect(HOLES * 100)
    before = sys.getrefcount(batch)
    arrow = pa.record_batch(batch)
    assert sys.getrefcount(batch) == before + 4
    column, strings = arrow["d"], arrow["s"]
    want, texts = column.to_pylist(), strings.to_pylist()
    del batch, arrow
    gc.collect()
    others = [collect(ROWS * 100) for _ in range(5)]
    assert (column.to_pylist(), strings.to_pylist(), len(others)) == (want, texts, 5)


def test_arrow_releases_the_batch() -> None:
    batch = collect(HOLES)
    before = sys.getrefcount(batch)
    for _ in range(50):
        pa.record_batch(batch)
        pl.DataFrame(batch)
        batch.__arrow_c_array__()  # the capsules are not taken
        batch.__arrow_c_array__(batch.__arrow_c_schema__())
        pa.schema(batch)
    gc.collect()
    assert sys.getrefcount(batch) == before


def test_arrow_can_release_the_batch_in_another_thread() -> None:
    batch = collect(HOLES)
    before = sys.getrefcount(batch)
    held = [pa.record_batch(batch)]
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    assert sys.getrefcount(batch) == before


def test_only_arrow_refuses_objects() -> None:
    batch = collect([(1, {1})], Layout(("i", "tags"), (INT, OBJECT)))
    for export in (batch.__arrow_c_array__, batch.__arrow_c_schema__):
        with pytest.raises(TypeError, match="column 'tags' holds Python objects"):
            export()
    assert batch["tags"].tolist() == [{1}]
    assert batch["i"].tolist() == [1]


def test_a_lone_surrogate_is_named_in_the_error() -> None:
    batch = collect([("ok",), ("\ud800",)], Layout(("s",), (STRING,)))
    with pytest.raises(ValueError, match=r"^row 1: column 's' can't be written as UTF-8") as caught:
        batch.__arrow_c_array__()
    assert type(caught.value) is ValueError


def test_names_are_written_as_utf8() -> None:
    assert pa.record_batch(collect([(1,)], Layout(("größe",), (INT,)))).schema.names == ["größe"]


# -- in again ---------------------------------------------------------------------------------------------------------

ANY_ROW = st.tuples(
    st.none() | st.text(st.characters(codec="utf-8"), max_size=15),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.integers(-(2**63), LONG_MAX),
    st.none() | st.floats(width=32, allow_nan=False),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.booleans(),
)


@given(st.lists(ANY_ROW, max_size=40))
def test_any_rows_are_returned_unchanged(rows: list[Any]) -> None:
    def same(values: list[Any], other: list[Any]) -> bool:
        return [
            tuple(None if v is None else np.float32(v) if i == 3 else v for i, v in enumerate(row)) for row in values
        ] == [tuple(None if v is None else np.float32(v) if i == 3 else v for i, v in enumerate(row)) for row in other]

    batch = collect(rows)
    assert same(list(batch), rows)
    for data in (
        batch,
        pa.record_batch(batch),
        pl.DataFrame(batch),
        pa.table(pa.record_batch(batch)),
        batch.to_pydict(),
    ):
        columns = read_columns(data, ALL, batch.timestamps)
        assert same(columns.to_rows(), rows)
        assert columns.timestamp_list() == batch.timestamps.tolist()


def test_objects_are_passed_from_batch_to_batch() -> None:
    layout = Layout(("o", "s"), (OBJECT, STRING))
    rows = [({1}, "a"), (None, None), ([1, 2], "b")]
    assert read_columns(collect(rows, layout), layout, None).to_rows() == rows


# -- ownership --------------------------------------------------------------------------------------------------------


def test_objects_are_owned_once_per_row() -> None:
    text = repr(object())  # a text without other references
    before = sys.getrefcount(text)
    builder = BatchBuilder(Layout(("s", "o"), (STRING, OBJECT)))
    for _ in range(100):
        builder.append_row(0, (text, text))
        builder.append_row(0, (None, text))
    assert sys.getrefcount(text) == before + 300
    batch = builder.take_batch()
    assert sys.getrefcount(text) == before + 300
    array = batch["s"]
    assert sys.getrefcount(text) == before + 400
    del batch
    assert sys.getrefcount(text) == before + 100
    del array
    assert sys.getrefcount(text) == before
    builder.append_row(0, (text, text))
    del builder
    assert sys.getrefcount(text) == before


def test_all_memory_is_released() -> None:
    blocks = []
    for _ in range(8):
        for _ in range(20):
            batch = collect(HOLES * 10)
            for name in ALL.names:
                batch[name]
            batch.to_pylist()
            pa.record_batch(batch)
        del batch
        gc.collect()
        blocks.append(sys.getallocatedblocks())
    assert max(blocks[4:]) - min(blocks[4:]) < 100


def test_large_blocks_are_reused_up_to_a_limit() -> None:
    drop_kept_blocks()
    assert kept_blocks() == (0, 0)
    collect(ROWS * 10_000)
    blocks, size = kept_blocks()
    assert blocks > 0
    for _ in range(5):
        collect(ROWS * 10_000)
    again = kept_blocks()
    assert again[1] <= 2 * size
    batches = [collect(ROWS * 10_000) for _ in range(60)]
    del batches
    assert kept_blocks()[1] <= 64 << 20
    drop_kept_blocks()
    assert kept_blocks() == (0, 0)


def test_garbage_collection_in_a_cycle() -> None:
    text = repr(object())  # a text without other references
    before = sys.getrefcount(text)
    for _ in range(20):
        builder = BatchBuilder(Layout(("s",), (STRING,)))
        builder.append_row(0, (text,))
        cycle: list[Any] = [builder, collect([(text,)], Layout(("s",), (STRING,)))]
        cycle.append(cycle)
        del builder, cycle
    gc.collect()
    assert sys.getrefcount(text) == before


# -- what people see --------------------------------------------------------------------------------------------------


def test_repr() -> None:
    assert repr(collect(ROWS[:1])) == "EventBatch(1 event: s string, i int, l long, f float, d double, b bool)"
    assert repr(collect(ROWS)).startswith("EventBatch(3 events: s string, ")


def test_html_shows_the_first_events() -> None:
    layout = Layout(("<s>", "n"), (STRING, INT))
    html = collect([("<script>", i) for i in range(25)], layout)._repr_html_()
    assert "<script>" not in html
    assert "&lt;s&gt;" in html
    assert html.count("<tr>") == 21
    assert "1019" in html
    assert "1020" not in html
    assert "5 more" in html
    assert "more" not in collect([("a", 1)], layout)._repr_html_()


# -- memory that ends -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 5, 100])
def test_a_failed_allocation_of_a_batch_keeps_the_collected_rows(n: int) -> None:
    def prepare() -> BatchBuilder:
        drop_kept_blocks()
        builder = BatchBuilder(ALL)
        for i in range(n):
            builder.append_row(i, HOLES[i % len(HOLES)])
        return builder

    def check(builder: BatchBuilder, done: bool) -> None:
        assert len(builder) == (0 if done else n)
        builder.append_row(n, ROWS[0])
        batch = builder.take_batch()
        assert list(batch) == [*([] if done else [HOLES[i % len(HOLES)] for i in range(n)]), ROWS[0]]
        assert list(collect(HOLES)) == HOLES

    assert each_allocation_failing(prepare, BatchBuilder.take_batch, check) >= 2


def test_a_failed_allocation_loses_only_its_row() -> None:
    def prepare() -> BatchBuilder:
        drop_kept_blocks()
        builder = BatchBuilder(ALL)
        for i in range(16):  # the next one makes it grow
            builder.append_row(i, HOLES[i % len(HOLES)])
        return builder

    def check(builder: BatchBuilder, done: bool) -> None:
        builder.append_row(17, ROWS[1])
        expected = [HOLES[i % len(HOLES)] for i in range(16)]
        assert list(builder.take_batch()) == [*expected, *([HOLES[3]] if done else []), ROWS[1]]

    failed = each_allocation_failing(prepare, lambda builder: builder.append_row(16, HOLES[3]), check)
    assert failed >= 5


# -- rows, slices and frames -------------------------------------------------------------------------------------------


def test_a_row_is_a_tuple() -> None:
    batch = collect(HOLES)
    assert [batch[i] for i in range(len(batch))] == HOLES
    assert batch[-1] == HOLES[-1]
    for row in (5, -6):
        with pytest.raises(IndexError, match=f"no row {row} in a batch of 5"):
            batch[row]


@given(
    rows=st.lists(st.sampled_from(HOLES), max_size=20),
    start=st.none() | st.integers(-25, 25),
    stop=st.none() | st.integers(-25, 25),
    step=st.none() | st.integers(-3, 3).filter(bool),
)
def test_a_slice_has_the_rows_of_a_list(rows: list[Any], start: int | None, stop: int | None, step: int | None) -> None:
    batch, chosen = collect(rows), slice(start, stop, step)
    part = batch[chosen]
    assert list(part) == rows[chosen]
    assert part.timestamps.tolist() == batch.timestamps.tolist()[chosen]
    del batch
    assert list(part) == rows[chosen]


def test_head_and_tail() -> None:
    batch = collect(HOLES)
    assert list(batch.head(2)) == HOLES[:2]
    assert list(batch.tail(2)) == HOLES[-2:]
    assert list(batch.head(-2)) == HOLES[:-2]
    assert list(batch.tail(-2)) == HOLES[2:]
    assert list(batch.tail(0)) == []
    assert len(batch.head()) == len(batch.tail(9)) == 5


def test_a_slice_keeps_no_string_alive() -> None:
    value = "a string of its own"
    before = sys.getrefcount(value)
    part = collect([(value, 1, 2, 1.0, 2.0, True)])[:]
    assert sys.getrefcount(value) > before
    del part
    assert sys.getrefcount(value) == before


@pytest.mark.parametrize("rows", [[], ROWS, HOLES], ids=["empty", "rows", "nulls"])
def test_frames_have_names_types_and_nulls(rows: list[Any]) -> None:
    batch = collect(rows)
    exact = [{**row, "f": row["f"] and float(np.float32(row["f"]))} for row in batch.to_dicts()]
    assert exact == batch.to_arrow().to_pylist() == batch.to_polars().to_dicts()
    frame = batch.to_pandas()
    assert list(frame.columns) == list(ALL.names)
    plain = frame.astype(object).where(frame.notna(), None).to_dict("records")
    assert plain == exact
    kinds = {"i": "Int32", "l": "Int64", "f": "Float32", "d": "Float64", "b": "boolean"} if rows is HOLES else DTYPES
    assert {name: str(frame[name].dtype) for name in kinds} == kinds
    assert str(frame["s"].dtype) == "string"


def test_nan_is_not_null_in_frames() -> None:
    batch = collect([(float("nan"),), (None,)], Layout(("d",), (DOUBLE,)))
    pandas = batch.to_pandas()["d"].array
    assert np.isnan(pandas[0])
    assert pandas[1] is pd.NA
    assert batch.to_polars()["d"].is_null().to_list() == [False, True]
    assert batch.to_arrow()["d"].is_null().to_pylist() == [False, True]


def test_a_frame_can_have_the_times() -> None:
    batch = collect(ROWS)
    expected = [pd.Timestamp(1000 + i, unit="ms", tz="UTC") for i in range(3)]
    assert batch.to_pandas("time")["time"].tolist() == expected
    assert batch.to_polars("time")["time"].to_list() == expected
    assert batch.to_arrow("time")["time"].to_pylist() == expected
    for method in (batch.to_pandas, batch.to_polars, batch.to_arrow):
        with pytest.raises(ValueError, match="the batch has a column 's'"):
            method("s")


def test_a_changed_frame_does_not_change_the_batch() -> None:
    batch = collect(HOLES)
    frame = batch.to_pandas()
    frame.loc[0, "d"] = 7.0
    frame.loc[0, "i"] = pd.NA
    assert list(batch) == HOLES


def test_objects_go_into_pandas_only() -> None:
    batch = collect([([1],), (None,)], Layout(("o",), (OBJECT,)))
    assert batch.to_pandas()["o"].tolist() == [[1], None]
    with pytest.raises(TypeError, match="column 'o' holds Python objects"):
        batch.to_arrow()


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"to_polars\(\) requires polars: pip install 'siddhi\[polars\]'"):
        collect(ROWS).to_polars()


# -- rows with names, and other libraries -----------------------------------------------------------------------------


def test_a_row_has_names() -> None:
    row = collect(ROWS)[0]
    assert (row.s, row.l, row._fields) == ("IBM", 2**40, ALL.names)
    assert row._asdict() == dict(zip(ALL.names, ROWS[0]))
    assert row == ROWS[0]
    assert hash(row) == hash(ROWS[0])
    odd = collect([(1, 2, 3)], Layout(("count", "a b", "_x"), (INT, INT, INT)))[0]
    assert callable(odd.count)
    assert odd._asdict() == {"count": 1, "a b": 2, "_x": 3}


def test_a_pickled_row_keeps_its_names() -> None:
    row = pickle.loads(pickle.dumps(collect(ROWS)[2]))
    assert (row, row.s) == (ROWS[2], "Größe")
    assert copied(row).b is True


@pytest.mark.parametrize("rows", [[], ROWS, HOLES], ids=["empty", "rows", "nulls"])
def test_other_libraries_keep_the_names(rows: list[Any]) -> None:
    # As a float, -0.1 has other digits in Python, where it is a double, than in a row.
    batch = collect([tuple(-0.5 if value == -0.1 else value for value in row) for row in rows])
    expected = batch.to_pydict()
    assert pa.table(batch).to_pydict() == expected
    assert pa.RecordBatchReader.from_stream(batch).read_all().to_pydict() == expected
    assert pl.DataFrame(batch).to_dict(as_series=False) == expected
    if rows:
        assert pd.DataFrame(batch).columns.tolist() == list(ALL.names)
    table = batch.to_numpy()
    assert [name for name in table.dtype.names if table[name].tolist() != expected[name]] == []


def test_duckdb_finds_a_batch_by_the_name_of_its_variable() -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    batch = collect(HOLES)
    found = duckdb.connect().sql("select s, l from batch where l is not null").fetchall()
    assert len(batch) == len(HOLES)
    assert found == [(row[0], row[2]) for row in HOLES if row[2] is not None]


def test_a_stream_of_arrow_lives_as_long_as_it_is_used() -> None:
    reader = pa.RecordBatchReader.from_stream(collect(ROWS))
    gc.collect()
    table = reader.read_all()
    del reader
    gc.collect()
    assert table.equals(pa.table(collect(ROWS)))
    capsule = collect(ROWS).__arrow_c_stream__()
    del capsule


def test_objects_have_no_arrow_stream() -> None:
    with pytest.raises(TypeError, match="column 'o' holds Python objects"):
        collect([(object(),)], Layout(("o",), (OBJECT,))).__arrow_c_stream__()


class TestChosenRowsAndColumns:
    BATCH = siddhi.query(
        "from T select * insert into O;", T={"i": [1, None, 3], "s": ["a", "b", None], "x": [0.5, 1.5, 2.5]}
    )["O"]
    ROWS: ClassVar[list[tuple[Any, ...]]] = [(1, "a", 0.5), (None, "b", 1.5), (3, None, 2.5)]

    def test_integers_of_numpy_are_numbers_of_rows(self) -> None:
        assert self.BATCH[np.int64(-1)] == self.ROWS[2]

    @pytest.mark.parametrize("chosen", [[2, 0], np.array([2, 0]), [-1, -3], [np.int64(2), 0]])
    def test_a_list_of_numbers_chooses_rows_in_its_order(self, chosen: Any) -> None:
        assert list(self.BATCH[chosen]) == [self.ROWS[2], self.ROWS[0]]

    @pytest.mark.parametrize("chosen", [[True, False, True], np.array([True, False, True])])
    def test_a_mask_chooses_the_rows_where_it_is_true(self, chosen: Any) -> None:
        assert list(self.BATCH[chosen]) == [self.ROWS[0], self.ROWS[2]]
        assert len(self.BATCH[self.BATCH["x"] > 1]) == 2

    @pytest.mark.parametrize("chosen", [["x", "s"], np.array(["x", "s"])])
    def test_a_list_of_names_chooses_columns(self, chosen: Any) -> None:
        batch = self.BATCH[chosen]
        assert (batch.names, batch.types, list(batch)) == (
            ("x", "s"),
            ("double", "string"),
            [(0.5, "a"), (1.5, "b"), (2.5, None)],
        )
        assert batch.timestamps.tolist() == self.BATCH.timestamps.tolist()

    @pytest.mark.parametrize(
        ("chosen", "error", "message"),
        [
            ([3], IndexError, "no row 3 in a batch of 3"),
            ([True], IndexError, "a mask of 1 values for a batch of 3 rows"),
            (["ss"], KeyError, "no column 'ss' .* did you mean 's'"),
            (["s", "s"], ValueError, "column 's' is named twice"),
            (["s", 1], TypeError, "names of columns, numbers of rows or truth values, not 's' in a list"),
            ([1.5], TypeError, "not 1.5 in a list"),
        ],
    )
    def test_other_lists_are_refused(self, chosen: Any, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=message):
            self.BATCH[chosen]

    def test_nothing_chosen_is_a_batch_without_rows(self) -> None:
        assert (len(self.BATCH[[]]), self.BATCH[[]].names) == (0, ("i", "s", "x"))
        assert list(self.BATCH[:0][["s"]]) == []
