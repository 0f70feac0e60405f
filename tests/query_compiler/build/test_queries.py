from __future__ import annotations

import pytest

from siddhi.errors import DuplicateAttributeError, SiddhiParserError, UnsupportedAttributeTypeError
from siddhi.query_api import (
    Constant,
    DeleteFrom,
    EventRate,
    InsertInto,
    OnDemandQuery,
    Order,
    OrderBy,
    OutputAttribute,
    OutputEventType,
    RangeKey,
    RateKind,
    ReturnOutput,
    Selector,
    SetAttribute,
    SnapshotRate,
    StoreInput,
    TimeRate,
    UpdateOrInsertInto,
    UpdateTable,
    ValueKey,
    Variable,
)
from siddhi.query_compiler import parse, parse_expression, parse_on_demand_query, parse_query
from siddhi.types import AttributeType

e = parse_expression


def test_every_clause_of_a_selection():
    text = (
        "select a, S.b, sum(c) as t group by a, S.b having t > 5 order by t desc, a, b asc limit 5 offset 2L "
        "insert into O"
    )
    assert parse_query(f"from S {text}").selector == Selector(
        (OutputAttribute(e("a")), OutputAttribute(e("S.b")), OutputAttribute(e("sum(c)"), "t")),
        (Variable("a"), Variable("b", "S")),
        e("t > 5"),
        (OrderBy(Variable("t"), Order.DESC), OrderBy(Variable("a")), OrderBy(Variable("b"))),
        Constant(5, AttributeType.INT),
        Constant(2, AttributeType.LONG),
    )


def test_star_and_no_select_select_all():
    assert parse_query("from S select * insert into O").selector == Selector()
    assert parse_query("from S insert into O").selector == Selector()
    assert parse_query("from S select * limit 1 insert into O").selector == Selector(limit=e("1"))


@pytest.mark.parametrize("text", ["v + 1", "sum(v)", "1", "not v", "'x'", "(v + 1)"])
def test_an_expression_needs_an_alias(text):
    with pytest.raises(SiddhiParserError, match="needs a name") as caught:
        parse_query(f"from S select a, {text} insert into O")
    assert caught.value.code == "E111"
    assert caught.value.column == len("from S select a, ")


@pytest.mark.parametrize("text", ["a, a", "a as x, b as x", "a, b as a", "e1.a, e2.a"])
def test_duplicate_output_names_are_refused(text):
    with pytest.raises(DuplicateAttributeError, match="duplicate output attribute"):
        parse_query(f"from S select {text} insert into O")


def test_valid_and_invalid_limits_and_offsets():
    with pytest.raises(SiddhiParserError, match="'limit' takes a number, not an expression"):
        parse_query("from S select a limit 1 + 1 insert into O")
    with pytest.raises(SiddhiParserError, match="'offset' takes a number, not an expression"):
        parse_query("from S select a offset a insert into O")
    for value in ("'x'", "1.5", "true"):
        with pytest.raises(UnsupportedAttributeTypeError, match="takes an int or long"):
            parse_query(f"from S select a limit {value} insert into O")
    assert parse_query("from S select a limit -1 insert into O").selector.limit == e("-1")


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("output every 3 events", EventRate(3)),
        ("output all every 3 events", EventRate(3)),
        ("output first every 3 events", EventRate(3, RateKind.FIRST)),
        ("output last every 1 min 5 sec", TimeRate(65_000, RateKind.LAST)),
        ("output every 5 sec", TimeRate(5_000)),
        ("output snapshot every 1 hour", SnapshotRate(3_600_000)),
    ],
)
def test_output_rates(text, rate):
    assert parse_query(f"from S select a {text} insert into O").rate == rate
    assert parse_query(f"from S {text} insert into O").rate == rate


CURRENT, EXPIRED, ALL = OutputEventType.CURRENT, OutputEventType.EXPIRED, OutputEventType.ALL
ASSIGNED = (SetAttribute(Variable("v", "T"), e("v + 1")), SetAttribute(Variable("w"), e("2")))


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("insert into O", InsertInto(target="O")),
        ("insert events into O", InsertInto(CURRENT, target="O")),
        ("insert current events into O", InsertInto(CURRENT, target="O")),
        ("insert expired events into #O", InsertInto(EXPIRED, target="O", is_inner=True)),
        ("insert all events into !O", InsertInto(ALL, target="O", is_fault=True)),
        ("delete T", DeleteFrom(target="T")),
        ("delete T for all events on T.a == a", DeleteFrom(ALL, target="T", on=e("T.a == a"))),
        ("update T on T.a == a", UpdateTable(target="T", on=e("T.a == a"))),
        (
            "update T for expired events set T.v = v + 1, w = 2 on T.a == a",
            UpdateTable(EXPIRED, target="T", set=ASSIGNED, on=e("T.a == a")),
        ),
        (
            "update or insert into T for events set T.v = v + 1, w = 2 on T.a == a",
            UpdateOrInsertInto(CURRENT, target="T", set=ASSIGNED, on=e("T.a == a")),
        ),
        ("return", ReturnOutput()),
        ("return all events", ReturnOutput(ALL)),
    ],
)
def test_outputs(text, output):
    assert parse_query(f"from S select a {text}").output == output


