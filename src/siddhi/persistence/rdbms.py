"""Persistence store in an SQL database, through SQLAlchemy."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from threading import Lock

import sqlalchemy as sa

from siddhi.errors import DamagedSnapshotError, PersistenceStoreError
from siddhi.persistence.envelope import checksum_of
from siddhi.persistence.rdbms_engine import NAME_LENGTH, Database, is_damage, unfit
from siddhi.persistence.revision import longest_revision, missing_revision, revision_order, surplus
from siddhi.persistence.store import PersistenceStore

__all__ = ["RdbmsPersistenceStore"]

logger = logging.getLogger("siddhi")

_PART_BYTES = 1 << 24
"""Size of a part: the maximum size of a value is between 64 MB and 2 GB, depending on the database."""


class RdbmsPersistenceStore(PersistenceStore):
    """Saves snapshots in two tables of a database, ``<table>`` and ``<table>_parts``, which are created if missing.

    A revision is saved and read back in one transaction, so that it is saved as a whole or not at all.

    Args:
        database: a URL of SQLAlchemy, such as ``postgresql+psycopg://user@host/name``, or an engine; default: the SQLite
            file ``siddhi-state.db`` in the working directory.
        table: name of the tables.
        revisions_to_keep: number of newest whole snapshots of an app to keep, with the increments based on them; older
            revisions are deleted with each save.

    Raises:
        ValueError: ``revisions_to_keep`` is below 1, or the URL is invalid.
        PersistenceStoreError: (methods) the database returns an error; SQLAlchemy's error is the cause.
    """

    def __init__(
        self,
        database: str | sa.Engine = "sqlite:///siddhi-state.db",
        *,
        table: str = "siddhi_revisions",
        revisions_to_keep: int = 3,
    ) -> None:
        if revisions_to_keep < 1:
            raise ValueError(f"invalid revisions_to_keep {revisions_to_keep}: expected 1 or more")
        self._revisions_to_keep = revisions_to_keep
        tables = sa.MetaData()
        self._revisions = sa.Table(
            table,
            tables,
            sa.Column("app", sa.String(NAME_LENGTH), primary_key=True),
            sa.Column("revision", sa.String(NAME_LENGTH), primary_key=True),
            sa.Column("base", sa.String(NAME_LENGTH)),  # null: a whole snapshot
            sa.Column("size", sa.BigInteger, nullable=False),
            sa.Column("checksum", sa.String(64), nullable=False),
        )
        self._parts = sa.Table(
            f"{table}_parts",
            tables,
            sa.Column("app", sa.String(NAME_LENGTH), primary_key=True),
            sa.Column("revision", sa.String(NAME_LENGTH), primary_key=True),
            sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
            sa.Column("content", sa.LargeBinary(_PART_BYTES), nullable=False),
        )
        self._database = Database(database, tables, "persistence store")
        self._lock = Lock()  # serializes threads; SQLite alone may starve some

    def refuses(self, app: str) -> str | None:
        """Return why no row can be saved under the name of an app; None: one can."""
        return unfit(longest_revision(app))

    def save(self, app: str, revision: str, snapshot: bytes, *, base: str | None = None) -> None:
        """Save a snapshot, then delete revisions beyond the newest ``revisions_to_keep``."""
        if why := unfit(app) or unfit(revision):
            raise PersistenceStoreError(f"revision {revision!a:.80} can't be saved: {why}")
        checksum = checksum_of(snapshot).hex()
        with self._lock, self._database.begin() as connection:
            self._delete(connection, app, revision)
            for part, start in enumerate(range(0, len(snapshot), _PART_BYTES)):
                content = snapshot[start : start + _PART_BYTES]
                connection.execute(self._parts.insert().values(app=app, revision=revision, part=part, content=content))
            row = {"app": app, "revision": revision, "base": base, "size": len(snapshot), "checksum": checksum}
            connection.execute(self._revisions.insert().values(**row))
            if not self._holds(connection, app, revision, snapshot):
                raise PersistenceStoreError(
                    f"revision '{revision}' in table '{self._revisions.name}' does not read back as written; "
                    "no revision was deleted"
                )
            kept = self._kept(connection, app)
            whole = [found for found, its_base in kept.items() if its_base is None]
            surplus_revisions = surplus(list(kept), whole, self._revisions_to_keep)
        if not surplus_revisions:
            return
        try:
            with self._lock, self._database.begin() as connection:
                for old in surplus_revisions:
                    self._delete(connection, app, old)
        except PersistenceStoreError as error:
            # The new revision is committed: an error with a damaged old one must not roll it back.
            logger.warning("app '%s': older revisions can't be deleted: %s", app, error)

    def load(self, app: str, revision: str) -> bytes:
        """Return the snapshot of a revision.

        Raises:
            DamagedSnapshotError: its rows are not as they were saved.
            CannotRestoreStateError: the app has no such revision.
        """
        if unfit(app) or unfit(revision):
            raise missing_revision(app, revision, self.revisions(app))
        head = self._revisions.c
        try:
            with self._database.begin() as connection:
                row = connection.execute(
                    sa.select(head.size, head.checksum).where(head.app == app, head.revision == revision)
                ).one_or_none()
                snapshot = b"".join(self._pieces(connection, app, revision))
        except PersistenceStoreError as error:
            if not is_damage(error):
                raise
            raise DamagedSnapshotError(f"revision '{revision}' of app '{app}' can't be read: {error}") from error
        if row is None:
            raise missing_revision(app, revision, self.revisions(app))
        if len(snapshot) != row.size or checksum_of(snapshot).hex() != row.checksum:
            raise DamagedSnapshotError(
                f"revision '{revision}' of app '{app}' in table '{self._revisions.name}' is damaged: "
                "its size or checksum does not match"
            )
        return snapshot

    def last_revision(self, app: str) -> str | None:
        """Return the newest revision of an app, or None."""
        revisions = self.revisions(app)
        return revisions[-1] if revisions else None

    def revisions(self, app: str) -> list[str]:
        """Return all revisions of an app, oldest first."""
        if unfit(app):
            return []
        with self._database.begin() as connection:
            return list(self._kept(connection, app))

    def clear_all_revisions(self, app: str) -> None:
        """Delete every snapshot of an app."""
        with self._lock, self._database.begin() as connection:
            for table in (self._parts, self._revisions):
                connection.execute(table.delete().where(table.c.app == app))

    def _kept(self, connection: sa.Connection, app: str) -> dict[str, str | None]:
        """Return the base of each revision, oldest first."""
        head = self._revisions.c
        rows = connection.execute(sa.select(head.revision, head.base).where(head.app == app)).all()
        return {row.revision: row.base for row in sorted(rows, key=lambda row: revision_order(row.revision))}

    def _holds(self, connection: sa.Connection, app: str, revision: str, snapshot: bytes) -> bool:
        at = 0
        for piece in self._pieces(connection, app, revision):
            if piece != snapshot[at : at + _PART_BYTES]:
                return False
            at += len(piece)
        return at == len(snapshot)

    def _pieces(self, connection: sa.Connection, app: str, revision: str) -> Iterator[bytes]:
        parts = self._parts.c
        for piece in connection.execute(
            sa.select(parts.content).where(parts.app == app, parts.revision == revision).order_by(parts.part)
        ).scalars():
            # SQLite returns values of any type; bytes() of a number would be that many zeros.
            yield bytes(piece) if isinstance(piece, bytes | bytearray | memoryview) else b""

    def _delete(self, connection: sa.Connection, app: str, revision: str) -> None:
        for table in (self._parts, self._revisions):
            connection.execute(table.delete().where(table.c.app == app, table.c.revision == revision))
