from __future__ import annotations

from collections.abc import Iterator

import pytest

from siddhi import SiddhiManager
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from tests.kit.servers.redis import RedisServer, redis_server

library = pytest.importorskip("redis")


@pytest.fixture(scope="session")
def running_redis() -> Iterator[RedisServer]:
    with redis_server() as server:
        yield server


@pytest.fixture
def server(running_redis: RedisServer) -> RedisServer:
    """A server without data."""
    with library.Redis.from_url(running_redis.url) as client:
        client.flushall()
    return running_redis


@pytest.fixture
def client(server: RedisServer) -> Iterator[library.Redis]:
    with library.Redis.from_url(server.url, decode_responses=True) as made:
        yield made


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made
