from __future__ import annotations

import pytest

from siddhi.planner.plan.nodes import QueryPlan
from tests.kit.planning import planned

DEFINITIONS = """define stream S (k string, v int);
define window W (k string, v int) length(5);
"""


def query_of(text: str) -> QueryPlan:
    (query,) = planned(f"{DEFINITIONS} {text}").executions
    assert isinstance(query, QueryPlan)
    return query


@pytest.mark.parametrize(
    ("source", "stores"),
    [
        ("S#window.length(5)", True),
        ("S#window.length(5)[v > 1]", True),
        ("S#window.lengthBatch(5)", False),
        ("S", False),
        ("W", False),
    ],
)
def test_events_that_return_store_the_id_of_their_group(source: str, stores: bool) -> None:
    assert query_of(f"from {source} select k, max(v) as m group by k insert into O;").stores_groups is stores


@pytest.mark.parametrize(
    "text",
    [
        "from S#window.length(5) select k, max(v) as m insert into O;",
        "from S#window.length(5) select k, sum(v) as s group by k insert into O;",
    ],
)
def test_no_group_is_stored_without_group_by_or_in_a_fused_window(text: str) -> None:
    assert not query_of(text).stores_groups


@pytest.mark.parametrize(
    ("source", "ends"), [("S", False), ("S[v > 1]", False), ("S#window.length(5)", True), ("W", True)]
)
def test_groups_end_where_events_expire(source: str, ends: bool) -> None:
    text = f"from {source} select k, max(v) as m group by k output last every 5 events insert into O;"
    assert query_of(text).ends_groups is ends


def test_a_limit_ends_groups() -> None:
    text = "@limit(keys = '5') from S select k, max(v) as m group by k output last every 5 events insert into O;"
    assert query_of(text).ends_groups


def test_only_a_rate_limiter_of_groups_has_to_know_their_end() -> None:
    text = "from S#window.length(5) select k, max(v) as m {} insert into O;"
    assert not query_of(text.format("group by k")).ends_groups
    assert not query_of(text.format("output last every 5 events")).ends_groups
