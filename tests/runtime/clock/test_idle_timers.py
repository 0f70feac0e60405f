"""Empty operators set no timers; their periods stay aligned."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.running import running

STREAM = "define stream S (k string, v int);"
QUERIES = [
    "from S#window.timeBatch(1 sec) select k, v insert all events into O;",
    "from S#window.timeBatch(1 sec) select k, sum(v) as n insert into O;",
    "from S#window.timeBatch(1 sec, 300) select k, sum(v) as n group by k insert into O;",
    "from S#window.timeBatch(1 sec, 0, true) select k, v insert all events into O;",
    "from S select k, v output all every 1 sec insert into O;",
    "from S select k, v group by k output last every 1 sec insert into O;",
    "from S#window.timeBatch(1 sec) select k, v insert into M; from M#window.timeBatch(1 sec) select k, v insert into O;",
    "from S#window.timeBatch(1 sec) select k, v insert into M; from M#window.timeBatch(1 sec) select sum(v) as n insert into O;",
    "from S#window.timeBatch(1 sec) select k, v output all every 1 sec insert into O;",
    "from S#window.delay(1 sec) select k, v output last every 1 sec insert into O;",
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
def test_an_empty_operator_sets_no_timer(clock: str, query: str) -> None:
    with running(f"{clock} {STREAM} {query}") as runtime:
        runtime.input_handler("S").send(("A", 1), 1_000)
        assert runtime.next_due is not None
        runtime.advance_clock(10_000)
        runtime.advance_clock(20_000)
        assert runtime.next_due is None


@pytest.mark.parametrize("query", QUERIES)
def test_a_gap_between_events_does_not_shift_periods(query: str) -> None:
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
def test_a_restart_does_not_shift_periods(clock: str, query: str, restart: int) -> None:
    app = f"@app:name('idle') {clock} {STREAM} {query}"
    assert put_out(app, ROWS, 75_000, restart=restart) == put_out(app, ROWS, 75_000)


@pytest.mark.parametrize("clock", PLAYBACK)
@pytest.mark.parametrize("part", ["{}", "partition with (k of S) begin {} end;"])
@pytest.mark.parametrize(
    "query",
    [
        "from S#window.timeBatch(1 sec) select k, sum(v) as n output {rate} every 1 sec insert into O;",
        "from S#window.timeBatch(1 sec) select k, v output {rate} every 1 sec insert into O;",
        "from S#window.delay(1 sec) select k, v output {rate} every 1 sec insert into O;",
    ],
)
@pytest.mark.parametrize("rate", ["all", "last", "snapshot"])
def test_an_idle_operator_ticks_after_the_window_that_wakes_it(clock: str, part: str, query: str, rate: str) -> None:
    app = f"{clock} {STREAM} define stream Z (k string, v int); {part.format(query.format(rate=rate))}"
    with running(app) as runtime:
        times: list[tuple[int, list[object]]] = []
        runtime.add_callback("O", lambda events: times.append((runtime.now, [event.data[1] for event in events])))
        runtime.input_handler("S").send(("A", 1), 1_000)
        for time in (2_000, 5_000):
            runtime.advance_clock(time)
        runtime.input_handler("S").send(("A", 2), 10_000)
        for time in (11_000, 12_000):
            runtime.advance_clock(time)
    assert next(time for time, values in times if 1 in values) == 2_000
    assert next(time for time, values in times if 2 in values) == 11_000


@pytest.mark.parametrize("clock", PLAYBACK)
def test_an_idle_element_keeps_its_order_of_the_text(clock: str) -> None:
    limited = "from M select k, v output all every 1 sec insert into O;"
    batches = "from S#window.timeBatch(1 sec) select k, v insert into M;"
    found = {}
    for text in (limited + batches, batches + limited):
        with running(f"{clock} {STREAM} define stream M (k string, v int); {text}") as runtime:
            times: list[int] = []
            runtime.add_callback("O", lambda events, times=times: times.append(runtime.now))
            runtime.input_handler("S").send(("A", 1), 1_000)
            runtime.advance_clock(10_000)
            runtime.input_handler("S").send(("A", 2), 10_000)
            for time in (11_000, 12_000, 13_000):
                runtime.advance_clock(time)
            found[text] = times
    # In front of it in the text its ticks at 11 s have been when the window lets go.
    assert found[limited + batches][-1] == 12_000
    assert found[batches + limited][-1] == 11_000


@pytest.mark.parametrize("clock", PLAYBACK)
def test_idle_keys_take_no_time(clock: str) -> None:
    query = "partition with (k of S) begin from S#window.timeBatch(1 sec) select k, sum(v) as n insert into O; end;"
    day = 86_400_000
    with running(f"{clock} {STREAM} {query}") as runtime:
        runtime.collect("O")
        for number in range(1_000):
            runtime.input_handler("S").send((f"K{number % 50}", 1), 1_000 + number // 50 * day)
        assert len(runtime.drain()["O"]) == 950
