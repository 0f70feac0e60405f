from __future__ import annotations

import math

import pytest

from siddhi.extension import Registry, builtin_registry
from siddhi.planner.explain.filing import filing_text
from siddhi.planner.plan.nodes import JoinPlan, PredicateIndex, QueryPlan
from siddhi.planner.plan.patterns import PatternPlan
from siddhi.planner.rules.file_queries import FEWEST_QUERIES
from siddhi.runtime.assembly.app import Assembly
from tests.kit.planning import partition, planned, query, single

STREAM = "define stream S (a string, n int, l long, b bool, d double, o object, f float);"


def last_filing(text: str, definitions: str = STREAM) -> str | None:
    """Where a query is filed that stands so often that its stream has an index."""
    found = single(query(text * FEWEST_QUERIES, definitions=definitions))
    return None if found.filing is None else filing_text(found.filing, found.attributes)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a == 'x'", "a == 'x'"),
        ("'x' == a", "a == 'x'"),
        ("n == 3", "n == 3"),
        ("n == 3L", "n == 3"),
        ("l == 3", "l == 3"),
        ("b == true", "b == true"),
        ("a is null", "a is null"),
        ("o is null", "o is null"),
        ("d == 1.0", "d == 1.0"),
        ("d == 2", "d == 2.0"),
        ("n > 1 + 2", "4 <= n"),
        ("3 >= l", "l <= 3"),
        ("n >= 1 and n < 5 and n > 2", "3 <= n <= 4"),
        ("d > 1.0", f"{math.nextafter(1.0, 2)} <= d"),
        ("n <= 2.5", "n <= 2.5"),
        ("f == 2.5f", "f == 2.5"),
        ("d > 1.0 and a == 'x' and d <= 9.0", f"a == 'x', {math.nextafter(1.0, 2)} <= d <= 9.0"),
        ("a == 'x' or n == 2", "a == 'x' or n == 2"),
        ("(a == 'x' or a == 'y') and l > 3", "a == 'x', 4 <= l or a == 'y', 4 <= l"),
        ("n > 2147483647", "nothing: its filter is never true"),
        ("n > 5 and n < 3", "nothing: its filter is never true"),
        ("d > 1.0 or b == true", f"{math.nextafter(1.0, 2)} <= d or b == true"),
        ("not (a == 'x')", None),
        ("a != 'x'", None),
        ("a == 'x' or d / 2.0 > 1.0", None),
        ("n == 2.5f", None),  # compared as float: the integer is rounded
        ("d % 2.0 == 1.0", None),
    ],
)
def test_a_query_is_filed_under_its_most_selective_condition(condition: str, expected: str | None) -> None:
    assert last_filing(f"from S[{condition}] select a insert into Out;") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from S[fn(n) and a == 'x'] select a insert into Out;", None),
        ("from S[a == 'x' and fn(n)] select a insert into Out;", "a == 'x'"),
        ("from S[fn(n)][a == 'x'] select a insert into Out;", None),
        ("from S[n > 2][a == 'x'] select a insert into Out;", "a == 'x', 3 <= n"),
        ("from S[(a == 'x' and fn(n)) or b == true] select a insert into Out;", "a == 'x' or b == true"),
        ("from S[(fn(n) and a == 'x') or b == true] select a insert into Out;", None),
        ("from S#window.length(5)[a == 'x'] select a insert into Out;", None),
        ("from S select a insert into Out;", None),
        ("from W[a == 'x'] select a insert into Out;", None),
    ],
)
def test_what_stands_behind_a_call_or_a_window_is_not_used(text: str, expected: str | None) -> None:
    definitions = f"{STREAM} define window W (a string) length(5);"
    definitions += "define function fn[python] return bool { return data[0] > 1 };"
    assert last_filing(text, definitions) == expected


def test_the_attribute_with_most_values_is_preferred() -> None:
    text = "".join(f"from S[b == true and a == '{i}'] select a insert into Out;" for i in range(FEWEST_QUERIES))
    assert last_filing(text) == f"a == '{FEWEST_QUERIES - 1}'"


def test_a_query_in_a_partition_is_not_filed() -> None:
    inside = "from S[a == 'x'] select a insert into Out;" * FEWEST_QUERIES
    found = partition(f"partition with (a of S) begin {inside} end;", definitions=STREAM)
    assert [single(inner).filing for inner in found.queries] == [None] * FEWEST_QUERIES


@pytest.mark.parametrize(("queries", "expected"), [(6, {}), (7, {"S": PredicateIndex((0, 1), 8)})])
def test_a_stream_with_many_filed_queries_has_a_predicate_index(queries: int, expected: object) -> None:
    text = STREAM + "".join(f"from S[a == '{i}'] select a insert into Out;" for i in range(queries))
    streams = planned(f"{text} from S[n == 1] select a insert into Out; from Out select a insert into Last;").streams
    assert {id_: s.predicate_index for id_, s in streams.items() if s.predicate_index is not None} == expected


