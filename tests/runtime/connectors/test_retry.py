from __future__ import annotations

import threading

from siddhi.runtime.connectors.retry import Backoff, ThreadedRetries


def test_pauses_grow_up_to_five_minutes():
    backoff = Backoff()
    assert [backoff.next() for _ in range(10)] == [5, 10, 15, 30, 60, 60, 120, 300, 300, 300]


def test_a_success_resets_the_pauses():
    backoff = Backoff()
    backoff.next(), backoff.next()
    backoff.reset()
    assert backoff.next() == 5


def test_attempts_run_on_their_own_thread():
    ran = threading.Event()
    threads: list[threading.Thread] = []

    def attempt() -> None:
        threads.append(threading.current_thread())
        ran.set()

    ThreadedRetries().after(0, attempt)
    assert ran.wait(10)
    assert threads != [threading.current_thread()]


def test_an_attempt_can_be_cancelled():
    made: list[int] = []
    before = set(threading.enumerate())
    call_off = ThreadedRetries().after(3600, lambda: made.append(1))
    (thread,) = set(threading.enumerate()) - before
    call_off()
    thread.join(10)
    assert not thread.is_alive()
    assert made == []


def test_waiting_threads_are_notified_of_the_end():
    stopped = threading.Event()
    stopped.set()
    assert ThreadedRetries().wait(3600, stopped)
