"""Events that failed, in an SQL database, through SQLAlchemy."""

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
    """Keeps entries in a table of a database, which is made where it is missing, until they are discarded.

    Values of events, payloads and transport properties are kept as JSON, exactly: None, bool, int, float, str, bytes,
    bytearray, list, tuple, dict, Event, and these nested. Another value, as an object of a class of yours, is kept as an
    :class:`UnkeptValue`, which tells its ``repr``.

    An entry is lost that the database does not take when it is written, or that finds ``buffer_size`` others waiting; the
    log then shows all of it but the stack trace, of many the first and then ever fewer. What waits when the process is killed is lost, too; one that ends by
    itself writes that first.

    Any thread, and several processes, may use it.

    Args:
        database: a url of SQLAlchemy, such as ``postgresql+psycopg://user@host/name``, or an engine; the file
            ``siddhi-errors.db`` in the working folder (SQLite) where none is given.
        table: its name.
        buffer_size: entries that may wait to be written; what comes then is dropped, with a log.

    Raises:
        ValueError: the url names no database.
        DamagedEntryError: (methods that load) an entry is not what was written.
        PersistenceStoreError: (methods) the database refuses; SQLAlchemy's error is the cause.
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
            sqlite_autoincrement=True,  # who holds the id of an entry that is gone must not meet another one
        )
        self._database = Database(database, tables, "error store")
        self._lock = Lock()  # a database in memory has one connection
        atexit.register(_flush, weakref.ref(self))

    def refuses(self, name: str) -> str | None:
        """Why no row can be named after an app, stream or table of this name; None: one can."""
        return unfit(name)

    def write(self, entry: ErrorEntry) -> None:
        """Keep an entry under an id that the database gives it.

        Raises:
            PersistenceStoreError: the database refuses.
        """
        row = {
            "timestamp": entry.timestamp,
            "app": entry.app,
            "name": entry.name,
            "occurrence": entry.occurrence.value,
            "connector": entry.connector,
            # Each event by itself: in one that holds something that can't be kept, the other values are.
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
        """The entries of an app, oldest first; of one stream or occurrence only, ``limit`` of them at the most."""
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
        """The entry of an id, or None."""
        found = self._entries(sa.select(self._table).where(self._table.c.id == entry_id))
        return found[0] if found else None

    def discard_error_entry(self, entry_id: int) -> bool:
        """Let an entry go; whether there was one."""
        return self._delete(self._table.c.id == entry_id) > 0

    def discard_error_entries(self, app: str) -> int:
        """Let all entries of an app go; how many there were."""
        return self._delete(self._table.c.app == app)

    def count(self, app: str | None = None) -> int:
        """How many entries there are, of an app or in all."""
        counted = sa.select(sa.func.count()).select_from(self._table)
        if app is not None:
            counted = counted.where(self._table.c.app == app)
        self.flush()
        with self._lock, self._database.begin() as connection:
            return int(connection.execute(counted).scalar_one())

    def purge(self, before: int) -> int:
        """Let entries from before a time (ms since the epoch) go; how many those were."""
        return self._delete(self._table.c.timestamp < before)

    def _entries(self, chosen: sa.Select[tuple[object, ...]]) -> list[ErrorEntry]:
        self.flush()
        with self._lock, self._database.begin() as connection:
            rows = connection.execute(chosen).all()
        return [self._entry(row) for row in rows]

    def _entry(self, row: sa.Row[tuple[object, ...]]) -> ErrorEntry:
        try:
            events = [Event(timestamp, values, is_expired) for timestamp, values, is_expired in read_value(row.events)]
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
            raise DamagedEntryError(
                f"entry {row.id} in table '{self._table.name}' is not what was written: {error}"
            ) from error

    def _delete(self, condition: sa.ColumnElement[bool]) -> int:
        self.flush()
        with self._lock, self._database.begin() as connection:
            return int(connection.execute(self._table.delete().where(condition)).rowcount)


def _list(texts: Iterable[str]) -> str:
    return f"[{','.join(texts)}]"


def _event(event: Event) -> str:
    values = _list(map(write_value, event.data))
    return _list((str(event.timestamp), values, write_value(event.is_expired)))


def _clean(text: str) -> str:
    """The text without what databases refuse: NUL, and halves of characters."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def _flush(store: weakref.ref[RdbmsErrorStore]) -> None:
    kept = store()
    if kept is not None:
        kept.flush()
