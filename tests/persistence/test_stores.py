from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from siddhi.errors import CannotRestoreStateError
from siddhi.persistence import FileSystemPersistenceStore, InMemoryPersistenceStore, PersistenceStore

Make = Callable[[], PersistenceStore]


@pytest.fixture(params=["memory", "files", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes the store under test; every call over files looks into the same folder."""
    if request.param == "memory":
        store = InMemoryPersistenceStore()
        yield lambda: store
    elif request.param == "sqlite":
        sqlalchemy = pytest.importorskip("sqlalchemy")
        from siddhi.persistence import RdbmsPersistenceStore

        engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/state.db")
        yield lambda: RdbmsPersistenceStore(engine, revisions_to_keep=10)
        engine.dispose()
    else:
        yield lambda: FileSystemPersistenceStore(tmp_path / "not yet" / "made", revisions_to_keep=10)


def test_a_snapshot_is_loaded_by_app_and_revision(make: Make) -> None:
    make().save("A", "1__A", b"one")
    make().save("A", "2__A", bytes(range(256)) * 1000)
    make().save("B", "1__A", b"")
    assert make().load("A", "1__A") == b"one"
    assert make().load("A", "2__A") == bytes(range(256)) * 1000
    assert make().load("B", "1__A") == b""


def test_revisions_are_in_order_of_time(make: Make) -> None:
    store = make()
    for revision in ("1000__A", "999__A", "named by hand", "1000__B", "20__A"):
        store.save("A", revision, b"")
    assert store.revisions("A") == ["named by hand", "20__A", "999__A", "1000__A", "1000__B"]
    assert store.last_revision("A") == "1000__B"
    store.save("A", "20__A", b"again")
    assert store.last_revision("A") == "1000__B"
    assert store.load("A", "20__A") == b"again"


def test_an_app_without_snapshots_has_no_revision(make: Make) -> None:
    assert make().last_revision("A") is None
    assert make().revisions("A") == []
    make().clear_all_revisions("A")


def test_the_error_of_a_missing_revision_lists_existing_ones(make: Make) -> None:
    store = make()
    with pytest.raises(CannotRestoreStateError, match=r"app 'A' has no revision '1__A' \(it has none\)"):
        store.load("A", "1__A")
    for stamp in range(2, 7):
        store.save("A", f"{stamp}__A", b"")
    with pytest.raises(CannotRestoreStateError, match=r"\(the newest are 6__A, 5__A, 4__A\)"):
        store.load("A", "1__A")


def test_clearing_removes_the_revisions_of_one_app(make: Make) -> None:
    make().save("A", "1__A", b"a")
    make().save("B", "1__B", b"b")
    make().clear_all_revisions("A")
    assert make().last_revision("A") is None
    assert make().load("B", "1__B") == b"b"


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a\\b", "C:", "é 東", "%2E", "a.b", ".hidden", " "])
def test_any_name_is_valid_and_never_a_path(make: Make, tmp_path: Path, name: str) -> None:
    make().save(name, f"1__{name}", b"x")
    make().save(name + "2", "1__y", b"y")
    assert make().revisions(name) == [f"1__{name}"]
    assert make().load(name, f"1__{name}") == b"x"
    files = [file for file in tmp_path.rglob("*") if file.is_file() and file.suffix != ".db"]
    assert all(file.parent.parent == tmp_path / "not yet" / "made" for file in files)


def test_threads_can_save_at_the_same_time(make: Make) -> None:
    store = make()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: store.save("A", f"{i}__A", str(i).encode()), range(100)))
    assert store.last_revision("A") == "99__A"
    assert store.load("A", "99__A") == b"99"


def test_increments_are_kept_as_long_as_their_base(make: Make) -> None:
    for number in range(1, 13):
        make().save("A", f"{number}0__A", b"whole")
        make().save("A", f"{number}5__A", b"more", base=f"{number}0__A")
    kept = [revision for revision in make().revisions("A") if int(revision[:-3]) > 25]
    assert kept == [f"{number}{digit}__A" for number in range(3, 13) for digit in (0, 5)]
    assert make().load("A", "125__A") == b"more"
    make().save("A", "125__A", b"whole now")
    assert make().load("A", "125__A") == b"whole now"
    assert make().last_revision("A") == "125__A"


def test_only_the_newest_files_are_kept(tmp_path: Path) -> None:
    store = FileSystemPersistenceStore(str(tmp_path))
    for stamp in (5, 9, 10, 11, 100):
        store.save("A", f"{stamp}__A", b"")
    store.save("B", "1__B", b"")
    assert store.revisions("A") == ["10__A", "11__A", "100__A"]
    assert store.revisions("B") == ["1__B"]
    with pytest.raises(ValueError, match="expected 1 or more"):
        FileSystemPersistenceStore(tmp_path, revisions_to_keep=0)


def test_a_failed_save_keeps_earlier_revisions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileSystemPersistenceStore(tmp_path)
    store.save("A", "1__A", b"whole")

    def fail(descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        store.save("A", "1__A", b"half")
    assert store.load("A", "1__A") == b"whole"
    assert [file.name for file in (tmp_path / "A").iterdir()] == ["1__A.snapshot"]


def test_a_snapshot_is_a_copy() -> None:
    store = InMemoryPersistenceStore()
    content = bytearray(b"abc")
    store.save("A", "1__A", content)
    content[0] = 0
    assert store.load("A", "1__A") == b"abc"
