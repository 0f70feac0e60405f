from __future__ import annotations

import pytest

from siddhi.planner.explain.app import explain
from siddhi.planner.plan.nodes import JoinPlan, SourceKind
from siddhi.query_api import JoinType, Trigger
from tests.kit.planning import planned, query, refused

DEFINITIONS = """
define stream L (k string, x int, y int);
define stream R (k string, z int);
define table T (k string, v int);
define table U (k string);
define window W (k string, w int) length(2);
"""


def join(text: str) -> JoinPlan:
    found = query(text, definitions=DEFINITIONS).input
    assert isinstance(found, JoinPlan)
    return found


@pytest.mark.parametrize("kind", JoinType)
def test_kinds_of_joins(kind: JoinType) -> None:
    assert (
        join(f"from L#window.length(1) {kind.value} R#window.length(1) on L.k == R.k select x insert into O;").type
        is kind
    )


def test_sides_and_their_windows() -> None:
    found = join("from L[y > 0]#window.length(1) as l join T as t on l.k == t.k select l.x as x, v insert into O;")
    assert (found.left.kind, found.right.kind) == (SourceKind.STREAM, SourceKind.TABLE)
    assert (found.left.alias, found.right.alias) == ("l", "t")
    assert (found.left.window_layout, found.right.window_layout) == ((0, 1), (0, 1))


def test_a_join_without_condition() -> None:
    assert join("from L join T select x insert into O;").on is None


def test_unidirectional_selects_the_triggering_side() -> None:
    assert (
        join("from L#window.length(1) unidirectional join R#window.length(1) select x insert into O;").trigger
        is Trigger.LEFT
    )
    assert join("from L#window.length(1) join W unidirectional select x insert into O;").trigger is Trigger.RIGHT
    assert join("from L join W select x insert into O;").trigger is Trigger.BOTH


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("from T join U on T.k == U.k select T.k as k insert into O;", "E317"),
        ("from T as a join T as b on a.k == b.k select a.k as k insert into O;", "E317"),
        ("from L join T unidirectional on L.k == T.k select x insert into O;", "E317"),
        ("from T unidirectional join L on L.k == T.k select x insert into O;", "E317"),
        ("from L join X on L.k == X.k select x insert into O;", "E312"),
        ("from W#window.length(2) join L on W.k == L.k select x insert into O;", "E314"),
        ("from L join T#window.length(2) on T.k == L.k select x insert into O;", "E314"),
        ("from L join T[v > 1] on T.k == L.k select x insert into O;", "E317"),
        ("from L join T on L.x select x insert into O;", "E311"),
        ("from L#window.length(1) join R on L.k == R.k within 1L, 2L per 'sec' select x insert into O;", "E317"),
    ],
)
def test_invalid_joins_are_refused(text: str, code: str) -> None:
    assert refused(text, definitions=DEFINITIONS).code == code


@pytest.mark.parametrize(
    ("window", "on", "found"),
    [
        ("time(1 min)", "l.v > r.v - 2 and l.v < r.v + 2", "range of v"),
        ("time(1 min)", "l.v > r.v and l.k == r.k", "index k"),
        ("length(65)", "r.v <= l.v", "range of v"),
        ("length(64)", "r.v <= l.v", "scan"),
        ("length(1)", "l.k == r.k", "index k"),
        ("length(0)", "l.k == r.k", "scan"),
        ("lengthBatch(0)", "l.k == r.k", "scan"),
        ("timeLength(1 min, 0)", "l.k == r.k", "scan"),
        ("time(1 min)", "l.v + 1 > r.v * 2", "scan"),
        ("time(1 min)", "l.v > r.v or l.k == r.k", "scan"),
        ("time(1 min)", "l.v > r.d", "scan"),
        ("sort(100, v)", "l.v > r.v", "scan"),
    ],
)
def test_explain_shows_how_windows_are_searched(window: str, on: str, found: str) -> None:
    streams = "define stream L (k string, v long); define stream R (k string, v long, d double);"
    query = f"from L#window.{window} as l join R#window.length(1) as r on {on} select l.k as k insert into O;"
    assert f"finds events of l by {found}" in explain(planned(streams + query))


def test_keys_of_a_partition_are_scanned() -> None:
    text = """define stream L (k string, v long); define stream R (k string, v long);
              partition with (k of L, k of R) begin
              from L#window.time(1 min) as l join R#window.time(1 min) as r on l.v > r.v select l.k as k insert into O;
              end;"""
    assert "finds events of l by scan" in explain(planned(text))
