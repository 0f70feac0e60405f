from __future__ import annotations

import threading

import pytest

from siddhi.errors import SiddhiAppCreationError
from siddhi.io import Option, OptionHolder, Template
from siddhi.runtime.connectors.retry import Backoff, RetryPolicy, ThreadedRetries


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


def policy(**options: str) -> RetryPolicy:
    named = [(name.replace("_", "."), text) for name, text in options.items()]
    return RetryPolicy.of(OptionHolder("sink 's'", [Option(name, (Template((text,)),)) for name, text in named]))


def test_options_set_the_pauses():
    found = policy(retry_initial="1 sec", retry_multiplier="3", retry_max="10 sec")
    assert [found.pause(failures) for failures in range(1, 6)] == [1, 3, 9, 10, 10]
    assert found.pause(100_000) == 10
    assert policy(retry_initial="10 min").pause(3) == 600
    assert policy(retry_max="12 sec").pause(2) == 10
    assert policy(retry_max="12 sec").pause(9) == 12


def test_a_limit_of_attempts_ends_them():
    found = policy(retry_limit="3")
    assert [found.pause(failures) for failures in (1, 2, 3, 4)] == [5, 10, None, None]


def test_pauses_vary_by_their_jitter():
    found = policy(retry_jitter="0.5")
    assert all(5 <= found.spread(10) <= 15 for _ in range(100))
    assert len({found.spread(10) for _ in range(10)}) > 1
    assert policy(retry_jitter="0").spread(10) == 10


@pytest.mark.parametrize(
    ("name", "text"),
    [("initial", "soon"), ("multiplier", "0.5"), ("max", "-1"), ("jitter", "1.1"), ("limit", "0"), ("limit", "many")],
)
def test_invalid_pauses_are_refused(name, text):
    with pytest.raises(SiddhiAppCreationError, match=f"invalid option 'retry.{name}' of sink 's'"):
        policy(**{f"retry_{name}": text})
