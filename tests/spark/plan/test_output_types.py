"""Attributes of type object that would leave an engine are refused with their location."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkLoweringError
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.spark import SparkRuntime
from siddhi.spark.plan.output_types import refuse_objects

pytestmark = pytest.mark.filterwarnings("ignore:.* runs? on one shard")
STREAM = "define stream T (k string, price double);\n"
PATTERN = "from every a=T[price > 9.0]+, b=T[price < 5.0]\nselect b.price as low,\n  a.price as high insert into O;"


@pytest.mark.parametrize(
    ("text", "name", "line", "hint"),
    [
        (PATTERN, "O", 4, "select one event of the state: e[0].price or e[last].price"),
        (f"partition with (k of T) begin\n{PATTERN}\nend;", "O", 5, "select one event of the state"),
        (f"define stream O (low double, high object);\n{PATTERN}", "O", 5, "select one event of the state"),
        ("define stream O (low double, high object);", "O", 2, "select its value"),
        ("from T select createSet(k) as high\ninsert into O;", "O", 2, "select its value"),
        ("define stream U (low int, high object);\nfrom U select * insert into O;", "O", 3, "select its value"),
    ],
)
def test_the_error_has_location_and_hint(text, name, line, hint):
    with pytest.raises(SparkLoweringError, match="attribute 'high' of stream 'O' has type object") as told:
        refuse_objects(plan(parse(STREAM + text)), ["T", name])
    assert (told.value.code, told.value.line) == ("E412", line)
    assert hint in (told.value.hint or "")


def test_sinks_are_known_at_plan_time():
    sink = (
        "@sink(type = 'file', file.uri = '/nowhere', @map(type = 'json'))\ndefine stream O (low double, high object);\n"
    )
    with pytest.raises(SparkLoweringError, match="E412"):
        SparkRuntime(STREAM + sink + PATTERN, None)
    assert "O" in SparkRuntime(STREAM + PATTERN, None).explain()


@pytest.mark.spark
def test_objects_are_refused_in_batch_and_streams(spark, tmp_path):
    runtime = SparkRuntime(STREAM + PATTERN, spark)
    frame = spark.sql("select 'a' as k, 1D as price, 5L as ts")
    runtime.bind("T", frame, timestamp="ts")
    for call in (lambda: runtime.output("O"), runtime.run):
        with pytest.raises(SparkLoweringError, match="attribute 'high' of stream 'O'"):
            call()
    frame.write.parquet(str(tmp_path / "in"))
    runtime = SparkRuntime(STREAM + PATTERN, spark)
    rows = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "in"))
    runtime.bind("T", rows, timestamp="ts", watermark="0 seconds")
    with pytest.raises(SparkLoweringError, match="attribute 'high' of stream 'O'"):
        runtime.start(str(tmp_path / "checkpoint"), {"O": print})
