"""A path on a file system that Spark does not have is one clear error, from every caller."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkSetupError
from siddhi.spark import FileSink, SparkRuntime, files
from siddhi.spark.file_systems import reaching

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("place", "scheme", "hint"),
    [
        ("s3a://bucket/a", "s3a", "start the session with spark.jars.packages=org.apache.hadoop:hadoop-aws:{}"),
        (
            "s3://bucket/a",
            "s3",
            "open-source Spark calls this store s3a://; start the session with spark.jars.packages=",
        ),
        ("abfss://c@a.dfs.core.windows.net/a", "abfss", "spark.jars.packages=org.apache.hadoop:hadoop-azure:{}"),
        (
            "s4://bucket/a",
            "s4",
            "start the session with its package (spark.jars.packages), or correct the path",
        ),
    ],
)
def test_the_package_of_a_file_system_is_named(spark, place, scheme, hint):
    version = spark._jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    with pytest.raises(SparkSetupError) as caught:
        files.exists(spark, place)
    told = str(caught.value)
    assert told.startswith(f"{place} can't be reached, as Spark lacks the file system of {scheme}: ")
    assert hint.format(version) in told


def test_a_path_without_scheme_belongs_to_the_default_file_system(spark):
    with (
        pytest.raises(SparkSetupError, match=r"^/a can't be reached, as Spark lacks the file system of s4: "),
        reaching(spark, "/a"),
    ):
        spark.read.text("s4://bucket/a")


def test_other_errors_are_not_changed(spark):
    with pytest.raises(ZeroDivisionError), reaching(spark, "/a"):
        1 / 0  # noqa: B018
    with pytest.raises(Exception, match="Relative path"), reaching(spark, "a:b:c"):
        spark.read.text("a:b:c")


def test_checkpoints_and_sinks(spark, tmp_path):
    rows = spark.createDataFrame([(1, "A")], "ts bigint, symbol string")
    rows.write.json(str(tmp_path / "in"))
    text = f"""@source(type = 'file', file.uri = '{tmp_path}/in', timestamp = 'ts', @map(type = 'json'))
    define stream S (ts long, symbol string);
    @sink(type = 'file', file.uri = 's4://bucket/out', @map(type = 'json')) define stream O (symbol string);
    from S select symbol insert into O;"""
    runtime = SparkRuntime(text, spark)
    here, there = {"O": FileSink(f"{tmp_path}/out")}, {"O": FileSink("s4://bucket/out")}
    for place, call in (
        ("s4://bucket/out", runtime.write),
        ("s4://bucket/out", lambda: SparkRuntime(text, spark).start(f"{tmp_path}/checkpoint", there)),
        ("s4://bucket/checkpoint", lambda: SparkRuntime(text, spark).start("s4://bucket/checkpoint", here)),
        ("s4://bucket/checkpoint", lambda: runtime.state("s4://bucket/checkpoint")),
        ("s4://bucket/checkpoint", lambda: runtime.migrate("s4://bucket/checkpoint", f"{tmp_path}/new")),
    ):
        with pytest.raises(SparkSetupError, match=rf"^{re.escape(place)}\S* can't be reached, as Spark lacks"):
            call()
    assert not (tmp_path / "checkpoint").exists()
