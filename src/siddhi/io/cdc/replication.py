"""Listening mode: the changes that PostgreSQL replicates through a slot with the plugin ``pgoutput``.

psycopg has no interface for replication; the stream of messages is read with its wrapper of libpq.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import struct
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, cast

import psycopg
from psycopg import errors, pq, sql

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.io.blocking_calls import in_thread, shut
from siddhi.io.cdc.options import ListeningOptions
from siddhi.io.cdc.pgoutput import UNCHANGED, Begin, Change, Commit, Decoder
from siddhi.io.schedule import wait_until

__all__ = ["Replication"]

logger = logging.getLogger("siddhi")

_EPOCH_S = 946_684_800  # of PostgreSQL: 2000-01-01
_STATUS_S = 10.0
_CLOSING_S = 2.0
_TURN = 256  # messages

Put = Callable[[dict[str, Any], dict[str, object], object], Awaitable[None]]


class Replication:
    """Receives the changes of a table, transaction by transaction.

    A position is ``[acknowledged, commit, number]``: all transactions that end at or before ``acknowledged`` are processed,
    and the first ``number`` changes of the one whose commit is at ``commit``.

    Args:
        options: the options.
        stream: name of the stream, for messages.
        acknowledges_at_once: whether changes are acknowledged when they are processed.
    """

    def __init__(self, options: ListeningOptions, stream: str, *, acknowledges_at_once: bool) -> None:
        self._options = options
        self._stream = stream
        self._at_once = acknowledges_at_once
        self._connection: psycopg.Connection[Any] | None = None
        self._opening: psycopg.Connection[Any] | None = None  # used by a thread
        self._decoder = Decoder()
        self._readable = asyncio.Event()
        self._watched: int | None = None  # a socket
        self._opened = False
        self._flushed = 0  # acknowledged
        self._received = 0
        self._read = 0  # messages
        self._delivered: list[int] | None = None  # the last position that was handed over
        self._acknowledged: list[int] | None = None
        self._position: list[int] | None = None  # where receiving begins

    # --- connection

    async def open(self, position: object) -> None:
        """Connect, make publication and slot unless they exist, and start the replication.

        Args:
            position: the position after which changes are received; None: that of the slot.

        Raises:
            ConnectionUnavailableError: the server can't be reached, or the slot is in use.
            SiddhiAppCreationError: the server, the table or the slot does not fit.
        """
        self._position = None if position is None else list(cast("list[int]", position))
        self._decoder = Decoder()
        self._readable = asyncio.Event()
        self._flushed = self._received = 0
        timeout = self._options.timeout
        try:
            self._warn_of_loss(await in_thread(self._prepare, "the database", timeout, self._shut))
            # What was processed in another connection is acknowledged by the next checkpoint only.
            self._delivered = self._position
            if self._at_once or not self._opened:
                self._acknowledged = self._position
            self._connection = await in_thread(self._start, "the database", timeout, self._shut)
        except psycopg.OperationalError as error:
            raise ConnectionUnavailableError(f"the database can't be reached: {error}") from error
        except (psycopg.Error, SiddhiAppCreationError) as error:
            if self._opened:  # it worked before: it may work again
                raise ConnectionUnavailableError(f"{error}") from error
            if isinstance(error, psycopg.Error):
                raise self._refused(
                    f"{error}", "the user needs the attribute REPLICATION, and owns the table"
                ) from error
            raise
        try:
            # libpq closes its socket by itself when the connection is lost; the event loop watches one that stays open.
            self._watched = os.dup(self._pg.socket)
            asyncio.get_running_loop().add_reader(self._watched, self._readable.set)
        except NotImplementedError as error:  # the event loop of Windows
            raise self._refused("not possible on this operating system", "set mode = 'polling'") from error
        self._opened = True

    def restored(self, position: object) -> None:
        """Record that a position comes from a state that was saved: all before it is acknowledged."""
        self._acknowledged = None if position is None else list(cast("list[int]", position))

    def _shut(self) -> None:
        if self._opening is not None:
            shut(self._opening)

    @property
    def _pg(self) -> Any:
        if self._connection is None:
            raise ConnectionUnavailableError("the source is not connected")
        return self._connection.pgconn

    def _refused(self, reason: str, hint: str) -> SiddhiAppCreationError:
        return SiddhiAppCreationError(
            f"source 'cdc' can't listen to '{self._options.table}': {reason.strip()}", code="E326", hint=hint
        )

    def _prepare(self) -> int:
        """Check the server, make publication and slot, and return the position up to which the slot is acknowledged."""
        with psycopg.connect(**self._options.parameters, autocommit=True) as connection:
            self._opening = connection
            level = connection.execute("SHOW wal_level").fetchall()[0][0]
            if level != "logical":
                raise self._refused(
                    f"the server has wal_level = {level}", "set wal_level = logical, and restart the server"
                )
            table = self._check_table(connection)
            self._make_publication(connection, table)
            self._check_position(connection)
            return self._make_slot(connection)

    def _check_position(self, connection: psycopg.Connection[Any]) -> None:
        if self._position is None:
            return
        query = (
            "SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END - '0/0')"
        )
        (end,) = connection.execute(f"{query}::bigint").fetchall()[0]
        if self._position[0] > end:
            logger.error(
                "source 'cdc' of stream '%s': the position %s is ahead of the server, which has been restored or replaced; "
                "receiving begins at the position of the slot",
                self._stream,
                _lsn(self._position[0]),
            )
            self._position = None

    def _check_table(self, connection: psycopg.Connection[Any]) -> tuple[str, str]:
        options = self._options
        found = connection.execute(
            "SELECT n.nspname, c.relname, c.relreplident, EXISTS "
            "(SELECT FROM pg_index i WHERE i.indrelid = c.oid AND (i.indisprimary OR i.indisreplident)) "
            "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(%s)",
            (options.table,),
        ).fetchone()
        if found is None:
            raise self._refused("there is no such table", "write schema.table, with quotes as in SQL")
        schema, name, identity, has_key = found
        if isinstance(identity, bytes):
            identity = identity.decode()
        full = "set it with ALTER TABLE ... REPLICA IDENTITY FULL"
        if options.operations & {"update", "delete"}:
            if identity == "n" or (identity == "d" and not has_key):
                # The server would refuse updates and deletes of a published table without identity.
                raise self._refused("updates and deletes need a primary key or a replica identity", full)
            if identity != "f" and not self._opened:
                logger.warning(
                    "source 'cdc' of stream '%s': 'before_' columns outside the key of '%s' are not known: %s",
                    self._stream,
                    options.table,
                    full,
                )
        return schema, name

    def _make_publication(self, connection: psycopg.Connection[Any], table: tuple[str, str]) -> None:
        options = self._options
        name, wanted = options.publication, sorted(options.operations)
        found = connection.execute(
            "SELECT pubinsert, pubupdate, pubdelete, EXISTS (SELECT FROM pg_publication_tables t "
            "WHERE t.pubname = p.pubname AND t.schemaname = %s AND t.tablename = %s) "
            "FROM pg_publication p WHERE pubname = %s",
            (*table, name),
        ).fetchone()
        if found is None:
            root = sql.SQL(", publish_via_partition_root = true" if connection.info.server_version >= 130000 else "")
            connection.execute(
                sql.SQL("CREATE PUBLICATION {} FOR TABLE {} WITH (publish = {}{})").format(
                    sql.Identifier(name), sql.Identifier(*table), sql.Literal(", ".join(wanted)), root
                )
            )
            return
        published = {
            operation for operation, is_one in zip(("insert", "update", "delete"), found, strict=False) if is_one
        }
        if not options.operations <= published or not found[3]:
            raise self._refused(
                f"the publication '{name}' does not publish {', '.join(wanted)} of the table",
                "change it with ALTER PUBLICATION, drop it, or write another publication.name",
            )

    def _make_slot(self, connection: psycopg.Connection[Any]) -> int:
        name = self._options.slot
        query = (
            "SELECT plugin, database = current_database(), (confirmed_flush_lsn - '0/0')::bigint, wal_status = 'lost' "
            "FROM pg_replication_slots WHERE slot_name = %s"
        )
        if connection.info.server_version < 130000:
            query = query.replace("wal_status = 'lost'", "false")
        found = connection.execute(query, (name,)).fetchone()
        if found is None:
            if self._opened or self._position is not None:
                logger.error(
                    "source 'cdc' of stream '%s': there is no replication slot '%s' any more; it is made anew, and the changes "
                    "since the last one that was received are lost",
                    self._stream,
                    name,
                )
            connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (name,))
            found = connection.execute(query, (name,)).fetchall()[0]
        plugin, is_here, confirmed, is_lost = found
        if plugin != "pgoutput" or not is_here:
            raise self._refused(
                f"the slot '{name}' belongs to another database or plugin", "write another slot.name, or drop the slot"
            )
        if is_lost:
            raise self._refused(
                f"the server has removed changes that the slot '{name}' has not received (max_slot_wal_keep_size)",
                f"drop it with SELECT pg_drop_replication_slot('{name}'): receiving begins at the present",
            )
        return int(confirmed)

    def _warn_of_loss(self, confirmed: int) -> None:
        if self._at_once and not self._opened and self._position is not None and confirmed > self._position[0]:
            logger.warning(
                "source 'cdc' of stream '%s': changes from %s to %s are acknowledged since the state was saved, and are not "
                "received again; with ack = 'checkpoint' they would be",
                self._stream,
                _lsn(self._position[0]),
                _lsn(confirmed),
            )

    def _start(self) -> psycopg.Connection[Any]:
        options = self._options
        connection = psycopg.connect(**{**options.parameters, "replication": "database"}, autocommit=True)
        self._opening = connection
        try:
            begin = 0 if self._position is None else self._position[0]
            command = (
                f"START_REPLICATION SLOT {options.slot} LOGICAL {_lsn(begin)} "
                f"(proto_version '1', publication_names '{options.publication}')"
            )
            result = connection.pgconn.exec_(command.encode())
            if result.status != pq.ExecStatus.COPY_BOTH:
                raise errors.error_from_result(result)
            connection.pgconn.nonblocking = 1
        except BaseException:
            connection.close()
            raise
        return connection

    async def close(self) -> None:
        """End the replication, so that the server knows what was acknowledged and frees the slot."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._watched is not None:
            asyncio.get_running_loop().remove_reader(self._watched)
            os.close(self._watched)
            self._watched = None
        await asyncio.to_thread(self._end, connection)

    def _end(self, connection: psycopg.Connection[Any]) -> None:
        pgconn = connection.pgconn
        with suppress(psycopg.Error, OSError):  # the connection may be lost
            pgconn.put_copy_data(self._status())
            pgconn.put_copy_end()
            end = time.monotonic() + _CLOSING_S
            while time.monotonic() < end:
                pgconn.flush()
                size, _ = pgconn.get_copy_data(1)
                if size < 0:
                    break
                if size == 0:
                    select.select([pgconn.socket], [], [], 0.1)
                    pgconn.consume_input()
        connection.close()

    # --- messages

    async def receive(self, put: Put) -> None:
        """Receive changes until the task is cancelled.

        Args:
            put: hands a change over: its values, its properties by name, and its position.

        Raises:
            ConnectionUnavailableError: the connection is lost.
        """
        status = asyncio.ensure_future(self._send_status())
        try:
            await self._receive(put)
        except psycopg.Error as error:
            raise ConnectionUnavailableError(f"the connection to the database is lost: {error}") from error
        finally:
            status.cancel()

    async def _receive(self, put: Put) -> None:
        pending: tuple[dict[str, Any], dict[str, object]] | None = None  # until it is known whether it is the last one
        begin, number, safe = Begin(0, 0), 0, 0 if self._position is None else self._position[0]
        while True:
            message = await self._next()
            if message[:1] == b"k":
                end, _, reply = struct.unpack_from("!QqB", message, 1)
                if pending is None:
                    self._advance(end)
                if reply:
                    self._send()
                continue
            if message[:1] != b"w":
                continue
            decoded = self._decoder.decode(message[25:])
            if isinstance(decoded, Begin):
                begin, number = decoded, 0
            elif isinstance(decoded, Commit):
                if pending is not None:
                    safe = decoded.end
                    await self._put(put, pending, [safe, begin.final, number])
                    pending = None
                else:
                    self._advance(decoded.end)
                safe = decoded.end
            elif decoded is not None and decoded.operation in self._options.operations:
                if pending is not None:
                    await self._put(put, pending, [safe, begin.final, number])
                    pending = None
                number += 1
                if not self._is_known(begin.final, number):
                    pending = self._payload(decoded), self._properties(decoded, begin)

    async def _put(self, put: Put, pending: tuple[dict[str, Any], dict[str, object]], position: list[int]) -> None:
        self._delivered = position
        await put(*pending, position)

    def _is_known(self, final: int, number: int) -> bool:
        """Return whether a change was processed before the position where receiving began."""
        if self._position is None:
            return False
        return (final, number) <= (self._position[1], self._position[2])

    def _payload(self, change: Change) -> dict[str, Any]:
        values: dict[str, Any] = {}
        several = len(self._options.operations) > 1
        absent = self._decoder.absent(change.relation) if several else {}
        for side, prefix in ((change.after, ""), (change.before, "before_")):
            if side is None:
                if several:
                    values.update({f"{prefix}{name}": value for name, value in absent.items()})
            else:
                values.update({f"{prefix}{name}": value for name, value in side.items() if value is not UNCHANGED})
        return values

    def _properties(self, change: Change, begin: Begin) -> dict[str, object]:
        return {"operation": change.operation, "commit.time": begin.time_ms, "lsn": _lsn(begin.final)}

    async def _next(self) -> bytes:
        """Return the next message of the stream."""
        pgconn = self._pg
        while True:
            size, message = pgconn.get_copy_data(1)
            if size > 0:
                self._read += 1
                if self._read % _TURN == 0:
                    await asyncio.sleep(0)  # other connectors take their turn
                return bytes(message)
            if size < 0:
                result = pgconn.get_result()
                reason = "" if result is None else result.error_message.decode(errors="replace").strip()
                raise ConnectionUnavailableError(f"the server has ended the replication: {reason}")
            self._readable.clear()
            if not await wait_until(self._readable, self._options.timeout):
                raise ConnectionUnavailableError(f"the database has not answered for {self._options.timeout:g} s")
            pgconn.consume_input()

    # --- acknowledgements

    def acknowledge(self, position: list[int]) -> None:
        """Acknowledge the changes up to a position."""
        self._acknowledged = position
        if position[0] > self._flushed:
            self._flushed = position[0]
            self._send()

    def _advance(self, end: int) -> None:
        """Acknowledge a position of the server if no change before it is unprocessed: its log is not kept for nothing."""
        self._received = max(self._received, end)
        if self._delivered is None or self._delivered == self._acknowledged:
            self._flushed = max(self._flushed, end)

    async def _send_status(self) -> None:
        """Report regularly; the server answers, and so it is known to be there."""
        while True:
            await asyncio.sleep(min(_STATUS_S, self._options.timeout / 3))
            try:
                self._send(wants_reply=True)
            except psycopg.Error:
                return  # receiving finds it, too

    def _send(self, *, wants_reply: bool = False) -> None:
        pgconn = self._pg
        pgconn.put_copy_data(self._status(wants_reply=wants_reply))
        pgconn.flush()

    def _status(self, *, wants_reply: bool = False) -> bytes:
        micros = int((time.time() - _EPOCH_S) * 1_000_000)
        received = max(self._received, self._flushed)
        return struct.pack("!cQQQqB", b"r", received, self._flushed, self._flushed, micros, wants_reply)


def _lsn(position: int) -> str:
    return f"{position >> 32:X}/{position & 0xFFFFFFFF:X}"
