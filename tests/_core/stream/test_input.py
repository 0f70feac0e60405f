"""The input handler: every form of sending, and what it refuses."""

from __future__ import annotations

import gc

import numpy as np
import pyarrow as pa
import pytest

from siddhi import Event
from siddhi._core.record.event import live_events
from siddhi.errors import EventError
from tests.kit.running import collect, collect_events, running

ALL = "@app:playback define stream S (t string, i int, l long, f float, d double, b bool, o object);"
ROW = ("x", 1, 2, 0.5, 0.25, True, None)
COPY = f"{ALL} from S#window.length(2) select t, i, l, f, d, b, o, sum(i) as total insert into Out;"


def test_rows_may_be_tuples_lists_events_dicts_and_other_iterables():
    with running(ALL) as runtime:
        rows = collect(runtime, "S")
        handler = runtime.input_handler("S")
        names = [name for name, _ in runtime.stream_attributes("S")]
        forms = [ROW, list(ROW), Event(5, ROW), dict(zip(names, ROW)), dict(reversed(list(zip(names, ROW)))), iter(ROW)]
        for form in forms:
            handler.send(form, 1)
        assert rows == [ROW] * len(forms)


def test_the_time_of_an_event_is_used_unless_another_is_given():
    with running(ALL) as runtime:
        (chunks, handler) = (collect_events(runtime, "S"), runtime.input_handler("S"))
        handler.send(Event(5, ROW))
        handler.send(Event(5, ROW), timestamp=9)
        handler.send(ROW, timestamp=np.int64(11))
        assert [event.timestamp for chunk in chunks for event in chunk] == [5, 9, 11]
        assert runtime.now == 11


def test_without_a_time_the_playback_clock_does_not_move():
    with running(ALL) as runtime:
        chunks = collect_events(runtime, "S")
        runtime.input_handler("S").send(ROW, 5)
        runtime.input_handler("S").send(ROW)
        assert runtime.now == 5
        assert chunks[1][0].timestamp > 1_600_000_000_000


def test_numbers_of_numpy_and_python_are_taken_alike():
    with running(ALL) as runtime:
        rows = collect(runtime, "S")
        handler = runtime.input_handler("S")
        handler.send(
            (np.str_("x"), np.int8(1), np.uint32(2), np.float32(0.5), np.float64(0.25), np.bool_(True), None), 1
        )
        handler.send(("x", True + 0, 2, 1, 2, False, [1]), 2)
        assert rows == [ROW, ("x", 1, 2, 1.0, 2.0, False, [1])]
        assert [type(value) for value in rows[0]] == [str, int, int, float, float, bool, type(None)]


def test_the_limits_of_numeric_types_are_accepted():
    with running(ALL) as runtime:
        rows = collect(runtime, "S")
        ends = [
            ("", -(2**31), -(2**63), -3.4028234663852886e38, -1.7976931348623157e308, False, None),
            ("\U0001f600", 2**31 - 1, 2**63 - 1, float("inf"), float("inf"), True, None),
            (None,) * 7,
        ]
        for row in ends:
            runtime.input_handler("S").send(row, 1)
        assert [row[:3] + row[4:] for row in rows] == [row[:3] + row[4:] for row in ends]


