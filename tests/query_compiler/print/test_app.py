from __future__ import annotations

import pytest
from hypothesis import given

from siddhi.query_api import (
    And,
    Constant,
    FunctionDefinition,
    IsNull,
    Math,
    MathOperator,
    Node,
    Not,
    Or,
    TriggerDefinition,
    Variable,
)
from siddhi.query_compiler import (
    parse,
    parse_expression,
    parse_on_demand_query,
    parse_query,
    parse_time,
    to_siddhiql,
)
from siddhi.query_compiler.print.expressions import time_text
from siddhi.types import AttributeType
from tests.kit import texts as strategies


@given(strategies.expressions)
def test_a_printed_expression_parses_to_the_same_expression(expression):
    assert parse_expression(to_siddhiql(expression)) == expression


@given(strategies.queries())
def test_a_printed_query_parses_to_the_same_query(query):
    assert parse_query(to_siddhiql(query)) == query


@given(strategies.on_demand_queries)
def test_a_printed_on_demand_query_parses_to_the_same_query(query):
    assert parse_on_demand_query(to_siddhiql(query)) == query


@given(strategies.apps())
def test_a_printed_app_parses_to_the_same_app(app):
    assert parse(to_siddhiql(app)) == app


@given(strategies.times)
def test_a_printed_time_parses_to_the_same_time(milliseconds):
    assert parse_time(time_text(milliseconds)) == milliseconds


def test_the_layout_of_an_app():
    text = """\
@app:name('Stocks')
@app:statistics('false')

@source(type='inMemory', topic='t', @map(type='passThrough'))
define stream Trades (symbol string, price double, volume long);
define table Last (symbol string, price double);
define trigger Tick at every 1 min 30 sec;

@info(name='high')
from Trades[price > 100.0 and not (symbol is null)]#window.time(5 min)
select symbol, sum(volume) as total
group by symbol
having total > 10
order by total desc
limit 5
output last every 3 events
insert expired events into High;

partition with (symbol of Trades)
begin
    from every e1=Trades -> e2=Trades[price > e1.price]<2:> within 1 hour
    select e1.symbol, e2[last].price as price
    insert into #Rises;
    from #Rises
    update or insert into Last set Last.price = price on Last.symbol == symbol;
end;
"""
    assert to_siddhiql(parse(text)) == text


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 sec"),
        (1, "1 millisec"),
        (90_000, "1 min 30 sec"),
        (2 * 86_400_000 + 30_000, "2 days 30 sec"),
        (604_800_000, "1 week"),
        (31_536_000_000, "1 year"),
        (40 * 86_400_000, "40 days"),
    ],
)
def test_times_are_printed_in_common_units(milliseconds, text):
    assert time_text(milliseconds) == text


def constant(value, kind=AttributeType.STRING, *, is_time=False):
    return Constant(value, kind, is_time)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (constant("plain"), "'plain'"),
        (constant("it's"), '"it\'s"'),
        (constant('say "x" now'), '"""say "x" now"""'),
        (constant("a\nb"), '"""a\nb"""'),
        (constant(0.1, AttributeType.FLOAT), "0.1f"),
        (constant(1e300, AttributeType.DOUBLE), "1e+300"),
        (constant(7, AttributeType.LONG), "7L"),
        (Variable("from"), "`from`"),
        (Variable("my attr", "S"), "S.`my attr`"),
        (Not(Or(Variable("a"), Variable("b"))), "not (a or b)"),
        (Not(IsNull(Variable("a"))), "not (a is null)"),
        (And(Or(Variable("a"), Variable("b")), Variable("c")), "(a or b) and c"),
        (
            Math(MathOperator.SUBTRACT, Variable("a"), Math(MathOperator.SUBTRACT, Variable("b"), Variable("c"))),
            "a - (b - c)",
        ),
        (Math(MathOperator.SUBTRACT, Variable("a"), constant(-1, AttributeType.INT)), "a - -1"),
    ],
)
def test_expressions_are_printed_with_needed_quotes_and_parentheses(node, text):
    assert to_siddhiql(node) == text


@pytest.mark.parametrize(
    "node",
    [
        Variable("back`quote"),
        Variable(""),
        constant('ends with "'),
        constant('three """ quotes'),
        constant(float("inf"), AttributeType.DOUBLE),
        constant(float("nan"), AttributeType.FLOAT),
        constant(1.5, AttributeType.INT),
        constant(-1, AttributeType.LONG, is_time=True),
        IsNull(Math(MathOperator.ADD, Variable("a"), Variable("b"))),
        TriggerDefinition("T"),
        FunctionDefinition("f", "js", AttributeType.INT, "return 1; }"),
        FunctionDefinition("f", "python", AttributeType.INT, "return {"),
    ],
)
def test_nodes_without_siddhiql_syntax_are_refused(node):
    with pytest.raises(ValueError, match=r"SiddhiQL|negative|neither|only to references"):
        to_siddhiql(node)


def test_long_chains_need_no_recursion():
    text = " or ".join(f"a == {number}" for number in range(5_000))
    assert to_siddhiql(parse_expression(text)) == text


def test_an_unknown_object_is_refused():
    with pytest.raises(TypeError, match="not a node"):
        to_siddhiql(Node())
