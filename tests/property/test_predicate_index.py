"""An app with a predicate index gives the outputs, in the order, of the same app without it."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiManager

RULE = import_module("siddhi.planner.rules.file_queries")  # the package has a function of this name

STREAM = """
define stream S (a string, n int, l long, b bool, d double, f float);
define function fails[python] return bool { return 1 // data[0] > 0 };
"""
TYPES = [pa.string(), pa.int32(), pa.int64(), pa.bool_(), pa.float64(), pa.float32()]
NAMES = list("anlbdf")

INTS = st.sampled_from([-(2**31), -1, 0, 1, 2, 3, 2**31 - 1])
LONGS = INTS | st.sampled_from([-(2**63), 2**53, 2**53 + 1, 2**63 - 1])
DOUBLES = st.sampled_from(
    [-1.0, -0.0, 0.0, 0.1, 1.0, 2.5, 3.0, float(2**53), float("nan"), float("inf"), -float("inf")]
)
FLOATS = st.sampled_from([-1.0, -0.0, 0.0, 1.0, 2.5, 3.0, float("nan"), float("inf"), -float("inf")])
ROWS = st.lists(
    st.tuples(
        st.none() | st.sampled_from(["", "x", "y", "é"]),
        st.none() | INTS,
        st.none() | LONGS,
        st.none() | st.booleans(),
        st.none() | DOUBLES,
        st.none() | FLOATS,
    ),
    min_size=1,
    max_size=12,
)
NUMBERS = st.sampled_from(
    [
        "-1",
        "0",
        "1",
        "2",
        "1 + 1",
        "3L",
        "9007199254740993L",
        "0.1",
        "2.5",
        "2.5f",
        "0.1f",
        "1.0 / 0.0",
        "2 * 1.5",
        "3 - 4",
    ]
)
TEXTS = st.sampled_from(["''", "'x'", "'y'"])


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    kind = draw(st.integers(0, 9))
    if kind <= 2:
        sides = ["a", draw(TEXTS)]
        return " == ".join(draw(st.permutations(sides)))
    if kind == 3:
        return f"{draw(st.sampled_from(NAMES))} is null"
    if kind == 4:
        return draw(
            st.sampled_from(["b == true", "b != false", "a != 'x'", "fails(n)", "d / n > 1.0", "n == l", "n + 1 == 2"])
        )
    sides = [draw(st.sampled_from(["n", "l", "d", "f"])), draw(NUMBERS)]
    operator = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "=="]))
    return f" {operator} ".join(draw(st.permutations(sides)))


CONDITIONS = st.recursive(
    comparisons(),
    lambda inner: (
        st.builds("({} and {})".format, inner, inner)
        | st.builds("({} or {})".format, inner, inner)
        | st.builds("not ({})".format, inner)
    ),
    max_leaves=5,
)


@st.composite
def queries(draw: st.DrawFn) -> list[str]:
    """Filters of up to 200 queries, by repetition of up to 12 different ones in any order."""
    filters = draw(
        st.lists(
            st.lists(CONDITIONS, max_size=2).map(lambda found: "".join(f"[{c}]" for c in found)),
            min_size=8,
            max_size=12,
        )
    )
    return filters * draw(st.sampled_from([1, 1, 1, 1, 2, 16]))


def outputs(filters: list[str], rows: list[tuple[Any, ...]], form: str, fewest: int) -> tuple[list[Any], list[str]]:
    app = STREAM + "\n".join(
        f"from S{condition} select {number} as query, a, n insert into Out{number % 2 if form == 'send' else ''};"
        for number, condition in enumerate(filters)
    )
    got: list[Any] = []
    errors: list[str] = []
    with (
        patch.object(RULE, "FEWEST_QUERIES", fewest),
        SiddhiManager() as manager,
        manager.create_siddhi_app_runtime(app) as runtime,
    ):
        assert ("predicate index" in runtime.explain()) <= (fewest == 1)
        runtime.handle_exception_with(lambda error, origin, events: errors.append(f"{origin} {error!r} {len(events)}"))
        for name in runtime.stream_definitions:
            if name.startswith("Out"):
                runtime.add_callback(name, lambda events, name=name: got.extend((name, event.data) for event in events))
        handler = runtime.input_handler("S")
        if form == "send":
            for row in rows:
                handler.send(row)
        elif form == "send_events":
            handler.send_events([Event(0, row) for row in rows])
        else:
            columns = [pa.array(column, kind) for column, kind in zip(zip(*rows), TYPES)]
            handler.send_batch(pa.table(columns, names=NAMES))
    return got, errors


@pytest.mark.parametrize("form", ["send", "send_events", "send_batch"])
@given(filters=queries(), rows=ROWS)
def test_the_index_changes_no_output_and_no_error(form: str, filters: list[str], rows: list[tuple[Any, ...]]) -> None:
    assert outputs(filters, rows, form, 1) == outputs(filters, rows, form, 10**9)
