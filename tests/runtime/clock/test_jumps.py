"""Large jumps of the clock: ticks are run up to a limit, and Ctrl-C interrupts them."""

from __future__ import annotations

import functools
import inspect
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager, extension
from siddhi._core.record.frame import set_system_clock
from siddhi.extension import Registry
from siddhi.planner.bind.cron import CronSchedule
from siddhi.runtime.clock import TimerThread
from siddhi.types import AttributeType
from tests.kit.interrupts import interrupt, on_batch
from tests.kit.running import running

STREAM = "define stream S (v int);"
PERIODIC = {
    "trigger": "define trigger T at every 1 sec; from T select 1 as v insert into O;",
    "cron": "define trigger T at '* * * * * ?'; from T select 1 as v insert into O;",
    "snapshot": "from S select v output snapshot every 1 sec insert into O;",
    "absence": "from every not S[v < 0] for 1 sec select 1 as v insert into O;",
    "absence behind": "from e=S[v == 1] -> every not S[v < 0] for 1 sec select 1 as v insert into O;",
    "absence behind a count": "from every e=S[v < 0]<0:2> -> not S[v < 1] for 1 sec select 1 as v insert into O;",
    "logical absence": "from every (not S[v < 0] for 1 sec or not S[v < 1] for 1 min) select 1 as v insert into O;",
}
A_MINUTE = {  # a tick each minute, of what also knows of a second
    "cron": "define trigger T at '0 * * * * ?'; from T select 1 as v insert into O;",
    "and": "from every (not S[v < 0] for 1 sec and not S[v < 1] for 1 min) select 1 as v insert into O;",
    "group": "from every (not S[v < 0] for 1 sec -> S[v < 0]<0:1> -> not S[v < 0] for 59 sec) "
    "select 1 as v insert into O;",
    "group behind an event": "from S -> every (not S[v < 0] for 1 sec and not S[v < 1] for 1 min) "
    "select 1 as v insert into O;",
    "and of a sequence": "from every (not S[v < 0] for 1 sec and not S[v < 1] for 1 min), S[v < 0]<0:1> "
    "select 1 as v insert into O;",
    "or of a sequence": "from every (not S[v < 0] for 1 year or not S[v < 1] for 1 min), S[v < 0]<0:1> "
    "select 1 as v insert into O;",
    "behind a count": "from S -> every (S[v < 0]<0:1> -> not S[v < 0] for 1 min) select 1 as v insert into O;",
}
OTHERS = {
    "empty count": "from every S[v < 0]<0:1> -> not S[v < 0] for 1 sec select 1 as v insert into O;",
    "timeBatch": "from S#window.timeBatch(1 sec) select v insert all events into O;",
    "rate": "from S select v output all every 1 sec insert into O;",
    "externalTimeBatch": "from S#window.externalTimeBatch(t, 1 day, 0, 1 sec) select v insert into O;",
    "purge": "@purge(enable = 'true', interval = '1 sec', idle.period = '1 year') partition with (v of S) begin "
    "from S select v insert into O; end;",
}
START = 1_700_000_000_000


@pytest.fixture(autouse=True)
def ctrl_c() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, also where the tests run in the background of a shell, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def app_of(timers: str, text: str) -> str:
    return f"@app:playback(timers = '{timers}') define stream S (v int, t long); {text}"


def output(timers: str, text: str, moves: list[int], most_ticks: int | None = None) -> list[int]:
    with running(app_of(timers, text)) as runtime:
        if most_ticks is not None:
            runtime._context.most_ticks = most_ticks
        runtime.collect("O")
        runtime.input_handler("S").send((1, START), START)
        for move in moves:
            runtime.advance_clock(move)
        return [int(time) for time in runtime.drain()["O"].timestamps]


@pytest.mark.parametrize("text", [*PERIODIC.values(), *A_MINUTE.values()])
@given(steps=st.lists(st.integers(1, 60_000), max_size=6))
def test_with_exact_timers_one_jump_equals_small_steps(text: str, steps: list[int]) -> None:
    moves = [START + sum(steps[: i + 1]) for i in range(len(steps))]
    assert output("exact", text, moves) == output("exact", text, moves[-1:])


