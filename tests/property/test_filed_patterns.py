"""Patterns and joins in a predicate index give the outputs, in the order, of the same app without it."""

from __future__ import annotations

from importlib import import_module
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime, SiddhiManager

RULE = import_module("siddhi.planner.rules.file_queries")  # the package has a function of this name

STREAMS = """
@app:playback
define stream S (a string, n int, d double);
define stream B (a string, n int, d double);
define function fails[python] return bool { return 1 // data[0] > 0 };
"""
TYPES = [pa.string(), pa.int32(), pa.float64()]

CONDITIONS = st.sampled_from(
    [
        "a == 'x'",
        "n == 1",
        "n == 2 and a == 'y'",
        "d > 1.0 and a == 'x'",
        "d > 0.0 and d < 2.0",
        "a == 'x' or a == 'y'",
        "n is null",
        "a == 'x' and fails(n)",
        "fails(n)",
        "n + 1 == 3",
    ]
)
FORMS = [
    "from every e1=S[{0}] -> e2=S[n == e1.n]",
    "from every e1=S[{0}] -> e2=S[{1}] within 3 sec",
    "from every e1=S[{0}] -> e2=B[a == e1.a] within 2 sec",
    "from every e1=S[{0}] -> e2=B[{1}] -> e3=S[d > e1.d]",
    "from every e1=B[{0}] -> e2=S[{1}]",
    "from every e1=S[{0}] -> e2=S[{1}]<0:2> -> e3=B within 4 sec",
    "from every e1=S[{0}] -> e2=B<0:2>",
    "from every e1=S[{0}] -> (e2=S[{1}] and e3=B)",
    "from every e1=S[{0}] -> not B[n == e1.n] for 2 sec",
    "from every e1=S[{0}], e2=S[{1}]",
    "from every e1=S[{0}], e2=S[{1}]+, e3=B",
    "from every e1=S[{0}]",
    "from every (e1=S[{0}] -> e2=B[{1}])",
    "from e1=S[{0}] -> e2=S[{1}]",
    "from every e1=S[{0}] -> e2=S[{1}]",
    "from every e1=S[a == 'x' and d > 1.0] -> e2=S[a == e1.a and d > e1.d] -> e3=S[e2.a == a]",
    "from every (e1=S[{0}] -> e2=S[{1}]) -> e3=S[{0}]",
    "from every e1=S[{0}] -> e2=S[{1}]<2:3> -> e3=S[a == 'y']",
    "from e1=S[{0}] -> every e2=S[{1}] -> e3=S[n == 1]",
    "from every (e1=S[{0}] and e2=S[{1}]) -> e3=S[{0}]",
    "from every e0=S[{0}]<0:2> -> e1=S[{1}]",
    "from every (e1=S[{0}] or e2=S[{1}]) -> e3=S[a == e1.a]",
    "@info(max.partial.matches = '2', partial.matches.overflow = 'drop.oldest') from every e1=S[{0}] -> e2=B[{1}]",
    "from S[{0}]#window.length(3) as e1 join B[{1}]#window.length(2) as e2 on e1.n == e2.n",
    "from S[{0}]#window.time(2 sec) as e1 left outer join B[{1}]#window.length(1) as e2 on e1.a == e2.a",
]
QUERIES = st.builds(lambda form, one, other: form.format(one, other), st.sampled_from(FORMS), CONDITIONS, CONDITIONS)
FEEDBACK = st.sampled_from(
    [
        "from S[n == 3] select a, n - 1 as n, d insert into B;",
        "from S[n == 2] select a, 1 as n, d insert into S;",
        "from B[n == 2] select 'x' as a, 1 as n, d insert into S;",
    ]
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["S", "S", "S", "B"]),
        st.sampled_from([0, 1, 500, 900, 2500, -700]),
        st.none() | st.sampled_from(["x", "y"]),
        st.none() | st.sampled_from([0, 1, 2, 3]),
        st.sampled_from([0.5, 1.5, 2.5]),
    ),
    min_size=2,
    max_size=16,
)


def send(runtime: SiddhiAppRuntime, rows: list[tuple[str, int, tuple[Any, ...]]], form: str) -> None:
    """Send each row alone, or rows of one stream that follow each other together."""
    runs: list[tuple[str, list[tuple[int, tuple[Any, ...]]]]] = []
    for stream, timestamp, values in rows:
        if form == "send" or not runs or runs[-1][0] != stream:
            runs.append((stream, []))
        runs[-1][1].append((timestamp, values))
    for stream, run in runs:
        handler = runtime.input_handler(stream)
        if form == "send":
            handler.send(run[0][1], timestamp=run[0][0])
        elif form == "send_events":
            handler.send_events([Event(timestamp, values) for timestamp, values in run])
        else:
            columns = [
                pa.array(column, kind) for column, kind in zip(zip(*(values for _, values in run)), TYPES, strict=True)
            ]
            handler.send_batch(pa.table(columns, names=["a", "n", "d"]), timestamp=[at for at, _ in run])


def outputs(
    queries: list[str], rows: list[tuple[str, int, tuple[Any, ...]]], form: str, fewest: int
) -> tuple[list[Any], list[str]]:
    app = STREAMS + "\n".join(
        query
        if "insert" in query
        else f"{query} select '{number}' as query, e1.a as a, e1.n as n insert into Out{number % 2 if form == 'send' else ''};"
        for number, query in enumerate(queries)
    )
    got: list[Any] = []
    errors: list[str] = []

    def prepare(runtime: SiddhiAppRuntime) -> None:
        runtime.handle_exception_with(lambda error, origin, events: errors.append(f"{origin} {error!r} {len(events)}"))
        for name in runtime.stream_definitions:
            if name.startswith("Out"):
                runtime.add_callback(name, lambda events, name=name: got.extend((name, event.data) for event in events))
        runtime.start()

    with patch.object(RULE, "FEWEST_QUERIES", fewest), SiddhiManager() as manager:
        half = len(rows) // 2
        runtime = manager.create_siddhi_app_runtime(app)
        assert ("predicate index" in runtime.explain()) <= (fewest == 1)
        prepare(runtime)
        send(runtime, rows[:half], form)
        snapshot = runtime.snapshot()
        send(runtime, rows[half:], form)
        runtime.shutdown()
        runtime = manager.create_siddhi_app_runtime(app)
        prepare(runtime)
        send(runtime, rows[half:], form)
        runtime.restore(snapshot)
        send(runtime, rows[half:], form)
        runtime.shutdown()
    return got, errors


@pytest.mark.parametrize("form", ["send", "send_events", "send_batch"])
@given(
    queries=st.lists(QUERIES | QUERIES | QUERIES | QUERIES | QUERIES | FEEDBACK, min_size=4, max_size=12),
    steps=ROWS,
)
def test_filed_patterns_and_joins_change_no_output(form: str, queries: list[str], steps: list[Any]) -> None:
    rows, time = [], 10_000
    for stream, step, *values in steps:
        time += step
        rows.append((stream, time, tuple(values)))
    assert outputs(queries, rows, form, 1) == outputs(queries, rows, form, 10**9)
