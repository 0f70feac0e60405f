"""The text mapper of sources: lines, groups of regular expressions, failures, hostile patterns and texts."""

from __future__ import annotations

import time

import pytest

from siddhi.errors import SiddhiAppCreationError
from tests.kit.mapping import read

THREE = "s string, i int, d double"
LENIENT = "@map(type = 'text', fail.on.missing.attribute = 'false')"


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ('s:"a",\ni:1,\nd:2', ("a", 1, 2.0)),
        (' d : 2.5 ,\n s: "a:b,c" ,\n i : 1,000 ', ("a:b,c", 1000, 2.5)),
        ("s:plain,\ni:1,\nd:1", ("plain", 1, 1.0)),
        ('s:"",\ni:1,\nd:1', ("", 1, 1.0)),
        ("s:null,\ni:null,\nd:null", (None, None, None)),
        ('s:"null",\ni:1,\nd:1,\nx:5', ("null", 1, 1.0)),
        ('s:",\ni:1,\nd:1', ('"', 1, 1.0)),
    ],
)
def test_lines_of_names_and_values_are_read(text: str, row: tuple[object, ...]) -> None:
    assert read("@map(type = 'text')", THREE, [text]).rows == [row]


def test_a_missing_value_is_an_error_or_null() -> None:
    assert "the text has no 'd'" in read("@map(type = 'text')", THREE, ["s:a,\ni:1"]).failed[0][0]
    assert read(LENIENT, THREE, ["s:a,\ni:1"]).rows == [("a", 1, None)]


def test_a_value_that_does_not_convert_is_an_error_in_both_modes() -> None:
    for map_ in ("@map(type = 'text')", LENIENT):
        found = read(map_, THREE, ["s:a,\ni:1.5,\nd:1"])
        assert found.rows == []
        assert "attribute 'i': '1.5' is not a value of type int" in found.failed[0][0]


def test_events_between_delimiters_are_sent_one_by_one() -> None:
    map_ = r"@map(type = 'text', event.grouping.enabled = 'true', delimiter = '--', new.line.character = '\r\n')"
    found = read(map_, "i int", ["i:1\r\n--\r\ni:x\r\n--\r\ni:3"])
    assert found.chunks == [[(1,)], [(3,)]]
    assert [payload for _, payload in found.failed] == ["i:x"]


def test_groups_of_patterns_are_values() -> None:
    map_ = r"@map(type = 'text', regex.A = '(\w+)=(\d+)?', regex.b = 'd (.*)', @attributes('A', 'A[2]', 'b'))"
    found = read(map_, THREE, ["x=7 d 1.5", "x= d 2", "nothing"])
    assert found.rows == [("x", 7, 1.5)]
    assert ["the text has no 'i'" in found.failed[0][0], "the text has no 's'" in found.failed[1][0]] == [True, True]


def test_a_pattern_takes_time_in_proportion_to_the_text() -> None:
    map_ = "@map(type = 'text', fail.on.missing.attribute = 'false', regex.A = '((a+)+)+b', @attributes('A'))"
    begin = time.perf_counter()
    assert read(map_, "s string", ["a" * 100_000]).rows == [(None,)]
    assert time.perf_counter() - begin < 10  # a backtracking engine takes longer than the universe exists


@pytest.mark.parametrize(
    ("map_", "message"),
    [
        (r"@map(type = 'text', regex.A = '(a)\1', @attributes('A'))", "invalid pattern of 'regex.A'"),
        ("@map(type = 'text', regex.A = '(?=a)', @attributes('A'))", "invalid pattern of 'regex.A'"),
        ("@map(type = 'text', regex.A = '(a', @attributes('A'))", "invalid pattern of 'regex.A'"),
        ("@map(type = 'text', regex.A = 'a', @attributes('A'))", "group 1 of 'regex.A', which has 0"),
        ("@map(type = 'text', regex.A = '(a)', @attributes('A[2]'))", "group 2 of 'regex.A', which has 1"),
    ],
)
def test_an_invalid_pattern_is_refused(map_: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message.replace("[", r"\[")):
        read(map_, "s string", [])


def test_declared_patterns_are_not_unknown_options(caplog: pytest.LogCaptureFixture) -> None:
    read("@map(type = 'text', regex.A = '(a)', @attributes('A'))", "s string", ["a"])
    assert caplog.records == []
