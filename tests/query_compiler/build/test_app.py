from __future__ import annotations

from siddhi._frozen import fields, replace
from collections.abc import Iterator

import pytest
from hypothesis import given

from siddhi.errors import DuplicateAttributeError, SiddhiParserError
from siddhi.query_api import (
    AggregationDefinition,
    Annotation,
    Attribute,
    Duration,
    Element,
    Expression,
    FunctionCall,
    FunctionDefinition,
    Node,
    OutputEventType,
    Query,
    SingleInput,
    Span,
    StreamDefinition,
    TableDefinition,
    TriggerDefinition,
    Variable,
    WindowDefinition,
)
from siddhi.query_compiler import parse, parse_expression, parse_query, to_siddhiql
from siddhi.types import AttributeType
from tests.kit import texts as strategies

S = "define stream S (a int);"


def definition(text):
    return parse(text).definitions[0]


def test_stream_with_all_types():
    text = "define stream S (s string, i int, l LONG, f float, d double, b Bool, o object)"
    kinds = list(AttributeType)
    assert definition(text) == StreamDefinition(
        "S", tuple(Attribute(name, kind) for name, kind in zip("silfdbo", kinds, strict=True))
    )


def test_table_with_annotations():
    text = "@PrimaryKey('a') @Index('b') @store(type='x', @cache(size='10')) define table T (a int, b int)"
    assert definition(text) == TableDefinition(
        "T",
        (Attribute("a", AttributeType.INT), Attribute("b", AttributeType.INT)),
        (
            Annotation("PrimaryKey", (Element(None, "a"),)),
            Annotation("Index", (Element(None, "b"),)),
            Annotation("store", (Element("type", "x"),), (Annotation("cache", (Element("size", "10"),)),)),
        ),
    )


def test_named_windows():
    attributes = (Attribute("a", AttributeType.INT),)
    assert definition("define window W (a int) length(5)") == WindowDefinition(
        "W", attributes, window=FunctionCall("length", (parse_expression("5"),))
    )
    window = definition("define window W (a int) x:y() output expired events")
    assert window == WindowDefinition(
        "W", attributes, window=FunctionCall("y", (), "x"), output=OutputEventType.EXPIRED
    )


def test_triggers():
    assert definition("define trigger T at every 5 min") == TriggerDefinition("T", every_ms=300_000)
    assert definition("define trigger T at 'start'") == TriggerDefinition("T", at="start")


def test_functions():
    text = "define function f[javascript] return string { return data[0] + '}'; // }\n }"
    with pytest.raises(SiddhiParserError):
        parse(text)  # a brace in single quotes counts
    assert definition(text.replace("'", '"')) == FunctionDefinition(
        "f", "javascript", AttributeType.STRING, ' return data[0] + "}"; // }\n '
    )


def test_aggregations():
    text = "@purge(enable='false') define aggregation A from S[a > 1] select a, sum(b) as t group by a aggregate by ts every {}"
    aggregation = definition(text.format("sec ... year"))
    assert isinstance(aggregation, AggregationDefinition)
    assert aggregation.input == SingleInput("S", parse_query("from S[a > 1] insert into O").input.handlers)
    assert aggregation.selector == parse_query("from S select a, sum(b) as t group by a insert into O").selector
    assert aggregation.aggregate_by == Variable("ts")
    assert (aggregation.durations, aggregation.is_range) == ((Duration.SECONDS, Duration.YEARS), True)
    assert aggregation.annotations[0].element("enable") == "false"
    listed = definition(text.format("hours, min, seconds"))
    assert (listed.durations, listed.is_range) == ((Duration.HOURS, Duration.MINUTES, Duration.SECONDS), False)
    assert definition("define aggregation A from S select * aggregate every day").aggregate_by is None


@pytest.mark.parametrize("word", ["week", "weeks", "millisec"])
def test_an_aggregation_of_weeks_is_refused(word):
    with pytest.raises(SiddhiParserError, match=f"unsupported duration '{word}'") as caught:
        parse(f"define aggregation A from S select a aggregate every sec, {word}")
    assert caught.value.code == "E112"


