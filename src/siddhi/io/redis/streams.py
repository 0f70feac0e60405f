"""``@source(type = 'redis-stream')``: reads a stream of Redis, alone or as a consumer of a group."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from siddhi.io.async_source import ReplayableSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.redis.connection import RedisServer, redis_errors, text_of
from siddhi.io.source import SourceEventListener
from siddhi.io.unacknowledged import UnacknowledgedLimit

__all__ = ["RedisStreamSource"]

logger = logging.getLogger("siddhi")

_BLOCK_SECONDS = 5.0
_ID = re.compile(r"[0-9]{1,20}(-[0-9]{1,20})?")

Fields = Mapping[bytes, bytes]


@dataclass(slots=True, eq=False)
class _Pending:
    """An entry that is not acknowledged yet."""

    number: int
    id: bytes
    fields: Fields
    processed: asyncio.Future[bool] | None = None

    @property
    def has_failed(self) -> bool:
        """Whether the app could not process it."""
        return self.processed is not None and self.processed.done() and not self.processed.result()


class RedisStreamSource(ReplayableSource):
    """Reads the entries of a stream.

    Without a group, the position is the id of the last processed entry: it is part of snapshots. With a group, the server keeps
    the entries that were delivered and not acknowledged; snapshots have the ids of those that are processed, so that they are
    not processed again after a restore.
    """

    ack_modes: ClassVar = ("processed", "checkpoint", "received")
    has_message_time = True

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._names = transport_properties
        self._server = RedisServer.read(options)
        self._stream = options.static("stream")
        self._group = options.optional("group")
        self._field = options.static("payload.field", "payload").encode()
        self._count = options.integer("read.count", min(256, self.buffer_size), least=1)
        self._start = self._read_start(options)
        self._consumer = options.optional("consumer") or ""
        self._claim = options.duration("claim.idle", "5 min")
        self._dead_letter = options.optional("dead.letter.stream")
        if self._group is None:
            for name in ("ack", "buffer.unacknowledged", "consumer", "claim.idle", "dead.letter.stream"):
                if name in options:
                    raise options.invalid(name, "'group' beside it: only the consumers of a group acknowledge entries")
            self.acknowledges = "received"
        elif not self._consumer:
            app = context.lasting_name("source 'redis-stream'", "consumer")
            self._consumer = f"{socket.gethostname()}/{app}/{context.stream}"
        if self._group is not None and self.acknowledges == "received" and self._dead_letter is not None:
            raise options.invalid("dead.letter.stream", "ack = 'processed' or 'checkpoint' beside it")
        self._limit = UnacknowledgedLimit.read(
            options, self.acknowledges, f"app '{context.app}', source 'redis-stream' of stream '{context.stream}'"
        )
        self._client: Redis | None = None
        self._number = 0
        self._guard = threading.Lock()
        self._pending: deque[_Pending] = deque()  # in order of delivery
        self._known: set[bytes] = set()  # the ids of these: they wait, or are processed and not acknowledged yet
        # Held by requests for entries that were delivered before: an answer may have some that are acknowledged meanwhile.
        self._delivering_again = asyncio.Lock()
        self._restored: list[bytes] = []  # processed entries of a restored state, to be acknowledged
        self._group_existed = False

    def _read_start(self, options: OptionHolder) -> str:
        start = options.static("start", "new").strip()
        if start.lower() in ("new", "$"):
            return "$"
        if start.lower() == "earliest":
            return "0"
        if _ID.fullmatch(start):
            return start
        raise options.invalid("start", "new, earliest or the id of an entry")

    # --- state

    def snapshot(self) -> object:
        if self._group is None:
            return {"position": self.position}
        with self._guard:
            done = cast("int | None", self.position) or 0
            ids = [one.id.decode() for one in self._pending if one.number <= done]
            return {"processed": [*(id_.decode() for id_ in self._restored), *ids]}

    def restore(self, state: object) -> None:
        values = cast("dict[str, Any]", state)
        if self._group is not None:
            with self._guard:
                self._pending.clear()
                self._known.clear()
                self._restored = [id_.encode() for id_ in values.get("processed", ())]
            super().restore([None])
        else:
            super().restore([values.get("position")])

    # --- connection

    async def open(self) -> None:
        self._delivering_again = asyncio.Lock()
        self._client = client = self._server.client(waits=_BLOCK_SECONDS)
        with redis_errors():
            await client.ping()
            if self._group is None:
                if self._start == "$" and self.position is None:
                    # From here on: entries that arrive while the connection is lost are read afterwards.
                    self._start = await self._last_id(client)
                return
            await self._create_group(client, self._group)
            if self._restored:
                await client.xack(self._stream, self._group, *self._restored)
                self._restored = []
        with self._guard:  # what is not processed will be delivered again
            done = cast("int | None", self.position) or 0
            self._pending = deque(one for one in self._pending if one.number <= done)
            self._known = {one.id for one in self._pending}
        self._limit.begin()
        self._limit.note(len(self._pending))

    async def _last_id(self, client: Redis) -> str:
        try:
            found: dict[str, Any] = await client.xinfo_stream(self._stream)
        except ResponseError as error:
            if "no such key" in str(error):
                return "0"
            raise
        return text_of(found["last-generated-id"])

    async def _create_group(self, client: Redis, group: str) -> None:
        # A group that has vanished, as after a loss of the server's data, has to see what is there.
        start = "0" if self._group_existed else self._start
        try:
            await client.xgroup_create(self._stream, group, id=start, mkstream=True)
        except ResponseError as error:
            if not str(error).startswith("BUSYGROUP"):
                raise
        self._group_existed = True

    async def seek(self) -> None:
        await self.close()
        await self.open()

    async def close(self) -> None:
        client, self._client = self._client, None
        self._limit.end()
        if client is not None:
            await client.aclose()

    # --- reading

    async def receive(self) -> None:
        client = self._client
        assert client is not None
        with redis_errors():
            if self._group is None:
                await self._read(client)
            else:
                await self._consume(client, self._group)

    async def _read(self, client: Redis) -> None:
        last = cast("str | None", self.position) or self._start
        while True:
            found = await client.xread({self._stream: last}, count=self._count, block=int(_BLOCK_SECONDS * 1000))
            for id_, fields in _entries(found):
                last = text_of(id_)
                await self.put(self._payload(fields), self._properties(id_, fields), last, self._time(id_))

    async def _consume(self, client: Redis, group: str) -> None:
        acknowledged = self.acknowledges != "received"
        last = b"0"
        while acknowledged:  # entries of this consumer that were delivered before
            async with self._delivering_again:
                found = list(
                    _entries(await client.xreadgroup(group, self._consumer, {self._stream: last}, self._count))
                )
                unknown = [(id_, fields) for id_, fields in found if id_ not in self._known]
            if not found:
                break
            await self._take(client, group, unknown)
            last = found[-1][0]
        looked = -self._claim
        while True:
            if acknowledged and self._claim and time.monotonic() - looked >= min(self._claim, 60.0):
                looked = time.monotonic()
                await self._claim_idle(client, group)
                await self._look_up_lag(client, group)
            answer = await client.xreadgroup(
                group,
                self._consumer,
                {self._stream: ">"},
                self._count,
                block=int(min(_BLOCK_SECONDS, self._claim or _BLOCK_SECONDS) * 1000) or 1,
                noack=not acknowledged,
            )
            if acknowledged:
                await self._take(client, group, _entries(answer))
            else:
                for id_, fields in _entries(answer):
                    await self.put(self._payload(fields), self._properties(id_, fields), None, self._time(id_))

    async def _claim_idle(self, client: Redis, group: str) -> None:
        """Take over entries that another consumer did not acknowledge in time."""
        start: Any = "0"
        while True:
            async with self._delivering_again:
                answer = await client.xautoclaim(
                    self._stream, group, self._consumer, int(self._claim * 1000), start, self._count
                )
                start = answer[0]
                unknown = [(id_, fields) for id_, fields in answer[1] if id_ is not None and id_ not in self._known]
            await self._take(client, group, unknown)
            if start in (b"0-0", "0-0"):
                return

    async def _look_up_lag(self, client: Redis, group: str) -> None:
        for found in await client.xinfo_groups(self._stream):
            if text_of(found["name"]) == group and isinstance(lag := found.get("lag"), int):
                self.lag = lag  # since Redis 7

    async def _take(self, client: Redis, group: str, entries: Iterable[tuple[bytes, Fields | None]]) -> None:
        gone: list[bytes] = []
        for id_, fields in entries:
            if not fields:
                gone.append(id_)
                continue
            await self._limit.room()
            self._number += 1
            entry = _Pending(self._number, id_, fields)
            with self._guard:
                self._pending.append(entry)
                self._known.add(id_)
            self._limit.note(len(self._pending))
            properties = self._properties(id_, fields)
            entry.processed = await self.submit(self._payload(fields), properties, entry.number, self._time(id_))
        if gone:
            logger.error(
                "source 'redis-stream' of stream '%s': %d entries of '%s' were removed before they were processed",
                self.context.stream,
                len(gone),
                self._stream,
            )
            await client.xack(self._stream, group, *gone)

    async def acknowledge(self, position: object) -> None:
        client = self._client
        if client is None:
            return
        number = cast("int", position)
        with self._guard:
            done = [one for one in self._pending if one.number <= number]
        if not done:
            return
        with redis_errors():
            if self._dead_letter is not None:
                for one in done:
                    if one.has_failed:
                        fields = {**one.fields, b"dead.id": one.id, b"dead.stream": self._stream.encode()}
                        await client.xadd(self._dead_letter, cast("Any", fields))
            async with self._delivering_again:
                await client.xack(self._stream, cast("str", self._group), *(one.id for one in done))
                with self._guard:
                    while self._pending and self._pending[0].number <= number:
                        self._known.discard(self._pending.popleft().id)
        self._limit.note(len(self._pending))

    def _payload(self, fields: Fields) -> object:
        """Return the field with the payload, or all fields as texts if the entry has none."""
        payload = fields.get(self._field)
        return {text_of(name): text_of(value) for name, value in fields.items()} if payload is None else payload

    def _time(self, id_: bytes) -> int | None:
        return _milliseconds(id_) if self.is_message_time else None

    def _properties(self, id_: bytes, fields: Fields) -> list[object]:
        return [self._property(name, id_, fields) for name in self._names]

    def _property(self, name: str, id_: bytes, fields: Fields) -> object:
        if name == "id":
            return text_of(id_)
        if name == "stream":
            return self._stream
        if name == "timestamp":
            return _milliseconds(id_)
        value = fields.get(name.encode())
        return None if value is None else text_of(value)


def _milliseconds(id_: bytes) -> int:
    """Return when an entry was added, by its id."""
    return int(id_.partition(b"-")[0])


def _entries(answer: Any) -> Iterable[tuple[bytes, Fields]]:
    """Return the entries of an answer to a read of one stream."""
    for _, entries in answer or ():
        yield from entries
