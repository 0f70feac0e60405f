"""Sources and sinks by annotation, batch and stream."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq
from click.testing import CliRunner

from siddhi.cli.command import siddhi
from siddhi.errors import SparkLoweringError, SparkSetupError

pytestmark = pytest.mark.spark


def app(folder) -> str:
    return f"""@app:name('Files')
    @source(type = 'file', file.uri = '{folder}/in', timestamp = 'ts', watermark = '1 second', @map(type = 'parquet'))
    define stream Trades (ts long, symbol string, price double);
    @sink(type = 'file', file.uri = '{folder}/out', @map(type = 'json'))
    define stream Dear (symbol string, price double);
    from Trades[price > 2.0] select symbol, price insert into Dear;"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    rows = {"ts": [1000, 2000, 3000], "symbol": ["A", "B", None], "price": [1.0, 2.5, 3.5]}
    pq.write_table(pa.table(rows), tmp_path / "in" / "0.parquet")
    return tmp_path


def written(folder) -> list[str]:
    return sorted(line for path in folder.rglob("*.json") for line in path.read_text().splitlines())


def test_a_batch_from_files_into_files(spark, folder):
    from siddhi.spark import SparkRuntime

    assert SparkRuntime(app(folder), spark).write() == ["Dear"]
    assert written(folder / "out") == ['{"symbol":"B","price":2.5}', '{"symbol":null,"price":3.5}']


def test_a_stream_from_files_into_files(spark, folder):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(app(folder), spark)
    runtime.start(str(folder / "checkpoint"), trigger={"availableNow": True}).await_termination()
    assert written(folder / "out") == [
        '{"symbol":"B","price":2.5}',
        '{"symbol":null,"price":3.5}',
    ]


def test_kafka_requires_its_package(spark):
    from siddhi.spark import SparkRuntime

    text = """@source(type = 'kafka', bootstrap.servers = 'localhost:9092', topic = 't', timestamp = 'ts', @map(type = 'json'))
    define stream Trades (ts long); from Trades select ts insert into Out;"""
    with pytest.raises(
        SparkSetupError, match=r"spark\.jars\.packages=org\.apache\.spark:spark-sql-kafka-0-10_2\.13:\d"
    ):
        SparkRuntime(text, spark).output("Out")


FOREIGN = """define stream Here (a int);
@source(type = 'tcp', context = 'there', @map(type = 'binary'))
define stream There (a int);
@sink(type = 'http', publisher.url = 'http://localhost', @map(type = 'json'))
define stream Out (a int);
from There select a insert into Out;"""


def test_unsupported_sources_are_refused_when_they_are_read():
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(FOREIGN, None)  # its user may bind the stream
    assert "from There into Out" in runtime.explain()
    with pytest.raises(SparkLoweringError) as caught:
        runtime.output("Out")
    assert str(caught.value).startswith("[E409] Spark can't read the tcp source of 'There', as it must read rows again")
    assert "line 2, column 0" in str(caught.value)
    assert "hint: use bind('There', frame, ...), or a source that keeps its events: kafka, file" in str(caught.value)


def test_unsupported_sinks_are_refused_when_they_are_written(spark):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(FOREIGN, spark)
    runtime.bind("There", spark.createDataFrame([(1, 1000)], "a int, t bigint"), timestamp="t")
    assert [tuple(row) for row in runtime.output("Out").collect()] == [(1,)]
    with pytest.raises(
        SparkLoweringError, match=r"\[E409\] Spark does not support the http sink of 'Out'.*line 4, column 0"
    ):
        runtime.write()


def test_the_command_line_explains_without_java(tmp_path):
    path = tmp_path / "app.siddhi"
    path.write_text("define stream S (a int); from S[a > 1] select a insert into O;")
    result = CliRunner().invoke(siddhi, ["run", str(path), "--engine", "spark", "--explain"])
    assert result.exit_code == 0, result.output
    assert "Catalyst stage query_1: filter and projection" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shards", "3", "--input", "S=x.csv"], "--shards requires --engine spark"),
        (["--engine", "spark", "--until", "5", "--input", "S=x.csv"], "--engine spark does not support --until"),
        (["--engine", "spark", "--input", "S=x.csv"], "--engine spark needs --timestamp"),
        (["--engine", "spark", "--trigger", "5 seconds", "--input", "S=x.csv"], "--trigger requires --checkpoint"),
        (["--finish", "--input", "S=x.csv"], "--finish requires --engine spark"),
        (["--engine", "spark", "--finish", "--input", "S=x.csv"], "--finish requires --checkpoint"),
        (["--engine", "spark", "--late", "side", "--input", "S=x.csv"], "--late requires --checkpoint"),
        (
            ["--engine", "spark", "--checkpoint", "c", "--finish", "--trigger", "5 seconds"],
            "--finish processes the available input: it can't be combined with --trigger",
        ),
        (
            ["--engine", "spark", "--checkpoint", "c", "--end-of-input", "flush"],
            "--end-of-input requires --finish: without it the stream continues at the next start",
        ),
        (
            ["--engine", "spark", "--checkpoint", "c", "--timestamp", "ts"],
            "--timestamp can't be combined with --checkpoint",
        ),
        (
            ["--engine", "spark", "--checkpoint", "c", "--emit-timestamp", "t"],
            "--emit-timestamp can't be combined with --checkpoint",
        ),
        (["--engine", "spark", "--output", "O=o.csv", "--output", "S=o.csv"], "more than one --output writes to"),
    ],
)
def test_conflicting_options_are_refused(tmp_path, arguments, message):
    path = tmp_path / "app.siddhi"
    path.write_text("define stream S (a int); from S select a insert into O;")
    result = CliRunner().invoke(siddhi, ["run", str(path), *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
