"""Apps that restart after the system clock was changed: saved state can be restored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi._core.record.frame import set_system_clock
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.clock import TimerThread
from tests.faults.clock import restarted
from tests.kit.running import collect, running
from tests.runtime.clock.test_steps import HOUR, NOW, Clocks

STREAM = "@app:name('A') define stream S (k string, v int);\n"
SUM = "from S select k, sum(v) as total group by k insert into Out;"
INSIDE = "partition with (k of S) begin from S select k, sum(v) as total insert into Out; end;"
LIMITED = [
    f"@limit(keys = '5') {SUM}",
    f"@limit(ttl = '1 min') {SUM}",
    f"@limit(keys = '2', on.full = 'drop_oldest') {SUM}",
    "@limit(keys = '2', ttl = '1 min') from S#window.time(10 sec) select k, maxForever(v) as m group by k insert into Out;",
    f"@limit(keys = '5') {INSIDE}",
    f"@limit(keys = '2', on.full = 'drop_oldest') {INSIDE}",
    f"@purge(enable = 'true', interval = '10 sec', idle.period = '1 min') {INSIDE}",
]


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clocks]:
    monkeypatch.setattr(TimerThread, "wake", lambda self: None)  # the tests fire timers themselves
    yield Clocks()
    set_system_clock(None)


@pytest.mark.parametrize("text", LIMITED)
def test_state_saved_while_the_clock_was_behind_can_be_restored(clocks: Clocks, text: str) -> None:
    store = InMemoryPersistenceStore()
    for step, key in ((0, "x"), (-5_000, "y"), (0, "z")):
        clocks.step(step)
        with SiddhiManager() as manager:
            manager.set_persistence_store(store)
            runtime = manager.create_siddhi_app_runtime(STREAM + text)
            runtime.restore_last_revision()
            runtime.start()
            runtime.input_handler("S").send((key, 1))
            runtime.persist()


def taken(text: str, *, playback: bool, rows: list[tuple[str, int]]) -> bytes:
    """A snapshot of an app that was sent rows of value 1 by key and time."""
    with running(STREAM + text) as runtime:
        send(runtime, playback, rows)
        return runtime.snapshot()


def send(runtime: SiddhiAppRuntime, playback: bool, rows: list[tuple[str, int]]) -> None:
    if playback:
        runtime.enable_playback(True)
    for key, time in rows:
        runtime.input_handler("S").send((key, 1), timestamp=time)


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False), (True, True), (False, False)])
@pytest.mark.parametrize("text", LIMITED)
def test_a_snapshot_can_be_restored_with_another_kind_of_clock(
    clocks: Clocks, text: str, before: bool, after: bool
) -> None:
    first = taken(text, playback=before, rows=[("x", NOW + 1000 * HOUR), ("y", NOW + 1000 * HOUR + 1)])
    clocks.pass_(1_000)
    with running(STREAM + text) as runtime:
        runtime.restore(first)
        send(runtime, after, [("z", 1_000), ("x", 2_000)])
        second = runtime.snapshot()
    with running(STREAM + text) as runtime:
        runtime.restore(second)


def test_a_last_use_in_the_future_counts_as_the_first_known_time(clocks: Clocks) -> None:
    text = f"@limit(ttl = '10 sec') {SUM}"
    future = taken(text, playback=True, rows=[("x", NOW + 1000 * HOUR), ("y", NOW + 1000 * HOUR + 1)])
    with running(STREAM + text) as runtime:
        rows = collect(runtime, "Out")
        runtime.restore(future)
        send(runtime, False, [("z", NOW)])
        clocks.pass_(9_999)
        send(runtime, False, [("x", NOW)])
        clocks.pass_(1)
        send(runtime, False, [("y", NOW), ("x", NOW)])
    assert rows == [("z", 1), ("x", 2), ("y", 1), ("x", 3)]


def test_a_purge_counts_from_now_for_keys_used_in_the_future(clocks: Clocks) -> None:
    text = f"@purge(enable = 'true', interval = '10 sec', idle.period = '20 sec') {INSIDE}"
    future = taken(text, playback=True, rows=[("x", NOW + 1000 * HOUR)])
    with running(STREAM + text) as runtime:
        rows = collect(runtime, "Out")
        runtime.restore(future)
        for _ in range(3):
            clocks.pass_(10_000)
            runtime._timers.fire()
        send(runtime, False, [("x", NOW)])
    assert rows == [("x", 1)]


def test_the_state_of_keys_can_be_read_before_the_first_event(clocks: Clocks) -> None:
    text = f"@limit(ttl = '10 sec') {SUM}"
    live = taken(text, playback=False, rows=[("x", NOW)])
    with running(STREAM + text) as runtime:
        rows = collect(runtime, "Out")
        runtime.enable_statistics()
        runtime.enable_playback(True)
        runtime.restore(live)
        assert [state.held for state in runtime.statistics.state.values()] == [1]
        send(runtime, True, [("x", NOW + 1)])
    assert rows == [("x", 2)]


@given(seed=st.integers(0, 2**32))
def test_an_app_is_restored_whatever_the_clock_was_meanwhile(seed: int) -> None:
    wake: Any = TimerThread.wake
    TimerThread.wake = lambda self: None  # type: ignore[method-assign]
    try:
        restarted(random.Random(seed))
    finally:
        TimerThread.wake = wake  # type: ignore[method-assign]
        set_system_clock(None)
