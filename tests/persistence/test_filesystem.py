"""Files of snapshots: what is not as it was written is refused by name; what is there is on the disk."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import CannotRestoreStateError, DamagedSnapshotError
from siddhi.persistence import FileSystemPersistenceStore
from siddhi.persistence.envelope import open_envelope, put_into_envelope

ENVELOPE = put_into_envelope("A", "1__A", b"content")


@pytest.fixture
def store(tmp_path: Path) -> FileSystemPersistenceStore:
    return FileSystemPersistenceStore(tmp_path)


@given(app=st.text(st.characters(codec="utf-8")), revision=st.text(st.characters(codec="utf-8")), content=st.binary())
def test_what_was_put_into_an_envelope_comes_out(app: str, revision: str, content: bytes) -> None:
    assert open_envelope(put_into_envelope(app, revision, content), app, revision, "here") == content


@pytest.mark.parametrize("length", range(len(ENVELOPE)))
def test_a_torn_file_is_refused_wherever_it_ends(
    store: FileSystemPersistenceStore, tmp_path: Path, length: int
) -> None:
    (tmp_path / "A").mkdir()
    (tmp_path / "A" / "1__A.snapshot").write_bytes(ENVELOPE[:length])
    with pytest.raises(DamagedSnapshotError, match=r"file '.*1__A\.snapshot' is "):
        store.load("A", "1__A")


@given(place=st.integers(0, len(ENVELOPE) - 1), change=st.integers(1, 255))
def test_no_change_of_a_byte_goes_unnoticed(place: int, change: int) -> None:
    changed = bytearray(ENVELOPE)
    changed[place] ^= change
    with pytest.raises(CannotRestoreStateError, match=r"here (is|has)"):
        open_envelope(bytes(changed), "A", "1__A", "here")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is no snapshot"),
        (b"PK\x03\x04 another program's", "is no snapshot"),
        (ENVELOPE + b"!", "should have .* bytes and has"),
        (put_into_envelope("B", "1__B", b"x"), "is another one: it holds revision '1__B' of app 'B'"),
    ],
)
def test_a_foreign_file_is_refused_by_name(
    store: FileSystemPersistenceStore, tmp_path: Path, data: bytes, why: str
) -> None:
    store.save("A", "1__A", b"")
    (tmp_path / "A" / "1__A.snapshot").write_bytes(data)
    with pytest.raises(
        DamagedSnapshotError, match=rf"1__A\.snapshot' {why}|1__A\.snapshot' is torn or damaged: it {why}"
    ):
        store.load("A", "1__A")


def test_a_file_of_somebody_else_is_left_alone(store: FileSystemPersistenceStore, tmp_path: Path) -> None:
    (tmp_path / "A").mkdir()
    (tmp_path / "A" / "notes.snapshot").write_text("mine")
    for stamp in range(6):
        store.save("A", f"{stamp}__A", b"")
    assert store.revisions("A") == ["notes", "3__A", "4__A", "5__A"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not ours",
        b"\x89SIDREV\n",
        ENVELOPE[:40],
        ENVELOPE[:-1],
        ENVELOPE + b"!",
        put_into_envelope("B", "7__A", b"content"),
        put_into_envelope("A", "8__A", b"content"),
        None,
    ],
)
def test_what_can_not_be_read_takes_no_place_from_good_revisions(tmp_path: Path, content: bytes | None) -> None:
    store = FileSystemPersistenceStore(tmp_path, revisions_to_keep=2)
    for stamp in (1, 2, 3):
        store.save("A", f"{stamp}__A", b"good")
    for stamp in (4, 5, 7):
        foreign = tmp_path / "A" / f"{stamp}__A.snapshot"
        if content is None:
            foreign.mkdir()
        else:
            foreign.write_bytes(content)
    store.save("A", "6__A", b"good")
    assert [revision for revision in store.revisions("A") if revision in ("1__A", "2__A", "3__A", "6__A")] == [
        "3__A",
        "6__A",
    ]
    for stamp in (8, 9, 10):
        store.save("A", f"{stamp}__A", b"good")
    assert store.revisions("A")[-2:] == ["9__A", "10__A"]
    assert (content is None) == (tmp_path / "A" / "5__A.snapshot").exists()


def test_a_file_of_another_version_counts_as_a_revision(tmp_path: Path) -> None:
    store = FileSystemPersistenceStore(tmp_path, revisions_to_keep=2)
    store.save("A", "1__A", b"")
    (tmp_path / "A" / "2__A.snapshot").write_bytes(ENVELOPE[:8] + struct.pack("<I", 7) + ENVELOPE[12:])
    store.save("A", "3__A", b"")
    assert store.revisions("A") == ["2__A", "3__A"]


def test_a_folder_in_place_of_a_file_is_refused(store: FileSystemPersistenceStore, tmp_path: Path) -> None:
    (tmp_path / "A" / "1__A.snapshot").mkdir(parents=True)
    with pytest.raises(DamagedSnapshotError, match="is a folder"):
        store.load("A", "1__A")


def test_a_file_of_another_version_is_no_damage(store: FileSystemPersistenceStore, tmp_path: Path) -> None:
    store.save("A", "1__A", b"")
    file = tmp_path / "A" / "1__A.snapshot"
    file.write_bytes(ENVELOPE[:8] + struct.pack("<I", 7) + ENVELOPE[12:])
    with pytest.raises(CannotRestoreStateError, match="format version 7, this engine reads version 1") as refused:
        store.load("A", "1__A")
    assert not isinstance(refused.value, DamagedSnapshotError)


@pytest.mark.skipif(os.name == "nt", reason="folders can't be opened there")
def test_file_and_folders_are_on_the_disk_before_save_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        happened.append(os.path.realpath(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    def noted_replace(self: Path, target: Path) -> Path:
        happened.append("moved")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    FileSystemPersistenceStore(tmp_path / "a" / "b").save("A", "1__A", b"x")
    # Each new folder in the one above, the content of the file, its name.
    made, moved = happened[: happened.index("moved")], happened[happened.index("moved") + 1 :]
    if Path("/proc/self/fd").exists():
        assert set(made[:-1]) == {str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")}
        assert made[-1].endswith(".tmp")
        assert moved == [str(tmp_path / "a" / "b" / "A")]
    assert (len(made), len(moved)) == (4, 1)


def test_what_a_killed_process_left_behind_is_removed_in_time(
    store: FileSystemPersistenceStore, tmp_path: Path
) -> None:
    store.save("A", "1__A", b"x")
    old, young = tmp_path / "A" / ".old.tmp", tmp_path / "A" / ".young.tmp"
    for left in (old, young):
        left.write_bytes(b"half")
    os.utime(old, (0, 0))
    store.save("A", "2__A", b"y")
    assert not old.exists()
    assert young.exists()
    assert store.revisions("A") == ["1__A", "2__A"]
