from __future__ import annotations

from collections.abc import Iterator

import pytest

from siddhi import SiddhiManager
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from tests.io.test_tcp import wait_for
from tests.kit import postgres

SLOTS = "SELECT slot_name FROM pg_replication_slots"


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made


@pytest.fixture(scope="session")
def running_server() -> Iterator[postgres.Server]:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    made = postgres.server()
    made.start()
    yield made
    made.stop()
    made.remove()


@pytest.fixture
def server(manager: SiddhiManager, running_server: postgres.Server) -> Iterator[postgres.Server]:
    """A PostgreSQL server without tables, slots and publications."""
    yield running_server
    manager.shutdown()
    wait_for(lambda: not running_server.fetch(f"{SLOTS} WHERE active"))
    running_server.execute(f"SELECT pg_drop_replication_slot(slot_name) FROM ({SLOTS}) s")
    for kind, names in (
        ("PUBLICATION", "SELECT pubname FROM pg_publication"),
        ("TABLE", "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"),
    ):
        for (name,) in running_server.fetch(names):
            running_server.execute(f"DROP {kind} {name}")
