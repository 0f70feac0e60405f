"""Events of files: created, modified, complete and removed, in folders of folders, after restores and replaced folders."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("watchfiles", reason="the extra 'file' is not installed")

from siddhi import SandboxPolicy, SiddhiAppRuntime, SiddhiManager, extension
from siddhi.errors import MappingFailedError, SiddhiAppError
from siddhi.io import SourceMapper
from siddhi.io.file import events
from siddhi.io.file.watch import Watch
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from siddhi.testing.connectors import SourceSuite, wait_until
from tests.io.test_tcp import wait_for
from tests.kit.running import collect


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made


def source(folder: Path | str, more: str = "") -> str:
    return (
        f"@app:name('In') @source(type = 'fileeventlistener', dir.uri = '{folder}', monitoring.interval = '20'{more}, "
        "@map(type = 'passThrough')) define stream S (filepath string, filename string, status string);"
    )


def started(manager: SiddhiManager, app: str) -> tuple[SiddhiAppRuntime, list[Any]]:
    runtime = manager.create_siddhi_app_runtime(app)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


class NameMapper(SourceMapper):
    """Takes the numbers in the names of new files."""

    def map(self, payload: Any, handler: Any) -> None:
        _, name, status = payload
        number = name.rpartition("-")[2]
        if not number.isdecimal():
            raise MappingFailedError(f"'{name}' has no number")
        if status == "created":
            handler.send_row((int(number),))


class TestSuite(SourceSuite):
    delivery = "at least once"
    is_durable = True
    mapper = "@map(type = 'fileNames')"

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder, self.numbers = tmp_path / "in", itertools.count()
        self.folder.mkdir()
        self.options = f"type = 'fileeventlistener', dir.uri = '{self.folder}', monitoring.interval = '10'"

    def manager(self) -> SiddhiManager:
        made = SiddhiManager()
        mapper = extension.source_mapper("fileNames", registry=extension.Registry())(NameMapper)
        made.set_extension("fileNames", mapper)
        return made

    def payload(self, number: int) -> str:
        return str(number)

    def malformed(self) -> str:
        return "none"

    def send(self, payloads: Sequence[str | bytes]) -> None:
        for payload in payloads:
            (self.folder / f"{next(self.numbers):06d}-{payload!s}").touch()

    def break_connection(self) -> None:
        aside = self.folder.with_name("aside")
        self.folder.rename(aside)
        aside.rename(self.folder)

    def test_events_arrive_in_order(self) -> None:
        # As in the suite, but for the bytes: events of files are no texts.
        with self._managed() as manager:
            runtime, arrived = self._started(manager)
            self._send(range(self.count))
            self._wait_for(arrived, range(self.count))
            assert arrived == list(range(self.count))
            wait_until(lambda: self._status(runtime).payloads == self.count, "all payloads are counted")


def statuses(rows: list[Any], name: str) -> list[str]:
    """Return the statuses of a file; a repeated one once, since writing takes one or more intervals."""
    return [status for status, _ in itertools.groupby(row[2] for row in rows if row[1] == name)]


def test_a_file_is_created_modified_and_removed(manager: SiddhiManager, tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "x" / "new"
    old.write_text("1")
    _, rows = started(manager, source(f"file://{tmp_path}"))
    new.parent.mkdir()
    new.write_text("1")
    (tmp_path / "empty").touch()
    wait_for(lambda: statuses(rows, "new")[-1:] == ["modifyingCompleted"])
    with old.open("a") as file:
        file.write("2")
    wait_for(lambda: statuses(rows, "old") == ["modifying", "modifyingCompleted"])
    old.rename(tmp_path / "renamed")
    wait_for(lambda: statuses(rows, "renamed") == ["created", "modifyingCompleted"])
    new.unlink()
    new.parent.rmdir()
    wait_for(lambda: statuses(rows, "new")[-1:] == ["removed"])
    assert statuses(rows, "empty") == ["created"]
    assert statuses(rows, "old") == ["modifying", "modifyingCompleted", "removed"]
    assert [status for status in statuses(rows, "new") if status != "modifying"] == [
        "created",
        "modifyingCompleted",
        "removed",
    ]
    assert {row[0] for row in rows} == {str(tmp_path / path) for path in ("old", "x/new", "empty", "renamed")}


def test_a_file_that_grows_on_is_not_complete(manager: SiddhiManager, tmp_path: Path) -> None:
    path = tmp_path / "a"
    _, rows = started(manager, source(tmp_path).replace("= '20'", "= '400'"))
    with path.open("w") as file:
        while [row[2] for row in rows].count("modifying") < 2:
            file.write("x")
            file.flush()
            assert "modifyingCompleted" not in statuses(rows, "a")
    wait_for(lambda: statuses(rows, "a") == ["created", "modifying", "modifyingCompleted"])


def test_a_folder_that_moves_in_or_out_brings_and_takes_its_files(manager: SiddhiManager, tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "out"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "a").touch()
    folder.mkdir()
    _, rows = started(manager, source(folder))
    outside.rename(folder / "sub")
    wait_for(lambda: statuses(rows, "a") == ["created"])
    (folder / "sub").rename(outside)
    wait_for(lambda: statuses(rows, "a") == ["created", "removed"])


def test_changes_whose_notifications_were_dropped_are_found(
    manager: SiddhiManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "_RESCAN_SECONDS", 0.01)
    monkeypatch.setattr(Watch, "take", lambda self: self.notified.clear() or set())  # the queue was full
    folder, beside = tmp_path / "in", tmp_path / "beside"
    folder.mkdir()
    beside.write_text("1")
    _, rows = started(manager, source(folder))
    beside.rename(folder / "new")  # whole at once: a scan may fall between the creation of a file and its first byte
    wait_for(lambda: statuses(rows, "new") == ["created", "modifyingCompleted"])
    (folder / "new").unlink()
    wait_for(lambda: statuses(rows, "new")[-1] == "removed")


def test_changes_during_a_downtime_are_reported_after_a_restore(manager: SiddhiManager, tmp_path: Path) -> None:
    for name in ("kept", "changed", "gone"):
        (tmp_path / name).write_text(name)
    runtime, rows = started(manager, source(tmp_path))
    runtime.persist()
    runtime.shutdown()
    assert rows == []
    (tmp_path / "changed").write_text("more than before")
    (tmp_path / "gone").unlink()
    (tmp_path / "new").touch()
    again = manager.create_siddhi_app_runtime(source(tmp_path))
    more = collect(again, "S")
    again.restore_last_revision()
    again.start()
    wait_for(lambda: len(more) == 4)
    assert [row[1:] for row in more] == [
        ("changed", "modifying"),
        ("gone", "removed"),
        ("new", "created"),
        ("changed", "modifyingCompleted"),
    ]


def test_only_the_named_files_are_reported(manager: SiddhiManager, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    _, rows = started(manager, source(tmp_path, ", file.name.list = 'a, x/b'"))
    for path in ("b", "c", "x/c", "a", "x/a", "x/b"):
        (tmp_path / path).touch()
    wait_for(lambda: len(rows) == 3)
    assert sorted(row[0] for row in rows) == [str(tmp_path / path) for path in ("a", "x/a", "x/b")]


def test_a_folder_that_is_replaced_is_watched_again(
    manager: SiddhiManager, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a").touch()
    _, rows = started(manager, source(folder))
    (folder / "a").unlink()
    folder.rmdir()
    wait_for(lambda: "reconnecting" in caplog.text)
    folder.mkdir()
    (folder / "b").touch()
    wait_for(lambda: len(rows) == 2)
    assert [row[1:] for row in rows] == [("a", "removed"), ("b", "created")]


@pytest.mark.parametrize(
    "text",
    [
        source("ftp://host/a"),
        source("a", ", file.system.options = 'x:y'"),
        source("a").replace("= '20'", "= '0'"),
        source("a").replace(
            "passThrough')", "passThrough', @attributes(filepath = 'trp:a', filename = 'trp:b', status = 'trp:c'))"
        ),
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, text: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(text)
    assert caught.value.code == "E326"


def test_a_sandbox_allows_its_folders_only(tmp_path: Path) -> None:
    policy = SandboxPolicy(sources={"fileeventlistener": ("*",)}, folders=(tmp_path,))
    manager = SiddhiManager(policy=policy)
    manager.validate_siddhi_app(source(tmp_path / "x"))
    for folder in ("/etc", tmp_path / ".."):
        with pytest.raises(SiddhiAppError) as caught:
            manager.validate_siddhi_app(source(folder))
        assert caught.value.code == "E340"
