"""A connection of a WebSocket, of either side: finds out that the peer is gone, and says goodbye at the end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.event_loop import end_tasks
from siddhi.io.websocket.options import CLOSE_SECONDS, SessionOptions

__all__ = ["GOING_AWAY", "POLICY_VIOLATION", "Link", "NotingClientConnection", "NotingServerConnection"]

logger = logging.getLogger("siddhi")

GOING_AWAY = 1001
POLICY_VIOLATION = 1008


class _Noting(Connection):
    """Notes when the peer has sent anything, also the answer to a ping."""

    heard_at: float = 0.0

    def data_received(self, data: bytes) -> None:
        self.heard_at = self.loop.time()
        super().data_received(data)


class NotingClientConnection(_Noting, ClientConnection):
    """The client's side."""


class NotingServerConnection(_Noting, ServerConnection):
    """The server's side."""


class Link:
    """A connection with its pings and its idle timeout. Used on the event loop only.

    The library's own pings would end the connection of a source whose app is slow: it reads nothing then, no answer either.

    Args:
        connection: an open connection.
        session: its options.
        name: the peer, for messages.

    Attributes:
        is_idle: whether the idle timeout has closed it.
        is_received: whether the app receives messages: those that are left at the end are logged.
        discarded: number of messages that had arrived and were not handed to the app.
    """

    def __init__(
        self, connection: NotingClientConnection | NotingServerConnection, session: SessionOptions, name: str
    ) -> None:
        self.connection = connection
        self.is_idle = False
        self.is_received = False
        self.discarded = 0
        self._session = session
        self._name = name
        self._failure: str | None = None
        self._loop = asyncio.get_running_loop()
        self._is_blocked = False
        connection.heard_at = self._used_at = self._loop.time()
        self._closing: asyncio.Task[None] | None = None
        self._tasks: list[asyncio.Task[None]] = []
        if session.ping_interval is not None:
            self._tasks.append(self._loop.create_task(self._ping(session.ping_interval)))
        if session.idle_timeout is not None:
            self._tasks.append(self._loop.create_task(self._watch_idle(session.idle_timeout)))

    async def receive(self) -> str | bytes:
        """Return the next message: a text or bytes.

        Raises:
            ConnectionUnavailableError: the connection is closed.
        """
        try:
            message = await self.connection.recv()
        except ConnectionClosed as error:
            raise self._closed(error) from None
        self._used_at = self._loop.time()
        return message

    async def send(self, message: str | bytes) -> None:
        """Send a message; wait while the peer reads too slowly.

        Raises:
            ConnectionUnavailableError: the connection is closed.
        """
        try:
            await self.connection.send(message)
        except ConnectionClosed as error:
            raise self._closed(error) from None
        self._used_at = self._loop.time()

    async def confirm(self) -> None:
        """Wait until the peer has received all messages sent so far: it has answered a ping.

        Raises:
            ConnectionUnavailableError: the connection is closed.
        """
        try:
            await (await self.connection.ping())
        except ConnectionClosed as error:
            raise self._closed(error) from None

    def block(self) -> None:
        """Note that nothing is read until :meth:`unblock`, so that the peer's answers are not missed."""
        self._is_blocked = True

    def unblock(self) -> None:
        self._is_blocked = False
        self.connection.heard_at = self._used_at = self._loop.time()

    async def close(self, code: int = GOING_AWAY, reason: str = "") -> None:
        """Close the connection with a handshake, within a limit. No other task may receive."""
        if self._closing is None:
            self._closing = self._loop.create_task(self._close(code, reason))
        await asyncio.shield(self._closing)

    async def _close(self, code: int, reason: str) -> None:
        await end_tasks(self._tasks)
        # The peer's answer comes after its messages, which must be read.
        reading = self._loop.create_task(self._discard())
        try:
            await asyncio.wait_for(self.connection.close(code, reason), CLOSE_SECONDS)
        except asyncio.TimeoutError:
            self.connection.transport.abort()
        finally:
            await end_tasks((reading,))
            if self.discarded and self.is_received:
                logger.error(
                    "%s: %d messages that had arrived were not processed before the connection was closed",
                    self._name,
                    self.discarded,
                )

    async def _discard(self) -> None:
        with suppress(ConnectionClosed):
            while True:
                await self.connection.recv()
                self.discarded += 1

    async def _ping(self, interval: float) -> None:
        limit = interval + self._session.ping_timeout
        while True:
            await asyncio.sleep(interval)
            if not self._is_blocked and self._loop.time() - self.connection.heard_at > limit:
                self._failure = f"no answer to a ping within {self._session.ping_timeout:g} s"
                self.connection.transport.abort()
                return
            try:
                # A peer that reads nothing blocks the ping, too; it is gone if it sends nothing either.
                with suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(self.connection.ping(), interval)
            except ConnectionClosed:
                return

    async def _watch_idle(self, timeout: float) -> None:
        while True:
            left = self._used_at + timeout - self._loop.time()
            if left <= 0 and not self._is_blocked:
                break
            await asyncio.sleep(left if left > 0 else timeout)
        self.is_idle = True
        self._failure = f"no message for {timeout:g} s"
        try:
            await asyncio.wait_for(self.connection.close(GOING_AWAY, "idle timeout"), CLOSE_SECONDS)
        except asyncio.TimeoutError:
            self.connection.transport.abort()

    def _closed(self, error: ConnectionClosed) -> ConnectionUnavailableError:
        if self._failure is not None:
            why = self._failure
        elif error.rcvd is not None:
            why = f"closed by the peer with {error.rcvd.code}" + (
                f" ({error.rcvd.reason!r})" if error.rcvd.reason else ""
            )
        elif error.sent is not None:
            why = f"closed with {error.sent.code} ({error.sent.reason!r})"
        else:
            why = "ended without a closing handshake"
        return ConnectionUnavailableError(f"{self._name}: connection lost: {why}")
