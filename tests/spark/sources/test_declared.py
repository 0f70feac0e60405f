"""Several sources and sinks of one stream, and invalid bindings."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from siddhi.errors import SparkLoweringError, SparkRunError

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:.*runs? on one shard")]

NOW = {"availableNow": True}
ROWS = "define stream S (n long, ts long);\n"
SCHEMA = "n bigint, ts bigint"
IN_ORDER = "@info(name = 'q') from S#window.length(2) select n, sum(n) as s insert into O;"


def source(folder, name: str, more: str = "") -> str:
    return f"""@source(type = 'file', file.uri = '{folder}/{name}', timestamp = 'ts', watermark = '1 second'{more},
    @map(type = 'parquet'))\n"""


def write(spark, folder, name: str, *rows: tuple[int, ...], schema: str = SCHEMA) -> None:
    spark.createDataFrame(rows, schema).coalesce(1).write.mode("append").parquet(f"{folder}/{name}")


def out(spark, text: str) -> list[tuple[object, ...]]:
    from siddhi.spark import SparkRuntime

    return [tuple(row) for row in SparkRuntime(text, spark).output("O").collect()]


def test_all_sources_of_a_stream_are_read_in_order(spark, tmp_path):
    write(spark, tmp_path, "a", (1, 10), (4, 30))
    write(spark, tmp_path, "b", (2, 10), (3, 20))
    both = source(tmp_path, "a") + source(tmp_path, "b")
    assert out(spark, both + ROWS + IN_ORDER) == [(1, 1), (2, 3), (3, 5), (4, 7)]
    turned = source(tmp_path, "b") + source(tmp_path, "a")
    assert out(spark, turned + ROWS + IN_ORDER) == [(2, 2), (1, 3), (3, 4), (4, 7)]


def test_rows_of_one_millisecond_are_ordered_by_sequence(spark, tmp_path):
    write(spark, tmp_path, "a", (1, 10, 3), (2, 10, 2), (3, 10, 1), schema="n bigint, ts bigint, place int")
    for names, want in (("place", [3, 2, 1]), ("n", [1, 2, 3])):
        found = out(spark, source(tmp_path, "a", f", sequence = '{names}'") + ROWS + IN_ORDER)
        assert [n for n, _ in found] == want
    with pytest.raises(SparkLoweringError, match="there is no column 'plaice'; did you mean 'place'"):
        out(spark, source(tmp_path, "a", ", sequence = 'plaice'") + ROWS + IN_ORDER)


def test_several_sources_and_sinks_of_a_continuous_stream(spark, tmp_path):
    from siddhi.spark import SparkRuntime

    sinks = "".join(f"@sink(type = 'file', file.uri = '{tmp_path}/{n}', @map(type = 'json'))" for n in ("x", "y"))
    text = f"{ROWS}{sinks} define stream O (n long, s long);\n{IN_ORDER}"
    checkpoint = str(tmp_path / "checkpoint")

    def written(name: str) -> list[tuple[object, ...]]:
        frame = spark.read.json(f"{tmp_path}/{name}").drop("batch")
        assert frame.columns == ["n", "s"]
        return sorted(tuple(row) for row in frame.collect())

    def runtime(*names: str) -> SparkRuntime:
        return SparkRuntime("".join(source(tmp_path, n) for n in names) + text, spark, shards=2)

    write(spark, tmp_path, "a", (1, 10), (3, 30))
    write(spark, tmp_path, "b", (2, 20))
    runtime("a", "b").start(checkpoint, trigger=NOW).await_termination()
    write(spark, tmp_path, "b", (4, 40))
    with pytest.raises(SparkRunError, match=r"the bindings \(time, watermark, sequence\) are"):
        runtime("a").start(checkpoint, trigger=NOW)
    with pytest.raises(SparkRunError, match=r"the bindings \(time, watermark, sequence\) are"):
        runtime("a", "b", "b").start(checkpoint, trigger=NOW)
    runtime("a", "b").finish(checkpoint)
    assert written("x") == written("y") == [(1, 1), (2, 3), (3, 5), (4, 7)]


def test_all_sinks_of_a_stream_are_written_together(spark, tmp_path):
    from siddhi.spark import SparkRuntime

    write(spark, tmp_path, "a", (1, 10))
    sinks = "".join(f"@sink(type = 'file', file.uri = '{tmp_path}/{n}', @map(type = 'parquet'))" for n in ("x", "y"))
    text = f"{sinks} define stream O (n long, s long);\n{source(tmp_path, 'a')}{ROWS}{IN_ORDER}"
    assert SparkRuntime(text, spark).write() == ["O"]
    assert [spark.read.parquet(f"{tmp_path}/{n}").count() for n in ("x", "y")] == [1, 1]


def test_rows_of_a_rate_source(spark):
    text = "@source(type = 'rate', timestamp = 'ts') define stream S (n long, ts long); from S select n insert into O;"
    with pytest.raises(
        SparkLoweringError, match="the rate source of 'S' generates rows over time, so it has none in batch"
    ):
        out(spark, text)


BOTH = "define stream S (n long); from S[n > 0] select n insert into O; from S#window.length(2) select n insert into P;"


def test_invalid_bindings_are_refused(spark, tmp_path):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(BOTH, spark)
    frame = spark.createDataFrame([(1, 10, "a")], "n bigint, ts bigint, word string")
    with pytest.raises(
        ValueError, match=r"stream 'S' can't be bound: there is no column 'm' for sequence; did you mean|'m'"
    ):
        runtime.bind("S", frame, timestamp="ts", sequence=["m"])
    with pytest.raises(ValueError, match="column 'word' of sequence has type string: expected integers"):
        runtime.bind("S", frame, timestamp="ts", sequence=["word"])
    frame.write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path / "in"))
    wrong = ({"watermark": "ten"}, {"watermark": "10 seconds", "max_idle": "-1 second"})
    for rows, told in ((rows, told) for rows in (stream, frame) for told in wrong):
        with pytest.raises(
            ValueError, match=r"stream 'S' can't be bound: (watermark: invalid interval 'ten'|max_idle: )"
        ):
            runtime.bind("S", rows, timestamp="ts", **told)


@pytest.mark.parametrize("output", ["O", "P"])
@pytest.mark.parametrize("prefer", ["native", "engine"])
def test_a_row_without_event_time_is_refused_by_every_reader(spark, output, prefer):
    from siddhi.spark import SparkRuntime
    from siddhi.spark.failures import BadRowError, run_errors

    runtime = SparkRuntime(BOTH, spark, prefer=prefer)
    runtime.bind("S", spark.createDataFrame([(1, 10), (2, None)], SCHEMA), timestamp="ts")
    with pytest.raises(BadRowError, match="stream 'S': a row has no event time in column 'ts'"), run_errors():
        runtime.output(output).collect()


def test_a_row_without_event_time_ends_a_stream(spark, tmp_path):
    from siddhi.spark import MemorySink, SparkRuntime

    write(spark, tmp_path, "in", (1, 10), (2, None))
    for output in ("O", "P"):
        runtime = SparkRuntime(BOTH, spark, shards=2)
        rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
        runtime.bind("S", rows, timestamp="ts", watermark="1 second")
        query = runtime.start(str(tmp_path / f"checkpoint-{output}"), {output: MemorySink()}, trigger=NOW)
        with pytest.raises(SparkRunError, match="stream 'S': a row has no event time in column 'ts'"):
            query.await_termination()


def test_rows_of_a_stream_without_state_are_counted(spark, tmp_path):
    from siddhi.spark import FileSink, MemorySink, SparkRuntime

    write(spark, tmp_path, "in", (1, 10), (0, 15), (2, 20))
    taken: list[int] = []
    sinks = (MemorySink(), FileSink(str(tmp_path / "out")), lambda frame, batch: taken.append(frame.limit(1).count()))
    for n, sink in enumerate(sinks):
        runtime = SparkRuntime("define stream S (n long); from S[n > 0] select n insert into O;", spark)
        rows = spark.readStream.schema(SCHEMA).parquet(str(tmp_path / "in"))
        runtime.bind("S", rows, timestamp="ts", watermark="1 second")
        query = runtime.start(str(tmp_path / f"checkpoint-{n}"), {"O": sink}, trigger=NOW)
        query.await_termination()
        assert query.written == {"O": 2}
    assert taken == [1]


def test_cached_rows_are_released_after_the_write(spark, tmp_path):
    from siddhi.spark import SparkRuntime

    write(spark, tmp_path, "a", (1, 10), (2, 20))
    sink = f"@sink(type = 'file', file.uri = '{tmp_path}/out', @map(type = 'parquet'))"
    runtime = SparkRuntime(f"{source(tmp_path, 'a')}{ROWS}{sink} define stream O (n long, s long);\n{IN_ORDER}", spark)

    def cached() -> int:
        return len(spark.sparkContext._jsc.getPersistentRDDs())

    before = cached()
    assert runtime.write() == ["O"]
    assert cached() == before
    found = runtime.run(["O"])["O"]
    assert found.count() == 2
    assert cached() == before + 1
    runtime.release()
    assert cached() == before
    assert found.count() == 2


def test_ambiguous_column_names_are_reported(spark):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(ROWS + IN_ORDER, spark)
    frame = spark.sql("select 1L as n, 2L as ts, 3L as seq")
    for more, told in (
        ({"n": "n"}, "there are 2 columns 'n'"),
        ({"ts": "ts"}, "there are 2 columns 'ts'"),
        ({"seq": "seq"}, "there are 2 columns 'seq'"),
        ({"seq": "Seq"}, "columns 'seq' and 'Seq' differ in case only"),
        ({"seq": "TS"}, "columns 'ts' and 'TS' differ in case only"),
    ):
        twice = frame.selectExpr("*", *(f"{name} as {other}" for name, other in more.items()))
        with pytest.raises(ValueError, match=f"^stream 'S' can't be bound: {told}"):
            runtime.bind("S", twice, timestamp="ts", sequence=["seq"])
    for wrong, told in (
        ({"timestamp": frame["ts"]}, "timestamp must be a string, not Column<'ts'>"),
        ({"timestamp": None}, "timestamp must name the column of event time"),
        ({"timestamp": "ts", "sequence": [frame["seq"]]}, "sequence must be a string, not Column<'seq'>"),
    ):
        with pytest.raises(TypeError, match=f"^stream 'S' can't be bound: {told}"):
            runtime.bind("S", frame, **wrong)


def test_times_and_sequences_can_have_any_name(spark):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(ROWS + IN_ORDER, spark)
    frame = spark.sql("select id as n, 0L as ts, 7L as `at ``.0`, -id as `a.``b` from range(3)")
    runtime.bind("S", frame, timestamp="at `.0", sequence=["a.`b"])
    assert [tuple(row) for row in runtime.output("O", meta=True).collect()] == [(2, 2, 7), (1, 3, 7), (0, 1, 7)]


def test_a_time_without_zone_is_warned_of(spark):
    from siddhi.spark import SparkRuntime

    runtime = SparkRuntime(ROWS + IN_ORDER, spark)
    frame = spark.sql("select 1L as n, 2L as ts, timestamp_ntz'2024-01-01 00:00:00' as at, 3L as N")
    with pytest.raises(ValueError, match="columns 'n' and 'N' differ in case only"):
        runtime.bind("S", frame, timestamp="ts")
    frame = frame.toDF("n", "ts", "at", "other")
    with pytest.warns(
        UserWarning, match=r"column 'at' is a TIMESTAMP_NTZ, which is read in the session's time zone, \S+;"
    ):
        runtime.bind("S", frame, timestamp="at")
    runtime.bind("S", frame, timestamp="at")  # once is enough


@pytest.mark.parametrize(
    ("option", "name"), [("watermark = '5 sec or so'", "watermark"), ("max.idle = '5'", "max_idle")]
)
def test_invalid_times_are_reported_in_batch_and_as_a_stream(spark, tmp_path, option, name):
    from siddhi.spark import MemorySink, SparkRuntime

    write(spark, tmp_path, "in", (1, 10))
    source = f"@source(type = 'file', file.uri = '{tmp_path}/in', timestamp = 'ts', {option}, @map(type = 'parquet'))\n"
    told = rf"stream 'S' can't be bound: {name}: invalid interval '5.*': expected one such as '10 seconds', line 1, column 0"
    with pytest.raises(SparkLoweringError, match=told):
        out(spark, source + ROWS + IN_ORDER)
    with pytest.raises(SparkLoweringError, match=told):
        SparkRuntime(source + ROWS + IN_ORDER, spark).start(f"{tmp_path}/checkpoint", {"O": MemorySink()}, trigger=NOW)
