"""Redis killed and started again, connections that break, a consumer killed under load: nothing is lost."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from siddhi import SiddhiManager
from tests.kit.faults import CountingSender, kill_under_load
from tests.kit.killed_consumer import ROUNDS
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.redis import RedisServer, library, redis_server
from tests.kit.waiting import wait_until

pytestmark = pytest.mark.server

SINK = """@sink(type = 'redis-stream', url = '{url}', stream = 'numbers', on.error = 'STREAM', timeout = '5 sec', @map(type = 'csv'))
@OnError(action = 'stream') define stream O (v long);"""
SOURCE = """@app:name('Numbers') @source(type = 'redis-stream', url = '{url}', stream = 'numbers', start = 'earliest', {options}, @map(type = 'csv'))
define stream S (v long);"""


@pytest.fixture
def own_server() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.mark.parametrize("options", ["group = 'g'", "buffer.payloads = '100'"])
def test_a_server_that_is_killed_loses_nothing(manager: SiddhiManager, own_server: RedisServer, options: str) -> None:
    receiver = manager.create_siddhi_app_runtime(SOURCE.format(url=own_server.url, options=options))
    rows = collect(receiver, "S")
    receiver.start()
    with CountingSender(manager, SINK.format(url=own_server.url)) as sender:
        for _ in range(ROUNDS):
            before = len(rows)
            wait_until(lambda before=before: len(rows) > before + 50)
            own_server.kill()
            own_server.start()
    wait_until(lambda: len({row[0] for row in rows} | sender.reported) == sender.sent)
    receiver.shutdown()


def test_connections_that_break_lose_and_repeat_nothing_at_the_source(
    manager: SiddhiManager, own_server: RedisServer
) -> None:
    with FaultProxy(own_server.port) as proxy:
        source = SOURCE.format(url=f"redis://127.0.0.1:{proxy.port}", options="group = 'g', timeout = '5 sec'")
        receiver = manager.create_siddhi_app_runtime(source)
        rows = collect(receiver, "S")
        receiver.start()
        with CountingSender(manager, SINK.format(url=own_server.url)) as sender:
            for fault in range(ROUNDS + 1):
                before = len(rows)
                wait_until(lambda before=before: len(rows) > before + 50)
                (proxy.drop, lambda: proxy.drop_after(random.randrange(5000)), proxy.half_close)[fault % 3]()
        wait_until(lambda: len(set(rows)) == sender.sent)
        receiver.shutdown()
    assert sender.failed == []
    assert len(rows) == sender.sent


def test_a_server_that_stops_answering_is_noticed(manager: SiddhiManager, own_server: RedisServer) -> None:
    with FaultProxy(own_server.port) as proxy:
        url = f"redis://127.0.0.1:{proxy.port}"
        sender = manager.create_siddhi_app_runtime(SINK.format(url=url).replace("'5 sec'", "'200 ms'"))
        failed = collect(sender, "!O")
        sender.start()
        proxy.stall()
        sender.input_handler("O").send((1,))
        wait_until(lambda: failed)
        proxy.flow()
        receiver = manager.create_siddhi_app_runtime(SOURCE.format(url=url, options="group = 'g'"))
        rows = collect(receiver, "S")
        receiver.start()

        def arrives() -> bool:
            sender.input_handler("O").send((2,))
            return (2,) in rows

        wait_until(arrives)
        sender.shutdown()
        receiver.shutdown()


@pytest.mark.parametrize(
    "options", ["group = 'g', ack = 'checkpoint'", "group = 'g', ack = 'processed'", "buffer.payloads = '100'"]
)
def test_a_killed_consumer_loses_nothing(own_server: RedisServer, tmp_path: Path, options: str) -> None:
    with library().Redis.from_url(own_server.url) as client:

        def publish(numbers: Iterable[int]) -> None:
            pipeline = client.pipeline()
            for number in numbers:
                pipeline.xadd("numbers", {"payload": number})
            pipeline.execute()

        app = SOURCE.format(url=own_server.url, options=options).replace("stream S", "stream In")
        has_state = "processed" not in options
        received, published, counted = kill_under_load(app, tmp_path, publish, counts_all=has_state)
    assert set(received) == set(range(published))
    if has_state:  # the state has each of them once
        assert counted == published