@pytest.mark.parametrize("timers", ["exact", "jump"])
@pytest.mark.parametrize("what", PERIODIC)
def test_ticks_are_run_up_to_the_limit_and_then_the_last_ones(
    what: str, timers: str, caplog: pytest.LogCaptureFixture
) -> None:
    end = START + 1_000_000
    ticks = len(output(timers, PERIODIC[what], [end], most_ticks=2_000))
    assert ticks == 1_000
    assert caplog.records == []
    times = output(timers, PERIODIC[what], [end], most_ticks=100)
    assert len(times) == 101  # one was on its way
    if timers == "exact" and what != "snapshot":
        assert times[-100:] == list(range(end - 99_000, end + 1, 1_000))
    (record,) = caplog.records
    timer = "the cron text '* * * * * ?'" if what == "cron" else "a timer that fires every 1000 ms"
    assert f"which is more than 100 ticks of {timer}: those before {end - 99_000} were left out" in record.getMessage()


@pytest.mark.parametrize("timers", ["exact", "jump"])
@pytest.mark.parametrize("what", A_MINUTE)
def test_the_limit_counts_rounds_and_not_seconds(what: str, timers: str, caplog: pytest.LogCaptureFixture) -> None:
    minutes = [START + 6_000_000, START + 60_000_000]
    times = output(timers, A_MINUTE[what], minutes, most_ticks=950)
    assert len(times) == 1_000
    assert caplog.records == []
    last = output(timers, A_MINUTE[what], minutes, most_ticks=100)
    assert len(last) in (200, 201)  # one was on its way
    assert last[-100:] == times[-100:]
    assert "which is more than 100 ticks of " in caplog.records[-1].getMessage()


@pytest.mark.parametrize("timers", ["exact", "jump"])
def test_a_daily_cron_trigger_fires_on_every_day_of_years(timers: str, caplog: pytest.LogCaptureFixture) -> None:
    day = 86_400_000
    text = "define trigger T at '0 0 0 * * ?'; from T select 1 as v insert into O;"
    assert len(output(timers, text, [START + 730 * day])) == 730
    assert len(output(timers, text, [START + day, START + 730 * day], most_ticks=500)) == 502
    (record,) = caplog.records
    assert "which is more than 500 ticks of the cron text '0 0 0 * * ?': those before " in record.getMessage()


@pytest.mark.parametrize("timers", ["exact", "jump"])
@pytest.mark.parametrize("text", [*PERIODIC.values(), *A_MINUTE.values(), *OTHERS.values()])
def test_a_jump_over_millions_of_years_terminates(text: str, timers: str) -> None:
    with running(app_of(timers, text)) as runtime:
        runtime._context.most_ticks = 1_000
        runtime.input_handler("S").send((1, START), START)
        for time in (2**61, 2**62):
            runtime.input_handler("S").send((1, time), time)
        assert runtime.now == 2**62


def test_a_late_live_app_runs_ticks_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TimerThread, "wake", lambda self: None)
    set_system_clock(START, 5)
    try:
        with running(STREAM + PERIODIC["trigger"]) as runtime:
            runtime._context.most_ticks = 100
            runtime.collect("O")
            for wall, ticks in ((START + 50_000, 50), (START + 50_000_000, 101)):
                set_system_clock(wall, 5)
                runtime._timers.fire()
                assert len(runtime.drain()["O"]) == ticks
    finally:
        set_system_clock(None)


@pytest.mark.parametrize("timers", ["exact", "jump"])
@pytest.mark.parametrize("what", ["trigger", "snapshot", "absence"])
@pytest.mark.parametrize("by_event", [True, False])
def test_ctrl_c_interrupts_a_jump_and_the_remaining_timers_run_later(what: str, timers: str, by_event: bool) -> None:
    end = START + 10_000_000
    expected = output(timers, PERIODIC[what], [end])
    with running(app_of(timers, PERIODIC[what])) as runtime:
        runtime.collect("O", "S")
        runtime.input_handler("S").send((1, START), START)
        callback = on_batch(interrupt())
        runtime.add_batch_callback("O", callback)

        def go() -> None:
            if by_event:
                runtime.input_handler("S").send((1, end), end)
            else:
                runtime.advance_clock(end)

        with pytest.raises(KeyboardInterrupt):
            go()
        drained = runtime.drain()
        times = [int(time) for time in drained["O"].timestamps]
        assert 0 < len(times) <= 64
        assert len(drained["S"]) == 1  # the event that moved the clock was not taken
        assert runtime.now == (end if timers == "jump" else START + 1_000 * len(times))
        assert not runtime.is_processing_here
        runtime.remove_callback(callback)
        go()
        drained = runtime.drain()
        times += [int(time) for time in drained["O"].timestamps]
        assert times == expected
        assert len(drained["S"]) == by_event
        runtime.restore(runtime.snapshot())


