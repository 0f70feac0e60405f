"""The rows of an on-demand query are a sequence of events and a table for data libraries."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import siddhi
from siddhi._core.record.user_event import row_values
from siddhi.runtime.query_rows import QueryRows


@pytest.fixture(scope="module")
def rows() -> Iterator[QueryRows]:
    with siddhi.App(
        "define stream S (i int, s string); define table T (i int, s string); from S insert into T;"
    ) as app:
        app["S"].send_batch([(0, "a"), (1, None), (2, "c")])
        yield app.query("from T select i, s")


def test_data_libraries_read_names_and_types(rows: QueryRows) -> None:
    assert pa.table(rows).schema == pa.schema({"i": pa.int32(), "s": pa.string()})
    assert pl.DataFrame(rows).to_dict(as_series=False) == {"i": [0, 1, 2], "s": ["a", None, "c"]}
    assert pd.DataFrame(rows).to_dict("list") == pd.DataFrame(list(rows)).to_dict("list")
    assert pd.DataFrame(rows).to_dict("list") == {"i": [0, 1, 2], "s": ["a", None, "c"]}
    assert rows.to_pandas().columns.tolist() == ["i", "s"]
    assert rows.to_pydict() == pl.DataFrame(rows).to_dict(as_series=False)


def test_slices_keep_names(rows: QueryRows) -> None:
    for part in (rows[1:], rows.tail(2), rows[::-1][:2][::-1]):
        assert part.to_dicts() == [{"i": 1, "s": None}, {"i": 2, "s": "c"}]
    assert rows.head(1).to_polars().rows() == [(0, "a")]
    assert rows[5:].types == ("int", "string")
    assert pickle.loads(pickle.dumps(rows[:2])).names == ("i", "s")


def test_they_behave_like_a_list(rows: QueryRows) -> None:
    events = list(rows)
    assert rows == events
    assert events == rows
    assert rows[:1] != events
    assert rows[-1] is events[-1]
    assert events[0] in rows
    assert (rows.index(events[1]), rows.count(events[1])) == (1, 1)
    assert list(reversed(rows)) == events[::-1]
    assert rows + events == events + rows == [*events, *events]
    assert repr(rows) == repr(events)
    assert not rows[:0]


def test_events_have_names_for_pandas_and_are_rows_in_order(rows: QueryRows) -> None:
    assert rows[0]._fields == ("i", "s")
    assert not hasattr(siddhi.Event(1, (1, "a")), "_fields")
    assert row_values(rows[0], ("other", "names")) == (0, "a")
    result = siddhi.query("from S select s insert into O;", S=list(rows))
    assert result["O"].column("s") == ["a", None, "c"]
