"""A Kafka cluster for tests: the mock cluster of librdkafka, which serves real clients of this and other processes.

It has groups with rebalancing, committed offsets, idempotent and transactional producers, and topics of four partitions that
exist once something is produced. It keeps the last 5 MB of a partition. What it has not:

- commits while it waits for the members of a group: it refuses them, where a real broker takes those of the old members;
- isolation: aborted and uncommitted messages are read like others, and an older transactional producer is not fenced off;
- offsets that a transaction commits, and offsets by time;
- a restart, requests of administrators, TLS and SASL. :func:`kafka_proxy` breaks connections instead.

So a member that had to commit while another one joined or left receives some messages twice: compare sets then, not counts.
"""

from __future__ import annotations

import ctypes
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition, cimpl

from tests.kit.proxy import FaultProxy

__all__ = ["PARTITIONS", "KafkaServer", "kafka_proxy"]

PARTITIONS = 4
_SECONDS = 30.0
_GROUP_BEGINS_MS = 50


class KafkaServer:
    """A mock cluster of one broker in this process.

    Attributes:
        address: host and port.
    """

    def __init__(self) -> None:
        self.address = _mock_cluster()
        self.port = int(self.address.rpartition(":")[2])
        self._producer = Producer({"bootstrap.servers": self.address, "linger.ms": 0, "log_level": 0})

    def create(self, topic: str) -> None:
        """Create a topic with :data:`PARTITIONS` partitions."""
        self._producer.list_topics(topic, timeout=_SECONDS)

    def produce(self, topic: str, values: Iterable[Any], partition: int = 0, **more: Any) -> None:
        """Append messages to a partition, and wait until they are there."""
        failed: list[object] = []
        for value in values:
            self._producer.produce(
                topic,
                value,
                partition=partition,
                on_delivery=lambda error, _: None if error is None else failed.append(error),
                **more,
            )
            self._producer.poll(0)
        assert self._producer.flush(_SECONDS) == 0
        assert failed == []

    def messages(self, topic: str, count: int = 0) -> list[Message]:
        """Return the messages of a topic, in the order of their partitions and offsets, once there are at least ``count``."""
        settings = {"group.id": "reading", "log_level": 0, "fetch.wait.max.ms": 20, "enable.partition.eof": True}
        consumer = Consumer({"bootstrap.servers": self.address, **settings})
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        found: list[Message] = []
        ended: set[object] = set()
        deadline = time.monotonic() + _SECONDS
        while len(found) < count or len(ended) < PARTITIONS:
            assert time.monotonic() < deadline, f"{len(found)} of {count} messages"
            for message in consumer.consume(1000, 0.02):
                if message.error() is None:
                    found.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
        consumer.close()
        return sorted(found, key=lambda message: (message.partition(), message.offset()))

    def values(self, topic: str, count: int = 0) -> list[bytes]:
        """Return the contents of :meth:`messages`."""
        return [message.value() for message in self.messages(topic, count)]

    def ends(self, topic: str) -> dict[int, int]:
        """Return the offset after the last message of each partition."""
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": "reading", "log_level": 0})
        found = {
            number: consumer.get_watermark_offsets(TopicPartition(topic, number), timeout=_SECONDS)[1]
            for number in range(PARTITIONS)
        }
        consumer.close()
        return found

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Return the committed offsets of a group, by partition; those of other partitions are left out."""
        consumer = Consumer({"bootstrap.servers": self.address, "group.id": group, "log_level": 0})
        asked = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        found = {one.partition: one.offset for one in consumer.committed(asked, timeout=_SECONDS) if one.offset >= 0}
        consumer.close()
        return found


def _mock_cluster() -> str:
    """Start a cluster of one broker, which runs until the process ends; return its address.

    The setting ``test.mock.num.brokers`` starts one, too, but its groups begin three seconds after the first member.
    """
    library = ctypes.CDLL(cimpl.__file__)  # its symbols are found through the module that is linked with it
    for name in ("rd_kafka_new", "rd_kafka_mock_cluster_new"):
        getattr(library, name).restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    error = ctypes.create_string_buffer(200)
    client = library.rd_kafka_new(0, None, error, ctypes.c_size_t(len(error)))  # 0: a producer
    assert client, error.value
    cluster = library.rd_kafka_mock_cluster_new(ctypes.c_void_p(client), 1)
    assert cluster
    library.rd_kafka_mock_group_initial_rebalance_delay_ms(ctypes.c_void_p(cluster), ctypes.c_int32(_GROUP_BEGINS_MS))
    return library.rd_kafka_mock_cluster_bootstraps(ctypes.c_void_p(cluster)).decode()


@contextmanager
def kafka_proxy(server: KafkaServer) -> Iterator[FaultProxy]:
    """Yield a proxy in front of a cluster: clients that are given its address see no other one."""
    with FaultProxy(server.port) as proxy:
        real = b"127.0.0.1" + struct.pack(">i", server.port)
        proxy.rewrite = lambda content: content.replace(real, b"127.0.0.1" + struct.pack(">i", proxy.port))
        yield proxy
