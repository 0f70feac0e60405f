"""What only the store in a database does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import siddhi.persistence
from siddhi.errors import DamagedSnapshotError

sqlalchemy = pytest.importorskip("sqlalchemy")

from siddhi.persistence import RdbmsPersistenceStore  # noqa: E402 - needs what may be missing


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sqlalchemy.Engine]:
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/state.db")
    yield engine
    engine.dispose()


def test_only_the_newest_revisions_are_kept(engine: sqlalchemy.Engine) -> None:
    store = RdbmsPersistenceStore(engine, revisions_to_keep=2)
    for stamp in (5, 9, 10, 100):
        store.save("A", f"{stamp}__A", b"x")
    store.save("B", "1__B", b"x")
    assert store.revisions("A") == ["10__A", "100__A"]
    assert store.revisions("B") == ["1__B"]
    with engine.connect() as connection:
        assert connection.exec_driver_sql("select count(*) from siddhi_revisions_parts").scalar() == 3
    with pytest.raises(ValueError, match="must be 1 or more"):
        RdbmsPersistenceStore(engine, revisions_to_keep=0)


def test_a_large_snapshot_is_kept_in_parts(engine: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siddhi.persistence.rdbms._PART_BYTES", 10)
    store = RdbmsPersistenceStore(engine)
    content = bytes(range(95))
    store.save("A", "1__A", content)
    assert store.load("A", "1__A") == content
    store.save("A", "1__A", b"short")
    assert store.load("A", "1__A") == b"short"


@pytest.mark.parametrize(
    "damage",
    [
        "update siddhi_revisions_parts set content = x'00'",
        "delete from siddhi_revisions_parts",
        "update siddhi_revisions set checksum = ''",
    ],
)
def test_what_was_changed_is_refused_by_name(engine: sqlalchemy.Engine, damage: str) -> None:
    store = RdbmsPersistenceStore(engine)
    store.save("A", "1__A", b"x")
    with engine.begin() as connection:
        connection.exec_driver_sql(damage)
    with pytest.raises(DamagedSnapshotError, match="revision '1__A' of app 'A' in table 'siddhi_revisions' is damaged"):
        store.load("A", "1__A")


def test_a_save_that_fails_changes_nothing(engine: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RdbmsPersistenceStore(engine, revisions_to_keep=1)
    store.save("A", "1__A", b"one")

    def fail(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr("siddhi.persistence.rdbms.surplus", fail)
    with pytest.raises(OSError, match="gone"):
        store.save("A", "2__A", b"two")
    assert store.revisions("A") == ["1__A"]


def test_a_database_in_memory_is_one_for_all_threads() -> None:
    from concurrent.futures import ThreadPoolExecutor

    store = RdbmsPersistenceStore("sqlite://")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(store.save, "A", "1__A", b"x").result()
    assert store.load("A", "1__A") == b"x"


def test_a_url_that_is_none_is_refused_without_showing_it() -> None:
    with pytest.raises(ValueError, match="names no database") as refused:
        RdbmsPersistenceStore("no database at secret")
    assert "secret" not in str(refused.value)


def test_without_sqlalchemy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    for module in ("rdbms", "rdbms_engine", "rdbms_errors"):
        monkeypatch.delitem(sys.modules, f"siddhi.persistence.{module}", raising=False)
    with pytest.raises(ImportError, match=r"RdbmsPersistenceStore needs .*siddhi\[rdbms\]"):
        _ = siddhi.persistence.RdbmsPersistenceStore
    with pytest.raises(ImportError, match=r"RdbmsErrorStore needs .*siddhi\[rdbms\]"):
        _ = siddhi.persistence.RdbmsErrorStore
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = siddhi.persistence.Nothing
