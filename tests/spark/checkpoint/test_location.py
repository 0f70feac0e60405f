"""A checkpoint stays where it was written, for all spellings of its path; a copy is refused."""

from __future__ import annotations

import json
import os
import shutil

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkRunError
from siddhi.spark import files
from siddhi.spark.checkpoint.manifest import Manifest, mark_closed, read_manifest, write_manifest
from siddhi.spark.plan.state_keys import EVEN, NUMBERS, StateKeys

pytestmark = pytest.mark.spark

APP = "@app:name('Sums') define stream S (k string, v int); from S select k, sum(v) as s group by k insert into Out;"


def runtime(spark, folder, shards: int = 2):
    from siddhi.spark import SparkRuntime

    (folder / "in").mkdir(exist_ok=True)
    found = SparkRuntime(APP, spark, shards=shards)
    rows = spark.readStream.schema("ts bigint, k string, v int").parquet(str(folder / "in"))
    found.bind("S", rows, timestamp="ts", watermark="1 second")
    return found


def written(spark, checkpoint: str, path: str | None = None) -> Manifest:
    """A checkpoint of which only the location is read."""
    made = Manifest(
        "Sums", [], ["S"], {}, 2, 2, "drop", path=files.qualified(spark, checkpoint) if path is None else path
    )
    write_manifest(spark, checkpoint, made)
    return made


def all_files(folder) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("closed", [False, True])
def test_a_copy_is_refused_before_the_start(spark, tmp_path, monkeypatch, closed):
    from siddhi.spark import FileSink
    from siddhi.spark.checkpoint import resharding
    from siddhi.spark.streaming import starting

    for module, name in ((starting, "start_query"), (resharding, "write_state")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("it goes on"))
    original, copy = str(tmp_path / "one"), str(tmp_path / "two")
    written(spark, original)
    if closed:
        mark_closed(spark, original, "hold")
    shutil.copytree(original, copy)
    before = all_files(tmp_path)
    here, sinks = runtime(spark, tmp_path), {"Out": FileSink(str(tmp_path / "out"))}
    told = r"checkpoint \S+/two was moved or copied from file:\S+/one \(Spark stores absolute paths"
    for call in (
        lambda: here.start(copy, sinks, reopen=closed),
        lambda: here.start(copy, sinks, reopen=closed, evolve=True),
        lambda: here.finish(copy, sinks, reopen=closed),
        lambda: here.punctuate("S", 5000, checkpoint=copy),
        lambda: runtime(spark, tmp_path, shards=4).migrate(copy, str(tmp_path / "new")),
        lambda: here.state(copy),
    ):
        with pytest.raises(SparkRunError, match=told):
            call()
    shutil.rmtree(original)  # one that was moved: there is no other
    with pytest.raises(SparkRunError, match=told):
        here.start(copy, sinks, reopen=closed)
    shutil.move(copy, original)
    assert all_files(tmp_path) == {name: data for name, data in before.items() if "/two/" not in name}
    assert read_manifest(spark, original) is not None


def test_a_checkpoint_is_recognized_by_every_spelling_of_its_path(spark, tmp_path):
    place = tmp_path / "a checkpoint"
    made = written(spark, str(place))
    assert made.path == f"file:{place}"
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    relative = os.path.relpath(place, spark._jvm.java.lang.System.getProperty("user.dir"))
    spellings = (f"{place}/", f"file:{place}", f"file://{place}", relative, f"{tmp_path}/./x/../a checkpoint")
    for path in (*spellings, f"{tmp_path}//a checkpoint", f"{tmp_path}/link/a checkpoint"):
        assert read_manifest(spark, path) == made, path


def test_a_manifest_of_format_2_has_numbers_as_keys() -> None:
    data = json.loads(Manifest("Sums", [], ["S"], {}, 2, 2, "drop", "there").to_json())
    assert Manifest.from_json(json.dumps(data), "there").state_keys == StateKeys(EVEN, 2)
    old = {name: value for name, value in data.items() if name != "keys"} | {"format": 2}
    kept = Manifest.from_json(json.dumps(old), "there")
    assert kept.state_keys == StateKeys(NUMBERS, 2)
    assert Manifest.from_json(kept.to_json(), "there") == kept
    for unknown in ({"format": 1}, {"format": 4}, {"keys": "other"}):
        with pytest.raises(SparkRunError, match="has a format that siddhi"):
            Manifest.from_json(json.dumps(data | unknown), "there")
