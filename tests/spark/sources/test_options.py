"""Options of sources and sinks are used or refused with their location; no Spark is needed."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkLoweringError
from siddhi.query_compiler import parse
from siddhi.spark import SparkRuntime
from siddhi.spark.sinks.declared import FileSink, LogSink, declared_sinks
from siddhi.spark.sources.annotations import connectors_of
from siddhi.spark.sources.kafka import kafka_options

KAFKA = "type = 'kafka', bootstrap.servers = 'one:9092', topic = 'trades'"


def app(source: str = "", sink: str = "", *, more: str = "") -> str:
    return f"""{source}{more} define stream S (ts long, symbol string, price double);
    {sink} define stream O (symbol string);
    from S select symbol insert into O;"""


def source(text: str, map_: str = "@map(type = 'json')", time: str = ", timestamp = 'ts'") -> str:
    return f"@source({text}{time}, {map_})\n"


def options_of(text: str) -> dict[str, str]:
    (connector,) = connectors_of(parse(text))
    return kafka_options(connector)


def test_options_of_kafka_are_passed_through():
    text = app(
        source(
            f"{KAFKA}, kafka.security.protocol = 'SASL_SSL', kafka.group.id = 'mine', startingOffsets = 'latest', "
            "maxOffsetsPerTrigger = '1000'"
        )
    )
    assert options_of(text) == {
        "kafka.bootstrap.servers": "one:9092",
        "subscribe": "trades",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.group.id": "mine",
        "startingOffsets": "latest",
        "maxOffsetsPerTrigger": "1000",
    }
    assert options_of(app(source(KAFKA)))["startingOffsets"] == "earliest"
    assert "startingOffsets" not in options_of(app(source(f"{KAFKA}, startingTimestamp = '1000'")))
    sink = f"@sink({KAFKA}, kafka.security.protocol = 'SSL', @map(type = 'json'))"
    assert options_of(app(sink=sink)) == {
        "kafka.bootstrap.servers": "one:9092",
        "topic": "trades",
        "kafka.security.protocol": "SSL",
    }


FILE = "type = 'file', file.uri = '/in'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (source(f"{KAFKA}, group.id = 'g'"), "has the unknown option 'group.id'.*hint: .*as kafka.group.id"),
        (source(f"{KAFKA}, startingOffset = 'latest'"), "did you mean 'startingOffsets'?"),
        (
            source(f"{KAFKA}, kafka.auto.offset.reset = 'latest'"),
            "has 'kafka.auto.offset.reset', which Spark sets itself",
        ),
        (source(FILE, "@map(type = 'csv', heder = 'false')"), "has the unknown option 'heder'.*did you mean 'header'?"),
        (source(f"{FILE}, on.error = 'LOG'", "@map(type = 'parquet')"), "has the unknown option 'on.error'"),
        (
            source(f"{FILE}, mode = 'LAX'", "@map(type = 'csv')"),
            "has the unknown mode 'LAX'.*use one of FAILFAST, DROPMALFORMED",
        ),
        (source(f"{FILE}, sequence = 'symbol'"), "sequence 'symbol' has type string"),
        (source(f"{KAFKA}, sequence = 'offsets'"), "the stream has no attribute 'offsets'"),
        (source(FILE, time=", timestamp = 'price'"), "event time 'price' has type double"),
        (
            source("type = 'rate', rowsPerSec = '5'"),
            "has the unknown option 'rowsPerSec'.*did you mean 'rowsPerSecond'?",
        ),
        (
            source(FILE, "@map(type = 'json', @attributes(symbol = '$.s'))"),
            "has @attributes, which Spark does not support",
        ),
    ],
)
def test_options_that_a_source_does_not_support_are_refused(text, message):
    with pytest.raises(SparkLoweringError) as caught:
        SparkRuntime(app(text), None)
    told = " ".join(str(caught.value).split())
    assert told.startswith("[E408] the ")
    assert "line 1, column 0" in told
    for part in message.split(".*"):
        assert part in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "@sink(type = 'file', file.uri = '/out/{{symbol}}', @map(type = 'csv'))",
            "'file.uri', which can't differ by row",
        ),
        ("@sink(type = 'log', priority = 'LOUD')", "has the unknown priority 'LOUD'"),
        ("@sink(type = 'log', @map(type = 'text', @payload('x')))", "has @payload, which Spark does not support"),
        ("@sink(type = 'file', file.uri = '/out', @map(type = 'csv', sepp = ';'))", "did you mean 'sep'?"),
        (
            "@sink(type = 'file', file.uri = '/o', @map(type = 'csv')) @sink(type = 'file', file.uri = '/o/')",
            "the file sink of 'O' writes to /o, as does the file sink of 'O'",
        ),
    ],
)
def test_options_that_a_sink_does_not_support_are_refused(text, message):
    with pytest.raises(SparkLoweringError) as caught:
        SparkRuntime(app(sink=text), None)
    assert message in str(caught.value)


def test_sources_of_a_stream_must_agree():
    two = source(f"{FILE}, watermark = '1 second'") + source("type = 'file', file.uri = '/other'")
    with pytest.raises(
        SparkLoweringError, match=r"the sources of 'S' differ in watermark: '1 second' and none.*line 2, column 0"
    ):
        SparkRuntime(app(two), None)


def test_every_sink_of_a_stream_is_created():
    text = app(
        sink="""@sink(type = 'file', file.uri = '/a', @map(type = 'parquet', compression = 'zstd'))
        @sink(type = 'file', file.uri = '/b', @map(type = 'csv', sep = ';', header = 'false'))
        @sink(type = 'log', prefix = 'p', priority = 'WARN')"""
    )
    parquet, csv, log = declared_sinks("app", connectors_of(parse(text)))["O"].sinks
    assert isinstance(parquet, FileSink)
    assert (parquet.path, parquet.options) == ("/a", {"compression": "zstd"})
    assert isinstance(csv, FileSink)
    assert (csv.options["sep"], csv.options["header"], csv.options["escape"]) == (";", "false", '"')
    assert isinstance(log, LogSink)
    assert (log.prefix, log.level) == ("p", 30)
