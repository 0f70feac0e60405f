"""Joins of streams, named windows and tables, event by event."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from siddhi import Event, SiddhiAppRuntime
from siddhi._core.record.event import live_events, live_pools
from siddhi.errors import SiddhiAppCreationError
from tests.kit.running import collect, running

STREAMS = "@app:playback define stream L (s string, a int); define stream R (s string, b int);"
Rows = list[tuple[Any, ...]]
Chunk = tuple[Rows, Rows]


def chunks_of(runtime: SiddhiAppRuntime, query: str = "q") -> list[Chunk]:
    """Collect the current and expired values of every chunk that the query emits."""
    found: list[Chunk] = []

    def note(_: int, current: list[Event] | None, expired: list[Event] | None) -> None:
        found.append(([event.data for event in current or []], [event.data for event in expired or []]))

    runtime.add_query_callback(query, note)
    return found


def play(runtime: SiddhiAppRuntime, *steps: tuple[str, int, tuple[Any, ...]]) -> None:
    """Send (stream, timestamp, values)."""
    for stream, timestamp, row in steps:
        runtime.input_handler(stream).send(row, timestamp=timestamp)


def test_both_sides_search_matches_when_events_arrive_and_expire() -> None:
    query = """@info(name='q') from L#window.length(2) join R#window.length(1) on L.s == R.s
               select L.s as s, a, b insert all events into O;"""
    with running(STREAMS + query) as runtime:
        chunks = chunks_of(runtime)
        play(runtime, ("L", 1, ("x", 1)), ("R", 2, ("x", 10)), ("L", 3, ("x", 2)), ("L", 4, ("x", 3)))
        play(runtime, ("R", 5, ("x", 20)), ("R", 6, ("y", 30)), ("L", 7, ("y", 4)))
    assert chunks == [
        ([("x", 1, 10)], []),
        ([("x", 2, 10)], []),
        ([("x", 3, 10)], [("x", 1, 10)]),
        ([("x", 2, 20), ("x", 3, 20)], [("x", 2, 10), ("x", 3, 10)]),
        ([], [("x", 2, 20), ("x", 3, 20)]),
        ([("y", 4, 30)], []),
    ]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "left outer",
            [
                ([("x", 1, None, None)], []),
                ([("x", 1, "x", 10)], []),
                ([], [("x", 1, "x", 10)]),
                ([("y", 2, None, None)], [("x", 1, None, None)]),
            ],
        ),
        ("right outer", [([("x", 1, "x", 10)], []), ([(None, None, "z", 11)], [("x", 1, "x", 10)])]),
        (
            "full outer",
            [
                ([("x", 1, None, None)], []),
                ([("x", 1, "x", 10)], []),
                ([(None, None, "z", 11)], [("x", 1, "x", 10)]),
                ([("y", 2, None, None)], [("x", 1, None, None)]),
            ],
        ),
    ],
)
def test_outer_joins_use_null_for_the_missing_side(kind: str, expected: list[Chunk]) -> None:
    query = f"""@info(name='q') from L#window.length(1) {kind} join R#window.length(1) on L.s == R.s
                select L.s as ls, a, R.s as rs, b insert all events into O;"""
    with running(STREAMS + query) as runtime:
        chunks = chunks_of(runtime)
        play(runtime, ("L", 1, ("x", 1)), ("R", 2, ("x", 10)), ("R", 3, ("z", 11)), ("L", 4, ("y", 2)))
    assert chunks == expected


def test_only_the_marked_side_triggers() -> None:
    query = """@info(name='q') from L#window.length(2) unidirectional join R#window.length(2) on L.s == R.s
               select a, b insert all events into O;"""
    with running(STREAMS + query) as runtime:
        chunks = chunks_of(runtime)
        play(runtime, ("R", 1, ("x", 10)), ("L", 2, ("x", 1)), ("R", 3, ("x", 11)), ("L", 4, ("x", 2)))
        play(runtime, ("L", 5, ("x", 3)))
    assert chunks == [
        ([(1, 10)], []),
        ([(2, 10), (2, 11)], []),
        ([(3, 10), (3, 11)], [(1, 10), (1, 11)]),
    ]


def test_a_stream_without_window_keeps_no_events() -> None:
    query = "@info(name='q') from L join R#window.length(2) on L.s == R.s select a, b insert all events into O;"
    with running(STREAMS + query) as runtime:
        chunks = chunks_of(runtime)
        play(runtime, ("R", 1, ("x", 10)), ("R", 2, ("x", 11)), ("L", 3, ("x", 1)), ("R", 4, ("x", 12)))
    assert chunks == [([(1, 10), (1, 11)], [(1, 10), (1, 11)])]


def test_two_streams_without_windows_have_no_matches() -> None:
    query = "@info(name='q') from L full outer join R on L.s == R.s select a, b insert into O;"
    with running(STREAMS + query) as runtime:
        chunks = chunks_of(runtime)
        play(runtime, ("L", 1, ("x", 1)), ("R", 2, ("x", 10)))
    assert chunks == [([(1, None)], []), ([(None, 10)], [])]


def test_a_self_join_triggers_left_then_right() -> None:
    query = """@info(name='q') from L#window.length(2) as l join L#window.length(2) as r on l.s == r.s
               select l.a as la, r.a as ra insert into O;"""
    with running(STREAMS + query) as runtime:
        chunks = chunks_of(runtime)
        play(runtime, ("L", 1, ("x", 1)), ("L", 2, ("x", 2)), ("L", 3, ("x", 3)))
    assert [current for current, _ in chunks] == [
        [(1, 1)],
        [(2, 1)],
        [(1, 2), (2, 2)],
        [(3, 1), (3, 2)],
        [(2, 3), (3, 3)],
    ]


def test_time_windows_expire_their_matches() -> None:
    query = """@info(name='q') from L#window.time(1 sec) join R#window.time(1 sec) on L.s == R.s
               select a, b insert all events into O;"""
    with running(STREAMS + query) as runtime:
        chunks = chunks_of(runtime)
        play(runtime, ("L", 1000, ("x", 1)), ("R", 1500, ("x", 10)), ("R", 1900, ("x", 11)))
        play(runtime, ("L", 2600, ("x", 2)), ("R", 5000, ("z", 0)))
    assert chunks == [
        ([(1, 10)], []),
        ([(1, 11)], []),
        ([], [(1, 10), (1, 11)]),
        ([(2, 11)], []),
        ([], [(2, 11)]),
    ]


@pytest.mark.parametrize("condition", ["L.s == R.s", "L.a >= R.b", "L.s != R.s or L.s == R.s"])
def test_chunks_emitted_in_parts_can_be_found_afterwards(condition: str) -> None:
    query = f"from L#window.length(1) join R#window.batch(2) on {condition} select b insert into O;"
    with running(STREAMS + query) as runtime:
        out = collect(runtime, "O")
        for numbers in ((1, 2, 3, 4, 5), (6, 7, 8), (9,)):
            runtime.input_handler("R").send_events([Event(1, ("x", number)) for number in numbers])
        play(runtime, ("L", 2, ("x", 10)))
        assert out == [(number,) for number in range(1, 10)]


def test_a_batch_can_be_found_after_its_release() -> None:
    query = "@info(name='q') from L#window.lengthBatch(2) join R#window.length(2) select a, b insert into O;"
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(runtime, ("L", 1, ("x", 1)), ("R", 2, ("x", 10)))
        assert rows == []
        play(runtime, ("L", 3, ("x", 2)), ("L", 4, ("x", 3)), ("R", 5, ("x", 11)))
    assert rows == [(1, 10), (2, 10), (1, 11), (2, 11)]


def test_a_batch_that_was_searched_expires_with_its_own_times() -> None:
    query = """@info(name='q') from L#window.lengthBatch(1) join R#window.length(2)
               select a, b insert expired events into O;"""
    with running(STREAMS + query) as runtime:
        times: list[tuple[int, Any]] = []
        runtime.add_callback("O", lambda events: times.extend((event.timestamp, event["a"]) for event in events))
        play(runtime, ("R", 1, ("x", 10)), ("L", 2, ("x", 1)), ("L", 3, ("x", 2)), ("R", 4, ("x", 11)))
        play(runtime, ("L", 5, ("x", 3)))
    assert times == [(3, 1), (3, 2), (3, 2)]


def test_aggregates_remove_expired_matches() -> None:
    query = """@info(name='q') from L#window.length(2) join R#window.length(1) on L.s == R.s
               select L.s as s, sum(a) as total, count() as n group by L.s insert into O;"""
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(runtime, ("R", 1, ("x", 1)), ("L", 2, ("x", 5)), ("L", 3, ("x", 6)), ("L", 4, ("x", 7)))
        play(runtime, ("R", 5, ("x", 2)), ("R", 6, ("y", 2)))
    assert rows == [("x", 5, 1), ("x", 11, 2), ("x", 13, 2), ("x", 13, 2)]


def test_each_event_of_a_batch_emits_its_aggregate() -> None:
    query = """@info(name='q') from L#window.lengthBatch(2) join R#window.length(2)
               select sum(a) as total, count() as n insert into O;"""
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(runtime, ("R", 1, ("x", 10)), ("L", 2, ("x", 1)), ("L", 3, ("x", 2)))
        play(runtime, ("L", 4, ("x", 3)), ("L", 5, ("x", 4)))
    assert rows == [(1, 1), (3, 2), (3, 1), (7, 2)]


def test_matches_of_a_chunk_are_one_chunk() -> None:
    query = "@info(name='q') from L#window.length(5) join R#window.length(5) on L.s == R.s select a, b insert into O;"
    with running(STREAMS + query) as runtime:
        chunks = chunks_of(runtime)
        play(runtime, ("R", 1, ("x", 1)), ("R", 2, ("x", 2)))
        runtime.input_handler("L").send_events([Event(3, ("x", 10)), Event(3, ("y", 11)), Event(3, ("x", 12))])
    assert chunks == [([(10, 1), (10, 2), (12, 1), (12, 2)], [])]


def test_order_and_limit_apply_to_the_matches_of_one_event() -> None:
    query = """@info(name='q') from L#window.length(5) join R#window.length(5) on L.s == R.s
               select a, R.b as b order by R.b desc limit 1 insert into O;"""
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(runtime, ("R", 1, ("x", 1)), ("R", 2, ("x", 3)), ("R", 3, ("x", 2)), ("L", 4, ("x", 10)))
        runtime.input_handler("L").send_events([Event(5, ("x", 11)), Event(5, ("x", 12))])
    assert rows == [(10, 3), (11, 3), (12, 3)]


def test_keys_of_different_types_match_as_in_a_comparison() -> None:
    app = """define stream L (k int); define stream R (k double);
             from L#window.length(9) as l join R#window.length(9) as r on l.k == r.k
             select l.k as lk, r.k as rk insert into O;"""
    with running(app) as runtime:
        rows = collect(runtime, "O")
        for value in (1.0, 1.5, float("nan"), -0.0):
            runtime.input_handler("R").send((value,))
        for number in (1, 0, 2):
            runtime.input_handler("L").send((number,))
    assert rows == [(1, 1.0), (0, -0.0)]


def test_nan_matches_nothing() -> None:
    app = """define stream L (k double); define stream R (k double);
             from L#window.length(9) as l join R#window.length(9) as r on l.k == r.k select r.k as k insert into O;"""
    with running(app) as runtime:
        rows = collect(runtime, "O")
        runtime.input_handler("R").send((float("nan"),))
        runtime.input_handler("L").send((float("nan"),))
    assert rows == []


