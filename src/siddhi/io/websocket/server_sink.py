"""``@sink(type = 'websocket-server')``: sends messages to all connected WebSocket clients."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from typing import Literal

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import end_tasks
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.websocket.link import POLICY_VIOLATION
from siddhi.io.websocket.options import CLOSE_SECONDS
from siddhi.io.websocket.server import Client, Place, ServerOptions, WebSocketServer
from siddhi.io.websocket.server_source import path_of
from siddhi.io.websocket.sink import message_of
from siddhi.repeats import Repeats

__all__ = ["WebSocketServerSink"]

logger = logging.getLogger("siddhi")

_Policy = Literal["drop", "close", "wait"]


class _Outbox:
    """The messages for one client that are not sent yet. Used on the event loop only."""

    def __init__(self, client: Client, size: int) -> None:
        self.client = client
        self._messages: deque[str | bytes] = deque()
        self._size = size
        self._in_hand = 0  # messages that are being sent: 0 or 1
        self._filled = asyncio.Event()
        self._taken = asyncio.Event()
        self._closing: asyncio.Task[None] | None = None
        self._sending = asyncio.get_running_loop().create_task(self._send())

    @property
    def is_full(self) -> bool:
        """Whether no more messages may wait."""
        return len(self._messages) >= self._size

    @property
    def is_done(self) -> bool:
        """Whether the client takes no more messages."""
        return self._sending.done() or self._closing is not None

    def add(self, message: str | bytes) -> None:
        """Add a message."""
        self._messages.append(message)
        self._filled.set()

    def drop_oldest(self) -> None:
        """Forget the message that waits longest; there is one if the outbox is full."""
        self._messages.popleft()

    async def has_room(self) -> None:
        """Wait until one more message may wait, or the client is gone."""
        while self.is_full and not self.is_done:
            self._taken.clear()
            await self._taken.wait()

    async def drained(self) -> None:
        """Wait until all messages are sent, or the client is gone."""
        while (self._messages or self._in_hand) and not self.is_done:
            self._taken.clear()
            await self._taken.wait()

    def close(self) -> None:
        """Close the connection: the client is too slow."""
        self._sending.cancel()
        self._closing = asyncio.get_running_loop().create_task(
            self.client.close(POLICY_VIOLATION, "too slow: too many messages wait")
        )

    async def end(self) -> int:
        """Send no more, and return the number of messages that are left."""
        await end_tasks((self._sending,))
        if self._closing is not None:
            await asyncio.gather(self._closing, return_exceptions=True)
        return len(self._messages) + self._in_hand

    async def _send(self) -> None:
        try:
            while True:
                while self._messages:
                    message = self._messages.popleft()
                    self._in_hand = 1
                    self._taken.set()
                    await self.client.link.send(message)
                    self._in_hand = 0
                self._taken.set()
                self._filled.clear()
                await self._filled.wait()
        except ConnectionUnavailableError as error:
            logger.debug("%s", error)
        finally:
            self._taken.set()


class WebSocketServerSink(AsyncSink):
    """Sends each payload to all clients that are connected to its path.

    A payload counts as published when it is in the queue of each client. A client whose queue is full loses its oldest message,
    or is disconnected, or the sink waits for it. Without clients, payloads are dropped.

    Attributes:
        dropped: number of messages that clients have lost: their queue was full, or the connection ended before.
        disconnected: number of clients that were too slow.
        unheard: number of payloads for which there was no client.
    """

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._path = path_of(options)
        self._options, self._context = ServerOptions.of(options)
        self._size = options.integer("client.queue.size", 1000, least=1)
        choices: dict[str, _Policy] = {"drop": "drop", "close": "close", "wait": "wait"}
        self._policy = choices[options.choice("slow.client", tuple(choices), "drop")]
        self._place: tuple[WebSocketServer, Place] | None = None
        self._outboxes: dict[Client, _Outbox] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._repeats = Repeats(first=1)
        self.dropped = self.disconnected = self.unheard = 0

    async def open(self) -> None:
        self._place = await WebSocketServer.open(
            self._options, self._context, self._path, joined=self._join, left=self._leave
        )

    def _join(self, client: Client) -> None:
        self._outboxes[client] = _Outbox(client, self._size)

    def _leave(self, client: Client) -> None:
        outbox = self._outboxes.pop(client, None)
        if outbox is not None:
            task = asyncio.get_running_loop().create_task(self._end(outbox))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _end(self, outbox: _Outbox) -> None:
        left = await outbox.end()
        if left:
            self.dropped += left
            self._log("a client was gone before it got all its messages")

    async def send(self, payload: object, options: DynamicOptions) -> None:
        message = message_of("sink 'websocket-server'", payload)
        sent = False
        for outbox in tuple(self._outboxes.values()):
            if outbox.is_full and not outbox.is_done:
                await self._make_room(outbox)
            if not outbox.is_done:
                outbox.add(message)
                sent = True
        if not sent:
            self.unheard += 1
            self._log("a message was dropped, since no client is connected")

    async def _make_room(self, outbox: _Outbox) -> None:
        if self._policy == "wait":
            await outbox.has_room()
        elif self._policy == "drop":
            outbox.drop_oldest()
            self.dropped += 1
            self._log("a client is too slow: a message for it was dropped")
        else:
            outbox.close()
            self.disconnected += 1
            self._log("a client is too slow: it was disconnected")

    def _log(self, text: str) -> None:
        note = self._repeats.note(text)
        if note is not None:
            logger.warning(
                "app '%s', sink 'websocket-server' of stream '%s': %s%s",
                self.context.app,
                self.context.stream,
                text,
                note,
            )

    async def close(self) -> None:
        """Send what waits, within a limit, and close the connections."""
        place, self._place = self._place, None
        if place is None:
            return
        with suppress(asyncio.TimeoutError):
            waiting = [outbox.drained() for outbox in self._outboxes.values()]
            await asyncio.wait_for(asyncio.gather(*waiting), CLOSE_SECONDS)
        await place[0].close(place[1], is_source=False)
        for client in tuple(self._outboxes):
            self._leave(client)
        await asyncio.gather(*self._ending, return_exceptions=True)
