"""Layouts and pools: offsets of cells, counts of live records, errors."""

from __future__ import annotations

import gc
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi._core.record.event import EventPool, EventType, Layout, RecordBudget, TypeCode, live_events, live_pools
from tests.kit.running import running

CODES = [int(code) for code in TypeCode]


@given(st.lists(st.sampled_from(CODES), min_size=1, max_size=200))
def test_cells_follow_the_words_of_null_bits(codes: list[int]) -> None:
    layout = Layout([f"a{number}" for number in range(len(codes))], codes)
    words = (len(codes) + 63) // 64
    assert (layout.width, layout.types) == (len(codes), tuple(codes))
    assert [layout.cell(position) for position in range(layout.width)] == list(range(words, words + len(codes)))
    assert [layout.null_word(position) for position in range(layout.width)] == [
        place // 64 for place in range(len(codes))
    ]


def test_types_and_kinds_have_the_numbers_of_the_header() -> None:
    assert [kind.name for kind in EventType] == ["CURRENT", "EXPIRED", "TIMER", "RESET"]
    assert [code.name for code in TypeCode] == ["STRING", "INT", "LONG", "FLOAT", "DOUBLE", "BOOL", "OBJECT"]
    assert list(range(4)) == [int(kind) for kind in EventType]


def test_a_new_pool_is_empty_and_counts_its_records() -> None:
    gc.collect()
    before = live_pools()
    pool = EventPool(Layout(["a"], [int(TypeCode.INT)]))
    assert (pool.alive, live_pools()) == (0, before + 1)
    assert pool.layout.names == ("a",)
    del pool
    gc.collect()
    assert live_pools() == before


def test_records_are_reused() -> None:
    gc.collect()
    before = live_events()
    with running("define stream S (v int); from S#window.length(3) select v, max(v) as m insert into Out;") as runtime:
        for v in range(5_000):
            runtime.input_handler("S").send((v,))
        assert live_events() - before == 3, "the window's"
    del runtime
    gc.collect()
    assert live_events() == before


def test_pools_stay_within_their_budget_and_release_it() -> None:
    text = "define stream S (v int); from S#window.length(100000) select v insert into Out;"
    failed: list[str] = []
    with RecordBudget(20_000, "no more") as budget:
        runtime = SiddhiManager().create_siddhi_app_runtime(text)
    with runtime, running(text) as outside:  # which has none
        for one in (runtime, outside):
            one.handle_exception_with(lambda error, *_: failed.append(str(error)))
        for v in range(2_000):
            runtime.input_handler("S").send((v,))
        assert set(failed) == {"no more"}
        assert 10_000 < budget.taken <= budget.most + 2 * 16 * 48  # first arenas are granted in any case
        failed.clear()
        for v in range(2_000):
            outside.input_handler("S").send((v,))
        assert failed == []
    del runtime, outside, one
    gc.collect()
    assert budget.taken == 0


def test_a_budget_applies_to_pools_of_its_thread() -> None:
    """An app that is made elsewhere meanwhile has its own."""
    failed: list[str] = []

    def elsewhere() -> None:
        with running("define stream S (v int); from S#window.length(1000) select v insert into Out;") as runtime:
            runtime.handle_exception_with(lambda error, *_: failed.append(str(error)))
            for v in range(2_000):
                runtime.input_handler("S").send((v,))

    with RecordBudget(0, "no more") as budget:
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert failed == []
    assert budget.taken == 0


@pytest.mark.parametrize("width", [1, 63, 64, 65, 130])
def test_nulls_are_stored_in_streams_of_any_width(width: int) -> None:
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
