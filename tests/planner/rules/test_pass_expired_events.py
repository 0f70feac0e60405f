from __future__ import annotations

import pytest

from siddhi.planner.plan.nodes import JoinPlan, QueryPlan, SingleInputPlan
from tests.kit.planning import planned

DEFINITIONS = """define stream S (k string, v int);
define window W (k string, v int) length(5);
define table T (k string, v int);
define function f[python] return int { return data[0] };
"""


def query_of(text: str) -> QueryPlan:
    (query,) = planned(f"{DEFINITIONS} {text}").executions
    assert isinstance(query, QueryPlan)
    return query


def input_of(text: str) -> SingleInputPlan:
    input_ = query_of(text).input
    assert isinstance(input_, SingleInputPlan)
    return input_


def sides_of(text: str) -> tuple[SingleInputPlan, SingleInputPlan]:
    join = query_of(text).input
    assert isinstance(join, JoinPlan)
    return join.left, join.right


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("from S select k insert into O;", False),
        ("from S#window.length(5) select k insert into O;", False),
        ("from S#window.length(5) select k, max(v) as m insert into O;", True),
        ("from S#window.lengthBatch(5) select k, max(v) as m insert into O;", False),
        ("from S#window.lengthBatch(5) select k, max(v) as m insert all events into O;", True),
        ("from W select k, max(v) as m insert into O;", True),
        ("from W select k insert into O;", False),
    ],
)
def test_aggregators_get_what_they_must_subtract(text: str, passes: bool) -> None:
    assert input_of(text).passes_expired is passes


@pytest.mark.parametrize(
    ("text", "stamps"),
    [
        ("from S select eventTimestamp() as t insert all events into O;", False),
        ("from S#window.length(5) select k insert into O;", False),
        ("from S#window.length(5) select k insert all events into O;", True),
        ("from S#window.length(5) select eventTimestamp() as t insert into O;", True),
        ("from S#window.length(5) select f(v) as t insert into O;", True),
        ("from S#window.length(5)[eventTimestamp() > 5L] select k insert into O;", True),
        ("from S#window.length(5)#log() select k insert into O;", True),
    ],
)
def test_expired_events_are_stamped_if_their_time_is_read(text: str, stamps: bool) -> None:
    assert input_of(text).stamps_expired is stamps


@pytest.mark.parametrize(
    ("text", "returns"),
    [
        ("from S select k insert into O;", False),
        ("from S#window.length(5)[v > 1]#log() select k insert into O;", True),
        ("from S#window.expressionBatch('count() <= 2') select k insert into O;", False),
    ],
)
def test_windows_return_the_records_that_passed(text: str, returns: bool) -> None:
    assert input_of(text).returns_records is returns


@pytest.mark.parametrize(
    ("select", "passes"),
    [
        ("select a.k as k insert into O", (False, False)),
        ("select a.k as k insert all events into O", (True, True)),
        ("select a.k as k insert expired events into O", (True, True)),
        ("select count() as n insert into O", (True, False)),
        ("select a.k as k group by a.k insert into O", (True, False)),
        ("select f(a.v) as k insert into O", (True, False)),
    ],
)
def test_expired_events_join_if_pairs_are_emitted_or_subtracted(select: str, passes: tuple[bool, bool]) -> None:
    left, right = sides_of(f"from S#window.length(5) as a join S#window.lengthBatch(5) as b on a.k == b.k {select};")
    assert (left.passes_expired, right.passes_expired) == passes
    assert (left.stamps_expired, right.stamps_expired) == passes


def test_the_aggregates_of_a_join_follow_a_named_window() -> None:
    left, right = sides_of("from W as a join T as b on a.k == b.k select count() as n insert into O;")
    assert (left.passes_expired, right.passes_expired) == (True, False)
    assert not left.stamps_expired
