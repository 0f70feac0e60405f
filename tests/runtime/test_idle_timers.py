"""What holds nothing waits for nothing: periods go on where they would have been."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime.running import running

STREAM = "define stream S (k string, v int);"
QUERIES = [
    "from S#window.timeBatch(1 sec) select k, v insert all events into O;",
    "from S#window.timeBatch(1 sec) select k, sum(v) as n insert into O;",
    "from S#window.timeBatch(1 sec, 300) select k, sum(v) as n group by k insert into O;",
    "from S#window.timeBatch(1 sec, 0, true) select k, v insert all events into O;",
    "from S select k, v output all every 1 sec insert into O;",
    "from S select k, v group by k output last every 1 sec insert into O;",
    "from S#window.length(1) select k, v output snapshot every 1 sec insert into O;",
]
PLAYBACK = ["@app:playback", "@app:playback(timers = 'exact')"]
ROWS = [(1_000, "A", 1), (1_300, "B", 2), (60_450, "A", 3), (61_200, "A", 4), (70_000, "B", 5)]


def put_out(app: str, rows: list[tuple[int, str, int]], end: int, *, restart: int | None = None) -> list[Any]:
    """What comes, with the clock at which it comes."""
    found: list[Any] = []
    with running(app) as first, running(app) as second:
        runtime = first
        for each in (first, second):
            each.add_callback(
                "O", lambda events, each=each: found.append((each.now, [(e.timestamp, *e.data) for e in events]))
            )
        for number, (time, key, value) in enumerate(rows):
            if number == restart:
                second.restore(first.snapshot())
                runtime = second
            runtime.input_handler("S").send((key, value), time)
        runtime.advance_clock(end)
    return found


@pytest.mark.parametrize("clock", PLAYBACK)
@pytest.mark.parametrize("query", QUERIES[:-1])
def test_nothing_is_due_where_nothing_is_held(clock: str, query: str) -> None:
    with running(f"{clock} {STREAM} {query}") as runtime:
        runtime.input_handler("S").send(("A", 1), 1_000)
        assert runtime.next_due is not None
        runtime.advance_clock(10_000)
        runtime.advance_clock(20_000)
        assert runtime.next_due is None


@pytest.mark.parametrize("query", QUERIES)
def test_a_gap_moves_no_period(query: str) -> None:
    app = f"@app:playback(timers = 'exact') {STREAM} {query}"
    # Events of another stream, of which nothing follows, are time that goes by in small steps.
    stepped: list[Any] = []
    with running(app) as runtime:
        runtime.add_callback(
            "O", lambda events: stepped.append((runtime.now, [(e.timestamp, *e.data) for e in events]))
        )
        for time, key, value in ROWS:
            while runtime.now and runtime.now + 100 < time:
                runtime.advance_clock(runtime.now + 100)
            runtime.input_handler("S").send((key, value), time)
        runtime.advance_clock(75_000)
    assert put_out(app, ROWS, 75_000) == stepped
    grid = {(now - 1_000) % 1_000 for now, _ in stepped} | {now % 1_000 for now, _ in stepped}
    if "true" not in query:
        assert grid <= {0, 300}


@pytest.mark.parametrize("clock", PLAYBACK)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("restart", [1, 2, 3, 4])
def test_a_restart_moves_no_period(clock: str, query: str, restart: int) -> None:
    app = f"@app:name('idle') {clock} {STREAM} {query}"
    assert put_out(app, ROWS, 75_000, restart=restart) == put_out(app, ROWS, 75_000)


@pytest.mark.parametrize("clock", PLAYBACK)
def test_keys_that_are_silent_cost_no_time(clock: str) -> None:
    query = "partition with (k of S) begin from S#window.timeBatch(1 sec) select k, sum(v) as n insert into O; end;"
    day = 86_400_000
    with running(f"{clock} {STREAM} {query}") as runtime:
        runtime.collect("O")
        for number in range(1_000):
            runtime.input_handler("S").send((f"K{number % 50}", 1), 1_000 + number // 50 * day)
        assert len(runtime.drain()["O"]) == 950