def test_a_window_of_an_aggregation_is_refused():
    with pytest.raises(SiddhiParserError, match="can't have a window"):
        parse("define aggregation A from S#window.length(1) select a aggregate every sec")


@pytest.mark.parametrize(
    "text",
    [
        "define trigger select at 'start'",
        "define function table[js] return int {}",
        "define function f[first] return int {}",
        "define aggregation raw from S select a aggregate every sec",
        "define trigger App at 'start'",
    ],
)
def test_some_keywords_are_valid_names(text):
    with pytest.raises(SiddhiParserError, match="can't be a name here") as caught:
        parse(text)
    assert caught.value.code == "E105"
    name = caught.value.span
    quoted = text[: name.column] + f"`{text[name.column : name.end_column]}`" + text[name.end_column :]
    assert parse(quoted)


@pytest.mark.parametrize("sign", ["#", "!"])
@pytest.mark.parametrize("text", ["stream {}S (a int)", "table {}S (a int)", "window {}S (a int) length(1)"])
def test_definitions_of_inner_and_fault_streams_are_refused(sign, text):
    with pytest.raises(SiddhiParserError, match="can't be defined") as caught:
        parse(f"define {text.format(sign)}")
    assert caught.value.code == "E105"
    assert caught.value.span == Span(1, text.index("{}") + 7, 1, text.index("{}") + 9)


@pytest.mark.parametrize("text", ["stream S {}", "table S {}", "window S {} length(1)"])
def test_duplicate_attributes_are_refused(text):
    with pytest.raises(DuplicateAttributeError, match="duplicate attribute 'a': already defined with type int") as caught:
        parse("define " + text.format("(a int, b int, a string)"))
    assert caught.value.source is not None


# ---- annotations


def test_annotations_of_the_app():
    app = parse("@app:name('X') @APP:description(\"d\") @app:playback @foo " + S)
    assert app.name == "X"
    assert app.annotations == (
        Annotation("name", (Element(None, "X"),)),
        Annotation("description", (Element(None, "d"),)),
        Annotation("playback"),
    )
    assert app.definitions[0].annotations == (Annotation("foo"),)


@pytest.mark.parametrize(
    "text",
    [
        f"{S} @app:name('x') define stream R (a int)",
        f"{S} @app:name('x') from S insert into O",
        f"@foo @app:name('x') {S}",
        f"{S} partition with (a of S) begin @app:name('x') from S insert into O end",
        f"@app:name(@x('y')) {S}",
        f"@foo(@app:name('x')) {S}",
        f"@foo:name('x') {S}",
        "@foo define trigger T at 'start'",
        "@foo define function f[js] return int {}",
    ],
)
def test_misplaced_annotations_are_refused(text):
    with pytest.raises(SiddhiParserError) as caught:
        parse(text)
    assert caught.value.code == "E104"


def test_keys_of_annotations():
    text = "@x(a.b='1', c-d='2', e : f='3', 'quoted key'='4', select=\"5\", '6', @y) "
    annotation = definition(text + S).annotations[0]
    assert [(element.key, element.value) for element in annotation.elements] == [
        ("a.b", "1"),
        ("c-d", "2"),
        ("e:f", "3"),
        ("quoted key", "4"),
        ("select", "5"),
        (None, "6"),
    ]
    assert annotation.annotations == (Annotation("y"),)


@pytest.mark.parametrize("text", ["@x(n=1)", "@x(n=true)", "@x()", "@x(a=)", "@x(a.='1')", "@", "@x('a' 'b')"])
def test_invalid_annotations_are_refused(text):
    with pytest.raises(SiddhiParserError):
        parse(text + S)


# ---- the app


