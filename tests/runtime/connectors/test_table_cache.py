"""Caches of stores: cached rows, eviction, and refresh."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event
from siddhi.errors import SiddhiAppError
from siddhi.runtime.connectors.table_cache import CachePolicy, RowCache
from tests.kit.connectors import StoppedTime
from tests.kit.stores import App, shelf_manager


def cache(policy: str, size: int = 2, **times: int | None) -> tuple[RowCache, list[int]]:
    clock = [0]
    settings = {"retention_ms": None, "purge_ms": None, **times}
    return RowCache(size, CachePolicy(policy), settings["retention_ms"], settings["purge_ms"], lambda: clock[0]), clock


@pytest.mark.parametrize(("policy", "left"), [("FIFO", "bc"), ("LRU", "ac"), ("LFU", "ac")])
def test_eviction_policies(policy, left):
    rows, _ = cache(policy)
    rows.put("a", (1,))
    rows.put("b", (2,))
    assert rows.get("b") == (2,)
    assert rows.get("a") == rows.get("a") == (1,)
    rows.put("c", (3,))
    assert "".join(key for key in "abc" if rows.get(key)) == left
    assert len(rows) == 2


def test_of_equal_rows_the_oldest_is_evicted():
    rows, _ = cache("LFU", 3)
    for key in "abc":
        rows.put(key, (key,))
        rows.get(key)
    rows.put("d", ("d",))
    rows.put("e", ("e",))
    assert [key for key in "abcde" if rows.get(key)] == ["b", "c", "e"]


def test_rows_expire():
    rows, clock = cache("FIFO", 10, retention_ms=100)
    rows.put("a", (1,))
    clock[0] = 99
    assert rows.get("a") == (1,)
    clock[0] = 100
    assert rows.get("a") is None
    assert len(rows) == 0


def test_unused_rows_are_purged():
    rows, clock = cache("LRU", 10, retention_ms=100, purge_ms=50)
    rows.put("a", (1,))
    clock[0] = 150
    rows.put("b", (1,))
    assert len(rows) == 1


@given(
    st.sampled_from(list(CachePolicy)),
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from(["get", "put", "drop"]), st.integers(0, 6))),
)
def test_cached_rows_were_added_and_the_size_is_limited(policy, size, steps):
    rows = RowCache(size, policy, None, None, lambda: 0)
    last: dict[int, tuple] = {}
    for number, (step, key) in enumerate(steps):
        if step == "put":
            last[key] = (number,)
            rows.put(key, last[key])
            assert rows.get(key) == last[key]
        elif step == "drop":
            rows.drop(key)
            last.pop(key, None)
        else:
            assert rows.get(key) in (None, last.get(key))
        assert len(rows) <= size


APP = """
@app:playback
define stream I (s string, v int); define stream C (s string, v int); define stream J (s string, v int);
@store(type = 'shelf', @cache(size = '2', cache.policy = 'LRU', retention.period = '1 sec'))
@primaryKey('s') define table T (s string, v int);
from I insert into T;
from C[v == 0] delete T on T.s == s;
from C[v > 0 and v < 10] update T on T.s == s;
from C[v >= 10 and v < 100] update or insert into T on T.s == s;
from C[v >= 100] update T set T.v = 7 on T.v > 0;
from J join T on T.s == J.s and T.v > J.v select T.s, T.v insert into O;
"""


@pytest.fixture
def app():
    with shelf_manager() as (manager, shelf):
        started = App(manager, APP)
        started.shelf = shelf
        yield started


def asked(app: App, stream: str, row: tuple, at: int = 1) -> int:
    """How often the shelf was asked for a row."""
    before = app.shelf.calls.count("find")
    app.runtime.input_handler(stream).send(row, timestamp=at)
    return app.shelf.calls.count("find") - before


def crowd(app: App) -> None:
    """More rows than there is room for: from here on they are found by key alone."""
    app.shelf.rows = [(f"k{i}", 1) for i in range(5)] + [("a", 1), ("b", 2)]
    app.runtime.query("delete T on T.s == 'nobody'")
    for row in (("x1", 1), ("x2", 1), ("x3", 1)):
        app.runtime.input_handler("I").send(row, timestamp=1)


def test_a_row_is_read_from_the_store_once(app):
    crowd(app)
    assert [asked(app, "J", ("a", 0)), asked(app, "J", ("a", 0)), asked(app, "J", ("a", 5))] == [1, 0, 0]
    assert app.out == [("a", 1), ("a", 1)]
    assert [asked(app, "J", ("y", 0)), asked(app, "J", ("y", 0))] == [1, 1]


def test_an_inserted_row_is_cached(app):
    crowd(app)
    assert asked(app, "J", ("x3", 0)) == 0
    app.runtime.input_handler("I").send(("a", 9), timestamp=1)
    assert asked(app, "J", ("a", 0)) == 1
    assert app.out == [("x3", 1), ("a", 1)]


def test_changed_rows_are_read_again(app):
    crowd(app)
    assert [asked(app, "J", ("a", 0)), asked(app, "J", ("b", 0))] == [1, 1]
    for change, value in ((("a", 5), 5), (("a", 50), 50), (("z", 100), 7)):
        app.runtime.input_handler("C").send(change, timestamp=1)
        assert asked(app, "J", ("a", 0)) == 1
        assert app.out[-1] == ("a", value)
    app.runtime.input_handler("C").send(("a", 0), timestamp=1)
    app.out.clear()
    asked(app, "J", ("a", 0))
    assert app.out == []
    app.ask("select 'a' as s, 3 as v insert into T")
    asked(app, "J", ("a", 0))
    app.ask("update T set T.v = 4 on T.s == 'a'")
    asked(app, "J", ("a", 0))
    assert app.out == [("a", 3), ("a", 4)]


def test_rows_are_read_again_after_they_expire(app):
    crowd(app)
    assert asked(app, "J", ("a", 0), 10) == 1
    app.shelf.rows = [("a", 2), *app.shelf.rows[:3]]
    assert asked(app, "J", ("a", 0), 1009) == 0
    assert asked(app, "J", ("a", 0), 1010) == 1
    assert app.out == [("a", 1), ("a", 1), ("a", 2)]


# --- a store that fits


WHOLE = """
@app:playback
define stream I (s string, v int); define stream C (s string, v int); define stream J (s string, v int);
@store(type = 'shelf', @cache(size = '3'{times})) {keys} @index('v') define table T (s string, v int);
from I insert into T;
from C[v == 0] delete T on T.v >= v;
from C[v > 0] update or insert into T on T.s == s;
from C[v < 0] update T set T.v = v on T.s == s;
from J join T on T.v > J.v select T.s, T.v insert into O;
from J[(T.v == v) in T] select s, v insert into O;
"""


@pytest.fixture
def whole():
    with shelf_manager() as (manager, shelf):

        def start(times: str = "", keys: str = "'s'", *rows: tuple) -> App:
            shelf.rows = list(rows)
            started = App(manager, WHOLE.format(times=times, keys=f"@primaryKey({keys})" if keys else ""))
            started.shelf = shelf
            return started

        yield start


def finds(app: App) -> int:
    return app.shelf.calls.count("find")


def test_a_small_store_is_read_once_when_it_is_connected(whole):
    app = whole("", "'s'", ("a", 1), ("b", 2))
    assert finds(app) == 1
    app.runtime.input_handler("J").send(("x", 1), timestamp=1)
    assert app.out == [("b", 2), ("x", 1)]
    assert app.ask("from T on v > 0 select s, v order by v desc") == [("b", 2), ("a", 1)]
    assert app.ask("from T select count() as n") == [(2,)]
    assert finds(app) == 1


def test_changes_are_applied_to_a_complete_cache(whole):
    app = whole("", "'s'", ("a", 1), ("b", 2))
    for stream, row in (("I", ("c", 3)), ("I", ("a", 9)), ("C", ("a", 5)), ("C", ("b", -4))):
        app.runtime.input_handler(stream).send(row, timestamp=1)
        assert sorted(app.rows()) == sorted(app.shelf.rows)
    app.runtime.input_handler("C").send(("", 0), timestamp=1)
    assert app.rows() == app.shelf.rows == [("b", -4)]
    assert finds(app) == 1 + app.shelf.calls.count("update_or_add") + 1
    assert len(app.errors) == 1
    assert "dropped" in app.errors[0]


def test_a_store_that_outgrew_the_cache_is_queried(whole):
    app = whole("", "'s'", ("a", 1), ("b", 2))
    app.runtime.input_handler("I").send_events([Event(1, (f"k{i}", i)) for i in range(3)])
    before = finds(app)
    assert len(app.rows()) == 5
    assert finds(app) == before + 1
    assert app.ask("from T on s == 'k2' select v") == [(2,)]
    assert finds(app) == before + 1
    assert app.ask("from T on s == 'a' select v") == [(1,)]
    assert finds(app) == before + 2


def test_a_smaller_store_is_cached_again(whole):
    app = whole("", "'s'", *[(f"k{i}", i) for i in range(5)])
    app.shelf.rows = [("a", 1)]
    for at, asks in ((9_000, 2), (10_000, 2), (10_001, 0)):
        # A question, and whether it fits: found out, all is read.
        before = finds(app)
        app.runtime.input_handler("J").send(("x", -9), timestamp=at)
        assert (at, finds(app) - before) == (at, asks)
    assert app.out == [("a", 1)] * 3


def test_rows_changed_by_others_are_visible_after_they_expire(whole):
    app = whole(", retention.period = '1 min', purge.interval = '1 sec'", "'s'", ("a", 1))
    app.shelf.rows = [("b", 2)]
    app.runtime.input_handler("J").send(("x", 0), timestamp=999)
    app.runtime.input_handler("J").send(("x", 0), timestamp=1000)
    assert app.out == [("a", 1), ("b", 2)]


def test_if_the_store_refuses_a_change_all_rows_are_read_again(whole):
    app = whole("", "'s'", ("a", 1))
    app.shelf.rows.append(("b", 2))
    app.runtime.input_handler("I").send(("b", 7), timestamp=1)
    assert app.rows() == [("a", 1), ("b", 2)]
    assert len(app.errors) == 1


def test_if_a_change_fails_all_rows_are_read_again(whole):
    app = whole("", "'s'", ("a", 1))
    app.shelf.broken = ValueError("moths")
    app.runtime.input_handler("I").send(("b", 7), timestamp=1)
    app.shelf.broken = None
    assert app.rows() == [("a", 1)]
    assert "moths" in app.errors[0]


def test_changed_rows_with_composite_keys_are_read_again(whole):
    app = whole("", "'s', 'v'", ("a", 1), ("b", 2))
    app.runtime.input_handler("C").send(("b", -4), timestamp=1)
    assert app.rows() == [("a", 1), ("b", -4)]
    assert app.ask("from T on s == 'b' and v == -4 select s") == [("b",)]


def test_a_table_without_keys_is_cached_while_it_fits(whole):
    app = whole(", retention.period = '1 sec'", "", ("a", 1), ("a", 1))
    for stream, row in (("I", ("a", 3)), ("C", ("a", 5)), ("C", ("a", -4))):
        app.runtime.input_handler(stream).send(row, timestamp=1)
        assert app.rows() == app.shelf.rows
    before = finds(app)
    assert app.ask("from T on s == 'a' select v") == [(-4,)] * 3
    assert finds(app) == before
    app.runtime.input_handler("I").send(("b", 6), timestamp=2)
    for _ in range(2):
        before = finds(app)
        assert app.ask("from T on s == 'a' select v") == [(-4,)] * 3
        assert finds(app) == before + 1
    app.runtime.input_handler("C").send(("", 0), timestamp=3)
    app.runtime.input_handler("J").send(("x", -9), timestamp=6000)
    before = finds(app)
    assert app.rows() == app.shelf.rows == [("a", -4)] * 3
    assert finds(app) == before


def test_a_store_without_keys_that_others_emptied_is_empty(whole):
    app = whole(", retention.period = '1 sec'", "", ("a", 1), ("b", 2))
    app.shelf.rows = []
    app.runtime.input_handler("J").send(("x", 0), timestamp=1000)
    assert app.out == []
    assert app.rows() == []


def test_a_store_disconnected_at_the_start_is_read_later():
    time = StoppedTime()
    with shelf_manager(retries=time) as (manager, shelf):
        shelf.rows, shelf.down = [("a", 1)], True
        app = App(manager, WHOLE.format(times="", keys="@primaryKey('s')"))
        shelf.down = False
        time.run()
        assert app.rows() == [("a", 1)]
        shelf.down = True
        # What is in memory can be read all the same.
        assert app.rows() == [("a", 1)]
        shelf.down = False


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        ("@cache | @primaryKey('s')", "requires the element 'size'"),
        ("@cache(size = '0') | @primaryKey('s')", "positive"),
        ("@cache(size = '9', cache.policy = 'MRU') | @primaryKey('s')", "use one of FIFO, LRU, LFU"),
        ("@cache(size = '9', policy = 'LRU') | @primaryKey('s')", "unknown element 'policy' in @cache"),
        ("@cache(size = '9', retention.perod = '1 sec') | @primaryKey('s')", "did you mean 'retention.period'"),
        ("@cache(size = '9', retention.period = 'soon') | @primaryKey('s')", "invalid duration"),
        ("@cache(size = '9', purge.interval = '-1') | @primaryKey('s')", "invalid duration"),
    ],
)
def test_invalid_caches_are_refused(annotations, message):
    store, _, keys = annotations.partition("|")
    with shelf_manager() as (manager, _), pytest.raises(SiddhiAppError, match=message) as caught:
        manager.create_siddhi_app_runtime(f"@store(type = 'shelf', {store}) {keys} define table T (s string);")
    assert caught.value.code == "E315"
    assert caught.value.line == 1
