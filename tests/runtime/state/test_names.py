"""Names that a store cannot keep are refused when the app is created or the store is set."""

from __future__ import annotations

import pytest

from siddhi import SiddhiManager
from siddhi.errors import PersistenceStoreError, SiddhiAppCreationError
from siddhi.persistence import FileSystemPersistenceStore, InMemoryErrorStore, InMemoryPersistenceStore

LONG = "a" * 300
APP = "-- an app\n@app:name('{}') define stream S (v int);"


@pytest.mark.parametrize(("name", "why"), [(LONG, "needs 300 bytes"), ("\ud800", "surrogate")])
@pytest.mark.parametrize("incremental", [False, True])
def test_an_invalid_file_name_is_refused_with_its_location(tmp_path, name, why, incremental):
    manager = SiddhiManager()
    store = FileSystemPersistenceStore(tmp_path)
    (manager.set_incremental_persistence_store if incremental else manager.set_persistence_store)(store)
    with pytest.raises(
        SiddhiAppCreationError, match=rf"(?s)\[E315\] the persistence store can't save .*{why}"
    ) as refused:
        manager.create_siddhi_app_runtime(APP.format(name))
    assert (refused.value.line, refused.value.column) == (2, 0)
    assert refused.value.hint is not None
    assert manager.runtimes == ()
    assert manager.create_siddhi_app_runtime(APP.format("A")).name == "A"


def test_a_store_that_cannot_save_an_existing_app_name_is_rejected(tmp_path):
    manager = SiddhiManager()
    manager.create_siddhi_app_runtime(APP.format(LONG))
    for give in (manager.set_persistence_store, manager.set_incremental_persistence_store):
        with pytest.raises(PersistenceStoreError, match=r"can't save the state of app 'aaa.*needs 300 bytes"):
            give(FileSystemPersistenceStore(tmp_path))
    manager.set_persistence_store(InMemoryPersistenceStore())
    assert set(manager.persist()) == set()


def test_a_name_invalid_in_a_database_is_refused_with_its_location(tmp_path):
    pytest.importorskip("sqlalchemy")
    from siddhi.persistence import RdbmsErrorStore, RdbmsPersistenceStore

    manager = SiddhiManager()
    manager.set_persistence_store(RdbmsPersistenceStore(f"sqlite:///{tmp_path}/state.db"))
    with pytest.raises(SiddhiAppCreationError, match="321 characters, at most 255"):
        manager.create_siddhi_app_runtime(APP.format(LONG))
    manager = SiddhiManager()
    manager.set_error_store(RdbmsErrorStore(f"sqlite:///{tmp_path}/errors.db"))
    with pytest.raises(SiddhiAppCreationError, match=r"the error store can't save events of app 'aaa.*300 characters"):
        manager.create_siddhi_app_runtime(APP.format(LONG))
    with pytest.raises(
        SiddhiAppCreationError, match=r"can't save events of definition 'aaa.*300 characters"
    ) as refused:
        manager.create_siddhi_app_runtime(f"define stream S (v int);\n  define table {LONG} (v int);")
    assert (refused.value.line, refused.value.column) == (2, 2)


def test_an_error_store_that_cannot_save_an_existing_app_name_is_rejected(tmp_path):
    pytest.importorskip("sqlalchemy")
    from siddhi.persistence import RdbmsErrorStore

    manager = SiddhiManager()
    manager.create_siddhi_app_runtime(APP.format(LONG))
    with pytest.raises(PersistenceStoreError, match=r"can't save events of app 'aaa.*300 characters"):
        manager.set_error_store(RdbmsErrorStore(f"sqlite:///{tmp_path}/errors.db"))
    manager.set_error_store(None)


def test_an_app_is_created_if_the_store_accepts_any_name():
    manager = SiddhiManager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    manager.set_error_store(InMemoryErrorStore())
    for name in (LONG, "\ud800"):
        assert manager.create_siddhi_app_runtime(APP.format(name)).name == name
