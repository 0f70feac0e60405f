"""Contextual keywords, and the other tokens."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiParserError
from siddhi.query_api import (
    Constant,
    EveryState,
    IsNull,
    Not,
    OutputAttribute,
    Pattern,
    Query,
    SingleInput,
    UpdateOrInsertInto,
    UpdateTable,
    Variable,
    WindowHandler,
)
from siddhi.query_compiler import parse, parse_expression, parse_on_demand_query, parse_query, to_siddhiql
from siddhi.query_compiler.keywords import KEYWORDS
from siddhi.query_compiler.tokens import token_at
from siddhi.types import AttributeType


def selected(text: str) -> Query:
    return parse_query(f"from S select {text} insert into O")


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_every_keyword_is_a_name_in_name_position(word):
    text = (
        f"define stream {word} ({word} string, b int);"
        f"@{word}({word}='x') from {word}[{word} == 'a']#{word}(1) select {word}, b as {word.upper()} insert into {word};"
        f"from {word} as {word} join T on {word}.{word} == T.{word} select {word}.{word} as x insert into O;"
        f"from {word}={word} -> T select {word}.b as x order by {word} insert into O;"
        f"from S delete {word} on {word}.{word} == {word}:{word}({word});"
    )
    app = parse(text)
    assert app.definitions[0].id == word
    assert app.executions[0].input.source == word
    assert [attribute.name for attribute in app.executions[0].selector.attributes] == [word, word.upper()]
    assert parse(to_siddhiql(app)) == app


@pytest.mark.parametrize("word", sorted(KEYWORDS))
def test_keywords_are_case_insensitive(word):
    text = "from S#window.length(1) select a order by b desc limit 1 output last every 5 min insert into O"
    assert parse_query(text.replace(f" {word} ", f" {word.upper()} ").replace(f" {word}.", f" {word.title()}.")) == (
        parse_query(text)
    )


def test_not_before_an_operand_is_the_operator():
    assert selected("not a as x").selector.attributes[0].expression == Not(Variable("a"))
    assert selected("not (a) as x").selector.attributes[0].expression == Not(Variable("a"))
    assert selected("not not a as x").selector.attributes[0].expression == Not(Not(Variable("a")))


@pytest.mark.parametrize("text", ["not as x", "not == 1 as x", "not.a as x", "not is null as x", "not - 1 as x"])
def test_not_without_an_operand_is_a_name(text):
    assert "`not`" in to_siddhiql(selected(text))


def test_true_and_false_are_names_outside_of_value_position():
    attributes = selected("true, true as t, true.a as u, true is null as v").selector.attributes
    assert attributes == (
        OutputAttribute(Variable("true")),
        OutputAttribute(Constant(True, AttributeType.BOOL), "t"),
        OutputAttribute(Variable("a", "true"), "u"),
        OutputAttribute(IsNull(Variable("true")), "v"),
    )


def input_of(text: str) -> object:
    return parse_query(f"from {text} select * insert into O").input


def test_every_before_an_element_is_the_operator():
    for text in (
        "every e=S",
        "every S",
        "every (S -> T)",
        "every #S",
        "every !S",
        "every not S for 1 sec",
        "every left",
    ):
        pattern = input_of(text)
        assert isinstance(pattern, Pattern), text
        assert isinstance(pattern.state, EveryState), text


@pytest.mark.parametrize(
    "text", ["every", "every[a > 1]", "every#log()", "every#window.length(1)", "every#str:f(1)", "every#[a > 1]"]
)
def test_every_without_an_element_is_a_stream(text):
    source = input_of(text)
    assert isinstance(source, SingleInput)
    assert source.source == "every"


def test_clauses_after_a_stream_named_every():
    assert parse_query("from every select a, b insert into O").input == SingleInput("every")
    assert parse_query("from every insert into O").input == SingleInput("every")
    assert parse_query("from every left outer join T select a insert into O").input.left == SingleInput("every")


def test_or_after_update_depends_on_the_next_tokens():
    assert isinstance(parse_query("from S update or insert into T on a == b").output, UpdateOrInsertInto)
    assert parse_query("from S update or on a == b").output == UpdateTable(target="or", on=parse_expression("a == b"))


def test_window_after_a_hash_depends_on_the_dot():
    handlers = input_of("S#window(1)#window.window(2)").handlers
    assert [type(handler) is WindowHandler for handler in handlers] == [False, True]
    assert [handler.call.name for handler in handlers] == ["window", "window"]


def test_a_statement_after_insert_into_needs_a_semicolon():
    with pytest.raises(SiddhiParserError, match="missing before"):
        parse("define stream S (a int); from S insert into O from O select a insert into P;")


def test_quoted_names_are_stripped_and_never_keywords():
    query = parse_query("from `from` select `a b`, `select` as `x\ny` insert into `O`")
    assert query.input == SingleInput("from")
    assert [attribute.name for attribute in query.selector.attributes] == ["a b", "x\ny"]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("7", "INT"),
        ("007", "INT"),
        ("7L", "LONG"),
        ("7l", "LONG"),
        ("7f", "FLOAT"),
        ("7.5F", "FLOAT"),
        ("7.f", "FLOAT"),
        (".5f", "FLOAT"),
        ("1.5e-3f", "FLOAT"),
        ("7.5", "DOUBLE"),
        (".5", "DOUBLE"),
        ("1e3", "DOUBLE"),
        ("1.e2", "DOUBLE"),
        ("7d", "DOUBLE"),
        ("7.D", "DOUBLE"),
        ("1E+2", "DOUBLE"),
        ("...", "..."),
        ("->", "->"),
        ("!=", "!="),
        ("'a -- b'", "string"),
        ('"""a "b" \n c"""', "long_string"),
        ("`a /* b`", "quoted"),
        ("_a1", "word"),
    ],
)
def test_the_longest_token_wins(text, shape):
    assert token_at(text + " rest", 0)[:2] == (shape, text)


@pytest.mark.parametrize(("text", "first"), [("5sec", "5"), ("5min", "5"), ("5days", "5d"), ("1.", "1"), ("5l", "5l")])
def test_numbers_end_at_the_first_other_character(text, first):
    assert token_at(text, 0)[1] == first


def test_white_space_and_comments_are_allowed_between_any_tokens():
    text = "from/*a*/S--b\n\v\t[v/* / * */>1]\r\nselect a insert into O -- end\n/* closed */"
    assert parse_query(text) == parse_query("from S[v > 1] select a insert into O")


STREAM = "define stream S (v int);"


@pytest.mark.parametrize(
    ("compile_text", "text", "line", "column"),
    [
        (parse_query, "from S select v insert into O; /*", 1, 31),
        (parse_query, "from S /* of the\nmarket\nselect v insert into O", 1, 7),
        (parse_query, "from S\n  /*/ select v insert into O", 2, 2),
        (parse_query, "/* a /* b */ from S /* select v insert into O", 1, 20),
        (parse_query, "from S select '/*' as x insert into O /* '", 1, 38),
        (parse_on_demand_query, "from T select v /* limit 1", 1, 16),
        (parse_expression, "1 /*", 1, 2),
        (parse, f"/* {STREAM}", 1, 0),
        (parse, f"{STREAM}\n/* the query\nfrom S select v insert into O;", 2, 0),
        (parse, f"{STREAM} from S /* select v insert into O;", 1, 32),
    ],
)
def test_an_unclosed_comment_is_an_error_with_its_location(compile_text, text, line, column):
    with pytest.raises(SiddhiParserError, match=r"this '/[*]' is never closed") as caught:
        compile_text(text)
    assert (caught.value.code, caught.value.line, caught.value.column) == ("E101", line, column)


def test_an_unclosed_comment_at_the_end_of_an_app_is_noted():
    queries = f"{STREAM} from S select v insert into O;"
    app = parse(f"{queries}\n /* from S select z insert into P;")
    assert app == parse(queries)
    assert (app.open_comment.line, app.open_comment.column) == (2, 1)


def test_a_double_minus_starts_a_comment():
    assert parse_query("from S select v--1\n as r insert into O") == parse_query("from S select v as r insert into O")


def test_many_blanks_before_an_invalid_character_take_linear_time():
    with pytest.raises(SiddhiParserError, match="unexpected character '~'"):
        parse(" " * 50_000 + "~")


@pytest.mark.parametrize("char", ["\f", "\u00a0"])
def test_form_feed_and_no_break_space_are_not_white_space(char):
    with pytest.raises(SiddhiParserError, match="unexpected character"):
        parse_query(f"from{char}S insert into O")


@pytest.mark.parametrize(
    "body",
    ["return 1;", "", " if (a) { b } else { c } ", 'x = "}"; ', "// }\n return 1", "a {{ } }"],
)
def test_a_script_is_the_text_between_its_braces(body):
    app = parse(f"define function f[javascript] return int {{{body}}};")
    assert app.definitions[0].body == body


@pytest.mark.parametrize(
    "body",
    [
        " return {'a': data[0] // 2}['a']\n",
        " return '}' ",
        ' x = "}" # {\n return x',
        " return '''}\n{{''' ",
        ' return f"{data[0]}" ',
        r" return '\'}' ",
    ],
)
def test_a_script_in_python_follows_the_rules_of_python(body):
    app = parse(f"define function f[Python] return int {{{body}}};")
    assert app.definitions[0].body == body
    assert parse(to_siddhiql(app)) == app
