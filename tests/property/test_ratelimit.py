"""Output rate limits against slow oracles, with a restart in the middle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager

Row = tuple[str, int]
Event = tuple[int, str, int]  # timestamp, key, value
Chunks = list[list[tuple[Any, ...]]]

EVENTS = st.lists(st.tuples(st.integers(0, 700), st.sampled_from("ABC"), st.integers(-2, 3)), max_size=30).map(
    lambda steps: [(1000 + sum(step[0] for step in steps[: i + 1]), key, v) for i, (_, key, v) in enumerate(steps)]
)


def play(
    query: str, events: list[Event], restart: int | None = None, *, timers: str = "", into: str = "into O"
) -> Chunks:
    """What a query over ``S (a string, v int)`` inserts into O, chunk by chunk, under playback."""
    chunks: Chunks = []
    app = f"@app:name('limited') @app:playback{timers} define stream S (a string, v int); {query} insert {into};"
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(app)
        runtime.add_callback("O", lambda events: chunks.append([event.data for event in events]))
        runtime.start()
        for i, (timestamp, key, value) in enumerate(events):
            if i == restart:
                snapshot = runtime.snapshot()
                runtime.shutdown()
                runtime = manager.create_siddhi_app_runtime(app)
                runtime.add_callback("O", lambda events: chunks.append([event.data for event in events]))
                runtime.start()
                runtime.restore(snapshot)
            runtime.input_handler("S").send((key, value), timestamp=timestamp)
    return chunks


# --- twins: a limiter takes one event after the other and returns the chunk that goes out, if any


class ByEvents:
    def __init__(self, kind: str, n: int, grouped: bool) -> None:
        self.kind, self.n, self.grouped = kind, n, grouped
        self.held: list[Row] = []
        self.counts: dict[str, int] = {}

    def take(self, row: Row) -> list[Row]:
        if self.kind == "first":
            key = row[0] if self.grouped else ""
            count = self.counts.get(key, 0)
            self.counts[key] = (count + 1) % self.n
            return [row] if count == 0 else []
        self.held.append(row)
        if len(self.held) < self.n:
            return []
        held, self.held = self.held, []
        if self.kind == "all":
            return held
        return list({row[0]: row for row in held}.values()) if self.grouped else held[-1:]


def by_events(events: list[Event], kind: str, n: int, grouped: bool) -> Chunks:
    limiter = ByEvents(kind, n, grouped)
    return [chunk for _, key, value in events if (chunk := limiter.take((key, value)))]


def ticks(events: list[Event], period: int) -> Iterator[int | Event]:
    """Events and ticks (their times) in order: the first tick a period after the first event, ticks before events."""
    due = events[0][0] + period if events else 0
    for event in events:
        while due <= event[0]:
            yield due
            due += period
        yield event


def by_time(events: list[Event], kind: str, period: int, grouped: bool) -> Chunks:
    held: list[Row] = []
    chunks: Chunks = []
    for item in ticks(events, period):
        if not isinstance(item, int):
            held.append((item[1], item[2]))
        elif held:
            last = {row[0]: row for row in held}.values() if grouped else held[-1:]
            chunks.append(held if kind == "all" else list(last))
            held = []
    return chunks


def first_by_time(events: list[Event], period: int, grouped: bool) -> Chunks:
    passed: dict[str, int] = {}
    chunks: Chunks = []
    for timestamp, key, value in events:
        group = key if grouped else ""
        if group not in passed or timestamp - passed[group] >= period:
            passed[group] = timestamp
            chunks.append([(key, value)])
    return chunks


RESTART = st.none() | st.integers(1, 20)


@given(EVENTS, st.sampled_from(["all", "first", "last"]), st.integers(1, 5), st.booleans(), RESTART)
def test_every_n_events(events: list[Event], kind: str, n: int, grouped: bool, restart: int | None) -> None:
    group = "group by a" if grouped else ""
    query = f"from S select a, v {group} output {kind} every {n} events"
    assert play(query, events, restart) == by_events(events, kind, n, grouped)


@given(EVENTS, st.sampled_from(["all", "last"]), st.integers(100, 900), st.booleans(), RESTART)
def test_every_time(events: list[Event], kind: str, period: int, grouped: bool, restart: int | None) -> None:
    group = "group by a" if grouped else ""
    query = f"from S select a, v {group} output {kind} every {period} milliseconds"
    assert play(query, events, restart) == by_time(events, kind, period, grouped)


@given(EVENTS, st.integers(100, 900), st.booleans(), RESTART)
def test_first_every_time(events: list[Event], period: int, grouped: bool, restart: int | None) -> None:
    group = "group by a" if grouped else ""
    query = f"from S select a, v {group} output first every {period} milliseconds"
    assert play(query, events, restart) == first_by_time(events, period, grouped)


# --- after a window that expires events by the clock: its timers run before the limiter's ticks of the same time, and a
# limiter that had no output for a long time behaves like one that has ticked all the time

WINDOWS = ["delay(700)", "delay(1 sec)", "time(700)", "timeBatch(700)", "timeBatch(1 sec)", "timeBatch(300)"]


def releases(window: str, events: list[Event]) -> list[int]:
    """When each event is let go, at the earliest."""
    length = {"700": 700, "300": 300, "1 sec": 1000}[window[:-1].split("(")[1]]
    start = events[0][0] if events else 0
    batches = window.startswith("timeBatch")
    return [start + ((time - start) // length + 1) * length if batches else time + length for time, _, _ in events]


def behind_window(window: str, events: list[Event], kind: str, period: int, *, exact: bool) -> Chunks:
    due = releases(window, events)
    waiting: list[tuple[int, Row]] = []
    held: list[Row] = []
    chunks: Chunks = []
    tick = events[0][0] + period if events else 0
    for number, (time, key, value) in enumerate(events):
        between = {*(instant for instant, _ in waiting), *range(tick, time, period)} if exact else set()
        for instant in sorted({found for found in between if found < time} | {time}):
            held += [row for release, row in waiting if release <= instant]
            waiting = [(release, row) for release, row in waiting if release > instant]
            while tick <= instant:
                if held:
                    chunks.append(held if kind == "all" else held[-1:])
                held = []
                tick += period
        waiting.append((due[number], (key, value)))
    return chunks


@given(
    EVENTS,
    st.sampled_from(WINDOWS),
    st.sampled_from(["all", "last"]),
    st.sampled_from([100, 300, 350, 700, 1000]),
    st.integers(1, 12),
    st.booleans(),
    RESTART,
)
def test_a_limiter_without_timer_equals_one_with_timer(
    events: list[Event], window: str, kind: str, period: int, gap: int, exact: bool, restart: int | None
) -> None:
    # Gaps of several seconds, in which the limiter has nothing.
    spread = [(1000 + (time - 1000) * gap, key, value) for time, key, value in events]
    query = f"from S#window.{window} select a, v output {kind} every {period} milliseconds"
    into = "expired events into O" if window.startswith("time(") else "into O"
    timers = "(timers = 'exact')" if exact else ""
    expected = behind_window(window, spread, kind, period, exact=exact)
    assert play(query, spread, restart, timers=timers, into=into) == expected
    query = f"partition with (a of S) begin {query}"
    alone = [(time, "A", value) for time, _, value in spread]
    assert play(query, alone, restart, timers=timers, into=f"{into}; end") == behind_window(
        window, alone, kind, period, exact=exact
    )


# --- pictures: what a query over the last three events shows at a tick

LENGTH = 3


def total(rows: list[Row]) -> int:
    return sum(value for _, value in rows)


def last_row(all_rows: list[Row]) -> list[tuple[Any, ...]]:
    return all_rows[-1:]


def last_of_each_key(all_rows: list[Row]) -> list[tuple[Any, ...]]:
    return [
        (key, total([row for row in all_rows if row[0] == key])) for key in dict.fromkeys(row[0] for row in all_rows)
    ]


def rows_held(all_rows: list[Row]) -> list[tuple[Any, ...]]:
    return list(all_rows[-LENGTH:])


def rows_with_sum(all_rows: list[Row]) -> list[tuple[Any, ...]]:
    held = all_rows[-LENGTH:]
    return [(total(held), len(held), key) for key, _ in held]


def latest_sum(all_rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(total(all_rows[-LENGTH:]),)]


def groups_in_order(all_rows: list[Row]) -> dict[str, list[Row]]:
    """Rows held by key; a key whose last row expires goes, and comes back at the end."""
    groups: dict[str, list[Row]] = {}
    for i, row in enumerate(all_rows):
        if i >= LENGTH:
            gone = all_rows[i - LENGTH]
            groups[gone[0]].pop(0)
            if not groups[gone[0]]:
                del groups[gone[0]]
        groups.setdefault(row[0], []).append(row)
    return groups


def oldest_of_each_key(all_rows: list[Row]) -> list[tuple[Any, ...]]:
    groups: dict[str, list[Row]] = {}
    for row in all_rows[-LENGTH:]:
        groups.setdefault(row[0], []).append(row)
    return [(key, rows[0][1], total(rows)) for key, rows in groups.items()]


def sum_of_each_key(all_rows: list[Row]) -> list[tuple[Any, ...]]:
    return [(total(rows),) for rows in groups_in_order(all_rows).values()]


def visible_rows(all_rows: list[Row]) -> list[tuple[Any, ...]]:
    return [row for row in all_rows[-LENGTH:] if row[1] > 0]


def greatest_two(all_rows: list[Row]) -> list[tuple[Any, ...]]:
    return sorted(all_rows[-LENGTH:], key=lambda row: -row[1])[:2]


PICTURES: list[tuple[str, Callable[[list[Row]], list[tuple[Any, ...]]]]] = [
    ("from S select a, v", last_row),
    ("from S select a, sum(v) as s group by a", last_of_each_key),
    ("from S#window.length(3) select a, v", rows_held),
    ("from S#window.length(3) select a, v group by a", rows_held),
    ("from S#window.length(3) select sum(v) as s, count() as n, a", rows_with_sum),
    ("from S#window.length(3) select sum(v) as s", latest_sum),
    ("from S#window.length(3) select a, v, sum(v) as s group by a", oldest_of_each_key),
    ("from S#window.length(3) select sum(v) as s group by a", sum_of_each_key),
    ("from S#window.length(3) select a, v having v > 0", visible_rows),
    ("from S#window.length(3) select a, v order by v desc limit 2", greatest_two),
]


@pytest.mark.parametrize(("query", "picture"), PICTURES, ids=[query for query, _ in PICTURES])
@given(events=EVENTS, period=st.integers(100, 900), restart=RESTART)
def test_snapshots(
    query: str,
    picture: Callable[[list[Row]], list[tuple[Any, ...]]],
    events: list[Event],
    period: int,
    restart: int | None,
) -> None:
    rows: list[Row] = []
    expected: Chunks = []
    for item in ticks(events, period):
        if not isinstance(item, int):
            rows.append((item[1], item[2]))
        elif rows and (shown := picture(rows)):
            expected.append(shown)
    assert play(f"{query} output snapshot every {period} milliseconds", events, restart) == expected


@given(EVENTS, st.integers(1, 4), RESTART)
def test_a_limiter_keeps_counts_of_groups_that_leave_the_window(
    events: list[Event], n: int, restart: int | None
) -> None:
    """Keys leave the window and come back; what is counted for them stays theirs."""
    query = f"from S#window.length(1) select a, v group by a output first every {n} events"
    assert play(query, events, restart) == by_events(events, "first", n, grouped=True)
    query = f"from S#window.length(1) select a, v group by a output last every {n} events"
    assert play(query, events, restart) == by_events(events, "last", n, grouped=True)


@given(EVENTS, st.sampled_from(["all", "first", "last"]), st.integers(1, 4))
def test_every_partition_key_has_its_own_limiter(events: list[Event], kind: str, n: int) -> None:
    limiters: dict[str, ByEvents] = {}
    expected: Chunks = []
    for _, key, value in events:
        chunk = limiters.setdefault(key, ByEvents(kind, n, False)).take((key, value))
        if chunk:
            expected.append(chunk)
    chunks: Chunks = []
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(
            "@app:playback define stream S (a string, v int); partition with (a of S) begin "
            f"from S select a, v output {kind} every {n} events insert into O; end;"
        )
        runtime.add_callback("O", lambda events: chunks.append([event.data for event in events]))
        runtime.start()
        for timestamp, key, value in events:
            runtime.input_handler("S").send((key, value), timestamp=timestamp)
    assert chunks == expected
