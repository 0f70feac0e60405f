"""The database of a store: its engine, and its tables, made where they are missing."""

from __future__ import annotations

from contextlib import AbstractContextManager
from threading import Lock

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError
from sqlalchemy.pool import StaticPool

__all__ = ["Database"]


class Database:
    """A database with the tables of one store.

    Args:
        database: a url of SQLAlchemy, or an engine.
        tables: made before anything else is done, where they are missing.
        store: what it is, for messages.

    Raises:
        ValueError: the url names no database.
    """

    def __init__(self, database: str | sa.Engine, tables: sa.MetaData, store: str) -> None:
        self._engine = database if isinstance(database, sa.Engine) else _engine(database, store)
        self._tables = tables
        self._making = Lock()
        self._made = False

    def begin(self) -> AbstractContextManager[sa.Connection]:
        """A transaction.

        Raises:
            sqlalchemy.exc.SQLAlchemyError: the database refuses.
        """
        with self._making:
            if not self._made:
                self._make()
                self._made = True
        begun: AbstractContextManager[sa.Connection] = self._engine.begin()
        return begun

    def _make(self) -> None:
        try:
            self._tables.create_all(self._engine)
        except DBAPIError:
            # Another process may have been faster.
            if not all(sa.inspect(self._engine).has_table(table.name) for table in self._tables.sorted_tables):
                raise


def _engine(text: str, store: str) -> sa.Engine:
    try:
        url = sa.make_url(text)
        if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
            # A database in memory is that of one connection, whatever thread asks.
            return sa.create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False})
        return sa.create_engine(url, pool_pre_ping=url.get_backend_name() != "sqlite")
    except (ArgumentError, NoSuchModuleError) as error:
        # Nothing of the url is shown: a password may stand in it.
        raise ValueError(f"the url of the {store} names no database, as sqlite:///state.db does") from error
