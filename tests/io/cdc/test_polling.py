"""Polling mode: order, equal values, late rows, gaps, restarts of the database, positions in snapshots, refused options."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.io.cdc import polling
from tests.io.test_tcp import wait_for
from tests.kit import postgres
from tests.kit.faults import kill_under_load
from tests.kit.running import collect


class Table:
    """A table of a SQLite file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run("CREATE TABLE trades (id INTEGER PRIMARY KEY, at INTEGER, Symbol TEXT)")

    def run(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    def insert(self, *rows: tuple[int, int, str]) -> None:
        self.run(*(f"INSERT INTO trades VALUES {row}" for row in rows))


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path / "a.db")


def text(url: object, more: str = "", *, column: str = "id", stream: str = "id long, at long, symbol string") -> str:
    if isinstance(url, Table):
        url = f"sqlite:///{url.path}"
    return (
        f"@app:name('Poll') @source(type = 'cdc', mode = 'polling', url = '{url}', table.name = 'trades', "
        f"polling.column = '{column}', polling.interval = '5 ms' {more}, @map(type = 'keyvalue')) "
        f"define stream S ({stream});"
    )


def started(
    manager: SiddhiManager, app: str, *, restores: bool = False
) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(app)
    rows = collect(runtime, "S")
    if restores:
        runtime.restore_last_revision()
    runtime.start()
    return runtime, rows


def test_rows_after_the_start_are_received_in_order(manager: SiddhiManager, table: Table) -> None:
    table.insert((1, 10, "old"))
    _, rows = started(manager, text(table))
    table.insert((2, 20, "a"), (3, 30, "b"))
    wait_for(lambda: len(rows) == 2)
    assert rows == [(2, 20, "a"), (3, 30, "b")]


@pytest.mark.parametrize(("start", "first"), [("earliest", 1), ("2", 2), ("2.5", 3)])
def test_the_start_is_an_option(manager: SiddhiManager, table: Table, start: str, first: int) -> None:
    table.insert((1, 10, "a"), (2, 20, "b"), (3, 30, "c"))
    _, rows = started(manager, text(table, f", start.from = '{start}'"))
    wait_for(lambda: len(rows) == 4 - first)
    assert rows[0][0] == first


@pytest.mark.parametrize("key", ["", ", primary.key = 'ID'"])
def test_rows_with_an_equal_value_that_come_later_are_found(manager: SiddhiManager, table: Table, key: str) -> None:
    table.insert((1, 10, "old"))
    _, rows = started(manager, text(table, key, column="AT"))
    table.insert((5, 10, "a"))
    wait_for(lambda: len(rows) == 1)
    table.insert((4, 10, "b"), (6, 11, "c"))
    wait_for(lambda: len(rows) == 3)
    assert [row[0] for row in rows] == [5, 4, 6]


def test_equal_rows_without_a_key_are_counted(manager: SiddhiManager, table: Table) -> None:
    table.run("DROP TABLE trades", "CREATE TABLE trades (id INTEGER, at INTEGER, symbol TEXT)")
    _, rows = started(manager, text(table))
    table.insert((1, 1, "a"))
    wait_for(lambda: len(rows) == 1)
    table.insert((1, 1, "a"), (1, 1, "a"))
    wait_for(lambda: len(rows) == 3)
    table.insert((2, 2, "b"))
    wait_for(lambda: len(rows) == 4)


def test_rows_within_the_safety_lag_are_found(manager: SiddhiManager, table: Table) -> None:
    table.insert((1, 100, "old"), (2, 95, "old"))
    _, rows = started(manager, text(table, ", safety.lag = '10'", column="at"))
    table.insert((3, 92, "late"), (4, 89, "too late"))
    wait_for(lambda: len(rows) == 1)
    table.insert((5, 120, "new"))
    wait_for(lambda: len(rows) == 2)
    table.insert((6, 110, "late"), (7, 121, "last"))
    wait_for(lambda: len(rows) == 4)
    assert [row[0] for row in rows] == [3, 5, 6, 7]


