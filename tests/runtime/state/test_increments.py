"""Incremental snapshots: every revision can be restored, and an increment has only new state."""

from __future__ import annotations

import random
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi.errors import CannotRestoreStateError, DamagedSnapshotError
from siddhi.persistence import FileSystemPersistenceStore, InMemoryPersistenceStore, PersistenceStore
from siddhi.runtime.state.increments import MOST_INCREMENTS, Increments, assemble
from tests.kit.running import running

APP = """@app:name('A') @app:playback
define stream S (k string, v long);
define table T (k string, v long);
define window W (k string, v long) length(2000) output all events;
define aggregation G from S select k, sum(v) as total group by k aggregate every sec, min;
@info(name = 'q') from S#window.length(3000) select k, sum(v) as total group by k insert into Out;
@info(name = 'w') from S insert into W;
@info(name = 't') from S[v % 10 == 0] select k, v insert into T;
"""


def send(runtime, start, count):
    for number in range(start, start + count):
        runtime.input_handler("S").send((f"key {number % 7}", number * 7919 % 100_003), 1_000_000 + number * 13)


def managed(store: PersistenceStore) -> SiddhiManager:
    manager = SiddhiManager()
    manager.set_incremental_persistence_store(store)
    return manager


@settings(max_examples=20)
@given(seed=st.integers(0, 1 << 30), data=st.data())
def test_every_revision_can_be_restored(seed: int, data: st.DataObject) -> None:
    saved: dict[str, bytes] = {}
    whole: dict[str, bytes] = {}
    increments = Increments()
    content = random.Random(seed).randbytes(50_000)
    for number in range(data.draw(st.integers(1, 12))):
        place = data.draw(st.integers(0, len(content)))
        content = content[:place] + random.Random(number).randbytes(data.draw(st.integers(0, 9_000))) + content[place:]
        content = content[data.draw(st.integers(0, 5_000)) :]
        revision = f"{number}__A"
        saved[revision], base = increments.reduce(content, revision)
        assert base is None or base in whole
        whole[revision] = content
    for revision, snapshot in whole.items():
        assert assemble(saved[revision], saved.__getitem__) == snapshot


def test_an_increment_contains_only_new_state() -> None:
    store = InMemoryPersistenceStore()
    with running(APP, manager=managed(store)) as runtime:
        send(runtime, 0, 6000)
        states = {}
        for number in range(5):
            send(runtime, 6000 + 50 * number, 50)
            states[runtime.persist()] = runtime.snapshot()
        sizes = [len(store.load("A", revision)) for revision in states]
        assert all(size < sizes[0] / 2 for size in sizes[1:]), sizes
        for revision, state in states.items():
            runtime.restore_revision(revision)
            assert runtime.snapshot() == state


def test_the_last_increment_can_be_restored_by_another_app(tmp_path: Path) -> None:
    with running(APP, manager=managed(FileSystemPersistenceStore(tmp_path))) as runtime:
        for number in range(4):
            send(runtime, 500 * number, 500)
            revision = runtime.persist()
        state = runtime.snapshot()
    manager = SiddhiManager()
    manager.set_persistence_store(FileSystemPersistenceStore(tmp_path))  # a store for whole states reads both
    with running(APP, manager=manager) as runtime:
        assert runtime.restore_last_revision() == revision
        assert runtime.snapshot() == state


def bases(store: InMemoryPersistenceStore) -> list[bool]:
    return [not store.load("A", revision).startswith(b"\x89SIDINC") for revision in store.revisions("A")]


def test_a_base_is_saved_first_and_after_the_chain_is_broken() -> None:
    store = InMemoryPersistenceStore()
    with running(APP, manager=managed(store)) as runtime:
        send(runtime, 0, 6000)
        first = runtime.persist()
        runtime.persist()
        runtime.restore_revision(first)
        runtime.persist()
        runtime.persist()
        assert bases(store) == [True, False, True, False]
        runtime.clear_all_revisions()
        runtime.persist()
        assert bases(store) == [True]


def test_a_base_is_saved_after_many_increments() -> None:
    increments = Increments()
    content = random.Random(1).randbytes(50_000)
    found = [increments.reduce(content, str(number))[1] for number in range(MOST_INCREMENTS + 3)]
    assert found == [None, *["0"] * MOST_INCREMENTS, None, str(MOST_INCREMENTS + 1)]


def test_a_base_is_saved_if_increments_get_larger() -> None:
    increments = Increments()
    content = random.Random(1).randbytes(100_000)
    found = []
    for number in range(8):
        content = random.Random(number).randbytes(30_000) + content[30_000:]
        found.append(increments.reduce(content, str(number))[1])
    assert found.count(None) > 1


def test_after_a_failed_save_a_base_is_saved() -> None:
    class Failing(InMemoryPersistenceStore):
        fails = False

        def save(self, app, revision, snapshot, *, base=None):
            if self.fails:
                raise OSError("disk full")
            super().save(app, revision, snapshot, base=base)

    store = Failing()
    with running(APP, manager=managed(store)) as runtime:
        send(runtime, 0, 6000)
        runtime.persist()
        store.fails = True
        with pytest.raises(OSError, match="disk full"):
            runtime.persist()
        store.fails = False
        runtime.persist()
        assert bases(store) == [True, True]


