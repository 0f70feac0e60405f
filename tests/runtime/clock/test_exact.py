"""Playback with exact timers, and the end of all timers."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi._core.record.frame import set_system_clock
from siddhi.errors import SiddhiAppCreationError
from siddhi.runtime.clock import TimerThread
from tests.kit.running import running

STREAM = "define stream S (a string, v int);"


def drained(runtime: SiddhiAppRuntime, stream: str = "O") -> list[Any]:
    """Time and values of what was collected."""
    batch = runtime.drain()[stream]
    return [(int(time), *row[:-2]) for time, row in zip(batch.timestamps, batch, strict=True)]


def send(runtime: SiddhiAppRuntime, *rows: tuple[int, str, int]) -> None:
    for timestamp, *values in rows:
        runtime.input_handler("S").send(values, timestamp)


@pytest.mark.parametrize(("timers", "expired"), [("exact", [1_100, 1_200]), ("jump", [9_000, 9_000])])
def test_expired_events_have_their_expiry_time_or_that_of_the_next_event(timers: str, expired: list[int]) -> None:
    query = "from S#window.time(1 sec) select a insert expired events into O;"
    with running(f"@app:playback(timers = '{timers}') {STREAM} {query}") as runtime:
        runtime.collect("O")
        send(runtime, (100, "A", 1), (200, "B", 1), (9_000, "C", 1))
        assert drained(runtime) == [(expired[0], "A"), (expired[1], "B")]
        assert runtime.now == 9_000


def test_among_timers_due_together_the_first_built_operator_runs_first() -> None:
    app = (
        f"@app:playback(timers = 'exact') {STREAM} define trigger T at every 1 sec;"
        "from S#window.timeBatch(1 sec) select 'batch' as x insert into O;"
        "from T select 'trigger' as x insert into O;"
    )
    with running(app) as runtime:
        runtime.collect("O")
        send(runtime, (1_000, "A", 1), (3_500, "A", 1))
        assert drained(runtime) == [(2_000, "trigger"), (1_000, "batch"), (3_000, "trigger")]


def test_a_timer_can_set_another_one_that_is_due_before_the_event() -> None:
    app = (
        f"@app:playback(timers = 'exact') {STREAM}"
        "from S#window.delay(100) select a insert into M; from M#window.delay(100) select a insert into O;"
        "from O select a, currentTimeMillis() as at insert into P;"
    )
    with running(app) as runtime:
        runtime.collect("P")
        send(runtime, (1_000, "A", 1), (5_000, "B", 1))
        assert drained(runtime, "P") == [(1_200, "A", 1_200)]


def test_exact_timers_can_be_enabled_at_run_time() -> None:
    with running(f"{STREAM} from S#window.time(1 sec) select a insert expired events into O;") as runtime:
        runtime.enable_playback(timers="exact")
        runtime.collect("O")
        send(runtime, (100, "A", 1))
        assert runtime.next_due == 1_100
        runtime.advance_clock(5_000)
        assert drained(runtime) == [(1_100, "A")]
        with pytest.raises(ValueError, match="'jump' or 'exact'"):
            runtime.enable_playback(timers="later")


@pytest.mark.parametrize(
    ("clock", "given", "expired"),
    [
        ("", {}, 1_100),
        ("", {"timers": "exact"}, 1_100),
        ("", {"timers": "jump"}, 5_000),
        ("@app:playback", None, 5_000),
        ("@app:playback(timers = 'exact')", None, 1_100),
        ("@app:playback", {}, 5_000),
        ("@app:playback(timers = 'exact')", {}, 1_100),
        ("@app:playback", {"timers": "exact"}, 1_100),
        ("@app:playback(timers = 'exact')", {"timers": "jump"}, 5_000),
    ],
)
def test_exact_timers_can_be_enabled_without_changing_the_text(
    clock: str, given: dict[str, Any] | None, expired: int
) -> None:
    app = f"{clock} {STREAM} from S#window.time(1 sec) select a insert expired events into O;"
    with running(app) as runtime:
        if given is not None:
            runtime.enable_playback(True, **given)
        runtime.collect("O")
        send(runtime, (100, "A", 1), (5_000, "B", 1))
        assert drained(runtime) == [(expired, "A")]


def test_a_backtest_has_the_output_of_the_live_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window behind a window, and an absence: with `jump` both come out otherwise."""
    app = (
        f"{STREAM} from S#window.delay(1 sec) select a, v insert into M;"
        "from M#window.time(1 sec) select a, v, currentTimeMillis() as at insert expired events into O;"
        "from every e=S[a == 'A'] -> not S[a == 'C'] for 1500 millisec select e.a as a, e.v as v, "
        "currentTimeMillis() as at insert into O;"
    )
    start = 1_700_000_000_000
    rows = [(0, "A", 1), (900, "B", 2), (7_000, "A", 3), (7_100, "C", 4), (60_000, "B", 5)]
    monkeypatch.setattr(TimerThread, "wake", lambda self: None)
    try:
        set_system_clock(start, 1)
        with running(app) as runtime:
            runtime.collect("O")
            for ms in range(0, 60_001, 100):
                set_system_clock(start + ms, 1 + ms)
                runtime._timers.fire()
                for time, *values in rows:
                    if time == ms:
                        runtime.input_handler("S").send(values)
            live = drained(runtime)
    finally:
        set_system_clock(None)
    results = {}
    for timers in ("exact", "jump"):
        with running(app) as runtime:
            runtime.enable_playback(True, **({} if timers == "exact" else {"timers": timers}))
            runtime.collect("O")
            for time, *values in rows:
                runtime.input_handler("S").send(values, start + time)
            results[timers] = drained(runtime)
    assert len(live) == 5
    assert results["exact"] == live
    assert results["jump"] != live


