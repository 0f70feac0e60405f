"""Purging of aggregations with exact timers: a jump deletes the rows that every tick would delete."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime, SiddhiManager

BASE = 1_496_289_950_000
TICK = 10_000
KEPT_MS = {"SECONDS": 120_000, "MINUTES": 7_200_000}
LENGTH_MS = {"SECONDS": 1_000, "MINUTES": 60_000}
APP = """@app:name('Purged') @app:playback(timers = 'exact') define stream S (v int);
@purge(interval = '10 sec', @retentionPeriod(sec = '2 min', min = '2 hours', hours = 'all'))
define aggregation A from S select count() as n aggregate every sec ... hour;
"""
GAPS = st.lists(
    st.sampled_from(
        [1, 400, 999, 1_000, 9_999, 10_000, 60_000, 119_000, 120_001, 7_200_000, 11_111_111, 86_400_000_000]
    ),
    min_size=1,
    max_size=12,
)


def tables(runtime: SiddhiAppRuntime) -> dict[str, list[int]]:
    return {
        level: sorted(event.data[0] for event in runtime.query(f"from A_{level} select AGG_TIMESTAMP"))
        for level in KEPT_MS
    }


def kept(times: list[int]) -> dict[str, list[int]]:
    """What every tick up to the last of the times leaves."""
    now = times[-1]
    tick = now - now % TICK
    found = {}
    for level, length in LENGTH_MS.items():
        starts = {time - time % length for time in times}
        found[level] = sorted(s for s in starts if s + length <= now and s >= tick - KEPT_MS[level])
    return found


@given(GAPS, st.booleans())
def test_skipped_ticks_would_delete_nothing(gaps: list[int], restored: bool) -> None:
    manager = SiddhiManager()
    runtime = manager.create_siddhi_app_runtime(APP)
    runtime.start()
    times = [BASE]
    runtime.input_handler("S").send((1,), timestamp=BASE)
    for gap in gaps:
        times.append(times[-1] + gap)
        if restored:
            state = runtime.snapshot()
            runtime.shutdown()
            runtime = manager.create_siddhi_app_runtime(APP)
            runtime.start()
            runtime.restore(state)
        runtime.input_handler("S").send((1,), timestamp=times[-1])
        assert tables(runtime) == kept(times)
    runtime.shutdown()


@pytest.mark.parametrize("far", [253_402_300_800_001, 1_700_000_000_000_000, (1 << 61) - 1])
def test_an_event_of_the_far_future_takes_no_time(far: int) -> None:
    with SiddhiManager().create_siddhi_app_runtime(APP) as runtime:
        for time in (BASE, far):
            runtime.input_handler("S").send((1,), timestamp=time)
        assert [event.data[0] for event in runtime.query("from A_HOURS select AGG_TIMESTAMP")] == [
            BASE - BASE % 3_600_000
        ]


def test_a_snapshot_of_an_idle_purge_continues_without_exact_timers() -> None:
    manager = SiddhiManager()
    with manager.create_siddhi_app_runtime(APP) as runtime:
        for gap in (0, 86_400_000):
            runtime.input_handler("S").send((1,), timestamp=BASE + gap)
        runtime.advance_clock(BASE + 864_000_000)
        assert tables(runtime) == {"SECONDS": [], "MINUTES": []}
        state = runtime.snapshot()
    with manager.create_siddhi_app_runtime(APP.replace("(timers = 'exact')", "")) as runtime:
        runtime.restore(state)
        later = BASE + 864_000_000 + 5_000
        for gap in (0, 1_000, 500_000, 510_000):
            runtime.input_handler("S").send((1,), timestamp=later + gap)
        assert tables(runtime)["SECONDS"] == [(later + 500_000) // 1000 * 1000]
