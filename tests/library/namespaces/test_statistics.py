"""The aggregators first, last, percentile, median and ema."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppCreationError
from siddhi.library.operators.statistics import First, Last
from tests.kit.functions import executors
from tests.kit.running import collect, running

VALUES = [float(x) for x in np.random.default_rng(5).integers(0, 40, 80)]
SELECTED = """first(v) as f, last(v) as l, median(v) as m, stats:median(v) as sm, percentile(v, 90.0) as p,
    math:percentile(v, 25.0) as q, ema(v, 9) as e"""


def rows_of(window: str, values: list[Any]) -> list[tuple[Any, ...]]:
    with running(f"define stream S (v double); from S{window} select {SELECTED} insert into O;") as runtime:
        rows = collect(runtime, "O")
        for value in values:
            runtime.input_handler("S").send((value,))
    return rows


@pytest.mark.parametrize(("window", "length"), [("#window.length(7)", 7), ("", 1000)])
def test_aggregators_have_the_values_of_numpy(window: str, length: int) -> None:
    average = VALUES[0]
    for index, row in enumerate(rows_of(window, VALUES)):
        current = VALUES[max(0, index + 1 - length) : index + 1]
        average += (VALUES[index] - average) * 0.2
        assert row[:2] == (current[0], current[-1])
        assert row[2] == row[3] == statistics.median(current)
        for found, percent in ((row[4], 90), (row[5], 25)):
            assert found == pytest.approx(np.percentile(current, percent, method="weibull"))
        assert row[6] == pytest.approx(average, abs=1e-9)


def test_null_is_left_out_of_statistics_and_is_a_first_value() -> None:
    assert rows_of("#window.length(2)", [None, 3.0, float("nan")]) == [
        (None,) * 7,
        (None, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0),
        (3.0, pytest.approx(float("nan"), nan_ok=True), 3.0, 3.0, 3.0, 3.0, 3.0),
    ]


def test_state_is_restored() -> None:
    app = "@app:name('first-and-last') define stream S (v double); from S#window.length(3) select first(v) as f, median(v) as m insert into O;"
    with running(app) as runtime:
        for value in VALUES[:5]:
            runtime.input_handler("S").send((value,))
        state = runtime.snapshot()
    with running(app) as runtime:
        runtime.restore(state)
        rows = collect(runtime, "O")
        runtime.input_handler("S").send((VALUES[5],))
    assert rows == [(VALUES[3], statistics.median(VALUES[3:6]))]


@pytest.mark.parametrize("call", ["percentile(v, 0.0)", "math:percentile(v, 101.0)", "ema(v, 0)", "percentile(v, v)"])
def test_invalid_arguments_are_refused(call: str) -> None:
    with pytest.raises(SiddhiAppCreationError):
        executors("define stream S (v double);", [call])


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", None]), st.sampled_from([True, False, None]), st.sampled_from([1, 2, None])
        ),
        max_size=20,
    )
)
def test_compiled_first_and_last_are_those_in_python(rows: list[tuple[Any, ...]]) -> None:
    selected = "first(t) as t1, last(t) as t2, first(b) as b1, last(b) as b2, first(i) as i1, last(i) as i2"
    # A sort window removes other events than the oldest.
    app = f"""@app:name('arrivals') define stream S (t string, b bool, i int);
    from S#window.length(3) select {selected} insert into O;
    from S#window.sort(2, i) select {selected} insert into O;"""

    def results(stop: int) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        state = None
        for part in (rows[:stop], rows[stop:]):
            with running(app) as runtime:
                if state is not None:
                    runtime.restore(state)
                runtime.add_callback("O", lambda events: found.extend(event.data for event in events))
                for row in part:
                    runtime.input_handler("S").send(row)
                state = runtime.snapshot()
        return found

    compiled = results(len(rows) // 2)
    with pytest.MonkeyPatch.context() as patch:
        for form in (First, Last):
            patch.delattr(form, "compiled")
        assert results(0) == compiled
