"""Tables of every kind give temporal and corrected streams the same rows and times."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from siddhi.errors import EventError, InvalidTemporalEvent
from siddhi.temporal import MAX
from tests.kit.running import running

IDS, NAMES, TIMES = [1, 2, 3], ["a", None, "c"], [1000, 3000, 2000]
ROWS = {"id": IDS, "name": NAMES, "at": TIMES}
POLICIES = ("error", "drop", "adjust", "correct', bound = '1 min")

TABLES: dict[str, Callable[[], Any]] = {
    "lists": lambda: ROWS,
    "numbers of numpy": lambda: {"id": [np.int32(i) for i in IDS], "name": NAMES, "at": [np.int64(t) for t in TIMES]},
    "numpy": lambda: {**ROWS, "id": np.array(IDS, np.int16), "at": np.array(TIMES)},
    "structured numpy": lambda: np.array(
        list(zip(IDS, NAMES, TIMES, strict=True)), [("id", "i4"), ("name", "O"), ("at", "i8")]
    ),
    "pandas": lambda: pd.DataFrame(ROWS),
    "pandas times": lambda: pd.DataFrame({**ROWS, "at": pd.to_datetime(TIMES, unit="ms", utc=True)}),
    "polars": lambda: pl.DataFrame(ROWS),
    "arrow": lambda: pa.table(ROWS),
    "arrow times": lambda: pa.table({**ROWS, "at": pa.array(TIMES, pa.timestamp("ms"))}),
    "record batch reader": lambda: pa.table(ROWS).to_reader(),
    "datetimes": lambda: {**ROWS, "at": [datetime.fromtimestamp(t / 1000, timezone.utc) for t in TIMES]},
    "rows": lambda: [dict(zip(ROWS, row, strict=True)) for row in zip(IDS, NAMES, TIMES, strict=True)],
}
COLUMNS: dict[str, Callable[[], Any]] = {
    "list": lambda: TIMES,
    "numbers of numpy": lambda: [np.int64(t) for t in TIMES],
    "numpy": lambda: np.array(TIMES),
    "times of numpy": lambda: np.array(TIMES, "datetime64[ms]"),
    "series": lambda: pd.Series(TIMES),
    "index of times": lambda: pd.to_datetime(TIMES, unit="ms"),
    "polars": lambda: pl.Series(TIMES),
    "arrow": lambda: pa.array(TIMES),
    "chunked": lambda: pa.chunked_array([TIMES[:1], TIMES[1:]]),
}


def taken(policy: str, send: Callable[[Any], object]) -> list[tuple[int, Any]]:
    """Return the times and rows of what a point stream took."""
    app = f"""@temporal(model = 'point', policy = '{policy}') define stream S (id int, name string);
    from S select id, name insert into Out;"""
    found: list[tuple[int, Any]] = []
    with running(app) as runtime:
        runtime.add_temporal_callback(
            "Out", lambda items: found.extend((item.start, item.data) for item in items if item.kind == "insert")
        )
        handler: Any = runtime.input_handler("S")
        send(handler)
        handler.cti(MAX)
    return sorted(found)


EXPECTED = [(1000, (1, "a")), (2000, (3, "c")), (3000, (2, None))]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", TABLES)
def test_a_table_of_any_kind_equals_its_rows(policy: str, kind: str) -> None:
    assert taken(policy, lambda handler: handler.send_batch(TABLES[kind](), timestamp="at")) == EXPECTED
    assert taken(policy, lambda handler: handler.insert_batch(TABLES[kind](), start="at", cti=1)) == EXPECTED


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("kind", COLUMNS)
def test_times_may_be_given_as_a_column(policy: str, kind: str) -> None:
    table = pa.table({"id": IDS, "name": NAMES})
    assert taken(policy, lambda handler: handler.send_batch(table, timestamp=COLUMNS[kind]())) == EXPECTED
    assert taken(policy, lambda handler: handler.insert_batch(table, start=COLUMNS[kind]())) == EXPECTED
    rows = list(zip(IDS, NAMES, strict=True))
    assert taken(policy, lambda handler: handler.send_batch(rows, timestamp=COLUMNS[kind]())) == EXPECTED


def send_with(times: Any, handler: Any) -> None:
    handler.send_batch({"id": IDS, "name": NAMES}, timestamp=times)


@pytest.mark.parametrize("policy", POLICIES)
def test_times_that_do_not_fit_a_table_are_refused(policy: str) -> None:
    for times, error, words in (
        ([1, 2], EventError, "there are 2 times in 'timestamp' for 3 rows"),
        ("at", EventError, "no column 'at' for the times of the rows; the data has: id, name"),
        (5, EventError, "timestamp"),
        ([1, None, 3], InvalidTemporalEvent, r"row 1: column 'timestamp' is null; .*no row of the batch was inserted"),
    ):
        with pytest.raises(error, match=words):
            taken(policy, partial(send_with, times))


@pytest.mark.parametrize("kind", ["rows", "record batch reader", "pandas"])
def test_a_column_of_ends_is_found_in_every_table(kind: str) -> None:
    columns = {"v": [1, 2], "start": [5, 3], "end": [9, 4]}
    table: Any = {
        "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        "record batch reader": pa.table(columns).to_reader(),
        "pandas": pd.DataFrame(columns),
    }[kind]
    found: list[Any] = []
    with running("@temporal define stream S (v int); from S select v insert into Out;") as runtime:
        runtime.add_temporal_callback("Out", found.extend)
        runtime.input_handler("S").insert_batch(table, cti=MAX)  # type: ignore[union-attr]
    assert [item[:3] for item in found[:-1]] == [("insert", 3, 4), ("insert", 5, 9)]


def test_starts_beside_an_attribute_of_the_end_may_be_a_column() -> None:
    app = "@temporal(end = 'until') define stream S (v int, until long); from S select v insert into Out;"
    found: list[Any] = []
    with running(app) as runtime:
        runtime.add_temporal_callback("Out", found.extend)
        handler: Any = runtime.input_handler("S")
        handler.send_batch({"v": [1, 2], "until": [9, None]}, timestamp=np.array([5, 3]))
        handler.cti(MAX)
    assert [item[:3] for item in found[:-1]] == [("insert", 5, 9), ("insert", 3, MAX)]
