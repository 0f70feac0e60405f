"""Events sent again into an aggregation in a store: rows that are replaced, and rows that are kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import sqlalchemy as sa

from siddhi import SiddhiAppRuntime, SiddhiManager, extension
from tests.kit import postgres
from tests.kit.running import running
from tests.kit.stores import Shelf

BASE = 1_496_289_950_000
"""2017-06-01 04:05:50 GMT."""
BUCKETS = {"sec": 1_000, "min": 60_000, "hour": 3_600_000, "day": 86_400_000}
KEPT = "@purge(enable = 'false')"

Sent = tuple[int, str | None, int, int]
"""Milliseconds behind BASE, group, value, and how late it comes."""


@dataclass
class Stored:
    """A store that lasts, in memory, a database of this folder or at this url, and the rows that should be in it."""

    folder: Path | None = None
    by: bool = False
    more: str = KEPT
    node: str = ""
    url: str = ""
    tables: dict[str, list[Any]] = field(default_factory=dict)
    left_behind: dict[str, list[Any]] | None = None
    rows: dict[tuple[int, int, str | None], list[tuple[int, int]]] = field(default_factory=dict)

    @property
    def app(self) -> str:
        options = "type = 'shelf'"
        if self.url or self.folder is not None:
            folder = self.folder or Path()
            options = f"type = 'rdbms', url = '{self.url or f'sqlite:///{folder.as_posix()}/buckets.db'}'"
        return (
            "@app:name('kept') @app:playback define stream S (g string, v int, ts long); define stream Tick (v int); "
            f"{self.more} {self.node} @store({options}) define aggregation A from S "
            "select g, sum(v) as total, count() as n, min(v) as least, avg(v) as mean, v as lastV group by g "
            f"aggregate {'by ts' if self.by else ''} every sec ... day;"
        )

    def crash(self) -> None:
        """What is there now is what the next run finds."""
        self.left_behind = {table: list(rows) for table, rows in self.tables.items()}

    def torn(self) -> bool:
        """Whether a run has ended between a row and the coarser one that is made of it: that one stands from then on, as if
        its finer rows had been purged."""
        times = {word: self._times(f"A_{word}") for word in ("SECONDS", "MINUTES", "HOURS", "DAYS")}
        steps = zip(list(times.values()), list(times.values())[1:], list(BUCKETS.values())[1:])
        for finer, coarser, length in steps:
            made: dict[Any, int] = {}
            for (time, group), n in finer.items():
                made[time - time % length, group] = made.get((time - time % length, group), 0) + n
            if any(n != made.get(key, n) for key, n in coarser.items()):
                return True
        return False

    def _times(self, table: str) -> dict[Any, int]:
        """How many events the rows of a bucket and group are of."""
        found: dict[Any, int] = {}
        for row in self.tables[table]:
            key = row[self.by : self.by + 2]
            found[key] = found.get(key, 0) + row[self.by + 3]
        return found

    def manager(self) -> SiddhiManager:
        """One that knows the store."""
        stored = self

        @extension.store("shelf", registry=extension.Registry())
        class Lasting(Shelf):
            def init(self, options: Any, context: Any) -> None:
                super().init(options, context)
                self.rows = stored.tables.setdefault(context.table, [])

            def delete(self, condition: Any, parameters: Any) -> None:
                kept = self.rows
                super().delete(condition, parameters)
                kept[:] = self.rows
                self.rows = kept

        manager = SiddhiManager()
        manager.set_extension("shelf", Lasting)
        return manager

    def expected(self, word: str) -> dict[Any, tuple[Any, ...]]:
        found: dict[Any, list[tuple[int, int]]] = {}
        for (_, second, group), values in sorted(self.rows.items(), key=lambda row: row[0][0]):
            found.setdefault((second - second % BUCKETS[word], group), []).extend(values)
        return {key: folded(values, self.by) for key, values in found.items()}

    def check(self, runtime: SiddhiAppRuntime, words: tuple[str, ...] = tuple(BUCKETS)) -> None:
        for word in words:
            found = runtime.query(f"from A within 0L, {2 * BASE}L per '{word}' select *")
            got = {event.data[:2]: event.data[2:] for event in found}
            assert len(got) == len(found)
            assert {key: row[: len(row) - self.by] for key, row in got.items()} == self.expected(word), word


def folded(values: list[tuple[int, int]], by: bool) -> tuple[Any, ...]:
    numbers = [value for _, value in values]
    total, n = sum(numbers), len(numbers)
    row = (total, n, min(numbers), total / n)
    # With `by` values of one time may be the latest in any order.
    return row if by else (*row, numbers[-1])


class Run:
    """One run of the app: what it is sent replaces what is stored of the same second and group."""

    def __init__(self, stored: Stored, runtime: SiddhiAppRuntime) -> None:
        self.stored = stored
        self.runtime = runtime
        self.clock = 0
        self.seen: set[Any] = set()

    def send(self, *events: Sent) -> None:
        for time, group, value, late in events:
            self.clock = BASE + time
            at = self.clock - late if self.stored.by else self.clock
            self.runtime.input_handler("S").send((group, value, at), self.clock)
            key = (self.clock - self.clock % 1_000, at - at % 1_000, group)
            if key not in self.seen:
                self.seen.add(key)
                self.stored.rows[key] = []
            self.stored.rows[key].append((at, value))

    def end(self) -> None:
        """End the current second."""
        self.runtime.advance_clock(self.clock - self.clock % 1_000 + 1_000)


@contextmanager
def run(stored: Stored) -> Iterator[Run]:
    with stored.manager() as manager, running(stored.app, manager=manager) as runtime:
        yield Run(stored, runtime)
    if stored.left_behind is not None:
        stored.tables, stored.left_behind = stored.left_behind, None


def at(*times: int, group: str | None = "x", value: int = 1) -> list[Sent]:
    return [(time, group, value, 0) for time in times]


DAY_OF_X = at(0, 400, 1_000, 62_000, 500_000, 3_700_000, 3_701_000, 9_000_000)


@pytest.mark.parametrize("by", [False, True])
def test_a_complete_replay_gives_the_same_rows(tmp_path: Path, by: bool) -> None:
    stored = Stored(tmp_path, by)
    for _ in range(3):
        with run(stored) as one:
            one.send(*DAY_OF_X)
            stored.check(one.runtime)
            one.end()
            stored.check(one.runtime)
    with run(stored) as one:
        stored.check(one.runtime)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("by", [False, True])
def test_rows_that_other_runs_stored_of_other_groups_are_kept(tmp_path: Path, by: bool, database: str) -> None:
    stored = Stored(tmp_path, by, url=postgres.url() if database == "postgresql" else "")
    if stored.url:
        engine = sa.create_engine(stored.url)
        with engine.begin() as connection:
            for name in ("SECONDS", "MINUTES", "HOURS", "DAYS"):
                connection.execute(sa.text(f'drop table if exists "A_{name}"'))
        engine.dispose()
    for group in ("x", "y", None, "z"):
        with run(stored) as one:
            for event in at(0, 1_000, 62_000, 500_000, 3_700_000, group=group):
                one.send(event)
                stored.check(one.runtime)
            one.end()
    with run(stored) as one:
        stored.check(one.runtime)
    assert len(stored.expected("day")) == 4


GROUPED = {"bool": (True, False), "int": (1, -2), "double": (0.5, 1e300), "float": (0.1, 2.5), "string": ("a", "a ")}


@pytest.mark.parametrize("kind", GROUPED)
def test_rows_are_found_by_groups_of_every_type(tmp_path: Path, kind: str) -> None:
    text = (
        f"@app:playback define stream S (g {kind}, h {kind}, v int); {KEPT} "
        f"@store(type = 'rdbms', url = 'sqlite:///{tmp_path.as_posix()}/groups.db') "
        "define aggregation A from S select g, h, sum(v) as total group by g, h aggregate every sec, min;"
    )
    one, other = GROUPED[kind]
    groups = [(one, one), (one, other), (None, one), (one, None), (None, None), (other, None)]
    # Each run has two of the groups; none has the last one twice.
    for first in (0, 1, 2, 3, 4, 0, 2):
        with running(text) as runtime:
            for time in (BASE, BASE + 11_000):
                for group in groups[first : first + 2]:
                    runtime.input_handler("S").send((*group, 1), time)
            runtime.advance_clock(BASE + 60_000)
    with running(text) as runtime:
        for word, rows in (("sec", 12), ("min", 12)):
            found = runtime.query(f"from A within 0L, {2 * BASE}L per '{word}' select total")
            assert [event.data for event in found] == [(1,)] * rows


def test_a_partial_replay_updates_the_coarser_rows(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    with run(stored) as one:
        one.send(*at(0, 1_000, 7_200_000, 7_201_000, group="y"))
        one.end()
    with run(stored) as one:
        one.send(*at(500, 1_500, 60_000))
        one.end()
        stored.check(one.runtime)
    with run(stored) as one:
        stored.check(one.runtime)
        one.send(*at(90_000_000))
        stored.check(one.runtime)


def test_rows_of_a_replayed_bucket_without_new_events_are_kept(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    with run(stored) as one:
        one.send(*at(0, 10_000, 20_000, 70_000, 3_700_000))
        one.end()
    with run(stored) as one:
        one.send(*at(10_000, 15_000, 65_000, value=100))
        one.end()
        stored.check(one.runtime)
    # 0, 10 s (100), 15 s (100), 20 s, 65 s (100), 70 s
    assert [row[0] for key, row in stored.expected("hour").items() if key[0] < BASE] == [303]


def test_a_query_before_the_first_event_changes_nothing(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    for asked in (False, True, True):
        with run(stored) as one:
            if asked:
                stored.check(one.runtime)
            one.send(*DAY_OF_X)
            stored.check(one.runtime)
            one.end()


@pytest.mark.parametrize("by", [False, True])
def test_coarser_rows_are_kept_after_finer_ones_were_purged(tmp_path: Path, by: bool) -> None:
    stored = Stored(tmp_path, by, more="@purge(interval = '1 min')")
    with run(stored) as one:
        one.send(*DAY_OF_X)
        one.end()
        one.runtime.input_handler("Tick").send((1,), BASE + 12_000_000)
        assert [event.data for event in one.runtime.query("from A_SECONDS select g")] == []
    with run(stored) as one:
        # From the middle of the first minute on: what it held before is in its stored row alone.
        one.send(*DAY_OF_X[2:])
        one.end()
        stored.rows[BASE, BASE, "x"] = [(BASE, 1), (BASE + 400, 1)]
        stored.check(one.runtime, ("min", "hour", "day"))
        stored.check(one.runtime, ("min", "hour", "day"))
    with run(stored) as one:
        stored.check(one.runtime, ("min", "hour", "day"))


def test_a_replay_with_purging_gives_the_same_rows(tmp_path: Path) -> None:
    stored = Stored(tmp_path, more="")
    for group in ("x", "y", "x", "x", "y"):
        with run(stored) as one:
            one.send(*[(time, group, value, 0) for time, _, value, _ in DAY_OF_X])
            stored.check(one.runtime, ("min", "hour", "day"))
            one.end()
            one.runtime.input_handler("Tick").send((1,), BASE + 12_000_000)
            stored.check(one.runtime, ("min", "hour", "day"))


def test_a_crash_during_a_replay_is_repaired_by_the_next_replay() -> None:
    stored = Stored()
    with run(stored) as one:
        one.send(*at(0, 1_000, 3_700_000, 9_000_000, group="y"))
        one.end()
    with run(stored) as one:
        one.send(*DAY_OF_X[:5])
        stored.crash()
        one.send(*DAY_OF_X[5:])  # into what was left behind
    with run(stored) as one:
        one.send(*DAY_OF_X)
        one.end()
        stored.check(one.runtime)
    with run(stored) as one:
        stored.check(one.runtime)


def test_rows_stored_after_the_snapshot_and_before_the_replay_are_kept(tmp_path: Path) -> None:
    stored = Stored(tmp_path)
    with run(stored) as one:
        one.send(*at(0, 400))
        saved = one.runtime.snapshot()
        one.send(*at(1_000, 62_000, 500_000, 3_700_000, 3_701_000))
        one.end()
    with run(stored) as one:
        one.runtime.restore(saved)
        # Its source was further than the snapshot.
        one.send(*at(3_701_000, 9_000_000))
        one.end()
        stored.check(one.runtime)


def test_a_snapshot_during_a_replay_contains_rows_not_yet_stored() -> None:
    stored = Stored()
    with run(stored) as one:
        one.send(*at(0, 7_200_000, group="y"))
        one.end()
    for time in (700, 62_000, 9_000_000):
        with run(stored) as one:
            one.send(*at(0, 400))
            saved, seen = one.runtime.snapshot(), one.seen
            stored.crash()
        with run(stored) as one:
            one.runtime.restore(saved)
            one.seen = seen
            one.send(*at(time))
            one.end()
            stored.check(one.runtime)


def test_nodes_replay_their_own_rows(tmp_path: Path) -> None:
    one_row, other = Stored(tmp_path, node="@PartitionById(shardId = 'one')"), "@PartitionById(shardId = 'two')"
    with run(one_row) as one:
        one.send(*DAY_OF_X)
        one.end()
        one_row.check(one.runtime)
    for _ in range(2):
        two_row = Stored(tmp_path, node=other)
        with run(two_row) as two:
            two.send(*[(time, "y", 1, 0) for time, *_ in DAY_OF_X])
            two.end()
        with run(one_row) as one:
            one.send(*DAY_OF_X[:5])
            one.end()
        with run(Stored(tmp_path, node=other, rows=one_row.rows | two_row.rows)) as two:
            two.stored.check(two.runtime)


STEPS = st.sampled_from([0, 300, 1_000, 2_000, 61_000, 1_800_000, 4_000_000, 50_000_000])
GROUPS = st.sampled_from(["x", "y", None])


@st.composite
def timelines(draw: st.DrawFn) -> list[Sent]:
    time = draw(st.sampled_from([0, 500, 9_000, 70_000, 4_000_000]))
    events: list[Sent] = []
    for _ in range(draw(st.integers(1, 8))):
        time += draw(STEPS)
        events.append((time, draw(GROUPS), draw(st.integers(-3, 3)), draw(st.sampled_from([0, 0, 700, 62_000]))))
    return events


@settings(max_examples=25)
@given(parts=st.lists(timelines(), min_size=1, max_size=4), by=st.booleans(), data=st.data())
def test_a_run_replaces_its_rows_of_a_second_and_group(parts: list[list[Sent]], by: bool, data: st.DataObject) -> None:
    stored = Stored(by=by)
    for events in parts:
        with run(stored) as one:
            if data.draw(st.booleans()):
                stored.check(one.runtime)
            for event in events:
                one.send(event)
                if data.draw(st.booleans()):
                    stored.check(one.runtime)
            one.end()
            stored.check(one.runtime)
    with run(stored) as one:
        stored.check(one.runtime)


@settings(max_examples=25)
@given(
    before=st.lists(timelines(), max_size=2),
    events=timelines(),
    cuts=st.tuples(st.integers(0, 8), st.integers(0, 8)).map(sorted),
    by=st.booleans(),
    crashes=st.booleans(),
    asks=st.booleans(),
)
def test_continuing_from_a_snapshot_changes_nothing(
    before: list[list[Sent]],
    events: list[Sent],
    cuts: list[int],
    by: bool,
    crashes: bool,
    asks: bool,
) -> None:
    stored = Stored(by=by)
    for part in before:
        with run(stored) as one:
            one.send(*part)
            one.end()
    saved_at, ended_at = cuts
    rows = dict(stored.rows)
    with run(stored) as one:
        one.send(*events[:saved_at])
        saved, seen = one.runtime.snapshot(), set(one.seen)
        rows = {key: list(values) for key, values in stored.rows.items()}
        one.send(*events[saved_at:ended_at])
        if crashes:
            assume(not stored.torn())
            stored.crash()
    with run(stored) as one:
        one.runtime.restore(saved)
        stored.rows, one.seen = rows, seen
        if asks:
            one.runtime.query(f"from A within 0L, {BASE}L per 'hour' select *")
        one.send(*(events[saved_at:] or events[-1:]))
        one.end()
        if events[saved_at:]:
            stored.check(one.runtime)
    if events[saved_at:]:
        with run(stored) as one:
            stored.check(one.runtime)


@settings(max_examples=15)
@given(events=timelines(), by=st.booleans())
def test_runs_of_some_groups_together_equal_one_run_of_all(events: list[Sent], by: bool) -> None:
    together, apart = (Stored(by=by) for _ in range(2))
    with run(together) as one:
        one.send(*events)
        one.end()
    for group in ("x", "y", None, "x"):
        own = [event for event in events if event[1] == group]
        if own:
            with run(apart) as one:
                one.send(*own)
                one.end()
    assert apart.rows == together.rows
    for stored in (together, apart):
        with run(stored) as one:
            together.check(one.runtime)
