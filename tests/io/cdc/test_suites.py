"""The checks that every source has to pass."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from siddhi.testing.connectors import SourceSuite
from tests.kit import postgres
from tests.kit.proxy import FaultProxy


class _Cdc(SourceSuite):
    mapper = "@map(type = 'keyvalue')"
    delivery = "at least once"
    is_durable = True

    def size(self, number: int) -> int:
        return 0  # a payload is a row

    def malformed(self) -> str:
        return '{"event": {"n": null}}'

    def send(self, payloads: Any) -> None:
        self.insert([(json.loads(payload)["event"]["n"],) for payload in payloads])

    def insert(self, rows: list[tuple[int | None]]) -> None:
        raise NotImplementedError


class TestPolling(_Cdc):
    @pytest.fixture(autouse=True)
    def table(self, tmp_path: Path) -> None:
        self.path = tmp_path / "a.db"
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute("CREATE TABLE numbers (id INTEGER PRIMARY KEY, n INTEGER)")
        self.options = (
            f"type = 'cdc', mode = 'polling', url = 'sqlite:///{self.path}', table.name = 'numbers', "
            "polling.column = 'id', polling.interval = '5 ms'"
        )

    def insert(self, rows: list[tuple[int | None]]) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.executemany("INSERT INTO numbers (n) VALUES (?)", rows)


class TestListening(_Cdc):
    is_reconnecting = True

    @pytest.fixture(autouse=True)
    def table(self, server: postgres.Server) -> Any:
        self.server = server
        server.execute("CREATE TABLE numbers (n int)")
        with FaultProxy(server.port) as self.proxy:
            url = server.url.replace(str(server.port), str(self.proxy.port))
            self.options = (
                f"type = 'cdc', url = '{url}', table.name = 'numbers', operation = 'insert', ack = 'checkpoint'"
            )
            yield

    def insert(self, rows: list[tuple[int | None]]) -> None:
        values = ", ".join(f"({'NULL' if number is None else number})" for (number,) in rows)
        self.server.execute(f"INSERT INTO numbers VALUES {values}")

    def break_connection(self) -> None:
        self.proxy.drop()
