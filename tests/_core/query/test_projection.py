from __future__ import annotations

import gc
import sys
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi._core.record.event import live_events

DEFINITION = "define stream S (a string, b long, c double, d string, e int);"
SCHEMA = {"a": pa.string(), "b": pa.int64(), "c": pa.float64(), "d": pa.string(), "e": pa.int32()}
# What the first query selects: the first attributes in order, others, another order, everything.
FIRST = ["a, b, c", "a, b", "b, c, a", "a, d, b", "*", "a, b * 2L as b, c"]
FILTERS = ["", "[b > 1L]", "[c < 2.0 and b > 0L]", "[a == 'x']", "[a is null]"]
# What reads the end of the chain, and may keep the records it is given.
ENDS = {
    "as it is": "from C2 select * insert into Out;",
    "two readers": "from C2 select * insert into Out; from C2 select a insert into Other;",
    "events kept": "from C2#window.length(2) select a, b, max(b) as top insert all events into Out;",
    "arguments kept": "from C2#window.length(2) select a, sum(b) as total group by a insert into Out;",
    "batches kept": "from C2#window.lengthBatch(3) select a, b insert into Out;",
    "a pattern": "from every x=C2[b > 1L] -> y=C2[b < x.b] select x.a as xa, y.a as ya, x.b as b insert into Out;",
    "a join": "from C2#window.length(2) as l join C2#window.length(1) as r on l.a == r.a "
    "select l.a, l.b, r.b as rb insert into Out;",
    "a table": "define table T (a string, b long); from C2 select a, b insert into T; "
    "from C2[b in T] select a, b insert into Out;",
    "a partition": "partition with (a of C2) begin from C2#window.length(2) select a, b, min(b) as low "
    "insert into Out; end;",
}
ROWS = st.lists(
    st.tuples(
        st.sampled_from([None, "x", "y", "é" * 9]),
        st.none() | st.integers(-1, 4),
        st.sampled_from([None, 0.5, 1.5, 2.5]),
        st.sampled_from([None, "p", "q"]),
        st.none() | st.integers(0, 3),
    ),
    max_size=12,
)


def app_of(first: str, filters: tuple[str, str, str], end: str) -> str:
    text = ENDS[end]
    if "b in T" in text:
        text = text.replace("b in T", "T.b == b in T")
    head, separator, tail = text.partition("; ")
    definitions = f"{head};" if separator and head.startswith("define") else ""
    queries = tail if definitions else text
    return (
        f"{DEFINITION} {definitions} from S{filters[0]} select {first} insert into C1;"
        f" from C1{filters[1]} select a, b insert into C2; {queries.replace('C2[', 'C2' + filters[2] + '[', 1)}"
    )


def told(app: str, rows: list[tuple[Any, ...]], cuts: list[int] | None) -> list[tuple[Any, ...]]:
    """What reaches Out: row by row, or from batches cut there."""
    got: list[tuple[Any, ...]] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        if cuts is None:
            runtime.add_callback("Out", lambda events: got.extend(event.data for event in events))
            for row in rows:
                runtime.input_handler("S").send(row)
            return got
        runtime.add_batch_callback(
            "Out", lambda batch: got.extend(tuple(row.values()) for row in pa.table(batch).to_pylist())
        )
        start = 0
        for end in [*cuts, len(rows)]:
            part = rows[start:end]
            columns = {name: pa.array([row[i] for row in part], kind) for i, (name, kind) in enumerate(SCHEMA.items())}
            runtime.input_handler("S").send_batch(pa.table(columns))
            start = end
    return got


@pytest.mark.parametrize("end", ENDS)
@given(
    first=st.sampled_from(FIRST),
    filters=st.tuples(*[st.sampled_from(FILTERS[:2]) for _ in range(3)]),
    rows=ROWS,
    cuts=st.lists(st.integers(0, 12), max_size=2).map(sorted),
)
def test_borrowed_records_give_the_same_rows_as_single_events(
    end: str, first: str, filters: tuple[str, str, str], rows: list[tuple[Any, ...]], cuts: list[int]
) -> None:
    app = app_of(first, filters, end)
    assert told(app, rows, cuts) == told(app, rows, None)