def test_only_queries_of_a_stream_with_an_index_are_filed() -> None:
    text = "from S[a == 'x'] select a insert into Out; " * FEWEST_QUERIES
    others = "from S select a insert into Out; from Other[a == 'x'] select a insert into Out;"
    found = planned(f"{STREAM} define stream Other (a string); {text} {others}").executions
    filed = [single(execution).filing is not None for execution in found if isinstance(execution, QueryPlan)]
    assert filed == [True] * FEWEST_QUERIES + [False, False]


@pytest.mark.parametrize("queries", [FEWEST_QUERIES - 1, FEWEST_QUERIES])
def test_the_engine_routes_as_planned(queries: int) -> None:
    text = STREAM + "".join(f"from S[d > 2.0 and a == '{i}'] select a insert into Out;" for i in range(queries))
    found = planned(text)
    junction = Assembly(found, {}, Registry(builtin_registry())).junctions["S"]
    indexed = found.streams["S"].predicate_index is not None
    assert indexed == (queries == FEWEST_QUERIES)
    assert junction.dispatches == (("a", "d") if indexed else None)


def filings_of(text: str) -> list[str | None]:
    """Where the sources of a pattern are filed whose streams have an index."""
    definitions = f"{STREAM} define stream B (a string);"
    definitions += "define function fn[python] return bool { return data[0] > 1 };"
    many = "".join(f"from {stream}[a == 'x'] select a insert into Out;" for stream in "SB") * FEWEST_QUERIES
    execution = planned(f"{definitions} {many} from {text} select 1 as one insert into Last;").executions[-1]
    assert isinstance(execution, QueryPlan)
    input_ = execution.input
    when = ""
    if isinstance(input_, PatternPlan):
        filings = input_.filings or (None,) * len(input_.sources)
        when = "while asleep " if input_.sleeps else ""
    else:
        assert isinstance(input_, JoinPlan)
        filings = (input_.left.filing, input_.right.filing)
    attributes = single(query("from S select a insert into Out;", definitions=STREAM)).attributes
    return [
        None if filing is None else when + (filing_text(filing, attributes) if filing else "nothing")
        for filing in filings
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("every e1=S[a == 'x'] -> e2=S[n == e1.n]", ["while asleep a == 'x'"]),
        ("every e1=S[a == 'x'] -> e2=S[a == 'y' or n == 2]", ["a == 'x' or a == 'y' or n == 2"]),
        ("every e1=S[a == 'x'] -> e2=S[a == e1.a] -> e3=S[e2.a == a]", ["a == 'x'"]),
        ("every (e1=S[a == 'x'] -> e2=S[n == 2])", ["a == 'x' or n == 2"]),
        ("every e1=S[a == 'x']<2:3> -> e2=S[n == 2]", ["a == 'x' or n == 2"]),
        ("every e1=S[a == 'x']<2:3> -> e2=S[a == e1[0].a]", [None]),
        ("every e1=S[n == 2] -> e2=S[l == e1.n]", ["while asleep n == 2"]),  # another type
        ("every e1=S[a == 'x'] -> e2=S[a == 'y'] within 1 sec", ["while asleep a == 'x'"]),
        ("every e1=S[a == 'x'] -> e2=B -> e3=S[n == 2]", ["while asleep a == 'x'", "while asleep nothing"]),
        ("every e1=S[a == 'x'], e2=S[a == 'y']", ["while asleep a == 'x'"]),
        ("every e1=S[a == 'x'] -> not S[a == 'y'] for 1 sec", ["while asleep a == 'x'"]),
        ("every e1=S[a == 'x' and fn(n)] -> e2=B", [None, None]),  # a script may send into the pattern
        ("every e1=S -> e2=B[a == 'x']", [None, None]),
        ("every (e1=S[a == 'x'] -> e2=B)", [None, None]),  # a partial match waits for the first event
        ("e1=S[a == 'x'] -> e2=B", [None, None]),
        ("every e1=S[a == 'x']<2:3> -> e2=B", [None, None]),
        ("S[a == 'x']#window.length(2) join B[a == 'y']#window.length(2)", ["a == 'x'", "a == 'y'"]),
        ("S[a == 'x']#window.length(2) join B#window.length(2)", ["a == 'x'", None]),
        ("S[a == 'x']#window.length(2) as x join S#window.length(2) as y", [None, None]),
    ],
)
def test_first_states_and_sides_of_joins_are_filed(text: str, expected: list[str | None]) -> None:
    assert filings_of(text) == expected
