"""Rows of files: as the embedded engine reads them, or refused."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.parquet as pq

from siddhi.errors import SparkLoweringError, SparkRunError, SparkSetupError

pytestmark = pytest.mark.spark

NOW = {"availableNow": True}


def stream(
    folder, name: str, format_: str, attributes: str = "symbol string, n int, ts long", options: str = ""
) -> str:
    return f"""@source(type = 'file', file.uri = '{folder}/{name}', timestamp = 'ts', @map(type = '{format_}'{options}))
    define stream S ({attributes});\n"""


def out(spark, text: str, *, columns: str = "symbol, n") -> list[tuple[object, ...]]:
    from siddhi.spark import SparkRuntime

    frame = SparkRuntime(f"{text} from S select {columns} insert into O;", spark).output("O", meta=True)
    return [tuple(row[:-1]) for row in sorted(frame.collect(), key=lambda row: row["_timestamp"])]


def csv(folder, name: str, *lines: str) -> None:
    (folder / name).mkdir(exist_ok=True)
    (folder / name / f"{len(list((folder / name).iterdir()))}.csv").write_text("\n".join([*lines, ""]))


def test_csv_is_read_as_by_the_embedded_engine(spark, tmp_path):
    lines = ['"he said ""hi""",1,10', '"two\nlines",2,20', ",3,30", '"",4,40', " lead ,5,50", "back\\slash,6,60"]
    csv(tmp_path, "in", "symbol,n,ts", *lines, "NULL,,70")
    want = ['he said "hi"', "two\nlines", None, "", " lead ", "back\\slash", "NULL"]
    assert out(spark, stream(tmp_path, "in", "csv")) == [*zip(want, [1, 2, 3, 4, 5, 6, None], strict=True)]