@given(condition=st.sampled_from(FILTERS), rows=ROWS, cuts=st.lists(st.integers(0, 12), max_size=2).map(sorted))
def test_numbers_computed_by_block_equal_those_of_single_rows(
    condition: str, rows: list[tuple[Any, ...]], cuts: list[int]
) -> None:
    columns = [
        "b * 3L as b3", "b / e as be", "b % 2L as odd", "c + b as cb", "c / 0.0 as none", "e * 2 + 1 as e2",
        "(c - 1.5) * (c + b) / e as deep", "e * 1.5f as f", "e % 3 as r", "7 - e as left", "b + b + b + b as b4",
        "c % 1.0 as rest", "2147483647 + e as wrapped",
    ]  # fmt: skip
    app = f"{DEFINITION} from S{condition} select a, {', '.join(columns)} insert into Out;"
    assert told(app, rows, cuts) == told(app, rows, None)


FAILING = {
    "a function": "from M select f(v) as x insert into Out;",
    "a window behind a copy": "from M#window.externalTime(ts, 1 sec) select name insert all events into Out;",
}


@pytest.mark.parametrize("way", FAILING)
def test_failed_rows_after_a_borrowed_record_own_their_values(way: str) -> None:
    app = f"""define stream S (name string, v int, ts long, extra string);
        define function f[python] return int {{ return 1 // data[0] }};
        from S select name, v, ts insert into M; {FAILING[way]}
        from S select extra insert into Extras;"""
    word = "some-word"
    held: list[Any] = []
    gc.collect()
    alive = live_events()
    before = sys.getrefcount(word)
    manager = SiddhiManager()
    runtime = manager.create_siddhi_app_runtime(app)
    runtime.handle_exception_with(lambda error, origin, events: held.extend(events))
    for stream in ("Out", "Extras"):
        runtime.add_batch_callback(stream, lambda batch: None)
    runtime.start()
    table = {"name": ["x"] * 5, "v": [0] * 5, "ts": pa.array([None] * 5, pa.int64()), "extra": [word] * 5}
    runtime.input_handler("S").send_batch(table)
    del table
    manager.shutdown()
    del runtime, manager
    gc.collect()
    assert [event.data for event in held] == [("x", 0, None)] * 5
    held.clear()
    gc.collect()
    assert live_events() == alive
    assert sys.getrefcount(word) == before


@pytest.mark.parametrize("window", ["", "#window.length(5)"])
def test_a_failed_row_of_a_batch_keeps_attributes_that_are_not_read(window: str) -> None:
    app = f"""define stream S (name string, v int, extra string, more double);
        define function f[python] return int {{ return 1 // data[0] }};
        from S{window} select f(v) as x insert into Out;"""
    held: list[Any] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: held.extend(events))
        runtime.add_batch_callback("Out", lambda batch: None)
        table = {"name": ["a", "b", None], "v": [0, 1, 0], "extra": ["e", "f", None], "more": [1.5, 2.5, 3.5]}
        runtime.input_handler("S").send_batch(pa.table(table))
    assert [event.data for event in held] == [("a", 0, "e", 1.5), (None, 0, None, 3.5)]


def test_a_nested_batch_keeps_its_failed_rows_complete() -> None:
    app = """define stream S (name string, v int, extra string);
        define function f[python] return int { return 1 // data[0] };
        from S select f(v) as x insert into Out;"""
    held: list[Any] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        handler = runtime.input_handler("S")

        def hold(error: Exception, origin: str, events: Any) -> None:
            held.extend(event.data for event in events)
            if held[-1][0] == "outer":
                handler.send_batch({"name": ["inner"], "v": [0], "extra": ["i"]})

        runtime.handle_exception_with(hold)
        runtime.add_batch_callback("Out", lambda batch: None)
        handler.send_batch({"name": ["outer"] * 2, "v": [0, 0], "extra": ["a", "b"]})
    assert held == [("outer", 0, "a"), ("inner", 0, "i"), ("outer", 0, "b"), ("inner", 0, "i")]
