"""The paths that a DataFrame is read from."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.spark.sources.locations import relation
from siddhi.spark.sources.read_locations import locations_of

pytestmark = pytest.mark.spark


def test_files_and_folders_of_a_frame(spark, tmp_path):
    for name in ("a", "b c"):
        spark.range(2).write.parquet(f"{tmp_path}/{name}")
    (tmp_path / "one.csv").write_text("id\n1\n")
    one, two = spark.read.parquet(f"{tmp_path}/a"), spark.read.parquet(f"{tmp_path}/b c")
    file = spark.read.csv(f"{tmp_path}/one.csv", header=True)

    def read(frame, *names):
        found = locations_of(frame)
        assert len(found) == len(names)
        return all(relation(str(tmp_path / name), place) == "is" for name, place in zip(names, found, strict=True))

    assert read(one.where("id > 0").unionAll(two.select("id")), "a", "b c")
    assert read(one.join(file, "id").join(one.withColumnRenamed("id", "other")), "a", "one.csv")
    assert read(spark.range(3))
    assert read(spark.createDataFrame([(1,)], "a int").unionAll(spark.range(1)))
    spark.read.parquet(f"{tmp_path}/b c").createOrReplaceTempView("read_places")
    assert read(spark.sql("select id + 1 as id from read_places"), "b c")


def test_the_files_of_a_stream(spark, tmp_path):
    (tmp_path / "in").mkdir()
    rows = spark.readStream.schema("id bigint").json(f"{tmp_path}/in/*.json")
    assert locations_of(rows.where("id > 1")) == [f"{tmp_path}/in/*.json"]
    assert locations_of(spark.readStream.format("rate").load()) == []
    assert locations_of(rows.unionAll(spark.readStream.schema("id bigint").parquet(f"{tmp_path}/in"))) == [
        f"{tmp_path}/in/*.json",
        f"{tmp_path}/in",
    ]
