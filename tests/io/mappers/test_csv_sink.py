"""The CSV mapper of sinks: quotes, null, headers, columns; and the way back through a source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppCreationError
from tests.kit.mapping import read, write


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a", "a"),
        ("", '""'),
        (" a", '" a"'),
        ("#a", '"#a"'),
        ("!a", '"!a"'),
        ("$a", "$a"),
        ("a#", "a#"),
        ("a ", '"a "'),
        ("a\x01", '"a\x01"'),
        ("a,b", '"a,b"'),
        ('a"b', '"a""b"'),
        ("a\rb", '"a\rb"'),
        ("a\nb", '"a\nb"'),
        ("a b", "a b"),
        ("null", "null"),
    ],
)
def test_a_field_is_quoted_where_it_must_be(text: str, written: str) -> None:
    assert write("@map(type = 'csv')", "s string, i int", [(text, 1)]) == [f"{written},1\n"]


def test_only_the_first_empty_field_is_quoted() -> None:
    assert write("@map(type = 'csv')", "a string, b string", [("", "")]) == ['"",\n']


def test_numbers_are_quoted_if_the_delimiter_is_a_part_of_them() -> None:
    rows = [(-1, 1.5, True)]
    assert write("@map(type = 'csv', delimiter = '-')", "i int, d double, b bool", rows) == ['"-1"-1.5-true\n']
    assert write("@map(type = 'csv', delimiter = '.')", "i int, d double, b bool", rows) == ['-1."1.5".true\n']


def test_a_field_does_not_end_with_the_start_of_the_delimiter() -> None:
    assert write("@map(type = 'csv', delimiter = '--')", "a string, b string", [("x-", "y-z")]) == ['"x-"--y-z\n']


def test_a_chunk_is_one_payload_with_grouping() -> None:
    rows = [("a", 1), (None, None)]
    assert write("@map(type = 'csv')", "s string, i int", rows, chunk=True) == ["a,1\n", "null,null\n"]
    map_ = "@map(type = 'csv', event.grouping.enabled = 'true', header = 'true', null.text = '')"
    assert write(map_, "s string, i int", rows, chunk=True) == ["s,i\n", 'a,1\n"",\n']


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ("@payload(s = '0', x = '1')", "unknown attribute 'x' in @payload"),
        ("@payload('s')", "@payload has no names"),
        ("@payload(s = '1', i = '2')", "the columns in @payload are 1, 2; expected 0 to 1"),
        ("@payload(s = '0', i = '0')", "duplicate column 0 in @payload"),
        ("@payload(s = 'i')", "invalid column '1' of attribute 's'|@payload"),
    ],
)
def test_invalid_columns_are_refused(payload: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        write(f"@map(type = 'csv', {payload})", "s string, i int", [])


def test_a_part_of_the_attributes_can_be_written() -> None:
    assert write("@map(type = 'csv', @payload(i = '0'))", "s string, i int", [("a", 1)]) == ["1\n"]


rows = st.tuples(
    st.none()
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.text('ab ",\t\r\n#-|', max_size=8).filter(lambda text: text != "\\N"),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(allow_nan=False, width=32),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.booleans(),
)


def singles(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with its float in 32 bits."""
    return (*row[:3], None if row[3] is None else np.float32(row[3]), *row[4:])


@given(
    st.lists(rows, min_size=1, max_size=4),
    st.booleans(),
    st.booleans(),
    st.sampled_from([",", ";", "-", "||", "--", r"\t", " ", "a", "#"]),
)
def test_a_source_reads_what_a_sink_writes(
    events: list[tuple[Any, ...]], chunk: bool, header: bool, delimiter: str
) -> None:
    map_ = rf"@map(type = 'csv', null.text = '\N', delimiter = '{delimiter}', header = '{str(header).lower()}'"
    attributes = "s string, i int, l long, f float, d double, b bool"
    payloads = write(f"{map_}, event.grouping.enabled = 'true')", attributes, events, chunk=chunk)
    found = read(f"{map_})", attributes, payloads)
    assert found.failed == []
    assert [singles(row) for row in found.rows] == [singles(row) for row in events]