@pytest.mark.parametrize("text", ["delete #T on a == b", "update !T on a == b", "update or insert into #T on a == b"])
def test_updates_need_a_table(text):
    with pytest.raises(SiddhiParserError, match="a table is expected") as caught:
        parse_query(f"from S select a {text}")
    assert caught.value.code == "E105"
    assert caught.value.column == len("from S select a ") + min(text.index(sign) for sign in "#!" if sign in text)


# ---- Siddhi 2: the projection follows the target


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from S insert into O a, b", "from S select a, b insert into O"),
        ("from S insert into O a as x, S.b", "from S select a as x, S.b insert into O"),
        ("from S insert into O a, count(b) total", "from S select a, count(b) as total insert into O"),
        ("from S insert into O *", "from S select * insert into O"),
        (
            "from S[a > 1]#window.time(1 min) insert all events into O a, avg(b) as m group by a having m > 5",
            "from S[a > 1]#window.time(1 min) select a, avg(b) as m group by a having m > 5 insert all events into O",
        ),
        (
            "from S as s join R as r on s.a == r.a insert into O s.a as x, r.b as y",
            "from S as s join R as r on s.a == r.a select s.a as x, r.b as y insert into O",
        ),
        (
            "from every (a1 = S[a > 10]) -> a2 = S[a1.b == a2.b] within 1 day insert into O a1.b as c, a2.a as p",
            "from every a1=S[a > 10] -> a2=S[a1.b == a2.b] within 1 day select a1.b as c, a2.a as p insert into O",
        ),
    ],
)
def test_a_selection_after_the_target(old, new):
    assert parse_query(old) == parse_query(new)
    definitions = "define stream S (a int); "
    both = parse(f"{definitions} {old}; {old}").executions
    assert both == parse(f"{definitions} {new}; {new};").executions
    inside = parse(f"{definitions} partition with (a of S) begin {old}; {old} end").executions[0]
    assert inside.queries == both


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from S select a insert into O b", "two selections"),
        ("from S insert into O a b", "unexpected 'b' after 'a'"),
        ("from S insert into O count(a)", "needs a name"),
        ("from S insert into O a, count(a) a", "duplicate output attribute"),
    ],
)
def test_errors_in_a_selection_after_the_target(text, message):
    with pytest.raises((SiddhiParserError, DuplicateAttributeError), match=message):
        parse_query(text)


# ---- partitions and on-demand queries


def test_partitions():
    partition = parse(
        "define stream S (a int); "
        "@info(name='p') partition with (a + 1 of S, v > 5 as 'high' or v <= 5 as 'low' of `R`) begin "
        "@info(name='q') from S insert into #I; from #I insert into O; end;"
    ).executions[0]
    assert partition.keys == (
        ValueKey("S", expression=e("a + 1")),
        RangeKey("R", ranges=(("high", e("v > 5")), ("low", e("v <= 5")))),
    )
    assert [query.name for query in partition.queries] == ["q", None]
    assert partition.annotations[0].element("name") == "p"


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("from T", OnDemandQuery(input=StoreInput("T"), selector=Selector())),
        ("from T;", OnDemandQuery(input=StoreInput("T"), selector=Selector())),
        (
            "from T as t on t.v > 5 select s order by v limit 2",
            OnDemandQuery(
                input=StoreInput("T", "t", e("t.v > 5")),
                selector=Selector((OutputAttribute(Variable("s")),), order_by=(OrderBy(Variable("v")),), limit=e("2")),
            ),
        ),
        (
            "from A on s == 'x' within 1L, 2L per 'sec' select *",
            OnDemandQuery(
                input=StoreInput("A", None, e("s == 'x'"), (e("1L"), e("2L")), e("'sec'")), selector=Selector()
            ),
        ),
        (
            "select 'x' as s, 1 as v insert into T",
            OnDemandQuery(
                selector=Selector((OutputAttribute(e("'x'"), "s"), OutputAttribute(e("1"), "v"))),
                output=InsertInto(target="T"),
            ),
        ),
        ("delete T on T.v == 1", OnDemandQuery(selector=Selector(), output=DeleteFrom(target="T", on=e("T.v == 1")))),
        (
            "select 1 as v delete T on T.v == v",
            OnDemandQuery(
                selector=Selector((OutputAttribute(e("1"), "v"),)), output=DeleteFrom(target="T", on=e("T.v == v"))
            ),
        ),
        (
            "update T set T.v = v + 1, w = 2 on true",
            OnDemandQuery(selector=Selector(), output=UpdateTable(target="T", set=ASSIGNED, on=e("true"))),
        ),
        (
            "select 1 as v update or insert into T on T.v == v",
            OnDemandQuery(
                selector=Selector((OutputAttribute(e("1"), "v"),)),
                output=UpdateOrInsertInto(target="T", on=e("T.v == v")),
            ),
        ),
    ],
)
def test_on_demand_queries(text, query):
    assert parse_on_demand_query(text) == query


@pytest.mark.parametrize(
    "text",
    [
        "",
        "select 1 as v",
        "from T selec v",
        "insert into T",
        "update or insert into T on T.v == 1",
        "select 1 as v insert into #T",
        "from T within 1L",
        "from T; from T",
        "from T insert into O",
    ],
)
def test_invalid_on_demand_queries_are_refused(text):
    with pytest.raises(SiddhiParserError):
        parse_on_demand_query(text)
