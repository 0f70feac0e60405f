"""The CSV mapper of sources: records, delimiters, quotes, headers, conversions and failures."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.mappers.csv_records import CsvFormat
from tests.kit.mapping import read

DEFAULT = "@map(type = 'csv')"
LENIENT = "@map(type = 'csv', fail.on.unknown.attribute = 'false')"
THREE = "s string, i int, d double"


@pytest.mark.parametrize(
    ("delimiter", "payload"),
    [
        (",", 'a,1,1.5\n"b,""c""\nd",2,2.5'),
        (",", b'a,1,1.5\r\n"b,""c""\nd",2,2.5\r\n'),
        (";", '\n\na;1;1.5;more\n\n"b,""c""\nd";2;2.5\n'),
        ("-/-", 'a-/-1-/-1.5\n"b,""c""\nd"-/-2-/-2.5'),
        ("||", 'a||1||1.5||\r"b,""c""\nd"||2||2.5'),
        (r"\t", ' a\t1 \t 1.5\n "b,""c""\nd" \t2\t2.5\n'),
        (",", 'a,1,1.5\n"b,""c""\nd" ,2,2.5\n'),
    ],
)
def test_records_become_a_chunk(delimiter: str, payload: Any) -> None:
    found = read(f"@map(type = 'csv', delimiter = '{delimiter}')", THREE, [payload])
    assert found.chunks == [[("a", 1, 1.5), ('b,"c"\nd', 2, 2.5)]]
    assert found.failed == []


def test_quotes_inside_a_field_are_text() -> None:
    assert read(DEFAULT, "a string, b string", ['5" pipe, "x"', '5" pipe;"x,y"\n']).rows == [
        ('5" pipe', ' "x"'),
        ('5" pipe;"x', 'y"'),
    ]
    assert read("@map(type = 'csv', delimiter = '--')", "a string, b string", ['5" pipe-- "x"']).rows == [
        ('5" pipe', ' "x"')
    ]


def test_blanks_in_quotes_are_kept_in_tab_format() -> None:
    map_ = r"@map(type = 'csv', delimiter = '\t')"
    assert read(map_, "a string, b string", [' x \t" y "\n']).rows == [("x", " y ")]


@pytest.mark.parametrize(
    ("payload", "cause"),
    [
        ("a,1.0,2", "attribute 'i': '1.0' is not an int"),
        ("a,,2", "attribute 'i': '' is not an int"),
        ("a,1,1_0", "attribute 'd': '1_0' is not a double"),
        ("a,2147483648,1", "attribute 'i': '2147483648' is not an int"),
        ("a,1", "attribute 'd': the record has 2 columns, expected at least 3"),
        ('a,1,1.5\n"b,2,2.5\n', "line 2: a quoted field has no end, or text after it"),
        ('"a"b,1,1.5', "line 1: a quoted field has no end, or text after it"),
        (b"\xff,1,1.5", "the payload is not UTF-8"),
        (5, "expected a text or bytes, got int"),
    ],
)
def test_a_payload_that_cannot_be_mapped_is_stored_with_its_cause(payload: Any, cause: str) -> None:
    found = read(DEFAULT, THREE, [payload])
    assert found.rows == []
    ((why, stored),) = found.failed
    assert cause in why
    assert stored == payload


def test_bad_records_are_stored_one_by_one() -> None:
    found = read(DEFAULT, THREE, ['a,1,1\n"b,c",x,2\nd,4\ne,5,5'])
    assert found.chunks == [[("a", 1, 1.0), ("e", 5, 5.0)]]
    assert [stored for _, stored in found.failed] == ['"b,c",x,2\n', "d,4\n"]


def test_without_strictness_missing_and_unreadable_values_are_null() -> None:
    assert read(LENIENT, THREE, ["a,x\n,1,\n"]).chunks == [[("a", None, None), ("", 1, None)]]


def test_the_first_record_of_the_first_payload_is_the_header() -> None:
    for option in ("header", "header.present"):
        found = read(f"@map(type = 'csv', {option} = 'true')", "a int", ["a\n1\n", "2\n3\n"])
        assert found.rows == [(1,), (2,), (3,)]


def test_a_text_can_stand_for_null() -> None:
    map_ = "@map(type = 'csv', null.text = 'NULL')"
    found = read(map_, "s string, i int, b bool, o object", ["NULL,NULL,NULL,NULL\nnull,1,TRUE,x"])
    assert found.rows == [(None, None, None, None), ("null", 1, True, "x")]


def test_columns_of_attributes_can_be_given() -> None:
    map_ = "@map(type = 'csv', @attributes(s = '3', i = '0', d = '0'))"
    assert read(map_, THREE, ["1,x,y,z"]).rows == [("z", 1, 1.0)]


def test_an_empty_payload_has_no_events() -> None:
    found = read(DEFAULT, THREE, ["", "\n\n", b""])
    assert (found.rows, found.failed) == ([], [])


@pytest.mark.parametrize(
    ("map_", "message"),
    [
        ("@map(type = 'csv', delimiter = '')", "invalid delimiter ''"),
        ('@map(type = "csv", delimiter = """a"b""")', "invalid delimiter"),
        ("@map(type = 'csv', header = 'yes')", "expected 'true' or 'false'"),
        ("@map(type = 'csv', @attributes(s = 'a'))", "invalid column 'a' of attribute 's'"),
        ("@map(type = 'csv', @attributes(s = '-1'))", "invalid column '-1' of attribute 's'"),
    ],
)
def test_an_invalid_annotation_is_refused(map_: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        read(map_, "s string", [])


def test_a_huge_field_is_read() -> None:
    text = "x" * 1_000_000
    assert read(DEFAULT, "s string", [f'"{text}"']).rows == [(text,)]


def own(text: str, format_: CsvFormat) -> list[list[str]] | None:
    try:
        return format_.reader()(text)
    except MappingFailedError:
        return None


@given(st.text('ab ",;\r\n', max_size=20))
def test_records_are_those_of_the_csv_module(text: str) -> None:
    ours = own(text, CsvFormat(",", trims=False))
    two = own(text.replace(",", "||"), CsvFormat("||", trims=False))
    try:
        theirs = [one for one in csv.reader(io.StringIO(text, newline=""), strict=True) if one]
    except csv.Error:
        theirs = None
    assert ours == theirs or theirs is None
    assert two == (None if ours is None else [[part.replace(",", "||") for part in record] for record in ours])
