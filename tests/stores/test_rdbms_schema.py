"""Tables in databases: created, completed and checked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from siddhi import SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io.options import Option, OptionHolder, Template
from siddhi.stores.record_table import TableContext
from siddhi.types import AttributeType
from tests.kit import postgres
from tests.kit.stores import App

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import sqlalchemy as sa

from siddhi.stores.rdbms_schema import describe_table

WIDE = "(k int, l long, s string, f float, d double, b bool)"


@pytest.fixture
def manager() -> Iterator[SiddhiManager]:
    with SiddhiManager() as manager:
        yield manager


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path) -> str:
    return f"sqlite:///{tmp_path.as_posix()}/t.db" if request.param == "sqlite" else postgres.url()


@pytest.fixture
def run(url):
    """Runs statements in the database; gives the rows of the last one."""
    engine = sa.create_engine(url)

    def run(*statements: str) -> list[tuple]:
        with engine.begin() as connection:
            for statement in statements:
                result = connection.execute(sa.text(statement))
            return [tuple(row) for row in result] if result.returns_rows else []

    yield run
    engine.dispose()


def start(manager: SiddhiManager, url: str, table: str, attributes: str, keys: str = "", options: str = "") -> App:
    store = f"@store(type = 'rdbms', url = '{url}'{options})"
    define = f"define stream I {attributes};{store} {keys} define table {table} {attributes};"
    return App(manager, f"{define} from I insert into {table};")


def indexes(url: str, table: str) -> list[list[str]]:
    engine = sa.create_engine(url)
    try:
        return sorted(index["column_names"] for index in sa.inspect(engine).get_indexes(table))
    finally:
        engine.dispose()


def test_names_of_indexes_are_short_enough(manager, url):
    column = "c" * 60
    start(manager, url, "Long", f"({column} int, {column[:-1]} int)", f"@index('{column}') @index('{column[:-1]}')")
    assert indexes(url, "Long") == [[column[:-1]], [column]]


def test_names_of_indexes_are_unique_per_table(manager, url):
    start(manager, url, "a", "(b_c int, c int)", "@index('b_c')")
    start(manager, url, "a_b", "(b_c int, c int)", "@index('c')")
    assert (indexes(url, "a"), indexes(url, "a_b")) == ([["b_c"]], [["c"]])


def test_missing_indexes_are_created(manager, url, run):
    run("create table grown (a int, b int)", "create index by_hand on grown (a)")
    for _ in range(2):
        start(manager, url, "grown", "(a int, b int)", "@index('a') @index('b') @index('a', 'b')").runtime.shutdown()
    assert indexes(url, "grown") == [["a"], ["a", "b"], ["b"]]


def test_existing_tables_are_used(manager, url):
    for _ in range(2):
        start(manager, url, "again", WIDE, "@primaryKey('k')").runtime.shutdown()


@pytest.mark.parametrize(
    ("made", "keys", "why"),
    [
        ("(a text)", "", "has column a of type TEXT; attribute type int requires INTEGER"),
        ("(a double precision)", "", "has column a of type .*; attribute type int requires INTEGER"),
        ("(b int)", "", "has no column a"),
        ("(a int, b int)", "@primaryKey('a')", "has no unique constraint on the primary key a"),
        ("(a int, b int, primary key (a, b))", "@primaryKey('a')", "has no unique constraint on the primary key a"),
    ],
)
def test_a_table_with_another_schema_prevents_the_start(manager, url, run, made, keys, why):
    run("drop table if exists unfit", f"create table unfit {made}")
    with pytest.raises(SiddhiAppCreationError, match=why) as caught:
        start(manager, url, "unfit", "(a int)", keys)
    assert (caught.value.code, caught.value.app is not None) == ("E326", True)


@pytest.mark.parametrize(
    "made", ["(a int primary key)", "(a int unique, b int)", "(a bigint, c text default 'x', primary key (a))"]
)
def test_a_table_with_the_same_schema_is_used(manager, url, run, made):
    run("drop table if exists fit", f"create table fit {made}")
    app = start(manager, url, "fit", "(a int)", "@primaryKey('a')")
    app.send("I", (1,), (1,))
    app.send_chunk("I", (2,), (1,))
    assert run("select a from fit order by a") == [(1,), (2,)]
    assert len(app.errors) == 2


def test_a_view_can_be_read(manager, url, run):
    run("drop view if exists seen", "create view seen as select 1 as k")
    app = start(manager, url, "seen", "(k int)", "@primaryKey('k') @index('k')")
    assert app.ask("from seen on k == 1 select k") == [(1,)]


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(
    ("type_", "attribute"), [("real", "float"), ("int", "long"), ("numeric", "double"), ("int", "bool")]
)
def test_distinct_types_of_postgresql(manager, url, run, type_, attribute):
    run("drop table if exists apart", f"create table apart (a {type_})")
    with pytest.raises(SiddhiAppCreationError, match="has column a of type"):
        start(manager, url, "apart", f"(a {attribute})")


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_table_in_a_schema(manager, url, run):
    run("create schema if not exists elsewhere", "drop table if exists elsewhere.kept")
    app = start(manager, url, "kept", "(a int)", "@primaryKey('a') @index('a')", ", schema = 'elsewhere'")
    app.send("I", (1,))
    app.send_chunk("I", *[(i,) for i in range(100)])
    assert run("select count(*) from elsewhere.kept") == [(100,)]
    start(manager, url, "kept", "(a int)", "@primaryKey('a') @index('a')", ", schema = 'elsewhere'")


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_a_name_too_long_for_postgresql(manager, url):
    with pytest.raises(SiddhiAppCreationError, match="limit of 63 bytes") as caught:
        start(manager, url, "t" * 64, "(a int)")
    assert (caught.value.code, caught.value.line) == ("E326", 1)


def test_a_file_that_is_not_a_database(manager, tmp_path):
    (tmp_path / "text.db").write_text("no database, but a longer text" * 100)
    with pytest.raises(
        SiddhiAppCreationError, match="can't create or check table 'T' of store 'rdbms': file is not"
    ) as caught:
        start(manager, f"sqlite:///{tmp_path.as_posix()}/text.db", "T", "(a int)")
    assert caught.value.app is not None


def test_a_table_created_by_other_tools_in_sqlite(manager, tmp_path):
    with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
        connection.execute("create table T (k, l int, s varchar(20), f real, d numeric, b int)")
    row = (1, 2**40, "x", 0.1, 1e300, True)
    app = start(manager, f"sqlite:///{tmp_path.as_posix()}/t.db", "T", WIDE)
    app.send("I", row)
    assert app.ask("from T select *") == [row]


def test_strings_of_keys_have_a_length_in_mysql() -> None:
    from sqlalchemy.dialects import mysql

    options = OptionHolder("store 'rdbms'", [Option("field.length", [Template(("t:99",))])])
    attributes = tuple((name, AttributeType.STRING) for name in "kit")
    context = TableContext("A", "T", attributes, (0,), ((1,),), lambda *_: None)
    table = describe_table(options, context, mysql.dialect())
    statement = " ".join(str(sa.schema.CreateTable(table).compile(dialect=mysql.dialect())).split())
    assert "k VARCHAR(254) COLLATE utf8mb4_bin NOT NULL, i VARCHAR(254) COLLATE utf8mb4_bin" in statement
    assert "t VARCHAR(99) COLLATE utf8mb4_bin" in statement
    assert "k TEXT NOT NULL" in str(sa.schema.CreateTable(table))
