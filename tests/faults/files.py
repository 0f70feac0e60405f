"""Calls that concern files fail, one after the other: what was asked for has happened wholly, or it is an error of siddhi's
and what was there is there.
"""

from __future__ import annotations

import errno
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiError
from siddhi.persistence import (
    ErrorEntry,
    ErrorOccurrence,
    ErrorStore,
    FileSystemPersistenceStore,
    PersistenceStore,
    RdbmsErrorStore,
    RdbmsPersistenceStore,
)
from tests.faults.report import Report
from tests.faults.shim import FAULTS, Calls, Fault, failing

__all__ = ["run"]

APP = """@app:name('Faulty') @app:playback define stream S (k string, n long);
@primaryKey('k') define table T (k string, n long);
from S select k, n update or insert into T set T.n = n on T.k == k;
@info(name = 'window') from S#window.length(50) select k, sum(n) as total group by k insert into Sums;"""
EARLIER, LATER = 40, 45
"""Number of the last event of the state that is there, and of the one that is saved while calls fail."""


def run(report: Report, every: int) -> None:
    """Fail every ``every``-th call of each scenario, in each way."""
    for name, scenario in _SCENARIOS.items():
        for number, fault in enumerate(FAULTS):
            with tempfile.TemporaryDirectory(prefix="siddhi-faults-") as place:
                template = Path(place, "template")
                template.mkdir()
                scenario(template, None)
                nth = 1 + number % every
                while True:
                    folder = Path(place, "tried")
                    shutil.copytree(template, folder)
                    with report.trying(f"files: {name}: call {nth}: {fault.name}"):
                        calls = scenario(folder, (fault, nth))
                    shutil.rmtree(folder)
                    if calls < nth:
                        break
                    nth += every


Broken = tuple[Fault, int]


def _manager(kind: str, folder: Path) -> SiddhiManager:
    manager = SiddhiManager()
    store: PersistenceStore
    if kind == "sqlite":
        store = RdbmsPersistenceStore(f"sqlite:///{folder}/state.db")
    else:
        store = FileSystemPersistenceStore(folder)
    (manager.set_incremental_persistence_store if kind == "increments" else manager.set_persistence_store)(store)
    return manager


@contextmanager
def _started(kind: str, folder: Path) -> Iterator[SiddhiAppRuntime]:
    with _manager(kind, folder) as manager, manager.create_siddhi_app_runtime(APP) as runtime:
        yield runtime


def _send(runtime: SiddhiAppRuntime, first: int, last: int) -> None:
    for n in range(first, last + 1):
        runtime.input_handler("S").send((f"key {n % 7}", n), timestamp=1_000_000 + n)


def _last(runtime: SiddhiAppRuntime) -> int:
    """Number of the last event that the state knows; all of it must be of that moment."""
    rows = sorted(event.data for event in runtime.query("from T select k, n"))
    last = max((n for _, n in rows), default=0)
    expected = {f"key {n % 7}": n for n in range(1, last + 1)}
    assert dict(rows) == expected, f"a state of no moment: {rows}"
    return last


def _attempted(folder: Path, broken: Broken, act: Callable[[], Any]) -> tuple[Calls, Any, BaseException | None]:
    """Calls, result and error of an act while calls fail; an error must be one of siddhi's."""
    result, error = None, None
    with failing(folder, *broken) as calls:
        try:
            result = act()
        except SiddhiError as raised:
            error = raised
    return calls, result, error


def _persist(kind: str) -> Callable[[Path, Broken | None], int]:
    def scenario(folder: Path, broken: Broken | None) -> int:
        if broken is None:
            with _started(kind, folder) as runtime:
                _send(runtime, 1, EARLIER - 5)
                runtime.persist()
                _send(runtime, EARLIER - 4, EARLIER)
                runtime.persist()
            return 0
        with _started(kind, folder) as runtime:
            earlier = runtime.restore_last_revision()
            _send(runtime, EARLIER + 1, LATER)
            calls, revision, error = _attempted(folder, broken, runtime.persist)
            if kind != "sqlite" and error is None:
                assert calls.failed != "fsync", "fsync failed, and no error"
                assert not calls.unsynced, "what was saved was not synced to the disk"
            with _started(kind, folder) as other:
                restored = other.restore_last_revision()
                found = _last(other)
                if error is None:
                    assert (restored, found) == (revision, LATER), f"saved {revision}, restored {restored}"
                else:
                    assert found in (EARLIER, LATER), f"the state of event {found} came back"
                assert earlier is not None
                other.restore_revision(earlier)
                assert _last(other) == EARLIER, "an earlier revision is another one"
            again = runtime.persist()
            with _started(kind, folder) as other:
                assert other.restore_last_revision() == again
                assert _last(other) == LATER, "saved again after a failure it is another state"
        return calls.count

    return scenario


