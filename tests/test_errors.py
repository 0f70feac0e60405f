from __future__ import annotations

import inspect

import pytest

from siddhi import errors
from siddhi.errors import (
    DefinitionNotExistError,
    EventError,
    SiddhiAppError,
    SiddhiError,
    SiddhiParserError,
    did_you_mean,
    shown,
)
from siddhi.query_api.span import Span


def test_every_error_is_a_siddhi_error():
    classes = [
        value for value in vars(errors).values() if inspect.isclass(value) and value.__module__ == errors.__name__
    ]
    assert classes
    assert all(issubclass(cls, SiddhiError) for cls in classes)


def test_errors_of_rows_and_names_are_also_errors_of_python():
    assert issubclass(EventError, ValueError)
    assert issubclass(DefinitionNotExistError, KeyError)
    assert str(DefinitionNotExistError("no stream 'S'")) == "no stream 'S'"


def test_the_names_of_java_are_exported():
    names = [name for name in vars(errors) if name.endswith("Exception")]
    assert len(names) >= 13
    assert all(getattr(errors, name).__name__.endswith("Error") for name in names)


def test_codes_are_distinct_within_the_tree():
    classes = {cls for cls in vars(errors).values() if inspect.isclass(cls) and issubclass(cls, SiddhiAppError)}
    codes = [cls.code for cls in classes]
    assert len(set(codes)) == len(codes)


def test_an_error_without_details_is_its_message():
    assert str(SiddhiParserError("bad")) == "[E100] bad"
    assert SiddhiParserError("bad").line is None
    assert SiddhiParserError("bad").column is None


def test_an_error_with_all_details():
    error = SiddhiParserError(
        "unexpected 'b'", code="E199", span=Span(2, 4, 2, 6), source="first\n1234bbxx\nlast", hint="try 'c'", app="A"
    )
    assert str(error) == (
        "[E199] unexpected 'b' in app 'A', line 2, column 4\n2 | 1234bbxx\n        ^^\n  hint: try 'c'"
    )
    assert (error.line, error.column) == (2, 4)


@pytest.mark.parametrize(
    ("source", "span", "excerpt"),
    [
        ("abc", Span(1, 3, 1, 3), "1 | abc\n       ^"),
        ("abc\ndef", Span(1, 1, 2, 2), "1 | abc\n     ^^"),
        ("\ta b\r\nc", Span(1, 3, 1, 4), "1 | \ta b\n    \t  ^"),
        ("abc", Span(1, 0, 1, 99), "1 | abc\n    ^^^"),
    ],
)
def test_carets_mark_the_location(source, span, excerpt):
    assert str(SiddhiAppError("bad", span=span, source=source)).split("\n", 1)[1] == excerpt


def test_a_long_line_is_shown_around_the_location():
    line = "".join(chr(ord("a") + place % 26) for place in range(1000))
    for column in (0, 5, 500, 990, 999):
        shown, carets = str(SiddhiAppError("bad", span=Span(1, column, 1, column + 3), source=line)).split("\n")[1:]
        assert len(shown) < 180
        at = carets.index("^")
        assert shown[at : at + len(carets) - at] == line[column : column + 3]
    whole = str(SiddhiAppError("bad", span=Span(1, 0, 1, 1000), source=line)).split("\n")
    assert len(whole[2]) < 180


def test_long_quotations_are_truncated():
    error = SiddhiAppError(f"no '{'x' * 500}' but 'short'", hint=f"{'y ' * 5000}")
    assert str(error) == f"[E000] no '{'x' * 60}...' but 'short'\n  hint: {'y ' * 498}y..."
    assert error.message == f"no '{'x' * 60}...' but 'short'"


@pytest.mark.parametrize("source", ["", "\n\n", "a\n   \nb"])
def test_empty_lines_are_not_shown(source):
    assert "\n" not in str(SiddhiAppError("bad", span=Span(2, 0, 2, 0), source=source))


def test_a_name_in_another_case_is_suggested():
    assert did_you_mean("I", ["a", "i"]) == "; did you mean 'i'?"
    assert did_you_mean("price", ["prize", "PRICE"]) == "; did you mean 'PRICE'?"
    assert did_you_mean("zzz", ["a", "i"]) == ""


def test_details_that_are_set_are_kept():
    error = SiddhiAppError("bad", span=Span(1, 0, 1, 1))
    assert error.located(source="text", app="A", span=Span(9, 9, 9, 9)) is error
    assert (error.source, error.app, error.line) == ("text", "A", 1)
    assert error.located(source="other", app="B").app == "A"


def test_a_value_in_a_message_is_short_and_its_repr_may_fail():
    class Hostile:
        def __repr__(self):
            raise RuntimeError("asked")

    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert shown(("a", 1)) == "('a', 1)"
    for value in (deep, "x" * 10**6, 10**5000, Hostile(), [Hostile()], {1: "y" * 10**6}, [[1] * 99] * 99):
        assert 0 < len(shown(value)) < 5000
