"""Files: modes, tailing through rotation, folders and actions, positions, refused options; the sink's lengths and paths."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from siddhi import SandboxPolicy, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.io.file import source as file_source
from siddhi.io.file import splitting
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.runtime.connectors import retry
from tests.io.test_tcp import wait_for
from tests.kit.running import collect

FAST = "file.polling.interval = '10'"
FAST_FOLDER = "file.read.wait.timeout = '0'"


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> Iterator[SiddhiManager]:
    monkeypatch.setattr(retry, "PAUSES", (0.02,))
    with SiddhiManager() as made:
        made.set_persistence_store(InMemoryPersistenceStore())
        yield made


def source(options: str, *, attributes: str = "", stream: str = "s string") -> str:
    fast = FAST_FOLDER if "dir.uri" in options else ""
    if "cron" not in options:
        fast = f"{fast}, dir.polling.interval = '10'" if fast else FAST
    options = ", ".join(filter(None, (options, fast)))
    return (
        f"@app:name('In') @source(type = 'file', {options}, @map(type = 'text', fail.on.missing.attribute = 'false',"
        f" regex.A = '(?s)(.*)', @attributes(s = 'A[1]'{attributes}))) define stream S ({stream});"
    )


def started(manager: SiddhiManager, text: str) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def texts(rows: list[tuple[Any, ...]]) -> list[str]:
    return [row[0] for row in rows]


def test_a_tailed_file_is_read_through_rotation_and_truncation(manager: SiddhiManager, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("1\n2\nhalf", encoding="utf-8")
    _, rows = started(manager, source(f"file.uri = 'file:{path}'"))
    wait_for(lambda: len(rows) == 2)
    with path.open("a", encoding="utf-8") as file:
        file.write(" whole\n3\nlast without end")
    path.rename(tmp_path / "a.log.1")
    path.write_text("a long line\n", encoding="utf-8")
    wait_for(lambda: len(rows) == 6)
    path.write_text("4\n", encoding="utf-8")
    wait_for(lambda: len(rows) == 7)
    assert texts(rows) == ["1", "2", "half whole", "3", "last without end", "a long line", "4"]


def test_payloads_of_a_tailed_file_are_numbered(manager: SiddhiManager, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("a\nb\n", encoding="utf-8")
    numbered = source(f"file.uri = '{path}'", attributes=", n = 'trp:sequence.number'", stream="s string, n int")
    _, rows = started(manager, numbered)
    wait_for(lambda: len(rows) == 2)
    with path.open("a", encoding="utf-8") as file:
        file.write("c\n")
    wait_for(lambda: len(rows) == 3)
    path.rename(tmp_path / "a.1")
    path.write_text("d\n", encoding="utf-8")
    wait_for(lambda: len(rows) == 4)
    assert rows == [("a", 0), ("b", 1), ("c", 2), ("d", 0)]


def test_a_line_that_is_too_long_is_skipped(
    manager: SiddhiManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(splitting, "LARGEST_LINE", 10)
    path = tmp_path / "a.log"
    path.write_text("1\n" + 30 * "x", encoding="utf-8")
    _, rows = started(manager, source(f"file.uri = 'file:{path}'"))
    wait_for(lambda: "a line of more than 10 bytes" in caplog.text)
    with path.open("a", encoding="utf-8") as file:
        file.write("xxx\n2\n")
    wait_for(lambda: len(rows) == 2)
    assert texts(rows) == ["1", "2"]


def test_a_file_that_can_not_be_opened_is_moved_as_a_failure(
    manager: SiddhiManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: str, mode: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(file_source, "open", refuse, raising=False)
    folder, failed = tmp_path / "in", tmp_path / "failed"
    folder.mkdir()
    (folder / "a.txt").write_text("1", encoding="utf-8")
    options = f"dir.uri = 'file:{folder}', mode = 'text.full', action.after.process = 'delete', "
    options += f"action.after.failure = 'move', move.after.failure = '{failed}'"
    _, rows = started(manager, source(options))
    wait_for(lambda: (failed / "a.txt").exists())
    assert rows == []
    assert "Permission denied" in caplog.text


def test_matches_of_a_tailed_file_are_received_through_rotation(
    manager: SiddhiManager, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.log"
    path.write_text("x<a>1</a> <a>2\n", encoding="utf-8")
    text = source(f"file.uri = '{path}', mode = 'regex', begin.regex = '<a>', end.regex = '</a>'")
    runtime, rows = started(manager, text)
    wait_for(lambda: len(rows) == 1)
    runtime.persist()
    runtime.shutdown()
    with path.open("a", encoding="utf-8") as file:
        file.write("3</a>")
    again = manager.create_siddhi_app_runtime(text)
    more = collect(again, "S")
    again.restore_last_revision()
    again.start()
    wait_for(lambda: len(more) == 1)  # although the file ends there
    with path.open("a", encoding="utf-8") as file:
        file.write("<a>4</a><a>lost")
    path.rename(tmp_path / "a.log.1")
    path.write_text("<a>5</a>\n", encoding="utf-8")
    wait_for(lambda: len(more) == 3)
    assert texts(rows + more) == ["<a>1</a>", "<a>2\n3</a>", "<a>4</a>", "<a>5</a>"]
    assert "has no end" in caplog.text


def test_a_match_that_is_too_long_is_skipped(
    manager: SiddhiManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(splitting, "LARGEST_LINE", 10)
    path = tmp_path / "a.log"
    path.write_text("1;" + 30 * "x", encoding="utf-8")
    _, rows = started(manager, source(f"file.uri = '{path}', mode = 'regex', end.regex = ';'"))
    wait_for(lambda: "a match of more than 10 bytes" in caplog.text)
    with path.open("a", encoding="utf-8") as file:
        file.write("xxx;2;")
    wait_for(lambda: len(rows) == 2)
    assert texts(rows) == ["1;", "2;"]


def test_a_restore_continues_a_tailed_file_that_was_renamed(manager: SiddhiManager, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("1\n2\n", encoding="utf-8")
    runtime, rows = started(manager, source(f"file.uri = '{path}'"))
    wait_for(lambda: len(rows) == 2)
    runtime.persist()
    runtime.shutdown()
    with path.open("a", encoding="utf-8") as file:
        file.write("3\n")
    path.rename(tmp_path / "a.log.1")
    path.write_text("4\n", encoding="utf-8")
    again = manager.create_siddhi_app_runtime(source(f"file.uri = '{path}'"))
    rows = collect(again, "S")
    again.restore_last_revision()
    again.start()
    wait_for(lambda: len(rows) == 2)
    assert texts(rows) == ["3", "4"]


def test_files_of_a_folder_are_read_in_order_and_moved(manager: SiddhiManager, tmp_path: Path) -> None:
    folder, done = tmp_path / "in", tmp_path / "done"
    folder.mkdir()
    for name in ("b", "a"):
        (folder / f"{name}.txt").write_text(f"head\n{name}1\n\n {name}2 \n", encoding="utf-8")
    (folder / "c.other").write_text("x", encoding="utf-8")
    options = f"dir.uri = '{folder}', file.name.pattern = '.*[.]txt', header.present = 'true', action.after.process = 'move', move.after.process = '{done}'"
    text = source(options, attributes=", e = 'trp:eof', n = 'trp:file.name'", stream="s string, e bool, n string")
    _, rows = started(manager, text)
    wait_for(lambda: (done / "b.txt").exists())
    assert rows == [("a1", False, "a.txt"), (" a2 ", True, "a.txt"), ("b1", False, "b.txt"), (" b2 ", True, "b.txt")]
    assert [path.name for path in folder.iterdir()] == ["c.other"]


def test_a_processed_file_is_not_read_again_after_a_restore(manager: SiddhiManager, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1\n2", encoding="utf-8")
    runtime, rows = started(manager, source(f"dir.uri = '{tmp_path}'"))
    wait_for(lambda: len(rows) == 2)
    runtime.persist()
    runtime.shutdown()
    again = manager.create_siddhi_app_runtime(source(f"dir.uri = '{tmp_path}'"))
    rows = collect(again, "S")
    again.restore_last_revision()
    again.start()
    (tmp_path / "b").write_text("3", encoding="utf-8")
    wait_for(lambda: rows)
    assert texts(rows) == ["3"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("mode = 'text.full'", ["1\n2\n3\n"]),
        ("mode = 'binary.full'", ["1\n2\n3\n"]),
        ("mode = 'binary.chunked', buffer.size = '4'", ["1\n2\n", "3\n"]),
        ("tailing = 'false'", ["1", "2", "3"]),
        ("tailing = 'false', mode = 'regex'", ["1", "2", "3"]),
        ("tailing = 'false', mode = 'regex', begin.regex = '^[12]', end.regex = '.$'", ["1\n2"]),
        ("tailing = 'false', mode = 'regex', begin.regex = '[23]'", ["2\n", "3\n"]),
        ("tailing = 'false', mode = 'regex', end.regex = '2'", ["1\n2"]),
        ("tailing = 'false', read.only.header = 'true'", ["1"]),
        ("tailing = 'false', read.only.trailer = 'true'", ["3"]),
        ("tailing = 'false', skip.trailer = 'true'", ["1", "2"]),
    ],
)
def test_modes_cut_a_file_into_payloads(
    manager: SiddhiManager, tmp_path: Path, options: str, expected: list[str]
) -> None:
    path = tmp_path / "a"
    path.write_text("1\n2\n3\n", encoding="utf-8")
    _, rows = started(manager, source(f"file.uri = '{path}', action.after.process = 'delete', {options}"))
    wait_for(lambda: not path.exists())
    assert texts(rows) == expected


def test_a_file_that_appears_later_is_read(manager: SiddhiManager, tmp_path: Path) -> None:
    _, rows = started(manager, source(f"file.uri = '{tmp_path / 'a'}'"))
    (tmp_path / "a").write_text("1\n", encoding="utf-8")
    wait_for(lambda: rows)


@pytest.mark.parametrize("place", ["dir.uri = '{0}/in'", "file.uri = '{0}/in/a.txt', tailing = 'false'"])
def test_files_are_read_and_moved_at_the_times_of_a_cron_expression(
    manager: SiddhiManager, tmp_path: Path, place: str
) -> None:
    folder, done = tmp_path / "in", tmp_path / "done"
    folder.mkdir()
    target = done if "dir.uri" in place else done / "a.txt"
    options = f"{place.format(tmp_path)}, action.after.process = 'move', move.after.process = '{target}'"
    _, rows = started(manager, source(options + ", cron.expression = '* * * * * ?'"))
    for number in (1, 2):
        (tmp_path / "new").write_text(f"{number}\n", encoding="utf-8")
        (tmp_path / "new").rename(folder / "a.txt")
        wait_for(lambda: not (folder / "a.txt").exists())
        assert (done / "a.txt").read_text() == f"{number}\n"
    assert texts(rows) == ["1", "2"]


def test_files_wait_for_the_time_of_a_cron_expression(manager: SiddhiManager, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a").write_text("1\n", encoding="utf-8")
    options = f"dir.uri = '{folder}', action.after.process = 'move', move.after.process = '{tmp_path}/done'"
    runtime, rows = started(manager, source(options + ", cron.expression = '0 0 0 1 1 ? 2099'"))
    runtime.shutdown()
    assert (rows, (folder / "a").exists()) == ([], True)


@pytest.mark.parametrize(
    "options",
    [
        "mode = 'line'",
        "file.uri = 'a', dir.uri = 'b'",
        "file.uri = 'ftp://host/a'",
        "file.uri = 'a', begin.regex = 'x'",
        "file.uri = 'a', mode = 'regex', begin.regex = '('",
        "file.uri = 'a', mode = 'regex', end.regex = 'x*'",
        "file.uri = 'a', mode = 'regex', end.regex = 'x', header.present = 'true'",
        "file.uri = 'a', mode = 'text.full', tailing = 'true'",
        "file.uri = 'a', cron.expression = '* * * * * ?'",
        "dir.uri = 'a', cron.expression = '* * * * * ?', action.after.process = 'delete'",
        "dir.uri = 'a', cron.expression = 'x', action.after.process = 'move', move.after.process = 'b'",
        "file.uri = 'a', tailing = 'false', action.after.process = 'move'",
        "file.uri = 'a', action.after.process = 'delete'",
        "file.uri = 'a', tailing = 'false', read.only.header = 'true', skip.trailer = 'true'",
        "file.uri = 'a', buffer.size = '0'",
        "dir.uri = 'a', file.name.pattern = '('",
    ],
)
def test_options_that_do_not_fit_are_refused(manager: SiddhiManager, options: str) -> None:
    with pytest.raises(SiddhiAppError) as caught:
        manager.create_siddhi_app_runtime(source(options))
    assert caught.value.code == "E326"


def test_a_sandbox_allows_files_of_its_folders_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    policy = SandboxPolicy(sources={"file": ("*",)}, sinks={"file": ("*",)}, folders=(tmp_path,))
    manager = SiddhiManager(policy=policy)
    manager.validate_siddhi_app(source(f"file.uri = 'file://{tmp_path}/a'"))
    for path in ("file:/etc/passwd", "/etc/passwd", "../a", "file://host/a"):
        with pytest.raises(SiddhiAppError) as caught:
            manager.validate_siddhi_app(source(f"file.uri = '{path}'"))
        assert caught.value.code == "E340"


def sink(options: str) -> str:
    return f"@app:name('Out') @sink(type = 'file', {options}, @map(type = 'text', @payload('{{{{s}}}}'))) define stream S (s string);"


def send(runtime: SiddhiAppRuntime, *values: str) -> None:
    for value in values:
        runtime.input_handler("S").send((value,), timestamp=1)


def test_a_sink_appends_lines_also_after_a_rotation(manager: SiddhiManager, tmp_path: Path) -> None:
    path = tmp_path / "x" / "a.log"
    runtime, _ = started(manager, sink(f"file.uri = '{path}'"))
    send(runtime, "1", "2\n")
    path.rename(tmp_path / "old")
    send(runtime, "3")
    assert ((tmp_path / "old").read_text(), path.read_text()) == ("1\n2\n", "3\n")


def test_a_sink_replaces_a_file_as_a_whole(manager: SiddhiManager, tmp_path: Path) -> None:
    runtime, _ = started(manager, sink(f"file.uri = '{tmp_path}/a', append = 'false', fsync = 'true'"))
    send(runtime, "1", "2")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "2\n")]


def test_values_of_events_do_not_lead_out_of_the_folder(
    manager: SiddhiManager, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runtime, _ = started(manager, sink(f"file.uri = '{tmp_path}/in/{{{{s}}}}.txt'"))
    with caplog.at_level(logging.ERROR):
        send(runtime, "a", "../b")
    assert (tmp_path / "in" / "a.txt").read_text() == "a\n"
    assert not (tmp_path / "b.txt").exists()
    assert "lead out of the folder" in caplog.text


def test_a_restore_cuts_off_what_was_written_after_the_snapshot(manager: SiddhiManager, tmp_path: Path) -> None:
    path = tmp_path / "a"
    runtime, _ = started(manager, sink(f"file.uri = '{path}', on.restore = 'truncate'"))
    send(runtime, "1")
    runtime.persist()
    send(runtime, "2")
    runtime.shutdown()
    again = manager.create_siddhi_app_runtime(sink(f"file.uri = '{path}', on.restore = 'truncate'"))
    again.restore_last_revision()
    again.start()
    send(again, "2")
    assert path.read_text() == "1\n2\n"


def test_a_file_that_can_not_be_written_is_handled_by_on_error(
    manager: SiddhiManager, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "a").mkdir()
    runtime, _ = started(manager, sink(f"file.uri = '{tmp_path}/a'"))
    with caplog.at_level(logging.ERROR):
        send(runtime, "1")
    assert "can't write" in caplog.text


def test_stdout_gets_a_line_per_payload(manager: SiddhiManager, capsys: pytest.CaptureFixture[str]) -> None:
    text = "@sink(type = 'stdout', @map(type = 'json')) define stream S (s string);"
    runtime, _ = started(manager, text)
    send(runtime, "a", "b")
    assert capsys.readouterr().out == '{"event":{"s":"a"}}\n{"event":{"s":"b"}}\n'


@pytest.mark.parametrize("tailing", ["true", "false"])
def test_lines_keep_the_blanks_around_them(manager: SiddhiManager, tmp_path: Path, tailing: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"\tb\t\r\n a \n\t\t\n")
    _, rows = started(manager, source(f"file.uri = '{path}', tailing = '{tailing}'"))
    wait_for(lambda: len(rows) == 3)
    assert texts(rows) == ["\tb\t", " a ", "\t\t"]


RECORDS = 'a,"x\r\ny"\r\nb,"2 "" 3\n\n,4"\nc,5" pipe\n"",z\n'
RECORD_ROWS = [("a", "x\r\ny"), ("b", '2 " 3\n\n,4'), ("c", '5" pipe'), ("", "z")]


def csv_source(options: str) -> str:
    return (
        f"@app:name('In') @source(type = 'file', {options}, {FAST}, @map(type = 'csv'))"
        " define stream S (k string, v string);"
    )


@pytest.mark.parametrize("options", ["tailing = 'true'", "tailing = 'false'", "mode = 'text.full'"])
def test_a_csv_record_is_a_payload_in_every_mode(manager: SiddhiManager, tmp_path: Path, options: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(RECORDS.encode())
    _, rows = started(manager, csv_source(f"file.uri = '{path}', {options}"))
    wait_for(lambda: len(rows) == 4)
    assert rows == RECORD_ROWS


def test_a_restore_within_a_csv_record_loses_none(
    manager: SiddhiManager, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'a,1\nb,"x\ny')
    text = csv_source(f"file.uri = '{path}'")
    runtime, rows = started(manager, text)
    wait_for(lambda: "a quoted field in" in caplog.text)
    assert rows == [("a", "1")]
    state = runtime.snapshot()
    runtime.shutdown()
    with path.open("a", encoding="utf-8") as file:
        file.write('\nz"\nc,3\n')
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    runtime.restore(state)
    runtime.start()
    wait_for(lambda: len(rows) == 2)
    assert rows == [("b", "x\ny\nz"), ("c", "3")]


def test_a_quote_without_an_end_costs_its_own_record_only(
    manager: SiddhiManager, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.csv"
    path.write_text('a,"1\nb,"2"\nc,3\nd,"4\ne,5\n', encoding="utf-8")
    _, rows = started(manager, csv_source(f"file.uri = '{path}', tailing = 'false'"))
    wait_for(lambda: len(rows) == 3 and caplog.text.count("a quoted field has no end") == 2)
    assert rows == [("b", "2"), ("c", "3"), ("e", "5")]


def test_payload_numbers_go_on_after_a_restore(manager: SiddhiManager, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text("a\nb\n", encoding="utf-8")
    text = source(f"file.uri = '{path}'", attributes=", n = 'trp:sequence.number'", stream="s string, n int")
    runtime, rows = started(manager, text)
    wait_for(lambda: len(rows) == 2)
    state = runtime.snapshot()
    runtime.shutdown()
    with path.open("a", encoding="utf-8") as file:
        file.write("c\nd\n")
    runtime = manager.create_siddhi_app_runtime(text)
    again = collect(runtime, "S")
    runtime.restore(state)
    runtime.start()
    wait_for(lambda: len(again) == 2)
    assert rows + again == [("a", 0), ("b", 1), ("c", 2), ("d", 3)]
