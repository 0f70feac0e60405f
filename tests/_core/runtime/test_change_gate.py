"""The gate of changes: calls pass it while it is open, and wait while it is closed."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from siddhi._core.runtime.change_gate import ChangeGate

WAIT = 10  # seconds until a test that hangs fails


def in_thread(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function)
    thread.start()
    return thread


def passing(gate: ChangeGate, log: list[str]) -> Callable[[], None]:
    def run() -> None:
        with gate:
            log.append("passed")

    return run


def test_a_closed_gate_holds_others_back_until_it_opens() -> None:
    gate, log = ChangeGate(lambda: False), []
    with gate.closed():
        with gate:  # the thread that closed it
            waiting = in_thread(passing(gate, log))
            waiting.join(0.05)
        assert log == []
        log.append("opened")
    waiting.join(WAIT)
    assert log == ["opened", "passed"]


def test_closing_waits_for_those_that_pass_however_often_they_entered() -> None:
    gate, log = ChangeGate(lambda: False), []
    entered, leave = threading.Event(), threading.Event()

    def pass_twice() -> None:
        with gate:
            entered.set()
            assert leave.wait(WAIT)
            with gate:  # the gate is being closed; this thread is inside
                log.append("left")

    inside = in_thread(pass_twice)
    assert entered.wait(WAIT)
    closing = threading.Event()

    def close() -> None:
        closing.set()
        with gate.closed():
            log.append("closed")

    closer = in_thread(close)
    assert closing.wait(WAIT)
    leave.set()
    inside.join(WAIT)
    closer.join(WAIT)
    assert log == ["left", "closed"]


def test_a_thread_that_processes_an_event_passes_a_closed_gate() -> None:
    gate, log = ChangeGate(lambda: True), []
    with gate.closed():
        in_thread(passing(gate, log)).join(WAIT)
        assert log == ["passed"]


def test_an_error_opens_the_gate_and_counts_the_thread_out() -> None:
    gate, log = ChangeGate(lambda: False), []
    with pytest.raises(ValueError, match="inside"), gate:
        raise ValueError("inside")
    with pytest.raises(ValueError, match="closed"), gate.closed():  # nothing passes it any more
        raise ValueError("closed")
    passing(gate, log)()
    assert log == ["passed"]


def test_many_threads_pass_and_one_closes() -> None:
    gate, inside, seen = ChangeGate(lambda: False), [0], []
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            with gate:
                inside.append(1)
                inside.pop()

    threads = [in_thread(run) for _ in range(6)]
    for _ in range(50):
        with gate.closed():
            seen.append(len(inside))
    stop.set()
    for thread in threads:
        thread.join(WAIT)
    assert seen == [1] * 50
