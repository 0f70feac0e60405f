"""Limits of keys where rows expire in other records: readers of named windows, and joins of two windows.

If rows expire in the order in which they came, the limit is that of a window in the query itself. Else a key stays refused
until its refused rows have left, so that its rows are all counted or none is.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime, SiddhiManager
from tests.kit.running import collect, running

HEAD = "@app:name('A') @app:playback define stream S (k string, v int, left bool);\n"
NAMED = "define window W (k string, v int) {window}; from S select k, v insert into W; {limit}from W select k, {select} group by k insert into Out;"
JOINED = (
    "define stream L (k string, v int); define stream R (k string, v int);"
    "from S[left] select k, v insert into L; from S[not left] select k, v insert into R;"
    "{limit}from L#window.{window} as a join R#window.{other} as b on a.k == b.k or a.v == b.v "
    "select a.k as k, {select} group by a.k insert into Out;"
)
WINDOWS = ["length(3)", "time(6 milliseconds)", "timeLength(5 milliseconds, 2)", "sort(2, v)"]
BATCHES = ["lengthBatch(3)", "timeBatch(5 milliseconds)"]
SELECTS = ["sum({0}v) as x", "count() as x", "max({0}v) as x, min({0}v) as y", "avg({0}v) as x"]

Row = tuple[int, str, int, bool]


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    steps = st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from("abcde"), st.integers(0, 3), st.booleans()),
        min_size=1,
        max_size=40,
    )
    time, rows = 1_000, []
    for step, *row in draw(steps):
        time += step
        rows.append((time, *row))
    return rows


def send(runtime: SiddhiAppRuntime, rows: list[Row]) -> None:
    for time, *row in rows:
        runtime.input_handler("S").send(tuple(row), time)


def outputs(text: str, rows: list[Row], *, restarts: int | None = None) -> list[Any]:
    """Return the output; ``restarts``: the number of rows after which the app is restored in another one."""
    cut = len(rows) if restarts is None else restarts
    with SiddhiManager() as manager:
        with manager.create_siddhi_app_runtime(text) as runtime:
            runtime.handle_exception_with(lambda *_: None)
            out = collect(runtime, "Out")
            send(runtime, rows[:cut])
            saved = runtime.snapshot()
        if restarts is not None:
            with manager.create_siddhi_app_runtime(text) as runtime:
                runtime.handle_exception_with(lambda *_: None)
                runtime.restore(saved)
                runtime.add_callback("Out", lambda events: out.extend(event.data for event in events))
                send(runtime, rows[cut:])
    return out


def named(limit: str, window: str, select: str) -> str:
    return HEAD + NAMED.format(limit=limit, window=window, select=select.format(""))


def joined(limit: str, window: str, other: str, select: str) -> str:
    return HEAD + JOINED.format(limit=limit, window=window, other=other, select=select.format("b."))


@given(
    rows=histories(),
    window=st.sampled_from(WINDOWS + BATCHES),
    select=st.sampled_from(SELECTS),
    on_full=st.sampled_from(["error", "drop_oldest", "log"]),
    output=st.sampled_from(["", " output current events"]),
)
def test_a_limit_of_a_named_window_that_is_not_reached_has_no_effect(
    rows: list[Row], window: str, select: str, on_full: str, output: str
) -> None:
    limited = named(f"@limit(keys = '9', on.full = '{on_full}') ", window + output, select)
    assert outputs(limited, rows) == outputs(named("", window + output, select), rows)


@given(
    rows=histories(),
    window=st.sampled_from(WINDOWS),
    other=st.sampled_from(WINDOWS),
    select=st.sampled_from(SELECTS),
    on_full=st.sampled_from(["error", "drop_oldest", "log"]),
)
def test_a_limit_of_a_join_that_is_not_reached_has_no_effect(
    rows: list[Row], window: str, other: str, select: str, on_full: str
) -> None:
    limited = joined(f"@limit(keys = '9', on.full = '{on_full}') ", window, other, select)
    assert outputs(limited, rows) == outputs(joined("", window, other, select), rows)


class Counts:
    """Counts of rows by key, with at most so many keys."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.live: Counter[str] = Counter()
        self.blocked: Counter[str] = Counter()

    def come(self, key: str) -> int | None:
        """What comes out; None: the row is refused."""
        if key in self.blocked or (not self.live[key] and sum(map(bool, self.live.values())) >= self.most):
            self.blocked[key] += 1
            return None
        self.live[key] += 1
        return self.live[key]

    def leave(self, key: str) -> None:
        where = self.blocked if key in self.blocked else self.live
        where[key] -= 1
        assert where[key] >= 0
        if where is self.blocked and not where[key]:
            del where[key]

    def end(self) -> None:
        self.live = +self.live