def test_ctrl_c_interrupts_a_large_batch_and_reports_the_processed_rows() -> None:
    values = defaultdict(interrupt(), {i: 0 for i in range(100_000) if i != 5_000})
    look = functools.partial(values.__getitem__)  # C throughout
    look.__signature__ = inspect.Signature([inspect.Parameter("v", inspect.Parameter.POSITIONAL_ONLY)])  # type: ignore[attr-defined]
    manager = SiddhiManager()
    declare = extension.function("my:look", args=(AttributeType.INT,), returns=AttributeType.LONG, registry=Registry())
    manager.set_extension("my:look", declare(look))
    app = STREAM + "from S select my:look(v) as v insert into O;"
    with running(app, manager=manager) as runtime:
        runtime.collect("S", "O")
        with pytest.raises(KeyboardInterrupt) as caught:
            runtime.input_handler("S").send_batch({"v": list(range(100_000))})
        drained = runtime.drain()
        taken = len(drained["S"])
        assert 5_000 < taken < 6_000
        assert len(drained["O"]) == taken
        if hasattr(caught.value, "__notes__"):
            assert caught.value.__notes__ == [f"stream 'S' had taken the first {taken} of 100000 rows"]
        runtime.input_handler("S").send_batch({"v": list(range(taken, 100_000))})
        assert len(runtime.drain()["O"]) == 100_000 - taken


QUERIES = {
    "plain": "from S select v insert into O;",
    "two": "from S select v insert into O; from S select v, count() as n insert into P;",
    "count": "from S select v, count() as n insert into O;",
    "filter": "from S[v % 3 != 1] select v insert into O; from S select v insert into P;",
    "chain": "from S select v insert into A; from A#window.length(5) select v insert into O; from S select v insert into P;",
    "window": "from S#window.lengthBatch(2) select v insert into O;",
}
FUNCTION = "from S select my:look(v) as v insert into O; from S select v insert into P;"
FILTER = "from S[my:look(v) > -1] select v insert into O; from S select v insert into P;"
ROWS = 1_000


def taken_of(error: BaseException, rows: int) -> int:
    (note,) = error.__notes__
    before, after = "stream 'S' had taken the first ", f" of {rows} rows"
    assert note.startswith(before)
    assert note.endswith(after)
    return int(note[len(before) : -len(after)])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes since Python 3.11")
@pytest.mark.parametrize("how", ["live", "exact", "jump"])
@pytest.mark.parametrize("query", QUERIES.values())
@given(at=st.integers(0, ROWS - 1))
def test_resuming_an_interrupted_batch_from_its_note_repeats_no_row(query: str, how: str, at: int) -> None:
    def columns(first: int) -> dict[str, Any]:
        return {"v": list(range(first, ROWS)), "t": list(range(START + first, START + ROWS))}

    app = "define stream S (v int, t long); " + query
    times = {} if how == "live" else {"timestamp": "t"}
    seen: list[int] = []
    interrupts = [None]

    def look(events: Any) -> None:
        seen.extend(event.data[0] for event in events)
        if seen[-1] >= at and interrupts:
            interrupts.clear()
            raise KeyboardInterrupt

    with running(app if how == "live" else f"@app:playback(timers = '{how}') {app}") as runtime:
        runtime.collect("S", "O")
        handler = runtime.input_handler("S")
        runtime.add_callback("O", look)
        rest = 0
        try:
            handler.send_batch(columns(0), **times)
        except KeyboardInterrupt as error:
            rest = taken_of(error, ROWS)
            assert seen[-1] >= at
            assert rest >= at
            assert len(runtime.drain()["S"]) == rest
            handler.send_batch(columns(rest), **times)
            assert len(runtime.drain()["S"]) == ROWS - rest
    assert sorted(set(seen)) == seen
    kept = [v for v in range(ROWS) if "% 3" not in query or v % 3 != 1]
    assert seen == kept


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes since Python 3.11")
@pytest.mark.parametrize("query", [FUNCTION, FILTER])
@pytest.mark.parametrize("at", [0, 5, 127, 128, 500, ROWS - 1])
def test_an_interrupted_function_does_not_affect_other_rows_or_queries(query: str, at: int) -> None:
    interrupts = [None]

    def look(v: int) -> int:
        if v == at and interrupts:
            interrupts.clear()
            raise KeyboardInterrupt
        return v

    manager = SiddhiManager()
    declare = extension.function("my:look", args=(AttributeType.INT,), returns=AttributeType.LONG, registry=Registry())
    manager.set_extension("my:look", declare(look))
    with running(STREAM + query, manager=manager) as runtime:
        runtime.collect("O", "P")
        handler = runtime.input_handler("S")
        with pytest.raises(KeyboardInterrupt) as caught:
            handler.send_batch({"v": list(range(ROWS))})
        rest = taken_of(caught.value, ROWS)
        handler.send_batch({"v": list(range(rest, ROWS))})
        drained = runtime.drain()
        assert drained["P"]["v"].tolist() == list(range(ROWS))
        assert drained["O"]["v"].tolist() == [v for v in range(ROWS) if v != at]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes since Python 3.11")
