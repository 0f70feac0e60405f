"""Bulk insert, for drivers with a faster way than INSERT."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from siddhi.stores.record_table import Record

__all__ = ["copier"]

Copy = Callable[[sa.Connection, Sequence[Record]], None]


def copier(engine: sa.Engine, table: sa.Table) -> Copy | None:
    """Return ``copy(connection, records)``: COPY of PostgreSQL with psycopg; None for other databases and drivers.

    Its errors are those of an INSERT of SQLAlchemy.
    """
    dialect = engine.dialect
    dbapi: Any = dialect.dbapi
    if dialect.name != "postgresql" or dialect.driver != "psycopg":
        return None
    quoted = dialect.identifier_preparer
    columns = ", ".join(quoted.quote(column.name) for column in table.columns)
    statement = f"COPY {quoted.format_table(table)} ({columns}) FROM STDIN"

    def copy(connection: sa.Connection, records: Sequence[Record]) -> None:
        raw: Any = connection.connection.dbapi_connection
        try:
            with raw.cursor() as cursor, cursor.copy(statement) as writer:
                for record in records:
                    writer.write_row(record)
        except dbapi.Error as error:
            lost = dialect.is_disconnect(error, raw, None)
            if lost:
                connection.invalidate()
            raise DBAPIError.instance(
                statement, None, error, dbapi.Error, connection_invalidated=lost, dialect=dialect
            ) from error

    return copy
