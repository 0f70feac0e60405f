from __future__ import annotations

import pytest

from siddhi.errors import SiddhiParserError
from siddhi.query_compiler import parse, parse_on_demand_query
from siddhi.query_compiler.variables import substitute


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
