from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event, SiddhiManager
from siddhi.errors import SiddhiParserError
from siddhi.query_compiler import parse, parse_on_demand_query, to_siddhiql
from siddhi.query_compiler.variables import ParameterText, bind_parameters, substitute


def test_a_variable_is_allowed_anywhere(monkeypatch):
    monkeypatch.setenv("LIMIT", "5")
    text = "define ${kind} ${name} (v int); from S[v > ${LIMIT}] select '${name}' as x insert into O"
    app = parse(text, {"kind": "stream", "name": "S"})
    assert app.definitions[0].id == "S"
    assert app.source == "define stream S (v int); from S[v > 5] select 'S' as x insert into O"


def test_a_given_value_has_precedence_over_the_environment(monkeypatch):
    monkeypatch.setenv("NAME", "outer")
    assert substitute("${NAME}", {"NAME": "inner"}) == "inner"
    assert substitute("${NAME}", {"OTHER": "x"}) == "outer"
    assert substitute("${NAME}") == "outer"


def test_values_are_not_expanded_again():
    assert substitute("${a}", {"a": "${b}"}) == "${b}"


@pytest.mark.parametrize("text", ["$name", "${}", "${a b}", "{name}", "$ {name}"])
def test_other_dollar_signs_are_kept(text):
    assert substitute(text, {"name": "x", "a": "y"}) == text


def test_a_missing_variable_is_an_error_with_its_location(monkeypatch):
    monkeypatch.delenv("NO_SUCH", raising=False)
    text = "@app:name('Stocks')\ndefine stream S (v int);\nfrom S[v > ${NO_SUCH}] select v insert into O"
    with pytest.raises(SiddhiParserError, match=r"no value for the variable '\$\{NO_SUCH\}'") as e:
        parse(text)
    assert (e.value.line, e.value.column, e.value.app, e.value.code) == (3, 11, "Stocks", "E115")


def test_variables_are_not_expanded_in_on_demand_queries():
    with pytest.raises(SiddhiParserError, match=r"unexpected character '\$'"):
        parse_on_demand_query("from ${table}")


# --- typed parameters


@pytest.mark.parametrize(
    ("value", "constant"),
    [
        (True, "true"),
        (5, " 5"),
        (-5, " -5"),
        (2**31, " 2147483648L"),
        (0.5, " 0.5"),
        (1e22, " 1e+22"),
        ("IBM", "'IBM'"),
        ("it's", '"it\'s"'),
        ("two\nlines", '"""two\nlines"""'),
        (timedelta(seconds=1.5), " 1500 milliseconds"),
    ],
)
def test_a_parameter_becomes_a_constant(value, constant):
    assert bind_parameters("from S[v == ${p}] select v insert into O", {"p": value}) == (
        f"from S[v == {constant}] select v insert into O"
    )


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("true", "true"),
        ("5", " 5"),
        ("-3000000000", " -3000000000L"),
        ("5L", " 5"),
        ("0.50", " 0.5"),
        ("1e3", " 1000.0"),
        ("1 min 5 sec", " 65000 milliseconds"),
        ("IBM", "'IBM'"),
        ("5 apples", "'5 apples'"),
        ("'5'", "'5'"),
        ("nan", "'nan'"),
    ],
)
def test_the_text_of_a_parameter_is_the_constant_that_it_spells(text, constant):
    assert bind_parameters("a ${p} '${q}'", {"p": ParameterText(text), "q": ParameterText("0.50")}) == (
        f"a {constant} '0.50'"
    )


def test_a_parameter_in_a_string_is_a_part_of_it():
    assert bind_parameters("@app:name('bot-${p}') @x(y = \"${p}-${q}\")", {"p": 3, "q": "a"}) == (
        "@app:name('bot-3') @x(y = \"3-a\")"
    )


def test_a_parameter_in_a_comment_is_left_out():
    text = "-- ${p}\n/* ${p} */ from S[v > ${p}] select v insert into O"
    assert bind_parameters(text, {"p": "x\n*/ y"}).startswith("-- ${p}\n/* ${p} */ from S[v >")


def test_a_variable_in_a_comment_needs_no_value(monkeypatch):
    monkeypatch.delenv("NO_SUCH", raising=False)
    text = (
        "-- ${NO_SUCH}\ndefine stream S (v int); /* ${NO_SUCH} */ from S[v > ${p}] select '-- ${p}' as x insert into O;"
    )
    assert substitute(text, {"p": "5"}) == text.replace("${p}", "5")
    assert parse(text, {"p": "5"}).definitions[0].id == "S"
    with pytest.raises(SiddhiParserError, match="never closed"):
        parse("define stream S (v int); /* ${NO_SUCH}")


def test_a_negative_parameter_begins_no_comment():
    app = parse(bind_parameters("define stream S (v int); from S[v -${p} > 0] select v insert into O", {"p": -1}))
    assert "v - -1 > 0" in to_siddhiql(app)


def test_a_name_without_a_parameter_is_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("OUTER", "7")
    assert substitute(bind_parameters("${a} ${OUTER}", {"a": 1})) == " 1 7"


@pytest.mark.parametrize(
    ("text", "value", "error"),
    [
        ("${p}", None, "parameter 'p' must be a bool, int, float, str or timedelta, not NoneType"),
        ("${p}", [1], "parameter 'p' must be a bool, int, float, str or timedelta, not list"),
        ("${q}", 1, r"the app has no parameter \$\{p\}"),
        ("${p}", float("nan"), "parameter 'p' is nan, for which SiddhiQL has no constant"),
        ("${p}", 2**63, "parameter 'p' is out of range of a long: 9223372036854775808"),
        ("${p}", timedelta(microseconds=1), "parameter 'p' is not a whole number of milliseconds"),
        ("${p}", "'\"", "parameter 'p' has a quote at its end or three in a row"),
        ("'${p}'", "it's", "parameter 'p' has a quote or line break that would end the string"),
        ('"""${p}"""', 'x"', "parameter 'p' has a quote or line break that would end the string"),
    ],
)
def test_a_parameter_without_a_constant_is_refused(text, value, error):
    with pytest.raises((TypeError, ValueError), match=error):
        bind_parameters(text, {"p": value})


def test_a_parameter_in_a_script_is_refused_with_its_location():
    text = "define stream S (v int);\ndefine function f[python] return int { return ${p} };\nfrom S[v > ${p}] select v insert into O"
    with pytest.raises(SiddhiParserError, match=r"a script can't contain the parameter '\$\{p\}'") as e:
        bind_parameters(text, {"p": 1})
    assert (e.value.line, e.value.column) == (2, 46)


@given(
    value=st.one_of(
        st.text(), st.booleans(), st.integers(-(2**63) + 1, 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
    )
)
def test_an_app_gets_the_value_that_was_given(value):
    kind = {str: "string", bool: "bool", int: "long", float: "double"}[type(value)]
    text = f"define stream S (v {kind}); from S select ${{p}} as p insert into Out;"
    rows: list[Event] = []
    try:
        with SiddhiManager() as manager:
            runtime = manager.create_siddhi_app_runtime(text, parameters={"p": value})
            runtime.add_callback("Out", rows.extend)
            runtime.start()
            runtime.input_handler("S").send((value,))
    except ValueError:  # no constant can hold it
        assert isinstance(value, str)
        assert '"' in value
    else:
        assert rows[0].data == (value,)
