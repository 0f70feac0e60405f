"""``siddhi run --engine spark --bind``."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from siddhi.cli.command import siddhi
from siddhi.cli.failures import BadInput
from siddhi.cli.spark_binds import Bind, bind_all, read_binds

APP = """define stream Trades (symbol string, price double);
from Trades[price > 2.0] select symbol, price insert into Dear;"""


def test_a_bind_as_people_type_it():
    text = "Trades=csv:/data/*.csv?timestamp=ts&watermark=10 seconds&sequence=a,b&max_idle=1 minute&sep=%3B"
    (bind,) = read_binds(None, None, (text,))
    assert bind == Bind("Trades", "csv", "/data/*.csv", "ts", "10 seconds", ("a", "b"), "1 minute", {"sep": ";"})
    (bind,) = read_binds(None, None, ("Trades=parquet:s3://bucket/trades?timestamp=ts",))
    assert (bind.path, bind.watermark, bind.options) == ("s3://bucket/trades", None, {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "spark", "--bind", "Trades=/data"], "is not of the form Stream=format:path?timestamp=column"),
        (["--engine", "spark", "--bind", "T=parquets:/data?timestamp=t"], "not 'parquets'; did you mean 'parquet'?"),
        (["--engine", "spark", "--bind", "T=kafka:topic?timestamp=t"], "for Kafka write @source(type='kafka', ...)"),
        (["--engine", "spark", "--bind", "T=parquet:/data"], "does not say which column is the event time"),
        (["--bind", "T=parquet:/data?timestamp=t"], "--bind goes with --engine spark"),
    ],
)
def test_binds_that_make_no_sense(tmp_path, arguments, message):
    path = tmp_path / "app.siddhi"
    path.write_text(APP)
    result = CliRunner().invoke(siddhi, ["run", str(path), *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


@pytest.fixture
def folder(tmp_path):
    for name in ("parquet", "csv", "json"):
        (tmp_path / name).mkdir()
    table = pa.table({"ts": [1000, 2000, 3000], "symbol": ["A", "B", None], "price": [1.0, 2.5, 3.5]})
    pq.write_table(table, tmp_path / "parquet" / "0.parquet")
    (tmp_path / "csv" / "0.csv").write_text("price,ts,symbol\n1.0,1000,A\n2.5,1970-01-01 00:00:02,B\n3.5,3000,\n")
    (tmp_path / "json" / "0.json").write_text(
        '{"ts": 1000, "symbol": "A", "price": 1.0}\n{"symbol": "B", "price": 2.5, "ts": "1970-01-01T00:00:02Z"}\n'
        '{"ts": 3000, "price": 3.5}\n'
    )
    return tmp_path


@pytest.mark.spark
@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_files_of_each_kind_at_once_and_as_they_come(spark, folder, format_):
    from siddhi.spark import MemorySink, SparkRuntime

    bind = Bind("Trades", format_, str(folder / format_), "ts")
    batch, stream = SparkRuntime(APP, spark), SparkRuntime(APP, spark)
    bind_all(batch, spark, [bind], streaming=False)
    want = [("B", 2.5, 2000), (None, 3.5, 3000)]
    assert sorted(map(tuple, batch.output("Dear", meta=True).collect()), key=lambda row: row[2]) == want
    bind_all(stream, spark, [bind], streaming=True)
    sink = MemorySink()
    now = {"availableNow": True}
    stream.start(str(folder / "checkpoint"), {"Dear": sink}, trigger=now).await_termination()
    assert sorted(sink.rows, key=lambda row: row[2]) == want


@pytest.mark.spark
def test_files_that_are_not_what_a_stream_needs(spark, folder):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(APP, spark)
    for bind, message in (
        (Bind("Trades", "parquet", str(folder / "parquet"), "tss"), r"there is no column 'tss'; did you mean 'ts'\?"),
        (Bind("Trades", "parquet", str(folder / "nowhere"), "ts"), r"nowhere can't be read: .*PATH_NOT_FOUND"),
    ):
        with pytest.raises(BadInput, match=message):
            bind_all(runtime, spark, [bind], streaming=False)
