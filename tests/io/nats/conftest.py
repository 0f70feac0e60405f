from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.kit.nats import NatsServer

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A NATS server with JetStream."""
    pytest.importorskip("nats")
    from tests.kit.nats import NatsServer

    server = NatsServer(tmp_path_factory.mktemp("nats"))
    yield server
    server.kill()


@pytest.fixture
def stream(nats_server: NatsServer) -> str:
    """The name of a new stream, for the subjects below it."""
    name = f"stream{next(_NUMBERS)}"
    nats_server.create(name)
    return name
