"""externalTimeBatch: borders, late and null times, the timeout."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppCreationError
from tests.runtime.running import collect, collect_events, running

STREAM = "@app:playback define stream S (at long, v int, began int);"


def released(window: str, events: list[tuple[int, tuple[int | None, int, int]]]) -> list[list[int]]:
    with running(f"{STREAM} from S#window.{window} select v insert into Out;") as runtime:
        chunks = collect_events(runtime, "Out")
        for time, row in events:
            runtime.input_handler("S").send(row, time)
        return [[event["v"] for event in chunk] for chunk in chunks]


def timed(*times: int) -> list[tuple[int, tuple[int | None, int, int]]]:
    return [(number + 1, (time, time, 0)) for number, time in enumerate(times)]


def test_the_border_opens_the_next_batch():
    assert released("externalTimeBatch(at, 100)", timed(10, 50, 110, 300)) == [[10, 50], [110]]


def test_a_late_event_joins_the_open_batch():
    assert released("externalTimeBatch(at, 100)", timed(10, 120, 30, 400)) == [[10], [120, 30]]


def test_the_start_may_come_with_the_first_event_as_an_int():
    events = [(1, (130, 1, 90)), (2, (180, 2, 0)), (3, (190, 3, 0))]
    assert released("externalTimeBatch(at, 100, began)", events) == [[1, 2]]


def test_an_event_without_time_fails_alone():
    with running(f"{STREAM} from S#window.externalTimeBatch(at, 100) select v insert into Out;") as runtime:
        failures = []
        runtime.handle_exception_with(lambda error, *_: failures.append(str(error)))
        out = collect(runtime, "Out")
        for time, row in ((1, (10, 1, 0)), (2, (None, 2, 0)), (3, (200, 3, 0))):
            runtime.input_handler("S").send(row, time)
        assert out == [(1,)]
        assert len(failures) == 1
        assert "'at'" in failures[0]


def test_after_the_timeout_a_period_is_released_again_with_what_came_later():
    app = f"{STREAM} from S#window.externalTimeBatch(at, 1000, 0, 50) select v, at insert into Out;"
    with running(app) as runtime:
        chunks = collect_events(runtime, "Out")
        send = runtime.input_handler("S").send
        send((100, 1, 0), 1000)
        runtime.advance_clock(1050)
        runtime.advance_clock(1100)
        send((200, 2, 0), 1110)
        send((1000, 3, 0), 1120)
        assert [[event["v"] for event in chunk] for chunk in chunks] == [[1], [1, 2]]


def test_held_times_may_become_the_end_of_their_period():
    app = f"{STREAM} from S#window.externalTimeBatch(at, 100, 0, 1000, true) select v, at insert into Out;"
    with running(app) as runtime:
        out = collect(runtime, "Out")
        for number, time in enumerate((110, 150, 220)):
            runtime.input_handler("S").send((time, time, 0), number + 1)
        assert out == [(110, 200), (150, 200)]


def test_a_batch_that_lasts_no_time_is_refused():
    with pytest.raises(SiddhiAppCreationError, match="0 ms"):
        released("externalTimeBatch(at, 0)", [])
