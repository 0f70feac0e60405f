from __future__ import annotations

from collections.abc import Iterator

import pytest

from siddhi import SiddhiManager
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from tests.kit.servers.mqtt import Broker, amqtt_broker, mosquitto_broker

pytest.importorskip("paho.mqtt.client")


@pytest.fixture(scope="session")
def amqtt() -> Iterator[Broker]:
    with amqtt_broker() as broker:
        yield broker


@pytest.fixture(scope="session")
def mosquitto() -> Iterator[Broker]:
    with mosquitto_broker() as broker:
        yield broker


@pytest.fixture(params=["amqtt", pytest.param("mosquitto", marks=pytest.mark.server)])
def broker(request: pytest.FixtureRequest) -> Broker:
    found: Broker = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made
