"""``@source(type = 'nats')``: receives the messages of a subject."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Any, cast

from nats.aio.msg import Msg
from nats.js.api import DeliverPolicy

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import AckMode, Given, ReplayableSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import end_tasks
from siddhi.io.nats.connection import ConnectionOptions, NatsConnection, is_streaming, subject
from siddhi.io.nats.consumer import ConsumerOptions, PullConsumer
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener
from siddhi.io.unacknowledged import UnacknowledgedLimit

__all__ = ["NatsSource"]

_OWN = ("subject", "reply", "sequencenumber", "timestamp")


class NatsSource(ReplayableSource):
    """Receives messages of core NATS, or those of a stream of JetStream.

    A consumer of its own is read in order. Its position is the number of the last processed message in the stream; after a
    restore or a lost connection the consumer continues there. A shared consumer has no position: the server knows which
    messages are acknowledged.
    """

    ack_modes = ("processed", "checkpoint")
    has_message_time = True

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._subject = subject(options)
        self._group = options.static("queue.group.name", "")
        self._consumer_options = _consumer(options, self._subject, self._group, self.acknowledges)
        if self._consumer_options is None:
            for name in ("ack", "ack.wait", "buffer.unacknowledged", "deliver.policy"):
                if name in options:
                    raise options.invalid(name, "'jetstream' or 'stream' beside it: core NATS acknowledges nothing")
            if self.is_message_time:
                raise options.invalid(
                    "event.time", "'jetstream' or 'stream' beside it: messages of core NATS have no time"
                )
        self._connecting = ConnectionOptions.read(options)
        self._name = options.static("client.id", f"{context.app}/{context.stream}")
        self._names = tuple(low if (low := name.lower()) in _OWN else name for name in transport_properties)
        self._label = f"app '{context.app}', source 'nats' of stream '{context.stream}'"
        self._limit = UnacknowledgedLimit.read(options, self.acknowledges, self._label)
        self._nats: NatsConnection | None = None
        self._pull: PullConsumer | None = None
        self._count = 0  # messages received since the start
        self._last = 0  # number of the last message received, of a consumer of its own
        self._pending: deque[tuple[int, str]] = deque()  # position and reply subject of unacknowledged messages

    # --- connection

    async def open(self) -> None:
        connection = self._nats = NatsConnection(self._connecting, self._name, self._label)
        await connection.open()
        self._pending.clear()
        self._limit.begin()
        options = self._consumer_options
        if options is None:
            await connection.client.subscribe(self._subject, queue=self._group, cb=self._hand_over)
            await connection.client.flush()
            connection.check()
        else:
            position = None if options.is_shared else cast("int | None", self.position)
            self._last = position or 0
            self._pull = PullConsumer(connection.client, options, self._label)
            await self._pull.open(position)

    async def close(self) -> None:
        connection, self._nats = self._nats, None
        pull, self._pull = self._pull, None
        self.lag = None
        self._limit.end()
        if pull is not None:
            with suppress(Exception):  # the server deletes it after some minutes
                await pull.close()
        if connection is not None:
            await connection.close()

    async def receive(self) -> None:
        connection = self._nats
        assert connection is not None
        parts = [connection.lost()]
        options = self._consumer_options
        if self._pull is not None and options is not None:
            parts.append(self._receive_stream(self._pull, options))
            if options.is_shared:
                parts.append(self._keep_waiting(connection, self._pull.ack_wait / 3))
        tasks = [asyncio.ensure_future(part) for part in parts]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            await end_tasks(tasks)

    # --- core NATS

    async def _hand_over(self, message: Msg) -> None:
        self._count += 1
        await self.put(message.data, self._properties(message, self._count, None))

    # --- JetStream

    async def _receive_stream(self, pull: PullConsumer, options: ConsumerOptions) -> None:
        while True:
            batch: list[Given] = []
            for message in await pull.next():
                metadata = message.metadata
                number = metadata.sequence.stream
                self.lag = metadata.num_pending
                if not options.is_shared:
                    if number <= self._last:
                        continue  # delivered again, since it is not acknowledged yet
                    self._last = number
                if self._limit.is_reached:
                    if batch:
                        await self.put_many(batch)
                        batch = []
                    await self._limit.room()
                self._count += 1
                position = self._count if options.is_shared else number
                if options.is_acknowledged:
                    self._pending.append((position, message.reply))
                    self._limit.note(len(self._pending))
                time = int(metadata.timestamp.timestamp() * 1000)
                properties = self._properties(message, number, time)
                batch.append((message.data, properties, position, time if self.is_message_time else None))
            if batch:
                await self.put_many(batch)

    async def _keep_waiting(self, connection: NatsConnection, seconds: float) -> None:
        """Tell the server now and then that messages are still in progress, so that it does not deliver them to other sources."""
        while True:
            await asyncio.sleep(seconds)
            for _, reply in list(self._pending):
                await connection.client.publish(reply, b"+WPI")

    async def acknowledge(self, position: object) -> None:
        connection = self._nats
        if connection is None or self._consumer_options is None or not self._consumer_options.is_acknowledged:
            return
        last = cast("int", position)
        reply = None
        while self._pending and self._pending[0][0] <= last:
            _, reply = self._pending.popleft()
            if self._consumer_options.is_shared:
                await connection.client.publish(reply, b"+ACK")
        if reply is not None and not self._consumer_options.is_shared:
            await connection.client.publish(reply, b"+ACK")  # and with it all before
        self._limit.note(len(self._pending))

    def advance(self, position: object) -> None:
        if self._consumer_options is not None and not self._consumer_options.is_shared:
            self.position = position

    # --- messages

    def _properties(self, message: Msg, number: int, time: int | None) -> list[object] | None:
        if not self._names:
            return None
        headers = message.headers or {}
        own = {"subject": message.subject, "reply": message.reply or None, "sequencenumber": number, "timestamp": time}
        if time is not None:
            own["reply"] = None  # where to acknowledge
        return [own[name] if name in own else headers.get(name) for name in self._names]


def _consumer(options: OptionHolder, subject: str, group: str, acknowledges: AckMode) -> ConsumerOptions | None:
    """Return the options of the consumer of JetStream; None: it is core NATS."""
    if not is_streaming(options):
        return None
    durable = options.optional("durable.name") or group or None
    if durable is not None and set(durable) & set(" .*>/\\\t\r\n"):
        raise options.invalid(
            "durable.name" if "durable.name" in options else "queue.group.name", "a name without . * > / and spaces"
        )
    policies: dict[str, Any] = {"all": DeliverPolicy.ALL, "new": DeliverPolicy.NEW, "last": DeliverPolicy.LAST}
    start = options.integer("subscription.sequence", least=0) if "subscription.sequence" in options else None
    if start is not None and "deliver.policy" in options:
        raise options.invalid("deliver.policy", "no 'subscription.sequence' beside it")
    wait = options.duration("ack.wait", unit="sec") if "ack.wait" in options else None
    if wait is not None and wait < 1:
        raise options.invalid("ack.wait", "at least a second")
    if wait is None and acknowledges == "checkpoint" and not group:
        wait = 3600.0  # messages are acknowledged when the state is saved, however late that is
    if durable is None and "ack" in options:
        raise SiddhiAppCreationError(
            "source 'nats': 'ack' needs a 'durable.name'",
            code="E326",
            hint="without one, the position is in the state of the app alone",
        )
    return ConsumerOptions(
        subject=subject,
        stream=options.optional("stream"),
        durable=durable,
        is_shared=bool(group),
        policy=policies[options.choice("deliver.policy", list(policies), "all")],
        start=None if start is None else start + 1,
        ack_wait=wait,
        is_acknowledged=durable is not None,
    )
