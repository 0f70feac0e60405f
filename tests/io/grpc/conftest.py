from __future__ import annotations

from collections.abc import Iterator

import pytest

from siddhi import SiddhiManager
from siddhi.runtime.connectors import retry
from tests.io.test_tcp import free_port
from tests.kit.servers.grpc import EventServer


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    """A manager whose connectors reconnect without long pauses."""
    monkeypatch.setattr(retry, "PAUSES", (0.05,))
    with SiddhiManager() as made:
        yield made


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def server() -> Iterator[EventServer]:
    made = EventServer().start()
    yield made
    made.go.set()
    made.stop()
