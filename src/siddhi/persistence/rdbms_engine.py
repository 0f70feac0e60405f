"""Database of a persistence or error store: engine and tables, which are created if missing."""

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
"""Maximum length of a name in characters, in all databases."""
_SQLITE_BROKEN = {10, 11, 26}
"""Codes of SQLite: disk I/O error, malformed database, not a database."""
_SQLITE_READ_ONLY = 8


class Database:
    """A database with the tables of one store.

    Args:
        database: a URL of SQLAlchemy, or an engine.
        tables: the tables, which are created before the first use if missing.
        store: kind of store, for messages.

    Raises:
        ValueError: the URL is invalid.
    """

    def __init__(self, database: str | sa.Engine, tables: sa.MetaData, store: str) -> None:
        self._engine = database if isinstance(database, sa.Engine) else _engine(database, store)
        self._tables = tables
        self._store = store
        self._making = Lock()
        self._made = False

    @contextmanager
    def begin(self) -> Iterator[sa.Connection]:
        """Open a transaction.

        Raises:
            PersistenceStoreError: the database returns an error, here or in the block.
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
            # Not SQLAlchemy's text, which repeats the statement with a whole snapshot.
            why = error.orig if isinstance(error, DBAPIError) else error
            url = self._engine.url.set(query={})  # the query may contain a password, too
            raise PersistenceStoreError(f"database error of the {self._store} in {url!r}: {why}") from error

    def _make(self) -> None:
        try:
            self._tables.create_all(self._engine)
        except DBAPIError:
            # Another process may have created them meanwhile.
            if not all(sa.inspect(self._engine).has_table(table.name) for table in self._tables.sorted_tables):
                raise


def unfit(name: str) -> str | None:
    """Return why a database can't save a row under a name; None: it can."""
    if len(name) > NAME_LENGTH:
        return f"its name is too long for a database: {len(name)} characters, at most {NAME_LENGTH} are allowed"
    if any("\ud800" <= char <= "\udfff" or char == "\0" for char in name):
        return "its name contains a NUL character or an unpaired surrogate, which databases do not allow"
    return None


def is_damage(refused: PersistenceStoreError) -> bool:
    """Return whether an error means that data in the database can't be read, now or ever."""
    error = refused.__cause__
    if not isinstance(error, DBAPIError) or error.connection_invalidated:
        return False
    # The error code of SQLite is available from Python 3.11 on.
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _SQLITE_BROKEN
    return isinstance(error, InternalError) or type(error) is DatabaseError


def _is_read_only(error: DBAPIError) -> bool:
    """Return whether SQLite has opened the file read-only, as it does if it can't open it for writing for a moment."""
    code = getattr(error.orig, "sqlite_errorcode", None)  # from Python 3.11 on
    return code & 0xFF == _SQLITE_READ_ONLY if code is not None else "readonly database" in str(error.orig)


def _engine(text: str, store: str) -> sa.Engine:
    try:
        url = sa.make_url(text)
        if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
            # An in-memory database has one connection for all threads.
            return sa.create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False})
        return sa.create_engine(url, pool_pre_ping=url.get_backend_name() != "sqlite")
    except (ArgumentError, NoSuchModuleError) as error:
        # The URL is not shown: it may contain a password.
        raise ValueError(f"invalid URL of the {store}: expected one such as sqlite:///state.db") from error
