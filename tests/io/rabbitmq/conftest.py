from __future__ import annotations

from collections.abc import Iterator

import pytest

from siddhi import SiddhiManager
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from tests.kit.certificates import Certificates
from tests.kit.servers.rabbitmq import RabbitServer, rabbit_server

pytest.importorskip("aio_pika")


@pytest.fixture(scope="session")
def server(certificates: Certificates) -> Iterator[RabbitServer]:
    configuration = f"""
listeners.ssl.default = TLS_PORT
ssl_options.cacertfile = {certificates.authority}
ssl_options.certfile = {certificates.server}
ssl_options.keyfile = {certificates.server}
ssl_options.verify = verify_peer
ssl_options.fail_if_no_peer_cert = true
"""
    with rabbit_server(configuration) as running:
        yield running


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.05,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made
