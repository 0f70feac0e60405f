"""Durations out of range are refused with their location."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from tests.kit.running import collect, running

STREAM = "@app:playback define stream S (t long, v int);\n"
WINDOWS = [
    "time({})",
    "timeBatch({})",
    "timeBatch(1 sec, {})",
    "timeLength({}, 3)",
    "delay({})",
    "session({})",
    "externalTime(t, {})",
    "externalTimeBatch(t, {})",
    "externalTimeBatch(t, 1 sec, {})",
    "externalTimeBatch(t, 1 sec, 0, {})",
]
OTHERS = [
    "from S select v output last every {} insert into O;",
    "from S select v output snapshot every {} insert into O;",
    "from e=S -> not S for {} select e.v as v insert into O;",
    "from every e=S -> f=S within {} select e.v as v insert into O;",
    "define trigger T at every {}; from T select 1 as v insert into O;",
    (
        "@purge(enable = 'true', interval = '{}', idle.period = '{}') partition with (v of S) begin "
        "from S select v insert into O; end;"
    ),
]


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("duration", ["200000000 years", "4611686018427387904L", "9223372036854775807L"])
def test_a_window_of_more_than_146_million_years_is_refused(window: str, duration: str) -> None:
    text = f"{STREAM}from S#window.{window.format(duration)} select v insert into O;"
    with pytest.raises(SiddhiAppError) as caught, running(text):
        pass
    assert caught.value.code in ("E102", "E305")
    assert caught.value.line == 2


@pytest.mark.parametrize("text", OTHERS)
def test_other_durations_out_of_range_are_refused(text: str) -> None:
    with pytest.raises(SiddhiAppError) as caught, running(STREAM + text.format("200000000 years", "200000000 years")):
        pass
    assert caught.value.code in ("E102", "E315")
    assert caught.value.line == 2


@pytest.mark.parametrize(
    "text", [f"from S#window.{window} select v insert all events into O;" for window in WINDOWS] + OTHERS
)
def test_a_hundred_million_years_are_supported_and_can_be_restored(text: str) -> None:
    with running("@app:name('A') " + STREAM + text.format("100000000 years", "100000000 years")) as runtime:
        rows = collect(runtime, "O")
        for time in (1_000, 2**61, 2**62):
            runtime.input_handler("S").send((time, 1), time)
            state = runtime.snapshot()
            runtime.restore(state)
            assert runtime.snapshot() == state
        assert all(row == (1,) for row in rows)


def test_a_timer_after_the_last_valid_time_is_an_error() -> None:
    app = STREAM + "from S#window.time(100000000 years) select v insert into O;"
    with running(app) as runtime:
        runtime.input_handler("S").send((1, 1), 2**62)
        with pytest.raises(ValueError, match="later than the last valid time"):
            runtime.advance_to_end()
