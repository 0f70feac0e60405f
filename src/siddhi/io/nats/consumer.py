"""Pull consumers of JetStream: what they are made of, and requests for messages."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass, replace

import nats.errors
import nats.js.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import AckPolicy, ConsumerConfig, ConsumerInfo, DeliverPolicy, StreamState

from siddhi.errors import ConnectionUnavailableError

__all__ = ["ConsumerOptions", "PullConsumer"]

logger = logging.getLogger("siddhi")

BATCH_SIZE = 500
"""Number of messages of one request."""
EXPIRES_SECONDS = 30.0
HEARTBEAT_SECONDS = 5.0
_IDLE_DELETED_SECONDS = 300.0
_EXPIRED = ("404", "408")
_HEARTBEAT = "100"


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """The checked options of a consumer.

    Attributes:
        subject: the subject; it may have wildcards.
        stream: name of the stream; None: the one that has the subject.
        durable: name of the consumer; None: it is deleted when it is no longer used.
        is_shared: whether several sources share the consumer, so that each message is received by one of them.
        policy: where to start without a position.
        start: number of the first message without a position; None: by ``policy``.
        ack_wait: seconds after which the server delivers a message again that is not acknowledged; None: as the server.
        is_acknowledged: whether the server waits for acknowledgements.
    """

    subject: str
    stream: str | None
    durable: str | None
    is_shared: bool
    policy: DeliverPolicy
    start: int | None
    ack_wait: float | None
    is_acknowledged: bool


class PullConsumer:
    """A consumer on an open connection.

    Args:
        client: the connection.
        options: the options.
        label: the source, for messages.

    Attributes:
        ack_wait: seconds after which the server delivers a message again.
    """

    def __init__(self, client: Client, options: ConsumerOptions, label: str) -> None:
        self.ack_wait = 30.0
        self._client = client
        self._options = options
        self._label = label
        self._stream = ""
        self._name = ""
        self._inbox = client.new_inbox()
        self._received: list[Msg] = []
        self._arrived = asyncio.Event()
        self._subscription: Subscription | None = None
        self._wanted = 0  # messages of the current request that have not arrived yet

    async def open(self, position: int | None) -> None:
        """Find or create the consumer.

        Args:
            position: number of the last message that was processed; None: unknown, or the consumer is shared.

        Raises:
            ConnectionUnavailableError: the stream does not exist, or the server does not answer.
        """
        try:
            await self._open(position)
        except nats.js.errors.NotFoundError as error:
            named = (
                f"'{self._options.stream}'" if self._options.stream else f"with the subject '{self._options.subject}'"
            )
            raise ConnectionUnavailableError(f"JetStream has no stream {named}") from error
        except (nats.errors.Error, asyncio.TimeoutError) as error:
            raise ConnectionUnavailableError(f"JetStream: {type(error).__name__}: {error}") from error

    async def _open(self, position: int | None) -> None:
        options, manager = self._options, self._client.jsm()
        self._stream = options.stream or await manager.find_stream_name_by_subject(options.subject)
        state = (await manager.stream_info(self._stream)).state
        config = ConsumerConfig(
            durable_name=options.durable,
            filter_subject=options.subject,
            deliver_policy=options.policy,
            ack_policy=self._policy(),
            ack_wait=options.ack_wait,
            max_ack_pending=-1 if options.is_acknowledged else None,
            inactive_threshold=None if options.durable else _IDLE_DELETED_SECONDS,
        )
        if options.start is not None:
            config = replace(config, deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=options.start)
        existing = await self._existing()
        if existing is not None and (options.is_shared or self._is_at(existing, position)):
            info = existing
        else:
            if position is None and existing is not None and existing.ack_floor is not None:
                position = existing.ack_floor.stream_seq
            if position is not None:
                start = self._start_after(position, state)
                config = replace(config, deliver_policy=DeliverPolicy.BY_START_SEQUENCE, opt_start_seq=start)
            if existing is not None:
                # A consumer can't be moved. Unacknowledged messages would arrive late, after those that follow them.
                await manager.delete_consumer(self._stream, existing.name)
            info = await manager.add_consumer(self._stream, config)
        self._name = info.name
        self.ack_wait = info.config.ack_wait or self.ack_wait
        self._subscription = await self._client.subscribe(self._inbox, cb=self._receive)

    def _policy(self) -> AckPolicy:
        if not self._options.is_acknowledged:
            return AckPolicy.NONE
        return AckPolicy.EXPLICIT if self._options.is_shared else AckPolicy.ALL

    async def _existing(self) -> ConsumerInfo | None:
        if self._options.durable is None:
            return None
        try:
            info: ConsumerInfo = await self._client.jsm().consumer_info(self._stream, self._options.durable)
        except nats.js.errors.NotFoundError:
            return None
        return info

    def _is_at(self, existing: ConsumerInfo, position: int | None) -> bool:
        """Return whether a consumer delivers next what follows a position, and waits for nothing."""
        if existing.config.ack_policy != self._policy() or existing.num_ack_pending:
            return False
        return position is None or (existing.delivered is not None and existing.delivered.stream_seq == position)

    def _start_after(self, position: int, state: StreamState) -> int:
        if position > state.last_seq:
            logger.error(
                "%s: stream '%s' ends at message %d, before the restored position %d: it was created anew, and is read as a whole",
                self._label,
                self._stream,
                state.last_seq,
                position,
            )
            return max(1, state.first_seq)
        if position + 1 < state.first_seq:
            logger.warning(
                "%s: the messages %d to %d of stream '%s' do not exist any more",
                self._label,
                position + 1,
                state.first_seq - 1,
                self._stream,
            )
        return position + 1

    async def next(self) -> list[Msg]:
        """Return the messages that have arrived, at least one.

        Raises:
            ConnectionUnavailableError: the server is silent, or has deleted the consumer.
        """
        found: list[Msg] = []
        while not found:
            if not self._received:
                if self._wanted <= 0:
                    await self._request()
                self._arrived.clear()
                try:
                    await asyncio.wait_for(self._arrived.wait(), 2 * HEARTBEAT_SECONDS + 1)
                except asyncio.TimeoutError:
                    raise ConnectionUnavailableError(
                        f"JetStream is silent for {2 * HEARTBEAT_SECONDS + 1:g} s"
                    ) from None
            received, self._received = self._received, []
            found = [message for message in received if not self._is_status(message)]
        self._wanted -= len(found)
        return found

    def _is_status(self, message: Msg) -> bool:
        headers = message.headers
        if not headers or message.data or "Status" not in headers:
            return False
        status = headers["Status"]
        if status in _EXPIRED:
            self._wanted = 0
        elif status != _HEARTBEAT:
            raise ConnectionUnavailableError(f"JetStream: {status} {headers.get('Description', '')}".strip())
        return True

    async def _receive(self, message: Msg) -> None:
        self._received.append(message)
        self._arrived.set()

    async def _request(self) -> None:
        self._wanted = BATCH_SIZE
        request = {
            "batch": BATCH_SIZE,
            "expires": int(EXPIRES_SECONDS * 1e9),
            "idle_heartbeat": int(HEARTBEAT_SECONDS * 1e9),
        }
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{self._name}"
        await self._client.publish(subject, json.dumps(request).encode(), reply=self._inbox)

    async def close(self) -> None:
        """Delete the consumer if it has no name of its own."""
        if self._options.durable is None and self._name and self._client.is_connected:
            await asyncio.wait_for(self._client.jsm().delete_consumer(self._stream, self._name), 1)
