"""Connections that break, brokers that end, a consumer that is killed: what was acknowledged is not lost."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from siddhi import SiddhiManager
from tests.kit.certificates import Certificates
from tests.kit.faults import CountingSender, kill_under_load
from tests.kit.killed_consumer import ROUNDS
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.mqtt import Broker, mosquitto_broker
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.server

SINK = """@sink(type = 'mqtt', url = '{url}', topic = '{topic}', on.error = 'STREAM', connection.timeout = '5', {options}, @map(type = 'csv'))
@OnError(action = 'stream') define stream O (v long);"""
SOURCE = """@source(type = 'mqtt', url = '{url}', topic = '{topic}', client.id = '{topic}', clean.session = 'false', {options},
@map(type = 'csv')) define stream S (v long);"""


def test_a_sink_whose_connections_break_reports_what_it_can_not_publish(manager: SiddhiManager, amqtt: Broker) -> None:
    options = "quality.of.service = '1'"
    source = SOURCE.format(url=amqtt.url, topic="broken", options=options).replace(
        "clean.session = 'false'", "version = '3.1.1'"
    )
    receiver = manager.create_siddhi_app_runtime(source)
    rows = collect(receiver, "S")
    receiver.start()
    with FaultProxy(amqtt.port) as proxy:
        url = f"tcp://127.0.0.1:{proxy.port}"
        with CountingSender(manager, SINK.format(url=url, topic="broken", options=options), pause=0.002) as sender:
            for fault in range(ROUNDS + 1):
                before = len(rows)
                wait_until(lambda before=before: len(rows) > before + 30)
                (proxy.drop, proxy.half_close)[fault % 2]()
    wait_until(lambda: len({row[0] for row in rows} | sender.reported) == sender.sent)
    receiver.shutdown()


def test_a_broker_that_stops_answering_is_noticed(manager: SiddhiManager, amqtt: Broker) -> None:
    with FaultProxy(amqtt.port) as proxy:
        text = SINK.format(url=f"tcp://127.0.0.1:{proxy.port}", topic="stalled", options="retry.initial = '10 ms'")
        runtime = manager.create_siddhi_app_runtime(text.replace("'5'", "'200 ms'"))
        failed = collect(runtime, "!O")
        runtime.start()
        proxy.stall()
        runtime.input_handler("O").send((1,))
        wait_until(lambda: failed)
        proxy.flow()
        runtime.shutdown()


@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_a_broker_that_restarts_loses_nothing(manager: SiddhiManager, version: str) -> None:
    with mosquitto_broker() as broker:
        options = f"quality.of.service = '1', version = '{version}'"
        receiver = manager.create_siddhi_app_runtime(SOURCE.format(url=broker.url, topic="t", options=options))
        rows = collect(receiver, "S")
        receiver.start()
        sink = SINK.format(url=broker.url, topic="t", options=options)
        with CountingSender(manager, sink, pause=0.001) as sender:
            for _ in range(min(ROUNDS, 10)):
                before = len(rows)
                wait_until(lambda before=before: len(rows) > before + 50)
                broker.stop()
                broker.start()
        wait_until(lambda: len({row[0] for row in rows} | sender.reported) == sender.sent)
        receiver.shutdown()


def test_connections_of_a_source_that_break_lose_nothing(manager: SiddhiManager, mosquitto: Broker) -> None:
    with FaultProxy(mosquitto.port) as proxy:
        url = f"tcp://127.0.0.1:{proxy.port}"
        receiver = manager.create_siddhi_app_runtime(SOURCE.format(url=url, topic="u", options="keep.alive = '30'"))
        rows = collect(receiver, "S")
        receiver.start()
        sink = SINK.format(url=mosquitto.url, topic="u", options="quality.of.service = '1'")
        with CountingSender(manager, sink, pause=0.001) as sender:
            for fault in range(ROUNDS + 1):
                before = len(rows)
                wait_until(lambda before=before: len(rows) > before + 50)
                (proxy.drop, lambda: proxy.drop_after(3000), proxy.half_close)[fault % 3]()
        wait_until(lambda: len({row[0] for row in rows}) == sender.sent)
        assert sender.failed == []
        receiver.shutdown()


@pytest.mark.parametrize("ack", ["checkpoint", "processed"])
def test_a_killed_consumer_loses_nothing(manager: SiddhiManager, tmp_path: Path, ack: str) -> None:
    with mosquitto_broker() as broker:
        sink = SINK.format(url=broker.url, topic="k", options="quality.of.service = '1'")
        publisher = manager.create_siddhi_app_runtime(sink)
        failed = collect(publisher, "!O")
        publisher.start()

        def publish(numbers: Iterable[int]) -> None:
            for number in numbers:
                publisher.input_handler("O").send((number,))

        app = SOURCE.format(url=broker.url, topic="k", options=f"ack = '{ack}'").replace("stream S", "stream In")
        received, published, counted = kill_under_load(app, tmp_path, publish, counts_all=ack != "processed")
        publisher.shutdown()
        assert failed == []
        assert set(received) == set(range(published))
        assert ack == "processed" or counted >= published


def test_the_will_is_published_when_the_connection_is_lost_for_good(manager: SiddhiManager, mosquitto: Broker) -> None:
    source = f"@source(type = 'mqtt', url = '{mosquitto.url}', topic = 'wills', @map(type = 'csv')) define stream S (v long);"
    receiver = manager.create_siddhi_app_runtime(source)
    rows = collect(receiver, "S")
    receiver.start()
    with FaultProxy(mosquitto.port) as proxy:
        options = "will.topic = 'wills', will.payload = '7'"
        sender = manager.create_siddhi_app_runtime(
            SINK.format(url=f"tcp://127.0.0.1:{proxy.port}", topic="o", options=options)
        )
        sender.start()
        proxy.refuse()
        wait_until(lambda: rows == [(7,)])
        sender.shutdown()
    receiver.shutdown()


def test_users_have_passwords_that_are_not_logged(
    manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with mosquitto_broker(user=("ann", "right-one")) as broker:
        monkeypatch.setenv("BROKER_PASSWORD", "wrong-one")
        text = SINK.format(url=broker.url, topic="o", options="username = 'ann', password = 'env:BROKER_PASSWORD'")
        runtime = manager.create_siddhi_app_runtime(text)
        runtime.start()
        wait_until(lambda: "Not authorized" in caplog.text)
        runtime.shutdown()
        monkeypatch.setenv("BROKER_PASSWORD", "right-one")
        runtime = manager.create_siddhi_app_runtime(text)
        failed = collect(runtime, "!O")
        runtime.start()
        runtime.input_handler("O").send((1,))
        runtime.shutdown()
    assert failed == []
    assert "-one" not in caplog.text


def test_tls_verifies_the_broker(
    manager: SiddhiManager, amqtt: Broker, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.authority))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificates.server)
    with FaultProxy(amqtt.port, tls=context) as proxy:
        url, client = f"mqtts://localhost:{proxy.port}", f"tls.certificate.file = '{certificates.client}'"
        source = f"@source(type = 'mqtt', url = '{url}', topic = 'tls', {client}, tls.ca.file = '%s', @map(type = 'csv')) define stream S (v long);"
        runtime = manager.create_siddhi_app_runtime(source % certificates.other)
        runtime.start()
        wait_until(lambda: "CERTIFICATE_VERIFY_FAILED" in caplog.text)
        runtime.shutdown()
        runtime = manager.create_siddhi_app_runtime(source % certificates.authority)
        rows = collect(runtime, "S")
        runtime.start()
        options = f"{client}, tls.ca.file = '{certificates.authority}'"
        sender = manager.create_siddhi_app_runtime(SINK.format(url=url, topic="tls", options=options))
        sender.start()
        for number in range(300):
            sender.input_handler("O").send((number,))
        wait_until(lambda: len(rows) == 300)
        sender.shutdown()
        runtime.shutdown()


def test_starts_and_stops_leave_no_thread(manager: SiddhiManager, amqtt: Broker) -> None:
    before = set(threading.enumerate())
    text = SINK.format(url=amqtt.url, topic="again", options="version = '3.1.1'")
    text += (
        f" @source(type = 'mqtt', url = '{amqtt.url}', topic = 'again', @map(type = 'csv')) define stream S (v long);"
    )
    for _ in range(3):
        runtime = manager.create_siddhi_app_runtime(text)
        rows = collect(runtime, "S")
        runtime.start()
        runtime.input_handler("O").send((1,))
        wait_until(lambda rows=rows: rows)
        runtime.shutdown()
    wait_until(lambda: not set(threading.enumerate()) - before)
