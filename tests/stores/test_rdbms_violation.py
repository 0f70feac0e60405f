"""Constraint violations: a taken key drops the row, others fail the event."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count

import pytest

from siddhi import SiddhiManager
from siddhi.persistence import InMemoryErrorStore
from tests.kit import postgres
from tests.kit.stores import App

sa = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from siddhi.stores import rdbms  # noqa: E402
from siddhi.stores.rdbms_violation import Violation, violation_of  # noqa: E402

KEYED = "@primaryKey('s')"
_numbers = count(1)


@pytest.fixture
def manager() -> Iterator[SiddhiManager]:
    with SiddhiManager() as manager:
        yield manager


def places() -> list[str]:
    return ["sqlite", *[driver for driver in postgres.DRIVERS if find_spec(driver) is not None]]


@pytest.fixture(params=places())
def url(request: pytest.FixtureRequest, tmp_path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{(tmp_path / 'tables.db').as_posix()}"
    return f"postgresql+{request.param}://" + postgres.url().partition("://")[2]


class Table:
    """A table of a database with more constraints than that of the key; ``T`` of an app is kept there."""

    def __init__(self, manager: SiddhiManager, url: str) -> None:
        self._manager = manager
        self._url = url
        self._name = f"bound_{next(_numbers)}"
        with self._connection() as connection:
            connection.exec_driver_sql(
                f"CREATE TABLE {self._name} (s TEXT NOT NULL PRIMARY KEY, v INTEGER NOT NULL CHECK (v >= 0), u INTEGER UNIQUE)"
            )

    @contextmanager
    def _connection(self) -> Iterator[sa.Connection]:
        engine = sa.create_engine(self._url)
        with engine.begin() as connection:
            yield connection
        engine.dispose()

    def start(self, *queries: str, keys: str = KEYED, options: str = "", before: str = "") -> App:
        streams = (
            f"{before} define stream I (s string, v int, u int); {before} define stream C (s string, v int, u int);"
        )
        store = f"@store(type = 'rdbms', url = '{self._url}', table.name = '{self._name}'{options})"
        table = f"{store} {keys} define table T (s string, v int, u int);"
        return App(self._manager, f"@app:name('Checked') {streams} {table} from I insert into T; {' '.join(queries)}")

    def rows(self) -> list[tuple]:
        with self._connection() as connection:
            return sorted(tuple(row) for row in connection.exec_driver_sql(f"SELECT s, v, u FROM {self._name}"))


@pytest.fixture
def table(manager, url) -> Table:
    return Table(manager, url)


def words(error: str) -> str:
    """Which constraint an error tells of."""
    told = error.lower().replace("duplicate", "unique")
    return next(word for word in ("unique", "check", "null") if word in told)


BROKEN = {"check": ("x", -1, 7), "null": ("x", None, 7)}


@pytest.mark.parametrize("what", BROKEN)
def test_a_row_that_violates_another_constraint_fails_the_event(table, what):
    app = table.start()
    app.send("I", ("a", 1, 1), BROKEN[what], ("b", 2, 2))
    assert table.rows() == [("a", 1, 1), ("b", 2, 2)]
    (error,) = app.errors
    assert what in error.lower()
    assert "is dropped" not in error


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("rows", [3, 60])  # of so many, some are copied
def test_only_that_row_of_a_chunk_is_lost(table, what, rows):
    app = table.start()
    good = [(f"k{i:02}", i, i) for i in range(rows)]
    app.send_chunk("I", *good[:2], BROKEN[what], *good[2:], ("k01", 9, 99))
    assert table.rows() == good
    assert [words(error) for error in app.errors] == [what, "unique"]
    assert ["is dropped" in error for error in app.errors] == [False, True]


@pytest.mark.parametrize("what", BROKEN)
def test_only_that_row_of_a_batch_is_lost(table, what):
    app = table.start()
    rows = [("a", 1, 1), BROKEN[what], ("b", 2, 2), ("a", 3, 3)]
    app.runtime.input_handler("I").send_batch({name: [row[i] for row in rows] for i, name in enumerate("svu")})
    assert table.rows() == [("a", 1, 1), ("b", 2, 2)]
    assert [words(error) for error in app.errors] == [what, "unique"]


@pytest.mark.parametrize("what", BROKEN)
def test_on_error_of_the_stream_handles_it(table, what):
    app = table.start("from !I select s, v, u insert into O;", before="@OnError(action = 'STREAM')")
    app.send("I", ("a", 1, 1), BROKEN[what], ("a", 3, 3))
    assert app.out == [BROKEN[what]]
    assert ["is dropped" in error for error in app.errors] == [False, True]
    app.send_chunk("I", ("b", 1, 2), BROKEN[what])
    assert app.out == [BROKEN[what], ("b", 1, 2), BROKEN[what]]
    assert table.rows() == [("a", 1, 1)]


@pytest.mark.parametrize("what", BROKEN)
def test_with_store_it_is_saved_in_the_error_store(manager, table, what):
    errors = InMemoryErrorStore()
    manager.set_error_store(errors)
    app = table.start(options=", on.error = 'STORE'")
    app.send_chunk("I", ("a", 1, 1), BROKEN[what], ("a", 2, 2))
    errors.flush()
    (entry,) = errors.load_error_entries("Checked")
    assert [event.data for event in entry.events] == [BROKEN[what]]
    assert table.rows() == [("a", 1, 1)]
    assert [words(error) for error in app.errors] == ["unique"]


def test_rows_that_violate_another_unique_constraint_are_dropped(table):
    app = table.start("from C update or insert into T on T.s == s;")
    app.send("I", ("a", 1, 1), ("b", 2, 1))
    app.send_chunk("I", ("c", 3, 1), ("d", 4, 4), ("e", 5, 4))
    app.send("C", ("f", 6, 4))
    app.send_chunk("C", ("g", 7, 7), ("h", 8, 7), ("a", 9, 4), ("i", 10, 10))
    assert table.rows() == [("a", 1, 1), ("d", 4, 4), ("g", 7, 7), ("i", 10, 10)]
    assert len(app.errors) == 6
    assert all("is dropped" in error for error in app.errors)


UPDATES = ["update T on T.s == s;", "update T set T.v = v on T.s == s or T.u == u;"]
UPSERTS = ["update or insert into T on T.s == s;", "update or insert into T set T.v = v on T.s == s or T.u == u;"]


@pytest.mark.parametrize("query", UPDATES + UPSERTS)
def test_a_change_that_violates_another_constraint_fails_the_event(table, query):
    app = table.start(f"from C {query}")
    app.send("I", ("a", 1, 1), ("b", 2, 2))
    app.send("C", ("a", -1, 1), ("b", None, 2), ("b", 3, 2))
    assert [words(error) for error in app.errors] == ["check", "null"]
    app.send_chunk("C", ("a", 4, 1), ("b", -1, 2), ("b", 5, 2))
    assert table.rows() == [("a", 4, 1), ("b", 5, 2)]
    assert [words(error) for error in app.errors] == ["check", "null", "check"]
    assert not any("is dropped" in error for error in app.errors)


def test_an_insertion_of_update_or_insert_can_fail(table):
    app = table.start("from C update or insert into T set T.v = v on T.s == s or T.u == u;")
    app.send_chunk("C", ("a", 1, 1), ("x", -1, 8), ("b", 2, 2))
    assert table.rows() == [("a", 1, 1), ("b", 2, 2)]
    assert [words(error) for error in app.errors] == ["check"]


def test_a_change_to_a_taken_or_null_key_is_dropped(table):
    app = table.start("from C update T on T.u == u;")
    app.send("I", ("a", 1, 1), ("b", 2, 2))
    app.send("C", ("a", 5, 2), (None, 5, 2))
    app.send_chunk("C", ("c", 5, 2), ("a", 6, 2), (None, 7, 2))
    assert table.rows() == [("a", 1, 1), ("c", 5, 2)]
    assert len(app.errors) == 4
    assert all("is dropped" in error for error in app.errors)
    assert [error.endswith("its primary key s is null") for error in app.errors] == [False, True] * 2


def test_without_a_constraint_name_from_the_driver_the_key_is_looked_up(manager, tmp_path, monkeypatch):
    def untold(error):
        found = violation_of(error)
        return found if found is Violation.OTHER and "CHECK" not in str(error) else Violation.UNKNOWN

    monkeypatch.setattr(rdbms, "violation_of", untold)
    table = Table(manager, f"sqlite:///{(tmp_path / 'tables.db').as_posix()}")
    app = table.start("from C[v < 50] update T on T.u == u;", "from C[v >= 50] update T set T.v = v - 100 on T.u == u;")
    app.send("I", ("a", 1, 1), ("a", 2, 2), ("x", -1, 3))
    app.send_chunk("I", ("b", 3, 4), ("a", 4, 5), ("y", -1, 6), ("c", 5, 7))
    assert table.rows() == [("a", 1, 1), ("b", 3, 4), ("c", 5, 7)]
    assert ["is dropped" in error for error in app.errors] == [True, False, True, False]
    app.errors.clear()
    app.send("C", ("a", 9, 4), (None, 9, 4), ("z", 50, 4))
    assert table.rows() == [("a", 1, 1), ("b", 3, 4), ("c", 5, 7)]
    assert ["is dropped" in error for error in app.errors] == [True, True, False]


def test_without_a_key_an_unknown_error_is_not_a_taken_key(manager, tmp_path, monkeypatch):
    monkeypatch.setattr(rdbms, "violation_of", lambda error: Violation.UNKNOWN)
    table = Table(manager, f"sqlite:///{(tmp_path / 'tables.db').as_posix()}")
    app = table.start(keys="")
    app.send("I", ("a", 1, 1), ("a", 2, 2))
    assert table.rows() == [("a", 1, 1)]
    assert "is dropped" not in app.errors[0]


def of_driver(module: str, *arguments: object, kind=sa.exc.IntegrityError, **attributes: object):
    error = type("Error", (Exception,), {"__module__": module})(*arguments)
    for name, value in attributes.items():
        setattr(error, name, value)
    return kind("", {}, error)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (of_driver("psycopg.errors", sqlstate="23505"), Violation.DUPLICATE),
        (of_driver("psycopg.errors", sqlstate="23502"), Violation.NULL),
        (of_driver("psycopg.errors", sqlstate="23514"), Violation.OTHER),
        (of_driver("psycopg2.errors", pgcode="23505"), Violation.DUPLICATE),
        (of_driver("psycopg2.errors", pgcode="23503"), Violation.OTHER),
        (of_driver("pg8000.exceptions", {"C": "23505"}, kind=sa.exc.DatabaseError), Violation.DUPLICATE),
        (of_driver("pg8000.exceptions", {"C": "23514"}, kind=sa.exc.DatabaseError), Violation.OTHER),
        (of_driver("pymysql.err", 1062, "Duplicate entry"), Violation.DUPLICATE),
        (of_driver("MySQLdb", 1048, "Column can't be null"), Violation.NULL),
        (of_driver("mysql.connector.errors", errno=1062, sqlstate="23000"), Violation.DUPLICATE),
        (of_driver("mysql.connector.errors", errno=3819, sqlstate="HY000"), Violation.OTHER),
        (of_driver("pymysql.err", 1452, "a foreign key"), Violation.OTHER),
        (of_driver("sqlite3", "UNIQUE constraint failed: T.k"), Violation.DUPLICATE),
        (of_driver("sqlite3", "NOT NULL constraint failed: T.k"), Violation.NULL),
        (of_driver("sqlite3", "CHECK constraint failed: UNIQUE"), Violation.OTHER),
        (of_driver("sqlite3", "datatype mismatch"), Violation.OTHER),
        (of_driver("elsewhere", "23000"), Violation.UNKNOWN),
        (of_driver("elsewhere", "no such table", kind=sa.exc.OperationalError), Violation.OTHER),
    ],
)
def test_error_codes_of_drivers(error, expected):
    assert violation_of(error) is expected


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("('a', 1, 1)", Violation.DUPLICATE),
        ("('b', 1, 5)", Violation.DUPLICATE),
        ("('b', NULL, 1)", Violation.NULL),
        ("('b', -1, 1)", Violation.OTHER),
    ],
)
def test_error_codes_of_sqlite(row, expected):
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE t (k TEXT PRIMARY KEY, n INTEGER NOT NULL CHECK (n > 0), u INTEGER UNIQUE)"
        )
        connection.exec_driver_sql("INSERT INTO t VALUES ('a', 1, 5)")
        with pytest.raises(sa.exc.IntegrityError) as caught:
            connection.exec_driver_sql(f"INSERT INTO t VALUES {row}")
    assert isinstance(caught.value.orig, sqlite3.IntegrityError)
    assert violation_of(caught.value) is expected
