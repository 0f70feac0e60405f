"""Listening mode: operations, transactions, acknowledgements, restarts and faults of the connection, refused set-ups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed")
pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from tests.io.test_tcp import wait_for
from tests.kit import postgres
from tests.kit.faults import kill_under_load
from tests.kit.killed_consumer import ROUNDS
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect

ALL = "insert,update,delete"


@pytest.fixture
def server(server: postgres.Server) -> postgres.Server:
    server.execute("CREATE TABLE trades (id int PRIMARY KEY, price double precision, symbol text)")
    return server


def insert(server: postgres.Server, *numbers: int) -> None:
    server.execute(*(f"INSERT INTO trades VALUES ({number}, {number}.5, 's{number}')" for number in numbers))


def text(server: postgres.Server, operation: str = "insert", more: str = "", *, url: str = "") -> str:
    both = "id int, price double, symbol string, before_id int, before_price double, before_symbol string"
    stream = {"insert": "id int, price double, symbol string", "delete": "before_id int, before_symbol string"}
    attributes = stream.get(operation, both)
    names = [part.split()[0] for part in attributes.split(", ")]
    mapped = ", ".join(f"{name} = '{name}'" for name in names)
    return (
        f"@app:name('Listen') @source(type = 'cdc', url = '{url or server.url}', table.name = 'trades', "
        f"operation = '{operation}' {more}, @map(type = 'keyvalue', fail.on.missing.attribute = 'false', "
        f"@attributes(op = 'trp:operation', {mapped}))) define stream S (op string, {attributes});"
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


def numbers(rows: list[tuple[Any, ...]]) -> list[int]:
    return [row[1] for row in rows]


def test_inserts_have_columns(manager: SiddhiManager, server: postgres.Server) -> None:
    insert(server, 0)
    _, rows = started(manager, text(server))
    insert(server, 1, 2)
    server.execute("UPDATE trades SET price = 7", "DELETE FROM trades")
    insert(server, 3)
    wait_for(lambda: len(rows) == 3)
    assert rows == [("insert", number, number + 0.5, f"s{number}") for number in (1, 2, 3)]


def test_deletes_have_columns_of_before(manager: SiddhiManager, server: postgres.Server) -> None:
    server.execute("ALTER TABLE trades REPLICA IDENTITY FULL")
    insert(server, 1)
    _, rows = started(manager, text(server, "delete"))
    server.execute("DELETE FROM trades")
    wait_for(lambda: rows)
    assert rows == [("delete", 1, "s1")]


def test_several_operations_fill_the_absent_side(manager: SiddhiManager, server: postgres.Server) -> None:
    server.execute("ALTER TABLE trades REPLICA IDENTITY FULL")
    app = text(server, ALL).replace("fail.on.missing.attribute = 'false', ", "")
    _, rows = started(manager, app)
    insert(server, 1)
    server.execute("UPDATE trades SET price = 2.0, id = 2")
    server.execute("DELETE FROM trades")
    wait_for(lambda: len(rows) == 3)
    assert rows == [
        ("insert", 1, 1.5, "s1", 0, 0.0, ""),
        ("update", 2, 2.0, "s1", 1, 1.5, "s1"),
        ("delete", 0, 0.0, "", 2, 2.0, "s1"),
    ]


def test_without_a_full_identity_the_key_of_before_is_known(
    manager: SiddhiManager, server: postgres.Server, caplog: pytest.LogCaptureFixture
) -> None:
    insert(server, 1)
    _, rows = started(manager, text(server, ALL))
    server.execute("UPDATE trades SET price = 2.0")
    server.execute("UPDATE trades SET id = 3")
    wait_for(lambda: len(rows) == 2)
    assert [row[4:] for row in rows] == [(1, None, None), (1, None, None)]
    assert "REPLICA IDENTITY FULL" in caplog.text


def test_a_large_value_that_is_not_sent_comes_from_before(manager: SiddhiManager, server: postgres.Server) -> None:
    large = "x" * 100_000
    server.execute(
        "ALTER TABLE trades ALTER symbol SET STORAGE EXTERNAL",
        "ALTER TABLE trades REPLICA IDENTITY FULL",
        f"INSERT INTO trades VALUES (1, 1, '{large}')",
    )
    _, rows = started(manager, text(server, "update"))
    server.execute("UPDATE trades SET price = 2")
    wait_for(lambda: rows)
    assert rows[0][3] == large


def test_a_restart_continues_where_the_app_was_shut_down(manager: SiddhiManager, server: postgres.Server) -> None:
    received: list[int] = []
    for number in range(3):
        runtime, rows = started(manager, text(server))
        insert(server, 10 * number, 10 * number + 1)
        wait_for(lambda: len(rows) >= 2)  # noqa: B023 - called at once
        runtime.shutdown()
        received += numbers(rows)
        insert(server, 100 + number)
    runtime, rows = started(manager, text(server))
    wait_for(lambda: rows)
    received += numbers(rows)
    assert received == [0, 1, 100, 10, 11, 101, 20, 21, 102]


def test_changes_are_repeated_after_the_last_checkpoint(manager: SiddhiManager, server: postgres.Server) -> None:
    app = text(server, "insert", ", ack = 'checkpoint'")
    runtime, rows = started(manager, app)
    insert(server, 1, 2)
    wait_for(lambda: len(rows) == 2)
    runtime.persist()
    insert(server, 3)
    wait_for(lambda: len(rows) == 3)
    runtime.shutdown()
    runtime, rows = started(manager, app, restores=True)
    insert(server, 4)
    wait_for(lambda: len(rows) == 2)
    runtime.shutdown()
    assert numbers(rows) == [3, 4]


def test_a_state_within_a_transaction_continues_within_it(manager: SiddhiManager, server: postgres.Server) -> None:
    app = text(server, "insert", ", ack = 'checkpoint', buffer.payloads = '1'")
    runtime = manager.create_siddhi_app_runtime(app)
    rows: list[tuple[Any, ...]] = []

    def take(events: list[Any]) -> None:
        rows.extend(event.data for event in events)
        if len(rows) == 5:
            for source in runtime_sources(runtime):
                source.pause()

    runtime.add_callback("S", take)
    runtime.start()
    insert(server, *range(10))
    wait_for(lambda: len(rows) == 5)
    runtime.persist()
    runtime.shutdown()
    _, again = started(manager, app, restores=True)
    wait_for(lambda: len(again) == 5)
    assert numbers([*rows, *again]) == list(range(10))


def runtime_sources(runtime: SiddhiAppRuntime) -> list[Any]:
    return [source for sources in runtime.sources.values() for source in sources]


def test_a_running_app_is_restored(manager: SiddhiManager, server: postgres.Server) -> None:
    runtime, rows = started(manager, text(server, "insert", ", ack = 'checkpoint'"))
    insert(server, 1)
    wait_for(lambda: rows)
    runtime.persist()
    insert(server, 2, 3)
    wait_for(lambda: len(rows) == 3)
    runtime.restore_last_revision()
    wait_for(lambda: len(rows) == 5)
    assert numbers(rows) == [1, 2, 3, 2, 3]


def test_the_log_of_other_tables_is_not_kept(manager: SiddhiManager, server: postgres.Server) -> None:
    runtime, rows = started(manager, text(server, "insert", ", timeout = '300 ms'"))
    insert(server, 1)
    wait_for(lambda: rows)
    server.execute("CREATE TABLE IF NOT EXISTS other (v int)", "INSERT INTO other VALUES (1)")
    ((end,),) = server.fetch("SELECT pg_current_wal_lsn()::text")
    query = f"SELECT count(*) FROM pg_replication_slots WHERE confirmed_flush_lsn >= '{end}'"
    wait_for(lambda: server.fetch(query) == [(1,)])
    runtime.shutdown()


def test_lost_connections_lose_and_repeat_nothing(manager: SiddhiManager, server: postgres.Server) -> None:
    with FaultProxy(server.port) as proxy:
        url = f"postgresql+psycopg://siddhi@127.0.0.1:{proxy.port}/postgres"
        _, rows = started(manager, text(server, url=url))
        for number in range(10):
            insert(server, 2 * number)
            proxy.drop()
            insert(server, 2 * number + 1)
            wait_for(lambda: len(rows) >= 2 * number + 2)  # noqa: B023 - called at once
        assert numbers(rows) == list(range(20))
        manager.shutdown()


def test_a_server_that_has_stopped_answering_is_found(manager: SiddhiManager, server: postgres.Server) -> None:
    with FaultProxy(server.port) as proxy:
        url = f"postgresql+psycopg://siddhi@127.0.0.1:{proxy.port}/postgres"
        _, rows = started(manager, text(server, "insert", ", timeout = '300 ms'", url=url))
        proxy.stall()
        insert(server, 1)
        wait_for(lambda: proxy.connected > 2)
        proxy.drop()
        proxy.flow()
        wait_for(lambda: rows)
        assert numbers(rows) == [1]
        manager.shutdown()


def test_a_killed_process_loses_and_repeats_nothing(server: postgres.Server, tmp_path: Path) -> None:
    app = text(server, "insert", ", ack = 'checkpoint'").replace("stream S", "stream In")
    received, sent, counted = kill_under_load(
        app, tmp_path, lambda numbers: insert(server, *numbers), value="id", batch=20, counts_all=True
    )
    assert list(dict.fromkeys(received)) == list(range(sent))
    assert counted == sent  # in the state


def test_restarts_of_the_server_lose_nothing(manager: SiddhiManager, server: postgres.Server) -> None:
    _, rows = started(manager, text(server))
    for number in range(ROUNDS):
        insert(server, 2 * number)
        server.stop()
        server.start()
        insert(server, 2 * number + 1)
        wait_for(lambda: len(set(rows)) == 2 * number + 2)  # noqa: B023 - called at once
    assert list(dict.fromkeys(numbers(rows))) == list(range(2 * ROUNDS))


def test_a_slow_app_stops_the_reading(manager: SiddhiManager, server: postgres.Server) -> None:
    runtime = manager.create_siddhi_app_runtime(text(server, "insert", ", buffer.payloads = '4', timeout = '300 ms'"))
    rows = collect(runtime, "S")
    runtime.start()
    (source,) = runtime_sources(runtime)
    source.pause()
    insert(server, *range(100))
    wait_for(lambda: len(source._waiting) == 4)
    source.resume()
    wait_for(lambda: len(rows) == 100)
    assert numbers(rows) == list(range(100))


def test_threads_and_slots_end_with_the_app(
    manager: SiddhiManager, server: postgres.Server, thread_names: Callable[[], list[str]]
) -> None:
    before = thread_names()
    for _ in range(3):
        started(manager, text(server))[0].shutdown()
    assert thread_names() == before
    assert server.fetch("SELECT active FROM pg_replication_slots") == [(False,)]


def test_a_publication_that_lacks_an_operation_is_refused(manager: SiddhiManager, server: postgres.Server) -> None:
    server.execute("CREATE PUBLICATION mine FOR TABLE trades WITH (publish = 'insert')")
    started(manager, text(server, "insert", ", publication.name = 'mine'"))[0].shutdown()
    with pytest.raises(SiddhiAppError, match="'mine' does not publish delete, insert"):
        started(manager, text(server, "insert,delete", ", publication.name = 'mine'"))


def test_updates_of_a_table_without_identity_are_refused(manager: SiddhiManager, server: postgres.Server) -> None:
    server.execute("ALTER TABLE trades DROP CONSTRAINT trades_pkey")
    with pytest.raises(SiddhiAppError, match="replica identity"):
        started(manager, text(server, "update"))
    assert server.fetch("SELECT pubname FROM pg_publication") == []


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (("operation = 'insert'", "operation = 'insert,truncate'"), "operation"),
        (("operation = 'insert'", "operation = 'insert', plugin.name = 'decoderbufs'"), "plugin.name"),
        (("operation = 'insert'", "operation = 'insert', polling.column = 'id'"), "polling.column"),
        (("operation = 'insert'", "operation = 'insert', slot.name = 'My slot'"), "slot.name"),
        (("operation = 'insert'", "operation = 'insert', connector.properties = 'a=1'"), "connector.properties"),
        (("trp:operation", "trp:other"), "other"),
        (("postgresql+psycopg", "mysql"), "can't listen to 'mysql'"),
        (("postgresql+psycopg", "mongodb"), "can't listen to 'mongodb'"),
        (("postgresql+psycopg", "oracle"), "can't listen to 'oracle'"),
        (("postgresql+psycopg", "mssql"), "can't listen to 'mssql'"),
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, change: tuple[str, str], word: str) -> None:
    class Nowhere:
        url = "postgresql+psycopg://host/database"

    app = text(Nowhere())  # type: ignore[arg-type]
    assert change[0] in app
    with pytest.raises(SiddhiAppError, match=word) as caught:
        manager.create_siddhi_app_runtime(app.replace(*change))
    assert caught.value.code == "E326"


def test_the_names_of_slot_and_publication_must_last(manager: SiddhiManager) -> None:
    app = text(None, url="postgresql+psycopg://u@localhost/d").replace("@app:name('Listen') ", "")  # type: ignore[arg-type]
    with pytest.raises(SiddhiAppError, match=r"requires the option 'slot.name' in an app without a name"):
        manager.create_siddhi_app_runtime(app)
    manager.create_siddhi_app_runtime(app.replace("table.name", "slot.name = 's', publication.name = 's', table.name"))


def test_a_table_that_does_not_exist_is_refused(manager: SiddhiManager, server: postgres.Server) -> None:
    with pytest.raises(SiddhiAppError, match="no such table"):
        started(manager, text(server).replace("'trades'", "'nothing'"))
