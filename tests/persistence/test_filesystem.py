"""Files of snapshots: changed files are refused by name, and saved files are on the disk."""

from __future__ import annotations

import errno
import io
import logging
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import CannotRestoreStateError, DamagedSnapshotError, PersistenceError, PersistenceStoreError
from siddhi.persistence import FileSystemPersistenceStore
from siddhi.persistence.envelope import open_envelope, put_into_envelope

ENVELOPE = put_into_envelope("A", "1__A", b"content")


@pytest.fixture(autouse=True)
def _unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked of the disk is noted or fails as tests say; none waits for it."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def store(tmp_path: Path) -> FileSystemPersistenceStore:
    return FileSystemPersistenceStore(tmp_path)


@given(app=st.text(st.characters(codec="utf-8")), revision=st.text(st.characters(codec="utf-8")), content=st.binary())
def test_a_snapshot_in_an_envelope_is_read_back(app: str, revision: str, content: bytes) -> None:
    assert open_envelope(put_into_envelope(app, revision, content), app, revision, "here") == content


@pytest.mark.parametrize("length", range(len(ENVELOPE)))
def test_a_truncated_file_is_refused_at_every_length(
    store: FileSystemPersistenceStore, tmp_path: Path, length: int
) -> None:
    (tmp_path / "A").mkdir()
    (tmp_path / "A" / "1__A.snapshot").write_bytes(ENVELOPE[:length])
    with pytest.raises(DamagedSnapshotError, match=r"file '.*1__A\.snapshot' is "):
        store.load("A", "1__A")


@given(place=st.integers(0, len(ENVELOPE) - 1), change=st.integers(1, 255))
def test_every_changed_byte_is_detected(place: int, change: int) -> None:
    changed = bytearray(ENVELOPE)
    changed[place] ^= change
    with pytest.raises(CannotRestoreStateError, match=r"here (is|has)"):
        open_envelope(bytes(changed), "A", "1__A", "here")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is not a snapshot"),
        (b"PK\x03\x04 another program's", "is not a snapshot"),
        (ENVELOPE + b"!", "expected .* bytes, found"),
        (put_into_envelope("B", "1__B", b"x"), "contains revision '1__B' of app 'B' instead"),
    ],
)
def test_a_file_of_another_format_is_refused_by_name(
    store: FileSystemPersistenceStore, tmp_path: Path, data: bytes, why: str
) -> None:
    store.save("A", "1__A", b"")
    (tmp_path / "A" / "1__A.snapshot").write_bytes(data)
    with pytest.raises(
        DamagedSnapshotError, match=rf"1__A\.snapshot' {why}|1__A\.snapshot' is truncated or damaged: {why}"
    ):
        store.load("A", "1__A")


def test_files_of_other_programs_are_kept(store: FileSystemPersistenceStore, tmp_path: Path) -> None:
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
def test_unreadable_revisions_do_not_count_as_kept_revisions(tmp_path: Path, content: bytes | None) -> None:
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


def test_a_folder_with_the_name_of_a_revision_is_refused(store: FileSystemPersistenceStore, tmp_path: Path) -> None:
    (tmp_path / "A" / "1__A.snapshot").mkdir(parents=True)
    with pytest.raises(DamagedSnapshotError, match="is a folder"):
        store.load("A", "1__A")


def test_a_file_of_another_version_is_not_reported_as_damaged(
    store: FileSystemPersistenceStore, tmp_path: Path
) -> None:
    store.save("A", "1__A", b"")
    file = tmp_path / "A" / "1__A.snapshot"
    file.write_bytes(ENVELOPE[:8] + struct.pack("<I", 7) + ENVELOPE[12:])
    with pytest.raises(CannotRestoreStateError, match="format version 7, this engine reads version 1") as refused:
        store.load("A", "1__A")
    assert not isinstance(refused.value, DamagedSnapshotError)