def test_an_absent_side_is_null() -> None:
    query = """@info(name='q') from L#window.length(1) left outer join R#window.length(1) on L.s == R.s
               select a, R is null as alone, eventTimestamp(R) as at insert into O;"""
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(runtime, ("L", 1, ("x", 1)), ("R", 2, ("x", 1)))
    assert rows == [(1, True, None), (1, False, 2)]


def test_a_callback_can_send_into_its_join() -> None:
    query = """@info(name='q') from L#window.length(1) join R#window.length(3) on L.s == R.s
               select a, b insert all events into O;"""
    with running(STREAMS + query) as runtime:
        chunks = chunks_of(runtime)

        def answer(_: int, current: list[Event] | None, __: list[Event] | None) -> None:
            if current and current[0]["a"] < 3:
                runtime.input_handler("L").send(("x", current[0]["a"] + 1), timestamp=9)

        runtime.add_query_callback("q", answer)
        play(runtime, ("R", 1, ("x", 10)), ("R", 2, ("x", 11)), ("L", 3, ("x", 1)))
    assert chunks == [
        ([(1, 10), (1, 11)], []),
        ([(2, 10), (2, 11)], [(1, 10), (1, 11)]),
        ([(3, 10), (3, 11)], [(2, 10), (2, 11)]),
    ]