class _Warned(logging.Handler):
    """Whether something was logged as a warning."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def _restore(kind: str) -> Callable[[Path, Broken | None], int]:
    persisted = _persist(kind)

    def scenario(folder: Path, broken: Broken | None) -> int:
        if broken is None:
            return persisted(folder, None)
        fault = broken[0]
        warned = _Warned()
        logger = logging.getLogger("siddhi")
        with _started(kind, folder) as runtime:
            logger.addHandler(warned)
            try:
                calls, revision, error = _attempted(folder, broken, runtime.restore_last_revision)
            finally:
                logger.removeHandler(warned)
            found = _last(runtime)
            if error is not None:
                assert found == 0, f"restoring failed, and the state of event {found} is there"
            elif found != EARLIER:
                # A medium that has lost the newest revision: the one before is better than none, and it is said.
                # SQLite calls whatever keeps it from reading an I/O error.
                assert fault.error == errno.EIO or kind == "sqlite", (
                    f"restored the state of event {found}, and no error"
                )
                assert found == EARLIER - 5, f"restored the state of event {found} from {revision}"
                assert warned.lines, "an older revision without a warning"
        with _started(kind, folder) as runtime:
            runtime.restore_last_revision()
            assert _last(runtime) == EARLIER, "reading changed what was there"
        return calls.count

    return scenario


def _clear(kind: str) -> Callable[[Path, Broken | None], int]:
    persisted = _persist(kind)

    def scenario(folder: Path, broken: Broken | None) -> int:
        if broken is None:
            return persisted(folder, None)
        with _started(kind, folder) as runtime:
            calls, _, error = _attempted(folder, broken, runtime.clear_all_revisions)
        with _started(kind, folder) as runtime:
            revision = runtime.restore_last_revision()
            if error is None:
                assert revision is None, f"cleared, and {revision} is there"
            else:
                assert _last(runtime) in (0, EARLIER - 5, EARLIER)
        return calls.count

    return scenario


def _entry(number: int) -> ErrorEntry:
    return ErrorEntry(
        id=0,
        timestamp=number,
        app="Faulty",
        name="S",
        occurrence=ErrorOccurrence.STORE_ON_STREAM_ERROR,
        events=(Event(number, ("a", number)),),
        cause="why",
        stack_trace="where",
        payload=None,
    )


def _noted(store: ErrorStore) -> list[int]:
    return [entry.timestamp for entry in store.load_error_entries("Faulty")]


def _write_errors(folder: Path, broken: Broken | None) -> int:
    store = RdbmsErrorStore(f"sqlite:///{folder}/errors.db")
    if broken is None:
        for number in (1, 2, 3):
            store.write(_entry(number))
        return 0
    calls, _, error = _attempted(folder, broken, lambda: store.write(_entry(4)))
    found = _noted(RdbmsErrorStore(f"sqlite:///{folder}/errors.db"))
    assert found == [1, 2, 3, 4] or (error is not None and found == [1, 2, 3]), f"{found} are there, error {error}"
    store.write(_entry(5))
    assert _noted(store) == [*found, 5]
    return calls.count


def _discard_errors(folder: Path, broken: Broken | None) -> int:
    if broken is None:
        return _write_errors(folder, None)
    store = RdbmsErrorStore(f"sqlite:///{folder}/errors.db")
    calls, _, error = _attempted(folder, broken, lambda: store.discard_error_entries("Faulty"))
    found = _noted(RdbmsErrorStore(f"sqlite:///{folder}/errors.db"))
    assert found == [] or (error is not None and found == [1, 2, 3]), f"{found} are there, error {error}"
    return calls.count


_SCENARIOS: dict[str, Callable[[Path, Broken | None], int]] = {
    **{f"save to {kind}": _persist(kind) for kind in ("files", "increments", "sqlite")},
    **{f"restore from {kind}": _restore(kind) for kind in ("files", "increments", "sqlite")},
    **{f"clear {kind}": _clear(kind) for kind in ("files", "sqlite")},
    "write to the error store": _write_errors,
    "discard from the error store": _discard_errors,
}