def test_a_damaged_increment_is_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with running(APP, manager=managed(FileSystemPersistenceStore(tmp_path))) as runtime:
        states = {}
        for number in range(4):
            send(runtime, 2000 * number, 2000 if number == 0 else 20)
            states[runtime.persist()] = runtime.snapshot()
        first, second, third, fourth = states
        (tmp_path / "A" / f"{fourth}.increment").write_bytes(b"truncated")
        assert runtime.restore_last_revision() == third
        assert runtime.snapshot() == states[third]
        assert f"'{fourth}' is skipped" in caplog.text
        (tmp_path / "A" / f"{second}.increment").unlink()
        assert runtime.restore_last_revision() in (third, first)
        (tmp_path / "A" / f"{first}.snapshot").write_bytes(b"")
        state = runtime.snapshot()
        with pytest.raises(DamagedSnapshotError, match="app 'A' has no readable revision; error of the newest: "):
            runtime.restore_last_revision()
        assert runtime.snapshot() == state


def increment(
    revisions: int = 1, locations: int = 1, names: bytes = b"0", rest: bytes = b"", version: int = 1
) -> bytes:
    body = struct.pack("<IIQ", revisions, locations, len(names)) + names + rest
    return struct.pack("<8sII", b"\x89SIDINC\n", version, zlib.crc32(body)) + body


@pytest.mark.parametrize(
    ("saved", "why"),
    [
        (increment()[:20], "truncated"),
        (increment() + b"!", "checksum"),
        (increment(), "its list of locations is truncated"),
        (increment(locations=2**32 - 1), "its list of locations is truncated"),
        (increment(revisions=2, locations=0), "its list of revisions"),
        (increment(rest=struct.pack("<IQQ", 2, 0, 0)), "a revision that it does not list"),
        (increment(rest=struct.pack("<IQQ", 1, 0, 6)), "bytes beyond the end of revision '0'"),
        (increment(rest=struct.pack("<IQQ", 1, 2**63, 2**63)), "bytes beyond the end of revision '0'"),
        (increment(rest=struct.pack("<IQQ", 0, 0, 1)), "beyond the end of"),
        (increment(names=b"1", rest=struct.pack("<IQQ", 1, 0, 1)), "needs revision '1', which can't be read"),
        (increment(version=9), "format version 9"),
    ],
)
def test_an_invalid_increment_is_refused(saved: bytes, why: str) -> None:
    store = InMemoryPersistenceStore()
    store.save("A", "0", b"12345")
    with pytest.raises(CannotRestoreStateError, match=why):
        assemble(saved, lambda revision: store.load("A", revision))


def test_revisions_deleted_by_another_process_are_not_extended(tmp_path) -> None:
    app = "@app:name('A') @app:playback define stream S (v int); from S#window.length(5000) select max(v) as v insert into Out;"
    runtimes = []
    for _ in range(2):
        manager = SiddhiManager()
        manager.set_incremental_persistence_store(FileSystemPersistenceStore(tmp_path, revisions_to_keep=1))
        runtimes.append(manager.create_siddhi_app_runtime(app))
    one, other = runtimes
    with one, other:
        for runtime in runtimes:
            for v in range(5000):
                runtime.input_handler("S").send((v,), 1000 + v)
        one.persist()
        one.persist()
        other.persist()  # and what the first process saved is gone
        assert one.restore_last_revision() == other.restore_last_revision()
        one.persist()
        other.persist()
        last = one.persist()
        assert other.restore_last_revision() == last
        one.clear_all_revisions()
        other.persist()
        assert one.restore_last_revision() is not None


def test_an_invalid_store_is_refused_immediately() -> None:
    manager = SiddhiManager()
    for nothing in ("state", InMemoryPersistenceStore):
        with pytest.raises(TypeError, match="is not a persistence store"):
            manager.set_persistence_store(nothing)
        with pytest.raises(TypeError, match="is not a persistence store"):
            manager.set_incremental_persistence_store(nothing)


def test_a_custom_store_can_forward_its_arguments() -> None:
    class Counted(InMemoryPersistenceStore):
        def save(self, *arguments, **named):
            super().save(*arguments, **named)

    SiddhiManager().set_incremental_persistence_store(Counted())


def test_an_app_has_one_mode_of_saving() -> None:
    manager = SiddhiManager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    with pytest.raises(ValueError, match="set that to None first"):
        manager.set_incremental_persistence_store(InMemoryPersistenceStore())
    manager.set_persistence_store(None)
    manager.set_incremental_persistence_store(InMemoryPersistenceStore())
    with pytest.raises(ValueError, match="set that to None first"):
        manager.set_persistence_store(InMemoryPersistenceStore())

    class WholeOnly(InMemoryPersistenceStore):
        def save(self, app, revision, snapshot):
            super().save(app, revision, snapshot)

    with pytest.raises(TypeError, match=r"WholeOnly can't save increments: its save\(\) has no parameter 'base'"):
        manager.set_incremental_persistence_store(WholeOnly())
