"""A batch replaces the output of the last one, and nothing else."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import AnalysisException

from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark.sinks.replaced import clear, require_replaceable

pytestmark = pytest.mark.spark

NOW = {"availableNow": True}


def app(folder, *sinks: str) -> str:
    told = "".join(f"@sink(type = 'file', file.uri = '{folder}/{name}', @map(type = 'parquet'))" for name in sinks)
    return f"""@app:name('Kept')
    @source(type = 'file', file.uri = '{folder}/in', timestamp = 'ts', watermark = '0 seconds', @map(type = 'parquet'))
    define stream S (ts long, a string);
    {told} define stream O (ts long, a string);
    from S select ts, a insert into O;"""


def put(spark, folder, *rows: tuple[int, str]) -> None:
    spark.createDataFrame(rows, "ts bigint, a string").coalesce(1).write.mode("append").parquet(f"{folder}/in")


def rows(spark, folder, name: str = "out") -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.read.parquet(f"{folder}/{name}").select("ts", "a").collect())


def test_a_batch_replaces_the_output_of_the_last_one(spark, tmp_path):
    from siddhi.spark import SparkRuntime

    put(spark, tmp_path, (1, "x"))
    (tmp_path / "out").mkdir()  # an empty one is taken
    for n, more in enumerate([[], [(2, "y")], [(3, "z")]], 1):
        if more:
            put(spark, tmp_path, *more)
        assert SparkRuntime(app(tmp_path, "out"), spark).write() == ["O"]
        assert len(rows(spark, tmp_path)) == n
    assert "_siddhi_write" in files.names(spark, f"{tmp_path}/out")


def test_other_files_are_kept_and_nothing_is_written(spark, tmp_path):
    from siddhi.spark import SparkRuntime

    put(spark, tmp_path, (1, "x"))
    SparkRuntime(app(tmp_path, "first"), spark).write()
    (tmp_path / "second").mkdir()
    for name in ("report.txt", "a.parquet", "part-0.parquet", "_delta_log"):
        report = tmp_path / "second" / name
        report.write_text("mine")
        before = sorted(tmp_path.rglob("*"))
        with pytest.raises(
            SparkRunError,
            match=rf"folder .*/second has files that no batch of an app wrote .*\({name}\): use another folder",
        ):
            SparkRuntime(app(tmp_path, "first", "second"), spark).write()
        assert sorted(tmp_path.rglob("*")) == before  # all sinks are looked at before the first is touched
        report.unlink()
    # Beside rows of a batch, too.
    (tmp_path / "first" / "report.txt").write_text("mine")
    with pytest.raises(SparkRunError, match=r"folder .*/first has files that no batch of an app wrote"):
        SparkRuntime(app(tmp_path, "first"), spark).write()
    assert rows(spark, tmp_path, "first/part-*") == [(1, "x")]
    (tmp_path / "file").write_text("mine")
    with pytest.raises(SparkRunError, match="/file is a file, and the sink writes a folder"):
        SparkRuntime(app(tmp_path, "file"), spark).write()


def test_batches_and_streams_cannot_share_a_folder(spark, tmp_path):
    from siddhi.spark import SparkRuntime

    put(spark, tmp_path, (1, "x"))
    runtime = SparkRuntime(app(tmp_path, "out"), spark)
    runtime.start(f"{tmp_path}/checkpoint", trigger=NOW).await_termination()
    belongs = r"folder .*/out belongs to a stream, whose rows a batch would delete: use another folder for the batch"
    with pytest.raises(SparkRunError, match=belongs):
        SparkRuntime(app(tmp_path, "out"), spark).write()
    (tmp_path / "out" / "_siddhi").unlink()  # of a version that set no mark
    with pytest.raises(SparkRunError, match=belongs):
        SparkRuntime(app(tmp_path, "out"), spark).write()
    put(spark, tmp_path, (2, "y"))
    assert SparkRuntime(app(tmp_path, "out"), spark).finish(f"{tmp_path}/checkpoint").written == {"O": 1}
    assert rows(spark, tmp_path) == [(1, "x"), (2, "y")]

    SparkRuntime(app(tmp_path, "batch"), spark).write()
    with pytest.raises(
        SparkRunError, match=r"folder .*/batch has files that no stream wrote \(part-.*\), which would be"
    ):
        SparkRuntime(app(tmp_path, "batch"), spark).start(f"{tmp_path}/other", trigger=NOW)
    assert not (tmp_path / "other" / "siddhi" / "manifest.json").exists()


def test_incomplete_output_of_a_crash_can_be_replaced(spark, tmp_path, monkeypatch):
    from siddhi.spark import FileSink

    folder, frame = str(tmp_path / "out"), spark.range(3)
    FileSink(folder).write_all(frame)
    real, left = files.delete, [0]

    def delete(spark, name):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        real(spark, name)

    monkeypatch.setattr(files, "delete", delete)
    for n in range(3):  # amid the deletions
        left[0] = n
        with pytest.raises(KeyboardInterrupt):
            clear(spark, folder)
        require_replaceable(spark, folder)
        monkeypatch.setattr(files, "delete", real)
        FileSink(folder).write_all(frame)
        monkeypatch.setattr(files, "delete", delete)
    monkeypatch.setattr(files, "delete", real)
    with pytest.raises(Exception, match="no more"):  # amid the rows
        FileSink(folder).write_all(frame.selectExpr("cast(raise_error('no more') as bigint) as id"))
    (tmp_path / "out" / "_temporary").mkdir(exist_ok=True)
    (tmp_path / "out" / "part-00000-half.parquet").write_text("half")
    FileSink(folder).write_all(frame)
    assert spark.read.parquet(folder).count() == 3


def test_without_access_to_files_a_folder_must_be_new(spark, tmp_path, monkeypatch):
    from siddhi.spark import FileSink

    monkeypatch.setattr(files, "is_reachable", lambda spark: False)  # as over Spark Connect
    sink = FileSink(str(tmp_path / "out"))
    sink.require_replaceable(spark)
    sink.write_all(spark.range(3))
    with pytest.raises(AnalysisException, match="PATH_ALREADY_EXISTS"):
        sink.write_all(spark.range(3))
    assert spark.read.parquet(str(tmp_path / "out")).count() == 3
