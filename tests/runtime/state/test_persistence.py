"""Snapshots and revisions of an app; an invalid snapshot is refused and changes nothing."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi._core.record.frame import set_system_clock
from siddhi._core.snapshot.format import seal, unseal
from siddhi.errors import (
    CannotRestoreStateError,
    CannotSaveStateError,
    DamagedSnapshotError,
    NoPersistenceStoreError,
    PersistenceStoreError,
)
from siddhi.persistence import FileSystemPersistenceStore, InMemoryPersistenceStore
from siddhi.runtime.clock import TimerThread
from tests.kit.running import collect, running

APP = """@app:name('A') @app:playback
define stream S (k string, v int);
from S#window.length(3) select k, sum(v) as total, count() as n group by k insert into Lengths;
from S#window.time(1 sec) select k, v insert expired events into Gone;
partition with (k of S) begin from S#window.lengthBatch(2) select k, max(v) as high insert into Highs; end;
"""
EVENTS = [(1000, "a", 1), (1200, "b", 2), (1300, "a", 3), (1900, None, 4), (2400, "b", 5), (2500, "a", 6)]
STREAMS = ("Lengths", "Gone", "Highs")


def send(runtime, events):
    for time, key, value in events:
        runtime.input_handler("S").send((key, value), time)


def outputs(runtime):
    return {stream: collect(runtime, stream) for stream in STREAMS}


def test_an_app_continues_from_its_last_revision_after_a_restart():
    manager = SiddhiManager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    with running(APP, manager=manager) as runtime:
        whole = outputs(runtime)
        send(runtime, EVENTS)
    with running(APP, manager=manager) as runtime:
        parts = outputs(runtime)
        send(runtime, EVENTS[:3])
        revision = runtime.persist()
        assert revision.endswith("__A")
        send(runtime, EVENTS[:2])
    with running(APP, manager=manager) as runtime:
        rest = outputs(runtime)
        assert runtime.restore_last_revision() == revision
        send(runtime, EVENTS[3:])
    assert all(rows[len(rows) - len(rest[name]) :] == rest[name] for name, rows in whole.items())
    assert len(rest["Lengths"]) == 3
    assert parts["Lengths"][:3] == whole["Lengths"][:3]


def test_revisions_are_ordered_and_can_be_selected():
    manager = SiddhiManager()
    store = InMemoryPersistenceStore()
    manager.set_persistence_store(store)
    with running(APP, manager=manager) as runtime:
        revisions = []
        for event in EVENTS[:3]:
            send(runtime, [event])
            revisions.append(runtime.persist())
        assert store.revisions("A") == revisions
        rows = collect(runtime, "Lengths")
        runtime.restore_revision(revisions[0])
        send(runtime, [(5000, "a", 10)])
        assert rows == [("a", 11, 2)]
        with pytest.raises(CannotRestoreStateError):
            runtime.restore_revision("1__A")
        runtime.clear_all_revisions()
        assert store.revisions("A") == []
        assert runtime.restore_last_revision() is None


def test_revisions_on_disk_are_found_by_another_manager(tmp_path):
    for _ in range(2):
        manager = SiddhiManager()
        manager.set_persistence_store(FileSystemPersistenceStore(tmp_path))
        with running(APP, manager=manager) as runtime:
            rows = collect(runtime, "Lengths")
            last = runtime.restore_last_revision()
            send(runtime, EVENTS[:1])
            runtime.persist()
    assert last is not None
    assert rows == [("a", 2, 2)]


def test_persist_without_a_store_is_an_error():
    with running(APP) as runtime:
        for act in (
            runtime.persist,
            runtime.restore_last_revision,
            runtime.clear_all_revisions,
            lambda: runtime.restore_revision("1__A"),
        ):
            with pytest.raises(NoPersistenceStoreError, match=r"set_persistence_store"):
                act()


def test_an_app_without_a_name_is_warned_that_its_state_is_not_found(caplog):
    manager = SiddhiManager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    with running("define stream S (v int); from S select v insert into O;", manager=manager) as runtime:
        runtime.persist()
        runtime.persist()
    assert caplog.text.count("has a random name") == 1
    with running(APP, manager=manager) as runtime:
        runtime.persist()
    assert caplog.text.count("has a random name") == 1


def test_a_restore_discards_later_state():
    with running(APP) as runtime:
        send(runtime, EVENTS[:2])
        snapshot = runtime.snapshot()
        send(runtime, EVENTS[2:])
        runtime.restore(snapshot)
        assert runtime.snapshot() == snapshot
        assert runtime.now == 1200


def refused(runtime, data):
    before = runtime.snapshot()
    with pytest.raises(CannotRestoreStateError, match="the state of app 'A' was not restored"):
        runtime.restore(data)
    assert runtime.snapshot() == before


@pytest.mark.parametrize(
    "window", ["time(1 sec)", "delay(1 sec)", "session(1 sec)", "cron('* * * * * ?')", "timeLength(1 sec, 1)"]
)
@pytest.mark.parametrize("timers", ["jump", "exact"])
def test_timers_of_keys_due_together_keep_their_order_after_a_restore(window, timers):
    app = f"""@app:name('A') @app:playback(timers='{timers}') define stream S (k string);
    partition with (k of S) begin from S#window.{window} select k insert all events into Out; end;"""
    manager = SiddhiManager()
    with running(app, manager=manager) as runtime:
        whole = collect(runtime, "Out")
        for time, key in [(1000, "a"), (1000, "b"), (1000, "c"), (2000, "c"), (2000, "a"), (2000, "b")]:
            runtime.input_handler("S").send((key,), time)
        snapshot, n = runtime.snapshot(), len(whole)
        runtime.advance_clock(4000)
    with running(app, manager=manager) as runtime:
        rest = collect(runtime, "Out")
        runtime.restore(snapshot)
        runtime.advance_clock(4000)
    assert rest == whole[n:]
    assert [key for (key,) in dict.fromkeys(rest)] == ["a", "b", "c"]


