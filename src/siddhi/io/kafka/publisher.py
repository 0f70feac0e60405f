"""A producer of librdkafka with the thread that serves its callbacks, for coroutines."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from siddhi.errors import ConnectionUnavailableError, MappingFailedError
from siddhi.io.kafka.client_log import ClientLog
from siddhi.io.kafka.configuration import Settings, describe
from siddhi.repeats import Repeats

__all__ = ["Publisher"]

logger = logging.getLogger("siddhi")

_POLL_SECONDS = 0.1
_FULL_SECONDS = 0.005
_ABORT_SECONDS = 5.0
_NEVER = (
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_MSG,
    KafkaError.INVALID_MSG_SIZE,
    KafkaError.RECORD_LIST_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError._INVALID_ARG,
)
"""Errors of the message itself: no further attempt can publish it."""


class Publisher:
    """A producer. Its coroutines run on the event loop on which it is made.

    Args:
        settings: settings of the client.
        label: the sink, for messages.

    Attributes:
        producer: the client.
        failure: the error after which the client publishes nothing more; None: there is none.
    """

    def __init__(self, settings: Settings, label: str) -> None:
        self._label = label
        self._repeats = Repeats()
        self._loop = asyncio.get_running_loop()
        self._order = asyncio.Lock()
        self._done: deque[tuple[asyncio.Future[KafkaError | None], KafkaError | None]] = deque()
        self._stopped = threading.Event()
        self._cause: KafkaError | None = None
        self.failure: KafkaError | None = None
        self.producer = Producer({**settings, "error_cb": self._note}, logger=ClientLog())
        self._thread = threading.Thread(target=self._run, name="siddhi-kafka-sink", daemon=True)
        self._thread.start()

    async def check(self, topic: str | None, seconds: float) -> None:
        """Check that the brokers can be reached.

        Args:
            topic: the topic, if it is always the same: brokers that create topics do so then.
            seconds: the longest wait.

        Raises:
            ConnectionUnavailableError: they can't, or the client has failed.
        """
        try:
            await asyncio.to_thread(self.producer.list_topics, topic, seconds)
        except KafkaException as error:
            cause = self._cause or error.args[0]
            raise ConnectionUnavailableError(f"can't reach Kafka: {describe(cause)}") from error

    async def publish(self, topic: str, value: bytes | None, **more: Any) -> None:
        """Publish a message, in the order of the calls; return when the broker has it.

        Args:
            topic: the topic.
            value: the content.
            more: key, partition, headers and timestamp of the message.

        Raises:
            MappingFailedError: the message itself is not accepted.
            ConnectionUnavailableError: it could not be published.
        """
        done: asyncio.Future[KafkaError | None] = self._loop.create_future()

        def delivered(error: KafkaError | None, _: object) -> None:
            first = not self._done
            self._done.append((done, error))
            if first:
                with suppress(RuntimeError):  # the loop is closed: no task waits
                    self._loop.call_soon_threadsafe(self._finish)

        try:
            async with self._order:
                while True:
                    try:
                        self.producer.produce(topic, value, on_delivery=delivered, **more)
                        break
                    except BufferError:  # the client's queue is full
                        await asyncio.sleep(_FULL_SECONDS)
        except (KafkaException, ValueError, TypeError, OverflowError) as error:
            if isinstance(error, KafkaException):
                raise self.error(error.args[0]) from error
            raise MappingFailedError(f"the message can't be published: {error}") from error
        failed = await done
        if failed is not None:
            raise self.error(failed)

    def error(self, error: KafkaError) -> Exception:
        """Return the exception for an error of the client."""
        if error.code() in _NEVER:
            return MappingFailedError(f"Kafka does not accept the message: {describe(error)}")
        return ConnectionUnavailableError(f"Kafka: {describe(error)}")

    async def run(self, call: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the client that waits, in a thread.

        Raises:
            ConnectionUnavailableError: it failed.
        """
        try:
            return await asyncio.to_thread(call, *arguments)
        except KafkaException as error:
            raise self.error(error.args[0]) from error

    def close(self, *, aborts: bool = False) -> None:
        """Close the connections; messages that are not published yet fail. ``aborts``: there is a transaction to abort."""
        if aborts and self.failure is None:
            try:
                self.producer.abort_transaction(_ABORT_SECONDS)
            except KafkaException as error:
                logger.warning("%s: the transaction is not aborted: %s", self._label, describe(error.args[0]))
        with suppress(KafkaException):
            self.producer.purge(in_queue=True, in_flight=True, blocking=True)
        self._stopped.set()
        self._thread.join()
        self.producer.poll(0)
        for line in self._repeats.summary():
            logger.error("%s", line)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self.producer.poll(_POLL_SECONDS)

    def _finish(self) -> None:
        while self._done:
            done, error = self._done.popleft()
            if not done.done():
                done.set_result(error)

    def _note(self, error: KafkaError) -> None:
        """Called by the client for errors that belong to no message."""
        self._cause = error
        if error.fatal():
            self.failure = error
        if error.fatal() or error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION):
            note = self._repeats.note(f"{self._label}: {error.name()}")
            if note is not None:
                logger.warning("%s: %s%s", self._label, describe(error), note)
