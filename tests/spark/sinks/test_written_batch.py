"""A batch is complete or absent, also if a rename copies files and a process is killed."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark import FileSink, files
from siddhi.spark.sinks.ownership import Owner
from siddhi.spark.sinks.written_batch import MARK, put, rows_written
from tests.spark.checkpoint.test_refused_starts import NOW, SUM, app
from tests.spark.checkpoint.test_refused_starts import put as put_input

pytestmark = pytest.mark.spark

ROWS = 60


class Copying:
    """A file system as an object store's: a rename copies, then deletes, one file after the other; killed before the n-th
    change to what lies there."""

    def __init__(self, spark, system, left: list[int]) -> None:
        self._spark, self._system, self._left = spark, system, left

    def __getattr__(self, name: str):
        return getattr(self._system, name)

    def _change(self) -> None:
        self._left[0] -= 1
        if self._left[0] < 0:
            raise OSError("killed")

    def create(self, path, overwrite):
        self._change()
        return self._system.create(path, overwrite)

    def delete(self, path, recursive):
        for each in [path] if self._is_file(path) else [status.getPath() for status in self._listed(path)]:
            self._change()
            self._system.delete(each, True)
        return self._system.delete(path, recursive)

    def rename(self, source, target):
        if self._is_file(source):
            self._copy(source, target)
        else:
            names = [status.getPath().getName() for status in self._listed(source)]
            for name in names:
                self._copy(
                    files._path(self._spark, f"{source}/{name}")[1], files._path(self._spark, f"{target}/{name}")[1]
                )
            for name in names:
                self._change()
                self._system.delete(files._path(self._spark, f"{source}/{name}")[1], False)
        return self._system.delete(source, True)

    def _is_file(self, path) -> bool:
        return self._system.exists(path) and self._system.getFileStatus(path).isFile()

    def _listed(self, path):
        return self._system.listStatus(path) if self._system.exists(path) else []

    def _copy(self, source, target) -> None:
        self._change()
        util = self._spark._jvm.org.apache.hadoop.fs.FileUtil
        conf = self._spark._jsc.hadoopConfiguration()
        assert util.copy(self._system, source, self._system, target, False, conf)


@pytest.fixture
def copying(spark, monkeypatch):
    """Lets renames copy, and kills them before the n-th change; None: never."""
    real = files._path

    def after(changes: int | None) -> None:
        left = [1 << 30 if changes is None else changes]

        def path(spark, name):
            system, at = real(spark, name)
            return Copying(spark, system, left), at

        monkeypatch.setattr(files, "_path", path)

    return after


def frame(spark):
    return spark.range(0, ROWS, 1, 3)


def read(spark, folder: Path) -> list[int]:
    return sorted(row["id"] for row in spark.read.parquet(str(folder)).collect())


@pytest.mark.parametrize("is_own", [True, False])
def test_a_batch_is_complete_wherever_its_writer_was_killed(spark, tmp_path, copying, is_own):
    halves = 0
    for n in range(40):
        folder = tmp_path / str(n)

        def sink(folder=folder) -> FileSink:
            made = FileSink(str(folder))
            if is_own:
                made.claim(spark, Owner("checkpoint", "1"))
            return made

        copying(None)
        assert sink()(frame(spark), 2) == ROWS
        first = sink()
        copying(n)
        try:
            first(frame(spark), 3)
            done = True
        except OSError:
            done = False
        copying(None)
        half = (folder / "batch=3").exists() and rows_written(spark, f"{folder}/batch=3") is None
        halves += half
        assert sink()(frame(spark), 3) == ROWS
        assert read(spark, folder) == sorted([*range(ROWS)] * 2)
        mark = json.loads((folder / "batch=3" / MARK).read_text())
        assert mark["rows"] == ROWS
        assert set(mark["files"]) == {path.name for path in (folder / "batch=3").glob("part-*")}
        if is_own or not half:
            assert not list(folder.glob("_aside-*"))
        if done:
            break
    assert done
    assert halves > 3


def test_a_repeated_batch_is_not_written_again(spark, tmp_path, copying):
    sink = FileSink(str(tmp_path))
    assert sink(frame(spark), 0) == ROWS
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "batch=0").iterdir())
    copying(0)  # nothing is changed
    assert FileSink(str(tmp_path))(frame(spark).limit(1), 0) == ROWS
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (tmp_path / "batch=0").iterdir()) == before


def test_files_of_a_completion_mark_must_exist(spark, tmp_path):
    sink, folder = FileSink(str(tmp_path), "json"), tmp_path / "batch=0"
    assert sink(frame(spark), 0) == ROWS
    mark, (part, *_) = (folder / MARK).read_text(), sorted(folder.glob("part-*"))
    rows = part.read_text()
    assert rows_written(spark, str(folder)) == ROWS

    part.write_text(rows[:-5])
    assert rows_written(spark, str(folder)) is None
    part.unlink()
    assert rows_written(spark, str(folder)) is None
    part.write_text(rows)
    assert rows_written(spark, str(folder)) == ROWS
    (folder / "part-of-another.json").write_text(rows)
    assert rows_written(spark, str(folder)) is None
    (folder / "part-of-another.json").unlink()
    (folder / f".{MARK}.crc").unlink()
    (folder / MARK).write_text(mark[:-3])
    assert rows_written(spark, str(folder)) is None
    (folder / MARK).unlink()
    assert rows_written(spark, str(folder)) is None
    assert rows_written(spark, str(tmp_path / "batch=1")) is None


def test_files_of_another_process_in_a_batch_are_reported(spark, tmp_path, monkeypatch):
    """Of two that write one batch, the other still copies into the folder."""
    fresh = tmp_path / "_writing-0-a"
    fresh.mkdir()
    (fresh / "part-1.json").write_text("{}")
    real = files.rename

    def rename(spark, source, target):
        real(spark, source, target)
        (Path(target) / "part-2.json").write_text("{}")
        (Path(target) / "part-1.json").unlink()

    monkeypatch.setattr(files, "rename", rename)
    with pytest.raises(
        SparkRunError, match=r"batch=0 is without part-1\.json and with part-2\.json after .* renamed to it"
    ):
        put(spark, str(fresh), str(tmp_path / "batch=0"), 1, is_own=True)
    assert rows_written(spark, str(tmp_path / "batch=0")) is None


def test_a_stream_killed_while_it_renames_loses_no_row(spark, tmp_path, copying):
    put_input(tmp_path, *((1000 + n, "a", 1) for n in range(ROWS)), (9000, "a", 1))
    folder, checkpoint = tmp_path / "out", str(tmp_path / "checkpoint")

    def run() -> None:
        query = app(spark, tmp_path, SUM).start(checkpoint, {"Out": FileSink(str(folder))}, trigger=NOW)
        query.await_termination()

    rename = files.rename

    def half(spark, source, target):
        files.copy(spark, source, target)
        next(Path(target).glob("part-*")).unlink()
        raise OSError("killed")

    files.rename = half
    try:
        with pytest.raises(SparkRunError, match="killed"):
            run()
    finally:
        files.rename = rename
    assert list(folder.glob("batch=*"))
    run()
    assert sorted(row["s"] for row in spark.read.parquet(str(folder)).collect()) == list(range(1, ROWS + 1))


def test_batches_of_earlier_versions_are_kept_but_for_a_repeated_one(spark, tmp_path, caplog):
    """They marked no batches. One that comes again has all its rows again; those before it don't come."""
    owner = Owner("checkpoint", "1", last=1)
    for batch in (0, 1):
        frame(spark).write.parquet(str(tmp_path / f"batch={batch}"))
    sink = FileSink(str(tmp_path))
    sink.require_own(spark, owner)
    sink.claim(spark, owner)
    before = sorted(path.name for path in (tmp_path / "batch=0").iterdir())
    with caplog.at_level(logging.WARNING, "siddhi"):
        assert sink(frame(spark), 1) == ROWS
    assert "batch=1 is incomplete, or of a version without marks: it is written again" in caplog.text
    assert sorted(path.name for path in (tmp_path / "batch=0").iterdir()) == before
    assert read(spark, tmp_path) == sorted([*range(ROWS)] * 2)


def test_rows_of_unknown_origin_are_moved_aside(spark, tmp_path, caplog):
    """A sink that a function of its user calls doesn't know whose rows are there without a mark."""
    frame(spark).limit(5).write.parquet(str(tmp_path / "batch=0"))
    with caplog.at_level(logging.WARNING, "siddhi"):
        assert FileSink(str(tmp_path))(frame(spark), 0) == ROWS
    (aside,) = tmp_path.glob("_aside-0-*")
    assert aside.name in caplog.text
    assert len(list(aside.glob("part-*"))) > 0
    assert read(spark, tmp_path) == list(range(ROWS))
