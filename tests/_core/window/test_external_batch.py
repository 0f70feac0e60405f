"""externalTimeBatch: boundaries, late and null times, the timeout."""

from __future__ import annotations

import pytest

from siddhi import SiddhiManager, extension
from siddhi.errors import SiddhiAppCreationError
from siddhi.types import AttributeType
from tests.kit.running import collect, collect_events, running

LONG, STRING = AttributeType.LONG, AttributeType.STRING
STREAM = "@app:playback define stream S (at long, v int, began int);"


def released(window: str, events: list[tuple[int, tuple[int | None, int, int]]]) -> list[list[int]]:
    with running(f"{STREAM} from S#window.{window} select v insert into Out;") as runtime:
        chunks = collect_events(runtime, "Out")
        for time, row in events:
            runtime.input_handler("S").send(row, time)
        return [[event["v"] for event in chunk] for chunk in chunks]


def timed(*times: int) -> list[tuple[int, tuple[int | None, int, int]]]:
    return [(number + 1, (time, time, 0)) for number, time in enumerate(times)]


def test_an_event_at_the_boundary_starts_the_next_batch():
    assert released("externalTimeBatch(at, 100)", timed(10, 50, 110, 300)) == [[10, 50], [110]]


def test_a_late_event_joins_the_open_batch():
    assert released("externalTimeBatch(at, 100)", timed(10, 120, 30, 400)) == [[10], [120, 30]]


def test_the_start_can_be_an_int_of_the_first_event():
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


def test_after_the_timeout_a_period_is_emitted_again_with_later_events():
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


JOINED = """@app:playback(timers='exact') define stream S (k string, v int); define stream R (v int, at long);
    from S#window.length(2) as a join R#window.externalTimeBatch(at, 1 sec, 0, 300 milliseconds{replace}) as b on {on}
    select a.k as k, b.at as at insert {events} Out;"""
SEARCHES = ["a.v == b.v", "a.v <= b.v", "a.v == b.v + 0"]


@pytest.mark.parametrize("replace", ["", ", true"])
@pytest.mark.parametrize("on", SEARCHES)
def test_a_join_finds_a_batch_emitted_by_the_timeout_and_emitted_again(on: str, replace: str) -> None:
    with running(JOINED.format(on=on, replace=replace, events="into")) as runtime:
        out = collect(runtime, "Out")

        def found(key: str, time: int) -> list[int]:
            runtime.input_handler("S").send((key, 1), time)
            return [row[1] for row in out if row[0] == key]

        for time in (0, 400):
            runtime.input_handler("R").send((1, time), 1000 + time)
        assert found("released by the timeouts at 1300 and 1600", 1700) == ([1000, 1000] if replace else [0, 400])
        runtime.input_handler("R").send((1, 2000), 3000)
        assert found("the period is over, the next one open", 3050) == ([1000, 1000] if replace else [0, 400])
        runtime.input_handler("R").send((1, 2100), 3100)
        assert found("released by the timeout at 3300", 3400) == ([3000, 3000] if replace else [2000, 2100])
        runtime.input_handler("R").send((1, 2200), 3500)
        assert found("and again at 3600", 9000) == ([3000] * 3 if replace else [2000, 2100, 2200])


@pytest.mark.parametrize("on", SEARCHES)
def test_a_batch_emitted_again_joins_as_expired_and_current(on: str) -> None:
    with running(JOINED.format(on=on, replace="", events="all events into")) as runtime:
        chunks = collect_events(runtime, "Out")
        runtime.input_handler("S").send(("a", 1), 900)
        for time in (0, 400):
            runtime.input_handler("R").send((1, time), 1000 + time)
        runtime.advance_clock(1600)
        runtime.input_handler("R").send((1, 5000), 6000)
        runtime.input_handler("R").send((1, 7000), 6100)
        assert [[event["at"] for event in chunk] for chunk in chunks] == [[0], [0, 0, 400], [0, 400, 5000]]


@pytest.mark.parametrize("on", SEARCHES)
@pytest.mark.parametrize(("timeout", "times"), [("", (0, 100, 200, 1000)), (", 0, 300", (0, 100))])
def test_an_event_whose_join_failed_stays_in_the_window(on: str, timeout: str, times: tuple[int, ...]) -> None:
    app = f"""@app:playback define stream S (k string, v int); define stream R (v int, at long);
        define function f[python] return long {{
            if data[0] == 100 and data[1] == 'first': raise ValueError('no')
            return data[0]
        }};
        from S#window.length(2) as a join R#window.externalTimeBatch(at, 1 sec{timeout}) as b on {on}
        select f(b.at, a.k) as at insert into Out;"""
    with running(app) as runtime:
        failures: list[str] = []
        runtime.handle_exception_with(lambda error, *_: failures.append(str(error)))
        out = collect(runtime, "Out")
        runtime.input_handler("S").send(("first", 1), 10)
        for place, time in enumerate(times):
            runtime.input_handler("R").send((1, time), 20 + place)
        runtime.advance_clock(320 if timeout else 30)
        assert len(failures) == 1
        out.clear()
        runtime.input_handler("R").send((1, 210), 320)  # gets the record of an event that was let go
        for key in ("second", "third"):
            runtime.input_handler("S").send((key, 1), 320)
        assert out == [(0,), (100,)] * 2
        for place in range(50):
            runtime.input_handler("R").send((1, 1100 * place), 1000 + 10 * place)
        assert len(failures) == 1


@pytest.mark.parametrize("on", SEARCHES)
def test_a_function_that_sends_during_a_release_finds_emitted_events(on: str) -> None:
    manager = SiddhiManager()

    @extension.function("test:send", args=(STRING, LONG), returns=LONG, registry=extension.Registry())
    def feed(key: str, at: int) -> int:
        if (key, at) == ("first", 100):
            runtime.input_handler("S").send(("second", 1), 30)
        return at

    manager.set_extension("test:send", feed)
    app = f"""@app:playback define stream S (k string, v int); define stream R (v int, at long);
        from S#window.length(2) as a join R#window.externalTimeBatch(at, 1 sec) as b on {on}
        select a.k as k, test:send(a.k, b.at) as at insert into Out;"""
    with running(app, manager=manager) as runtime:
        out = collect(runtime, "Out")
        runtime.input_handler("S").send(("first", 1), 10)
        for place, time in enumerate((0, 100, 200, 1000)):
            runtime.input_handler("R").send((1, time), 20 + place)
    # Both that were out by then, and the third when it came out.
    assert [at for key, at in out if key == "second"] == [0, 100, 200]
    assert [at for key, at in out if key == "first"] == [0, 100, 200]


def test_buffered_times_can_become_the_end_of_their_period():
    app = f"{STREAM} from S#window.externalTimeBatch(at, 100, 0, 1000, true) select v, at insert into Out;"
    with running(app) as runtime:
        out = collect(runtime, "Out")
        for number, time in enumerate((110, 150, 220)):
            runtime.input_handler("S").send((time, time, 0), number + 1)
        assert out == [(110, 200), (150, 200)]


def test_a_batch_of_zero_duration_is_refused():
    with pytest.raises(SiddhiAppCreationError, match="0 ms"):
        released("externalTimeBatch(at, 0)", [])
