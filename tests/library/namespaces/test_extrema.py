"""The windows of ``extrema``, and ``reorder:kslack``."""

from __future__ import annotations

import math
from typing import Any

import pytest

from siddhi.errors import SiddhiAppCreationError
from tests.kit.running import collect, running

VALUES = [3, 5, 5, 1, None, 2, 9, 4]


def outputs(
    handler: str, rows: list[tuple[Any, ...]], *, restart_after: int | None = None
) -> tuple[list[Any], list[Any]]:
    """Return the values of current and expired events; rows are sent at their second values."""
    app = f"""@app:name('extrema') @app:playback define stream S (v int, ts long);
    from S#{handler} select v insert into C;
    from S#{handler} select v insert expired events into E;"""
    current: list[Any] = []
    expired: list[Any] = []
    state = None
    for events in (rows[:restart_after], rows[restart_after:]) if restart_after else (rows,):
        with running(app) as runtime:
            if state is not None:
                runtime.restore(state)
            runtime.add_callback("C", lambda found: current.extend(event.data[0] for event in found))
            runtime.add_callback("E", lambda found: expired.extend(event.data[0] for event in found))
            for number, row in enumerate(events):
                runtime.input_handler("S").send(row, timestamp=row[1] if "extrema" in handler else 1000 + number)
            state = runtime.snapshot()
    return current, expired


ROWS = [(value, 1000 + 100 * i) for i, value in enumerate(VALUES)]
EXPECTED = {
    "maxByLength(v, 3)": ([3, 5, 5, 2, 9], [3, 5, 5, 2]),
    "minByLength(v, 3)": ([3, 1, 2], [3, 1]),
    "maxByLengthBatch(v, 3)": ([5, 2], [5]),
    "minByLengthBatch(v, 3)": ([3, 1], [3]),
    "maxbytime(v, 250)": ([3, 5, 5, 1, 2, 9], [3, 5, 5, 1, 2]),
    "minbytime(v, 300)": ([3, 5, 1, 2], [3, 5, 1]),
    "maxbytimebatch(v, 300)": ([5, 2], [5]),
    "minbytimebatch(v, 300)": ([3, 1], [3]),
}


@pytest.mark.parametrize("window", EXPECTED)
@pytest.mark.parametrize("restart_after", [None, 4])
def test_a_window_emits_the_extreme_event(window: str, restart_after: int | None) -> None:
    assert outputs(f"window.extrema:{window}", ROWS, restart_after=restart_after) == EXPECTED[window]


TIMES = [10, 12, 11, 15, 13, 20, 14, 30]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("kslack(ts)", [10, 12, 11, 13, 14]),
        ("kslack(ts, -1, 0L)", [10, 12, 11, 15, 13, 20, 14, 30]),
        ("kslack(ts, -1, 0L, true)", [10, 12, 15, 20, 30]),
    ],
)
@pytest.mark.parametrize("restart_after", [None, 3])
def test_events_are_emitted_in_order_with_a_slack(call: str, expected: list[int], restart_after: int | None) -> None:
    rows = [(time, time) for time in TIMES]
    current, _ = outputs(f"reorder:{call}", rows, restart_after=restart_after)
    assert current == expected


def test_a_timeout_emits_what_is_buffered() -> None:
    app = """@app:playback define stream S (ts long); from S#reorder:kslack(ts, 100) select ts insert into O;"""
    with running(app) as runtime:
        found: list[Any] = []
        runtime.add_callback("O", lambda events: found.extend(event.data[0] for event in events))
        for time, now in ((10, 1000), (5, 1010), (7, 1020), (30, 1200)):
            runtime.input_handler("S").send((time,), timestamp=now)
    assert found[:3] == [10, 5, 7]


@pytest.mark.parametrize(
    "handler", ["window.extrema:maxByLength(v, 0)", "reorder:kslack(ts, 0)", "reorder:kslack(ts, 1, -1L)"]
)
def test_invalid_arguments_are_refused(handler: str) -> None:
    with pytest.raises(SiddhiAppCreationError):
        outputs(handler, [])


WORDS = ["a", "b", "b", None, "c", "a", "a"]
RANKED = {
    "topK(w, 2)": [
        ("a", 1, None, None), ("a", 1, "b", 1), ("b", 2, "a", 1), ("a", 2, "b", 2), ("a", 3, "b", 2),
    ],
    "bottomK(w, 1)": [("a", 1), ("c", 1)],
    "topKLengthBatch(w, 3, 1)": [("b", 2), ("c", 1)],
    "bottomKLengthBatch(w, 3, 2)": [("a", 1, "b", 2), ("c", 1, "a", 1)],
    "topKTimeBatch(w, 300, 1)": [("b", 2), ("c", 1)],
    "bottomKTimeBatch(w, 300, 1)": [("a", 1), ("c", 1)],
}  # fmt: skip