def test_pages_end_within_equal_values(manager: SiddhiManager, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polling, "PAGE_ROWS", 3)
    values = [7] * 10 + [8] * 2 + [9] * 4 + list(range(10, 20))
    table.insert(*((number, value, "a") for number, value in enumerate(values)))
    _, rows = started(manager, text(table, ", start.from = 'earliest'", column="at"))
    wait_for(lambda: len(rows) == len(values))
    table.insert((100, 30, "a"))
    wait_for(lambda: len(rows) > len(values))
    assert [row[1] for row in rows] == [*values, 30]


def test_a_missing_record_is_waited_for(manager: SiddhiManager, table: Table) -> None:
    _, rows = started(manager, text(table, ", wait.on.missed.record = 'true'"))
    table.insert((1, 1, "a"), (3, 3, "c"))
    wait_for(lambda: len(rows) == 1)
    table.insert((2, 2, "b"))
    wait_for(lambda: len(rows) == 3)
    assert [row[0] for row in rows] == [1, 2, 3]


def test_a_missing_record_is_given_up(manager: SiddhiManager, table: Table, caplog: pytest.LogCaptureFixture) -> None:
    _, rows = started(manager, text(table, ", wait.on.missed.record = 'true', missed.record.waiting.timeout = '0'"))
    table.insert((1, 1, "a"), (3, 3, "c"))
    wait_for(lambda: len(rows) == 2)
    assert "no rows of 'trades' between 1 and 3" in caplog.text


def test_a_restore_continues_after_the_last_processed_row(manager: SiddhiManager, table: Table) -> None:
    runtime, rows = started(manager, text(table, column="at"))
    table.insert((1, 10, "a"), (2, 20, "b"))
    wait_for(lambda: len(rows) == 2)
    runtime.persist()
    table.insert((3, 20, "c"))
    wait_for(lambda: len(rows) == 3)
    runtime.shutdown()
    table.insert((4, 20, "d"), (5, 50, "e"))
    _, rows = started(manager, text(table, column="at"), restores=True)
    wait_for(lambda: len(rows) == 3)
    assert [row[0] for row in rows] == [3, 4, 5]


def test_a_running_app_is_restored(manager: SiddhiManager, table: Table) -> None:
    runtime, rows = started(manager, text(table))
    runtime.persist()  # before any row
    table.insert((1, 10, "a"), (2, 20, "b"))
    wait_for(lambda: len(rows) == 2)
    runtime.restore_last_revision()
    wait_for(lambda: len(rows) == 4)
    assert rows[2:] == rows[:2]


def test_columns_have_their_names_and_small_letters(manager: SiddhiManager, table: Table) -> None:
    _, rows = started(manager, text(table, stream="id long, at long, Symbol string"))
    table.insert((1, 10, "a"))
    wait_for(lambda: rows)
    assert rows == [(1, 10, "a")]


def test_a_cron_expression_replaces_the_interval(manager: SiddhiManager, table: Table) -> None:
    app = text(table, ", cron.expression = '* * * * * ?'").replace("polling.interval = '5 ms'", "buffer.payloads = '2'")
    _, rows = started(manager, app)
    table.insert((1, 10, "a"))
    wait_for(lambda: rows)


def test_threads_end_with_the_app(manager: SiddhiManager, table: Table, thread_names: Callable[[], list[str]]) -> None:
    before = thread_names()
    for number in range(3):
        runtime, rows = started(manager, text(table))
        table.insert((number, number, "a"))
        wait_for(lambda: len(rows) == 1)  # noqa: B023 - called at once
        runtime.shutdown()
    assert thread_names() == before


