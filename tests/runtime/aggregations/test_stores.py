"""Aggregations in a store: their results, and their rows after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import sqlalchemy as sa

from siddhi import SiddhiAppRuntime, SiddhiManager, extension
from siddhi.errors import ConnectionUnavailableError, OnDemandQueryCreationError, SiddhiAppCreationError
from tests.kit.connectors import StoppedTime
from tests.kit.running import running
from tests.kit.stores import Shelf

BASE = 1_496_289_950_000
"""2017-06-01 04:05:50 GMT."""
WORDS = ("sec", "min", "hour")


def app(store: str, *, by: str = "", more: str = "@purge(enable = 'false')") -> str:
    return (
        f"@app:name('kept') @app:playback define stream S (g string, v int, d double, ts long); {more} {store} "
        "define aggregation A from S select g, sum(v) as total, avg(d) as mean, count() as n, min(v) as least, v as lastV "
        f"group by g aggregate {by} every sec ... hour;"
    )


def sqlite(folder: Path) -> str:
    return f"@store(type = 'rdbms', url = 'sqlite:///{folder.as_posix()}/buckets.db')"


def send(runtime: SiddhiAppRuntime, rows: list[tuple[int, str | None, int]]) -> None:
    for time, group, value in rows:
        runtime.input_handler("S").send((group, value, value / 2, BASE + time), BASE + time)


def answers(runtime: SiddhiAppRuntime, word: str) -> list[Any]:
    found = runtime.query(f"from A within {BASE - 100_000_000}L, {BASE + 900_000_000}L per '{word}' select *")
    return sorted((event.data for event in found), key=repr)


ROWS: list[tuple[int, str | None, int]] = [
    (0, "x", 1), (400, "y", 2), (900, "x", 3), (1_200, None, 4), (61_000, "x", 5), (61_500, None, 6), (62_000, "x", 7),
    (3_700_000, "y", 8), (3_702_000, "x", 9), (3_702_100, "y", 10),
]  # fmt: skip


@pytest.mark.parametrize("by", ["", "by ts"])
def test_results_from_a_store_equal_those_from_memory(tmp_path: Path, by: str) -> None:
    with running(app(sqlite(tmp_path), by=by)) as kept, running(app("", by=by)) as memory:
        for row in ROWS:
            send(kept, [row])
            send(memory, [row])
            for word in WORDS:
                assert answers(kept, word) == answers(memory, word)
    with sa.create_engine(f"sqlite:///{tmp_path.as_posix()}/buckets.db").connect() as connection:
        counts = [
            connection.execute(sa.text(f"select count(*) from A_{name}")).scalar_one()
            for name in ("SECONDS", "MINUTES", "HOURS")
        ]
    # Each second, minute and hour that is over, by group.
    assert counts == [7, 5, 3]


def end_of_second(time: int) -> int:
    """The current second is lost with the app, so restarts come after its end."""
    return BASE + (time // 1_000 + 1) * 1_000


@pytest.mark.parametrize("by", ["", "by ts"])
def test_a_new_app_continues_stored_rows(tmp_path: Path, by: str) -> None:
    with running(app("", by=by)) as memory:
        for part in (ROWS[:4], ROWS[4:6], ROWS[6:7], ROWS[7:8], ROWS[8:]):
            end = end_of_second(part[-1][0])
            for runtime in (running(app(sqlite(tmp_path), by=by)), nullcontext(memory)):
                with runtime as either:
                    send(either, part)
                    either.advance_clock(end)
            with running(app(sqlite(tmp_path), by=by)) as kept:
                kept.advance_clock(end)
                for word in WORDS:
                    assert answers(kept, word) == answers(memory, word)


STEPS = st.lists(st.sampled_from([1_000, 2_000, 61_000, 1_800_000, 4_000_000]), min_size=1, max_size=8)


@settings(max_examples=15)
@given(steps=STEPS, cuts=st.sets(st.integers(0, 7)), by=st.sampled_from(["", "by ts"]))
@example(steps=[2_000, 2_000, 1_000, 1_000, 2_000, 1_800_000, 1_000, 1_800_000], cuts=set(range(8)), by="by ts")
def test_restarts_between_seconds_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[int], cuts: set[int], by: str
) -> None:
    store = sqlite(tmp_path_factory.mktemp("kept"))
    parts: list[list[tuple[int, str | None, int]]] = [[]]
    time = 0
    for number, step in enumerate(steps):
        if number in cuts and parts[-1]:
            parts.append([])
        time += step
        parts[-1] += [(time, "xy"[number % 2], number), (time, "x", 1)]
    with running(app("", by=by)) as memory:
        for part in parts:
            send(memory, part)
            memory.advance_clock(end_of_second(part[-1][0]))
        expected = {word: answers(memory, word) for word in WORDS}
    for part in parts:
        with running(app(store, by=by)) as kept:
            send(kept, part)
            kept.advance_clock(end_of_second(part[-1][0]))
    with running(app(store, by=by)) as kept:
        kept.advance_clock(end_of_second(time))
        assert {word: answers(kept, word) for word in WORDS} == expected


def test_a_replay_replaces_stored_rows(tmp_path: Path) -> None:
    with running(app(sqlite(tmp_path))) as first:
        send(first, ROWS[:4])
        saved = first.snapshot()
        send(first, ROWS[4:8])
        expected = {word: answers(first, word) for word in WORDS}
    with running(app(sqlite(tmp_path))) as second:
        second.restore(saved)
        send(second, ROWS[4:8])
        assert {word: answers(second, word) for word in WORDS} == expected


@pytest.mark.parametrize("mode", ["@app:playback", "@app:playback(timers = 'exact')"])
@pytest.mark.parametrize("asked", [False, True], ids=["unasked", "asked"])
@pytest.mark.parametrize("by", ["", "by ts"])
def test_rows_stored_after_the_snapshot_are_kept_if_time_has_passed(
    tmp_path: Path, by: str, asked: bool, mode: str
) -> None:
    text = app(sqlite(tmp_path), by=by).replace("@app:playback", mode)
    with running(text) as first:
        send(first, ROWS[:4])
        saved = first.snapshot()
        send(first, ROWS[4:8])
        first.advance_clock(end_of_second(ROWS[7][0]))
        expected = {word: answers(first, word) for word in WORDS}
    with running(text) as second:
        second.restore(saved)
        if asked:
            assert {word: answers(second, word) for word in WORDS} == expected
            # The snapshot contains the rows that it has buffered.
            assert second.snapshot() == saved
        send(second, ROWS[8:])
        with running(app("", by=by)) as memory:
            send(memory, ROWS)
            assert {word: answers(second, word) for word in WORDS} == {word: answers(memory, word) for word in WORDS}


def test_a_query_before_a_replay_changes_nothing(tmp_path: Path) -> None:
    with running(app(sqlite(tmp_path))) as first:
        send(first, ROWS[:4])
        saved = first.snapshot()
        send(first, ROWS[4:8])
        expected = {word: answers(first, word) for word in WORDS}
    with running(app(sqlite(tmp_path))) as second:
        second.restore(saved)
        # Every group of every second that was over when the first app ended.
        assert len(answers(second, "sec")) == 6
        send(second, ROWS[4:8])
        assert {word: answers(second, word) for word in WORDS} == expected


def test_a_purge_after_a_restart_runs_after_loading_stored_rows(tmp_path: Path) -> None:
    text = app(sqlite(tmp_path), more="@purge(interval = '1 min')")
    with running(text) as first:
        send(first, [(0, "x", 1), (1_000, "x", 2), (2_000, "x", 4), (3_000, "x", 8)])
    with running(text) as second:
        send(second, [(300_000, "x", 16)])
        # The current second was lost with the previous app.
        assert [row[2] for row in answers(second, "hour")] == [23]
        assert len(answers(second, "sec")) == 4
        # Once the minute is stored, its seconds may go.
        second.advance_clock(BASE + 420_000)
        assert [row[2] for row in answers(second, "hour")] == [23]
        assert [row[2] for row in answers(second, "sec")] == [16]


@pytest.mark.parametrize("more", ["", "@purge(enable = 'false')"], ids=["purged", "kept"])
def test_an_outdated_snapshot_is_detected_by_coarser_rows_after_a_purge(tmp_path: Path, more: str) -> None:
    text = app(sqlite(tmp_path), more=more).replace("sec ... hour", "sec ... day") + "define stream Tick (v int);"
    with running(text) as first:
        send(first, [(0, "x", 1)])
        saved = first.snapshot()
        send(first, [(600_000, "y", 2), (3_700_000, "z", 4)])
        # All is quiet, and the purge comes by.
        first.input_handler("Tick").send((1,), BASE + 5_400_000)
        expected = {word: answers(first, word) for word in ("hour", "day")}
        assert (answers(first, "sec") == []) is (not more)
    with running(text) as second:
        second.restore(saved)
        assert {word: answers(second, word) for word in expected} == expected
        send(second, [(5_500_000, "w", 8)])
        for time in (9_100_000, 90_000_000):
            for word in expected:
                assert sorted(row[1:3] for row in answers(second, word)) == [("w", 8), ("x", 1), ("y", 2), ("z", 4)]
            second.advance_clock(BASE + time)


@pytest.mark.parametrize("node", ["", "@PartitionById(shardId = 'one') "], ids=["alone", "node"])
def test_rows_kept_longer_than_coarser_ones_are_not_merged_again(tmp_path: Path, node: str) -> None:
    purge = "@purge(interval = '1 min', @retentionPeriod(sec = 'all', min = '120 min', hour = 'all'))"
    text = app(node + sqlite(tmp_path), more=purge)
    with running(text) as first:
        send(first, [(0, "x", 1), (61_000, "x", 2), (4_000_000, "x", 4)])
        first.advance_clock(BASE + 14_400_000)
        assert first.query("from A_MINUTES select g") == []
        expected = answers(first, "hour")
        assert [row[2] for row in expected] == [3, 4]
    with running(text) as second:
        second.advance_clock(BASE + 14_400_000)
        assert answers(second, "hour") == expected
        send(second, [(14_500_000, "x", 8)])
        second.advance_clock(BASE + 18_100_000)
        assert [row[2] for row in answers(second, "hour")] == [3, 4, 8]


def test_rows_of_a_stopped_node_are_in_every_result(tmp_path: Path) -> None:
    def node(name: str, more: str) -> str:
        return app(f"@PartitionById(shardId = '{name}') " + sqlite(tmp_path), more=more)

    for more in ("@purge(enable = 'false')", "@purge(interval = '1 min')"):
        with running(node("one", more)) as one:
            send(one, [(0, "x", 1), (1_000, "x", 2), (66_000, "x", 4), (67_000, "x", 8), (68_000, "x", 0)])
        with running(node("two", more)) as two:
            send(two, [(200_000, "x", 100)])
            for time in (202_000, 260_000, 7_200_000):
                two.advance_clock(BASE + time)
                assert [row[2] for row in answers(two, "hour")] == [115]
        with sa.create_engine(f"sqlite:///{tmp_path.as_posix()}/buckets.db").begin() as connection:
            for name in ("SECONDS", "MINUTES", "HOURS"):
                connection.execute(sa.text(f"delete from A_{name}"))


def test_tables_of_an_aggregation_can_be_read_and_joined(tmp_path: Path) -> None:
    text = app(sqlite(tmp_path)) + (
        "define stream Q (g string); from Q join A_SECONDS as t on Q.g == t.g select t.g as g, t.AGG_SUM_v as s insert into O;"
    )
    with running(text) as runtime:
        runtime.collect("O")
        send(runtime, ROWS[:5])
        runtime.input_handler("Q").send(("x",), BASE + 61_000)
        assert runtime.drain()["O"].column("s") == [4]
        assert [event.data for event in runtime.query("from A_SECONDS on g == 'y' select AGG_COUNT")] == [(1,)]


def test_purging_deletes_rows_of_the_store(tmp_path: Path) -> None:
    purge = "@purge(enable = 'true', interval = '10 sec', @retentionPeriod(sec = '120 sec', min = 'all', hour = 'all'))"
    with running(app(sqlite(tmp_path), more=purge)) as runtime:
        send(runtime, [(0, "x", 1), (1_000, "x", 2), (100_000, "x", 3), (101_000, "x", 4)])
        assert len(runtime.query("from A_SECONDS select g")) == 3
        runtime.advance_clock(BASE + 150_000)
        assert [event.data for event in runtime.query("from A_SECONDS select AGG_SUM_v")] == [(3,), (4,)]
        assert [row[2] for row in answers(runtime, "hour")] == [10]


def test_nodes_share_tables(tmp_path: Path) -> None:
    def node(name: str) -> str:
        return app(f"@PartitionById(shardId = '{name}') " + sqlite(tmp_path))

    with running(node("one")) as one, running(node("two")) as two, running(app("")) as memory:
        for number, row in enumerate(ROWS):
            send((one, two)[number % 2], [row])
            send(memory, [row])
        for runtime in (one, two, memory):
            runtime.advance_clock(BASE + 3_704_000)
        for word in WORDS:
            # Latest values are those of one of the nodes.
            assert [row[:-1] for row in answers(one, word)] == [row[:-1] for row in answers(memory, word)]
            assert answers(two, word) == answers(one, word)
        shards = {event.data for event in one.query("from A_SECONDS select SHARD_ID")}
        assert shards == {("one",), ("two",)}
    with running(node("two")) as two:
        two.advance_clock(BASE + 3_704_000)
        send(two, [(3_705_000, "x", 1)])
        two.advance_clock(BASE + 7_300_000)
        rows = two.query("from A_HOURS on SHARD_ID == 'two' select AGG_TIMESTAMP, g, AGG_SUM_v")
        assert sorted((event.data[1], event.data[2]) for event in rows if event.data[0] > BASE) == [("x", 1), ("y", 18)]


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ("@store(type = 'rdbms', url = 'sqlite://', table.name = 'T')", "'table.name' is not allowed"),
        ("@store(type = 'rdbms', url = 'sqlite://', @cache(size = '5'))", "@cache is not allowed"),
        ("@store(type = 'rdbms', url = 'sqlite://', on.error = 'STORE')", "must be RETRY"),
        ("@store(type = 'nowhere')", "nowhere"),
        ("@PartitionById", "kept in memory"),
        ("@PartitionById @store(type = 'rdbms', url = 'sqlite://')", "missing 'shardId'"),
        ("@PartitionById(enable = 'perhaps') @store(type = 'rdbms', url = 'sqlite://')", "'true' or 'false'"),
    ],
)
def test_invalid_configurations_are_refused(annotations: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message), running(app(annotations)):
        pass


@contextmanager
def shelves(**options: Any) -> Iterator[tuple[SiddhiManager, dict[str, Shelf], list[Exception]]]:
    """A manager, what it keeps by table, and failures to come when something is added."""
    made: dict[str, Shelf] = {}
    failures: list[Exception] = []

    @extension.store("shelf", registry=extension.Registry())
    class Held(Shelf):
        def init(self, options: Any, context: Any) -> None:
            super().init(options, context)
            made[context.table] = self

        def add(self, records: Any) -> None:
            super().add(records[: len(records) // 2] if failures else records)
            if failures:
                raise failures.pop()

    with SiddhiManager(**options) as manager:
        manager.set_extension("shelf", Held)
        yield manager, made, failures


@pytest.mark.parametrize("failure", [ConnectionUnavailableError("gone in the middle"), ValueError("full")])
def test_after_a_failed_write_the_store_gets_the_rows_again(failure: Exception) -> None:
    with shelves() as (manager, made, failures), running(app("@store(type = 'shelf')"), manager=manager) as runtime:
        errors: list[str] = []
        runtime.handle_exception_with(lambda error, origin, events: errors.append(str(error)))
        send(runtime, ROWS[:4])
        failures.append(failure)
        send(runtime, [(2_000, "x", 7)])
        # A lost connection is retried; any other error is reported, and the event after the timer rolls up.
        assert errors == ([] if isinstance(failure, ConnectionUnavailableError) else ["full"])
        send(runtime, [(3_500, "x", 8)])
        shelf = made["A_SECONDS"]
        position = [name for name, _ in shelf.context.attributes].index("AGG_SUM_v")
        assert sorted(row[position] for row in shelf.rows) == [2, 4, 4, 7]
        assert sorted(row[2] for row in answers(runtime, "hour")) == [2, 4, 19]


@pytest.mark.parametrize("node", ["", "@PartitionById(shardId = 'one') "], ids=["alone", "node"])
def test_queries_fail_and_events_wait_while_the_store_is_disconnected(node: str) -> None:
    text = app(node + "@store(type = 'shelf')") + (
        "define stream Q (g string, at long); from Q join A on Q.g == A.g within 0L, 9000000000000L per 'sec' "
        "select A.g as g, A.total as total insert into O;"
    )
    time = StoppedTime()
    with shelves(retries=time) as (manager, made, _), running(text, manager=manager) as runtime:
        runtime.collect("O")
        send(runtime, [(0, "x", 1), (1_000, "x", 2)])
        for shelf in made.values():
            shelf.down = True
        for _ in range(2):
            with pytest.raises(OnDemandQueryCreationError, match="the shelf is away") as caught:
                answers(runtime, "sec")
            assert isinstance(caught.value.__cause__, ConnectionUnavailableError)
        assert time.waits == []

        def come_back() -> None:
            for shelf in made.values():
                shelf.down = len(time.waits) < 3

        time.on_wait = come_back
        runtime.input_handler("Q").send(("x", BASE), BASE + 1_500)
        assert time.waits == [5, 10, 15]
        assert runtime.drain()["O"].column("total") == ([1] if node else [1, 2])
        send(runtime, [(2_000, "x", 4)])
        assert [row[2] for row in answers(runtime, "hour")] == [3 if node else 7]


@pytest.mark.parametrize("mode", ["@app:playback", ""], ids=["playback", "live"])
def test_a_failed_query_succeeds_after_the_store_is_connected_again(mode: str) -> None:
    time = StoppedTime()
    with shelves(retries=time) as (manager, made, _):
        with running(app("@store(type = 'shelf')"), manager=manager) as runtime:
            send(runtime, [(0, "x", 1), (1_000, "x", 2)])
            rows = {table: list(shelf.rows) for table, shelf in made.items()}
        text = app("@store(type = 'shelf')").replace("@app:playback", mode)
        with running(text, manager=manager) as runtime:
            for table, shelf in made.items():
                shelf.rows, shelf.down = rows.get(table, []), True
            with pytest.raises(OnDemandQueryCreationError, match="the shelf is away"):
                answers(runtime, "hour")
            for shelf in made.values():
                shelf.down = False
            assert [row[2] for row in answers(runtime, "hour")] == [1]
            assert time.waits == []


def test_in_a_sandbox_rows_are_kept_in_memory() -> None:
    text = app("@PartitionById(shardId = 'one') @store(type = 'rdbms', url = 'postgresql://nobody@nowhere.invalid/x')")
    with SiddhiManager() as manager, manager.create_sandbox_siddhi_app_runtime(text) as runtime:
        send(runtime, ROWS)
        assert len(answers(runtime, "hour")) == 5


def test_sets_cannot_be_stored_in_a_database() -> None:
    text = (
        "define stream S (v int); @store(type = 'rdbms', url = 'sqlite://') define aggregation A from S "
        "select distinctCount(v) as n aggregate every sec, min;"
    )
    with pytest.raises(
        SiddhiAppCreationError, match="the distinct values of 'distinctCount' in aggregation 'A'"
    ) as caught:
        running(text).__enter__()
    span = caught.value.span
    assert span is not None
    assert (span.line, span.column) == (1, text.index("distinctCount"))
