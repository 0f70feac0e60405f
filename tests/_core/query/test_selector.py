"""The selector: the output of a chunk by mode, group, having, order, limit and offset."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event
from tests.kit.running import collect, running

STREAM = "define stream S (k string, v int);"
CHUNKS = st.lists(
    st.lists(st.tuples(st.sampled_from(["A", "B", None]), st.integers(-3, 3)), min_size=1, max_size=8), max_size=5
)


def outputs(select: str, chunks: list[list[tuple[Any, ...]]]) -> list[tuple[Any, ...]]:
    """What comes out of chunks sent with ``send_events``."""
    with running(f"{STREAM} from S select {select} insert into Out;") as runtime:
        rows = collect(runtime, "Out")
        for chunk in chunks:
            runtime.input_handler("S").send_events([Event(1, row) for row in chunk])
    return rows


@given(CHUNKS)
def test_without_aggregates_every_event_is_emitted(chunks: list[list[tuple[Any, ...]]]) -> None:
    assert outputs("k, v", chunks) == [row for chunk in chunks for row in chunk]


@given(CHUNKS)
def test_with_aggregates_the_last_event_of_a_chunk_is_emitted(chunks: list[list[tuple[Any, ...]]]) -> None:
    total, expected = 0, []
    for chunk in chunks:
        total += sum(v for _, v in chunk)
        expected.append((chunk[-1][1], total))
    assert outputs("v, sum(v) as total", chunks) == expected


@given(CHUNKS)
def test_with_groups_the_last_event_of_each_group_is_emitted(chunks: list[list[tuple[Any, ...]]]) -> None:
    totals: dict[Any, int] = {}
    expected = []
    for chunk in chunks:
        last: dict[Any, tuple[Any, ...]] = {}
        for k, v in chunk:
            totals[k] = totals.get(k, 0) + v
            last.pop(k, None)  # a group stands where its last event does
            last[k] = (k, v, totals[k])
        expected.append(sorted(last.values(), key=repr))
    got = outputs("k, v, sum(v) as total group by k", chunks)
    for rows in expected:
        assert sorted(got[: len(rows)], key=repr) == rows
        del got[: len(rows)]
    assert got == []


@given(CHUNKS, st.integers(0, 4), st.integers(0, 3))
def test_order_limit_and_offset_apply_to_chunks(chunks: list[list[tuple[Any, ...]]], limit: int, offset: int) -> None:
    got = outputs(f"v order by v desc limit {limit} offset {offset}", chunks)
    expected = []
    for chunk in chunks:
        expected += sorted((v for _, v in chunk), reverse=True)[offset : offset + limit]
    assert [v for (v,) in got] == expected


@given(CHUNKS)
def test_having_reads_the_output(chunks: list[list[tuple[Any, ...]]]) -> None:
    assert outputs("k, v * 2 as v having v > 2", chunks) == [(k, 2 * v) for chunk in chunks for k, v in chunk if v > 1]


@pytest.mark.parametrize(
    ("what", "expected"), [("", [(1,), (2,)]), ("all events", [(1,), (1,), (2,)]), ("expired events", [(1,)])]
)
def test_only_selected_event_types_are_emitted(what: str, expected: list[tuple[int]]) -> None:
    with running(f"{STREAM} from S#window.length(1) select v insert {what} into Out;") as runtime:
        rows = collect(runtime, "Out")
        for v in (1, 2):
            runtime.input_handler("S").send(("A", v))
    assert rows == expected
