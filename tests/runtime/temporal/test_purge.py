"""@purge of temporal partitions: a key without starts for longer than the idle period, in application time, has no state."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.query_compiler import parse
from siddhi.temporal import MAX, TemporalEvent
from tests.kit.running import running

IDLE = 5
S = "@temporal(model = 'point') define stream S (id int, v int);"
PURGE = f"@purge(enable = 'true', interval = '{{}} millisec', idle.period = '{IDLE} millisec') "
BODY = "partition with (id of S) begin from S{} insert into Out; end;"
COUNT = (
    "#window.countByStartTime({}) select id, count() as n, sum(v) as total, temporal:timeWeightedAvg(v) > 0.0 as some"
)
Points = list[tuple[int, tuple[int, int]]]
POINTS = st.lists(st.tuples(st.integers(0, 60), st.tuples(st.integers(0, 2), st.integers(1, 9))), max_size=20)


def shown(app: str, points: Points, ctis: list[int]) -> list[TemporalEvent]:
    """Return the rows of Out: points arrive as late as CTIs allow; the app is restored in a new one at half of the CTIs."""
    items: list[TemporalEvent] = []
    state: bytes | None = None
    half = len(ctis) // 2
    done = -1
    for part in (ctis[:half], [*ctis[half:], MAX]):
        with running(app) as runtime:
            if state is not None:
                runtime.restore(state)
            runtime.add_temporal_callback("Out", items.extend)
            handler: Any = runtime.input_handler("S")
            for cti in part:
                for start, row in points:
                    if done <= start < cti:
                        handler.point(start, row)
                handler.cti(cti)
                done = cti
            state = runtime.snapshot()
    return sorted(item for item in items if item.kind != "cti")


def counted(points: Points, count: int) -> list[TemporalEvent]:
    """Return the results of a counting window, in plain Python."""
    found = []
    for key in range(3):
        starts: list[int] = []
        for start in sorted({time for time, (id_, _) in points if id_ == key}):
            if starts and start - starts[-1] > IDLE:
                starts = []
            starts = [*starts, start][-count:]
            values = [v for time, (id_, v) in points if id_ == key and time in starts]
            if len(starts) == count:
                found.append(TemporalEvent("insert", start + 1, start + 2, (key, len(values), sum(values), True)))
    return sorted(found)


@given(
    points=POINTS, ctis=st.lists(st.integers(0, 70), max_size=8), interval=st.integers(1, 30), count=st.integers(1, 3)
)
def test_a_counting_window_begins_anew_behind_an_idle_period(
    points: Points, ctis: list[int], interval: int, count: int
) -> None:
    app = S + PURGE.format(interval) + BODY.format(COUNT.format(count))
    assert shown(app, points, sorted(ctis)) == counted(points, count)


@given(points=POINTS, ctis=st.lists(st.integers(0, 70), max_size=8))
def test_a_signal_ends_when_its_key_is_idle(points: Points, ctis: list[int]) -> None:
    app = S + PURGE.format(1) + BODY.format("#temporal:pointToSignal() select id, v")
    same = S + BODY.format(f"#temporal:alterDuration({IDLE})#temporal:clipByNext() select id, v")
    assert shown(app, points, sorted(ctis)) == shown(same, points, sorted(ctis))


@pytest.mark.parametrize("body", [COUNT.format(3), "#temporal:pointToSignal() select id, v"])
def test_idle_keys_have_no_state(body: str) -> None:
    with running(S + PURGE.format(1) + BODY.format(body)) as runtime:
        runtime.add_temporal_callback("Out", lambda _: None)
        handler: Any = runtime.input_handler("S")
        sizes = []
        for start in range(200):
            handler.point(start, (start, 1))
            handler.cti(start)
            sizes.append(len(runtime.snapshot()))
        network = runtime._assembly.temporal
        assert network is not None
        assert network.lifetimes.alive < 40
        assert max(sizes[100:]) <= max(sizes[:100]) + 200


def test_a_window_of_one_start_holds_none() -> None:
    with running(
        S + "from S#window.countByStartTime(1) select id, count() as n group by id insert into Out;"
    ) as runtime:
        handler: Any = runtime.input_handler("S")
        for start in range(50):
            handler.point(start, (start, 1))
            handler.cti(start)
        network = runtime._assembly.temporal
        assert network is not None
        assert network.lifetimes.alive < 5


def test_purge_is_explained_and_warned_of_where_it_has_no_effect() -> None:
    planned = plan(parse(S + PURGE.format(7) + BODY.format(COUNT.format(2))))
    assert "purge every 7 ms, idle period 5 ms" in explain(planned)
    assert planned.warnings == ()
    (warning,) = plan(parse(S + PURGE.format(7) + BODY.format(" select id"))).warnings
    assert warning.message.startswith("@purge of temporal partition 'partition_0' has no effect")
    off = PURGE.format(7).replace("'true'", "'false'")
    assert plan(parse(S + off + BODY.format(" select id"))).warnings == ()