def test_purged_keys_of_a_partition_are_removed_from_the_index() -> None:
    app = (
        STREAMS
        + """@purge(enable='true', interval='1 sec', idle.period='1 sec')
        partition with (s of L, s of R) begin
        from L#window.length(3) as l join R#window.length(3) as r on l.a == r.b select l.s as s, a insert into O;
        end;"""
    )
    with running(app) as runtime:
        rows = collect(runtime, "O")
        play(runtime, ("L", 1000, ("x", 1)), ("L", 1000, ("y", 1)), ("R", 4000, ("x", 1)), ("R", 4000, ("y", 1)))
        play(runtime, ("L", 4100, ("x", 1)), ("L", 4200, ("z", 1)), ("R", 4300, ("z", 1)))
    assert rows == [("x", 1), ("z", 1)]


def test_the_timer_of_the_left_window_runs_first() -> None:
    query = """@info(name='q') from L#window.timeBatch(700) as l unidirectional join R#window.time(600) as r
               select a, b insert into O;"""
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(runtime, ("L", 1000, ("x", 1)), ("R", 1050, ("x", 10)), ("R", 2000, ("x", 11)))
    assert rows == [(1, 10)]


@pytest.mark.parametrize("limit", ["", "limit 2"])
def test_matches_can_be_ordered_by_attributes_not_selected(limit: str) -> None:
    query = f"""from L#window.length(1) unidirectional join R#window.length(4) on b >= a
                select L.s as s, R.s as r order by R.b desc, L.a {limit} insert into O;"""
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(runtime, *(("R", 1000, (f"r{b}", b)) for b in (2, 4, 1, 3)), ("L", 1100, ("x", 2)), ("L", 1200, ("y", 4)))
    assert rows == [("x", "r4"), ("x", "r3"), *([] if limit else [("x", "r2")]), ("y", "r4")]


