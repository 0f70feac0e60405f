"""A folder of output belongs to one checkpoint."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark.sinks.ownership import Owner, claim, require_own
from tests.spark.checkpoint.test_refused_starts import NOW, SUM, app, put

pytestmark = pytest.mark.spark


def test_the_owner_of_a_folder(spark, tmp_path):
    folder = str(tmp_path / "out")
    new = Owner("one", "1")
    require_own(spark, folder, new)
    claim(spark, folder, new)
    require_own(spark, folder, Owner("other", "2"))  # nothing has been written there
    (tmp_path / "out" / "batch=0").mkdir()
    (tmp_path / "out" / "batch=7").mkdir()
    begun = replace(new, last=7)
    require_own(spark, folder, begun)
    for other in (Owner("other", "2"), Owner("other", "2", last=9)):
        with pytest.raises(
            SparkRunError, match=r"folder .*/out has batches that checkpoint other did not write.*: use another folder"
        ):
            require_own(spark, folder, other)

    # One that was made of it goes on behind its batches, and then it is the folder's.
    child = Owner("child", "3", ("0", "1"), last=7)
    with pytest.raises(SparkRunError, match="checkpoint child did not write"):
        require_own(spark, folder, replace(child, last=6))
    require_own(spark, folder, child)
    claim(spark, folder, child)
    with pytest.raises(SparkRunError, match="checkpoint one did not write"):
        require_own(spark, folder, begun)

    # Without a mark: written by a version that set none.
    (tmp_path / "out" / "_siddhi").unlink()
    require_own(spark, folder, begun)
    for other in (new, replace(new, last=6)):
        with pytest.raises(SparkRunError, match="checkpoint one did not write"):
            require_own(spark, folder, other)


def test_a_new_checkpoint_does_not_overwrite_the_folder_of_another(spark, tmp_path):
    from siddhi.spark import FileSink

    put(tmp_path, (1000, "a", 1), (5000, "a", 2))
    folder, old, new = str(tmp_path / "out"), str(tmp_path / "old"), str(tmp_path / "new")

    def written() -> list[int]:
        return sorted(row["s"] for row in spark.read.parquet(folder).collect())

    app(spark, tmp_path, SUM).start(old, {"Out": FileSink(folder)}, trigger=NOW).await_termination()
    assert written() == [1]
    with pytest.raises(SparkRunError, match=r"has batches that checkpoint .*/new did not write"):
        app(spark, tmp_path, SUM).start(new, {"Out": FileSink(folder)}, trigger=NOW)
    wider = app(spark, tmp_path, SUM, shards=4)
    wider.migrate(old, new)
    assert wider.finish(new, {"Out": FileSink(folder)}).written == {"Out": 1}
    assert written() == [1, 3]
    with pytest.raises(SparkRunError, match=r"has batches that checkpoint .*/old did not write"):
        app(spark, tmp_path, SUM).finish(old, {"Out": FileSink(folder)})


def test_a_folder_with_other_files_is_refused(spark, tmp_path):
    folder, new = str(tmp_path / "out"), Owner("one", "1")
    (tmp_path / "out").mkdir()
    for name in ("_SUCCESS", "_temporary", ".hidden"):
        (tmp_path / "out" / name).touch()
    require_own(spark, folder, new)  # Spark does not read them
    (tmp_path / "out" / "report.txt").touch()
    told = r"folder .*/out has files that no stream wrote \(report\.txt\), which would be read as its rows: use another folder"
    for owner in (new, replace(new, last=3)):
        with pytest.raises(SparkRunError, match=told):
            require_own(spark, folder, owner)
    claim(spark, folder, new)  # what is put beside the rows later is none of our business
    require_own(spark, folder, new)
    require_own(spark, folder, Owner("child", "2", ("1",)))
    with pytest.raises(SparkRunError, match=told):
        require_own(spark, folder, Owner("other", "3"))
    with pytest.raises(SparkRunError, match=r"report\.txt is a file, and the sink writes a folder"):
        require_own(spark, f"{folder}/report.txt", new)


def test_two_sinks_cannot_share_a_folder():
    from siddhi.spark import FileSink
    from siddhi.spark.streaming.starting import _folders

    with pytest.raises(ValueError, match="the sink of 'B' writes to there, as does another sink"):
        _folders({"A": FileSink("there"), "B": FileSink("there/")})
    with pytest.raises(ValueError, match="the sink of 'B' writes to there/b, which lies within there of another sink"):
        _folders({"A": FileSink("there"), "B": FileSink("there/b")})


def test_a_folder_claimed_by_another_before_the_first_row_is_detected(spark, tmp_path):
    from siddhi.spark import FileSink

    folder = str(tmp_path / "out")
    first, second = FileSink(folder), FileSink(folder)
    first.claim(spark, Owner("first", "1"))
    second.claim(spark, Owner("second", "2"))
    with pytest.raises(SparkRunError, match="claimed by another checkpoint than first"):
        first(spark.range(1), 0)
    assert second(spark.range(1), 0) == 1


def test_a_folder_claimed_by_another_during_a_stream_is_detected(spark, tmp_path):
    from siddhi.spark import FileSink

    folder = str(tmp_path / "out")
    first, second = FileSink(folder), FileSink(folder)
    first.claim(spark, Owner("first", "1"))
    assert first(spark.range(1), 4) == 1
    second.claim(spark, Owner("second", "2", ("1",), 4))
    assert second(spark.range(3), 5) == 3
    with pytest.raises(SparkRunError, match="claimed by another checkpoint than first"):
        first(spark.range(1), 5)  # it would pass for written

    third = FileSink(folder)

    class Slow:
        """Rows that take so long that somebody else comes meanwhile."""

        def __init__(self, frame):
            self._frame = frame
            self.sparkSession = frame.sparkSession

        def observe(self, *counts):
            third.claim(spark, Owner("third", "3", ("1", "2"), 5))
            return self._frame.observe(*counts)

    with pytest.raises(SparkRunError, match="claimed by another checkpoint than second"):
        second(Slow(spark.range(1)), 6)
    assert third(spark.range(2), 6) == 2
    assert spark.read.parquet(f"{folder}/batch=6").count() == 2
