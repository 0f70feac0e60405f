"""On-demand queries: ``having`` picks from the answer of the query without it."""

from __future__ import annotations

import operator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from siddhi import SiddhiManager

APP = """
    define stream S (s string, v double, ts long);
    define table T (s string, v double, ts long);
    define window W (s string, v double, ts long) length(100) output all events;
    define aggregation A from S select s, sum(v) as total, avg(v) as mean, count() as n group by s
        aggregate by ts every seconds, minutes;
    from S insert into T;
    from S insert into W;
"""
SHAPES = {
    "select s, avg(v) as a, count() as n group by s": ("a", 1),
    "select s, sum(v) as t group by s": ("t", 1),
    "select s, v as x group by s": ("x", 1),
    "select max(v) as x, count() as n": ("x", 0),
    "select v as x, min(v) as y, distinctCount(s) as n": ("y", 1),
}
OVER_AGGREGATION = {
    "select s, sum(total) as t, count() as n group by s": ("t", 1),
    "select avg(mean) as a": ("a", 0),
}
TESTS = {"<": operator.lt, ">=": operator.ge, "!=": operator.ne}
TAILS = [
    "",
    "limit 1",
    "limit 2 offset 1",
    "order by {0}",
    "order by {0} desc limit 2",
    "order by {0} limit 1 offset 1",
]


def arranged(rows: list[Any], tail: str, position: int) -> list[Any]:
    words = tail.split()
    if "order" in words:
        rows = sorted(rows, key=lambda row: row[position], reverse="desc" in words)
    skipped = int(words[words.index("offset") + 1]) if "offset" in words else 0
    kept = int(words[words.index("limit") + 1]) if "limit" in words else len(rows)
    return rows[skipped : skipped + kept]


@given(
    rows=st.lists(st.tuples(st.sampled_from("abc"), st.integers(-4, 4)), max_size=12),
    shape=st.sampled_from([*SHAPES, *OVER_AGGREGATION]),
    source=st.sampled_from(["T", "W"]),
    test=st.sampled_from(sorted(TESTS)),
    bound=st.integers(-3, 5),
    tail=st.sampled_from(TAILS),
)
def test_having_filters_complete_groups(
    rows: list[tuple[str, int]], shape: str, source: str, test: str, bound: int, tail: str
) -> None:
    name, position = (SHAPES | OVER_AGGREGATION)[shape]
    if shape in OVER_AGGREGATION:
        source = "A within 0L, 10000000L per 'seconds'"
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(APP) as runtime:
        for number, (key, value) in enumerate(rows):
            runtime.input_handler("S").send((key, float(value), 1000 * number // 3))
        every = [event.data for event in runtime.query(f"from {source} {shape}")]
        asked = runtime.query(f"from {source} {shape} having {name} {test} {bound}.0 {tail.format(name)}")
    passed = [row for row in every if TESTS[test](row[position], bound)]
    answer = [event.data for event in asked]
    if "order" in tail:
        # Rows that are equal in what they are ordered by come in any order.
        expected = arranged(passed, tail, position)
        assert [row[position] for row in answer] == [row[position] for row in expected]
        assert all(row in passed for row in answer)
    else:
        assert answer == arranged(passed, tail, position)