def test_groups_of_a_join_are_ordered_by_their_last_matches() -> None:
    query = """from L#window.length(1) unidirectional join R#window.length(6) on b >= a
               select R.s as r, count() as n group by R.s order by R.b insert into O;"""
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(
            runtime, *(("R", 1000, (r, b)) for r, b in (("p", 9), ("q", 5), ("p", 1), ("q", 7))), ("L", 1100, ("x", 0))
        )
    assert rows == [("p", 2), ("q", 2)]


def test_pairs_can_be_ordered_by_attributes_not_selected() -> None:
    query = """from L#window.length(1) as l join R#window.length(4) as r on l.s == r.s
               select r.b + l.a as t order by r.s desc, r.b desc limit 2 offset 1 insert into O;"""
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(runtime, *(("R", 1000, ("x", b)) for b in (2, 9, 4, 7)), ("L", 1100, ("x", 100)), ("L", 1200, ("x", 200)))
    assert rows == [(107,), (104,), (207,), (204,)]


def test_each_group_is_ordered_by_its_last_pair() -> None:
    query = """from L#window.length(1) as l join R#window.length(4) as r
               select r.s as s, sum(r.b) as t group by r.s order by r.b insert into O;"""
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(runtime, *(("R", 1000, row) for row in (("x", 1), ("y", 5), ("x", 7), ("y", 3))), ("L", 1100, ("z", 0)))
    assert rows == [("y", 8), ("x", 8)]


