"""The error handler for a change that a store drops gets the event that caused it."""

from __future__ import annotations

import pytest

from siddhi import Event
from siddhi._core.record.event import Layout, TypeCode
from siddhi.runtime.assembly.stores.changes import RunningChange
from tests.kit.stores import App, shelf_manager

APP = """
define stream I (s string, v int);
define stream C (name string, num int);
{store} @primaryKey('s') define table T (s string, v int);
from I insert into T;
from C[num < 10] update T set T.s = name on T.v == num;
from C[num >= 10] select name as s, num as v update or insert into T on T.v == v - 10;
"""
STORES = ["", "@store(type = 'shelf')", "@store(type = 'rdbms', url = 'sqlite://')"]


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest):
    if "rdbms" in request.param:
        pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    with shelf_manager() as (manager, _):
        app = App(manager, APP.format(store=request.param))
        app.told = []
        app.runtime.handle_exception_with(
            lambda error, origin, events: app.told.append((str(error), origin, [event.to_dict() for event in events]))
        )
        app.send("I", ("a", 1), ("b", 2))
        app.stored = request.param != ""
        yield app


def changes(app: App, *expected: dict[str, object]) -> None:
    assert [origin for _, origin, _ in app.told] == ["table 'T'"] * len(expected)
    assert all(text.startswith("a change of table 'T' is dropped: ") for text, _, _ in app.told)
    if app.stored:  # in memory it is the row that would have been
        assert [event for _, _, (event,) in app.told] == list(expected)


def test_a_single_event(app):
    app.send("C", ("a", 2))
    changes(app, {"name": "a", "num": 2})


def test_one_of_a_chunk(app):
    app.send_chunk("C", ("x", 1), ("b", 1), ("y", 5), ("x", 2))
    changes(app, {"name": "b", "num": 1}, {"name": "x", "num": 2})
    assert sorted(app.rows()) == [("b", 2), ("x", 1)]


def test_one_of_a_batch(app):
    app.runtime.input_handler("C").send_batch({"name": ["x", "b", "x"], "num": [1, 1, 2]})
    changes(app, {"name": "b", "num": 1}, {"name": "x", "num": 2})
    assert sorted(app.rows()) == [("b", 2), ("x", 1)]


def test_one_that_updates_or_inserts(app):
    app.send("C", ("a", 12))
    app.send_chunk("C", ("c", 20), ("b", 11))
    changes(app, {"s": "a", "v": 12}, {"s": "b", "v": 11})
    assert sorted(app.rows()) == [("a", 1), ("b", 2), ("c", 20)]


def test_a_dropped_row_has_the_attribute_names_of_the_table(app):
    app.send("I", ("a", 5))
    app.send_chunk("I", ("d", 6), ("b", 7))
    assert [text.partition(":")[0] for text, _, _ in app.told] == ["a row for table 'T' is dropped"] * 2
    assert [event for _, _, (event,) in app.told] == [{"s": "a", "v": 5}, {"s": "b", "v": 7}]


def test_the_handler_can_change_the_table(app):
    seen = []

    def told(error, origin, events) -> None:
        seen.append(events[0].data)
        if len(seen) == 1:
            app.send("C", ("b", 1))

    app.runtime.handle_exception_with(told)
    app.send_chunk("C", ("a", 2), ("y", 5), ("a", 2))
    if app.stored:
        assert seen == [("a", 2), ("b", 1), ("a", 2)]
    assert len(seen) == 3


def test_an_on_demand_change(app):
    app.runtime.query("select 'a' as s, 2 as v update T set T.s = s on T.v == v")
    changes(app, {"s": "a", "v": 2})


def test_a_change_without_parameters_of_events():
    layout = Layout(("s",), (TypeCode.STRING,))
    known = {"p0": "a"}
    change = RunningChange([known], [("a",)], layout)
    assert change.event(known) == Event(-1, ("a",))
    assert change.event({"p0": "a"}) is None


def test_a_store_can_report_values_of_its_own():
    with shelf_manager() as (manager, shelf):
        app = App(manager, APP.format(store=STORES[1]))
        shelf.context.refuse_change({"p0": "a", "p1": 5}, "it is full")
        shelf.context.refuse(("a",), "it is full")
        assert app.errors == [
            "a change of table 'T' is dropped: it is full",
            "a row for table 'T' is dropped: it is full",
        ]