@given(
    rows=histories(),
    window=st.sampled_from(["length(3)", "time(6 milliseconds)", "timeLength(5 milliseconds, 2)"]),
    select=st.sampled_from(SELECTS),
    most=st.integers(1, 3),
    on_full=st.sampled_from(["error", "drop_oldest", "log"]),
    cut=st.none() | st.integers(0, 20),
)
def test_a_reader_of_a_named_window_is_limited_like_a_window_of_its_own(
    rows: list[Row], window: str, select: str, most: int, on_full: str, cut: int | None
) -> None:
    limit = f"@limit(keys = '{most}', on.full = '{on_full}') "
    own = HEAD + f"{limit}from S#window.{window} select k, {select.format('')} group by k insert into Out;"
    restarts = None if cut is None else min(cut, len(rows))
    assert outputs(named(limit, window, select), rows, restarts=restarts) == outputs(own, rows)


@given(rows=histories(), most=st.integers(1, 3), cut=st.none() | st.integers(0, 20))
def test_a_reader_of_a_sorted_window_counts_all_rows_of_a_key_or_none(
    rows: list[Row], most: int, cut: int | None
) -> None:
    counts, expected = Counts(most), []
    window: list[tuple[int, int, str]] = []
    for number, (_, key, value, _) in enumerate(rows):
        window = sorted([*window, (value, number, key)])
        count = counts.come(key)
        if len(window) > 2:
            counts.leave(window.pop()[2])
        counts.end()
        expected.append((key, count))
    text = named(f"@limit(keys = '{most}') ", "sort(2, v)", "count() as x")
    found = outputs(text, rows, restarts=None if cut is None else min(cut, len(rows)))
    assert [key for key, _ in found] == [key for key, count in expected if count is not None]


@given(rows=histories(), most=st.integers(1, 3), cut=st.none() | st.integers(0, 20))
def test_a_join_counts_all_pairs_of_a_key_or_none(rows: list[Row], most: int, cut: int | None) -> None:
    counts, expected = Counts(most), []
    windows: dict[bool, list[tuple[str, int]]] = {True: [], False: []}
    for _, key, value, left in rows:
        mine, others = windows[left], windows[not left]
        out: dict[str, int] = {}

        def pairs(row: tuple[str, int], others: list[tuple[str, int]], left: bool) -> list[str]:
            return [row[0] if left else other[0] for other in others if other[0] == row[0] or other[1] == row[1]]

        if len(mine) == 2:
            for gone in pairs(mine.pop(0), others, left):
                counts.leave(gone)
        mine.append((key, value))
        for come in pairs((key, value), others, left):
            count = counts.come(come)
            if count is not None:
                out.pop(come, None)
                out[come] = count
        counts.end()
        expected.append(out)
    text = joined(f"@limit(keys = '{most}') ", "length(2)", "length(2)", "count() as x")
    found = outputs(text, rows, restarts=None if cut is None else min(cut, len(rows)))
    assert sorted(found) == sorted(row for out in expected for row in out.items())


def test_an_expired_row_of_a_refused_key_changes_no_later_sum() -> None:
    values = [("a", 1), ("b", 2), ("a", 4), ("a", 8), ("b", 16), ("b", 32), ("b", 64)]
    rows = [(time, key, value, True) for time, (key, value) in enumerate(values, 1)]
    with running(named("@limit(keys = '1') ", "length(2)", "sum(v) as x")) as runtime:
        failed: list[str] = []
        runtime.handle_exception_with(lambda error, *_: failed.append(str(error)))
        out = collect(runtime, "Out")
        send(runtime, rows)
    assert out == [("a", 1), ("a", 4), ("a", 12), ("b", 32), ("b", 96)]
    assert len(failed) == 2