def test_a_failing_key_fails_only_the_pair() -> None:
    query = """@OnError(action='stream') define stream Q (s string, a int);
               from Q join R#window.length(4) as r select r.b as b, 1 / (r.b - 2) as inverse order by Q.a, r.s insert into O;"""
    with running(STREAMS + query) as runtime:
        rows = collect(runtime, "O")
        play(runtime, ("R", 1000, ("y", 5)), ("R", 1000, ("x", 4)), ("Q", 1100, ("z", 0)))
    assert rows == [(4, 0), (5, 0)]


def test_order_by_a_column_missing_in_snapshots_is_an_error_with_location() -> None:
    query = """from L#window.length(1) join R#window.length(1) on L.s == R.s select a order by R.b
               output snapshot every 1 sec insert into O;"""
    with (
        pytest.raises(SiddhiAppCreationError, match=r"ordering snapshots of a join by 'b'.*not supported") as caught,
        running(STREAMS + query),
    ):
        pass
    assert caught.value.line == 1


LEAVE_NOTHING = {
    "length": "from L#window.length(3) as l join R#window.length(4) as r on l.s == r.s select a, b insert into O;",
    "scan": "from L#window.length(3) full outer join R#window.lengthBatch(4) on a < b select a, b insert all events into O;",
    "grouped": """from L#window.lengthBatch(3) join R#window.time(5) on L.s == R.s select L.s as s, sum(b) as t group by L.s
                  insert all events into O;""",
    "partition": """partition with (s of L, s of R) begin from L#window.length(2) join R#window.length(2) on a == b
                    select a, b order by b limit 1 insert all events into O; end;""",
    "window": """define window W (s string, a int) length(3); from L insert into W;
                 from R#window.length(2) join W on R.s == W.s and a != b select a, b insert all events into O;""",
    "fails": """define function half[python] return int { return 7 // data[0] };
                from L#window.length(3) join R#window.length(3) on L.s == R.s and half(b) > 0 select a, b insert into O;""",
}


@pytest.mark.parametrize("window", ["length(0)", "lengthBatch(0)", "timeLength(1 sec, 0)"])
def test_an_event_not_in_the_window_is_not_found_after_a_failed_join(window: str) -> None:
    app = f"""{STREAMS} define function fails[python] return int {{ raise ValueError('no') }};
        from L#window.{window} left outer join R#window.length(3) on L.s == R.s select L.s as s, fails(a) as a insert into O;"""
    with running(app) as runtime:
        failures: list[object] = []
        runtime.handle_exception_with(lambda *failure: failures.append(failure))
        for number in range(20):
            play(runtime, ("L", 1000 + number, ("x", number)))
        assert len(failures) == 20
        play(runtime, ("R", 2000, ("x", 1)))
        assert len(failures) == 20


def use(app: str) -> None:
    """Events one by one, chunks, failures, a snapshot and back."""
    with running(STREAMS + app) as runtime:
        runtime.handle_exception_with(lambda *failure: None)
        collect(runtime, "O")
        for number in range(40):
            play(runtime, ("LR"[number % 3 == 0], 1000 + number, (f"k{number % 5}", number % 4)))
        state = runtime.snapshot()
        for stream in "LR":
            rows = [Event(2000, (f"k{number % 4}", number % 3)) for number in range(9)]
            runtime.input_handler(stream).send_events(rows)
            runtime.restore(state)


@pytest.mark.parametrize("app", LEAVE_NOTHING.values(), ids=LEAVE_NOTHING)
def test_a_collected_join_leaves_no_event(app: str) -> None:
    use(app)
    gc.collect()
    before = live_events(), live_pools()
    for _ in range(3):
        use(app)
    gc.collect()
    assert (live_events(), live_pools()) == before
