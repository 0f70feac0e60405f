"""Threads that wait while the sources of an app are paused."""

from __future__ import annotations

import threading

import pytest

from siddhi import SiddhiManager
from siddhi.errors import CannotSaveStateError
from siddhi.runtime.connectors.pauses import SourcePauses
from tests.kit.connectors import FakeConnectors

APP = "@app:playback @source(type='fake') define stream S (k string, v int);"
LONG = 30  # seconds; nothing takes as long


@pytest.fixture
def fake() -> FakeConnectors:
    return FakeConnectors()


class SlowPause:
    """Makes ``pause`` of an app's source wait until it is let go on."""

    def __init__(self, runtime) -> None:
        self.source = runtime.sources["S"][0]
        self.begun, self.go_on, self.waits = threading.Event(), threading.Event(), threading.Event()
        self._pause = self.source.pause
        self.source.pause = self._slowly
        changed = runtime._assembly.connectors._pauses._changed
        wait_for = changed.wait_for

        def told(predicate):
            self.waits.set()
            return wait_for(predicate)

        changed.wait_for = told

    def _slowly(self) -> None:
        self.begun.set()
        assert self.go_on.wait(LONG)
        self._pause()


def in_thread(work) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def ended(*threads: threading.Thread) -> bool:
    for thread in threads:
        thread.join(LONG)
    return not any(thread.is_alive() for thread in threads)


def test_a_second_save_waits_until_the_first_has_paused_the_sources(fake):
    with fake.running(APP) as runtime:
        pause = SlowPause(runtime)
        paused: list[bool] = []
        runtime.sources["S"][0].snapshot = lambda: paused.append(fake.source.calls[-1] == "pause")
        first = in_thread(runtime.snapshot)
        assert pause.begun.wait(LONG)
        second = in_thread(runtime.snapshot)
        assert pause.waits.wait(LONG)
        assert paused == []
        pause.go_on.set()
        assert ended(first, second)
        assert paused == [True, True]
        assert fake.source.calls.count("pause") == fake.source.calls.count("resume")
        assert fake.source.calls[-1] == "resume"


def test_an_event_that_a_source_waits_for_cannot_save(fake):
    with fake.running(APP) as runtime:
        pause = SlowPause(runtime)
        at_work = threading.Event()
        snapshots: list[bytes] = []

        def save(_events) -> None:
            at_work.set()
            assert pause.begun.wait(LONG)
            with pytest.raises(CannotSaveStateError, match="whose event is still being processed"):
                runtime.snapshot()
            pause.go_on.set()

        runtime.add_callback("S", save)
        event = in_thread(lambda: runtime.sources["S"][0].listener.on_event(("a", 1)))
        assert at_work.wait(LONG)
        first = in_thread(lambda: snapshots.append(runtime.snapshot()))
        assert ended(event, first)
        assert len(snapshots) == 1
        assert not pause.waits.is_set()
        assert fake.source.calls[-1] == "resume"


def test_an_event_of_another_app_can_save(fake):
    with fake.running(APP) as runtime, SiddhiManager() as manager:
        pause = SlowPause(runtime)
        first = in_thread(runtime.snapshot)
        assert pause.begun.wait(LONG)
        snapshots: list[bytes] = []
        with manager.create_siddhi_app_runtime("define stream T (v int);") as other:
            other.add_callback("T", lambda _: snapshots.append(runtime.snapshot()))
            other.input_handler("T").send((1,))
        assert len(snapshots) == 1
        pause.go_on.set()
        assert ended(first)
        assert fake.source.calls[-1] == "resume"


class Faucet:
    def __init__(self) -> None:
        self.is_paused = False
        self.calls: list[str] = []
        self.on_pause = lambda: None

    def pause(self) -> None:
        self.calls.append("pause")
        self.on_pause()
        self.is_paused = True

    def resume(self) -> None:
        self.calls.append("resume")
        self.is_paused = False


def test_after_a_failed_pause_the_waiting_thread_pauses_itself():
    faucet = Faucet()
    pauses = SourcePauses(lambda: [faucet], lambda: False)
    begun, go_on, waits = threading.Event(), threading.Event(), threading.Event()
    wait_for = pauses._changed.wait_for
    pauses._changed.wait_for = lambda predicate: (waits.set(), wait_for(predicate))[1]
    seen: list[object] = []

    def fail_once() -> None:
        faucet.on_pause = lambda: None
        begun.set()
        assert go_on.wait(LONG)
        raise RuntimeError("stuck")

    def hold() -> None:
        try:
            with pauses.paused():
                seen.append(faucet.is_paused)
        except RuntimeError as error:
            seen.append(str(error))

    faucet.on_pause = fail_once
    first = in_thread(hold)
    assert begun.wait(LONG)
    second = in_thread(hold)
    assert waits.wait(LONG)
    go_on.set()
    assert ended(first, second)
    assert sorted(map(str, seen)) == ["True", "stuck"]
    assert not faucet.is_paused


def test_a_source_that_saves_while_paused_does_not_wait_for_itself():
    faucet = Faucet()
    pauses = SourcePauses(lambda: [faucet], lambda: False)

    def save() -> None:
        with pauses.paused():
            faucet.calls.append("save")

    faucet.on_pause = save
    with pauses.paused():
        assert faucet.is_paused
    assert faucet.calls == ["pause", "save", "resume"]