def test_the_earliest_key_of_a_partition_stays_first_after_a_restore():
    app = """@app:name('A') @app:playback define stream S (k string);
    partition with (k of S) begin from S#window.timeLength(1 sec, 1) select k insert expired events into Out; end;"""
    with running(app) as runtime:
        outputs = collect(runtime, "Out")
        # The timer of b's first event goes on, though that event left for the length.
        for time, key in [(1000, "b"), (1100, "a"), (1200, "b")]:
            runtime.input_handler("S").send((key,), time)
        snapshot = runtime.snapshot()
        outputs.clear()
        runtime.advance_clock(4000)
        whole = list(outputs)
        outputs.clear()
        runtime.restore(snapshot)
        runtime.advance_clock(4000)
        assert outputs == whole


def test_a_snapshot_of_another_app_is_refused():
    with running(APP.replace("length(3)", "length(4)")) as other:
        foreign = other.snapshot()
    with running(APP) as runtime:
        send(runtime, EVENTS[:3])
        refused(runtime, foreign)


def test_layout_and_comments_of_an_app_do_not_matter():
    with running(APP) as runtime:
        send(runtime, EVENTS[:3])
        snapshot = runtime.snapshot()
    with running(APP.replace("\n", "  -- once more\n")) as runtime:
        runtime.restore(snapshot)


def test_an_invalid_snapshot_is_refused():
    with running(APP) as runtime:
        send(runtime, EVENTS)
        snapshot = runtime.snapshot()
        for data in (b"", b"x", snapshot[:-1], snapshot + b"\0", snapshot[1:], b"\x80\x04K\x01."):
            refused(runtime, data)


