"""Written files can be read again with the standard library, value for value."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from siddhi.cli.endpoints import Endpoint, Format
from siddhi.cli.outputs.writers import open_writer, output_schema

ATTRIBUTES = [("name", "string"), ("n", "long"), ("price", "double"), ("rate", "float"), ("flag", "bool")]
SCHEMA = output_schema(ATTRIBUTES, None)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
ROWS = st.lists(
    st.tuples(
        st.none() | TEXT,
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(),
        st.none() | st.floats(width=32),
        st.none() | st.booleans(),
    ),
    max_size=20,
)


def batch(rows: list[tuple[Any, ...]], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def written(path: Path, rows: list[tuple[Any, ...]], **options: Any) -> Path:
    writer = open_writer(Endpoint("S", str(path), Format(path.suffix)), SCHEMA, **options)
    for start in range(0, len(rows), 7):
        writer.write(batch(rows[start : start + 7]))
    writer.close()
    return path


def same(left: float | None, right: float | None) -> bool:
    return left == right or (left is not None and right is not None and math.isnan(left) and math.isnan(right))


def single(value: float | None) -> float | None:
    """The nearest value of the type float, whose texts are shorter than those of a double."""
    return None if value is None else float(np.float32(value))


@given(ROWS)
def test_csv(tmp_path_factory: Any, rows: list[tuple[Any, ...]]) -> None:
    path = written(tmp_path_factory.mktemp("csv") / "out.csv", rows)
    with path.open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    assert header == [name for name, _ in ATTRIBUTES]
    assert len(lines) == len(rows)
    for line, (name, n, price, rate, flag) in zip(lines, rows, strict=True):
        assert line[0] == (name or "")
        assert line[1] == ("" if n is None else str(n))
        assert same(float(line[2]) if line[2] else None, price)
        assert same(single(float(line[3])) if line[3] else None, rate)
        assert line[4] == {None: "", True: "true", False: "false"}[flag]


def test_csv_quotes_only_if_needed_and_separates_null_from_empty_text(tmp_path: Path) -> None:
    rows = [
        ("a b", 1, 2.0, 0.1, True),
        ("", None, None, None, None),
        (None, None, 0.1, 1e30, False),
        ('a,"', 1, -3.0, 0, None),
    ]
    assert written(tmp_path / "out.csv", rows).read_text() == (
        'name,n,price,rate,flag\na b,1,2.0,0.1,true\n"",,,,\n,,0.1,1e+30,false\n"a,""",1,-3.0,0.0,\n'
    )


@given(ROWS)
def test_json_lines(tmp_path_factory: Any, rows: list[tuple[Any, ...]]) -> None:
    path = written(tmp_path_factory.mktemp("jsonl") / "out.jsonl", rows)
    lines = path.read_bytes().split(b"\n")[:-1]
    assert len(lines) == len(rows)
    for line, row in zip(lines, rows, strict=True):
        item = json.loads(line, parse_constant=lambda word: f"{word} is not JSON")
        name, n, price, rate, flag = row
        assert list(item) == [key for key, _ in ATTRIBUTES]
        assert (item["name"], item["n"], item["flag"]) == (name, n, flag)
        assert item["price"] == (price if price is not None and math.isfinite(price) else None)
        assert single(item["rate"]) == (rate if rate is not None and math.isfinite(rate) else None)


def test_json_lines_name_their_stream_with_the_option_and_embed_json_text(tmp_path: Path) -> None:
    rows = [("[1]", 1, 2.0, 3.0, None), (None, None, None, None, True)]
    text = written(tmp_path / "out.jsonl", rows, label="Al", json_columns=frozenset({"name"})).read_text()
    assert text == (
        '{"_stream":"Al","name":[1],"n":1,"price":2.0,"rate":3.0,"flag":null}\n'
        '{"_stream":"Al","name":null,"n":null,"price":null,"rate":null,"flag":true}\n'
    )


def test_parquet_combines_small_batches_into_large_row_groups(tmp_path: Path) -> None:
    rows = [("a", index, 0.5, 0.5, None) for index in range(70_000)]
    writer = open_writer(Endpoint("S", str(tmp_path / "out.parquet"), Format.PARQUET), SCHEMA)
    whole = batch(rows)
    for start in range(0, len(rows), 10_000):
        writer.write(whole.slice(start, 10_000))
    writer.close()
    file = pq.ParquetFile(tmp_path / "out.parquet")
    assert file.metadata.num_row_groups == 1
    assert file.read().to_batches()[0].schema == SCHEMA
    assert pq.read_table(tmp_path / "out.parquet").equals(pa.Table.from_batches([whole]))


def test_an_output_without_events_is_a_file_with_columns(tmp_path: Path) -> None:
    assert written(tmp_path / "out.csv", []).read_text() == "name,n,price,rate,flag\n"
    assert written(tmp_path / "out.jsonl", []).read_text() == ""
    assert pq.read_table(written(tmp_path / "out.parquet", [])).schema == SCHEMA


def test_a_timestamp_column_comes_first_and_objects_are_json_text() -> None:
    schema = output_schema([("n", "int"), ("o", "object")], "at")
    assert schema == pa.schema([("at", pa.int64()), ("n", pa.int32()), ("o", pa.string())])
