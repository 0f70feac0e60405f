"""Columns in and out: batches of rows with lifetimes, output collected as columns."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from siddhi.errors import EventError, InvalidTemporalEvent
from siddhi.temporal import MAX
from tests.kit.running import running

APP = """
@temporal(model = '{model}') define stream S (id int, name string);
@temporal(model = '{out}') define stream Out (id int, name string);
from S select id, name insert into Out;
"""


def app(model: str = "interval", out: str = "interval") -> str:
    return APP.format(model=model, out=out)


def handler_of(runtime: Any) -> Any:
    return runtime.input_handler("S")


COLUMNS = {"from": [5, 1, 3], "to": [9, MAX, 4], "id": [1, None, 3], "name": ["a", "b", None]}
TABLES = [
    COLUMNS,
    {**COLUMNS, "from": np.array([5, 1, 3]), "to": np.array([9, MAX, 4])},
    pa.table(COLUMNS),
    pa.table({**COLUMNS, "from": pa.array([5, 1, 3], pa.timestamp("ms")), "unused": [1, 2, 3]}),
]


@pytest.mark.parametrize("table", TABLES, ids=["lists", "numpy", "arrow", "arrow times"])
def test_a_batch_of_any_kind_equals_its_rows(table: Any) -> None:
    shown: list[Any] = []
    with running(app()) as runtime:
        runtime.add_temporal_callback("Out", shown.extend)
        handler_of(runtime).insert_batch(table, start="from", end="to", cti=MAX)
    assert [tuple(item) for item in shown] == [
        ("insert", 3, 4, (3, None)),
        ("insert", 5, 9, (1, "a")),
        ("insert", 1, MAX, (None, "b")),
        ("cti", MAX, None, None),
    ]


def test_a_batch_of_points_may_hold_datetimes() -> None:
    shown: list[Any] = []
    second = datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)
    with running(app("point")) as runtime:
        runtime.add_temporal_callback("Out", shown.extend)
        handler_of(runtime).insert_batch({"start": [second, 7], "id": [1, 2], "name": ["a", "b"]}, cti=second)
        handler_of(runtime).cti(MAX)
    assert [item[:3] for item in shown] == [
        ("insert", 7, 8),
        ("cti", 1000, None),
        ("insert", 1000, 1001),
        ("cti", MAX, None),
    ]


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        ({"start": pa.array([1, None]), "end": [2, 3]}, InvalidTemporalEvent, "row 1: column 'start' is null"),
        ({"start": [1, 2], "end": pa.array([None, 3])}, InvalidTemporalEvent, "row 0: column 'end' is null"),
        ({"start": [1], "end": [2, 3]}, EventError, "1 times in .start., but 2 in .end."),
        ({"start": [1], "end": [2]}, EventError, "1 times in .start. for 2 rows"),
        ({"start": ["x", "y"], "end": [2, 3]}, EventError, "the time in column 'start' must be milliseconds"),
        ({"start": [1, 2]}, EventError, "no column 'end'"),
    ],
)
def test_invalid_times_of_a_batch_are_named(table: Any, error: type[Exception], words: str) -> None:
    with running(app()) as runtime, pytest.raises(error, match=words):
        handler_of(runtime).insert_batch({**table, "id": [1, 2], "name": ["a", "b"]}, end="end")


def test_a_batch_callback_gets_all_that_a_batch_releases() -> None:
    sizes: list[int] = []
    with running(app("point").replace("'point')", "'point', @advance(count = '10'))", 1)) as runtime:
        runtime.add_batch_callback("Out", lambda batch: sizes.append(len(batch)))
        rows = 1000
        handler_of(runtime).insert_batch({"start": np.arange(rows), "id": np.arange(rows), "name": ["x"] * rows})
        handler_of(runtime).cti(MAX)
    assert sum(sizes) == rows
    assert len(sizes) == 2


def test_lifetimes_are_collected_as_columns() -> None:
    with running(app()) as runtime:
        runtime.collect("Out")
        handler_of(runtime).insert(1, 4, (1, "a"))
        handler_of(runtime).insert(2, 4, (2, None))
        handler_of(runtime).insert(3, MAX, (3, "c"))
        handler_of(runtime).cti(5)
        first = runtime.drain()["Out"]
        handler_of(runtime).cti(MAX)
        second = runtime.drain()["Out"]
    assert pa.table(first).to_pydict() == {
        "id": [1, 2],
        "name": ["a", None],
        "_timestamp": [1, 2],
        "_end": [4, 4],
        "_chunk": [0, 0],
    }
    assert pa.table(second).to_pydict() == {
        "id": [3],
        "name": ["c"],
        "_timestamp": [3],
        "_end": [MAX],
        "_chunk": [1],
    }


def test_an_edge_that_opens_a_lifetime_has_no_end() -> None:
    with running(app(out="edge")) as runtime:
        runtime.collect("Out", timestamp="start", end="end", chunk=None)
        handler_of(runtime).insert(1, 4, (1, "a"))
        handler_of(runtime).cti(MAX)
        assert pa.table(runtime.drain()["Out"]).to_pydict() == {
            "id": [1, 1],
            "name": ["a", "a"],
            "start": [1, 1],
            "end": [None, 4],
        }


def test_collected_points_end_after_one_millisecond_and_survive_a_restart() -> None:
    with running(app(out="point")) as runtime:
        runtime.collect("Out", timestamp=None, chunk=None)
        for _ in range(2):
            handler_of(runtime).insert(1, 40, (1, "a"))
            handler_of(runtime).cti(MAX)
            runtime.shutdown()
            runtime.start()
        assert pa.table(runtime.drain()["Out"]).to_pydict() == {"id": [1, 1], "name": ["a", "a"], "_end": [2, 2]}


def test_names_of_collected_columns_must_differ() -> None:
    with running("define stream Plain (id int);" + app()) as runtime:
        with pytest.raises(ValueError, match="two columns 'id'"):
            runtime.collect("Out", end="id")
        with pytest.raises(ValueError, match="two columns '_chunk'"):
            runtime.collect("Out", end="_chunk")
        runtime.collect("Plain", end="id")  # classical streams have no ends
