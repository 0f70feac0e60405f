"""Rules of the persistence store in databases."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import siddhi.persistence
from siddhi.errors import CannotRestoreStateError, DamagedSnapshotError, PersistenceStoreError

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
    with pytest.raises(ValueError, match="expected 1 or more"):
        RdbmsPersistenceStore(engine, revisions_to_keep=0)


def test_a_large_snapshot_is_stored_in_parts(engine: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
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
        "update siddhi_revisions_parts set content = 'x'",
        "update siddhi_revisions_parts set content = 100000000000000",
        "delete from siddhi_revisions_parts",
        "update siddhi_revisions set checksum = ''",
    ],
)
def test_a_changed_snapshot_is_refused_by_name(engine: sqlalchemy.Engine, damage: str) -> None:
    store = RdbmsPersistenceStore(engine)
    store.save("A", "1__A", b"x")
    with engine.begin() as connection:
        connection.exec_driver_sql(damage)
    with pytest.raises(DamagedSnapshotError, match="revision '1__A' of app 'A' in table 'siddhi_revisions' is damaged"):
        store.load("A", "1__A")


def test_a_failed_save_changes_nothing(engine: sqlalchemy.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RdbmsPersistenceStore(engine, revisions_to_keep=1)
    store.save("A", "1__A", b"one")

    def fail(*_: object) -> None:
        raise OSError("gone")

    monkeypatch.setattr("siddhi.persistence.rdbms.surplus", fail)
    with pytest.raises(OSError, match="gone"):
        store.save("A", "2__A", b"two")
    assert store.revisions("A") == ["1__A"]


def test_threads_share_a_database_in_memory() -> None:
    from concurrent.futures import ThreadPoolExecutor

    store = RdbmsPersistenceStore("sqlite://")
    with ThreadPoolExecutor(1) as pool:
        pool.submit(store.save, "A", "1__A", b"x").result()
    assert store.load("A", "1__A") == b"x"


def test_an_invalid_url_is_refused_without_showing_it() -> None:
    with pytest.raises(ValueError, match="invalid URL") as refused:
        RdbmsPersistenceStore("no database at secret")
    assert "secret" not in str(refused.value)


def test_a_missing_sqlalchemy_is_an_error_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    for module in ("rdbms", "rdbms_engine", "rdbms_errors"):
        monkeypatch.delitem(sys.modules, f"siddhi.persistence.{module}", raising=False)
    with pytest.raises(ImportError, match=r"RdbmsPersistenceStore requires .*siddhi\[rdbms\]"):
        _ = siddhi.persistence.RdbmsPersistenceStore
    with pytest.raises(ImportError, match=r"RdbmsErrorStore requires .*siddhi\[rdbms\]"):
        _ = siddhi.persistence.RdbmsErrorStore
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = siddhi.persistence.Nothing


CALLS: dict[str, Callable[[RdbmsPersistenceStore], object]] = {
    "save": lambda store: store.save("A", "9__A", b"x"),
    "load": lambda store: store.load("A", "1__A"),
    "last_revision": lambda store: store.last_revision("A"),
    "revisions": lambda store: store.revisions("A"),
    "clear_all_revisions": lambda store: store.clear_all_revisions("A"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "content", [b"no database, but longer than the hundred bytes of a header" * 9, b"\0" * 4096, None]
)
def test_an_invalid_database_is_not_taken_for_an_empty_one(tmp_path: Path, call: str, content: bytes | None) -> None:
    file = tmp_path / "state.db"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    with pytest.raises(
        (PersistenceStoreError, DamagedSnapshotError), match=r"database error of the persistence store in sqlite:.*: "
    ):
        CALLS[call](RdbmsPersistenceStore(f"sqlite:///{file}"))
    if content is not None:
        assert file.read_bytes() == content


def test_a_password_is_not_shown(monkeypatch: pytest.MonkeyPatch, engine: sqlalchemy.Engine) -> None:
    store = RdbmsPersistenceStore(engine)
    engine.url = sqlalchemy.make_url("sqlite://user:secret@/nowhere?password=secret")
    with engine.begin() as connection:
        connection.exec_driver_sql("create table siddhi_revisions (app text)")
    with pytest.raises(PersistenceStoreError, match=": no such column") as refused:
        store.revisions("A")
    assert "secret" not in str(refused.value)


def damage(file: Path, marked: bytes) -> None:
    """Write over the pages of a database that begin with some content."""
    content = bytearray(file.read_bytes())
    page = 4096
    for at in range(0, len(content), page):
        if content[at : at + page].count(marked) > 1000:
            content[at : at + page] = b"\xee" * page
    file.write_bytes(content)


def test_readable_revisions_of_a_damaged_database_are_restored(tmp_path: Path) -> None:
    store = RdbmsPersistenceStore(f"sqlite:///{tmp_path}/state.db")
    for mark in b"123":
        store.save("A", f"{mark - 48}__A", bytes([mark]) * 50_000)
    damage(tmp_path / "state.db", b"3333")
    store = RdbmsPersistenceStore(f"sqlite:///{tmp_path}/state.db")
    assert store.revisions("A") == ["1__A", "2__A", "3__A"]
    with pytest.raises(DamagedSnapshotError, match=r"revision '3__A' of app 'A' can't be read: .*malformed"):
        store.load("A", "3__A")
    assert store.load("A", "2__A") == b"2" * 50_000


def test_a_damaged_old_revision_does_not_prevent_new_ones(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = RdbmsPersistenceStore(f"sqlite:///{tmp_path}/state.db", revisions_to_keep=2)
    for mark in b"12":
        store.save("A", f"{mark - 48}__A", bytes([mark]) * 50_000)
    damage(tmp_path / "state.db", b"1111")
    store = RdbmsPersistenceStore(f"sqlite:///{tmp_path}/state.db", revisions_to_keep=2)
    with caplog.at_level(logging.WARNING, "siddhi"):
        store.save("A", "3__A", b"x")
    assert store.load("A", "3__A") == b"x"
    assert "app 'A': older revisions can't be deleted: " in caplog.text


@pytest.mark.parametrize("harm", ["content = x'00'", "content = x''", "part = 1, content = content || x'00'"])
def test_a_revision_that_reads_back_differently_removes_no_other(engine: sqlalchemy.Engine, harm: str) -> None:
    store = RdbmsPersistenceStore(engine, revisions_to_keep=1)
    store.save("A", "1__A", b"good")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "create trigger harm after insert on siddhi_revisions_parts "
            f"begin update siddhi_revisions_parts set {harm} where revision = new.revision; end"
        )
    for revision in ("1__A", "2__A"):
        with pytest.raises(PersistenceStoreError, match="does not read back as written; no revision was del"):
            store.save("A", revision, b"better")
    assert store.revisions("A") == ["1__A"]
    assert store.load("A", "1__A") == b"good"


@pytest.mark.parametrize("name", ["a" * 256, "a" * 240, "\ud800", "a\0b"])
def test_an_invalid_name_is_refused_and_has_no_revisions(engine: sqlalchemy.Engine, name: str) -> None:
    store = RdbmsPersistenceStore(engine)
    assert store.refuses(name) is not None
    if len(name) != 240:
        with pytest.raises(PersistenceStoreError, match="database"):
            store.save(name, "1__A", b"x")
        assert store.revisions(name) == []
    with pytest.raises(PersistenceStoreError, match="database"):
        store.save("A", f"1700000000000000000__{name}", b"x")
    with pytest.raises(CannotRestoreStateError, match="has no revision"):
        store.load("A", f"1700000000000000000__{name}")
    assert store.refuses("a" * 200) is None
