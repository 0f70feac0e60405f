"""Classical queries that insert into temporal point streams."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi.errors import CtiViolation, SiddhiTemporalError
from siddhi.temporal import MAX, TemporalEvent
from tests.kit.running import running

STREAMS = """
@temporal(model = 'point') define stream S (id int, value int);
@temporal(model = 'point', policy = '{}') define stream T (id int, total long);
"""
SUMS = "from S#window.time(9) select id, sum(value) as total insert into T;"
Points = list[tuple[int, tuple[int, int]]]


def filled(points: Points, query: str = SUMS, *, policy: str = "error", ctis: tuple[int, ...] = (30, MAX)) -> list[Any]:
    """Return the items of T for points that arrive before the CTIs."""
    items: list[TemporalEvent] = []
    with running(STREAMS.format(policy) + query) as runtime:
        runtime.add_temporal_callback("T", items.extend)
        handler: Any = runtime.input_handler("S")
        for start, row in points:
            handler.point(start, row)
        for cti in ctis:
            handler.cti(cti)
    return items


def test_a_row_starts_at_its_timestamp_and_leaves_with_the_cti() -> None:
    items = filled([(20, (1, 5)), (10, (2, 3)), (40, (3, 1))])
    assert items == [
        ("point", 10, 11, (2, 3)),
        ("point", 20, 21, (1, 5)),
        ("cti", 30, None, None),
        ("point", 40, 41, (3, 1)),
        ("cti", MAX, None, None),
    ]


@given(data=st.data())
def test_the_order_of_arrival_does_not_matter(data: st.DataObject) -> None:
    starts = data.draw(st.lists(st.integers(0, 60), unique=True, max_size=10))
    points = [(start, (number % 3, number)) for number, start in enumerate(sorted(starts))]
    query = (
        SUMS + "from every e1 = S[id == 0] -> not S[id == 1] for 5 millisec select 7 as id, 1L as total insert into T;"
    )
    assert filled(points, query) == filled(data.draw(st.permutations(points)), query)


@given(starts=st.lists(st.integers(0, 60), unique=True, max_size=10), cti=st.integers(0, 60))
def test_a_fill_shows_what_a_classical_stream_shows(starts: list[int], cti: int) -> None:
    points = [(start, (number % 3, number)) for number, start in enumerate(sorted(starts))]
    rows: list[Any] = []
    app = STREAMS.replace("T (", "Other (").format("error") + SUMS
    with running(app) as runtime:
        runtime.add_callback("T", lambda events: rows.extend((e.timestamp, e.data) for e in events))
        handler: Any = runtime.input_handler("S")
        for start, row in points:
            handler.point(start, row)
        handler.cti(MAX)
    items = filled(points, ctis=(cti, MAX))
    assert [(item.start, item.data) for item in items if item.kind == "point"] == rows


def test_temporal_queries_work_on_what_classical_queries_insert() -> None:
    items: list[TemporalEvent] = []
    query = (
        "from every e1 = S[value > 4] -> e2 = S[value < 3] select e1.id, 1L as total insert into T;"
        "from T#window.tumbling(10, 0, 'clip') select count() as n insert into PerWindow;"
    )
    with running(STREAMS.format("error") + query) as runtime:
        runtime.add_temporal_callback("PerWindow", items.extend)
        handler: Any = runtime.input_handler("S")
        handler.insert_batch({"at": [25, 20, 10], "id": [3, 2, 1], "value": [1, 5, 9]}, start="at", cti=30)
    assert items == [("insert", 20, 30, (2,)), ("cti", 30, None, None)]


LATE = "from S#window.lengthBatch(2) select id, 1L as total insert into T;"


def test_rows_of_older_batches_fall_under_the_policy() -> None:
    points = [(10, (1, 1)), (20, (2, 1)), (30, (3, 1)), (40, (4, 1))]
    items = filled(points, LATE, policy="drop", ctis=(15, 25, MAX))
    starts = [item.start for item in items if item.kind == "point"]
    assert starts == sorted(starts)
    assert 40 in starts


def test_a_refused_row_goes_to_the_exception_handler() -> None:
    errors: list[Exception] = []
    app = STREAMS.format("error") + "define stream C (id int); from C select id, 1L as total insert into T;"
    app += "from S#window.length(1) select id insert into Out;"
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        runtime.handle_exception_with(lambda error, origin, events: errors.append(error))
        items: list[TemporalEvent] = []
        runtime.add_temporal_callback("T", items.extend)
        s: Any = runtime.input_handler("S")
        c: Any = runtime.input_handler("C")
        s.cti(100)
        c.send((1,), 40)
        c.send((2,), 120)
        s.cti(MAX)
    assert [type(error) for error in errors] == [CtiViolation]
    assert [item.data for item in items if item.kind == "point"] == [(2, 1)]


def test_a_refused_row_goes_to_the_fault_stream() -> None:
    app = STREAMS.format("error").replace(
        "@temporal(model = 'point', policy", "@OnError(action = 'STREAM') @temporal(model = 'point', policy"
    )
    app += "define stream C (id int); from C select id, 1L as total insert into T;"
    app += "from S#window.length(1) select id insert into Out; from !T select id insert into Faults;"
    with running(app) as runtime:
        rows: list[Any] = []
        runtime.add_callback("Faults", lambda events: rows.extend(event.data for event in events))
        s: Any = runtime.input_handler("S")
        c: Any = runtime.input_handler("C")
        s.cti(100)
        c.send((1,), 40)
    assert rows == [(1,)]


def test_a_filled_stream_has_no_input_handler() -> None:
    with (
        running(STREAMS.format("error") + SUMS) as runtime,
        pytest.raises(SiddhiTemporalError, match="filled by queries"),
    ):
        runtime.input_handler("T")


def test_advance_makes_ctis_of_what_classical_streams_insert() -> None:
    app = """
    define stream C (id int);
    @temporal(model = 'point', policy = 'drop', @advance(count = '1', delay = '5')) define stream T (id int);
    from C select id insert into T;
    """
    with running(app) as runtime:
        items: list[TemporalEvent] = []
        runtime.add_temporal_callback("T", items.extend)
        c: Any = runtime.input_handler("C")
        for time, row in [(10, 1), (30, 2), (27, 3), (50, 4)]:
            c.send((row,), time)
    starts = [(item.start, item.data) for item in items if item.kind == "point"]
    assert starts == [(10, (1,)), (27, (3,)), (30, (2,))]


def test_a_snapshot_contains_what_waits_in_a_filled_stream() -> None:
    app = "@app:name('Filled')" + STREAMS.format("error") + SUMS
    with running(app) as runtime:
        handler: Any = runtime.input_handler("S")
        handler.point(10, (1, 5))
        handler.point(20, (2, 6))
        handler.cti(15)
        state = runtime.snapshot()
    with running(app) as runtime:
        items: list[TemporalEvent] = []
        runtime.restore(state)
        runtime.add_temporal_callback("T", items.extend)
        runtime.input_handler("S").cti(30)  # type: ignore[union-attr]
    assert [item.data for item in items if item.kind == "point"] == [(2, 6)]
