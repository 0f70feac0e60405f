"""The checks that every source and sink has to pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("boto3", reason="the extra 'aws' is not installed")
pytest.importorskip("moto", reason="moto is not installed")

from siddhi.testing.connectors import SinkSuite, SourceSuite
from tests.kit.proxy import FaultProxy
from tests.kit.servers.aws import OPTIONS, Queue, endpoint


class _Sqs:
    more = ""
    suffix = ""

    @pytest.fixture(autouse=True)
    def connection(self) -> Iterator[None]:
        self.queue = Queue(self.suffix, **({"FifoQueue": "true"} if self.suffix else {}))
        with FaultProxy(int(endpoint().rpartition(":")[2])) as self.proxy:
            url = f"endpoint.url = 'http://127.0.0.1:{self.proxy.port}'"
            self.options = f"type = 'sqs', queue = '{self.queue.name}', {OPTIONS}, {url}, {self.more}"
            yield


class TestSource(_Sqs, SourceSuite):
    more = "wait.time = '0', polling.interval = '5', visibility.timeout = '1', ack = 'checkpoint'"
    delivery = "at least once"
    is_durable = True
    is_ordered = False  # a message that is delivered again comes behind later ones
    count = 20

    def send(self, payloads: Any) -> None:
        self.queue.send(*payloads)

    def break_connection(self) -> None:
        self.proxy.drop()


class TestSink(_Sqs, SinkSuite):
    more = "message.group.id = 'g'"
    suffix = ".fifo"
    is_confirmed = True
    count = 20

    @pytest.fixture(autouse=True)
    def bodies(self) -> None:
        self.taken: list[str | bytes] = []

    def received(self) -> list[str | bytes]:
        while messages := self.queue.take():  # the queue gives no more of a group while some of it are not deleted
            self.taken += [message["Body"] for message in messages]
            self.queue.delete(messages)
        return list(self.taken)

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()
