"""The file sink without room: each payload is reported, no part of one stays, and it goes on when there is room again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from siddhi import SiddhiManager
from siddhi.testing.connectors import SinkSuite
from tests.kit.running import collect

resource = pytest.importorskip("resource", reason="no limits of files on this system")

ON_FULL_DISK = """
import os, pathlib, sys
from siddhi import SiddhiManager

folder = pathlib.Path(sys.argv[1])
app = (
    "@OnError(action = 'STREAM') @sink(type = 'file', on.error = 'STREAM', file.uri = '{0}/{1}', append = '{2}', "
    "@map(type = 'text', @payload('{{{{n}}}}-{{{{s}}}}'))) define stream S (n int, s string);"
)
for name, append, text in (("a", "true", 3000 * "x"), ("b", "false", 16_000 * "x")):
    (folder / "room").write_bytes(bytes(40_000))
    with SiddhiManager().create_siddhi_app_runtime(app.format(folder, name, append)) as runtime:
        reported = []
        runtime.add_callback("!S", lambda events: reported.extend(event.data[0] for event in events))
        send = runtime.input_handler("S").send
        for number in range(20):
            send((number, text))
        if append == "false":
            assert (folder / name).read_text() == f"0-{text}\\n"
        (folder / "room").unlink()
        for number in range(20, 24):
            send((number, "y"))
    lines = (folder / name).read_text().splitlines()
    assert all(line.endswith(("-y", text)) for line in lines), lines
    numbers = [int(line.partition("-")[0]) for line in lines]
    if append == "true":
        assert len(reported) > 5 and len(numbers) > 8, (reported, numbers)
        assert sorted(numbers + reported) == list(range(24)), (reported, numbers)
    else:
        assert (numbers, reported) == ([23], list(range(1, 20))), (reported, numbers)
    (folder / name).unlink()
    assert os.listdir(folder) == []
"""


def limit(size: int) -> None:
    """Set the size above which no file grows."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


@pytest.fixture
def unlimited() -> Iterator[int]:
    """The limit that is restored after the test."""
    before: int = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    yield before
    limit(before)


class TestSuite(SinkSuite):
    is_queued = False
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path, unlimited: int) -> None:
        self.path, self.before = tmp_path / "out", unlimited
        self.options = f"type = 'file', file.uri = '{self.path}'"

    def received(self) -> list[str | bytes]:
        return list(self.path.read_text().splitlines()) if self.path.exists() else []

    def stop_server(self) -> None:
        limit(self.path.stat().st_size + 5)  # a part of a payload can be written

    def start_server(self) -> None:
        limit(self.before)


def test_a_part_that_can_not_be_cut_off_is_a_line_of_its_own(
    tmp_path: Path, unlimited: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(file: int, size: int) -> None:
        raise PermissionError(1, "append only")

    path = tmp_path / "out"
    with SiddhiManager() as manager:
        runtime = manager.create_siddhi_app_runtime(
            f"@OnError(action = 'STREAM') @sink(type = 'file', on.error = 'STREAM', file.uri = '{path}', "
            "@map(type = 'text', @payload('{{s}}'))) define stream S (s string);"
        )
        reported = collect(runtime, "!S")
        runtime.start()
        send = runtime.input_handler("S").send
        send(("one",))
        monkeypatch.setattr(os, "ftruncate", refuse)
        limit(6)
        send(("two",))
        limit(unlimited)
        send(("three",))
        send(("four",))
    assert path.read_text() == "one\ntw\nthree\nfour\n"
    assert [row[0] for row in reported] == ["two"]
    assert "has a part of a payload" in caplog.text


def test_a_full_disk_loses_and_damages_nothing(tmp_path: Path) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    mount = 'mount -t tmpfs -o size=64k tmpfs "$1" || exit 77; exec "$2" -c "$3" "$1"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", mount, "sh", str(tmp_path), sys.executable, ON_FULL_DISK],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no file system can be mounted here")
    assert done.returncode == 0, done.stderr
