from __future__ import annotations

import signal

import pytest

from siddhi.cli.interrupt import Interrupt


def test_the_first_request_is_heard_at_the_next_check() -> None:
    with Interrupt().installed() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            interrupt.check()


def test_a_second_request_is_heard_at_once() -> None:
    with Interrupt().installed():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_request_while_input_is_awaited_is_heard_at_once() -> None:
    with Interrupt().installed() as interrupt, pytest.raises(KeyboardInterrupt), interrupt.waiting():
        signal.raise_signal(signal.SIGINT)
    assert not interrupt.asked


def test_a_request_after_the_last_check_does_not_wait_for_input() -> None:
    with Interrupt().installed() as interrupt:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), interrupt.waiting():
            raise AssertionError("input was awaited")


def test_a_request_between_two_stretches_of_waiting_waits_for_the_check() -> None:
    with Interrupt().installed() as interrupt:
        with interrupt.waiting():
            pass
        signal.raise_signal(signal.SIGINT)
        assert interrupt.asked


def test_the_handler_before_comes_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupt().installed():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) is before
