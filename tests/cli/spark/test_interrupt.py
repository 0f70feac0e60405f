from __future__ import annotations

import _thread
import signal
import threading

import pytest

from siddhi.cli.spark.interrupt import run_cancellable


def test_an_exception_of_the_work_is_raised() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run_cancellable(fail, list)


@pytest.fixture
def interruptible():
    """Ctrl-C as in a terminal; a shell lets background processes ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_cancels_and_waits_for_the_work_to_end() -> None:
    asked = threading.Semaphore(0)
    ended = []

    def work() -> None:
        _thread.interrupt_main()
        for _ in range(2):  # the first one came before there was anything to cancel
            asked.acquire()
        ended.append(True)
        raise ValueError("cancelled")

    def cancel() -> None:
        asked.release()
        raise OSError("nothing is under way")

    with pytest.raises(KeyboardInterrupt):
        run_cancellable(work, cancel)
    assert ended == [True]
