"""Files are read as events of the stream's types; an error names file, line, column and value."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import sys
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.cli.endpoints import Endpoint, Format
from siddhi.cli.failures import BadInput
from siddhi.cli.inputs import bytes as byte_source
from siddhi.cli.inputs.source import BadLines, open_source

ATTRIBUTES = [("name", "string"), ("n", "int"), ("price", "double"), ("flag", "bool")]


class Reading:
    """What an input gave: rows, event times, and what was said about lines that could not be read."""

    def __init__(
        self,
        path: Path | str,
        attributes: list[tuple[str, str]] = ATTRIBUTES,
        timestamp: str | None = None,
        *,
        skip: bool = False,
        compression: str | None = None,
    ) -> None:
        suffixes = Path(path).suffixes
        form = Format.JSONL if path == "-" else Format(suffixes[0])
        self.said: list[str] = []
        self.bad_lines = BadLines(skip, self.said.append)
        source = open_source(Endpoint("S", str(path), form, compression), attributes, timestamp, self.bad_lines)
        self.rows: list[tuple[Any, ...]] = []
        self.times: list[int] = []
        try:
            for chunk in source.chunks():
                assert len(chunk) > 0
                assert chunk.columns.schema.names == [name for name, _ in attributes]
                self.rows += [tuple(row.values()) for row in chunk.columns.to_pylist()]
                self.times += [] if chunk.timestamps is None else chunk.timestamps.to_pylist()
        finally:
            source.close()


@pytest.fixture
def file(tmp_path: Path) -> Any:
    def write(text: str | bytes, suffix: str = ".csv") -> Path:
        path = tmp_path / f"in{suffix}"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def refusal(*args: Any, **kwargs: Any) -> str:
    with pytest.raises(BadInput) as caught:
        Reading(*args, **kwargs)
    return caught.value.message


def test_csv_values_are_typed_by_the_stream(file: Any) -> None:
    path = file("n,flag,name,price\n1,true,a,2.5\n-7,FALSE,007,3\n")
    assert Reading(path).rows == [("a", 1, 2.5, True), ("007", -7, 3.0, False)]


def test_an_empty_cell_is_null_and_a_quoted_one_the_empty_string(file: Any) -> None:
    assert Reading(file('name,n,price,flag\n"",1,1,true\n,,,\n')).rows == [
        ("", 1, 1.0, True),
        (None, None, None, None),
    ]


def test_other_columns_and_blank_lines_are_ignored(file: Any) -> None:
    path = file("other,name,n,price,flag\n\nx,a,1,1,true\n\n\ny,b,2,2,true\n\n")
    assert [row[0] for row in Reading(path).rows] == ["a", "b"]


def test_quotes_carriage_returns_and_a_byte_order_mark(file: Any) -> None:
    path = file('\ufeff"name",n,price,flag\r\n"a ""x"", b",1,1,true\r\n"two\nlines",2,2,true\r\n5" pipe,3,3,true\r\n')
    assert [row[0] for row in Reading(path).rows] == ['a "x", b', "two\nlines", '5" pipe']


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("b,x,1,true", "line 3, column 'n': 'x' is not an int (-2147483648 to 2147483647)"),
        ("b,2147483648,1,true", "line 3, column 'n': '2147483648' is not an int (-2147483648 to 2147483647)"),
        ("b,1.5,1,true", "line 3, column 'n': '1.5' is not an int (-2147483648 to 2147483647)"),
        ("b,1,cheap,true", "line 3, column 'price': 'cheap' is not a double"),
        ("b,1,1,yes", "line 3, column 'flag': 'yes' is not a bool (true or false)"),
        ("b,1,1", "line 3: 3 values where the header has 4 columns"),
        ("b,1,1,true,5", "line 3: 5 values where the header has 4 columns"),
        ('"b,1,1,true', "line 3: unterminated quote"),
        (f"b,{'9' * 100},1,true", f"line 3, column 'n': '{'9' * 57}...' is not an int (-2147483648 to 2147483647)"),
    ],
)
def test_a_bad_line_is_named(file: Any, line: str, said: str) -> None:
    path = file(f"name,n,price,flag\na,1,1,true\n{line}\nc,3,3,true\n")
    assert refusal(path) == f"{path}, {said}"
    reading = Reading(path, skip=True)
    assert reading.said == [f"skipped: {path}, {said}"]
    assert [row[0] for row in reading.rows] == ["a", "c"]


def test_text_that_is_not_utf_8_is_an_error_with_its_place(file: Any) -> None:
    path = file("name,n,price,flag\na,1,1,true\n\xff,1,1,true\n".encode("latin-1"))
    assert "line 3: not UTF-8 text" in refusal(path)


def test_line_numbers_count_line_ends_inside_values(file: Any) -> None:
    path = file('name,n,price,flag\n"a\n\nb",1,1,true\nc,x,1,true\n')
    assert f"{path}, line 5, column 'n'" in refusal(path)


def test_rows_before_a_bad_line_are_sent(file: Any) -> None:
    path = file("name,n,price,flag\n" + "a,1,1,true\n" * 7 + "a,x,1,true\n" + "a,1,1,true\n" * 7)
    source = open_source(Endpoint("S", str(path), Format.CSV), ATTRIBUTES, None, BadLines(False, pytest.fail))
    seen = 0
    with closing(source):
        chunks = source.chunks()
        with suppress(BadInput):
            while True:
                seen += len(next(chunks))
    assert seen == 7


def test_after_some_bad_lines_further_ones_are_only_counted(file: Any) -> None:
    reading = Reading(file("n\n" + "x\n1\n" * 10), [("n", "int")], skip=True)
    assert reading.bad_lines.count == 10
    assert len(reading.said) == 6
    assert "counted but not shown" in reading.said[-1]
    assert reading.rows == [(1,)] * 10


def test_a_missing_column_is_an_error_with_a_suggestion(file: Any) -> None:
    path = file("name,n,prize,flag\n")
    assert refusal(path) == (
        f"{path} has no column 'price' for stream 'S' (columns: name, n, prize, flag); did you mean 'prize'?"
    )


def test_a_column_that_occurs_twice_is_refused(file: Any) -> None:
    assert "more than one column 'n'" in refusal(file("name,n,price,flag,n\n"))


def test_utf_16_is_refused(file: Any, tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_bytes("name,n,price,flag\na,1,2,true\n".encode("utf-16"))
    assert "is UTF-16: convert it to UTF-8" in refusal(tmp_path / "wide.csv")


def test_line_ends_of_cr_alone_are_refused(file: Any) -> None:
    assert "its lines end with CR: convert the line ends" in refusal(file("name,n,price,flag\ra,1,2,true\r"))


def test_an_empty_file_and_a_header_alone(file: Any) -> None:
    assert "is empty" in refusal(file(""))
    assert Reading(file("name,n,price,flag")).rows == []


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    for name in ("none.csv", "none.jsonl", "none.parquet"):
        assert f"cannot read {tmp_path / name}: No such file or directory" == refusal(tmp_path / name)


def test_object_attributes_are_refused(file: Any) -> None:
    assert "attribute 'o' of stream 'S' has type object" in refusal(file("o\n"), [("o", "object")])


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1362374220000", 1362374220000),
        ("-5", -5),
        ("2013-03-04T05:17:00Z", 1362374220000),
        ("2013-03-04T05:17:00", 1362374220000),
        ("2013-03-04 05:17", 1362374220000),
        ("2013-03-04T00:17:00-05:00", 1362374220000),
        ("2013-03-04T05:17:00.123", 1362374220123),
        ("2013-03-04T05:17:00.123999Z", 1362374220123),
        ("2013-03-04T05:17:00.123999999Z", 1362374220123),
        ("2013-03-04", 1362355200000),
        ("1969-12-31T23:59:59.9999", -1),
    ],
)
def test_times_are_milliseconds_or_iso_8601(file: Any, text: str, ms: int) -> None:
    assert Reading(file(f"when,n\n{text},1\n"), [("n", "int")], "when").times == [ms]
    assert Reading(file(f"when,n\n{text},1\n"), [("n", "int"), ("when", "string")], "when").rows == [(1, text)]
    line = json.dumps({"when": int(text) if text.removeprefix("-").isdigit() else text, "n": 1})
    assert Reading(file(line, ".jsonl"), [("n", "int")], "when").times == [ms]


def test_forms_of_times_may_change_from_line_to_line(file: Any) -> None:
    path = file("t,n\n2013-03-04,1\n5,2\n2013-03-04T00:00:00Z,3\n1970-01-01,4\n")
    reading = Reading(path, [("n", "int")], "t")
    assert reading.times == [1362355200000, 5, 1362355200000, 0]
    assert reading.rows == [(1,), (2,), (3,), (4,)]


def test_the_time_may_be_an_attribute(file: Any) -> None:
    reading = Reading(file("t,n\n5,1\n6,2\n"), [("t", "long"), ("n", "int")], "t")
    assert (reading.times, reading.rows) == ([5, 6], [(5, 1), (6, 2)])


@pytest.mark.parametrize("kind", ["string", "long", None])
def test_a_missing_or_unreadable_time_is_named(file: Any, kind: str | None) -> None:
    attributes = [("n", "int")] + ([] if kind is None else [("t", kind)])
    path = file("t,n\n5,1\n,2\nsoon,3\n7,4\n")
    reading = Reading(path, attributes, "t", skip=True)
    assert reading.times == [5, 7]
    assert f"{path}, line 3, column 't': '' is not a time" in reading.said[0]
    assert f"{path}, line 4, column 't': 'soon' is not a" in reading.said[1]


def test_an_absent_json_key_is_null(file: Any) -> None:
    text = '{"name":"é","n":1,"price":2,"flag":true,"more":[1]}\n\n{"n":null,"price":2.5}\n{"name":"\\ud83d\\ude00"}'
    assert Reading(file(text, ".jsonl")).rows == [
        ("é", 1, 2.0, True),
        (None, None, 2.5, None),
        ("😀", None, None, None),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"name":1}', "line 2, column 'name': '1' is not a string"),
        ('{"n":"1"}', "line 2, column 'n': '1' is not an int (-2147483648 to 2147483647)"),
        ('{"n":2147483648}', "line 2, column 'n': '2147483648' is not an int (-2147483648 to 2147483647)"),
        ('{"flag":0}', "line 2, column 'flag': '0' is not a bool (true or false)"),
        ('{"price":{"x":1}}', """line 2, column 'price': '{"x": 1}' is not a double"""),
        ("[1]", "line 2: expected a JSON object, found [1]"),
        (
            '{"n":' + "9" * 10_000 + "}",
            f"line 2, column 'n': '{'9' * 57}...' is not an int (-2147483648 to 2147483647)",
        ),
        ('{"n":' + "[" * 100_000 + "]" * 100_000 + "}", "line 2: not readable: it is nested too deeply"),
        ("{'n':1}", "line 2: not JSON: Expecting property name enclosed in double quotes at column 2"),
        ('{"n":1,"n":2}', "line 2: key 'n' occurs twice"),
    ],
)
def test_a_bad_json_line_is_named(file: Any, line: str, said: str) -> None:
    good = '{"name":"a","n":1,"price":1,"flag":true}'
    path = file(f"{good}\n{line}\n{good}\n", ".jsonl")
    assert refusal(path) == f"{path}, {said}"
    assert len(Reading(path, skip=True).rows) == 2


def test_values_of_any_length_are_read(file: Any) -> None:
    long = "x" * 200_000
    assert Reading(file(f"name,n,price,flag\n{long},1,2,true\n")).rows == [(long, 1, 2.0, True)]
    assert Reading(file(f"name,n,price,flag,at\n{long},1,2,true,7\n"), timestamp="at").times == [7]
    for bad in (f"{long},x,2,true", '"x' * 100_000, f"{long},1"):
        read = Reading(file(f"name,n,price,flag\n{bad}\na,1,2,true\n"), skip=True)
        assert read.rows[-1:] == [("a", 1, 2.0, True)]
        assert read.bad_lines.count == 1
        assert len(read.said[0]) < 500
    with pytest.raises(BadInput, match="has no column 'name'") as refused:
        Reading(file(f"{long[:100_000]},n\n1,2\n"))
    assert len(str(refused.value)) < 1_000


@pytest.mark.parametrize("line", ["null", " null ", "\tnull\r"])
def test_a_null_line_is_not_an_event(file: Any, line: str) -> None:
    good = json.dumps({"name": None, "n": 1, "price": None, "flag": None})
    for lines in ([line], [line, line], [line, good, good], [good, line, good], [good, good, line]):
        read = Reading(file("\n".join(lines), ".jsonl"), skip=True)
        assert read.rows == [(None, 1, None, None)] * lines.count(good)
        assert read.bad_lines.count == lines.count(line)
        assert read.said[0].endswith(f", line {lines.index(line) + 1}: expected a JSON object, found null")


def test_a_number_out_of_range_is_not_blamed_on_the_first_column(file: Any) -> None:
    with pytest.raises(BadInput, match="line 2: not readable; a number may be out of range"):
        Reading(
            file('{"name": "a", "n": 1, "price": 1, "flag": true}\n{"name": "a", "n": 1, "price": 1e400}', ".jsonl")
        )


def test_a_missing_key_is_an_error_with_a_suggestion(file: Any) -> None:
    message = refusal(file('{"name":"a","n":1,"prize":1,"flag":true}\n', ".jsonl"))
    assert "has no column 'price' for stream 'S' (columns: name, n, prize, flag); did you mean 'prize'?" in message


def test_an_empty_json_file_has_no_events(file: Any) -> None:
    assert Reading(file("", ".jsonl")).rows == []
    assert Reading(file("\n\n", ".jsonl")).rows == []


def test_compressed_text(tmp_path: Path) -> None:
    text = b"n\n1\n2\n"
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "a.csv.bz2").write_bytes(bz2.compress(text))
    for suffix, compression in (("gz", "gzip"), ("bz2", "bz2")):
        path = tmp_path / f"a.csv.{suffix}"
        assert Reading(path, [("n", "int")], compression=compression).rows == [(1,), (2,)]
    (tmp_path / "a.csv.gz").write_bytes(text)
    assert "cannot read" in refusal(tmp_path / "a.csv.gz", [("n", "int")], compression="gzip")


def test_lines_of_standard_input_are_read_as_they_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.pieces = [b'{"n":1}\n{"n"', b":2}\n", b'{"n":3}']

        def read1(self, size: int) -> bytes:
            return self.pieces.pop(0) if self.pieces else b""

    pipe = Pipe()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=pipe))
    source = open_source(Endpoint("S", "-", Format.JSONL), [("n", "int")], None, BadLines(False, pytest.fail))
    chunks = source.chunks()
    assert next(chunks).columns.to_pylist() == [{"n": 1}]
    assert len(pipe.pieces) == 2  # the first line was not held back until the second was whole
    assert [chunk.columns.to_pylist() for chunk in chunks] == [[{"n": 2}], [{"n": 3}]]


def test_parquet_is_cast_without_loss_of_digits(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    table = pa.table(
        {
            "price": pa.array([1, None], pa.int32()),
            "n": pa.array([1, -7], pa.int64()),
            "flag": [True, None],
            "name": pa.array(["a", "b"]).dictionary_encode(),
            "t": pa.array([1362374220123999, -1], pa.timestamp("us", "UTC")),
        }
    )
    pq.write_table(table, path)
    reading = Reading(path, timestamp="t")
    assert reading.rows == [("a", 1, 1.0, True), ("b", -7, None, None)]
    assert reading.times == [1362374220123, -1]
    assert Reading(path, [("t", "long")]).rows == [(1362374220123,), (-1,)]


def test_a_parquet_row_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"n": [1, 2, 3_000_000_000, 4]}), path)
    assert refusal(path, [("n", "int")]) == (
        f"{path}, row 3, column 'n': '3000000000' is not an int (-2147483648 to 2147483647)"
    )
    assert Reading(path, [("n", "int")], skip=True).rows == [(1,), (2,), (4,)]


def test_parquet_columns_are_checked_before_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"n": ["1"], "prize": [1.5]}), path)
    assert "column 'n': values of type string are not an int" in refusal(path, [("n", "int")])
    assert "did you mean 'prize'?" in refusal(path, [("price", "double")])
    path.write_bytes(b"not parquet")
    assert f"cannot read {path}" in refusal(path)


CELLS = st.tuples(
    st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=6)),
    st.one_of(st.none(), st.integers(-(2**31), 2**31 - 1)),
    st.one_of(st.none(), st.floats(allow_nan=False)),
    st.one_of(st.none(), st.booleans()),
)
BAD = st.sampled_from(['a,"b",c,d', "a,1,1", "a,x,1,true", "a,1,1,2,3", "a,1,1,maybe", "a,4000000000,,"])


def csv_line(row: tuple[Any, ...]) -> str:
    name = "" if row[0] is None else '"' + row[0].replace('"', '""') + '"'
    return ",".join([name, *("" if value is None else str(value).lower() for value in row[1:])])


@given(st.lists(st.one_of(CELLS, BAD), max_size=40), st.integers(30, 200))
def test_block_size_and_bad_lines_do_not_affect_other_lines(
    tmp_path_factory: pytest.TempPathFactory, lines: list[Any], block: int
) -> None:
    path = tmp_path_factory.mktemp("blocks") / "in.csv"
    texts = [line if isinstance(line, str) else csv_line(line) for line in lines]
    path.write_text("\n".join(["name,n,price,flag", *texts, ""]), encoding="utf-8", newline="")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_source, "BLOCK_BYTES", block)
        reading = Reading(path, skip=True)
    assert reading.rows == [line for line in lines if not isinstance(line, str)]
    assert reading.bad_lines.count == sum(isinstance(line, str) for line in lines)
