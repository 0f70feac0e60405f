"""Chunks that update or insert into a table with a key: changes are made first, then insertions."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi._core.record.event import live_events
from siddhi.extension import function
from siddhi.types import AttributeType
from tests.runtime.tables.test_tables import STREAMS, App

KEYED = "@primaryKey('v') {more} define table T (s string, v int);"
QUERIES = "from I insert into T; from C update or insert into T on T.s == s;"


@pytest.fixture
def manager() -> Iterator[SiddhiManager]:
    with SiddhiManager() as manager:
        yield manager


@pytest.fixture(params=["", "@index('s')"])
def app(request: pytest.FixtureRequest, manager: SiddhiManager) -> App:
    return App(manager, STREAMS + KEYED.format(more=request.param) + QUERIES)


def test_two_events_with_one_new_row_are_reported_as_that_row(app: App) -> None:
    app.send("I", ("y", 5))
    app.send_chunk("C", ("c", 9), ("c", 5), ("d", 1))
    assert app.rows() == [("y", 5), ("d", 1)]
    assert [(told.partition(":")[0], rows) for told, _, rows in app.errors] == [
        ("a row for table 'T' is dropped", [("c", 5)])
    ]


def test_a_key_released_by_a_later_event_is_free(app: App) -> None:
    app.send("I", ("z", 1))
    app.send_chunk("C", ("q", 1), ("z", 2))
    assert app.rows() == [("z", 2), ("q", 1)]
    assert app.errors == []


def test_a_single_event_equals_a_chunk_of_one(app: App) -> None:
    app.send("I", ("z", 1))
    app.send("C", ("q", 1), ("q", 3), ("q", 4), ("z", 4))
    app.send_chunk("C", ("n", 9))
    assert app.rows() == [("z", 1), ("q", 4), ("n", 9)]
    assert len(app.errors) == 2


def test_the_handler_of_a_refused_change_can_send_into_the_query(app: App) -> None:
    app.send("I", ("y", 5), ("z", 1))
    seen: list[str] = []

    def told(error: Exception, origin: str, events: object) -> None:
        seen.append(str(error))
        if len(seen) == 1:
            app.send("C", ("one", 10))
            assert app.rows()[-1] == ("one", 10)
            app.send_chunk("C", ("two", 11), ("three", 12))

    app.runtime.handle_exception_with(told)
    app.send_chunk("C", ("new", 7), ("z", 5), ("new", 8), ("last", 9))
    assert sorted(app.rows()) == [
        ("last", 9),
        ("new", 8),
        ("one", 10),
        ("three", 12),
        ("two", 11),
        ("y", 5),
        ("z", 1),
    ]
    assert len(seen) == 1


def test_the_handler_of_a_refused_row_can_send_into_the_query(app: App) -> None:
    app.send("I", ("y", 5))
    seen: list[str] = []

    def told(error: Exception, origin: str, events: object) -> None:
        seen.append(str(error))
        app.send_chunk("C", ("two", 11), ("three", 12))

    app.runtime.handle_exception_with(told)
    app.send_chunk("C", ("a", 5), ("b", 20), ("c", 21))
    assert app.rows() == [("y", 5), ("two", 11), ("three", 12), ("b", 20), ("c", 21)]
    assert len(seen) == 1


def test_if_an_event_fails_earlier_changes_stay_and_nothing_leaks(manager: SiddhiManager) -> None:
    app = App(
        manager,
        STREAMS
        + """define function check[python] return int {
            if data[0] == 13:
                raise ValueError('thirteen')
            return data[0]
        };
        @primaryKey('v') define table T (s string, v int);
        from I insert into T;
        from C update or insert into T set T.v = check(v) on T.s == s;""",
    )
    app.send("I", ("a", 1))
    gc.collect()
    alive = live_events()
    app.send_chunk("C", ("n", 2), ("m", 3), ("a", 13), ("x", 4))
    assert app.rows() == [("a", 1), ("n", 2), ("m", 3)]
    assert "thirteen" in app.errors[0][0]
    app.send_chunk("C", ("k", 5), ("k", 13), ("l", 6))  # it fails where it changes what another one brings
    assert app.rows() == [("a", 1), ("n", 2), ("m", 3), ("k", 5)]
    app.errors.clear()
    gc.collect()
    assert live_events() == alive + 3


def test_a_condition_that_sends_into_its_query_fails_and_the_app_continues(manager: SiddhiManager) -> None:
    running: list[SiddhiAppRuntime] = []

    @function("again", args=(AttributeType.STRING,), returns=AttributeType.STRING)
    def again(value: str) -> str:
        if value == "again":
            app.send_chunk("C", ("m", 7), ("n", 8))
        return value

    manager.set_extension("again", again)
    app = App(
        manager,
        STREAMS
        + "@primaryKey('v') define table T (s string, v int);"
        + "from I insert into T; from C update or insert into T on again(T.s) == s;",
    )
    running.append(app.runtime)
    app.send_chunk("C", ("again", 1), ("b", 2))
    assert "cannot change while a condition over its rows is evaluated" in app.errors[0][0]
    app.runtime.query("delete T on T.v > 0")
    app.errors.clear()
    app.send_chunk("C", ("c", 1), ("c", 2))
    assert app.rows() == [("c", 2)]
    assert app.errors == []


def test_other_receivers_get_the_chunk_unchanged(manager: SiddhiManager) -> None:
    app = App(manager, STREAMS + KEYED.format(more="") + "@info(name = 'q') " + QUERIES.partition("; ")[2])
    seen: list[tuple[object, ...]] = []
    app.runtime.add_query_callback(
        "q", lambda time, current, expired: seen.extend((e.timestamp, *e.data) for e in current)
    )
    app.send_chunk("C", ("c", 9), ("c", 5), ("d", 6))
    assert seen == [(1, "c", 9), (1, "c", 5), (1, "d", 6)]
    assert app.rows() == [("c", 5), ("d", 6)]


def test_all_records_are_released() -> None:
    gc.collect()
    before = live_events()
    with SiddhiManager() as manager:
        app = App(manager, STREAMS + KEYED.format(more="@index('s')") + QUERIES)
        for i in range(200):
            app.send_chunk("C", *[(f"s{i * k % 13}", (i + 3 * k) % 17) for k in range(1, 6)])
        app.errors.clear()
        assert live_events() - before == len(app.rows())
        del app
    del manager
    gc.collect()
    assert live_events() == before
