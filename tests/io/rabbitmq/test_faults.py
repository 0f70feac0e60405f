"""RabbitMQ killed and started again, connections that break, a consumer killed under load: nothing is lost."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from siddhi import SiddhiManager
from tests.kit.faults import CountingSender, kill_under_load
from tests.kit.killed_consumer import ROUNDS
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.rabbitmq import RabbitServer, rabbit_server
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.server

SINK = """@sink(type = 'rabbitmq', uri = '{uri}', routing.key = '{queue}', delivery.mode = '2', mandatory = 'true', on.error = 'STREAM',
@map(type = 'csv')) @OnError(action = 'stream') define stream O (v long);"""
SOURCE = """@source(type = 'rabbitmq', uri = '{uri}', queue.name = '{queue}', queue.durable.enabled = 'true', ack = '{ack}',
@map(type = 'csv')) define stream S (v long);"""


def test_a_server_that_is_killed_loses_nothing(manager: SiddhiManager) -> None:
    with rabbit_server() as server:
        receiver = manager.create_siddhi_app_runtime(SOURCE.format(uri=server.url, queue="q", ack="processed"))
        rows = collect(receiver, "S")
        receiver.start()
        with CountingSender(manager, SINK.format(uri=server.url, queue="q"), pause=0.002) as sender:
            for _ in range(1 if ROUNDS < 10 else 10):  # RabbitMQ needs many seconds to start
                before = len(rows)
                wait_until(lambda before=before: len(rows) > before + 50)
                server.kill()
                server.start()
        wait_until(lambda: len({row[0] for row in rows} | sender.reported) == sender.sent)
        receiver.shutdown()


def test_connections_that_break_lose_nothing(manager: SiddhiManager, server: RabbitServer) -> None:
    with FaultProxy(server.port) as proxy:
        uri = f"amqp://127.0.0.1:{proxy.port}"
        receiver = manager.create_siddhi_app_runtime(SOURCE.format(uri=uri, queue="broken", ack="processed"))
        rows = collect(receiver, "S")
        receiver.start()
        with CountingSender(manager, SINK.format(uri=uri, queue="broken"), pause=0.001) as sender:
            for fault in range(ROUNDS + 1):
                before = len(rows)
                wait_until(lambda before=before: len(rows) > before + 50)
                (proxy.drop, lambda: proxy.drop_after(3000), proxy.half_close)[fault % 3]()
        wait_until(lambda: len({row[0] for row in rows} | sender.reported) == sender.sent)
        receiver.shutdown()


def test_a_server_that_stops_answering_is_noticed(manager: SiddhiManager, server: RabbitServer) -> None:
    with FaultProxy(server.port) as proxy:
        text = SINK.format(uri=f"amqp://127.0.0.1:{proxy.port}", queue="stalled")
        text = text.replace("mandatory", "connection.timeout = '1 sec', heartbeat = '1', mandatory")
        runtime = manager.create_siddhi_app_runtime(text)
        failed = collect(runtime, "!O")
        runtime.start()
        proxy.stall()
        runtime.input_handler("O").send((1,))
        wait_until(lambda: failed)
        proxy.flow()
        runtime.shutdown()


@pytest.mark.parametrize("ack", ["checkpoint", "processed"])
def test_a_killed_consumer_loses_nothing(
    manager: SiddhiManager, server: RabbitServer, tmp_path: Path, ack: str
) -> None:
    queue = f"killed-{ack}"
    publisher = manager.create_siddhi_app_runtime(SINK.format(uri=server.url, queue=queue))
    failed = collect(publisher, "!O")
    publisher.start()

    def publish(numbers: Iterable[int]) -> None:
        for number in numbers:
            publisher.input_handler("O").send((number,))

    app = SOURCE.format(uri=server.url, queue=queue, ack=ack).replace("stream S", "stream In")
    received, published, counted = kill_under_load(app, tmp_path, publish, counts_all=ack != "processed")
    publisher.shutdown()
    assert failed == []
    assert set(received) == set(range(published))
    assert ack == "processed" or counted >= published