REFUSED = [
    ((1, 1, 2, 0.5, 0.25, True, None), "attribute 't' (string) can't take 1: it is a int"),
    ((b"x", *ROW[1:]), "attribute 't' (string) can't take b'x'"),
    (("x", 2**31, *ROW[2:]), "attribute 'i' (int) can't take 2147483648: it is out of range"),
    (("x", -(2**31) - 1, *ROW[2:]), "attribute 'i' (int) can't take -2147483649: it is out of range"),
    (("x", 1.0, *ROW[2:]), "attribute 'i' (int) can't take 1.0: it is a float"),
    (("x", True, *ROW[2:]), "attribute 'i' (int) can't take True: it is a bool"),
    (("x", "1", *ROW[2:]), "attribute 'i' (int) can't take '1'"),
    (("x", 1, 2**63, *ROW[3:]), "attribute 'l' (long) can't take 9223372036854775808: it is out of range"),
    ((*ROW[:3], 1e39, *ROW[4:]), "attribute 'f' (float) can't take 1e+39: it is out of range"),
    ((*ROW[:3], "0.5", *ROW[4:]), "attribute 'f' (float) can't take '0.5'"),
    ((*ROW[:4], 10**400, *ROW[5:]), "attribute 'd' (double) can't take"),
    ((*ROW[:4], False, *ROW[5:]), "attribute 'd' (double) can't take False"),
    ((*ROW[:5], 1, None), "attribute 'b' (bool) can't take 1: it is a int"),
    (ROW[:6], "has 7 attributes (t, i, l, f, d, b, o), the row has 6 values"),
    ((*ROW, 1), "the row has 8 values"),
    ("x", "a row is a tuple or list of values, not 'x'"),
    (7, "a row is a tuple or list of values, not 7"),
    ({"t": "x"}, "lacks i, l, f, d, b, o"),
    ({**dict(zip("tilfdbo", ROW)), "z": 1}, "has z"),
]


@pytest.mark.parametrize(("row", "message"), REFUSED, ids=range(len(REFUSED)))
def test_an_invalid_row_is_refused_by_name_and_changes_nothing(row, message):
    with running(COPY) as runtime:
        rows = collect(runtime, "Out")
        handler = runtime.input_handler("S")
        handler.send(ROW, 10)
        gc.collect()
        before, state = live_events(), runtime.snapshot()
        for send in (lambda: handler.send(row, 20), lambda: handler.send_events([Event(20, ROW), event(row)])):
            with pytest.raises(EventError, match="stream 'S'") as caught:
                send()
            assert isinstance(caught.value, ValueError)
        with pytest.raises(EventError) as caught:
            handler.send(row, 20)
        assert message in str(caught.value)
        assert (live_events(), runtime.snapshot(), runtime.now) == (before, state, 10)
        handler.send(ROW, 11)
        assert [row[-1] for row in rows] == [1, 2]


def event(row):
    return Event(20, row) if isinstance(row, tuple) else row


def test_a_chunk_needs_at_least_one_event():
    with running(ALL) as runtime:
        handler = runtime.input_handler("S")
        with pytest.raises(EventError, match="no events"):
            handler.send_events([])
        with pytest.raises(EventError, match="expected Event objects"):
            handler.send_events([ROW])


def test_a_chunk_moves_the_clock_to_its_last_event():
    with running(ALL) as runtime:
        chunks = collect_events(runtime, "S")
        runtime.input_handler("S").send_events(Event(time, ROW) for time in (1, 9, 5))
        assert runtime.now == 5
        assert len(chunks) == 1


COLUMNS = {
    "t": ["x", None],
    "i": np.array([1, 2], np.int32),
    "l": np.array([3, 4]),
    "f": np.array([0.5, np.nan], np.float32),
    "d": np.array([0.25, 1.5]),
    "b": np.array([True, False]),
    "o": [None, {"a": 1}],
}


def test_columns_may_be_a_mapping_or_an_arrow_table():
    columns = {name: column for name, column in COLUMNS.items() if name != "o"}
    app = ALL.replace(", o object", "")
    with running(app) as runtime:
        rows = collect(runtime, "S")
        handler = runtime.input_handler("S")
        handler.send_batch(columns, timestamp=[1, 2])
        handler.send_batch(pa.table({**columns, "at": [3, 4], "unused": ["a", "b"]}), timestamp="at")
        handler.send_batch(pa.record_batch(columns), timestamp=np.array([5, 6]))
        assert rows[0::2] == [("x", 1, 3, 0.5, 0.25, True)] * 3
        assert all(row[0] is None and row[3] != row[3] for row in rows[1::2])


