"""The matcher of regular expressions, against that of Python."""

from __future__ import annotations

import re
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.function.regex import Regex, spans, split
from siddhi.library.namespaces.regex_syntax import compile_pattern, replacement_parts

ATOMS = st.sampled_from(
    ["a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\d", "(a|bc)", "(?:ab?)", r"\b", "^", "$", "é", "(b)"]
)
PIECES = st.tuples(ATOMS, st.sampled_from(["", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}"])).map(
    lambda pair: pair[0] if pair[0] in (r"\b", "^", "$") else "".join(pair)
)
SEQUENCES = st.lists(PIECES, min_size=1, max_size=5).map("".join)
PATTERNS = st.lists(SEQUENCES, min_size=1, max_size=3).map("|".join)
TEXTS = st.text("abc1 é", max_size=12)


def pattern(text: str) -> Regex:
    return Regex(compile_pattern(text))


@given(text=TEXTS, source=PATTERNS)
def test_the_first_match_is_that_of_a_backtracking_matcher(text: str, source: str) -> None:
    expected = re.compile(source, re.ASCII).search(text)
    found = spans(pattern(source), text, 1)
    assert bool(found) is (expected is not None)
    if expected is not None:
        assert found[0][:2] == expected.span()


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        (r"(?i)straße|ÉTÉ", "Été STRAßE", ["Été", "STRAßE"]),
        (r"[a-z&&[^aeiou]]+", "abcde", ["bcd"]),
        (r"\p{Lu}\p{Ll}+", "über Österreich", ["Österreich"]),
        (r"\Qa.b\E+", "a.b a.bb axb", ["a.b", "a.bb"]),
        (r"(?s)a.b", "a\nb", ["a\nb"]),
        (r"a.b", "a\nb", []),
        (r"(?m)^\w+$", "ab\ncd", ["ab", "cd"]),
        (r"^\w+$", "ab\n", ["ab"]),
        (r"\w+\z", "ab\n", []),
        (r"(?<year>\d{4})-(\d\d)", "on 2024-05", ["2024-05"]),
        (r"\x41\u0042\x{43}\0104", "ABCD", ["ABCD"]),
        (r"(?-i:a)(?i:b)c", "aBc abC", ["aBc"]),
        (r"[\]\-\\]+", "a]-\\", ["]-\\"]),
        (r"[]a]+", "a]", ["a]"]),
        (r"\R", "a\r\nb", ["\r\n"]),
        (r"[^\d\s]+", "12 ab", ["ab"]),
        ("", "ab", ["", "", ""]),
        ("a{0}b", "ab", ["b"]),
        ("😀+", "x😀😀", ["😀😀"]),
    ],
)
def test_the_syntax_of_java_is_understood(source: str, text: str, expected: list[str]) -> None:
    assert [text[span[0] : span[1]] for span in spans(pattern(source), text)] == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (r"(a)\1", "back reference"),
        ("(?=a)", "look-around"),
        ("(?<!a)b", "look-around"),
        ("(?>a)", "atomic group"),
        ("a*+", "possessive"),
        ("(a", "without '\\)'"),
        ("a)", "unmatched"),
        ("[a", "ends where"),
        ("*a", "dangling"),
        ("a{2,1}", "out of range"),
        ("a{9999}", "out of range"),
        (r"\q", "unknown escape"),
        (r"\p{Nix}", "unknown property"),
        ("((a{100}){100}){100}", "too large"),
        ("(" * 300 + "a" + ")" * 300, "nested"),
        ("(?x)a", "unknown flag"),
        ("[b-a]", "invalid range"),
    ],
)
def test_other_patterns_are_refused(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compile_pattern(source)


def test_patterns_that_explode_elsewhere_take_linear_time() -> None:
    text = "a" * 20_000
    started = perf_counter()
    for source in ("(a*)*b", "(a|a)*b", "(a|aa)+$b", "a?" * 30 + "a" * 30 + "b"):
        assert spans(pattern(source + "|" + source), text[:300]) == []
    assert spans(pattern("(x+x+)+y"), "x" * 300) == []
    assert perf_counter() - started < 5


def test_groups_that_take_no_part_have_no_position() -> None:
    assert spans(pattern("(a)|(b)"), "ab") == [(0, 1, 0, 1, -1, -1), (1, 2, -1, -1, 1, 2)]


@pytest.mark.parametrize(
    ("source", "text", "parts"),
    [
        (",", "a,b,,c,,", ["a", "b", "", "c"]),
        ("", "abc", ["a", "b", "c"]),
        (",", "", [""]),
        (",", ",", []),
        (",", ",a", ["", "a"]),
        (r"\s+", "a  b", ["a", "b"]),
    ],
)
def test_texts_are_split_as_in_java(source: str, text: str, parts: list[str]) -> None:
    assert split(pattern(source), text) == parts


def test_replacements_refer_to_groups() -> None:
    assert list(replacement_parts(r"a$1\$${x}$12", 2, {"x": 2})) == ["a", 1, "$", 2, 1, "2"]
    for wrong in ("$3", "$", "${y}", "\\", "${x"):
        with pytest.raises(ValueError, match="replacement"):
            list(replacement_parts(wrong, 2, {"x": 2}))
