"""Edges of ``str`` and ``regex``."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppCreationError
from tests.kit.functions import executors, value
from tests.kit.running import collect, running

STREAM = "define stream S (t string, i int, b bool, d double, m object, p string);"
ROW = ("Hello", -1, True, 1.5e10, {"name": "Ann", "n": 3}, "l+")


def test_positions_outside_of_the_text_are_errors() -> None:
    calls = ["str:charAt(t, 5)", "str:charAt(t, i)", "str:substr(t, 6)", "str:substr(t, 2, 9)", "str:substr(t, i)"]
    calls += ["str:split(t, 'l', 3)", "str:locate('o', t, 9)", "regex:group(p, t, 1)", "regex:find(p, t, 6)"]
    built, layout = executors(STREAM, calls)
    assert [value(each, layout, ROW) for each in built] == [IndexError] * len(calls)


def test_other_invalid_arguments_are_errors() -> None:
    calls = ["str:repeat(t, i)", "str:unhex(t)", "str:charFrequency(t, 'll')", "str:fillTemplate('{{3}}', t)"]
    calls += ["str:replaceAll(t, p, '$1')"]
    built, layout = executors(STREAM, calls)
    assert [value(each, layout, ROW) for each in built] == [ValueError] * len(calls)


def test_values_have_the_texts_of_java() -> None:
    calls = {
        "str:concat(t, i, b, d)": "Hello-1true1.5E10",
        "str:fillTemplate('{{1}}: {{2}}', t, d)": "Hello: 1.5E10",
        "str:fillTemplate('{{name}} {{n}}', m)": "Ann 3",
        "str:strcmp('b', t)": ord("b") - ord("H"),
        "str:reverse(t)": "olleH",
        "str:equalsIgnoreCase(t, 'hELLO')": True,
        "str:equalsIgnoreCase(t, 'hELL')": False,
        "str:locate('x', t, 2)": 1,
        "str:substr(t, 'x')": "",
    }
    built, layout = executors(STREAM, list(calls))
    assert [value(each, layout, ROW) for each in built] == list(calls.values())


def test_nulls_are_left_out_where_texts_are_joined() -> None:
    built, layout = executors(
        STREAM, ["str:concat(t, i, p)", "str:coalesce(t, p)", "regex:find(p, t)", "regex:find(t, p)"]
    )
    row = (None, None, None, None, None, "x")
    assert [value(each, layout, row) for each in built] == ["x", "x", False, ValueError]


def test_a_pattern_from_data_is_compiled_once() -> None:
    built, layout = executors(STREAM, ["str:replaceAll(t, p, '<$0>')", "regex:matches(p, t)"])
    assert value(built[0], layout, ROW) == "He<ll>o"
    assert value(built[0], layout, (*ROW[:5], "[")) is ValueError
    assert [value(built[1], layout, (t, *ROW[1:5], p)) for t, p in (("ab", "a."), ("ab", "a"))] == [True, False]


@pytest.mark.parametrize("call", ["regex:find('(', t)", "str:replaceAll(t, '(?=x)', '')", "str:substr(t, '[')"])
def test_a_literal_pattern_is_checked_when_the_app_is_created(call: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match="invalid regular expression"):
        executors(STREAM, [call])


def test_a_text_becomes_an_event_for_each_token() -> None:
    app = """define stream S (t string, p string);
    from S#str:tokenize(t, '[, ]+') select token insert into A;
    from S#str:tokenize(t, p, true) select token insert into B;"""
    with running(app) as runtime:
        plain, from_data = collect(runtime, "A"), collect(runtime, "B")
        runtime.input_handler("S").send(("b, a,b,,", ","))
        runtime.input_handler("S").send(("", "x"))
        assert (plain, from_data) == ([("b",), ("a",), ("b",), ("",)], [("b",), (" a",), ("",)])
        errors: list[BaseException] = []
        runtime.handle_exception_with(lambda error, *_: errors.append(error))
        runtime.input_handler("S").send((None, ","))
    assert "str:tokenize() got null as text" in str(errors[0])
