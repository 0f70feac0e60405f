"""The connection of polls: statements run in a thread, for a limited time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.blocking_calls import in_thread, shut

__all__ = ["Database"]

_T = TypeVar("_T")


class Database:
    """One connection to a database.

    Args:
        url: the database.
        timeout: seconds that it has to answer.
    """

    def __init__(self, url: sa.URL, timeout: float) -> None:
        arguments: dict[str, Any] = {}
        if (
            url.get_driver_name() in ("psycopg", "psycopg2", "pymysql", "mysqldb")
            and "connect_timeout" not in url.query
        ):
            arguments["connect_timeout"] = max(2, round(min(timeout, 10.0)))
        self._engine = sa.create_engine(url, poolclass=NullPool, connect_args=arguments)
        self._timeout = timeout
        self._connection: sa.Connection | None = None

    @property
    def is_sqlite(self) -> bool:
        """Whether it is SQLite, whose columns can have values of any type."""
        return self._engine.dialect.name == "sqlite"

    async def run(self, work: Callable[[sa.Connection], _T]) -> _T:
        """Run a function with the connection, in a transaction of its own, and return its result.

        Raises:
            ConnectionUnavailableError: the database can't be reached, or does not answer in time.
            SQLAlchemyError: the statement is wrong, or not allowed.
        """
        try:
            return await in_thread(lambda: self._call(work), "the database", self._timeout, self._shut)
        except (OperationalError, InterfaceError) as error:
            raise ConnectionUnavailableError(f"the database can't be reached: {error.orig}") from error

    def _call(self, work: Callable[[sa.Connection], _T]) -> _T:
        if self._connection is None:
            self._connection = self._engine.connect()
        with self._connection.begin():
            return work(self._connection)

    def _shut(self) -> None:
        connection: Any = self._connection
        with suppress(Exception):  # it may be connecting, or closed, or without a driver's connection
            shut(connection.connection)

    async def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await asyncio.to_thread(_close, connection)


def _close(connection: sa.Connection) -> None:
    with suppress(SQLAlchemyError):  # it is broken
        connection.close()
