"""Long expressions: they are evaluated, or refused with their location."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiParserError
from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.query_compiler import parse, to_siddhiql
from tests.kit.running import collect, running

MANY = 5_000
DEEP = 99  # levels, below the limit of 100
STREAM = "define stream S (a int, b bool); define table T (a int);"


def results(app: str) -> list[tuple[object, ...]]:
    """What comes out of an app, sent row by row and as a batch, once its text has gone the whole way."""
    parsed = parse(app)
    text = to_siddhiql(parsed)
    assert to_siddhiql(parse(text)) == text
    assert explain(plan(parsed))
    with running(app) as runtime:
        rows = collect(runtime, "Out")
        for a in (1, MANY + 7, 2, None):
            runtime.input_handler("S").send((a, True))
        one_by_one = list(rows)
        rows.clear()
        runtime.input_handler("S").send_batch({"a": [1, MANY + 7, 2, None], "b": [True] * 4})
        assert rows == one_by_one
        runtime.restore(runtime.snapshot())
    return one_by_one


def among(sign: str, operator: str = "==", start: int = 0) -> str:
    return sign.join(f"a {operator} {number}" for number in range(start, MANY))


@pytest.mark.parametrize(
    "place", ["from S[{}] select a insert into Out;", "from S select a having {} insert into Out;"]
)
def test_thousands_of_alternatives(place: str) -> None:
    assert results(f"{STREAM} {place.format(among(' or '))}") == [(1,), (2,)]


def test_thousands_of_conditions() -> None:
    assert results(f"{STREAM} from S[{among(' and ', '!=', 2)}] select a insert into Out;") == [
        (1,),
        (MANY + 7,),
        (None,),
    ]


def test_thousands_of_pairs() -> None:
    pairs = " or ".join(f"a == {number} and b" for number in range(2, MANY))
    assert results(f"{STREAM} from S[{pairs}] select a insert into Out;") == [(2,)]


@pytest.mark.parametrize("start", ["(" * MANY, ""])
def test_thousands_of_terms(start: str) -> None:
    terms = start + "a" + (") + a" if start else " + a") * MANY
    assert results(f"{STREAM} from S select {terms} as x insert into Out;") == [
        (MANY + 1,),
        ((MANY + 1) * (MANY + 7),),
        (2 * MANY + 2,),
        (None,),
    ]


def test_a_condition_over_rows_can_be_long() -> None:
    app = f"{STREAM} from S select a insert into T; from S[({among(' or ')}) and ({among(' or ')}) in T]"
    assert results(f"{app} select a insert into Out;") == [(1,), (2,)]


def test_parentheses_do_not_count_as_nesting() -> None:
    assert results(f"{STREAM} from S[{'(' * MANY}a == 2{')' * MANY}] select a insert into Out;") == [(2,)]


NESTED = {
    "calls": ("coalesce(", "a", ", 7)"),
    "not": ("not ", "b", ""),
    "right operands": ("1 + (", "a", ")"),
    "tests": ("", "b", " == b"),
}


@pytest.mark.parametrize("kind", NESTED)
def test_nesting_up_to_the_limit_works(kind: str) -> None:
    before, inner, behind = NESTED[kind]
    text = before * DEEP + inner + behind * DEEP
    assert len(results(f"{STREAM} from S select {text} as x insert into Out;")) == 4


@pytest.mark.parametrize(
    "text",
    [
        "from S select {} as x insert into Out;".format("coalesce(" * 3000 + "a" + ", 7)" * 3000),
        "from S[{}b] select a insert into Out;".format("not " * 3000),
        "from S select {} as x insert into Out;".format("1 + (" * 3000 + "a" + ")" * 3000),
        "from S select {} as x insert into Out;".format("+".join(["a"] * 20_000)),
        "from {} select a insert into Out;".format("(" * 3000 + "S" + ")" * 3000),
        "from {} select a insert into Out;".format("(from " * 3000 + "S" + " select a return)" * 3000),
        "{} define stream R (a int);".format("@a(" * 3000 + "b='c'" + ")" * 3000),
    ],
    ids=["calls", "not", "right operands", "terms", "groups", "inner queries", "annotations"],
)
def test_nesting_beyond_the_limit_is_an_error_with_its_location(text: str) -> None:
    order = f"{text} {STREAM}" if text.startswith("@") else f"{STREAM} {text}"
    with pytest.raises(SiddhiParserError) as refused:
        parse(order)
    assert refused.value.code == "E116"
    assert refused.value.line == 1
    assert refused.value.hint
    assert len(str(refused.value)) < 1000
