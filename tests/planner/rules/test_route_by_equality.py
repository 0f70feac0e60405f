from __future__ import annotations

import pytest

from siddhi.extension import Registry, builtin_registry
from siddhi.planner.plan.access import EqualityGuard
from siddhi.planner.plan.nodes import PredicateIndex, QueryPlan
from siddhi.planner.rules.route_by_equality import FEWEST_GUARDS
from siddhi.runtime.assembly.app import Assembly
from tests.kit.planning import partition, planned, query, single

STREAM = "define stream S (a string, n int, l long, b bool, d double, o object);"


def last_guard(text: str) -> EqualityGuard | None:
    """The guard of a query that stands so often that its stream may be looked up by it."""
    return single(query(text * FEWEST_GUARDS, definitions=STREAM)).guard


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a == 'x'", (0, "x")),
        ("'x' == a", (0, "x")),
        ("n == 3", (1, 3)),
        ("l == 3L", (2, 3)),
        ("l == 3", (2, 3)),
        ("b == true", (3, True)),
        ("a == 'x' and d > 1.0 and n == 2", (0, "x")),
        ("n == 3L", None),  # compared as long: the attribute is widened
        ("d == 1.0", None),
        ("a == 'x' or n == 2", None),
        ("d > 1.0 and a == 'x'", None),  # what stands in front may fail
        ("not (a == 'x')", None),
        ("a != 'x'", None),
        ("a is null", None),
    ],
)
def test_an_equality_in_the_first_filter_is_a_guard(
    condition: str, expected: tuple[int, bool | int | str] | None
) -> None:
    found = last_guard(f"from S[{condition}] select a insert into Out;")
    assert found == (None if expected is None else EqualityGuard(*expected))


@pytest.mark.parametrize(
    "text",
    [
        "from S#window.length(5)[a == 'x'] select a insert into Out;",
        "from S select a insert into Out;",
        "from W[a == 'x'] select a insert into Out;",
    ],
)
def test_only_the_first_filter_of_a_stream_is_a_guard(text: str) -> None:
    found = query(text * FEWEST_GUARDS, definitions=f"{STREAM} define window W (a string) length(5);")
    assert single(found).guard is None


def test_a_query_in_a_partition_has_no_guard() -> None:
    inside = "from S[a == 'x'] select a insert into Out;" * FEWEST_GUARDS
    found = partition(f"partition with (a of S) begin {inside} end;", definitions=STREAM)
    assert [single(inner).guard for inner in found.queries] == [None] * FEWEST_GUARDS


def test_only_queries_in_the_predicate_index_have_a_guard() -> None:
    text = "from S[a == 'x'] select a insert into Out; " * FEWEST_GUARDS
    others = "from S[n == 1] select a insert into Out; from Other[a == 'x'] select a insert into Out;"
    found = planned(f"{STREAM} define stream Other (a string); {text} {others}").executions
    guards = [single(execution).guard for execution in found if isinstance(execution, QueryPlan)]
    assert guards == [EqualityGuard(0, "x")] * FEWEST_GUARDS + [None, None]


@pytest.mark.parametrize(("queries", "expected"), [(7, {}), (8, {"S": PredicateIndex(0, 8)})])
def test_a_stream_with_many_guards_has_a_predicate_index(queries: int, expected: object) -> None:
    text = STREAM + "".join(f"from S[a == '{i}'] select a insert into Out;" for i in range(queries))
    streams = planned(f"{text} from S[n == 1] select a insert into Out; from Out select a insert into Last;").streams
    assert {id_: s.predicate_index for id_, s in streams.items() if s.predicate_index is not None} == expected


@pytest.mark.parametrize("queries", [FEWEST_GUARDS - 1, FEWEST_GUARDS])
def test_the_engine_routes_as_planned(queries: int) -> None:
    text = STREAM + "".join(f"from S[a == '{i}'] select a insert into Out;" for i in range(queries))
    found = planned(text)
    junction = Assembly(found, {}, Registry(builtin_registry())).junctions["S"]
    indexed = found.streams["S"].predicate_index is not None
    assert (junction.dispatches is not None) == indexed == (queries == FEWEST_GUARDS)