def test_the_order_of_the_parts_of_an_app():
    app = parse(f"@app:name('x') {S} define table T (a int); from S insert into T; from S insert into O")
    assert [type(node) for node in app.definitions] == [StreamDefinition, TableDefinition]
    assert [type(node) for node in app.executions] == [Query, Query]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E104"),
        ("  -- nothing\n", "E104"),
        ("@app:name('x')", "E100"),
        ("from S insert into O", "E104"),
        (f"{S} from S insert into O; define stream R (a int)", "E104"),
        (f"{S};", "E100"),
        (f";{S}", "E100"),
        (f"{S} from S insert into O;;", "E100"),
        (f"{S} from S insert into O from S insert into P", "E100"),
        ("define stream S (a int) define stream R (a int)", "E100"),
        ("define stream S ()", "E100"),
        ("define stream S", "E100"),
        (f"{S} partition with (a of S) begin end", "E100"),
        (f"{S} partition with (a of S) begin partition with (a of S) begin from S insert into O end end", "E100"),
        (f"{S} $;", "E101"),
    ],
)
def test_invalid_apps_are_refused(text, code):
    with pytest.raises(SiddhiParserError) as caught:
        parse(text)
    assert caught.value.code == code


def test_an_error_contains_the_app_and_its_text():
    text = f"@app:name('Stocks') {S} from S select a limit a insert into O"
    with pytest.raises(SiddhiParserError) as caught:
        parse(text)
    assert caught.value.app == "Stocks"
    assert caught.value.source == text


# ---- places


def nodes(value: object) -> Iterator[Node]:
    """All nodes below a node."""
    if isinstance(value, Node):
        yield value
        for field in fields(value):
            yield from nodes(getattr(value, field.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from nodes(item)


def text_at(source: str, span: Span) -> str:
    lines = source.split("\n")[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    return "\n".join(lines)


def test_locations_of_nodes():
    source = (
        "@app:name('x')\ndefine stream S (a int);\n@info(name='q')\nfrom S[a > 1]\nselect a, b + 1 as c\ninsert into O;"
    )
    app = parse(source)
    query = app.executions[0]
    places = [
        (app.annotations[0], "@app:name('x')"),
        (app.definitions[0], "define stream S (a int)"),
        (app.definitions[0].attributes[0], "a int"),
        (query.annotations[0], "@info(name='q')"),
        (query.annotations[0].elements[0], "name='q'"),
        (query, "from S[a > 1]\nselect a, b + 1 as c\ninsert into O"),
        (query.input, "S[a > 1]"),
        (query.input.handlers[0], "[a > 1]"),
        (query.input.handlers[0].condition.left, "a"),
        (query.selector, "select a, b + 1 as c"),
        (query.selector.attributes[1], "b + 1 as c"),
        (query.selector.attributes[1].expression, "b + 1"),
        (query.output, "insert into O"),
    ]
    for node, text in places:
        assert text_at(source, node.span) == text
    assert query.span == Span(4, 0, 6, 13)


@given(strategies.apps())
def test_the_text_at_the_location_of_a_node_is_the_node(app):
    source = to_siddhiql(app)
    for node in nodes(parse(source)):
        if type(node) is not type(app) and isinstance(node, (Expression, Query)) and node.span is not None:
            text = text_at(source, node.span)
            if isinstance(node, Expression):
                assert parse_expression(text) == node
            else:
                assert parse_query(text) == replace(node, annotations=())


def test_every_node_has_a_location():
    source = """
    @app:name('x') @info(a='b') define stream S (a int); define window W (a int) length(5) output all events;
    define trigger T at 'start'; define function f[js] return int {}; define aggregation A from S select a aggregate every sec;
    from every e1=S[a > 1]<2:3> -> not S for 1 sec -> e2=S and e3=S within 5 sec select e1[0].a as x, 5 sec as y
    group by a having a is null and e1[1] is null order by a limit 1 output last every 5 events insert into O;
    from S as s join W as w on s.a == w.a in T within 'x' per 'day' select f(*) as x update T set T.a = x on not (a == -1);
    partition with (a of S, a > 1 as 'x' of S) begin from (from S return)#log() delete T on true; end;
    """
    without = [type(node).__name__ for node in nodes(parse(source)) if node.span is None]
    assert without == ["Selector"] * without.count("Selector")  # a clause that is not written has no place
