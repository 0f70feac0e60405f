"""Rules of tables in databases."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from siddhi import SiddhiManager
from siddhi.config import InMemoryConfigManager
from siddhi.errors import SiddhiAppCreationError
from tests.kit import postgres
from tests.kit.connectors import StoppedTime
from tests.kit.stores import App

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
def statements():
    """Every statement that reaches a database, with its parameters and whether it is for several rows."""
    seen: list[tuple[str, object, bool]] = []

    def note(connection, cursor, statement, parameters, context, executemany) -> None:
        seen.append((" ".join(statement.split()), parameters, executemany))

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    yield seen
    sa.event.remove(sa.Engine, "before_cursor_execute", note)


def app(manager: SiddhiManager, file, *queries: str, keys: str = "@primaryKey('s')", options: str = "") -> App:
    store = f"@store(type = 'rdbms', url = 'sqlite:///{file.as_posix()}?timeout=0'{options})"
    table = f"{store} {keys} define table T (s string, v int);"
    return App(manager, f"{STREAMS} {table} from I insert into T; {' '.join(queries)}")


def test_keys_and_indexes_are_created_in_the_database(manager, file):
    app(manager, file, keys="@primaryKey('s', 'v') @index('v') @index('v', 's')")
    found = sa.inspect(sa.create_engine(f"sqlite:///{file}"))
    assert found.get_pk_constraint("T")["constrained_columns"] == ["s", "v"]
    assert sorted(index["column_names"] for index in found.get_indexes("T")) == [["v"], ["v", "s"]]
    assert {column["name"]: column["nullable"] for column in found.get_columns("T")} == {"s": False, "v": False}


def test_values_are_passed_as_parameters(manager, file, statements):
    started = app(manager, file, "from C delete T on T.s == s or T.v == 77;", keys="")
    statements.clear()
    started.send("C", ("x' or 1=1 --", 5))
    ((_begin, *_), (text, parameters, _)) = [seen for seen in statements if "SAVEPOINT" not in seen[0]]
    assert text == 'DELETE FROM "T" WHERE "T".s = ? OR "T".v = ?'
    assert tuple(parameters) in ((("x' or 1=1 --", 77),), ("x' or 1=1 --", 77))


def test_a_chunk_is_one_statement_for_many_rows(manager, file, statements):
    started = app(manager, file, "from C[v > 0] update T on T.s == s;", "from C[v < 0] delete T on T.s == s;", keys="")
    for stream, sign in (("I", 1), ("C", 1), ("C", -1)):
        statements.clear()
        started.send_chunk(stream, *[(f"k{i}", sign * (i + 1)) for i in range(20)])
        (work,) = [seen for seen in statements if not seen[0].startswith(("BEGIN", "SAVEPOINT", "RELEASE"))]
        assert work[2] is True
        assert len(work[1]) == 20
    assert started.rows() == []


def test_an_upsert_by_the_key_is_one_statement(manager, file, statements):
    started = app(manager, file, "from C update or insert into T on T.s == s;")
    started.send("I", ("a", 1))
    statements.clear()
    started.send_chunk("C", ("a", 2), ("b", 3), ("b", 4))
    work = [seen for seen in statements if not seen[0].startswith("BEGIN")]
    assert len(work) == 1
    assert "ON CONFLICT (s) DO UPDATE" in work[0][0]
    assert sorted(started.rows()) == [("a", 2), ("b", 4)]


def test_an_upsert_of_a_table_with_only_key_attributes(manager, file):
    started = app(
        manager, file, "from C update or insert into T on T.s == s and T.v == v;", keys="@primaryKey('s', 'v')"
    )
    started.send_chunk("C", ("a", 2), ("a", 2), ("b", 4), (None, 4))
    assert sorted(started.rows()) == [("a", 2), ("b", 4)]
    assert ["its primary key s is null" in error for error in started.errors] == [True]


def test_an_equivalent_selection_is_evaluated_by_the_database(manager, file, statements):
    started = app(manager, file)
    started.send("I", ("a", 1), ("b", 2))
    for query, inside in (
        ("on v > 1 select s, sum(v) as t group by s order by t limit 3", "GROUP BY"),
        ("select s having v > 1", "WHERE"),
        ("select count() as n", "HAVING"),
    ):
        statements.clear()
        started.ask(f"from T {query}")
        assert inside in statements[-1][0], query
    for query in ("select s, sum(v) as t group by s having t > 0", "select stdDev(v) as d", "select s, count() as n"):
        statements.clear()
        started.ask(f"from T {query}")
        assert statements[-1][0] == 'SELECT "T".s, "T".v FROM "T"', query


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ("C.s, T.v", '"T".v AS v'),
        ("T.s, C.v", '"T".s AS s'),
        ("C.s, C.v", '"T".s AS s'),
        ("C.s, sum(T.v) as v", '"T".v AS v'),
        ("T.s, T.v", '"T".s, "T".v'),
        ("C.s, T.v having v > 0", '"T".v AS v'),
    ],
)
def test_a_join_reads_the_selected_columns(manager, file, statements, select, columns):
    started = app(manager, file, f"from C join T on T.s == C.s select {select} insert into O;")
    started.send("I", ("a", 1), ("b", 2))
    statements.clear()
    started.send("C", ("b", 2))
    assert statements[-1][0] == f'SELECT {columns} FROM "T" WHERE "T".s = ?'
    assert started.out == [("b", 2)]


def test_a_join_reads_the_columns_of_residual_predicates(manager, file, statements):
    query = "from C join T on T.s == C.s and str_of(T.v) == '2' select C.s, C.v insert into O;"
    started = App(
        manager,
        f"define function str_of[python] return string {{ return str(data[0]) }}; {STREAMS}"
        f"@store(type = 'rdbms', url = 'sqlite:///{file.as_posix()}') define table T (s string, v int, w int, x int);"
        f"from I select s, v, 0 as w, 0 as x insert into T; {query}",
    )
    started.send("I", ("a", 1), ("a", 2))
    started.send("C", ("a", 7))
    assert started.out == [("a", 7)]
    assert statements[-1][0].startswith('SELECT "T".v AS v FROM')


def test_a_result_has_the_names_of_the_selection(manager, file):
    started = app(manager, file)
    started.send("I", ("a", 1))
    (event,) = started.runtime.query("from T select v + 1 as w, s")
    assert (event["w"], event["s"], event.timestamp) == (2, "a", -1)
    assert started.runtime.query_types("from T select v + 1 as w, s") == [("w", "int"), ("s", "string")]


def test_a_row_without_key_is_reported(manager, file):
    started = app(manager, file, "from C update or insert into T set T.v = T.v + v on T.s == s;")
    started.send_chunk("I", ("a", 1), (None, 2))
    started.send("C", (None, 2))
    assert started.rows() == [("a", 1)]
    assert ["its primary key s is null" in error for error in started.errors] == [True, True]


def test_assignments_are_made_in_order(manager, file):
    query = "from C update T set T.s = 'z', T.v = ifThenElse(true, 1, 0) + v on T.s == s;"
    started = app(manager, file, query, keys="")
    started.send("I", ("a", 1))
    started.send("C", ("a", 5))
    assert started.rows() == [("z", 6)]


def test_rows_persist_and_other_apps_can_read_them(manager, file):
    first = app(manager, file)
    first.send("I", ("a", 1))
    second = app(manager, file)
    assert second.rows() == [("a", 1)]
    first.runtime.shutdown()
    second.send("I", ("b", 2))
    assert app(manager, file).rows() == [("a", 1), ("b", 2)]


def test_a_table_can_have_another_name_in_the_database(manager, file):
    app(manager, file, options=", table.name = 'Other name'").send("I", ("a", 1))
    with sqlite3.connect(file) as connection:
        assert connection.execute('select * from "Other name"').fetchall() == [("a", 1)]
    connection.close()


def test_reserved_names_are_quoted(manager, file):
    text = f"""
    define stream I (order_ string, given_x int, table_ long, Desc double);
    @store(type = 'rdbms', url = 'sqlite:///{file.as_posix()}') @primaryKey('order_') @index('Desc')
    define table T (order_ string, given_x int, table_ long, Desc double);
    from I[given_x < 10] insert into T;
    from I[given_x >= 10] update T set T.given_x = T.given_x + given_x, T.Desc = Desc * 2.0 on T.order_ == order_;
    """
    started = App(manager, text)
    started.send("I", ("a", 1, 1, 1.5), ("a", 10, 1, 2.5))
    assert started.rows() == [("a", 11, 1, 5.0)]


def test_a_table_without_a_column_prevents_the_start(manager, file):
    with sqlite3.connect(file) as connection:
        connection.execute("create table T (s text)")
    connection.close()
    with pytest.raises(SiddhiAppCreationError, match="no column v") as caught:
        app(manager, file)
    assert caught.value.code == "E326"
    assert caught.value.line == 1
    assert "@store(type = 'rdbms'" in str(caught.value)


@pytest.mark.parametrize("option", ["jdbc.url", "url"])
def test_a_jdbc_address_is_a_url(manager, tmp_path, option):
    address = f"{option} = 'jdbc:sqlite:{(tmp_path / 'a.db').as_posix()}', jdbc.driver.name = 'org.sqlite.JDBC'"
    app = f"{STREAMS} @store(type = 'rdbms', {address}) define table T (s string, v int); from I insert into T;"
    with manager.create_siddhi_app_runtime(app) as runtime:
        assert not runtime.warnings
        runtime.input_handler("I").send(("a", 1))
        assert [event.data for event in runtime.query("from T select s, v")] == [("a", 1)]
    assert (tmp_path / "a.db").exists()


def test_a_datasource_is_a_reference_of_the_configuration(manager, tmp_path):
    path = (tmp_path / "a.db").as_posix()
    manager.set_config_manager(
        InMemoryConfigManager(references={"TRADES.type": "rdbms", "TRADES.jdbc.url": f"jdbc:sqlite:{path}"})
    )
    app = f"{STREAMS} @store(type = 'rdbms', datasource = 'TRADES') define table T (s string, v int); from I insert into T;"
    with manager.create_siddhi_app_runtime(app) as runtime:
        runtime.input_handler("I").send(("a", 1))
        assert [event.data for event in runtime.query("from T select s, v")] == [("a", 1)]
    assert (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("options", "attributes", "message"),
    [
        ("", "s string", "has no 'url', and the app has no name"),
        (", username = 'ann', password = 'secret'", "s string", "has the option 'username' but no 'url'"),
        (
            ", jdbc.url = 'jdbc:h2:./db', username = 'sa', jdbc.driver.name = 'org.h2.Driver'",
            "s string",
            "use SQLite instead",
        ),
        (", jdbc.url = 'jdbc:oracle:thin:@x'", "s string", "addresses of 'oracle' are not supported"),
        (", jdbc.url = 'jdbc:sqlite:', url = 'sqlite://'", "s string", "both 'url' and 'jdbc.url'"),
        (", datasource = 'D'", "s string", "datasource 'D' is not defined in the configuration"),
        (", url = 'sqlite://', field.length = 'x:1'", "s string", "invalid 'field.length' of store 'rdbms': 'x:1'"),
        (", url = 'nonsense'", "s string", "invalid 'url' of store 'rdbms': expected a database URL"),
        (", url = 'nodb://x:secret@y/z'", "s string", "invalid 'url' of store 'rdbms': expected a database URL"),
        (", url = 'mysql+nodriver://x'", "s string", "invalid 'url' of store 'rdbms': expected a database URL"),
        (", url = 'sqlite://'", "s string, o object", "does not support the type object, which 'o'"),
        (", url = 'sqlite://', table.name = ' '", "s string", "'table.name' of store 'rdbms' is empty"),
        (", url = 'sqlite://'", "a int, A int", "'a' and 'A' of table 'T' are the same column in SQLite"),
    ],
)
def test_unsupported_options_are_refused(manager, options, attributes, message):
    with pytest.raises(SiddhiAppCreationError, match=message) as caught:
        manager.create_siddhi_app_runtime(f"@store(type = 'rdbms'{options}) define table T ({attributes});")
    assert caught.value.code == "E326"
    assert caught.value.line == 1
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(("name", "called"), [("trades", "trades.db"), ("../a b?c.d", "%2E%2E%2Fa b%3Fc%2Ed.db")])
def test_without_a_url_the_file_is_named_by_the_app(manager, tmp_path, monkeypatch, name, called):
    monkeypatch.chdir(tmp_path)
    text = (
        f"@app:name('{name}') define stream I (s string, v int);"
        "@store(type = 'rdbms') define table T (s string, v int); from I insert into T;"
    )
    for value in (1, 2):
        with manager.create_siddhi_app_runtime(text) as runtime:
            runtime.input_handler("I").send(("a", value))
            assert len(runtime.query("from T select v")) == value
    assert [file.name for file in tmp_path.glob("*.db")] == [called]
    with closing(sqlite3.connect(tmp_path / called)) as connection:
        assert connection.execute("select s, v from T order by v").fetchall() == [("a", 1), ("a", 2)]


@pytest.mark.parametrize("place", ["app", "url"])
def test_an_invalid_file_name_is_refused_without_retries(manager, tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    app, url = ("a" * 260, "") if place == "app" else ("A", f", url = 'sqlite:///{tmp_path}/{'b' * 250}.db'")
    with pytest.raises(SiddhiAppCreationError, match=r"is too long.* file systems allow 255") as caught:
        manager.create_siddhi_app_runtime(f"@app:name('{app}') @store(type = 'rdbms'{url}) define table T (s string);")
    assert (caught.value.code, caught.value.line) == ("E326", 1)


def test_any_app_name_gives_a_file_name(manager, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with manager.create_siddhi_app_runtime("@app:name('\ud800') @store(type = 'rdbms') define table T (s string);"):
        assert (tmp_path / "%ED%A0%80.db").exists()


def test_a_missing_sqlalchemy_is_an_error_with_a_hint(manager, monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("sqlalchemy", "siddhi.stores.rdbms"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(SiddhiAppCreationError, match="requires SQLAlchemy") as caught:
        manager.create_siddhi_app_runtime("@store(type = 'rdbms', url = 'sqlite://') define table T (s string);")
    assert caught.value.hint == "pip install 'siddhi[rdbms]'"
    assert caught.value.line == 1


def test_a_locked_database_is_retried_and_nothing_is_lost(manager, file, time):
    started = app(manager, file, "from C update or insert into T set T.v = T.v + v on T.s == s;")
    started.send("I", ("a", 1))
    other = sqlite3.connect(file, isolation_level=None)

    def locked() -> None:
        time.waits.clear()
        other.execute("begin exclusive")

    def unlock() -> None:
        if len(time.waits) == 3:
            other.execute("rollback")

    time.on_wait = unlock
    locked()
    started.send("I", ("b", 2))
    assert time.waits == [5, 10, 15]
    locked()
    started.send_chunk("C", ("a", 10), ("c", 3), ("c", 4))
    locked()
    assert sorted(started.rows()) == [("a", 11), ("b", 2), ("c", 7)]
    assert started.errors == []
    other.close()


def test_a_database_that_cannot_be_opened_yet_is_retried(manager, tmp_path, time):
    folder = tmp_path / "later"
    started = app(manager, folder / "tables.db")
    assert time.pauses == [5]
    folder.mkdir()
    time.run()
    started.send("I", ("a", 1))
    assert started.rows() == [("a", 1)]


def test_another_error_of_the_database_is_an_error_of_the_event(manager, file):
    started = app(manager, file)
    with sqlite3.connect(file) as connection:
        connection.execute("create trigger no before insert on T begin select raise(fail, 'not today'); end")
    connection.close()
    started.send("I", ("a", 1))
    assert len(started.errors) == 1
    assert "not today" in started.errors[0]


def test_a_connection_closed_by_postgresql_is_opened_again(manager, time):
    url = postgres.url()
    table = f"@store(type = 'rdbms', url = '{url}', table.name = 'ended') define table T (s string, v int);"
    started = App(manager, f"{STREAMS} {table} from I insert into T;")
    started.send("I", ("a", 1))
    engine = sa.create_engine(url)
    end = (
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = 'postgres'"
    )
    for row in (("b", 2), ("c", 3)):
        with engine.connect() as connection:
            connection.execute(sa.text(end))
        started.send("I", row)
    assert started.rows() == [("a", 1), ("b", 2), ("c", 3)]
    assert started.errors == []
    engine.dispose()


def test_a_restarted_server_is_waited_for(manager, time):
    server = postgres.server()
    server.start()
    running = [True]
    try:
        table = f"@store(type = 'rdbms', url = '{server.url}') @primaryKey('s') define table T (s string, v int);"
        query = "from C update or insert into T set T.v = T.v + v on T.s == s;"
        started = App(manager, f"{STREAMS} {table} from I insert into T; {query}")
        batch = started.runtime.input_handler

        def again() -> None:
            if len(time.waits) == 3:
                server.start()
                running[0] = True

        def stopped() -> None:
            server.stop()
            running[0] = False
            time.waits.clear()

        time.on_wait = again
        started.send("I", ("a", 1))
        stopped()
        started.send("I", ("b", 2))
        assert time.waits == [5, 10, 15]
        stopped()
        batch("C").send_batch({"s": ["a", "c", "a"] * 100, "v": [1, 2, 3] * 100})
        assert time.waits == [5, 10, 15]
        stopped()
        started.send_chunk("I", *[(f"k{i}", i) for i in range(200)])
        stopped()
        assert sorted(started.rows())[:3] == [("a", 401), ("b", 2), ("c", 200)]
        assert len(started.rows()) == 203
        assert started.errors == []
        started.runtime.shutdown()
    finally:
        if running[0]:
            server.stop()
        server.remove()