def test_invalid_timer_modes_are_refused_with_their_location() -> None:
    with pytest.raises(SiddhiAppCreationError, match="invalid 'timers' of @app:playback: 'later'"):
        SiddhiManager().create_siddhi_app_runtime(f"@app:playback(timers = 'later') {STREAM}")


@pytest.mark.parametrize("clock", ["@app:playback", "@app:playback(timers = 'exact')"])
def test_timestamps_can_start_at_zero(clock: str) -> None:
    app = f"{clock} {STREAM} define trigger T at every 1 sec; from T select triggered_time as t insert into O;"
    with running(app) as runtime:
        runtime.collect("O")
        send(runtime, (0, "A", 1), (1_000, "A", 1))
        assert drained(runtime) == [(1_000, 1_000)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("from S#window.time(1 sec) select a insert expired events into O;", [(1_100, "A"), (1_200, "B")]),
        (
            "from S#window.timeBatch(1 sec) select a insert all events into O;",
            [(100, "A"), (200, "B"), (2_100, "A"), (2_100, "B")],
        ),
        ("from S#window.session(1 sec) select a insert into O;", [(100, "A"), (200, "B")]),
        ("from S#window.delay(1 sec) select a insert into O;", [(1_100, "A"), (1_200, "B")]),
        ("from S select a output last every 1 sec insert into O;", [(200, "B")]),
        ("from e=S[a == 'A'] -> not S[a == 'C'] for 1 sec select e.a insert into O;", [(1_100, "A")]),
        ("partition with (a of S) begin from S#window.timeBatch(1 sec) select a insert into O; end;", None),
    ],
)
def test_advance_to_end_runs_all_timers(query: str, expected: list[Any] | None) -> None:
    with running(f"@app:playback(timers = 'exact') {STREAM} {query}") as runtime:
        runtime.collect("O")
        send(runtime, (100, "A", 1), (200, "B", 1))
        runtime.advance_to_end()
        assert drained(runtime) == (expected or [(100, "A"), (200, "B")])
        runtime.advance_to_end()
        assert drained(runtime) == []


def test_the_clock_stops_at_the_last_timer_with_an_effect() -> None:
    with running(
        f"@app:playback(timers = 'exact') {STREAM} from S#window.time(1 sec) select a insert into O;"
    ) as runtime:
        send(runtime, (100, "A", 1), (200, "B", 1))
        runtime.advance_to_end()
        assert runtime.now <= 1_200


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        ("define trigger T at every 5 sec;", "trigger 'T'"),
        ("from S select a output snapshot every 1 sec insert into O;", "snapshot"),
        ("from every not S for 1 sec select 1 as x insert into O;", "absence"),
        ("from S#window.delay(1 sec) select a, v insert into S;", "feeds itself"),
    ],
)
def test_an_app_with_endless_timers_has_no_end(app: str, reason: str) -> None:
    with running(f"@app:playback {STREAM} {app}") as runtime, pytest.raises(ValueError, match=reason):
        runtime.advance_to_end()


def test_without_playback_the_time_cannot_be_advanced() -> None:
    with running(f"{STREAM} from S select a insert into O;") as runtime:
        with pytest.raises(ValueError, match="not in playback"):
            runtime.advance_clock(5)
        with pytest.raises(ValueError, match="not in playback"):
            runtime.advance_to_end()


COUNTS_FROM_START = {
    "trigger": "define trigger T at every 1 sec; from T select 'a' as a insert into O;",
    "cron trigger": "define trigger T at '*/2 * * * * ?'; from T select 'a' as a insert into O;",
    "snapshot": "from S#window.length(2) select a output snapshot every 1 sec insert into O;",
    "last": "from S select a output last every 1 sec insert into O;",
    "all by group": "from S select a, sum(v) as s group by a output all every 2 sec insert into O;",
    "every absence": "from every not S[v > 5] for 1 sec select 'a' as a insert into O;",
    "absence in front": "from not S[v > 5] for 1 sec -> e=S select e.a insert into O;",
    "optional absence": "from every e=S[v > 5]<0:1> -> not S[v > 7] for 1 sec select 'a' as a insert into O;",
    "logical absence": "from not S[v > 5] for 1 sec and not S[v > 6] for 2 sec select 'a' as a insert into O;",
    "time batch": "from S#window.timeBatch(1 sec) select a insert all events into O;",
    "partition": "partition with (a of S) begin from S select a output snapshot every 1 sec insert into O; end;",
    "at start": "define trigger T at 'start'; from T select 'a' as a insert into O;",
}


@pytest.mark.parametrize("timers", ["exact", "jump"])
@pytest.mark.parametrize("query", COUNTS_FROM_START.values(), ids=COUNTS_FROM_START)
def test_playback_enabled_at_run_time_equals_playback_from_the_start(query: str, timers: str) -> None:
    answers = []
    for before in (True, False):
        with SiddhiManager().create_siddhi_app_runtime(f"{STREAM} {query}") as runtime:
            if before:
                runtime.enable_playback(True, timers=timers)
            runtime.start()
            runtime.enable_playback(True, timers=timers)
            runtime.collect("O")
            send(runtime, (1_000, "A", 1), (1_500, "B", 2), (5_200, "A", 8), (9_000, "B", 3))
            answers.append(drained(runtime))
    assert answers[0] == answers[1]


def test_playback_enabled_later_keeps_partial_matches() -> None:
    with running(
        f"{STREAM} from not S[v > 5] for 1 day or e=S[v == 1] -> f=S[v == 2] select f.a insert into O;"
    ) as runtime:
        runtime.collect("O")
        runtime.input_handler("S").send(("A", 1))
        runtime.enable_playback(True)
        send(runtime, (9_000, "B", 2))
        assert [row[1] for row in drained(runtime)] == ["B"]
