"""Stream functions: log and pol2Cart, and those of users, which may add attributes."""

from __future__ import annotations

import logging
import math

import pytest

from siddhi import Event
from tests.runtime.running import collect, running


def test_pol2cart_adds_x_and_y() -> None:
    with running(
        "define stream P (theta double, rho double); from P#pol2Cart(theta, rho) select x, y insert into Out;"
    ) as runtime:
        rows = collect(runtime, "Out")
        runtime.input_handler("P").send((30.0, 2.0))
        runtime.input_handler("P").send((None, 2.0))
    assert rows[0] == pytest.approx((2 * math.cos(math.radians(30)), 2 * math.sin(math.radians(30))))
    assert len(rows) <= 2


def test_log_says_what_passes_and_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    app = "@app:name('A') define stream S (v int); from S#log('info', 'seen') select v insert into Out;"
    with caplog.at_level(logging.INFO, logger="siddhi"), running(app) as runtime:
        rows = collect(runtime, "Out")
        runtime.input_handler("S").send_events([Event(1, (1,)), Event(2, (2,))])
    assert rows == [(1,), (2,)]
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]
    assert all("seen" in message for message in caplog.messages)


@pytest.mark.parametrize("window", ["", "#window.length(2)"])
def test_what_is_added_goes_through_windows(window: str) -> None:
    app = f"define stream P (theta double, rho double); from P#pol2Cart(theta, rho){window}[x >= 0.0] select rho, x insert into Out;"
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        runtime.input_handler("P").send_batch({"theta": [0.0, 180.0, 0.0], "rho": [1.0, 2.0, 3.0]})
    assert rows == [(1.0, 1.0), (3.0, 3.0)]
