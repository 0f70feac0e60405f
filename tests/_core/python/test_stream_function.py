"""The output of ``#log``, and the results of ``#pol2Cart``."""

from __future__ import annotations

import logging

import pytest

from tests.kit.running import collect, running

STREAM = "@app:name('A') define stream S (a string, p string, v int);"
EVENT = "StreamEvent{timestamp=1000, data=['x', 'warn', 1], type=CURRENT}"


@pytest.mark.parametrize(
    ("call", "level", "message"),
    [
        ("log()", logging.INFO, f"A: {EVENT}"),
        ("log('hi')", logging.INFO, f"A: hi, {EVENT}"),
        ("log(a)", logging.INFO, f"A: x, {EVENT}"),
        ("log(true)", logging.INFO, f"A: {EVENT}"),
        ("log(false)", logging.INFO, "A: Event Arrived"),
        ("log('hi', v > 1)", logging.INFO, "A: hi"),
        ("log('warn', 'hi')", logging.WARNING, f"A: hi, {EVENT}"),
        ("log(p, 'hi')", logging.WARNING, f"A: hi, {EVENT}"),
        ("log('ERROR', 'hi', true)", logging.ERROR, f"A: hi, {EVENT}"),
        ("log('Debug', 'hi', false)", logging.DEBUG, "A: hi"),
        ("log('FATAL', 'hi', false)", logging.CRITICAL, "A: hi"),
        ("log('TRACE', 'hi', false)", logging.DEBUG, "A: hi"),
    ],
)
def test_every_form_of_log(call, level, message, caplog):
    with caplog.at_level(1, "siddhi"), running(f"{STREAM} from S#{call} select a insert into Out;") as runtime:
        rows = collect(runtime, "Out")
        runtime.input_handler("S").send(("x", "warn", 1), 1000)
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [(level, message)]
    assert rows == [("x",)]


def test_off_logs_nothing(caplog):
    with (
        caplog.at_level(1, "siddhi"),
        running(f"{STREAM} from S#log('OFF', 'hi') select a insert into Out;") as runtime,
    ):
        runtime.input_handler("S").send(("x", "warn", 1), 1000)
    assert caplog.records == []


def test_log_after_a_window_logs_expired_events(caplog):
    app = f"{STREAM} from S#window.length(1)#log('seen') select a insert all events into Out;"
    with caplog.at_level(1, "siddhi"), running(app) as runtime:
        for value in "xy":
            runtime.input_handler("S").send((value, "p", 1), 1000)
    seen = [record.getMessage() for record in caplog.records]
    assert [message.rpartition("=")[2] for message in seen] == ["CURRENT}", "EXPIRED}", "CURRENT}"]


def test_pol2cart_converts_degrees_and_keeps_the_height():
    app = "define stream P (t double, r double, h double); from P#pol2Cart(t, r, h) select x, y, z insert into Out;"
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        runtime.input_handler("P").send((0.5, 2.0, 7.0))
        runtime.input_handler("P").send((90.0, 2.0, None))
    assert rows[0] == (pytest.approx(1.99992384612), pytest.approx(0.01745307099), 7.0)
    assert rows[1] == (pytest.approx(0.0, abs=1e-12), pytest.approx(2.0), None)


@pytest.mark.parametrize("window", ["", "#window.length(2)"])
def test_appended_attributes_pass_through_windows(window):
    app = f"define stream P (t double, r double); from P#pol2Cart(t, r){window}[x >= 0.0] select r, x insert into Out;"
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        runtime.input_handler("P").send_batch({"t": [0.0, 180.0, 0.0], "r": [1.0, 2.0, 3.0]})
    assert rows == [(1.0, 1.0), (3.0, 3.0)]
