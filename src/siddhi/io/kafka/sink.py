"""``@sink(type = 'kafka')``: publishes to topics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from siddhi.errors import ConnectionUnavailableError, MappingFailedError, SiddhiAppCreationError
from siddhi.event import Event
from siddhi.io.async_sink import Entry
from siddhi.io.connector import ConnectorContext
from siddhi.io.kafka.client_log import ClientLog
from siddhi.io.kafka.configuration import Settings, check_settings, client_settings, describe, own_settings
from siddhi.io.kafka.publisher import Publisher
from siddhi.io.kafka.sequences import add_sequence, has_sequence
from siddhi.io.options import DynamicOptions, Option, OptionHolder, pairs_of
from siddhi.io.sink import PublishingCallback
from siddhi.io.transactional_sink import Mark, TransactionalSink

__all__ = ["KafkaSink"]

TIMEOUT_SECONDS = 10.0
"""Maximum time of the first request to the brokers."""
_IN_FLIGHT = 1000


class KafkaSink(TransactionalSink):
    """Publishes payloads, many at a time and in their order; each is published when the brokers have confirmed it.

    The client repeats requests without a double (idempotence) until ``message.timeout.ms``; then ``on.error`` decides.
    The mark of a transaction is an offset that a group with the name of ``transactional.id`` commits in it, with the life of
    the app as its metadata.
    """

    supported_input_event_classes = (str, bytes, bytearray, memoryview)
    queue_size = 5000
    concurrency = _IN_FLIGHT

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._topic = options.option("topic")
        self._key = options.option("key") if "key" in options else None
        self._partition = options.option("partition.no") if "partition.no" in options else None
        self._headers = options.option("headers") if "headers" in options else None
        for option, check in ((self._partition, _partition), (self._headers, _headers)):
            if option is not None and option.is_static:
                try:
                    check(option, DynamicOptions())
                except MappingFailedError as error:
                    raise options.invalid(option.name, str(error)) from None
        self._is_binary = options.flag("is.binary.message", default=False)
        self._is_synchronous = options.flag("is.synchronous", default=False)
        self._has_event_time = options.choice("record.timestamp", ("now", "event"), "now") == "event"
        self._sequence_id = options.optional("sequence.id")
        self._number = 0
        if self._sequence_id is not None and (not self._sequence_id or set(self._sequence_id) & set(":~")):
            raise options.invalid("sequence.id", "a text without ':' and '~'")
        if "use.avro.serializer" in options:
            raise SiddhiAppCreationError(
                "sink 'kafka' does not support the option 'use.avro.serializer'",
                code="E326",
                hint="use @map(type = 'avro', schema.registry.url = '...')",
            )
        self._settings = _settings(options)
        self._transactional_id = options.optional("transactional.id")
        self.is_transactional = self._transactional_id is not None
        if self._transactional_id is not None:
            if not self._transactional_id.strip() or self._is_synchronous:
                raise options.invalid("transactional.id", "an id, without 'is.synchronous'")
            if not self._settings.get("enable.idempotence"):
                raise options.invalid("transactional.id", "no 'acks' and no 'enable.idempotence' beside it")
            self._settings["transactional.id"] = self._transactional_id
            self._settings.setdefault("transaction.timeout.ms", 600000)
            self._marks_settings = {
                **client_settings(options),
                "group.id": self._transactional_id,
                "enable.auto.commit": False,
            }
        check_settings(options, Producer, self._settings)
        self._label = f"app '{context.app}', sink 'kafka' of stream '{context.stream}'"
        self._publisher: Publisher | None = None
        self._marks: Consumer | None = None
        self._is_initialized = self._has_transaction = False

    # --- connection

    async def open(self) -> None:
        publisher = await self._open_publisher()
        topic = str(self._topic.value()) if self._topic.is_static else None
        await publisher.check(topic, TIMEOUT_SECONDS)
        if self.is_transactional:
            await self.recover()

    async def _open_publisher(self) -> Publisher:
        publisher = self._publisher
        if publisher is None or publisher.failure is not None:
            await self._end_publisher()
            publisher = self._publisher = Publisher(self._settings, self._label)
        return publisher

    async def close(self) -> None:
        """Keep the client, which reconnects by itself: :meth:`disconnect` closes it."""

    async def _end_publisher(self) -> None:
        publisher, self._publisher = self._publisher, None
        self._is_initialized = self._has_transaction = False
        if publisher is not None:
            await asyncio.to_thread(publisher.close)

    def disconnect(self) -> None:
        super().disconnect()
        publisher, self._publisher = self._publisher, None
        if publisher is not None:
            publisher.close(aborts=self._has_transaction)
        self._is_initialized = self._has_transaction = False
        marks, self._marks = self._marks, None
        if marks is not None:
            marks.close()

    # --- payloads

    def attach(self, callback: PublishingCallback) -> Callable[[object, Sequence[Event]], None] | None:
        submit = super().attach(callback)
        return None if self._is_synchronous else submit

    def submit(self, payload: object, events: Sequence[Event]) -> None:
        super().submit(self._numbered(payload), events)

    def publish(self, payload: object, options: DynamicOptions) -> None:
        if self.is_transactional and options.event is not None:
            self.submit(payload, [options.event])  # as part of the open transaction
            return
        super().publish(self._numbered(payload), options)

    def _numbered(self, payload: object) -> object:
        """Return a payload with its sequence header, with the app's lock held; one that is published again has it already."""
        sender = self._sequence_id
        if sender is None:
            return payload
        content = self._bytes(payload) if self._is_binary or not isinstance(payload, str) else payload
        if has_sequence(content, sender):
            return content
        self._number += 1
        return add_sequence(content, sender, self._number)

    def _bytes(self, payload: object) -> bytes:
        return payload.encode() if isinstance(payload, str) else bytes(cast("bytes", payload))

    async def send(self, payload: Any, options: DynamicOptions) -> None:
        if not self.is_transactional:
            await self._produce(payload, options)
            return
        generation = await self.in_transaction()
        try:
            await self._produce(payload, options)
        except ConnectionUnavailableError:
            self.has_failed(generation)
            raise

    async def _produce(self, payload: Any, options: DynamicOptions) -> None:
        publisher = self._publisher
        if publisher is None:
            raise ConnectionUnavailableError("the sink is not connected")
        more: dict[str, Any] = {}
        if self._partition is not None:
            more["partition"] = _partition(self._partition, options)
        if self._key is not None:
            key = self._key.value(options)
            more["key"] = key if key is None or isinstance(key, bytes) else str(key)
        if self._headers is not None:
            more["headers"] = _headers(self._headers, options)
        if self._has_event_time and options.event is not None:
            if options.event.timestamp < 0:
                raise MappingFailedError(f"Kafka has no records of {options.event.timestamp} ms, before 1970")
            more["timestamp"] = options.event.timestamp
        await publisher.publish(str(self._topic.value(options)), self._bytes(payload), **more)

    # --- transactions

    async def begin_transaction(self) -> None:
        publisher = await self._open_publisher()
        producer = publisher.producer
        if not self._is_initialized:  # aborts what an earlier process with the same id has left
            await publisher.run(producer.init_transactions, TIMEOUT_SECONDS)
            self._is_initialized = True
        elif self._has_transaction:
            try:
                await publisher.run(producer.abort_transaction, TIMEOUT_SECONDS)
            except ConnectionUnavailableError:
                await self._end_publisher()  # the next one aborts it when it begins
                raise
            self._has_transaction = False
        await publisher.run(producer.begin_transaction)
        self._has_transaction = True

    async def commit_transaction(self, mark: Mark) -> None:
        publisher = self._publisher
        if publisher is None:
            raise ConnectionUnavailableError("the sink is not connected")
        offset = TopicPartition(mark.place, 0, mark.number, metadata=f"{mark.run}/{mark.number}")
        group = self._marks_consumer().consumer_group_metadata()
        await publisher.run(publisher.producer.send_offsets_to_transaction, [offset], group, TIMEOUT_SECONDS)
        while True:
            try:
                await asyncio.to_thread(publisher.producer.commit_transaction, TIMEOUT_SECONDS)
                break
            except KafkaException as error:
                cause = error.args[0]
                if cause.retriable():
                    continue
                if not cause.txn_requires_abort():  # unknown: the next client ends it, and then the mark tells
                    await self._end_publisher()
                raise ConnectionUnavailableError(f"Kafka: {describe(cause)}") from error
        self._has_transaction = False

    async def last_mark(self, place: str) -> Mark | None:
        consumer = self._marks_consumer()
        try:
            (found,) = await asyncio.to_thread(consumer.committed, [TopicPartition(place, 0)], TIMEOUT_SECONDS)
        except KafkaException as error:
            raise ConnectionUnavailableError(f"Kafka: {describe(error.args[0])}") from error
        if found.error is not None:
            raise ConnectionUnavailableError(f"Kafka: {describe(found.error)}")
        run, slash, number = (found.metadata or "").rpartition("/")
        return Mark(place, run, int(number)) if slash and number.isdecimal() else None

    def _marks_consumer(self) -> Consumer:
        if self._marks is None:
            self._marks = Consumer(self._marks_settings, logger=ClientLog())
        return self._marks

    async def send_in_transaction(self, entry: Entry) -> None:
        await self._produce(entry.payload, DynamicOptions(entry.events[0]))

    def place_of(self, entries: Sequence[Entry]) -> str:
        if self._topic.is_static:
            return str(self._topic.value())
        return min(str(self._topic.value(DynamicOptions(entry.events[0]))) for entry in entries)

    # --- snapshots

    def snapshot(self) -> object:
        return {"number": self._number, "waiting": super().snapshot()}

    def restore(self, state: Any) -> None:
        self._number = state["number"]
        super().restore(state["waiting"])


def _settings(options: OptionHolder) -> Settings:
    own = own_settings(options)
    if own.get("acks", "all") in ("all", "-1"):
        own.setdefault("enable.idempotence", True)
    return {"linger.ms": 1, "message.timeout.ms": 30000, **own, **client_settings(options)}


def _partition(option: Option, options: DynamicOptions) -> int:
    value = str(option.value(options))
    if not (value.isascii() and value.isdecimal() and len(value) < 10):
        raise MappingFailedError(f"a number of a partition, not '{value}'")
    return int(value)


def _headers(option: Option, options: DynamicOptions) -> list[tuple[str, str]]:
    text = str(option.value(options))
    try:
        return list(pairs_of(text).items())
    except ValueError as error:
        raise MappingFailedError(f"headers such as 'a:1','b:2': {error}") from None
