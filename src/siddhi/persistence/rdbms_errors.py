"""Error store in an SQL database, through SQLAlchemy."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Iterable
from threading import Lock

import sqlalchemy as sa
from sqlalchemy.dialects.mysql import LONGTEXT

from siddhi.errors import DamagedEntryError
from siddhi.event import Event
from siddhi.persistence.error_store import BUFFER_SIZE, ErrorEntry, ErrorOccurrence, ErrorStore
from siddhi.persistence.plain_json import read_value, write_value
from siddhi.persistence.rdbms_engine import NAME_LENGTH, Database, unfit

__all__ = ["RdbmsErrorStore"]

_TEXT = sa.Text().with_variant(LONGTEXT(), "mysql", "mariadb")
_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class RdbmsErrorStore(ErrorStore):
    """Keeps entries in a table of a database, which is created if missing, until they are discarded.

    Values of events, payloads and transport properties are saved losslessly as JSON: None, bool, int, float, str, bytes,
    bytearray, list, tuple, dict, Event, and these nested. Other values, such as objects of user classes, are saved as an
    :class:`UnkeptValue` with their ``repr``.

    An entry is lost if the database returns an error when it is written, or if the write buffer is full. The log then shows
    the entry without its stack trace; repeated losses are logged less and less often. Entries in the buffer are lost when
    the process is killed; a process that exits normally writes them first.

    Any thread, and several processes, may use it.

    Args:
        database: a URL of SQLAlchemy, such as ``postgresql+psycopg://user@host/name``, or an engine; default: the SQLite
            file ``siddhi-errors.db`` in the working directory.
        table: name of the table.
        buffer_size: capacity of the write buffer in entries; further ones are dropped and logged.

    Raises:
        ValueError: the URL is invalid.
        DamagedEntryError: (methods that load) an entry is corrupt.
        PersistenceStoreError: (methods) the database returns an error; SQLAlchemy's error is the cause.
    """

    def __init__(
        self,
        database: str | sa.Engine = "sqlite:///siddhi-errors.db",
        *,
        table: str = "siddhi_errors",
        buffer_size: int = BUFFER_SIZE,
    ) -> None:
        super().__init__(buffer_size=buffer_size)
        tables = sa.MetaData()
        self._table = sa.Table(
            table,
            tables,
            sa.Column("id", _ID, primary_key=True, autoincrement=True),
            sa.Column("timestamp", sa.BigInteger, nullable=False),
            sa.Column("app", sa.String(NAME_LENGTH), nullable=False, index=True),
            sa.Column("name", sa.String(NAME_LENGTH), nullable=False),
            sa.Column("occurrence", sa.String(64), nullable=False),
            sa.Column("connector", sa.Integer, nullable=False),
            sa.Column("events", _TEXT, nullable=False),
            sa.Column("payload", _TEXT, nullable=False),
            sa.Column("transport_properties", _TEXT, nullable=False),
            sa.Column("cause", _TEXT, nullable=False),
            sa.Column("stack_trace", _TEXT, nullable=False),
            sqlite_autoincrement=True,  # the id of a discarded entry must not be reused
        )
        self._database = Database(database, tables, "error store")
        self._lock = Lock()  # an in-memory database has one connection
        atexit.register(_flush, weakref.ref(self))

    def refuses(self, name: str) -> str | None:
        """Return why no row can be saved under the name of an app, stream or table; None: one can."""
        return unfit(name)

    def write(self, entry: ErrorEntry) -> None:
        """Write an entry; the database assigns its id.

        Raises:
            PersistenceStoreError: the database returns an error.
        """
        row = {
            "timestamp": entry.timestamp,
            "app": entry.app,
            "name": entry.name,
            "occurrence": entry.occurrence.value,
            "connector": entry.connector,
            # Value by value, so that one that can't be saved does not affect the others.
            "events": _list(_event(event) for event in entry.events),
            "payload": write_value(entry.payload),
            "transport_properties": _list(map(write_value, entry.transport_properties)),
            "cause": _clean(entry.cause),
            "stack_trace": _clean(entry.stack_trace),
        }
        with self._lock, self._database.begin() as connection:
            connection.execute(self._table.insert().values(**row))

    def load_error_entries(
        self,
        app: str,
        *,
        name: str | None = None,
        occurrence: ErrorOccurrence | None = None,
        limit: int | None = None,
    ) -> list[ErrorEntry]:
        """Return the entries of an app, oldest first; filter by stream or table and by occurrence, return at most ``limit``."""
        column = self._table.c
        chosen = sa.select(self._table).where(column.app == app).order_by(column.id)
        if name is not None:
            chosen = chosen.where(column.name == name)
        if occurrence is not None:
            chosen = chosen.where(column.occurrence == occurrence.value)
        if limit is not None:
            chosen = chosen.limit(limit)
        return self._entries(chosen)

    def load_error_entry(self, entry_id: int) -> ErrorEntry | None:
        """Return the entry of an id, or None."""
        found = self._entries(sa.select(self._table).where(self._table.c.id == entry_id))
        return found[0] if found else None

    def discard_error_entry(self, entry_id: int) -> bool:
        """Delete an entry; return whether it existed."""
        return self._delete(self._table.c.id == entry_id) > 0

    def discard_error_entries(self, app: str) -> int:
        """Delete all entries of an app; return their number."""
        return self._delete(self._table.c.app == app)

    def count(self, app: str | None = None) -> int:
        """Return the number of entries, of an app or in total."""
        counted = sa.select(sa.func.count()).select_from(self._table)
        if app is not None:
            counted = counted.where(self._table.c.app == app)
        self.flush()
        with self._lock, self._database.begin() as connection:
            return int(connection.execute(counted).scalar_one())

    def purge(self, before: int) -> int:
        """Delete entries from before a time (ms since the epoch); return their number."""
        return self._delete(self._table.c.timestamp < before)

    def _entries(self, chosen: sa.Select[tuple[object, ...]]) -> list[ErrorEntry]:
        self.flush()
        with self._lock, self._database.begin() as connection:
            rows = connection.execute(chosen).all()
        return [self._entry(row) for row in rows]

    def _entry(self, row: sa.Row[tuple[object, ...]]) -> ErrorEntry:
        try:
            written = read_value(row.events)
            events = [Event(timestamp, values, is_expired, *end) for timestamp, values, is_expired, *end in written]
            return ErrorEntry(
                id=row.id,
                timestamp=row.timestamp,
                app=row.app,
                name=row.name,
                occurrence=ErrorOccurrence(row.occurrence),
                events=tuple(events),
                cause=row.cause,
                stack_trace=row.stack_trace,
                payload=read_value(row.payload),
                connector=row.connector,
                transport_properties=tuple(read_value(row.transport_properties)),
            )
        except (ValueError, TypeError) as error:
            raise DamagedEntryError(f"entry {row.id} in table '{self._table.name}' is damaged: {error}") from error

    def _delete(self, condition: sa.ColumnElement[bool]) -> int:
        self.flush()
        with self._lock, self._database.begin() as connection:
            return int(connection.execute(self._table.delete().where(condition)).rowcount)


def _list(texts: Iterable[str]) -> str:
    return f"[{','.join(texts)}]"


def _event(event: Event) -> str:
    values = _list(map(write_value, event.data))
    end = () if event.end is None else (write_value(event.end),)
    return _list((str(event.timestamp), values, write_value(event.is_expired), *end))


def _clean(text: str) -> str:
    """Escape characters that databases do not allow: NUL and unpaired surrogates."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _flush(store: weakref.ref[RdbmsErrorStore]) -> None:
    kept = store()
    if kept is not None:
        kept.flush()
