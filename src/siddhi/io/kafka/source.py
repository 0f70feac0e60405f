"""``@source(type = 'kafka')``: receives the messages of topics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, Message

from siddhi.io.async_source import ReplayableSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.kafka.configuration import Settings, check_settings, client_settings, own_settings
from siddhi.io.kafka.options import PROPERTIES, SourceOptions
from siddhi.io.kafka.positions import Positions
from siddhi.io.kafka.reader import Batch, Reader
from siddhi.io.kafka.sequences import split_sequence
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener

__all__ = ["KafkaSource"]


class KafkaSource(ReplayableSource):
    """Receives the messages of topics, in a thread for each consumer.

    Snapshots have the next offset of every partition that this source has. After a restore each of them is read from there,
    whether it is assigned by the option or by the group. Offsets are committed only for messages that were processed, or are
    part of a saved state.
    """

    ack_modes = ("processed", "checkpoint")
    has_message_time = True
    buffer_size = 5000

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._options = SourceOptions.read(options)
        own = own_settings(options)
        most = own.pop("max.poll.records", None)  # of Java: batches are cut by 'buffer.payloads' here
        if most is not None and "buffer.payloads" not in options:
            self.buffer_size = max(1, int(most) if str(most).isdecimal() else self.buffer_size)
        self._settings: Settings = {
            "session.timeout.ms": 30000,
            **own,
            **client_settings(options),
            "group.id": self._options.group,
            "auto.offset.reset": self._options.reset,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
        }
        check_settings(options, Consumer, self._settings)
        lowered = [name.lower() for name in transport_properties]
        self._names = [
            low if low in PROPERTIES else name for low, name in zip(lowered, transport_properties, strict=True)
        ]
        self._has_headers = any(name not in PROPERTIES for name in self._names)
        self._positions = Positions()
        self._durable: dict[tuple[str, int], int] = {}
        self._readers: list[Reader] = []
        self._label = f"app '{context.app}', source 'kafka' of stream '{context.stream}'"

    # --- connection

    async def open(self) -> None:
        self._positions.receive_again()
        for topics, partitions in self._options.consumers():
            self._readers.append(
                Reader(
                    self._settings,
                    self._options,
                    topics,
                    partitions,
                    self._positions,
                    self._batch,
                    self.put_many,
                    self._committable,
                    self._label,
                )
            )
        await asyncio.gather(*(asyncio.to_thread(reader.check) for reader in self._readers))

    async def receive(self) -> None:
        measuring = asyncio.create_task(self._measure_lag())
        try:
            await asyncio.gather(*(reader.start() for reader in self._readers))
        finally:
            measuring.cancel()
            await asyncio.gather(*(asyncio.to_thread(reader.stop) for reader in self._readers))

    async def close(self) -> None:
        readers, self._readers = self._readers, []
        self.lag = None
        await asyncio.gather(*(asyncio.to_thread(reader.close) for reader in readers))

    async def _measure_lag(self) -> None:
        while True:
            self.lag = sum(reader.lag for reader in self._readers)
            await asyncio.sleep(1)

    # --- positions

    def advance(self, position: object) -> None:
        self._positions.advance(position)  # type: ignore[arg-type] # one of _batch

    def _committable(self) -> dict[tuple[str, int], int]:
        if not self._options.commits:
            return {}
        return self._durable if self.acknowledges == "checkpoint" else self._positions.offsets()

    def processed_position(self) -> object:
        return self._positions.offsets() or None

    async def acknowledge(self, position: object) -> None:
        offsets = self._committable()
        for reader in self._readers:
            await asyncio.to_thread(reader.commit, offsets)

    def checkpoint(self) -> Callable[[], None] | None:
        saved = super().checkpoint()
        if saved is None:
            return None
        offsets = self._positions.offsets()

        def note_saved() -> None:
            self._durable = offsets
            saved()

        return note_saved

    def snapshot(self) -> object:
        return self._positions.snapshot()

    def restore(self, state: Any) -> None:
        """Set the positions; what waits is dropped, since it is received again."""
        self._durable = {}
        self._positions.restore(state)
        super().restore([None])

    # --- messages

    def _batch(self, messages: list[Message]) -> Batch:
        """Return payload, transport properties and position of messages. In the thread of a reader."""
        batch: Batch = []
        names, is_binary, has_sequences = self._names, self._options.is_binary, self._options.has_sequences
        for message in messages:
            payload: Any = message.value()
            position: tuple[Any, ...] = (message.topic(), message.partition(), cast("int", message.offset()) + 1)
            if has_sequences:
                payload, position = self._without_sequence(payload, position)
            if not is_binary and payload is not None:
                payload = _text(payload)
            time = _time(message) if self.is_message_time else None
            batch.append((payload, self._properties(message) if names else None, position, time))
        return batch

    def _without_sequence(
        self, payload: bytes | None, position: tuple[Any, ...]
    ) -> tuple[bytes | None, tuple[Any, ...]]:
        """Return a payload without its sequence header; None: it is repeated, or has no header."""
        if payload is None:
            return None, position
        found = split_sequence(payload, is_binary=self._options.is_binary)
        if found is None:
            self._readers[0].report("a message without a sequence header is dropped")
            return None, position
        sender, last, payload = found
        if self._positions.is_repeated((position[0], position[1]), sender, last):
            return None, position
        return payload, (*position, sender, last)

    def _properties(self, message: Message) -> list[object]:
        headers: dict[str, object] = {}
        if self._has_headers:
            headers = {
                name: value if value is None else _text(value)
                for name, value in cast("list[tuple[str, object]]", message.headers() or ())
            }
        values: list[object] = []
        for name in self._names:
            if name == "topic":
                values.append(message.topic())
            elif name == "partition":
                values.append(message.partition())
            elif name == "offset":
                values.append(message.offset())
            elif name == "key":
                key = message.key()
                values.append(None if key is None else _text(key))
            elif name == "record.timestamp":
                values.append(_time(message))
            elif name == "event.timestamp":
                values.append(self.context.now())
            elif name == "check.sum":
                values.append(None)  # brokers no longer have one
            else:
                values.append(headers.get(name))
        return values


def _time(message: Message) -> int | None:
    """Return when a message was made or stored, in ms since the epoch; None: it has no time."""
    kind, time = message.timestamp()
    return None if kind == TIMESTAMP_NOT_AVAILABLE else time


def _text(content: Any) -> object:
    """Return bytes as text; bytes that are not UTF-8 stay bytes, which mappers reject with the reason."""
    if isinstance(content, str):
        return content
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content
