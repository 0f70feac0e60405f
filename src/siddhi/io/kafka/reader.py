"""A consumer of librdkafka, and the thread that polls it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from typing import Any, cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.async_source import Given
from siddhi.io.kafka.client_log import ClientLog
from siddhi.io.kafka.configuration import Settings, describe
from siddhi.io.kafka.options import SourceOptions
from siddhi.io.kafka.positions import Partition, Positions
from siddhi.repeats import Repeats

__all__ = ["Reader"]

logger = logging.getLogger("siddhi")

Batch = list[Given]

BATCH_SIZE = 1000
"""Number of messages that are handed over at once."""
TIMEOUT_SECONDS = 10.0
"""Maximum time of a request to the brokers, and of the wait for accepted messages when a partition is taken away."""
PAUSE_SECONDS = 1.0
"""Time that a batch waits for the app until the partitions are paused, which drops what the client has fetched ahead."""
_POLL_SECONDS = 0.1
_LAG_SECONDS = 1.0

_GROUP_CHANGES = (
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.UNKNOWN_MEMBER_ID,
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError._WAIT_COORD,
    KafkaError._ASSIGNMENT_LOST,
    KafkaError._NO_OFFSET,
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._STATE,
)
"""Errors of a commit after which a later one can succeed, or another consumer has the partition."""
_HOPELESS = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError._AUTHENTICATION,
    KafkaError._FATAL,
)
"""Errors of a consumer that receives nothing more."""


class Reader:
    """One consumer. Its thread polls it, and hands over what it receives in batches.

    Args:
        settings: settings of the client.
        options: options of the source.
        topics: names of the topics.
        partitions: the partitions to read; empty: those that the group assigns.
        positions: the positions of the source.
        convert: makes what the source hands over of messages without errors.
        put: hands a batch to the app, as soon as there is room.
        committable: returns the offsets that can be committed now.
        label: the source, for messages.

    Attributes:
        lag: number of messages that are in the partitions and were not received yet.
    """

    def __init__(
        self,
        settings: Settings,
        options: SourceOptions,
        topics: tuple[str, ...],
        partitions: tuple[Partition, ...],
        positions: Positions,
        convert: Callable[[list[Message]], Batch],
        put: Callable[[Batch], Coroutine[Any, Any, None]],
        committable: Callable[[], Mapping[Partition, int]],
        label: str,
    ) -> None:
        self.lag = 0
        self._options = options
        self._topics = topics
        self._partitions = partitions
        self._positions = positions
        self._convert = convert
        self._put = put
        self._committable = committable
        self._label = label
        self._repeats = Repeats()
        self._incremental = "cooperative" in str(settings.get("partition.assignment.strategy", ""))
        self._next: dict[Partition, int] = {}  # the offset after the last received message, of the assigned partitions
        self._committed: dict[Partition, int] = {}
        self._requests: deque[tuple[Mapping[Partition, int], concurrent.futures.Future[None]]] = deque()
        self._guard = threading.Lock()
        self._is_running = False
        self._stopped = threading.Event()
        self._is_paused = False
        self._is_closing = False
        self._later: list[Message] = []  # received although paused
        self._last_error: KafkaError | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._ended: asyncio.Future[None]
        self._consumer = Consumer({**settings, "error_cb": self._note}, logger=ClientLog())

    # --- life cycle

    def check(self) -> None:
        """Check that the brokers can be reached, and that the topics and partitions exist.

        Raises:
            ConnectionUnavailableError: it is not so.
        """
        for topic in self._topics:
            try:
                found = self._consumer.list_topics(topic, timeout=TIMEOUT_SECONDS).topics[topic]
            except KafkaException as error:
                with suppress(KafkaException, RuntimeError):
                    self._consumer.poll(0)  # serves the callback with the cause
                cause = self._last_error or error.args[0]
                raise ConnectionUnavailableError(f"can't reach Kafka: {describe(cause)}") from error
            if found.error is not None or not found.partitions:
                why = f": {describe(found.error)}" if found.error is not None else ""
                if self._partitions:
                    raise ConnectionUnavailableError(f"can't read the topic '{topic}'{why}")
                logger.warning("%s: can't read the topic '%s' yet%s", self._label, topic, why)
            for name, number in self._partitions:
                if name == topic and number not in found.partitions:
                    raise ConnectionUnavailableError(f"the topic '{topic}' has no partition {number}")

    def start(self) -> asyncio.Future[None]:
        """Start the thread; return the future that ends with it, and has its error. On the event loop."""
        self._loop = asyncio.get_running_loop()
        self._ended = self._loop.create_future()
        self._is_running = True
        self._thread = threading.Thread(target=self._run, name="siddhi-kafka-source", daemon=True)
        self._thread.start()
        return self._ended

    def stop(self) -> None:
        """End the thread, and wait for it."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def close(self) -> None:
        """Leave the group, and close the connections."""
        self._is_closing = True
        self._consumer.close()
        for line in self._repeats.summary():
            logger.error("%s", line)

    # --- commits

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        """Commit offsets of those partitions that this consumer has; wait for it. In any thread.

        Raises:
            ConnectionUnavailableError: it is not allowed, or the client has failed.
        """
        # The client lets one thread in at a time, so that another one could wait without end beside the one that polls.
        with self._guard:
            delegated = self._is_running and threading.current_thread() is not self._thread
            if delegated:
                done: concurrent.futures.Future[None] = concurrent.futures.Future()
                self._requests.append((offsets, done))
        if delegated:
            done.result()
        else:
            self._commit(offsets)

    def _serve_requests(self) -> None:
        while self._requests:
            offsets, done = self._requests.popleft()
            try:
                self._commit(offsets)
            except ConnectionUnavailableError as error:
                done.set_exception(error)
            else:
                done.set_result(None)

    def _commit(self, offsets: Mapping[Partition, int]) -> None:
        due = {
            partition: offset
            for partition, offset in offsets.items()
            if offset >= 0 and partition in self._next and offset != self._committed.get(partition)
        }
        if not due:
            return
        try:
            self._consumer.commit(
                offsets=[TopicPartition(*at, offset) for at, offset in due.items()], asynchronous=False
            )
        except KafkaException as error:
            cause: KafkaError = error.args[0]
            if cause.code() not in _GROUP_CHANGES and not cause.retriable():
                raise ConnectionUnavailableError(f"can't commit offsets: {describe(cause)}") from error
            self._warn("offsets are not committed", cause)
        else:
            self._committed.update(due)

    # --- the thread

    def _run(self) -> None:
        failure: Exception | None = None
        try:
            if self._partitions:
                self._assign(list(self._partitions))
            else:
                self._consumer.subscribe(
                    list(self._topics), on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
                )
            due = time.monotonic()
            while not self._stopped.is_set():
                self._serve_requests()
                self._read()
                if time.monotonic() >= due:
                    due = time.monotonic() + _LAG_SECONDS
                    self._measure_lag()
        except KafkaException as error:
            failure = ConnectionUnavailableError(f"Kafka: {describe(error.args[0])}")
        except concurrent.futures.CancelledError:
            pass  # stopped while handing over
        except Exception as error:  # noqa: BLE001 - the source reconnects, and reports it
            failure = error
        with self._guard:
            self._is_running = False
        self._serve_requests()
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._end, failure)

    def _end(self, failure: Exception | None) -> None:
        if self._ended.done():
            return
        if failure is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(failure)

    def _read(self) -> None:
        messages, self._later = self._later, []
        if not messages:
            first = self._consumer.poll(_POLL_SECONDS)
            if first is None:
                return
            messages = [first, *self._consumer.consume(BATCH_SIZE - 1, 0)]
        good = [message for message in messages if not self._is_error(message)]
        if not good:
            return
        touched: set[Partition] = set()
        for message in good:
            at = _partition(message)
            self._next[at] = cast("int", message.offset()) + 1
            touched.add(at)
        self._hand_over(self._convert(good))
        if self._options.commits and self._options.commits_before_reading:
            self._wait_until_processed(touched, None)
            self.commit(self._committable())

    def _is_error(self, message: Message) -> bool:
        """Return whether this is an error instead of a message; report it then.

        Raises:
            ConnectionUnavailableError: no more messages can be received.
        """
        error = message.error()
        if error is None:
            return False
        if error.fatal() or error.code() in _HOPELESS:
            raise ConnectionUnavailableError(f"Kafka: {describe(error)}")
        self._warn("error of the consumer", error)
        return True

    def _hand_over(self, batch: Batch) -> None:
        """Hand a batch to the app. While it has no room, pause the partitions and keep polling, to stay in the group."""
        future = asyncio.run_coroutine_threadsafe(self._put(batch), self._loop)
        pause_at = time.monotonic() + PAUSE_SECONDS
        try:
            while True:
                try:
                    future.result(_POLL_SECONDS)
                    return
                except concurrent.futures.TimeoutError:
                    if self._stopped.is_set():
                        raise concurrent.futures.CancelledError from None
                    if not self._is_paused and time.monotonic() >= pause_at:
                        self._is_paused = True
                        self._consumer.pause(self._consumer.assignment())
                    self._serve_requests()
                    if self._is_paused:
                        message = self._consumer.poll(0)
                        if message is not None:
                            self._later.append(message)
        finally:
            future.cancel()
            if self._is_paused:
                self._is_paused = False
                self._consumer.resume(self._consumer.assignment())

    def _measure_lag(self) -> None:
        lag = 0
        for partition, offset in self._next.items():
            with suppress(KafkaException):
                high = self._consumer.get_watermark_offsets(TopicPartition(*partition), cached=True)[1]
                lag += max(0, high - max(0, offset))
        self.lag = lag

    def _wait_until_processed(self, partitions: set[Partition], seconds: float | None) -> bool:
        """Wait until all that was received of partitions is processed; return False after a time, or if the reader stops."""
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            done = self._positions.offsets()
            if all(done.get(at, self._next[at]) >= self._next[at] for at in partitions if at in self._next):
                return True
            if self._stopped.wait(0.005) or (deadline is not None and time.monotonic() >= deadline):
                return False

    # --- partitions come and go; called in the thread, while it polls

    def _on_assign(self, consumer: Consumer, assigned: list[TopicPartition]) -> None:
        self._assign([(one.topic, one.partition) for one in assigned])

    def _assign(self, partitions: list[Partition]) -> None:
        """Read partitions from their positions on."""
        starts = self._starts(partitions)
        for partition, offset in starts.items():
            self._positions.begin(partition, offset)
            self._next[partition] = offset
        found = [TopicPartition(*partition, offset) for partition, offset in starts.items()]
        if self._incremental and not self._partitions:
            self._consumer.incremental_assign(found)
        else:
            self._consumer.assign(found)
        if self._is_paused and found:
            self._consumer.pause(found)

    def _starts(self, partitions: list[Partition]) -> dict[Partition, int]:
        """Return where to read each partition from: its position, the option, the committed offset, or the beginning or end."""
        options, starts = self._options, {}
        for at in partitions:
            known = self._positions.get(at)
            if known is not None:
                starts[at] = self._retained(at, known)
            else:
                given = options.offsets.get(at, options.offsets.get((at[0], -1)))
                if given is not None:
                    starts[at] = given
        left = [at for at in partitions if at not in starts]
        if left and options.start_ms is not None:
            asked = [TopicPartition(*at, options.start_ms) for at in left]
            for found in self._consumer.offsets_for_times(asked, timeout=TIMEOUT_SECONDS):
                at = (found.topic, found.partition)
                starts[at] = found.offset if found.error is None and found.offset >= 0 else self._watermarks(at)[1]
        elif left:
            asked = [TopicPartition(*at) for at in left]
            for found in self._consumer.committed(asked, timeout=TIMEOUT_SECONDS):
                at = (found.topic, found.partition)
                if found.error is not None:
                    raise KafkaException(found.error)
                if found.offset >= 0:
                    starts[at] = found.offset
                else:
                    # The end must be a number: after a restore, what arrived since is read.
                    starts[at] = OFFSET_BEGINNING if options.reset == "earliest" else self._watermarks(at)[1]
        return starts

    def _watermarks(self, partition: Partition) -> tuple[int, int]:
        low, high = self._consumer.get_watermark_offsets(TopicPartition(*partition), timeout=TIMEOUT_SECONDS)
        return low, high

    def _retained(self, partition: Partition, offset: int) -> int:
        """Return an offset, or the first one if the messages there do not exist any more."""
        if offset < 0:
            return offset
        low, high = self._watermarks(partition)
        if low <= offset <= high:
            return offset
        topic, number = partition
        if offset < low:
            what = f"messages {offset} to {low - 1} were deleted before they were read"
        else:
            what = (
                f"it ends at {high}, before the restored position {offset}; it was created anew, and is read as a whole"
            )
            self._positions.end(partition)
        logger.error("%s: partition %d of topic '%s': %s", self._label, number, topic, what)
        return low

    def _on_revoke(self, consumer: Consumer, revoked: list[TopicPartition]) -> None:
        if self._is_closing:
            return  # the positions stay: after a reconnect they are read from there
        partitions = {(one.topic, one.partition) for one in revoked}
        if not self._wait_until_processed(partitions, TIMEOUT_SECONDS):
            logger.warning("%s: a partition was taken away before all of its messages were processed", self._label)
        self.commit(self._committable())
        self._forget(partitions)

    def _on_lost(self, consumer: Consumer, lost: list[TopicPartition]) -> None:
        if not self._is_closing:
            logger.warning("%s: partitions were lost: the group went on without this consumer", self._label)
            self._forget({(one.topic, one.partition) for one in lost})

    def _forget(self, partitions: set[Partition]) -> None:
        for partition in partitions:
            self._positions.end(partition)
            self._next.pop(partition, None)
            self._committed.pop(partition, None)
        self._later = [one for one in self._later if _partition(one) not in partitions]

    # --- problems

    def _note(self, error: KafkaError) -> None:
        """Called by the client for errors that belong to no message."""
        self._last_error = error
        if error.code() == KafkaError._ALL_BROKERS_DOWN or error.code() == KafkaError._AUTHENTICATION:
            self._warn("no broker can be reached; the client tries again", error)

    def _warn(self, what: str, error: KafkaError) -> None:
        self.report(f"{what}: {describe(error)}", kind=f"{what}: {error.name()}")

    def report(self, what: str, *, kind: str | None = None) -> None:
        """Log a problem; one of the same kind that is repeated often is logged now and then."""
        note = self._repeats.note(f"{self._label}: {kind or what}")
        if note is not None:
            logger.warning("%s: %s%s", self._label, what, note)


def _partition(message: Message) -> Partition:
    return cast("str", message.topic()), cast("int", message.partition())