@pytest.mark.skipif(os.name == "nt", reason="folders can't be opened there")
def test_file_and_folders_are_synced_before_save_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_temporary_files_of_a_killed_process_are_removed_later(
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


CALLS: dict[str, Callable[[FileSystemPersistenceStore], object]] = {
    "save": lambda store: store.save("A", "9__A", b"x"),
    "load": lambda store: store.load("A", "1__A"),
    "last_revision": lambda store: store.last_revision("A"),
    "revisions": lambda store: store.revisions("A"),
    "clear_all_revisions": lambda store: store.clear_all_revisions("A"),
}


def put_a_file_there(place: Path) -> None:
    place.write_text("")


def put_a_link_to_itself_there(place: Path) -> None:
    place.symlink_to(place)


def put_a_link_to_nothing_there(place: Path) -> None:
    place.symlink_to(place.parent / "not mounted")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("put", [put_a_file_there, put_a_link_to_itself_there, put_a_link_to_nothing_there])
@pytest.mark.parametrize("place", ["state", "state/A"])
def test_a_file_is_not_taken_for_an_empty_folder(
    tmp_path: Path, call: str, put: Callable[[Path], None], place: str
) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    put(tmp_path / place)
    store = FileSystemPersistenceStore(tmp_path / "state")
    with pytest.raises((PersistenceStoreError, CannotRestoreStateError), match=r"app 'A'.*state") as refused:
        CALLS[call](store)
    assert isinstance(refused.value, PersistenceStoreError)
    assert refused.value.errno in (errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.ENOENT)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ESTALE])
def test_an_unreadable_folder_is_an_error_of_every_call(
    store: FileSystemPersistenceStore, monkeypatch: pytest.MonkeyPatch, call: str, code: int
) -> None:
    store.save("A", "1__A", b"x")

    def refuse(place: object) -> object:
        raise OSError(code, os.strerror(code), str(place))

    with monkeypatch.context() as patched:
        patched.setattr(os, "scandir", refuse)
        with pytest.raises(PersistenceStoreError, match=os.strerror(code)) as refused:
            CALLS[call](store)
    assert refused.value.errno == code
    assert store.load("A", "1__A") == b"x"


FAILING: list[tuple[Any, str]] = [
    (os, "scandir"),
    (os, "open"),
    (os, "stat"),
    (os, "fsync"),
    (os, "replace"),
    (os, "unlink"),
    (os, "mkdir"),
    (io, "open"),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("module", "name"), FAILING, ids=[f"{module.__name__}.{name}" for module, name in FAILING])
def test_every_failed_call_raises_a_siddhi_error_and_loses_nothing(
    tmp_path: Path, call: str, module: Any, name: str
) -> None:
    usual = getattr(module, name)
    for code in (errno.EACCES, errno.EIO):
        for failing in range(5):
            store = FileSystemPersistenceStore(tmp_path / f"{code}-{failing}", revisions_to_keep=2)
            for stamp in (1, 2):
                store.save("A", f"{stamp}__A", b"good")
            before, calls = ["1__A", "2__A"], 0

            def fail(*arguments: Any, **named: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == failing + 1:  # noqa: B023 - called within the turn
                    raise OSError(code, os.strerror(code), "place")  # noqa: B023
                return usual(*arguments, **named)

            given_back: object = None
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(module, name, fail)
                try:
                    given_back = CALLS[call](store)
                except PersistenceError:
                    given_back = "refused"
            expected = {"load": b"good", "last_revision": "2__A", "revisions": before}
            assert given_back in ("refused", expected.get(call))
            if call == "save" and given_back is None:
                assert store.load("A", "9__A") == b"x"
            elif call != "clear_all_revisions":
                assert set(before) <= set(store.revisions("A"))
                assert [store.load("A", revision) for revision in before] == [b"good", b"good"]


def test_a_missing_file_is_damaged_but_an_inaccessible_one_is_not(
    store: FileSystemPersistenceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.save("A", "1__A", b"x")

    def refuse(file: Path) -> bytes:
        raise OSError(code, os.strerror(code), str(file))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    code = errno.EIO
    with pytest.raises(DamagedSnapshotError, match=r"1__A\.snapshot' can't be read: "):
        store.load("A", "1__A")
    code = errno.EACCES
    with pytest.raises(PersistenceStoreError, match=r"revision '1__A' of app 'A' can't be read: .*ermission denied"):
        store.load("A", "1__A")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_named_pipe_is_not_waited_for(store: FileSystemPersistenceStore, tmp_path: Path) -> None:
    store.save("A", "1__A", b"x")
    os.mkfifo(tmp_path / "A" / "2__A.snapshot")
    with pytest.raises(DamagedSnapshotError, match="is not a file"):
        store.load("A", "2__A")
    store.save("A", "3__A", b"y")
    assert store.load("A", "1__A") == b"x"


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a" * 256, "file systems allow 255"),
        ("é" * 50, "file systems allow 255"),
        ("a" * 240, "file systems allow 255"),
        ("\ud800", "unpaired surrogate"),
    ],
)
def test_an_invalid_file_name_is_refused_and_has_no_revisions(
    store: FileSystemPersistenceStore, name: str, why: str
) -> None:
    said = store.refuses(name)
    assert said is not None
    assert why in said
    with pytest.raises(PersistenceStoreError, match=why):
        store.save(name, f"1700000000000__{name}", b"x")
    assert store.revisions(name) == []
    with pytest.raises(CannotRestoreStateError, match="has no revision"):
        store.load("A", f"1__{name}")
    store.clear_all_revisions(name)


