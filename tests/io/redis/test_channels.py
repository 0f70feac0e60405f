"""Channels: subscriptions, patterns, properties, loss of the connection, refused options."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi import SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.redis import RedisServer
from tests.kit.waiting import wait_until


def app(url: str, options: str) -> str:
    return f"""@source(type = 'redis-pubsub', url = '{url}', {options}, @map(type = 'csv', @attributes(
        v = '0', channel = 'trp:channel', pattern = 'trp:pattern'))) define stream S (v long, channel string, pattern string);"""


def test_messages_of_channels_and_patterns_arrive(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    runtime = manager.create_siddhi_app_runtime(app(server.url, "channel = 'a, b', pattern = 'news.*'"))
    rows = collect(runtime, "S")
    runtime.start()
    for number, channel in enumerate(("a", "other", "news.x", "b")):
        client.publish(channel, number)
    wait_until(lambda: len(rows) == 3)
    assert rows == [(0, "a", ""), (2, "news.x", "news.*"), (3, "b", "")]


def test_a_lost_connection_is_made_again(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    with FaultProxy(server.port) as proxy:
        runtime = manager.create_siddhi_app_runtime(app(f"redis://127.0.0.1:{proxy.port}", "channel = 'a'"))
        rows = collect(runtime, "S")
        runtime.start()
        for number in range(5):
            proxy.drop()
            wait_until(lambda: client.pubsub_numsub("a") == [("a", 1)] and proxy.open_connections)
            wait_until(lambda number=number: client.publish("a", number) and rows and rows[-1][0] == number)
        runtime.shutdown()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("buffer.payloads = '5'", "requires the option 'channel' or 'pattern'"),
        ("channel = 'a,,b'", "invalid option 'channel'"),
        ("channel = 'a', ack = 'processed'", "invalid option 'ack'"),
    ],
)
def test_an_invalid_option_is_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        manager.create_siddhi_app_runtime(app("redis://localhost", options))


def test_an_unknown_property_is_refused(manager: SiddhiManager) -> None:
    text = app("redis://localhost", "channel = 'a'").replace("trp:pattern", "trp:id")
    with pytest.raises(SiddhiAppCreationError, match="no transport property 'id'"):
        manager.create_siddhi_app_runtime(text)
