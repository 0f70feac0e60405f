"""Layouts and pools: where cells stand, what is alive, what is refused."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.event import EventPool, EventType, Layout, TypeCode, live_events, live_pools
from tests.runtime.running import running

CODES = [int(code) for code in TypeCode]


@given(st.lists(st.sampled_from(CODES), min_size=1, max_size=200))
def test_cells_stand_behind_the_words_of_null_bits(codes: list[int]) -> None:
    layout = Layout([f"a{number}" for number in range(len(codes))], codes)
    words = (len(codes) + 63) // 64
    assert (layout.width, layout.types) == (len(codes), tuple(codes))
    assert [layout.cell(position) for position in range(layout.width)] == list(range(words, words + len(codes)))
    assert [layout.null_word(position) for position in range(layout.width)] == [
        place // 64 for place in range(len(codes))
    ]


def test_the_numbers_of_types_and_kinds_are_those_of_the_header() -> None:
    assert [kind.name for kind in EventType] == ["CURRENT", "EXPIRED", "TIMER", "RESET"]
    assert [code.name for code in TypeCode] == ["STRING", "INT", "LONG", "FLOAT", "DOUBLE", "BOOL", "OBJECT"]
    assert list(range(4)) == [int(kind) for kind in EventType]


def test_a_pool_begins_empty_and_is_counted() -> None:
    gc.collect()
    before = live_pools()
    pool = EventPool(Layout(["a"], [int(TypeCode.INT)]))
    assert (pool.alive, live_pools()) == (0, before + 1)
    assert pool.layout.names == ("a",)
    del pool
    gc.collect()
    assert live_pools() == before


def test_records_go_back_and_are_used_again() -> None:
    gc.collect()
    before = live_events()
    with running("define stream S (v int); from S#window.length(3) select v, max(v) as m insert into Out;") as runtime:
        for v in range(5_000):
            runtime.input_handler("S").send((v,))
        assert live_events() - before == 3, "the window's"
    del runtime
    gc.collect()
    assert live_events() == before


@pytest.mark.parametrize("width", [1, 63, 64, 65, 130])
def test_nulls_are_told_apart_in_streams_of_any_width(width: int) -> None:
    attributes = ", ".join(f"a{number} int" for number in range(width))
    with running(
        f"define stream S ({attributes}); from S#window.length(2) select * insert all events into Out;"
    ) as runtime:
        rows: list[tuple[object, ...]] = []
        runtime.add_callback("Out", lambda events: rows.extend(event.data for event in events))
        sent = [tuple(None if (number + turn) % 3 == 0 else number for number in range(width)) for turn in range(3)]
        for row in sent:
            runtime.input_handler("S").send(row)
    assert rows == [sent[0], sent[1], sent[0], sent[2]]