@given(name=st.text(max_size=300))
def test_accepted_names_can_be_saved(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    store = FileSystemPersistenceStore(tmp_path_factory.mktemp("state"))
    if store.refuses(name) is None:
        revision = f"9999999999999999999__{name}"
        for base in (None, "1"):
            store.save(name, revision, b"x", base=base)
            assert store.load(name, revision) == b"x"
        assert store.revisions(name) == [revision]


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_files_with_other_names_are_not_revisions(store: FileSystemPersistenceStore, tmp_path: Path) -> None:
    store.save("A", "1__A", b"x")
    for name in (b"\xff__A.snapshot", b"2__%FF.snapshot", b"2__%41.snapshot", b"2__a.b.snapshot", b".snapshot"):
        (tmp_path / "A" / os.fsdecode(name)).write_bytes(b"")
    store.save("A", "3__A", b"x")
    assert store.revisions("A") == ["1__A", "3__A"]


@pytest.mark.parametrize(
    "harm", [lambda content: content[:-1], lambda content: b"!" + content[1:], lambda content: b""]
)
def test_a_revision_that_reads_back_differently_removes_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, harm: Callable[[bytes], bytes]
) -> None:
    store = FileSystemPersistenceStore(tmp_path, revisions_to_keep=1)
    store.save("A", "1__A", b"good")
    fsync = os.fsync

    def lose(descriptor: int) -> None:
        fsync(descriptor)
        for file in (tmp_path / "A").glob(".*.tmp"):
            file.write_bytes(harm(file.read_bytes()))

    monkeypatch.setattr(os, "fsync", lose)
    for revision in ("1__A", "2__A"):
        with pytest.raises(PersistenceStoreError, match="does not read back as written; no revision was del"):
            store.save("A", revision, b"better")
    assert [file.name for file in (tmp_path / "A").iterdir()] == ["1__A.snapshot"]
    assert store.load("A", "1__A") == b"good"


def test_undeletable_old_revisions_are_logged_and_the_new_one_is_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = FileSystemPersistenceStore(tmp_path, revisions_to_keep=1)
    store.save("A", "1__A", b"x")
    unlink = Path.unlink

    def refuse(file: Path, missing_ok: bool = False) -> None:
        if file.suffix == ".snapshot":
            raise PermissionError(errno.EACCES, "no", str(file))
        unlink(file, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    with caplog.at_level(logging.WARNING, "siddhi"):
        store.save("A", "2__A", b"y")
    assert "app 'A': older revisions can't be deleted: " in caplog.text
    assert store.load("A", "2__A") == b"y"


def test_an_empty_folder_name_is_refused():
    with pytest.raises(ValueError, match="invalid folder ''"):
        FileSystemPersistenceStore("")
