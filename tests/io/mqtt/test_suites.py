"""The checks that every source and sink has to pass."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from siddhi.testing.connectors import SinkSuite, SourceSuite
from tests.kit.proxy import FaultProxy
from tests.kit.servers.mqtt import Broker

_numbers = itertools.count()


class Peer:
    """A client that notes the messages of a topic."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self.topic = topic
        self.payloads: list[str | bytes] = []
        subscribed = threading.Event()
        self.client = Client(CallbackAPIVersion.VERSION2)
        self.client.on_message = lambda _client, _data, message: self.payloads.append(message.payload.decode())
        self.client.on_connect = lambda client, *_: client.subscribe(topic, 1)
        self.client.on_subscribe = lambda *_: subscribed.set()
        self.client.connect("127.0.0.1", broker.port)
        self.client.loop_start()
        assert subscribed.wait(30)

    def send(self, payloads: Any) -> None:
        for payload in payloads:
            self.client.publish(self.topic, payload, 1).wait_for_publish(30)

    def close(self) -> None:
        self.client.disconnect()
        self.client.loop_stop()


class _Mqtt:
    more = "quality.of.service = '1'"

    @pytest.fixture(autouse=True)
    def connection(self, broker: Broker) -> Iterator[None]:
        self.peer = Peer(broker, f"suite-{next(_numbers)}")
        with FaultProxy(broker.port) as self.proxy:
            self.options = (
                f"type = 'mqtt', url = 'tcp://127.0.0.1:{self.proxy.port}', topic = '{self.peer.topic}', {self.more}"
            )
            yield
        self.peer.close()


class _Source(_Mqtt, SourceSuite):
    is_reconnecting = True

    def send(self, payloads: Any) -> None:
        self.peer.send(payloads)

    def break_connection(self) -> None:
        self.proxy.drop()


class TestSource(_Source):
    @pytest.fixture
    def broker(self, amqtt: Broker) -> Broker:
        return amqtt


@pytest.mark.server
class TestSessionSource(_Source):
    delivery = "at least once"
    is_durable = True

    @pytest.fixture
    def broker(self, mosquitto: Broker) -> Broker:
        return mosquitto

    @property
    def more(self) -> str:  # type: ignore[override]
        return f"version = '5', client.id = '{self.peer.topic}', clean.session = 'false', ack = 'checkpoint'"


class TestSink(_Mqtt, SinkSuite):
    is_confirmed = True

    def received(self) -> list[str | bytes]:
        return list(self.peer.payloads)

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()