def test_the_note_of_an_interrupted_batch_callback_counts_all_rows() -> None:
    def fail(batch: Any) -> None:
        raise KeyboardInterrupt

    with running(STREAM + "from S select v insert into O;") as runtime:
        runtime.add_batch_callback("O", fail)
        with pytest.raises(KeyboardInterrupt) as caught:
            runtime.input_handler("S").send_batch({"v": list(range(ROWS))})
        assert taken_of(caught.value, ROWS) == ROWS


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have notes since Python 3.11")
def test_the_note_of_an_interrupt_describes_the_outer_batch() -> None:
    with running(STREAM + "from S select v insert into O;") as runtime:
        handler = runtime.input_handler("S")
        seen: list[int] = []

        def send_again(events: Any) -> None:
            seen.append(events[0].data[0])
            if seen[-1] == 100:
                handler.send_batch({"v": [1000, 1001, 1002]})
                raise KeyboardInterrupt

        runtime.add_callback("S", send_again)
        with pytest.raises(KeyboardInterrupt) as caught:
            handler.send_batch({"v": list(range(300))})
        assert seen == [*range(101), 1000, 1001, 1002]
        assert taken_of(caught.value, 300) == 101


def test_an_interrupt_in_a_timer_keeps_all_pending_timers() -> None:
    app = app_of("exact", PERIODIC["trigger"] + "from S#window.time(1500) select v insert expired events into Gone;")
    with running(app) as runtime:
        runtime.collect("Gone", "O")

        def fail(events: Any) -> None:
            raise KeyboardInterrupt

        runtime.input_handler("S").send((1, START), START)
        runtime.input_handler("S").send((2, START), START + 100)
        runtime.add_callback("O", fail)
        runtime.add_callback("Gone", fail)
        for _ in range(4):
            with pytest.raises(KeyboardInterrupt):
                runtime.advance_clock(START + 3_000)
        runtime.remove_callback(fail)
        runtime.advance_clock(START + 3_000)
        drained = runtime.drain()
        assert [int(time) - START for time in drained["O"].timestamps] == [1_000, 2_000, 3_000]
        assert [int(time) - START for time in drained["Gone"].timestamps] == [1_500, 1_600]


@pytest.mark.parametrize("at", [1, 2, 5])
def test_an_interrupt_of_a_cron_calendar_keeps_the_tick_due(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    text = "define trigger T at '0 * * * * ?'; from T select 1 as v insert into O;"
    expected = output("exact", text, [START + 600_000])
    next_after = CronSchedule.next_after
    calls = 0

    def interrupted(self: CronSchedule, time_ms: int) -> int | None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt
        return next_after(self, time_ms)

    monkeypatch.setattr(CronSchedule, "next_after", interrupted)
    with running(app_of("exact", text)) as runtime:
        runtime.collect("O")

        def go() -> None:
            runtime.advance_clock(START)
            runtime.advance_clock(START + 600_000)

        with pytest.raises(KeyboardInterrupt):
            go()
        go()
        assert [int(time) for time in runtime.drain()["O"].timestamps] == expected


def test_other_threads_are_not_interrupted() -> None:
    """Signals are the main thread's; the others go on and end."""
    with running(app_of("exact", PERIODIC["trigger"])) as runtime:
        runtime.input_handler("S").send((1, START), START)
        thread = threading.Thread(target=runtime.advance_clock, args=(START + 100_000,))
        thread.start()
        thread.join()
        assert runtime.now == START + 100_000
