"""Any text either compiles or has a compiler error with a location inside the text."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppError, SiddhiParserError
from siddhi.query_compiler import parse, parse_expression, parse_on_demand_query, parse_query, parse_time, to_siddhiql
from siddhi.query_compiler.build.expressions import MOST_CHAINED
from siddhi.query_compiler.keywords import KEYWORDS
from siddhi.query_compiler.tables import load
from siddhi.query_compiler.tokens import token_at

WORDS = (
    sorted(KEYWORDS)
    + sorted(load().punctuation)
    + ["a", "S", "1", "2L", ".5", "7f", "'x'", "`b c`", "{", "}", "$", "'"]
)
PARSERS = [parse, parse_on_demand_query, parse_query, parse_expression, parse_time]
APP = """\
@app:name('x') define stream S (a int, b string); define window W (a int) length(5) output all events;
define trigger T at every 5 sec; define function f[js] return int { return 1; };
define aggregation A from S[a > 1] select b, sum(a) as t group by b aggregate by a every sec ... year;
@info(name='q') from every e1=S[a > 1]<2:3> -> not S for 1 sec -> e2=S and e3=S within 5 sec select e1[last].a as x
group by a having not (a is null) order by a desc limit 1 offset 2 output last every 5 events insert into O;
from S as s left outer join W as w on s.a == w.a in T within 'x', 'y' per 'day' update or insert into T set T.a = x on true;
partition with (a of S, a > 1 as 'x' or a < 0 as 'y' of S) begin from (from S return)#log(*) insert into O a, f(b) c; end;
"""
TOKENS = []
position = 0
while (token := token_at(APP, position))[0] != "end":
    TOKENS.append(token)
    position = token[3]


def refusal(parser, text):
    """The error of a text, or None."""
    try:
        parser(text)
    except SiddhiAppError as error:
        return error
    return None


def check(parser, text):
    error = refusal(parser, text)
    if error is not None:
        lines = text.split("\n")
        assert error.source == text
        assert 1 <= error.span.line <= error.span.end_line <= len(lines)
        assert 0 <= error.span.column <= len(lines[error.span.line - 1])
        assert str(error).startswith(f"[{error.code}] ")


@given(st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join), st.sampled_from(PARSERS))
def test_any_tokens(text, parser):
    check(parser, text)


@given(st.text(max_size=20).filter(lambda text: "${" not in text), st.sampled_from(PARSERS))
@example("--", parse)
@example("/*", parse)
@example('"""', parse)
def test_any_characters(text, parser):
    check(parser, text)


@given(st.integers(0, len(TOKENS) - 1), st.sampled_from(["", *WORDS]), st.booleans())
def test_an_app_with_a_token_changed(number, word, keeps):
    _, value, begin, end = TOKENS[number]
    check(parse, f"{APP[:begin]} {word} {value if keeps else ''} {APP[end:]}")


@given(st.integers(0, len(APP)))
def test_a_truncated_app(length):
    check(parse, APP[:length])


def test_the_unchanged_app_is_valid():
    assert parse(to_siddhiql(parse(APP))) == parse(APP)


@pytest.mark.parametrize("text", ["{}", "{} sec", "e1[{}].a", "e1[last - {}].a", "{}L", "-{}"])
def test_numbers_beyond_the_digits_limit_of_python(text):
    with pytest.raises(SiddhiParserError) as caught:
        parse_expression(text.format("9" * 5000))
    assert caught.value.code == "E102"


@pytest.mark.parametrize(
    "text", ["from S select a output every {} events insert into O", "from A<{}> -> B insert into O"]
)
def test_counts_beyond_the_digits_limit_of_python(text):
    with pytest.raises(SiddhiParserError) as caught:
        parse_query(text.format("9" * 5000))
    assert caught.value.code == "E102"


def test_deep_nesting_needs_no_recursion():
    depth = 20_000
    expression = parse_expression("(" * depth + "a" + ")" * depth)
    assert expression.name == "a"
    chain = parse_expression(" or ".join(["a"] * MOST_CHAINED))
    assert chain.right.name == "a"
