"""Aggregates over a length window, column by column (Selector.process_pairs): the rows are those of single sends."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager

DEFINITION = "define stream S (a string, i int, l long, f float, d double, b bool);"
SCHEMA = {"a": pa.string(), "i": pa.int32(), "l": pa.int64(), "f": pa.float32(), "d": pa.float64(), "b": pa.bool_()}
COLUMNS = [
    "a", "d", "b", "min(i) as mi", "max(l) as ml", "min(f) as mf", "max(d) as md", "stdDev(d) as sd", "stdDev(i) as si",
    "distinctCount(a) as da", "distinctCount(d) as dd", "distinctCount(b) as db", "sum(l) as sl", "avg(f) as af",
    "count() as n", "max(d * 2.0 + 1.0) as m2", "and(b) as every",  # the last is taken row by row
]  # fmt: skip
ROWS = st.lists(
    st.tuples(
        st.sampled_from([None, "x", "y", "long text " * 3]),
        st.none() | st.integers(-2, 3),
        st.none() | st.integers(-2, 3),
        st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]),
        st.sampled_from([None, 0.0, -0.0, 1.5, 2.5, float("nan")]),
        st.booleans(),
    ),
    max_size=20,
)


def told(app: str, rows: list[tuple[Any, ...]], cuts: list[int] | None, *, restored: bool = False) -> list[str]:
    """What reaches Out, as text (NaN equals itself there), from single rows or from batches cut there."""
    got: list[str] = []
    snapshot: bytes | None = None
    parts = [[row] for row in rows] if cuts is None else []
    for start, end in zip([0, *(cuts or [])], [*(cuts or []), len(rows)]):
        parts += [rows[start:end]] if cuts is not None else []
    manager = SiddhiManager()
    runtime = manager.create_siddhi_app_runtime(app)
    for part in [[], *parts]:
        if restored or snapshot is None:
            runtime.shutdown()
            runtime = manager.create_siddhi_app_runtime(app)
            if snapshot is not None:
                runtime.restore(snapshot)
            if cuts is None:
                runtime.add_callback("Out", lambda events: got.extend(repr(event.data) for event in events))
            else:
                runtime.add_batch_callback(
                    "Out",
                    lambda batch: got.extend(repr(tuple(row.values())) for row in pa.table(batch).to_pylist()),
                )
            runtime.start()
        if cuts is None:
            for row in part:
                runtime.input_handler("S").send(row)
        else:
            columns = {name: pa.array([row[k] for row in part], kind) for k, (name, kind) in enumerate(SCHEMA.items())}
            runtime.input_handler("S").send_batch(pa.table(columns))
        snapshot = runtime.snapshot()
    manager.shutdown()
    return got


@pytest.mark.parametrize("length", [0, 1, 3, 300])
@given(
    columns=st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=6, unique=True),
    rows=ROWS,
    cuts=st.lists(st.integers(0, 20), max_size=3).map(sorted),
    where=st.sampled_from(["", "[i > 0]"]),
    restored=st.booleans(),
)
def test_aggregates_by_column_are_those_by_row(
    length: int, columns: list[str], rows: list[tuple[Any, ...]], cuts: list[int], where: str, restored: bool
) -> None:
    app = f"{DEFINITION} from S{where}#window.length({length}) select {', '.join(columns)} insert into Out;"
    assert told(app, rows, cuts, restored=restored) == told(app, rows, None)


def test_batches_may_be_longer_than_a_block() -> None:
    rows = [(f"k{n % 7}", n % 5, n % 11, None, (n * 37 % 101) / 4, n % 3 == 0) for n in range(1_000)]
    for length in (1, 100, 129, 700, 5_000):
        app = (
            f"{DEFINITION} from S#window.length({length}) select a, distinctCount(a) as da, min(d) as low, max(d) as high, "
            "stdDev(d) as sd, count() as n insert into Out;"
        )
        assert told(app, rows, [10, 600]) == told(app, rows, None)
