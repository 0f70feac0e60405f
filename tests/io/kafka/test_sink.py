"""The sink ``kafka`` against librdkafka's mock cluster; see tests/kit/kafka.py for what that can't do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("confluent_kafka")

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io.kafka import sink as sink_module
from siddhi.testing.connectors import SinkSuite, SourceSuite
from tests.kit.kafka import KafkaServer, kafka_proxy
from tests.kit.running import collect
from tests.kit.waiting import wait_until

WAIT = 30
QUICK = "reconnect.backoff.ms:10,reconnect.backoff.max.ms:50,retry.backoff.ms:10,socket.timeout.ms:5000"

ManagerMaker = Callable[[], SiddhiManager]


def app(address: str, options: str = "", *, stream: str = "define stream S (k string, v int);") -> str:
    return f"""@app:name('Out')
        @sink(type = 'kafka', bootstrap.servers = '{address}' {options}, @map(type = 'text', @payload('{{{{v}}}}'))) {stream}"""


def send(runtime: SiddhiAppRuntime, *values: int, key: str = "a") -> None:
    for value in values:
        runtime.input_handler("S").send((key, value), timestamp=1000 + value)


def texts(*values: int) -> list[bytes]:
    return [str(value).encode() for value in values]


class TestSinkSuite(SinkSuite):
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def server(self, kafka: KafkaServer, topic: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setattr(sink_module, "TIMEOUT_SECONDS", 1.0)
        self.kafka, self.topic = kafka, topic
        with kafka_proxy(kafka) as self.proxy:
            self.options = (
                f"type = 'kafka', bootstrap.servers = '127.0.0.1:{self.proxy.port}', topic = '{topic}', partition.no = '0', "
                f"optional.configuration = 'message.timeout.ms:1000,{QUICK}'"
            )
            yield

    def received(self) -> list[str | bytes]:
        return [value.decode() for value in self.kafka.values(self.topic)]

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()


class TestSourceSuite(SourceSuite):
    delivery = "at least once"
    is_durable = True

    @pytest.fixture(autouse=True)
    def server(self, kafka: KafkaServer, topic: str) -> Iterator[None]:
        self.kafka, self.topic = kafka, topic
        with kafka_proxy(kafka) as self.proxy:
            self.options = (
                f"type = 'kafka', bootstrap.servers = '127.0.0.1:{self.proxy.port}', topic.list = '{topic}', group.id = '{topic}', "
                f"partition.no.list = '0', optional.configuration = 'fetch.wait.max.ms:20,{QUICK}'"
            )
            yield

    def send(self, payloads: Any) -> None:
        self.kafka.produce(self.topic, payloads)

    def break_connection(self) -> None:
        self.proxy.drop()


def test_key_partition_headers_and_time_come_from_the_event(
    kafka: KafkaServer, topic: str, manager: SiddhiManager
) -> None:
    options = ", topic = '{{k}}', key = 'k{{v}}', partition.no = '{{v}}', headers = \"'a:1','b:{{v}}, {{k}}'\", record.timestamp = 'event'"
    with manager.create_siddhi_app_runtime(app(kafka.address, options)) as runtime:
        send(runtime, 3, key=topic)
        (message,) = kafka.messages(topic, 1)
    assert (message.value(), message.key(), message.partition()) == (b"3", b"k3", 3)
    assert message.headers() == [("a", b"1"), ("b", f"3, {topic}".encode())]
    assert message.timestamp()[1] == 1003


def test_messages_of_a_key_keep_their_order(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    with manager.create_siddhi_app_runtime(app(kafka.address, f", topic = '{topic}', key = '{{{{k}}}}'")) as runtime:
        for number in range(3000):
            send(runtime, number, key=str(number % 7))
    by_key: dict[bytes, list[int]] = {}
    for message in kafka.messages(topic, 3000):
        by_key.setdefault(message.key(), []).append(int(message.value()))
    assert {key: values == sorted(values) for key, values in by_key.items()} == {
        str(k).encode(): True for k in range(7)
    }
    assert sum(map(len, by_key.values())) == 3000


def test_a_synchronous_sink_returns_when_the_payload_is_there(
    kafka: KafkaServer, topic: str, manager: SiddhiManager
) -> None:
    options = f", topic = '{topic}', partition.no = '0', is.synchronous = 'true'"
    with manager.create_siddhi_app_runtime(app(kafka.address, options)) as runtime:
        for number in range(3):
            send(runtime, number)
            assert kafka.ends(topic)[0] == number + 1


@pytest.mark.parametrize("mode", ["true", "false"])
def test_every_delivery_error_is_handled_by_on_error(
    kafka: KafkaServer, topic: str, manager: SiddhiManager, mode: str
) -> None:
    options = f", topic = '{topic}', is.synchronous = '{mode}', on.error = 'STREAM', partition.no = '{{{{v}}}}'"
    text = app(kafka.address, options, stream="@OnError(action = 'stream') define stream S (k string, v int);")
    with manager.create_siddhi_app_runtime(text) as runtime:
        failed = collect(runtime, "!S")
        send(runtime, 0, 77, 1, -1, 2)  # there is no partition 77
        wait_until(lambda: len(failed) == 2)
        assert kafka.values(topic, 3) == texts(0, 1, 2)
    assert [row[1] for row in failed] == [77, -1]
    assert "UNKNOWN_PARTITION" in str(failed[0][2])


@pytest.mark.parametrize("mode", ["true", "false"])
def test_without_brokers_every_payload_is_reported(
    kafka: KafkaServer, topic: str, manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    with kafka_proxy(kafka) as proxy:
        options = f", topic = '{topic}', partition.no = '0', is.synchronous = '{mode}', on.error = 'STREAM', optional.configuration = 'message.timeout.ms:500,{QUICK}'"
        text = app(
            f"127.0.0.1:{proxy.port}", options, stream="@OnError(action = 'stream') define stream S (k string, v int);"
        )
        with manager.create_siddhi_app_runtime(text) as runtime:
            failed = collect(runtime, "!S")
            send(runtime, 1)
            assert kafka.values(topic, 1) == texts(1)
            monkeypatch.setattr(sink_module, "TIMEOUT_SECONDS", 0.2)
            proxy.refuse()
            send(runtime, 2, 3)
            wait_until(lambda: len(failed) == 2)
            monkeypatch.setattr(sink_module, "TIMEOUT_SECONDS", WAIT)
            proxy.accept()
            wait_until(lambda: runtime.connectors()[0].connected)
            send(runtime, 4)
            assert kafka.values(topic, 2) == texts(1, 4)
    assert [row[1] for row in failed] == [2, 3]


def test_lost_connections_lose_nothing_and_keep_the_order(
    kafka: KafkaServer, topic: str, manager: SiddhiManager
) -> None:
    with kafka_proxy(kafka) as proxy:
        options = f", topic = '{topic}', partition.no = '0', on.error = 'STREAM', optional.configuration = '{QUICK}'"
        text = app(
            f"127.0.0.1:{proxy.port}", options, stream="@OnError(action = 'stream') define stream S (k string, v int);"
        )
        with manager.create_siddhi_app_runtime(text) as runtime:
            failed = collect(runtime, "!S")
            for number in range(10):
                send(runtime, *range(100 * number, 100 * number + 100))
                proxy.refuse() if number % 2 else proxy.drop()
                proxy.accept()
            # The test cluster stores a repeated request again; brokers of Kafka know it by its sequence number.
            wait_until(lambda: kafka.values(topic)[-1:] == texts(999))
            values = list(dict.fromkeys(kafka.values(topic)))
            # What a broker has stored is confirmed later where the connection was lost in between.
            wait_until(lambda: not runtime.connectors()[0].waiting)
    assert failed == []
    assert values == texts(*range(1000))


def test_a_shutdown_publishes_what_is_queued(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    with manager.create_siddhi_app_runtime(app(kafka.address, f", topic = '{topic}', partition.no = '0'")) as runtime:
        runtime.input_handler("S").send_events([Event(1, ("a", number)) for number in range(4000)])
    assert kafka.values(topic, 4000) == texts(*range(4000))


def test_a_restored_app_publishes_repeated_payloads_with_the_same_number(
    kafka: KafkaServer, topic: str, new_manager: ManagerMaker
) -> None:
    text = app(kafka.address, f", topic = '{topic}', partition.no = '0', sequence.id = 'me'")
    with new_manager().create_siddhi_app_runtime(text) as runtime:
        send(runtime, 7)
        kafka.values(topic, 1)
        wait_until(lambda: runtime.connectors()[0].payloads == 1)
        state = runtime.snapshot()
        send(runtime, 8)
    again = new_manager().create_siddhi_app_runtime(text)
    again.restore(state)
    with again:
        send(again, 8, 9)
    assert kafka.values(topic, 4) == [b"me:1~7", b"me:2~8", b"me:2~8", b"me:3~9"]


def test_a_numbered_message_arrives_in_a_source_as_it_was_sent(
    kafka: KafkaServer, topic: str, new_manager: ManagerMaker
) -> None:
    source = f"""@source(type = 'kafka', bootstrap.servers = '{kafka.address}', topic.list = '{topic}', group.id = 'bin',
        partition.no.list = '0', seq.enabled = 'true', is.binary.message = 'true', @map(type = 'text', regex.A = '(.*)', @attributes(v = 'A[1]')))
        define stream S (v string);"""
    runtime = new_manager().create_siddhi_app_runtime(source)
    rows = collect(runtime, "S")
    options = f", topic = '{topic}', partition.no = '0', sequence.id = 'me', is.binary.message = 'true'"
    with new_manager().create_siddhi_app_runtime(app(kafka.address, options)) as out:
        send(out, 7, 8)
    runtime.start()
    wait_until(lambda: len(rows) == 2)
    assert rows == [("7",), ("8",)]
    assert kafka.values(topic, 2)[0] == b"\0\0\0\5me:1~7"


def test_an_app_starts_and_stops_without_a_trace(kafka: KafkaServer, topic: str, manager: SiddhiManager) -> None:
    threads = set(threading.enumerate())
    runtime = manager.create_siddhi_app_runtime(app(kafka.address, f", topic = '{topic}', partition.no = '0'"))
    for number in range(3):
        runtime.start()
        send(runtime, number)
        runtime.shutdown()
    assert set(threading.enumerate()) <= threads
    assert kafka.values(topic, 3) == texts(0, 1, 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "requires the option 'topic'"),
        (", topic = 't', partition.no = 'x'", "a number of a partition, not 'x'"),
        (", topic = 't', headers = 'x'", "headers such as"),
        (", topic = 't', sequence.id = 'a:b'", "a text without ':' and '~'"),
        (", topic = 't', use.avro.serializer = 'true'", "does not support the option 'use.avro.serializer'"),
        (", topic = 't', record.timestamp = 'then'", "one of now, event"),
        (", topic = 't', optional.configuration = 'acks:some'", "acks"),
        (", topic = 't', optional.configuration = 'enable.idempotence:true,acks:1'", "acks"),
    ],
)
def test_invalid_options_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError) as found:
        manager.create_siddhi_app_runtime(app("127.0.0.1:1", options))
    assert message in str(found.value)
