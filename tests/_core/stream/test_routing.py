from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiManager, extension
from siddhi._core.record.event import Layout, TypeCode
from siddhi._core.stream.routing import Dispatch
from siddhi.extension import Registry
from siddhi.types import AttributeType

DEFINITION = "define stream S (a string, n int, l long, b bool, k int);"
VALUES: dict[str, list[Any]] = {
    "a": ["", "x", "y", "é", "x" * 20],
    "n": [-(2**31), -1, 0, 1, 7],
    "l": [-(2**63), -1, 0, 1, 2**40],
    "b": [False, True],
}


def literal(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else f"{value}{'L' if name == 'l' else ''}"


@st.composite
def questions(draw: st.DrawFn) -> list[tuple[str | None, Any, int | None]]:
    """For each query the attribute and value it asks for (None: it takes every event), and a second condition on k."""
    attribute = draw(st.sampled_from(sorted(VALUES)))
    guards = st.tuples(
        st.just(attribute), st.sampled_from(VALUES[attribute]).filter(lambda value: value not in (-(2**31), -(2**63)))
    )
    others = st.sampled_from([(None, None), ("k", 1)])
    questions = draw(st.lists(guards, min_size=8, max_size=12)) + draw(st.lists(others, max_size=3))
    return [(*question, draw(st.sampled_from([None, 1]))) for question in draw(st.permutations(questions))]


ROWS = st.lists(
    st.tuples(*(st.none() | st.sampled_from(VALUES[name]) for name in ("a", "n", "l", "b")), st.sampled_from([0, 1])),
    max_size=20,
)


def app_of(guards: list[tuple[str | None, Any, int | None]], *, separate: bool) -> str:
    queries = []
    for number, (name, value, second) in enumerate(guards):
        conditions = [f"{name} == {literal(name, value)}"] if name else []
        conditions += ["k == 1"] if second else []
        where = f"[{' and '.join(conditions)}]" if conditions else ""
        target = f"Out{number}" if separate else "Out"
        queries.append(f"from S{where} select {number} as query, a, n, l, b, k insert into {target};")
    return DEFINITION + "\n".join(queries)


def passes(question: tuple[str | None, Any, int | None], row: tuple[Any, ...]) -> bool:
    name, value, second = question
    found = True if name is None else row[("a", "n", "l", "b", "k").index(name)] == value
    return found and (second is None or row[4] == 1)


@pytest.mark.parametrize("form", ["send", "send_events", "send_batch"])
@pytest.mark.parametrize("separate", [False, True])
@given(guards=questions(), rows=ROWS)
def test_every_query_gets_its_matching_events_in_order(
    form: str, separate: bool, guards: list[tuple[str | None, Any, int | None]], rows: list[tuple[Any, ...]]
) -> None:
    got: list[tuple[Any, ...]] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app_of(guards, separate=separate)) as runtime:
        for name in runtime.stream_definitions:
            if name.startswith("Out"):
                if form == "send_batch":
                    runtime.add_batch_callback(
                        name, lambda batch: got.extend(tuple(row.values()) for row in pa.table(batch).to_pylist())
                    )
                else:
                    runtime.add_callback(name, lambda events: got.extend(event.data for event in events))
        handler = runtime.input_handler("S")
        if form == "send":
            for row in rows:
                handler.send(row)
        elif form == "send_events" and rows:
            handler.send_events([Event(0, row) for row in rows])
        elif form == "send_batch":
            types = [pa.string(), pa.int32(), pa.int64(), pa.bool_(), pa.int32()]
            columns = list(zip(*rows)) or [()] * 5
            handler.send_batch(
                pa.table([pa.array(column, kind) for column, kind in zip(columns, types)], names=list("anlbk"))
            )
    expected = [(number, *row) for row in rows for number, question in enumerate(guards) if passes(question, row)]
    if separate or form == "send_events":  # each query alone sees its rows in order, or a chunk goes query by query
        got, expected = sorted(got, key=lambda row: row[0]), sorted(expected, key=lambda row: row[0])
    assert got == expected


def test_a_receiver_added_during_an_event_gets_it() -> None:
    app = "define stream S (a string);" + "".join(f"from S[a == 'v{i}'] select a insert into Out;" for i in range(10))
    seen: list[Any] = []
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:

        def late(events: list[Event]) -> None:
            seen.append(("late", events[0].data))

        def first(events: list[Event]) -> None:
            seen.append(("first", events[0].data))
            if len(seen) == 1:
                runtime.add_callback("S", late)

        runtime.add_callback("Out", first)
        runtime.input_handler("S").send(("v3",))
        runtime.input_handler("S").send(("v4",))
        runtime.input_handler("S").send(("none",))
    assert seen == [
        ("first", ("v3",)),
        ("late", ("v3",)),
        ("first", ("v4",)),
        ("late", ("v4",)),
        ("late", ("none",)),
    ]


def test_a_failing_query_skips_later_receivers_only() -> None:
    app = "define stream S (a string);" + "".join(
        f"from S[a == 'v{i % 9}'] select a, fail(a) as failed insert into Out;" for i in range(10)
    )
    errors: list[Exception] = []
    seen: list[Any] = []
    manager = SiddhiManager()

    @extension.function("fail", args=(AttributeType.STRING,), returns=AttributeType.STRING, registry=Registry())
    def fail(value: str) -> str:
        if value == "v0":
            raise ValueError(value)
        return value

    manager.set_extension("fail", fail)
    with manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: errors.append(error))
        runtime.add_callback("Out", lambda events: seen.extend(event.data for event in events))
        for value in ("v0", "v1", "v0"):
            runtime.input_handler("S").send((value,))
    assert seen == [("v1", "v1")]
    assert len(errors) == 2


def test_only_values_with_one_representation_are_looked_up() -> None:
    with pytest.raises(TypeError, match="events cannot be looked up"):
        Dispatch(Layout(("d",), (TypeCode.DOUBLE,)), [((0, 1.0, -1, False, 0, 0),)])
    with pytest.raises(TypeError, match="must be a string, not 1"):
        Dispatch(Layout(("a",), (TypeCode.STRING,)), [((0, 1, -1, False, 0, 0),)])
    with pytest.raises(TypeError, match="an interval needs"):
        Dispatch(Layout(("a",), (TypeCode.STRING,)), [((-1, None, 0, False, 0, 0),)])
