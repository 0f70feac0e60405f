"""Rules of the error store in databases."""

from __future__ import annotations

import logging
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from siddhi import Event, SiddhiManager
from siddhi.errors import DamagedEntryError, PersistenceStoreError
from siddhi.persistence import ErrorEntry, ErrorOccurrence, UnkeptValue
from tests.kit import postgres

sqlalchemy = pytest.importorskip("sqlalchemy")

from siddhi.persistence import RdbmsErrorStore  # noqa: E402 - needs what may be missing


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sqlalchemy.Engine]:
    url = f"sqlite:///{tmp_path}/errors.db" if request.param == "sqlite" else postgres.url()
    engine = sqlalchemy.create_engine(url)
    yield engine
    tables = sqlalchemy.MetaData()
    tables.reflect(engine, only=lambda name, _: name in ("siddhi_errors", "failed"))
    tables.drop_all(engine)
    engine.dispose()


class Blob:
    def __repr__(self) -> str:
        return "<blob>"


def entry(**changes: object) -> ErrorEntry:
    fields = {
        "id": 0,
        "timestamp": 1_700_000_000_000,
        "app": "A",
        "name": "S",
        "occurrence": ErrorOccurrence.STORE_ON_SINK_ERROR,
        "events": (Event(1, ("x", 1 << 60, 0.1, None, True)), Event(2, (math.inf,), is_expired=True)),
        "cause": "ValueError: no",
        "stack_trace": "Traceback ...",
        "payload": {"a": [b"\x00\xff", (1, 2)]},
        "connector": 1,
        "transport_properties": ("x", None, 7),
    }
    return ErrorEntry(**(fields | changes))


def test_an_entry_is_read_back_unchanged(engine):
    RdbmsErrorStore(engine).write(entry())
    (found,) = RdbmsErrorStore(engine).load_error_entries("A")
    assert found == entry(id=1)
    assert [type(value) for value in found.events[0].data] == [str, int, float, type(None), bool]


def test_an_unsupported_value_loses_nothing_else_of_its_entry(engine):
    store = RdbmsErrorStore(engine)
    store.save(entry(events=(Event(1, ("x", Blob())),), payload=Blob(), transport_properties=("x", Blob())))
    (found,) = store.load_error_entries("A")
    gone = UnkeptValue("Blob", "<blob>")
    assert found.events == (Event(1, ("x", gone)),)
    assert (found.payload, found.transport_properties) == (gone, ("x", gone))


def test_any_text_is_kept(engine):
    store = RdbmsErrorStore(engine)
    store.save(entry(cause="\0 \ud800 ä", stack_trace="\0", payload="\0 \ud800 ä"))
    (found,) = store.load_error_entries("A")
    assert (found.cause, found.stack_trace, found.payload) == ("\\x00 \\ud800 ä", "\\x00", "\0 \ud800 ä")


def test_a_changed_row_is_reported_and_can_be_discarded(engine):
    store = RdbmsErrorStore(engine, table="failed")
    store.save(entry())
    store.flush()
    with engine.begin() as connection:
        connection.exec_driver_sql("update failed set events = '[1]'")
    with pytest.raises(ValueError, match="entry 1 in table 'failed' is damaged") as refused:
        store.load_error_entries("A")
    assert isinstance(refused.value, DamagedEntryError)
    assert store.discard_error_entry(1)


def test_an_entry_the_database_refuses_is_logged_and_the_next_is_kept(engine, caplog):
    store = RdbmsErrorStore(engine)
    with caplog.at_level(logging.ERROR, "siddhi"):
        store.save(entry(name=None))
        store.save(entry())
        assert store.count() == 1
    assert "the error store could not write ErrorEntry(" in caplog.text


def test_threads_share_a_database_in_memory():
    use_together(RdbmsErrorStore("sqlite://"))


def test_threads_can_save_at_the_same_time(engine):
    use_together(RdbmsErrorStore(engine))


def use_together(store: RdbmsErrorStore) -> None:
    def work(app: str) -> None:
        for _ in range(20):
            store.save(entry(app=app))
            assert store.discard_error_entry(store.load_error_entries(app)[0].id)
            store.save(entry(app=app))

    threads = [threading.Thread(target=work, args=(app,)) for app in "ABC"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [store.count(app) for app in "ABC"] == [20, 20, 20]


def test_a_process_that_ends_writes_its_pending_entries(tmp_path):
    program = (
        "from siddhi import Event\n"
        "from siddhi.persistence import ErrorEntry, ErrorOccurrence, RdbmsErrorStore\n"
        "store = RdbmsErrorStore()\n"
        "for number in range(50):\n"
        "    store.save(ErrorEntry(0, number, 'A', 'S', ErrorOccurrence.STORE_ON_STREAM_ERROR, (Event(1, (1,)),), '', ''))\n"
    )
    # What runs the tests may have siddhi installed or lie beside its source: the process takes the same one.
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)
    environment = os.environ | {"PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path, env=environment, timeout=60)
    assert RdbmsErrorStore(f"sqlite:///{tmp_path}/siddhi-errors.db").count("A") == 50


def test_a_restarted_app_replays_stored_entries(engine):
    text = (
        "@app:name('A') define function f[python] return int { return 10 // data[0] };"
        "@OnError(action = 'store') define stream S (v int); from S select f(v) as w insert into Out;"
    )
    manager = SiddhiManager()
    before = RdbmsErrorStore(engine)
    manager.set_error_store(before)
    with manager.create_siddhi_app_runtime(text) as runtime:
        runtime.input_handler("S").send((0,), 1000)
    before.flush()
    rows = []
    again = SiddhiManager()
    store = RdbmsErrorStore(engine)
    again.set_error_store(store)
    with again.create_siddhi_app_runtime(text.replace("10 //", "10 + ")) as runtime:
        runtime.add_callback("Out", rows.extend)
        (kept,) = store.load_error_entries("A")
        runtime.replay_error_entry(kept)
    assert rows == [Event(1000, (10,))]


def test_an_invalid_url_is_refused_without_showing_it():
    with pytest.raises(ValueError, match="invalid URL of the error store") as refused:
        RdbmsErrorStore("no database at secret")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.load_error_entries("A"),
        lambda store: store.load_error_entry(1),
        lambda store: store.discard_error_entry(1),
        lambda store: store.discard_error_entries("A"),
        lambda store: store.count(),
        lambda store: store.purge(1),
        lambda store: store.write(entry()),
    ],
)
def test_an_invalid_database_is_not_taken_for_an_empty_one(tmp_path, call):
    (tmp_path / "errors.db").write_bytes(b"no database, but longer than the hundred bytes of a header" * 9)
    store = RdbmsErrorStore(f"sqlite:///{tmp_path}/errors.db")
    with pytest.raises(
        PersistenceStoreError, match=r"database error of the error store in sqlite:.*: file is not a database"
    ):
        call(store)


def test_an_invalid_name_is_refused(engine):
    store = RdbmsErrorStore(engine)
    assert [store.refuses(name) is None for name in ("A", "a" * 255, "a" * 256, "\ud800", "\0")] == [
        True,
        True,
        False,
        False,
        False,
    ]