def ranked(call: str, restart_after: int = 0) -> list[tuple[Any, ...]]:
    """Return what a stream processor appends to WORDS, sent at intervals of 100 ms, and to nulls later."""
    app = f"@app:name('ranked') @app:playback define stream S (w string); from S#extrema:{call} select * insert into O;"
    found: list[tuple[Any, ...]] = []
    state = None
    rows = [(1000 + 100 * i, word) for i, word in enumerate([*WORDS])]
    for part in (rows[:restart_after], rows[restart_after:]):
        with running(app) as runtime:
            if state is not None:
                runtime.restore(state)
            runtime.add_callback("O", lambda events: found.extend(event.data[1:] for event in events))
            for time, word in part:
                runtime.input_handler("S").send((word,), timestamp=time)
            state = runtime.snapshot()
    return found


@pytest.mark.parametrize("restart_after", [0, 5])
@pytest.mark.parametrize("call", RANKED)
def test_values_are_ranked_by_frequency(call: str, restart_after: int) -> None:
    assert ranked(call, restart_after) == RANKED[call]


def test_expired_values_are_not_counted_any_longer() -> None:
    app = "define stream S (w string); from S#window.length(2)#extrema:topK(w, 1) select Top1Element, Top1Frequency insert into O;"
    with running(app) as runtime:
        rows = collect(runtime, "O")
        for word in ["a", "a", "b", "b"]:
            runtime.input_handler("S").send((word,))
    assert rows == [("a", 1), ("a", 2), ("b", 2)]


def extremes(call: str, values: list[float], restart_after: int = 0) -> list[tuple[float, str]]:
    app = f"""@app:name('extremes') define stream S (v double); from S#extrema:{call} select v, extremaType insert into O;"""
    found: list[tuple[float, str]] = []
    state = None
    for part in (values[:restart_after], values[restart_after:]):
        with running(app) as runtime:
            if state is not None:
                runtime.restore(state)
            runtime.add_callback("O", lambda events: found.extend(event.data for event in events))
            for value in part:
                runtime.input_handler("S").send((value,))
            state = runtime.snapshot()
    return found


@pytest.mark.parametrize("restart_after", [0, 4])
def test_extremes_need_a_change_before_and_after(restart_after: int) -> None:
    values = [100.0, 90.0, 101.0, 103.0, 102.5, 100.0, 99.0, 102.0, 103.5, 103.0]
    assert extremes("minMax(v, 3, 3, 1.0, 2.0, 'minmax')", values, restart_after) == [
        (90.0, "min"),
        (103.0, "max"),
        (99.0, "min"),
    ]
    assert extremes("minMax(v, 3, 3, 1.0, 0.0, 'max')", values, restart_after) == [(103.0, "max"), (103.5, "max")]


@pytest.mark.parametrize("call", ["kernelMinMax(v, 2.0, 9, 'minmax')", "kalmanMinMax(v, 1.0, 0.01, 9, 'MinMax')"])
@pytest.mark.parametrize("restart_after", [0, 13])
def test_extremes_of_smoothed_values_ignore_noise(call: str, restart_after: int) -> None:
    wave = [math.sin(i * math.pi / 20) + (0.001 if i % 2 else -0.001) * ("kernel" in call) for i in range(90)]
    found = extremes(call, wave, restart_after)
    assert [kind for _, kind in found] == ["max", "min", "max", "min"]
    assert all(abs(abs(value) - 1) < 0.02 for value, _ in found)


def test_an_adaptive_slack_covers_the_delays_that_matter() -> None:
    # One of ten events is 50 late, the others are in order: the mean of a nearly constant field does not need them.
    rows = [(1000 + 10 * i - (50 if i % 10 == 9 else 0), 100.0 + i % 2) for i in range(60)]

    def slack(call: str) -> list[int]:
        app = f"define stream S (ts long, v double); from S#reorder:{call} select ts insert into O;"
        with running(app) as runtime:
            found = collect(runtime, "O")
            for row in rows:
                runtime.input_handler("S").send(row)
        return [row[0] for row in found]

    exact, loose = slack("akslack(ts, v, 20L, -1, 1000L, false, 0.000001, 0.99)"), slack("akslack(ts, v, 20L)")
    assert exact[20:] == sorted(exact[20:])
    assert loose[20:] != sorted(loose[20:])
    strict = slack("akslack(ts, v, 20L, -1, 1000L, true)")
    assert strict == sorted(strict)
    assert len(strict) < len(loose)


@pytest.mark.parametrize(
    "call",
    [
        "topK(v, 0)", "bottomKLengthBatch(v, 0, 1)", "minMax(v, 0, 1, 1.0, 1.0, 'min')", "minMax(v, 1, 1, 1.0, 1.0, 'top')",
        "kernelMinMax(v, 0.0, 5, 'min')", "kalmanMinMax(v, 1.0, 1.0, 2, 'min')",
    ],
)  # fmt: skip
def test_invalid_arguments_of_ranks_and_extremes_are_refused(call: str) -> None:
    with pytest.raises(SiddhiAppCreationError):
        outputs(f"extrema:{call}", [])


@pytest.mark.parametrize("given", ["0L", "1L, 0", "1L, 1, -1L", "1L, 1, 1L, true, 0.0", "1L, 1, 1L, true, 0.1, 1.0"])
def test_invalid_arguments_of_an_adaptive_slack_are_refused(given: str) -> None:
    with pytest.raises(SiddhiAppCreationError):
        outputs(f"reorder:akslack(ts, v, {given})", [])