@given(position=st.integers(0), byte=st.integers(1, 255), cut=st.integers(0))
def test_a_damaged_snapshot_is_refused_or_restored_completely(position, byte, cut):
    # Sealed anew, so that damage is met by the readers of the steps and not by the checksum.
    with running(APP) as runtime:
        send(runtime, EVENTS[:4])
        payload = bytearray(unseal(runtime.snapshot()))
        payload[position % len(payload)] ^= byte
        damaged = [seal(bytes(payload)), seal(bytes(payload[: cut % len(payload)]))]
        for data in damaged:
            before = runtime.snapshot()
            try:
                runtime.restore(data)
            except CannotRestoreStateError:
                assert runtime.snapshot() == before
            runtime.snapshot()
        runtime.handle_exception_with(lambda *failure: None)
        send(runtime, EVENTS)


KINDS = {
    "windows": APP,
    "batches": """@app:name('A') @app:playback define stream S (k string, v int);
        from S#window.lengthBatch(3) select k, sum(v) as total group by k insert into Lengths;
        partition with (k of S) begin from S#window.lengthBatch(2) select k, v insert into Gone; end;
        from Lengths select k insert into Highs;""",
    "patterns": """@app:name('A') @app:playback define stream S (k string, v int);
        from every a=S -> b=S[v > a.v] within 1 sec select a.k as k, b.v as v insert into Lengths;
        partition with (k of S) begin from every a=S -> b=S select a.k as k, b.v as v insert into Gone; end;
        from Gone select k insert into Highs;""",
    "rates": """@app:name('A') @app:playback define stream S (k string, v int);
        from S#window.length(3) select k, sum(v) as v group by k output snapshot every 1 sec insert into Lengths;
        from S select k, v group by k output last every 2 events insert into Gone;
        partition with (k of S) begin from S select k, v output all every 500 milliseconds insert into Highs; end;""",
    "ticks": """@app:name('A') @app:playback define stream S (k string, v int); define trigger T at every 1 sec;
        from S#window.timeBatch(20) select k, sum(v) as v insert into Lengths;
        partition with (k of S) begin from S#window.timeBatch(10) select k, v insert all events into Gone; end;
        from S select k, v output all every 10 milliseconds insert into Highs;""",
}
# A damaged number can make an app late by as much as there is: it must not make up for that tick by tick.
LATER = [*EVENTS[4:], (1_700_000_000_000, "a", 1)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("byte", [0x20, 0xFF])
def test_a_damaged_snapshot_never_breaks_the_app(kind, byte):
    app = KINDS[kind]
    with running(app) as runtime:
        send(runtime, EVENTS[:4])
        payload = unseal(runtime.snapshot())
        runtime.handle_exception_with(lambda *failure: None)
        later = LATER if kind == "windows" or kind == "patterns" else EVENTS[4:]
        for position in range(len(payload)):
            damaged = bytearray(payload)
            damaged[position] ^= byte
            # Beforehand all is well, so that what cannot be put back is not this example's doing.
            runtime.restore(seal(payload))
            try:
                runtime.restore(seal(bytes(damaged)))
            except CannotRestoreStateError:
                assert unseal(runtime.snapshot()) == payload
            runtime.snapshot()
            send(runtime, later)


def test_a_snapshot_rejects_an_object_that_cannot_be_saved_by_its_name():
    with running("define stream S (o object); from S#window.length(2) select o insert into Out;") as runtime:
        empty = runtime.snapshot()
        runtime.input_handler("S").send((object(),))
        with pytest.raises(CannotSaveStateError) as refused:
            runtime.snapshot()
        said = f"the state of app '{runtime.name}' was not saved: query 'query_1', window: attribute 'o': a snapshot can't hold"
        assert str(refused.value).startswith(f"{said} a builtins.object: it takes None")
        with pytest.raises(
            CannotRestoreStateError, match=r"its current state can't be saved for a rollback: .*attribute 'o'"
        ):
            runtime.restore(empty)
        rows = collect(runtime, "Out")
        runtime.input_handler("S").send(({"a": [1, None, {2.5}]},))
        runtime.input_handler("S").send((("x", b"y"),))
        snapshot = runtime.snapshot()
        runtime.restore(snapshot)
        assert rows == [({"a": [1, None, {2.5}]},), (("x", b"y"),)]


def test_keys_due_together_fire_in_the_same_order_after_a_restore():
    app = """@app:name('A') @app:playback define stream S (k string, v int);
        partition with (k of S) begin from S#window.time(1 sec) select k, v insert expired events into Gone; end;"""
    first, later = [(1000, "a", 1), (3000, "b", 2), (3000, "a", 3)], [(5000, "c", 4)]
    with running(app) as runtime:
        uninterrupted = collect(runtime, "Gone")
        send(runtime, first)
        snapshot = runtime.snapshot()
        send(runtime, later)
    with running(app) as runtime:
        rows = collect(runtime, "Gone")
        runtime.restore(snapshot)
        send(runtime, later)
    assert uninterrupted[-2:] == rows == [("a", 3), ("b", 2)]


def test_keys_are_purged_at_their_time():
    app = """@app:name('A') @app:playback define stream S (k string, v int);
        @purge(enable = 'true', interval = '10 sec', idle.period = '1 sec')
        partition with (k of S) begin from S select k, sum(v) as total insert into Totals; end;"""
    with running(app) as runtime:
        send(runtime, [(1000, "a", 1), (9000, "b", 1)])
        snapshot = runtime.snapshot()
    with running(app) as runtime:
        rows = collect(runtime, "Totals")
        runtime.restore(snapshot)
        assert runtime.next_due == 11_000
        send(runtime, [(11_500, "a", 1)])
    assert rows == [("a", 1)]


@pytest.mark.parametrize("query", ["select k, v", "select k, count() as v", "select sum(v) as v"])
def test_a_long_gap_takes_no_time_in_a_batch_window(query):
    app = f"@app:name('A') @app:playback define stream S (k string, v int); from S#window.timeBatch(1) {query} insert into O;"
    with running(app) as runtime:
        rows = collect(runtime, "O")
        send(runtime, [(1000, "a", 1), (1_700_000_000_000, "a", 1), (1_700_000_000_000_000, "a", 1)])
        assert len(rows) == 2
        assert runtime.next_due == 1_700_000_000_000_001


def test_errors_of_objects_name_the_right_stream_of_one_type():
    app = """define stream First (a object); define stream Second (b object);
    from Second select b as c output last every 2 events insert into Third;"""
    with running(app) as runtime:
        runtime.input_handler("Second").send((object(),))
        with pytest.raises(CannotSaveStateError, match="query 'query_1', selector: attribute 'c'"):
            runtime.snapshot()


@pytest.mark.parametrize("act", ["persist", "restore_last_revision", "clear_all_revisions"])
@pytest.mark.parametrize("incremental", [False, True])
def test_an_unreadable_folder_of_revisions_is_an_error(tmp_path, act, incremental):
    folder = tmp_path / "state"
    manager = SiddhiManager()
    store = FileSystemPersistenceStore(folder)
    (manager.set_incremental_persistence_store if incremental else manager.set_persistence_store)(store)
    with running(APP, manager=manager) as runtime:
        send(runtime, EVENTS)
        saved = runtime.persist()
        (folder / "A").rename(tmp_path / "elsewhere")
        (folder / "A").write_text("")
        with pytest.raises(PersistenceStoreError, match=f"app 'A'.*{re.escape(str(folder / 'A'))}"):
            getattr(runtime, act)()
        with pytest.raises(PersistenceStoreError):
            manager.restore_last_state()
        (folder / "A").unlink()
        (tmp_path / "elsewhere").rename(folder / "A")
        assert runtime.restore_last_revision() == saved


def test_the_previous_revision_is_restored_if_the_newest_is_lost(tmp_path, monkeypatch, caplog):
    manager = SiddhiManager()
    manager.set_persistence_store(FileSystemPersistenceStore(tmp_path))
    with running(APP, manager=manager) as runtime:
        revisions = []
        for event in EVENTS[:3]:
            send(runtime, [event])
            revisions.append(runtime.persist())
        usual, code = Path.read_bytes, errno.EIO

        def read_bytes(file):
            if revisions[2] in file.name:
                raise OSError(code, os.strerror(code), str(file))
            return usual(file)

        monkeypatch.setattr(Path, "read_bytes", read_bytes)
        assert runtime.restore_last_revision() == revisions[1]
        assert f"revision '{revisions[2]}' is skipped: file" in caplog.text
        code = errno.EACCES  # it is there, and who may read it gets it
        with pytest.raises(PersistenceStoreError, match="ermission denied"):
            runtime.restore_last_revision()


def test_the_previous_revision_is_restored_if_the_newest_has_no_content(tmp_path, caplog):
    manager = SiddhiManager()
    manager.set_persistence_store(FileSystemPersistenceStore(tmp_path))
    app = "@app:name('A') define stream S (k string); from S select count() as n insert into O;"
    with running(app, manager=manager) as runtime:
        first, second = runtime.persist(), runtime.persist()
        (file,) = [path for path in tmp_path.rglob("*") if second in path.name]
        file.unlink()
        file.symlink_to(tmp_path / "nowhere")
        assert runtime.restore_last_revision() == first
        with pytest.raises(CannotRestoreStateError, match="has no revision"):
            runtime.restore_revision(second)
    assert f"revision '{second}' is skipped: the content of revision '{second}' is lost" in caplog.text


@pytest.mark.parametrize("harm", ["newest", "all"])
def test_the_previous_revision_is_restored_if_a_page_of_sqlite_is_damaged(tmp_path, caplog, harm):
    pytest.importorskip("sqlalchemy")
    from siddhi.persistence import RdbmsPersistenceStore

    manager, url = SiddhiManager(), f"sqlite:///{tmp_path}/state.db"
    manager.set_persistence_store(RdbmsPersistenceStore(url))
    app = "@app:name('A') @app:playback define stream S (k string); from S#window.length(1) select k insert into O;"
    with running(app, manager=manager) as runtime:
        revisions = []
        for mark in "123":
            runtime.input_handler("S").send((mark * 50_000,), 1000)
            revisions.append(runtime.persist())
        content = bytearray((tmp_path / "state.db").read_bytes())
        for at in range(0, len(content), 4096):
            page = bytes(content[at : at + 4096])
            if page.count(b"3") > 2000 or (harm == "all" and page.count(b"1") + page.count(b"2") > 2000):
                content[at : at + 4096] = b"\xee" * 4096
        (tmp_path / "state.db").write_bytes(content)
        manager.set_persistence_store(RdbmsPersistenceStore(url))
        if harm == "newest":
            assert runtime.restore_last_revision() == revisions[1]
        else:
            with pytest.raises(
                DamagedSnapshotError, match=r"has no readable revision; error of the newest: .*malformed"
            ):
                runtime.restore_last_revision()
        assert f"revision '{revisions[2]}' is skipped: " in caplog.text


TICKING = {
    "nothing": "from S select v insert into O;",
    "trigger": "define trigger T at every 1 sec; from T select triggered_time insert into O;",
    "timeBatch": "from S#window.timeBatch(1 sec) select v insert into O;",
    "sums": "from S#window.timeBatch(1 sec) select sum(v) as v insert into O;",
    "time": "from S#window.time(1 sec) select v insert expired events into O;",
    "snapshot": "from S#window.length(2) select v output snapshot every 1 sec insert into O;",
    "purge": "@purge(enable = 'true', interval = '1 sec', idle.period = '1 sec') partition with (v of S) begin "
    "from S select v insert into O; end;",
    "absence": "from every a=S -> not S for 1 sec select a.v as v insert into O;",
}
LATEST = 1 << 62


@pytest.mark.parametrize("kind", TICKING)
def test_snapshots_can_be_restored_up_to_the_latest_time(kind):
    manager = SiddhiManager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    with running(f"@app:name('A') @app:playback define stream S (v int); {TICKING[kind]}", manager=manager) as runtime:
        for time in (LATEST - 1_000_000, LATEST - 1, LATEST):
            runtime.input_handler("S").send((1,), time)
            saved = runtime.snapshot()
            assert runtime.persist() == runtime.restore_last_revision()
            assert runtime.snapshot() == saved


@pytest.mark.parametrize("incremental", [False, True])
def test_a_failed_restore_saves_nothing_and_deletes_no_revision(tmp_path, incremental):
    manager = SiddhiManager()
    store = FileSystemPersistenceStore(tmp_path, revisions_to_keep=1)
    (manager.set_incremental_persistence_store if incremental else manager.set_persistence_store)(store)
    with running(APP, manager=manager) as runtime:
        send(runtime, EVENTS)
        good = runtime.persist()
        runtime._assembly.context.restore_clock(LATEST + 1)  # no input accepts such a time
        for _ in range(3):
            with pytest.raises(
                CannotSaveStateError, match=f"its clock is at {LATEST + 1} ms, later than the maximum of {LATEST} ms"
            ):
                runtime.persist()
        assert store.revisions("A") == [good]


@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize(
    "query",
    [
        "from S#window.length(2) select v insert into O;",
        "from S#window.lengthBatch(3) select v insert into O;",
        "from S#window.timeBatch(1 sec) select v insert into O;",
        "from S#window.session(1 sec) select v insert into O;",
        "from every a=S -> b=S[v > a.v] within 1 hour select b.v as v insert into O;",
        "@limit(keys = '5', on.full = 'drop_oldest') from S select v, count() as n group by v insert into O;",
        (
            "@purge(enable = 'true', interval = '1 sec', idle.period = '1 sec') partition with (v of S) begin "
            "from S select v insert into O; end;"
        ),
    ],
)
def test_no_state_with_an_invalid_time_replaces_a_revision(tmp_path, monkeypatch, query, incremental):
    monkeypatch.setattr(TimerThread, "wake", lambda self: None)
    manager = SiddhiManager()
    store = FileSystemPersistenceStore(tmp_path, revisions_to_keep=1)
    (manager.set_incremental_persistence_store if incremental else manager.set_persistence_store)(store)
    try:
        set_system_clock(1_700_000_000_000, 5_000)
        with running(f"@app:name('A') define stream S (v int); {query}", manager=manager) as runtime:
            runtime.input_handler("S").send((1,))
            good = runtime.persist()
            set_system_clock(LATEST + 5_000, 5_000)  # a clock that is out of order
            runtime.input_handler("S").send((2,))
            with pytest.raises(
                CannotSaveStateError, match=r"time(stamp)? \d+ is out of range: times are ms since 1970"
            ):
                runtime.persist()
            assert store.revisions("A") == [good]
        with running(f"@app:name('A') define stream S (v int); {query}", manager=manager) as runtime:
            assert runtime.restore_last_revision() == good
    finally:
        set_system_clock(None)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data[:-1],
        lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
        lambda data: data[:8] + b"\x63" + data[9:],
        lambda data: seal(unseal(data)[:-3]),
        lambda data: seal(unseal(data) + b"x"),
    ],
    ids=["torn", "changed", "of another version", "of a shorter state", "of a longer state"],
)
def test_a_state_that_could_not_be_restored_is_not_saved(tmp_path, monkeypatch, spoil):
    manager = SiddhiManager()
    store = FileSystemPersistenceStore(tmp_path, revisions_to_keep=1)
    manager.set_persistence_store(store)
    with running(APP, manager=manager) as runtime:
        send(runtime, EVENTS)
        good = runtime.persist()
        take = runtime._persistence._take
        monkeypatch.setattr(runtime._persistence, "_take", lambda meanwhile: spoil(take(meanwhile)))
        with pytest.raises(CannotSaveStateError, match="was not saved, as it could not be restored: "):
            runtime.persist()
        assert store.revisions("A") == [good]


def test_a_revision_with_the_last_possible_number_is_named():
    manager, store = SiddhiManager(), InMemoryPersistenceStore()
    manager.set_persistence_store(store)
    with running(APP, manager=manager) as runtime:
        store.save("A", "9999999999999999998__A", b"")
        assert runtime.persist() == "9999999999999999999__A"
        with pytest.raises(CannotSaveStateError, match="no revision can be newer than '9999999999999999999__A'"):
            runtime.persist()
