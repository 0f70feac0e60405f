"""The system's clock is set forth and back, a little by a time service or by hours: no timer is lost, none fires twice, an
app's time never goes back, and an app that starts again finds the state that it saved.
"""

from __future__ import annotations

import random
from typing import Any

from siddhi import SiddhiManager
from siddhi._core.record.frame import set_system_clock
from siddhi.runtime.clock import TimerThread
from tests.faults.report import Report
from tests.property.test_restored_in_a_new_process import apps
from tests.runtime.clock.test_steps import HOUR, Clocks

__all__ = ["restarted", "run"]

TRIES = 3000
APP = """define stream S (n long);
define trigger Ticks at every 1 hour;
@info(name = 'time') from S#window.time(10 sec) select n insert expired events into Gone;
@info(name = 'batch') from S#window.timeBatch(7 sec) select n insert into Batch;
@info(name = 'delay') from S#window.delay(30 min) select n insert into Late;
@info(name = 'absent') from every a=S -> not S[n == a.n] for 5 sec select a.n as n insert into Alone;
@info(name = 'rate') from S select n output all every 3 sec insert into Slow;"""
STREAMS = ("Gone", "Batch", "Late", "Alone", "Slow")
STEPS = [1, -1, 5, -5, 120, -120, 900, -999, 1000, -1000, 60_000, -60_000, HOUR, -HOUR, 24 * HOUR, -24 * HOUR, 10**10]
SUM = "from S select k, sum(v) as x group by k"
PARTS = "partition with (k of S) begin from S select k, sum(v) as x insert into Parts; end;"
LIMITED = [
    f"@limit({limit}{more}) {what}"
    for limit in ("keys = '2'", "keys = '2', on.full = 'drop_oldest'", "keys = '2', on.full = 'log'")
    for more, what in (
        ("", f"{SUM} insert into Out;"),
        (", ttl = '1 min'", f"{SUM} output last every 2 sec insert into Out;"),
        ("", "from S#window.time(2 sec) select k, maxForever(v) as x, count() as n group by k insert into Out;"),
        (", ttl = '5 sec'", "from S#window.timeBatch(3 sec) select k, maxForever(v) as x group by k insert into Out;"),
        ("", PARTS),
    )
]
PASSING = [0, 1, 10, 500, 1000, 3000, 10_000, 60_000]


def run(report: Report, every: int) -> None:
    """Try ``TRIES / every`` courses of the clocks."""
    wake = TimerThread.wake
    TimerThread.wake = lambda self: None  # type: ignore[method-assign] - timers are fired here, by no thread
    try:
        for seed in range(1, max(TRIES // every, 10) + 1):
            with report.trying(f"clock: course {seed}"):
                _try(random.Random(seed))
            with report.trying(f"clock: restarts {seed}"):
                restarted(random.Random(seed))
    finally:
        TimerThread.wake = wake  # type: ignore[method-assign]
        set_system_clock(None)


def _try(chance: random.Random) -> None:
    clocks = Clocks()
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(APP) as runtime:
        seen: dict[str, list[Any]] = {stream: [] for stream in STREAMS}
        for stream, rows in seen.items():
            runtime.add_callback(stream, lambda events, rows=rows: rows.extend(event.data[0] for event in events))
        ticks: list[int] = []
        runtime.add_callback("Ticks", lambda events: ticks.extend(event.timestamp for event in events))
        begun = latest = runtime.now
        sent = 0
        for _ in range(chance.randrange(1, 25)):
            what = chance.randrange(4)
            if what == 0:
                sent += 1
                runtime.input_handler("S").send((sent,))
            elif what == 1:
                clocks.step(chance.choice(STEPS))
            else:
                clocks.pass_(chance.choice(PASSING))
            _fire(runtime)
            assert runtime.now >= latest, f"time went back from {latest} to {runtime.now}"
            latest = runtime.now
            assert len(ticks) == (latest - begun) // HOUR, f"{len(ticks)} ticks in {latest - begun} ms"
        # Whatever was set, an hour of the monotonic clock is enough for all of it.
        for _ in range(12):
            clocks.pass_(5 * 60_000)
            _fire(runtime)
        assert len(ticks) == (runtime.now - begun) // HOUR, f"{len(ticks)} ticks in {runtime.now - begun} ms"
        for stream, rows in seen.items():
            assert sorted(rows) == list(range(1, sent + 1)), f"{stream} emitted {rows} of {sent} events"
        assert runtime.statistics.timer_errors == 0


def restarted(chance: random.Random) -> None:
    """An app that stops and starts while the clocks are set: each start finds what was saved, or there is an error."""
    clocks = Clocks()
    battery = [str(each.values[0]) for each in apps()]
    app = "@app:name('A') define stream S (k string, v int, d double, at long, b bool); define stream R (k string, v int);"
    app = app + chance.choice(LIMITED) if chance.random() < 0.3 else f"@app:name('A') {chance.choice(battery)}"
    saved: bytes | None = None
    for _ in range(4):
        with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
            runtime.handle_exception_with(lambda error, origin, events: None)  # refused by a limit
            playback = chance.random() < 0.2
            if playback:
                runtime.enable_playback(True)
            if saved is not None:
                runtime.restore(saved)
            for _ in range(chance.randrange(8)):
                if chance.random() < 0.2:
                    clocks.step(chance.choice(STEPS[:-1]))
                clocks.pass_(chance.choice(PASSING))
                key, value, at = chance.choice("abc"), chance.randrange(10), clocks.wall + chance.choice([0, -100])
                time = clocks.wall if playback else None
                if chance.random() < 0.8:
                    runtime.input_handler("S").send((key, value, value / 2, at, value > 4), time)
                else:
                    runtime.input_handler("R").send((key, value), time)
                if not playback:
                    _fire(runtime)
            saved = runtime.snapshot()
            runtime.restore(saved)
        clocks.step(chance.choice(STEPS[:-1]))


def _fire(runtime: Any) -> None:
    wait = runtime._timers.fire()
    assert wait is None or 0 <= wait <= 1, f"the next look is in {wait} s"