@pytest.mark.parametrize(
    ("more", "word"),
    [
        (", safety.lag = 'soon'", "safety.lag"),
        (", safety.lag = '5 sec'", "safety.lag"),
        (", safety.lag = '5', wait.on.missed.record = 'true'", "safety.lag"),
        (", missed.record.waiting.timeout = '3'", "missed.record.waiting.timeout"),
        (", cron.expression = 'daily'", "cron.expression"),
        (", operation = 'insert'", "operation"),
        (", pool.properties = 'a:1'", "pool.properties"),
        (", primary.key = 'other'", "no column 'other'"),
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, table: Table, more: str, word: str) -> None:
    with pytest.raises(SiddhiAppError, match=word) as caught:
        started(manager, text(table, more))
    assert caught.value.code == "E326"


@pytest.mark.parametrize(
    "url", ["jdbc:mysql://host/trades", "nothing", "sqlite://", "nodb://user:secret@host/d", "sqlite+nodriver:///a.db"]
)
def test_urls_that_do_not_fit_are_refused_without_secrets(manager: SiddhiManager, url: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(text(url))
    assert caught.value.code == "E326"
    assert "secret" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(("table_name", "column"), [("trades", "nothing"), ("nothing", "id")])
def test_an_app_does_not_start_without_table_or_column(
    manager: SiddhiManager, table: Table, table_name: str, column: str
) -> None:
    app = text(table, column=column).replace("'trades'", f"'{table_name}'")
    with pytest.raises(SiddhiAppError, match="nothing"):
        started(manager, app)


def test_transport_properties_are_refused(manager: SiddhiManager, table: Table) -> None:
    app = text(table).replace(
        "'keyvalue'", "'keyvalue', @attributes(id = 'id', at = 'trp:operation', symbol = 'symbol')"
    )
    with pytest.raises(SiddhiAppError, match="operation"):
        manager.create_siddhi_app_runtime(app)


def test_a_killed_process_loses_and_repeats_nothing(table: Table, tmp_path: Path) -> None:
    app = text(table, ", start.from = 'earliest'", column="at").replace("stream S", "stream In")

    def insert(numbers: Iterable[int]) -> None:
        table.insert(*((number, number // 10, "a") for number in numbers))

    received, sent, counted = kill_under_load(app, tmp_path, insert, value="id", batch=20, counts_all=True)
    assert list(dict.fromkeys(received)) == list(range(sent))
    assert counted == sent  # in the state


# --- PostgreSQL


def test_polling_survives_restarts_of_the_database(manager: SiddhiManager, server: postgres.Server) -> None:
    server.execute("CREATE TABLE trades (id int PRIMARY KEY, at timestamptz DEFAULT now(), symbol text)")
    _, rows = started(manager, text(server.url, ", safety.lag = '1 min'", column="at", stream="id int, symbol string"))
    for number in range(3):
        server.execute(f"INSERT INTO trades (id, symbol) VALUES ({number}, 'a')")
        wait_for(lambda: len(rows) > number)  # noqa: B023 - called at once
        server.stop()
        server.start()
    server.execute("INSERT INTO trades (id, symbol) VALUES (3, 'a')")
    wait_for(lambda: len(rows) == 4)
    assert [row[0] for row in rows] == [0, 1, 2, 3]


def test_a_row_that_commits_late_is_found(manager: SiddhiManager, server: postgres.Server) -> None:
    import sqlalchemy as sa

    server.execute("CREATE TABLE trades (id int PRIMARY KEY, at timestamptz DEFAULT now(), price numeric(10, 2))")
    app = text(server.url, ", safety.lag = '1 min'", column="at", stream="id int, price double")
    _, rows = started(manager, app)
    engine = sa.create_engine(server.url, poolclass=sa.NullPool)
    with engine.begin() as slow:
        slow.exec_driver_sql("INSERT INTO trades (id, price) VALUES (1, 1.5)")
        server.execute("INSERT INTO trades (id, price) VALUES (2, 2.5)")
        wait_for(lambda: len(rows) == 1)
    wait_for(lambda: len(rows) == 2)
    assert rows == [(2, 2.5), (1, 1.5)]
