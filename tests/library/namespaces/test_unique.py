"""Windows of one event by key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppCreationError
from siddhi.library.operators.unique import UniqueEver, UniqueFirst, UniqueLength, UniqueTime
from tests.kit.running import running

Rows = list[tuple[Any, ...]]
EVENTS = [("a", 1, 1000), ("b", 2, 1100), ("a", 3, 1200), ("c", 4, 1300), ("c", 5, 2300), ("d", 6, 4000)]


def outputs(window: str, *, restart_after: int | None = None) -> tuple[Rows, Rows]:
    """Return the current and the expired values that a window emits for EVENTS, sent at their times."""
    app = f"""@app:name('unique') @app:playback define stream S (k string, v int, ts long);
    from S#window.unique:{window} select v insert into C;
    from S#window.unique:{window} select v insert expired events into E;"""
    current: Rows = []
    expired: Rows = []
    state = None
    for events in (EVENTS[:restart_after], EVENTS[restart_after:]) if restart_after else (EVENTS,):
        with running(app) as runtime:
            if state is not None:
                runtime.restore(state)
            runtime.add_callback("C", lambda found: current.extend(event.data for event in found))
            runtime.add_callback("E", lambda found: expired.extend(event.data for event in found))
            for event in events:
                runtime.input_handler("S").send(event, timestamp=event[2])
            state = runtime.snapshot()
    return current, expired


EXPECTED = {
    "ever(k)": ([1, 2, 3, 4, 5, 6], [1, 4]),
    "first(k)": ([1, 2, 4, 6], []),
    "length(k, 2)": ([1, 2, 3, 4, 5, 6], [1, 2, 4, 3]),
    "time(k, 1 sec)": ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5]),
    "lengthBatch(k, 2)": ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4]),
    "firstLengthBatch(k, 2)": ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4]),
    "timeBatch(k, 1 sec)": ([2, 3, 4, 5], [2, 3, 4, 5]),
    "firstTimeBatch(k, 1 sec)": ([1, 2, 4, 5], [1, 2, 4, 5]),
    "timeLengthBatch(k, 1 sec, 2)": ([1, 2, 3, 4, 5], [1, 2, 3, 4]),
    "externalTimeBatch(k, ts, 1 sec)": ([2, 3, 4, 5], [2, 3, 4]),
    "externalTimeBatch(k, ts, 1 sec, 0, 0, true)": ([2, 3, 4, 5], [2, 3, 4]),
}


@pytest.mark.parametrize("window", EXPECTED)
def test_a_window_keeps_one_event_by_key(window: str) -> None:
    current, expired = outputs(window)
    assert ([row[0] for row in current], [row[0] for row in expired]) == EXPECTED[window]


@pytest.mark.parametrize("window", EXPECTED)
def test_a_restored_window_goes_on(window: str) -> None:
    assert outputs(window, restart_after=3) == outputs(window)


def test_the_time_attribute_can_be_the_end_of_the_batch() -> None:
    app = """@app:playback define stream S (k string, v int, ts long);
    from S#window.unique:externalTimeBatch(k, ts, 1 sec, 0, 0, true) select v, ts insert into C;"""
    rows: Rows = []
    with running(app) as runtime:
        runtime.add_callback("C", lambda found: rows.extend(event.data for event in found))
        for event in EVENTS:
            runtime.input_handler("S").send(event, timestamp=event[2])
    assert rows == [(2, 2000), (3, 2000), (4, 2000), (5, 3000)]


@pytest.mark.parametrize(
    ("call", "form"),
    [
        ("ever(k, b)", UniqueEver),
        ("first(k)", UniqueFirst),
        ("length(k, 2)", UniqueLength),
        ("time(k, 30)", UniqueTime),
    ],
)
@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.booleans(), st.integers(0, 20)), max_size=20),
    st.data(),
)
def test_compiled_windows_are_those_in_python(
    call: str, form: type, rows: list[tuple[Any, ...]], data: st.DataObject
) -> None:
    app = f"""@app:name('compiled') @app:playback define stream S (k string, b bool, v int);
    from S#window.unique:{call} select k, v insert all events into O;"""

    def results(stop: int) -> Rows:
        found: Rows = []
        time, state = 1000, None
        for part in (rows[:stop], rows[stop:]):
            with running(app) as runtime:
                if state is not None:
                    runtime.restore(state)
                runtime.add_callback("O", lambda events: found.extend(each.data for each in events))
                for key, flag, step in part:
                    time += step
                    runtime.input_handler("S").send((key, flag, step), timestamp=time)
                state = runtime.snapshot()
        return found

    compiled = results(data.draw(st.integers(0, len(rows))))
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(form, "compiled")
        assert results(0) == compiled


def test_sums_follow_the_kept_events() -> None:
    app = """@app:playback define stream S (k string, v int, ts long);
    from S#window.unique:ever(k) select sum(v) as total insert into C;
    from S#unique:deduplicate(k, 200) select v insert into D;"""
    totals: Rows = []
    passed: Rows = []
    with running(app) as runtime:
        runtime.add_callback("C", lambda found: totals.extend(event.data for event in found))
        runtime.add_callback("D", lambda found: passed.extend(event.data for event in found))
        for event in EVENTS:
            runtime.input_handler("S").send(event, timestamp=event[2])
    assert [row[0] for row in totals] == [1, 3, 5, 9, 10, 16]
    assert [row[0] for row in passed] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "window",
    [
        "length(k, 0)",
        "time(k, 0)",
        "timeBatch(k, -1)",
        "length(k, v)",
        "externalTimeBatch(k, 1L, 0)",
        "externalTimeBatch(k, 1L, 1, 0, 0, true)",
        "externalTimeBatch(k, 1L, 1, 0, -1)",
    ],
)
def test_invalid_lengths_and_durations_are_refused(window: str) -> None:
    with (
        pytest.raises(SiddhiAppCreationError),
        running(f"define stream S (k string, v int); from S#window.unique:{window} select v insert into C;"),
    ):
        pass
