"""Periodic snapshots; the tests do not wait for the interval."""

from __future__ import annotations

import threading

import pytest

from siddhi import SiddhiManager
from siddhi.errors import NoPersistenceStoreError
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.state.periodic import PeriodicPersistence
from tests.kit.running import running

APP = "@app:name('{name}') define stream S (v int); from S#window.length(2) select v insert into O;"


class Pause:
    """Lets a given number of rounds pass."""

    def __init__(self, rounds: int) -> None:
        self.waited: list[float] = []
        self.over = threading.Event()
        self._rounds = rounds

    def __call__(self, seconds: float) -> bool:
        self.waited.append(seconds)
        if len(self.waited) > self._rounds:
            self.over.set()
            return True
        return False


def test_every_running_app_is_saved_in_each_interval():
    manager = SiddhiManager()
    store = InMemoryPersistenceStore()
    manager.set_persistence_store(store)
    manager.create_siddhi_app_runtime(APP.format(name="idle"))
    with running(APP.format(name="A"), manager=manager), running(APP.format(name="B"), manager=manager):
        pause = Pause(3)
        PeriodicPersistence(lambda: manager.runtimes, 1500, pause)
        assert pause.over.wait(30)
        assert pause.waited == [1.5] * 4
        assert [len(store.revisions(name)) for name in ("A", "B", "idle")] == [3, 3, 0]
    manager.shutdown()


def test_a_failure_is_logged_and_retried(caplog):
    class Failing(InMemoryPersistenceStore):
        def save(self, app, revision, snapshot, *, base=None):
            raise OSError("disk full")

    manager = SiddhiManager()
    manager.set_persistence_store(Failing())
    with running(APP.format(name="A"), manager=manager):
        pause = Pause(2)
        PeriodicPersistence(lambda: manager.runtimes, 1, pause)
        assert pause.over.wait(30)
    assert caplog.text.count("the state of app 'A' could not be saved") == 2
    assert "disk full" in caplog.text


def test_the_manager_starts_and_stops_it():
    manager = SiddhiManager()
    with pytest.raises(NoPersistenceStoreError, match="no persistence store"):
        manager.persist_every(1000)
    manager.set_persistence_store(InMemoryPersistenceStore())
    with pytest.raises(ValueError, match="invalid interval_ms 0"):
        manager.persist_every(0)
    for interval in (1.5, True, "1000"):
        with pytest.raises(TypeError, match="invalid interval_ms"):
            manager.persist_every(interval)

    def threads():
        return sum(thread.name == "siddhi-persistence" for thread in threading.enumerate())

    manager.persist_every(3_600_000)
    assert threads() == 1
    manager.persist_every(7_200_000)
    assert threads() == 1
    manager.persist_every(None)
    assert threads() == 0
    manager.persist_every(3_600_000)
    manager.shutdown()
    assert threads() == 0


def test_a_callback_can_stop_it():
    manager = SiddhiManager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    with running(APP.format(name="A"), manager=manager) as runtime:
        manager.persist_every(3_600_000)
        runtime.add_callback("O", lambda events: manager.persist_every(None))
        runtime.input_handler("S").send((1,))
        assert manager._periodic is None
