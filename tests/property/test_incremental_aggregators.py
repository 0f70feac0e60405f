"""An incremental aggregator of an extension answers as if it got all values at once, in any order."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime
from tests.kit.incremental import manager

MANAGER = manager()
HOUR = 3_600_000
Sent = tuple[int, int, str | None, int | None, float | None]  # clock, time, group, weight, value


def app(by: str) -> str:
    return f"""@app:name('custom law') @app:playback define stream S (g string, w int, d double, ts long);
        @purge(enable = 'false') define aggregation A from S
        select g, my:spread(w) as sw, my:spread(d) as sd, my:geometricMean(d) as gd, my:weightedMean(d, w) as wd
        group by g aggregate {by} every sec, min, hour;"""


def answer(events: list[Sent]) -> tuple[Any, ...]:
    weights = [w for *_, w, _ in events if w is not None]
    values = [d for *_, d in events if d is not None]
    both = [(w, d) for *_, w, d in events if w is not None and d is not None]
    # A weight of a null value is not a weight, and a null weight adds nothing.
    return (
        max(weights) - min(weights) if weights else None,
        max(values) - min(values) if values else None,
        math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None,
        math.fsum(w * d for w, d in both) / math.fsum(w for w, _ in both) if both else None,
    )


def check(runtime: SiddhiAppRuntime, by: str, events: list[Sent]) -> None:
    for word, length in (("sec", 1000), ("min", 60_000), ("hour", HOUR)):
        wanted: dict[Any, list[Sent]] = {}
        for event in events:
            time = event[1] if by else event[0]
            wanted.setdefault((time - time % length, event[2]), []).append(event)
        found = {
            event.data[:2]: event.data[2:]
            for event in runtime.query(f"from A within 0L, {9 * HOUR}L per '{word}' select *")
        }
        assert found.keys() == wanted.keys()
        for key, group in wanted.items():
            for want, got in zip(answer(group), found[key], strict=True):
                assert type(want) is type(got), (key, want, got)
                assert want is None or math.isclose(want, got, rel_tol=1e-9, abs_tol=1e-9), (key, want, got)


@st.composite
def timelines(draw: st.DrawFn) -> list[Sent]:
    clock, events = 2 * HOUR, []
    for _ in range(draw(st.integers(0, 30))):
        clock += draw(st.sampled_from([0, 1, 400, 1000, 61_000, HOUR // 2]))
        if clock > 8 * HOUR:
            break
        time = clock - draw(st.sampled_from([0, 0, 700, 61_000, HOUR]))
        group = draw(st.sampled_from([None, "x", "y"]))
        weight, value = draw(st.none() | st.integers(1, 9)), draw(st.none() | st.integers(1, 40).map(lambda n: n / 2))
        events.append((clock, time, group, weight, value))
    return events


def send(runtime: SiddhiAppRuntime, events: list[Sent]) -> None:
    for clock, time, *values in events:
        runtime.input_handler("S").send((*values, time), clock)


@given(by=st.sampled_from(["", "by ts"]), events=timelines(), data=st.data())
def test_results_equal_those_of_all_values_at_once_also_after_a_restore(
    by: str, events: list[Sent], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(events)))
    with MANAGER.create_siddhi_app_runtime(app(by)) as runtime:
        send(runtime, events[:cut])
        check(runtime, by, events[:cut])
        snapshot = runtime.snapshot()
    with MANAGER.create_siddhi_app_runtime(app(by)) as runtime:
        runtime.restore(snapshot)
        send(runtime, events[cut:])
        check(runtime, by, events)
