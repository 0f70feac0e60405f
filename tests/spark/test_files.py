"""Small files beside a checkpoint survive a kill at any moment, and failing renames."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark import files

pytestmark = pytest.mark.spark


class Killed:
    """A file system whose process ends before the n-th change."""

    def __init__(self, system, left: list[int]):
        self._system, self._left = system, left

    def __getattr__(self, name):
        if name in ("create", "rename", "delete"):
            self._left[0] -= 1
            if self._left[0] < 0:
                raise KeyboardInterrupt
        return getattr(self._system, name)


class Unwilling:
    """A file system that renames nothing, and says so as Hadoop's do."""

    def __init__(self, system):
        self._system = system

    def __getattr__(self, name):
        return (lambda *_: False) if name == "rename" else getattr(self._system, name)


def test_a_small_file_is_complete_whenever_its_writer_is_killed(spark, tmp_path, monkeypatch):
    real = files._path
    seen = set()
    for n in range(20):
        name = f"{tmp_path}/{n}/a.json"
        files.write_text(spark, name, "first")
        left = [n]

        def path(spark, name, left=left):
            system, at = real(spark, name)
            return Killed(system, left), at

        monkeypatch.setattr(files, "_path", path)
        try:
            files.write_text(spark, name, "second")
            done = True
        except KeyboardInterrupt:
            done = False
        monkeypatch.setattr(files, "_path", real)
        found = files.text_of(spark, name)
        assert found == "second" if done else found in ("first", "second")
        seen.add(found)
        files.write_text(spark, name, "third")
        assert files.text_of(spark, name) == "third"
        assert files.names(spark, f"{tmp_path}/{n}") == ["a.json"]
        if done:
            break
    assert done
    assert n > 3
    assert seen == {"first", "second"}
    assert files.text_of(spark, f"{tmp_path}/none") is None


def test_a_file_system_without_rename_is_reported(spark, tmp_path, monkeypatch):
    from siddhi.spark import FileSink

    real = files._path

    def path(spark, name):
        system, at = real(spark, name)
        return Unwilling(system), at

    monkeypatch.setattr(files, "_path", path)
    with pytest.raises(
        SparkRunError, match=r"a\.json\.new can't be renamed to .*a\.json: the file system gives no reason"
    ):
        files.write_text(spark, f"{tmp_path}/a.json", "text")
    with pytest.raises(SparkRunError, match=r"_writing-3-\w+ can't be renamed to .*/batch=3"):
        FileSink(str(tmp_path / "out"))(spark.range(2), 3)


def test_files_of_a_killed_sink_are_removed(spark, tmp_path):
    from siddhi.spark import FileSink

    for name in ("_writing-3-abc", "_writing-33-abc"):
        (tmp_path / name).mkdir()
    sink = FileSink(str(tmp_path))
    assert sink(spark.range(2), 3) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["_writing-33-abc", "batch=3"]


def test_a_small_file_can_be_read_while_it_is_replaced(spark, tmp_path, monkeypatch):
    name, real, looks = f"{tmp_path}/a.json", files.exists, []
    files.write_text(spark, name, "first")

    def exists(spark, place):
        looks.append(place)
        return len(looks) > 2 and real(spark, place)  # it stood aside, and then it was back

    monkeypatch.setattr(files, "exists", exists)
    assert files.text_of(spark, name) == "first"
    monkeypatch.setattr(files, "exists", lambda spark, place: True)  # it went between the look and the reading
    (tmp_path / "a.json").rename(tmp_path / "a.json.old")
    assert files.text_of(spark, name) == "first"


def test_many_threads_can_replace_a_small_file(spark, tmp_path):
    name = f"{tmp_path}/a.json"
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda n: files.write_text(spark, name, str(n)), range(12)))
    assert files.text_of(spark, name) in map(str, range(12))
    assert files.names(spark, str(tmp_path)) == ["a.json"]