def test_objects_can_be_columns_of_a_mapping():
    with running(ALL) as runtime:
        rows = collect(runtime, "S")
        runtime.input_handler("S").send_batch(COLUMNS, timestamp=[1, 2])
        assert [row[-1] for row in rows] == [None, {"a": 1}]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"i": None}, "i"),
        ({"i": np.array([1, 2**31])}, "'i'"),
        ({"i": ["1", "2"]}, "'i'"),
        ({"b": np.array([1, 2])}, "'b'"),
        ({"l": np.array([3])}, ""),
    ],
    ids=["missing", "range", "type", "bool", "length"],
)
def test_an_invalid_column_is_refused_by_name_and_changes_nothing(change, message):
    columns = {**COLUMNS, **change}
    columns = {name: column for name, column in columns.items() if column is not None}
    with running(COPY) as runtime:
        rows = collect(runtime, "Out")
        gc.collect()
        before, state = live_events(), runtime.snapshot()
        with pytest.raises(EventError, match=f"stream 'S'.*{message}"):
            runtime.input_handler("S").send_batch(columns, timestamp=[1, 2])
        assert (live_events(), runtime.snapshot(), rows) == (before, state, [])


def test_an_empty_batch_changes_nothing():
    with running(ALL.replace(", o object", "")) as runtime:
        rows = collect(runtime, "S")
        batches = []
        runtime.add_batch_callback("S", batches.append)
        runtime.input_handler("S").send_batch({name: [] for name in "tilfdb"}, timestamp=[])
        assert (rows, batches) == ([], [])


def test_rows_without_a_time_do_not_move_the_playback_clock():
    app = "@app:playback define stream S (v int); from S#window.time(1 sec) select count() as n insert into Out;"
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        runtime.input_handler("S").send((1,), 1_000)
        runtime.input_handler("S").send((2,))
        runtime.input_handler("S").send_batch({"v": np.array([3, 4], np.int32)})
        assert runtime.now == 1_000
        assert [row[0] for row in rows] == [1, 2, 3, 4]


def test_a_table_is_read_once_and_sent_in_parts():
    with running("@app:playback define stream S (a int, name string);") as runtime:
        rows = collect(runtime, "S")
        table = pa.table({"a": range(600), "name": [str(n) for n in range(600)], "at": range(600)})
        batch = runtime.input_handler("S").read_batch(table, timestamp="at")
        assert (len(batch), batch.times.tolist()) == (600, list(range(600)))
        batch.send(500, 600)
        batch.send(0, 300)
        batch.send(5, 5)
        assert rows == [(n, str(n)) for n in [*range(500, 600), *range(300)]]
        for start, stop in [(-1, 5), (5, 4), (0, 601)]:
            with pytest.raises(IndexError, match=f"no rows {start} to {stop} in a table of 600 rows"):
                batch.send(start, stop)


def test_a_table_that_does_not_fit_is_refused_when_it_is_read():
    with running("define stream S (a int);") as runtime:
        handler = runtime.input_handler("S")
        with pytest.raises(EventError, match="stream 'S': no column 'a'"):
            handler.read_batch({"b": [1]})
        assert handler.read_batch({"a": [1]}).times is None


@pytest.mark.parametrize("kind", ["lazy", "reader", "scanner", "duckdb"])
def test_lazy_tables_are_sent_in_parts(kind):
    polars, dataset = pytest.importorskip("polars"), pytest.importorskip("pyarrow.dataset")
    table = pa.table({"a": range(100_000), "at": range(100_000), "unused": range(100_000)})
    given = {
        "lazy": lambda: polars.DataFrame(table).lazy(),
        "reader": lambda: table.to_reader(max_chunksize=1000),
        "scanner": lambda: dataset.dataset(table).scanner(batch_size=1000),
        "duckdb": lambda: pytest.importorskip("duckdb").connect().from_arrow(table),
    }[kind]()
    with running("@app:playback define stream S (a int);") as runtime:
        sizes = []
        runtime.add_batch_callback("S", lambda batch: sizes.append(len(batch)))
        runtime.input_handler("S").send_batch(given, timestamp="at")
        assert (sum(sizes), len(sizes) > 1, runtime.now) == (100_000, True, 99_999)


def test_the_times_of_a_lazy_table_are_in_a_column_of_it():
    polars = pytest.importorskip("polars")
    with running("@app:playback define stream S (a int);") as runtime, pytest.raises(EventError, match="column's name"):
        runtime.input_handler("S").send_batch(polars.LazyFrame({"a": [1]}), timestamp=[5])
