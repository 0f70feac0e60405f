"""A folder of output keeps its format."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark.sinks.written_format import require_format
from siddhi.spark.sources.annotations import FILE_FORMATS
from tests.spark.checkpoint.test_refused_starts import NOW, SUM, app, put

pytestmark = pytest.mark.spark


def test_the_format_of_batches_is_known_by_their_files(spark, tmp_path):
    folder = str(tmp_path / "out")
    require_format(spark, folder, "csv")  # nothing is there
    names = ["0-a.csv", "0-a-c000.snappy.parquet", "1-a-c000.json.gz", "00.zlib.orc", "0.csv.gz", "0.gz.parquet"]
    for batch, name in enumerate(names, 2):
        (tmp_path / "out" / f"batch={batch}").mkdir(parents=True)
        (tmp_path / "out" / f"batch={batch}" / f"part-{name}").touch()
        (tmp_path / "out" / f"batch={batch}" / "_SUCCESS").touch()
        (own,) = [format_ for format_ in FILE_FORMATS if format_ in name]
        require_format(spark, folder, own)
        for other in set(FILE_FORMATS) - {own}:
            with pytest.raises(
                SparkRunError, match=rf"folder .*/out has batches in {own}, and no reader takes {other} beside"
            ):
                require_format(spark, folder, other)
    (tmp_path / "out" / "batch=70").mkdir()
    (tmp_path / "out" / "batch=70" / "made by somebody.txt").touch()
    require_format(spark, folder, "csv")  # not known


def test_a_stream_does_not_continue_in_another_format(spark, tmp_path):
    from siddhi.spark import FileSink

    put(tmp_path, (1000, "a", 1), (5000, "a", 2))
    folder, checkpoint = str(tmp_path / "out"), str(tmp_path / "checkpoint")

    def run(format_: str) -> None:
        app(spark, tmp_path, SUM).start(checkpoint, {"Out": FileSink(folder, format_)}, trigger=NOW).await_termination()

    run("json")
    for again in range(2):
        put(tmp_path, (9000 + 4000 * again, "a", 3))
        with pytest.raises(SparkRunError, match="write json, or use another folder"):
            run("csv")
        run("json")
    assert len(spark.read.json(folder).collect()) == 3
