from __future__ import annotations

import signal
from types import FunctionType

import pytest

from siddhi import EventBatch
from siddhi._core.stream.input import InputHandler
from siddhi.cli.interrupt import Interrupt
from tests.kit.interrupts import interrupt as interrupt_main
from tests.kit.interrupts import on_batch
from tests.kit.running import running


def test_the_first_request_is_handled_at_the_next_check() -> None:
    with Interrupt().installed() as interrupt:
        signal.raise_signal(signal.SIGINT)
        assert interrupt.pressed
        with pytest.raises(KeyboardInterrupt):
            interrupt.check()


def test_a_second_request_is_handled_immediately() -> None:
    with Interrupt().installed():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_request_during_a_wait_for_input_is_handled_immediately() -> None:
    with Interrupt().installed() as interrupt, pytest.raises(KeyboardInterrupt), interrupt.waiting():
        signal.raise_signal(signal.SIGINT)
    assert not interrupt.pressed


def test_a_request_after_the_last_check_does_not_wait_for_input() -> None:
    with Interrupt().installed() as interrupt:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt), interrupt.waiting():
            raise AssertionError("input was awaited")


def test_a_request_between_two_waits_is_handled_at_the_check() -> None:
    with Interrupt().installed() as interrupt:
        with interrupt.waiting():
            pass
        signal.raise_signal(signal.SIGINT)
        assert interrupt.pressed


def test_the_previous_handler_is_restored() -> None:
    before = signal.getsignal(signal.SIGINT)
    with Interrupt().installed():
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) is before


def test_a_request_during_timer_catch_up_is_handled_immediately() -> None:
    app = "@app:playback(timers = 'exact') define stream S (v int); define trigger T at every 1 sec; "

    def send(handler: InputHandler, time: int) -> None:
        handler.send((1,), timestamp=time)

    with running(app + "from T select triggered_time as t insert into O;") as runtime:
        handler = runtime.input_handler("S")
        send(handler, 1_000)
        runtime.add_batch_callback("O", on_batch(interrupt_main()))
        with Interrupt(send).installed() as interrupt, pytest.raises(KeyboardInterrupt):
            send(handler, 9_000_000)
        assert not interrupt.pressed
        assert runtime.now < 200_000


def test_a_request_inside_a_callback_waits_for_the_callback() -> None:
    done = []

    def send(handler: InputHandler) -> None:
        handler.send((1,))

    def ask(batch: EventBatch) -> None:
        signal.raise_signal(signal.SIGINT)
        done.append(len(batch))

    with running("define stream S (v int);") as runtime:
        runtime.add_batch_callback("S", ask)
        with Interrupt(send).installed() as interrupt:
            send(runtime.input_handler("S"))
            assert done == [1]
            with pytest.raises(KeyboardInterrupt):
                interrupt.check()
            interrupt.check()


def test_a_request_during_a_calendar_search_is_handled_immediately() -> None:
    calendar = FunctionType(ask_now.__code__, {"__name__": "siddhi.planner.bind.cron", "signal": signal})

    def send() -> None:
        calendar()

    with Interrupt(send).installed() as interrupt, pytest.raises(KeyboardInterrupt):
        send()
    assert not interrupt.pressed
    with Interrupt(send).installed() as interrupt:
        ask_now()
        assert interrupt.pressed


def ask_now() -> None:
    signal.raise_signal(signal.SIGINT)
