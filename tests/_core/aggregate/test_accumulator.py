"""Accumulators: sums, averages and counts of arguments that are kept instead of events."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.aggregate.accumulator import Accumulators
from siddhi._core.expression.executor import make_variable
from siddhi._core.record.event import Layout
from siddhi.runtime.assembly.expressions import make_aggregator
from tests.kit.expressions import DOUBLE, INT, LONG
from tests.kit.running import collect, running


def test_an_accumulator_aggregates_its_arguments() -> None:
    layout = Layout(["v"], [INT])
    aggregators = [
        make_aggregator("sum", (make_variable(layout, 0),), LONG, True),
        make_aggregator("avg", (make_variable(layout, 0),), DOUBLE, True),
        make_aggregator("count", (), LONG, True),
    ]
    assert Accumulators(aggregators).aggregators == tuple(aggregators)
    with pytest.raises(TypeError):
        Accumulators([make_aggregator("max", (make_variable(layout, 0),), INT, True)])


ARGUMENTS = {
    "i": lambda row: row[0],
    "l": lambda row: row[1],
    "i + 1": lambda row: None if row[0] is None else row[0] + 1,
    "l - i": lambda row: None if None in row[:2] else row[1] - row[0],
    "ifThenElse(b, i, 0)": lambda row: row[0] if row[2] else 0,
    "coalesce(i, 7)": lambda row: 7 if row[0] is None else row[0],
}
ROWS = st.lists(
    st.tuples(st.none() | st.integers(-100, 100), st.none() | st.integers(-(2**40), 2**40), st.none() | st.booleans()),
    max_size=25,
)


@given(rows=ROWS, chosen=st.lists(st.sampled_from(sorted(ARGUMENTS)), min_size=1, max_size=4), length=st.integers(1, 6))
@pytest.mark.parametrize("way", ["rows", "batch"])
def test_integer_sums_are_exact(way: str, rows: list[Any], chosen: list[str], length: int) -> None:
    columns = ", ".join(f"sum({text}) as s{place}, avg({text}) as a{place}" for place, text in enumerate(chosen))
    app = f"define stream S (i int, l long, b bool); from S#window.length({length}) select {columns}, count() as n insert into Out;"
    with running(app) as runtime:
        got = collect(runtime, "Out")
        if way == "batch" and rows:
            runtime.input_handler("S").send_batch(
                {name: [row[place] for row in rows] for place, name in enumerate("ilb")}
            )
        else:
            for row in rows:
                runtime.input_handler("S").send(row)
    held: deque[Any] = deque(maxlen=length)
    expected = []
    for row in rows:
        held.append(row)
        out: list[Any] = []
        for text in chosen:
            values = [value for held_row in held if (value := ARGUMENTS[text](held_row)) is not None]
            out += [sum(values), sum(values) / len(values)] if values else [None, None]
        expected.append((*out, len(held)))
    assert got == expected


def test_any_number_of_aggregators_can_share_a_window() -> None:
    for count in (31, 32, 33, 40):
        columns = ", ".join(f"sum(i + {place}) as s{place}" for place in range(count))
        with running(f"define stream S (i int); from S#window.length(2) select {columns} insert into Out;") as runtime:
            rows = collect(runtime, "Out")
            for i in (1, 2, None, 4):
                runtime.input_handler("S").send((i,))
        assert rows == [
            tuple(1 + place for place in range(count)),
            tuple(3 + 2 * place for place in range(count)),
            tuple(2 + place for place in range(count)),
            tuple(4 + place for place in range(count)),
        ]
