"""The database of a store: its engine, and its tables, made where they are missing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import sqlalchemy as sa
from sqlalchemy.exc import (
    ArgumentError,
    DatabaseError,
    DBAPIError,
    InternalError,
    NoSuchModuleError,
    SQLAlchemyError,
)
from sqlalchemy.pool import StaticPool

from siddhi.errors import PersistenceStoreError

__all__ = ["NAME_LENGTH", "Database", "is_damage", "unfit"]

NAME_LENGTH = 255
"""Characters of a name, in all databases."""
_SQLITE_BROKEN = {10, 11, 26}
"""Codes of SQLite: what is on the disk can't be read, is malformed, or is not a database."""
_SQLITE_READ_ONLY = 8


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
        self._store = store
        self._making = Lock()
        self._made = False

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """A transaction.

        Raises:
            PersistenceStoreError: the database refuses, here or in the block.
        """
        try:
            with self._making:
                if not self._made:
                    self._make()
                    self._made = True
            with self._engine.begin() as connection:
                try:
                    yield connection
                except DBAPIError as error:
                    if _is_read_only(error):
                        connection.invalidate()  # the next one may be opened for writing again
                    raise
        except (SQLAlchemyError, UnicodeEncodeError) as error:
            # Not SQLAlchemy's text: it repeats the statement, with all of a snapshot.
            why = error.orig if isinstance(error, DBAPIError) else error
            place = self._engine.url.set(query={})  # where a password may stand, too
            raise PersistenceStoreError(f"the {self._store} in {place!r} refuses: {why}") from error

    def _make(self) -> None:
        try:
            self._tables.create_all(self._engine)
        except DBAPIError:
            # Another process may have been faster.
            if not all(sa.inspect(self._engine).has_table(table.name) for table in self._tables.sorted_tables):
                raise


def unfit(name: str) -> str | None:
    """Why no database keeps a row under a name; None: all do."""
    if len(name) > NAME_LENGTH:
        return f"a database keeps {NAME_LENGTH} characters of a name, this one needs {len(name)}"
    if any("\ud800" <= char <= "\udfff" or char == "\0" for char in name):
        return "its name holds what databases refuse: a NUL, or half of a character (a surrogate)"
    return None


def is_damage(refused: PersistenceStoreError) -> bool:
    """Whether a database refused since what it holds there can't be read, now or ever."""
    error = refused.__cause__
    if not isinstance(error, DBAPIError) or error.connection_invalidated:
        return False
    # SQLite's code is told from Python 3.11 on.
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _SQLITE_BROKEN
    return isinstance(error, InternalError) or type(error) is DatabaseError


def _is_read_only(error: DBAPIError) -> bool:
    """Whether SQLite refuses to write. It opens a file for reading where it could not open it for writing for a moment."""
    code = getattr(error.orig, "sqlite_errorcode", None)  # told from Python 3.11 on
    return code & 0xFF == _SQLITE_READ_ONLY if code is not None else "readonly database" in str(error.orig)


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
