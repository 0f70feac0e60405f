"""Rows of a batch are written to a database together, with the same results as one by one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from siddhi import SiddhiManager
from siddhi.persistence import InMemoryErrorStore
from tests.kit import postgres
from tests.kit.connectors import StoppedTime
from tests.kit.stores import App, shelf_manager

sa = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

STREAMS = "define stream I (s string, v int); define stream C (s string, v int);"


@pytest.fixture
def time():
    return StoppedTime()


@pytest.fixture
def manager(time) -> Iterator[SiddhiManager]:
    with SiddhiManager(retries=time) as manager:
        yield manager


@pytest.fixture
def file(tmp_path):
    return tmp_path / "tables.db"


@pytest.fixture
def work():
    """How often a statement that changes rows reached a database, with how many rows."""
    seen: list[tuple[str, int]] = []

    def note(connection, cursor, statement, parameters, context, executemany) -> None:
        word = statement.split()[0]
        if word in ("INSERT", "UPDATE", "DELETE", "SELECT"):
            seen.append((word, len(parameters) if executemany else 1))

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    yield seen
    sa.event.remove(sa.Engine, "before_cursor_execute", note)


def app(manager: SiddhiManager, url: str, *queries: str, keys: str = "@primaryKey('s')", streams: str = STREAMS) -> App:
    table = f"@store(type = 'rdbms', url = '{url}') {keys} define table T (s string, v int);"
    return App(manager, f"{streams} {table} from I insert into T; {' '.join(queries)}")


def send_batch(app: App, stream: str, rows: list[tuple]) -> None:
    app.runtime.input_handler(stream).send_batch({"s": [row[0] for row in rows], "v": [row[1] for row in rows]})


def at(file) -> str:
    return f"sqlite:///{file.as_posix()}?timeout=0"


ROWS = [(f"k{i}", i) for i in range(20)]


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ("from C update T on T.s == s;", "UPDATE"),
        ("from C delete T on T.s == s;", "DELETE"),
        ("from C update or insert into T on T.s == s;", "INSERT"),
        ("from C update or insert into T set T.v = T.v + v on T.s == s;", "INSERT"),
    ],
)
def test_a_batch_is_one_statement_for_many_rows(manager, file, work, query, word):
    started = app(manager, at(file), query)
    work.clear()
    send_batch(started, "I", ROWS)
    send_batch(started, "C", ROWS)
    assert work == [("INSERT", 20), (word, 20)]


CHANGES = [
    "from C update or insert into T set T.v = T.v + v on T.s == s;",
    "from C update or insert into T set T.v = T.v + v on T.s == s or T.v == v;",
    "from C update or insert into T on T.v == v;",
    "from C update T set T.v = T.v + v on T.s == s;",
    "from C[v > 2] delete T on T.s == s; from C update or insert into T on T.s == s;",
    "from C[not ((T.s == s) in T)] insert into T;",
    "from C join T on T.s == C.s select C.s, T.v insert into O; from C update or insert into T on T.s == s;",
]


@pytest.mark.parametrize("keys", ["", "@primaryKey('s')"])
@pytest.mark.parametrize("queries", CHANGES)
def test_a_batch_has_the_effect_of_its_single_rows(manager, tmp_path, queries, keys):
    rows = [(f"k{i % 4}", i % 6) for i in range(30)]
    done = []
    for name, send in (
        ("rows", lambda app: app.send("C", *rows)),
        ("batch", lambda app: send_batch(app, "C", rows)),
    ):
        started = app(manager, at(tmp_path / f"{name}.db"), queries, keys=keys)
        started.send("I", ("k0", 1), ("k1", 2))
        send(started)
        done.append((started.rows(), started.out))
    assert done[0] == done[1]


def test_readers_in_between_get_the_earlier_rows(manager, file, work):
    started = app(manager, at(file), "from I join T on T.s == I.s select T.s, T.v insert into O;")
    work.clear()
    send_batch(started, "I", [("a", 1), ("b", 2)])
    assert started.out == [("a", 1), ("b", 2)]
    assert [word for word, _ in work] == ["INSERT", "SELECT"] * 2


def test_a_failed_row_is_reported_and_the_others_are_inserted(manager, file):
    started = app(manager, at(file))
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("create trigger no before insert on T when new.v = 13 begin select json('unlucky'); end")
    send_batch(started, "I", [*ROWS, ("k1", 99)])
    assert sorted(row[1] for row in started.rows()) == [i for i in range(20) if i != 13]
    assert sorted(("malformed JSON" in error, "dropped" in error) for error in started.errors) == [
        (False, True),
        (True, False),
    ]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("keys", ["", "@primaryKey('s')"])
@pytest.mark.parametrize(
    "query",
    [
        "from C insert into T;",
        "from C update T on T.v == v;",
        "from C update or insert into T on T.v == v;",
        "from C update or insert into T set T.v = v on T.s == s;",
    ],
)
def test_only_the_row_that_cannot_be_encoded_is_lost(manager, file, query, keys, together):
    started = app(manager, at(file), query, keys=keys)
    started.send("I", ("x0", 0), ("x1", 1), ("x2", 2))
    rows = [("a", 0), ("\ud800", 1), ("c", 2)]
    if together:
        send_batch(started, "C", rows)
    else:
        started.send_chunk("C", *rows)
    assert {"a", "c"} <= {row[0] for row in started.rows()}
    assert len(started.errors) == 1


def test_only_the_failed_rows_of_a_chunk_are_in_the_error_store(time, tmp_path):
    with SiddhiManager(retries=time) as manager:
        kept = InMemoryErrorStore()
        manager.set_error_store(kept)
        store = f"@store(type = 'rdbms', url = '{at(tmp_path / 't.db')}', on.error = 'STORE')"
        started = App(manager, f"{STREAMS} {store} define table T (s string, v int); from I insert into T;")
        started.send_chunk("I", ("a", 1), ("\ud800", 2), ("c", 3))
        assert started.rows() == [("a", 1), ("c", 3)]
        (entry,) = kept.load_error_entries(started.runtime.name)
        assert [event.data for event in entry.events] == [("\ud800", 2)]


def test_rows_whose_key_is_taken_cost_little(manager, work):
    table = f"@store(type = 'rdbms', url = '{postgres.url()}', table.name = 'taken keys') @primaryKey('s')"
    started = App(manager, f"{STREAMS} {table} define table T (s string, v int); from I insert into T;")
    rows = [(f"k{i}", i) for i in range(600)]
    send_batch(started, "I", rows[::2])
    work.clear()
    send_batch(started, "I", [*rows, *rows[:3]])
    assert [word for word, _ in work] == ["INSERT"]
    assert sorted(started.rows()) == sorted(rows)
    assert len(started.errors) == 303


def test_streams_with_error_handling_get_that_of_each_row(manager, file):
    streams = STREAMS.replace("define stream I", "@OnError(action = 'STREAM') define stream I")
    started = app(manager, at(file), "from !I select s, v insert into O;", streams=streams)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("create trigger no before insert on T when new.v = 13 begin select json('unlucky'); end")
    send_batch(started, "I", ROWS)
    assert started.out == [("k13", 13)]


def test_a_batch_is_not_lost_if_the_database_disconnects(manager, file, time):
    started = app(manager, at(file), "from C update or insert into T set T.v = T.v + v on T.s == s;")
    send_batch(started, "I", ROWS[:3])
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("begin exclusive")
    time.on_wait = lambda: other.execute("rollback") if len(time.waits) == 3 else None
    send_batch(started, "C", [("k0", 10), ("k9", 9), ("k0", 10), ("k9", 1)])
    assert time.waits == [5, 10, 15]
    assert sorted(started.rows()) == [("k0", 20), ("k1", 1), ("k2", 2), ("k9", 10)]
    assert started.errors == []
    other.close()


def test_a_store_without_batches_gets_single_events(manager):
    with shelf_manager() as (held, shelf):
        started = App(
            held,
            f"{STREAMS} @store(type = 'shelf') define table T (s string, v int); from I insert into T;"
            "from C update or insert into T set T.v = T.v + v on T.s == s;",
        )
        send_batch(started, "I", ROWS[:2])
        shelf.calls.clear()
        send_batch(started, "C", [("k0", 5), ("x", 6), ("x", 7)])
        assert shelf.rows == [("k0", 5), ("k1", 1), ("x", 13)]
        assert shelf.calls.count("add") == 1


def test_many_rows_are_copied_into_postgresql(manager):
    table = f"@store(type = 'rdbms', url = '{postgres.url()}', table.name = 'copied rows') @primaryKey('s')"
    started = App(manager, f"{STREAMS} {table} define table T (s string, v int); from I insert into T;")
    rows = [(f"tab\t\\ {i} \n ä🙂 \\N", None if i % 3 else i) for i in range(300)]
    send_batch(started, "I", rows)
    assert sorted(started.rows()) == sorted(rows)
    send_batch(started, "I", [*[(f"other {i}", i) for i in range(100)], rows[7], ("\0", 1), rows[8]])
    assert len(started.rows()) == 400
    assert len(started.errors) == 3
