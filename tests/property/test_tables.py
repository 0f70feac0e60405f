"""Tables against a list of tuples, and indexed tables against scans, over any sequence of changes."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiAppRuntime, SiddhiManager

Row = tuple[Any, ...]

STREAMS = "".join(f"define stream {name} (s string, v int, d double);" for name in ("I", "D", "U", "P", "Q"))
TABLE = "define table T (s string, v int, d double);"
INDEXED = ("@index('s')", "@index('v')", "@index('d')", "@index('s') @index('v') @index('d')")

# Conditions as texts and as tests of a row against an event; null compares with nothing.
CONDITIONS: dict[str, Callable[[Row, Row], bool]] = {
    "T.s == s": lambda row, event: row[0] is not None and row[0] == event[0],
    "T.v == v": lambda row, event: None not in (row[1], event[1]) and row[1] == event[1],
    "T.v < v": lambda row, event: None not in (row[1], event[1]) and row[1] < event[1],
    "v <= T.v": lambda row, event: None not in (row[1], event[1]) and event[1] <= row[1],
    "T.d >= d": lambda row, event: None not in (row[2], event[2]) and row[2] >= event[2],
    "T.v > d": lambda row, event: None not in (row[1], event[2]) and row[1] > event[2],
    "T.v <= d": lambda row, event: None not in (row[1], event[2]) and row[1] <= event[2],
    "T.v == d": lambda row, event: None not in (row[1], event[2]) and row[1] == event[2],
    "T.d == v": lambda row, event: None not in (row[2], event[1]) and row[2] == event[1],
    "T.v != v": lambda row, event: None in (row[1], event[1]) or row[1] != event[1],
}
ALL = {
    **CONDITIONS,
    "T.s == s and T.v > v": lambda row, event: (
        CONDITIONS["T.s == s"](row, event) and None not in (row[1], event[1]) and row[1] > event[1]
    ),
    "T.s == s and T.v == v": lambda row, event: (
        CONDITIONS["T.s == s"](row, event) and CONDITIONS["T.v == v"](row, event)
    ),
    "T.s == s or T.v == v": lambda row, event: CONDITIONS["T.s == s"](row, event) or CONDITIONS["T.v == v"](row, event),
    "T.v > 0 and T.v < v": lambda row, event: row[1] is not None and row[1] > 0 and CONDITIONS["T.v < v"](row, event),
    "not (T.v < v)": lambda row, event: not CONDITIONS["T.v < v"](row, event),
    "v == 1 or T.s == s": lambda row, event: event[1] == 1 or CONDITIONS["T.s == s"](row, event),
    "v == 1 and T.s == s": lambda row, event: event[1] == 1 and CONDITIONS["T.s == s"](row, event),
}

rows = st.tuples(
    st.sampled_from(["a", "b", "c", "", None]),
    st.one_of(st.none(), st.integers(-3, 3)),
    st.one_of(st.none(), st.sampled_from([-2.5, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0, float("inf")])),
)
chunks = st.lists(rows, min_size=1, max_size=4)
steps = st.lists(st.tuples(st.sampled_from("IIDUPQ"), chunks), max_size=12)


class Twin:
    """What the queries below say, over a list."""

    def __init__(self, condition: Callable[[Row, Row], bool]) -> None:
        self.condition = condition
        self.rows: list[list[Any]] = []
        self.out: list[Any] = []

    def take(self, stream: str, chunk: list[Row]) -> None:
        before = list(self.rows)
        asking: list[Any] = []
        matches: list[Any] = []
        for event in chunk:
            found = [row for row in self.rows if self.condition(tuple(row), event)]
            if stream == "I":
                self.rows.append(list(event))
            elif stream == "D":
                self.rows = [row for row in self.rows if not any(row is other for other in found)]
            elif stream == "U":
                self.update(found, event)
            elif stream == "P":
                old = [row for row in found if any(row is other for other in before)]
                self.update(old or found, event)
                if not found:
                    self.rows.append(list(event))
            elif found:
                asking.append(event[0])
                matches += [(event[0], *row) for row in found]
        self.out += [*asking, *matches]

    def update(self, found: list[list[Any]], event: Row) -> None:
        for row in found:
            row[1] = None if None in (row[1], event[1]) else row[1] + event[1]
            row[2] = event[2]


def joined(condition: str) -> str:
    """The condition with the event's attributes qualified by J."""
    return re.sub(r"(?<![\w.'])([svd])(?!\w)", r"J.\1", condition)


def run(manager: SiddhiManager, table: str, condition: str) -> tuple[SiddhiAppRuntime, list[Any]]:
    runtime = manager.create_siddhi_app_runtime(
        f"{STREAMS}{table}{TABLE}"
        f"from I insert into T; from D delete T on {condition};"
        f"from U update T set T.v = T.v + v, T.d = d on {condition};"
        f"from P update or insert into T set T.v = T.v + v, T.d = d on {condition};"
        f"from Q[({condition}) in T] select s insert into O;"
        f"from Q select s, v, d insert into J;"
        f"from J join T on {joined(condition)} select J.s as q, T.s as s, T.v as v, T.d as d insert into M;"
    )
    out: list[Any] = []
    runtime.add_callback("O", lambda events: out.extend(event[0] for event in events))
    runtime.add_callback("M", lambda events: out.extend(event.data for event in events))
    runtime.start()
    return runtime, out


@given(st.sampled_from(sorted(ALL)), st.sampled_from(["", *INDEXED]), steps)
def test_a_table_equals_the_oracle(condition: str, table: str, steps: list[tuple[str, list[Row]]]) -> None:
    twin = Twin(ALL[condition])
    with SiddhiManager() as manager:
        runtime, out = run(manager, table, condition)
        clock = count()
        for stream, chunk in steps:
            # Each row has a time of its own: equal ones stay two in a table with an index, too.
            runtime.input_handler(stream).send_events([Event(next(clock), row) for row in chunk])
            twin.take(stream, chunk)
            assert [event.data for event in runtime.query("from T")] == [tuple(row) for row in twin.rows]
        assert out == twin.out


@given(
    st.sampled_from(sorted(ALL)),
    st.sampled_from(["@primaryKey('s')", "@primaryKey('v')", "@primaryKey('s', 'v')"]),
    steps,
)
def test_a_table_with_a_key_has_unique_keys_and_finds_the_rows_of_a_scan(
    condition: str, table: str, steps: list[tuple[str, list[Row]]]
) -> None:
    positions = [position for position, name in enumerate("sv") if f"'{name}'" in table]
    with SiddhiManager() as manager:
        runtime, _ = run(manager, table, condition)
        runtime.handle_exception_with(lambda *_: None)
        for stream, chunk in steps:
            runtime.input_handler(stream).send_events([Event(1, row) for row in chunk])
            held = [event.data for event in runtime.query("from T")]
            keys = [tuple(row[position] for position in positions) for row in held]
            # A change leaves a row of several attributes filed where it was, so that two may come to have one key.
            assert len(positions) > 1 or len(keys) == len(set(keys))
            for s in "abc":
                for v in (-1, 0, 2):
                    for test, wanted in (
                        (f"s == '{s}' and v == {v}", [row for row in held if row[0] == s and row[1] == v]),
                        (f"v > {v + 0.5}", [row for row in held if row[1] is not None and row[1] > v + 0.5]),
                        (f"s == '{s}'", [row for row in held if row[0] == s]),
                    ):
                        assert [event.data for event in runtime.query(f"from T on {test}")] == wanted
        saved = runtime.snapshot()
        held = runtime.query("from T")
        runtime.restore(saved)
        assert runtime.query("from T") == held
