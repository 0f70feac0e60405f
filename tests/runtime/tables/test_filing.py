"""Rows with composite keys keep their original key entry; indexed tables without key have no duplicates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager

STREAMS = """
@app:playback
define stream I (s string, v int, w int); define stream C (s string, v int, w int);
"""
KEYED = "@primaryKey('s', 'v') define table T (s string, v int, w int);"
SET = "@index('s') define table T (s string, v int, w int);"


@pytest.fixture
def manager() -> Iterator[SiddhiManager]:
    with SiddhiManager() as manager:
        yield manager


def start(manager: SiddhiManager, table: str, *queries: str) -> SiddhiAppRuntime:
    runtime = manager.create_siddhi_app_runtime(f"{STREAMS}{table} from I insert into T; {' '.join(queries)}")
    runtime.handle_exception_with(lambda *_: None)
    runtime.start()
    return runtime


def send(runtime: SiddhiAppRuntime, stream: str, *rows: tuple, at: int = 1) -> None:
    runtime.input_handler(stream).send_events([Event(at, row) for row in rows])


def rows(runtime: SiddhiAppRuntime, on: str = "") -> list[tuple]:
    return [event.data for event in runtime.query(f"from T {on}")]


# --- keys of several attributes


MOVE = "from C update T set T.v = v on T.s == s;"


def test_a_row_keeps_the_entry_of_its_first_key(manager):
    runtime = start(manager, KEYED, MOVE)
    send(runtime, "I", ("a", 1, 1), ("b", 1, 2))
    send(runtime, "C", ("a", 9, 0))
    send(runtime, "I", ("a", 1, 3), ("a", 9, 4))
    assert rows(runtime) == [("a", 9, 1), ("b", 1, 2), ("a", 9, 4)]
    assert rows(runtime, "on s == 'a' and v == 9") == [("a", 9, 1), ("a", 9, 4)]
    assert rows(runtime, "on s == 'a' and v == 1") == []


def test_a_condition_deletes_rows_by_the_entries_of_the_keys_it_finds(manager):
    runtime = start(manager, KEYED, MOVE)
    send(runtime, "I", ("a", 1, 1), ("b", 1, 2))
    send(runtime, "C", ("a", 9, 0))
    runtime.query("delete T on T.w > 0")
    assert rows(runtime) == [("a", 9, 1)]
    runtime.query("delete T on T.s == 'a' and T.v == 1")
    assert rows(runtime) == []


def test_a_row_with_its_own_key_again_is_an_ordinary_row(manager):
    runtime = start(manager, KEYED, MOVE)
    send(runtime, "I", ("a", 1, 1))
    send(runtime, "C", ("a", 9, 0), ("a", 1, 0))
    runtime.query("delete T on T.w > 0")
    assert rows(runtime) == []


def test_a_row_set_to_a_key_replaces_the_row_of_that_entry(manager):
    runtime = start(manager, KEYED, MOVE, "from C[w > 0] update or insert into T on T.s == s and T.v == v;")
    send(runtime, "I", ("a", 1, 1))
    send(runtime, "C", ("a", 9, 0))
    runtime.query("select 'a' as s, 1 as v, 7 as w update or insert into T on T.s == s and T.v == v")
    assert rows(runtime) == [("a", 1, 7)]
    runtime.query("delete T on T.w > 0")
    assert rows(runtime) == []


def test_a_snapshot_keeps_the_entries(manager):
    runtime = start(manager, KEYED, MOVE)
    send(runtime, "I", ("z", 0, 0), ("a", 1, 1), ("b", 1, 2), ("c", 3, 3))
    send(runtime, "C", ("a", 9, 0), ("b", 9, 0))
    saved, held = runtime.snapshot(), rows(runtime)
    runtime.query("delete T on T.s == 'z'")
    for _ in range(2):
        runtime.restore(saved)
        assert rows(runtime) == held
    send(runtime, "I", ("a", 1, 5))
    runtime.query("delete T on T.w >= 0")
    assert rows(runtime) == [("a", 9, 1), ("b", 9, 2)]


# --- sets


def test_equal_rows_of_one_time_are_one_row(manager):
    runtime = start(manager, SET)
    send(runtime, "I", ("a", 1, 1), ("a", 1, 1), ("a", 1, 2), ("b", 1, 1), ("b", 1, 1))
    send(runtime, "I", ("a", 1, 1), at=2)
    assert rows(runtime) == [("a", 1, 1), ("a", 1, 2), ("b", 1, 1), ("a", 1, 1)]
    assert rows(runtime, "on s == 'b'") == [("b", 1, 1)]


def test_many_equal_rows(manager):
    runtime = start(manager, SET)
    send(runtime, "I", *[(f"k{i % 7}", i % 5, 0) for i in range(200)])
    assert len(rows(runtime)) == 35
    assert len(rows(runtime, "on s == 'k1'")) == 5


def test_rows_of_tables_without_key_and_index_are_not_merged(manager):
    runtime = start(manager, "define table T (s string, v int, w int);")
    send(runtime, "I", ("a", 1, 1), ("a", 1, 1))
    assert rows(runtime) == [("a", 1, 1)] * 2


def test_rows_that_become_equal_are_one_until_a_change_separates_them(manager):
    runtime = start(manager, SET, "from C update T set T.v = v on T.s == s;")
    send(runtime, "I", ("a", 1, 1), ("a", 2, 1))
    send(runtime, "C", ("a", 5, 0))
    assert rows(runtime) == [("a", 5, 1)]
    send(runtime, "C", ("a", 6, 0))
    assert rows(runtime) == [("a", 6, 1), ("a", 5, 1)]


def test_rows_inserted_as_equal_remain_one(manager):
    runtime = start(manager, SET, "from C update T set T.v = v on T.s == s;")
    send(runtime, "I", ("a", 1, 1), ("a", 1, 1))
    send(runtime, "C", ("a", 5, 0), ("a", 6, 0))
    assert rows(runtime) == [("a", 6, 1)]


def test_rows_that_become_equal_in_an_index_remain_one(manager):
    runtime = start(manager, SET, "from C update T set T.s = 'z' on T.w == w;")
    send(runtime, "I", ("a", 1, 1), ("b", 1, 1))
    send(runtime, "C", ("", 0, 1))
    assert rows(runtime) == [("z", 1, 1)]
    runtime.query("update T set T.v = 3 on T.s == 'z'")
    assert rows(runtime) == [("z", 3, 1)]


def test_a_delete_removes_all_equal_rows(manager):
    runtime = start(manager, SET, "from C update T set T.v = v on T.s == s;")
    send(runtime, "I", ("a", 1, 1), ("a", 2, 1))
    send(runtime, "C", ("a", 5, 0))
    runtime.query("delete T on T.s == 'a'")
    assert rows(runtime) == []


def test_a_join_finds_equal_rows_once(manager):
    runtime = start(manager, SET, "from C join T on T.s == C.s select T.v as v insert into O;")
    out: list[int] = []
    runtime.add_callback("O", lambda events: out.extend(event[0] for event in events))
    send(runtime, "I", ("a", 1, 1), ("a", 1, 1), ("a", 2, 1))
    send(runtime, "C", ("a", 0, 0))
    assert out == [1, 2]