def test_line_ends_and_byte_order_marks(spark, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.csv").write_bytes(b'\xef\xbb\xbfsymbol,n,ts\r\nA,1,10\r\n"B ""b""",2,20\r\n')
    (tmp_path / "in" / "1.csv").write_bytes(b"")
    assert out(spark, stream(tmp_path, "in", "csv")) == [("A", 1), ('B "b"', 2)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_breaks_between_quotes_are_kept(spark, tmp_path, end):
    rows = ['"symbol",n,ts', '"a\r\nb",1,10', '"a\nb",2,20', '"a\rb",3,30', '"\ue000",4,40', "", '"",5,50']
    (tmp_path / "in.csv").write_bytes("".join(row + end for row in rows).encode())
    want = ["a\r\nb", "a\nb", "a\rb", "\ue000", ""]
    assert [row[0] for row in out(spark, stream(tmp_path, "in.csv", "csv"))] == want


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_a_stream_of_the_output_of_another(spark, tmp_path, format_):
    from siddhi.spark import MemorySink, SparkRuntime

    for n, rows in enumerate(["A,1,10\nB,2,20", '"",3,30']):
        csv(tmp_path, "in", "symbol,n,ts", rows)
        first = stream(tmp_path, "in", "csv").replace("timestamp =", "watermark = '0 seconds', timestamp =")
        first += f"""@sink(type = 'file', file.uri = '{tmp_path}/between', @map(type = '{format_}'))
        define stream O (symbol string, n int, ts long); from S select symbol, n, ts insert into O;"""
        SparkRuntime(first, spark).start(str(tmp_path / "first"), trigger=NOW).await_termination()
        second = stream(tmp_path, "between", format_) + "from S[n > 0] select symbol, n insert into O;"
        sink = MemorySink()
        SparkRuntime(second, spark).start(str(tmp_path / "second"), {"O": sink}, trigger=NOW).await_termination()
        assert sorted(sink.rows) == [[("A", 1, 10), ("B", 2, 20)], [("", 3, 30)]][n]


def test_columns_of_csv_are_matched_by_the_header(spark, tmp_path):
    csv(tmp_path, "in", "ts,more,n,symbol", "10,x,1,A")
    assert out(spark, stream(tmp_path, "in", "csv")) == [("A", 1)]
    csv(tmp_path, "bare", "A;1;10")
    assert out(spark, stream(tmp_path, "bare", "csv", options=", header = 'false', sep = ';'")) == [("A", 1)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("A,seven,10", r"0\.csv, column 'n': 'seven' is not an int"),
        ("A,2147483648,10", "column 'n': '2147483648' is not an int"),
        ('A,"",10', "column 'n': '' is not an int"),
        ("A,1", r"0\.csv: 'A,1' is not a record of these columns"),
        ("A,1,10,11", "'A,1,10,11' is not a record"),
        ("A,1,", "column 'ts': a row has no event time"),
    ],
)
def test_invalid_rows_of_csv_are_refused(spark, tmp_path, line, message):
    from siddhi.spark.failures import BadRowError, run_errors

    csv(tmp_path, "in", "symbol,n,ts", line)
    for columns in ("symbol, n", "symbol"):  # also if no query reads the value
        with pytest.raises(BadRowError, match=f"^stream 'S': .*{message}"), run_errors():
            out(spark, stream(tmp_path, "in", "csv"), columns=columns)


def test_invalid_rows_can_be_dropped_or_null(spark, tmp_path):
    csv(tmp_path, "in", "symbol,n,ts", "A,seven,10", "B,2,20")
    assert out(spark, stream(tmp_path, "in", "csv", options=", mode = 'DROPMALFORMED'")) == [("B", 2)]
    assert out(spark, stream(tmp_path, "in", "csv", options=", mode = 'PERMISSIVE'")) == [("A", None), ("B", 2)]


def test_rows_without_event_time(spark, tmp_path):
    from siddhi.spark.failures import BadRowError, run_errors

    csv(tmp_path, "in", "symbol,n,ts", "A,1,", "B,2,20")
    assert out(spark, stream(tmp_path, "in", "csv", options=", mode = 'DROPMALFORMED'")) == [("B", 2)]
    for mode, told in (
        ("FAILFAST", r"\.csv, column 'ts': a row has"),
        ("PERMISSIVE", "a row has no event time in column 'ts'"),
    ):
        with pytest.raises(BadRowError, match=f"^stream 'S': (.*{told}|{told})"), run_errors():
            out(spark, stream(tmp_path, "in", "csv", options=f", mode = '{mode}'"))


def test_files_of_csv_with_other_columns(spark, tmp_path):
    from siddhi.spark.failures import run_errors

    csv(tmp_path, "in", "symbol,n,ts", "A,1,10")
    csv(tmp_path, "in", "n,symbol,ts", "1,A,10")
    with pytest.raises(SparkRunError, match=r"\.csv: its header differs from that of the first file"), run_errors():
        out(spark, stream(tmp_path, "in", "csv"))


def test_kinds_of_values(spark, tmp_path):
    csv(tmp_path, "in", "d,f,b,l,ts", "1e20,0.5,TRUE,9007199254740993,1", "nan,-1,false,-1,2", ",,,,3")
    found = out(
        spark, stream(tmp_path, "in", "csv", "d double, f float, b bool, l long, ts long"), columns="d, f, b, l"
    )
    assert [str(row) for row in found] == [
        "(1e+20, 0.5, True, 9007199254740993)",
        "(nan, -1.0, False, -1)",
        "(None, None, None, None)",
    ]
    for n, (kind, cell) in enumerate([("double", "1f"), ("double", "0x1p3"), ("bool", "yes"), ("long", "1.0")]):
        from siddhi.spark.failures import BadRowError, run_errors

        csv(tmp_path, f"bad{n}", "v,ts", f"{cell},1")
        with pytest.raises(BadRowError, match=f"'{cell}' is not a"), run_errors():
            out(spark, stream(tmp_path, f"bad{n}", "csv", f"v {kind}, ts long"), columns="v")


@pytest.mark.parametrize("format_", ["parquet", "orc", "json", "csv"])
def test_an_attribute_missing_in_all_files(spark, tmp_path, format_):
    spark.createDataFrame([("A", 1, 10)], "symbol string, n int, ts bigint").write.format(format_).save(
        str(tmp_path / "in"), header="true"
    )
    with pytest.raises(SparkLoweringError) as caught:
        out(spark, stream(tmp_path, "in", format_, "simbol string, n int, ts long"), columns="n")
    told = str(caught.value)
    assert told.startswith("[E408] the file source of 'S': ")
    assert "there is no column 'simbol'; did you mean 'symbol'?" in told
    assert "line 1, column 0" in told


def test_columns_missing_in_some_files(spark, tmp_path):
    first = {"ts": [10], "n": pa.array([1], pa.int32())}
    for name, n in (("in", pa.array([2], pa.int32())), ("wider", pa.array([2], pa.int64()))):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table(first), tmp_path / name / "0.parquet")
        pq.write_table(pa.table({"ts": [20], "symbol": ["B"], "n": n}), tmp_path / name / "1.parquet")
    assert out(spark, stream(tmp_path, "in", "parquet", "symbol string, n long, ts long")) == [(None, 1), ("B", 2)]
    assert out(spark, stream(tmp_path, "wider", "parquet", "n long, ts long"), columns="n") == [(1,), (2,)]
    with pytest.raises(SparkLoweringError, match="column 'symbol' has type string, and the app declares int"):
        out(spark, stream(tmp_path, "in", "parquet", "symbol int, ts long"), columns="symbol")
    with pytest.raises(SparkLoweringError, match=r"its files have different columns: \[CANNOT_MERGE"):
        out(spark, stream(tmp_path, "wider", "parquet", "symbol string, n long, ts long"))


def test_json_of_other_types_is_refused(spark, tmp_path):
    from siddhi.spark.failures import BadRowError, run_errors

    for n, line in enumerate(['{"symbol": "A", "n": "x", "ts": 1}', '{"symbol": "A", "n": 1, "ts"']):
        (tmp_path / f"in{n}").mkdir()
        (tmp_path / f"in{n}" / "0.json").write_text('{"symbol": "A", "n": 1, "ts": 1}\n' + line + "\n")
        with (
            pytest.raises(BadRowError, match=r"0\.json(, column 'n': 'x' is not an int|: '.*' is not a record)"),
            run_errors(),
        ):
            out(spark, stream(tmp_path, f"in{n}", "json"))


@pytest.mark.parametrize("broken", ['{"symbol": "B", "n": "x", "ts": 1}', '{"symbol": "B", "n": 1}', "no record"])
@pytest.mark.parametrize("compiled", ["true", "false"])
def test_filtered_records_are_checked(spark, tmp_path, broken, compiled):
    from siddhi.spark import SparkRuntime
    from siddhi.spark.failures import BadRowError, run_errors

    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.json").write_text('{"symbol": "A", "n": 1, "ts": 1}\n' + broken + "\n")
    text = f"{stream(tmp_path, 'in', 'json')} from S[symbol == 'A'] select n insert into O;"
    before = spark.conf.get("spark.sql.codegen.wholeStage")
    spark.conf.set("spark.sql.codegen.wholeStage", compiled)
    try:
        with pytest.raises(BadRowError, match=r"0\.json"), run_errors():
            SparkRuntime(text, spark).output("O").collect()
    finally:
        spark.conf.set("spark.sql.codegen.wholeStage", before)
    dropping = text.replace("type = 'json'", "type = 'json', mode = 'DROPMALFORMED'")
    assert [row.n for row in SparkRuntime(dropping, spark).output("O").collect()] == [1]


def test_no_files(spark, tmp_path):
    with pytest.raises(SparkLoweringError, match=r"nowhere can't be read: .*PATH_NOT_FOUND"):
        out(spark, stream(tmp_path, "nowhere", "parquet"))
    (tmp_path / "empty").mkdir()
    for format_ in ("parquet", "csv", "json"):
        assert out(spark, stream(tmp_path, "empty", format_)) == []


def test_messages_of_kafka(spark):
    from siddhi.planner.app import plan
    from siddhi.query_compiler import parse
    from siddhi.spark.failures import BadRowError, run_errors
    from siddhi.spark.sources.annotations import connectors_of
    from siddhi.spark.sources.kafka import messages_as_rows

    def rows(*values: str | None, mode: str = "") -> list[tuple[object, ...]]:
        text = f"""@source(type = 'kafka', bootstrap.servers = 'b', topic = 't', timestamp = 'ts', @map(type = 'json'{mode}))
        define stream S (symbol string, n int, ts long);"""
        messages = [("t", 0, n, None if value is None else value.encode()) for n, value in enumerate(values)]
        frame = spark.createDataFrame(messages, "topic string, partition int, offset bigint, value binary")
        (connector,) = connectors_of(parse(text))
        from siddhi.spark.sources.annotations import without_connectors

        attributes = plan(without_connectors(parse(text))).streams["S"].attributes
        return [tuple(row) for row in messages_as_rows(frame, connector, attributes).collect()]

    good = '{"symbol": "A", "n": 1, "ts": 1, "more": {"a": [1]}}'
    assert rows(good, '{"ts": 2}') == [("A", 1, 1, 0, 0), (None, None, 2, 0, 1)]
    for bad in ('{"n": "x", "ts": 1}', '{"n": 1}', "{", "", None, "[1, 2]"):
        with pytest.raises(BadRowError, match="stream 'S': topic t partition 0 offset 1"), run_errors():
            rows(good, bad)
        assert rows(good, bad, mode=", mode = 'DROPMALFORMED'") == [("A", 1, 1, 0, 0)]


@pytest.mark.parametrize("format_", ["csv", "json", "parquet", "orc"])
def test_output_of_sinks_can_be_read_by_sources(spark, tmp_path, format_):
    from siddhi.spark import SparkRuntime

    rows = [
        ('he said "hi"', 1.5, 10),
        (" lead", None, 20),
        ("", 1e20, 30),
        (None, 2.0, 40),
        ("two\nlines, \\", 0.1, 50),
    ]
    text = stream(tmp_path, "in", "parquet", "symbol string, price double, ts long").replace(
        "timestamp", "watermark = '0 seconds', timestamp"
    )
    text += f"""@sink(type = 'file', file.uri = '{tmp_path}/out', @map(type = '{format_}'))
    define stream O (symbol string, price double, ts long);
    from S select symbol, price, ts insert into O;"""
    spark.createDataFrame(rows, "symbol string, price double, ts bigint").write.parquet(str(tmp_path / "in"))
    SparkRuntime(text, spark).write()
    again = stream(tmp_path, "out", format_, "symbol string, price double, ts long")
    assert out(spark, again, columns="symbol, price, ts") == rows
    query = SparkRuntime(text.replace("/out", "/streamed"), spark).start(str(tmp_path / "checkpoint"), trigger=NOW)
    query.await_termination()
    assert query.written == {"O": len(rows)}
    again = stream(tmp_path, "streamed", format_, "symbol string, price double, ts long")
    assert out(spark, again, columns="symbol, price, ts") == rows


def as_each_format(spark, folder) -> None:
    """The same rows as parquet, orc and json, and a file that is torn."""
    rows = spark.createDataFrame([("A", 1, 10)], "symbol string, n int, ts bigint").coalesce(1)
    for format_ in ("parquet", "orc", "json"):
        rows.write.format(format_).save(str(folder / format_))
    (folder / "torn").mkdir()
    (folder / "torn" / "0.parquet").write_bytes(b"PAR1xxxx")


def test_files_of_another_format_and_damaged_ones(spark, tmp_path):
    from siddhi.spark import MemorySink, SparkRuntime

    as_each_format(spark, tmp_path)
    for format_, name in (("parquet", "json"), ("parquet", "orc"), ("orc", "parquet"), ("parquet", "torn")):
        text = stream(tmp_path, name, format_)
        with pytest.raises(SparkLoweringError) as caught:
            out(spark, text)
        told = str(caught.value)
        assert told.startswith(
            f"[E408] the file source of 'S': {tmp_path}/{name} can't be read as stream 'S': file:{tmp_path}/{name}/"
        )
        assert f" is damaged, or not a {format_} file, line 1, column 0" in told
        assert "hint: give a file or folder that Spark can read" in told
    assert "ORC" not in told
    app = SparkRuntime(f"{text} from S select symbol insert into O;", spark)
    with pytest.raises(SparkLoweringError, match="damaged, or not a parquet file"):
        app.start(str(tmp_path / "checkpoint"), {"O": MemorySink()}, trigger=NOW)
    with pytest.raises(SparkLoweringError, match="its first line is not text, so it is not csv"):
        out(spark, stream(tmp_path, "parquet", "csv"))


def test_a_damaged_file_among_valid_ones(spark, tmp_path):
    from siddhi.spark import MemorySink, SparkRuntime
    from siddhi.spark.failures import BadRowError, run_errors

    as_each_format(spark, tmp_path)
    (tmp_path / "torn" / "0.parquet").rename(tmp_path / "parquet" / "zz.parquet")
    text = stream(tmp_path, "parquet", "parquet")
    told = rf"^file:{tmp_path}/parquet/zz\.parquet is damaged, or has another format than its source declares$"
    with pytest.raises(BadRowError, match=told), run_errors():
        out(spark, text)
    app = SparkRuntime(f"{text} from S select symbol insert into O;", spark)
    query = app.start(str(tmp_path / "checkpoint"), {"O": MemorySink()}, trigger=NOW)
    with pytest.raises(BadRowError, match=told):
        query.await_termination()
    with pytest.raises(SparkLoweringError, match=r"zz\.parquet is damaged, or not a parquet file"):
        out(spark, stream(tmp_path, "parquet", "parquet", "symbol string, m int, ts long"), columns="m")


def test_empty_csv(spark, tmp_path):
    (tmp_path / "nil.csv").touch()
    with pytest.raises(SparkLoweringError, match=r"nil\.csv is empty: the first line must name the columns"):
        out(spark, stream(tmp_path, "nil.csv", "csv"))


@pytest.mark.parametrize("format_", ["parquet", "csv", "json"])
def test_a_source_on_a_file_system_that_spark_lacks(spark, format_):
    with pytest.raises(
        SparkSetupError, match=r"^s4://bucket/in can't be reached, as Spark lacks the file system of s4: "
    ):
        out(spark, stream("s4://bucket", "in", format_))
