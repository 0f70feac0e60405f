from __future__ import annotations

import pytest

from siddhi.errors import OnDemandQueryCreationError
from siddhi.planner.on_demand import plan_on_demand
from siddhi.planner.plan.expressions import OUTPUT_SLOT, TABLE_SLOT, Attr
from siddhi.planner.plan.nodes import Action, SourceKind
from siddhi.planner.plan.on_demand import OnDemandPlan
from siddhi.planner.plan.walk import walk
from siddhi.query_compiler import parse_on_demand_query
from tests.kit.planning import planned

APP = """
define stream S (s string, v int);
define table T (s string, v int);
define window W (s string, v int) length(3);
from S insert into T;
"""


def ask(text: str) -> OnDemandPlan:
    return plan_on_demand(parse_on_demand_query(text), planned(APP), source=text)


def slots(expression: object) -> list[int]:
    return [node.slot for node in walk(expression) if isinstance(node, Attr)]  # type: ignore[arg-type]


def test_find_in_tables_and_windows() -> None:
    for store, kind in (("T", SourceKind.TABLE), ("W", SourceKind.WINDOW)):
        found = ask(f"from {store} select s, sum(v) as t group by s having t > 3L order by v desc limit 2 offset 1")
        assert (found.store, found.kind, found.output) == (store, kind, None)
        assert [column.name for column in found.selector.columns] == ["s", "t"]
        assert found.selector.order_by[0].key.slot == 0
        assert found.selector.has_aggregates


def test_conditions_read_the_row_by_all_its_names() -> None:
    found = ask("from T as t on t.v > 1 and T.v < 5 and v != 3 select t.s as x")
    assert set(slots(found.condition)) == {TABLE_SLOT}
    assert [column.name for column in ask("from T").selector.columns] == ["s", "v"]


def test_inserting_a_row() -> None:
    found = ask("select 'a' as s, 5 as v insert into T")
    assert found.output is not None
    assert (found.output.action, found.output.target, found.has_event) == (Action.INSERT, "T", True)


def test_changes_without_select_have_no_event() -> None:
    found = ask("update T set v = v + 1 on s == 'a'")
    assert not found.has_event
    assert found.output is not None
    assert found.output.set is not None
    assert slots(found.output.condition) == [TABLE_SLOT]
    assert slots(found.output.set[0].value) == [TABLE_SLOT]


def test_selected_values_are_resolved_before_tables() -> None:
    found = ask("select 'a' as s, 5 as x delete T on T.s == s and v > x")
    assert found.output is not None
    assert slots(found.output.condition) == [TABLE_SLOT, OUTPUT_SLOT, TABLE_SLOT, OUTPUT_SLOT]


def test_update_or_insert() -> None:
    found = ask("select 'a' as s, 5 as v update or insert into T on T.s == s")
    assert found.output is not None
    assert found.output.action is Action.UPDATE_OR_INSERT


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("from X select s", "E312"),
        ("from S select s", "E312"),
        ("from T select zz", "E203"),
        ("from T on zz > 1", "E203"),
        ("from T on v", "E311"),
        ("from T within 1L, 2L per 'sec'", "E317"),
        ("select 'a' as s insert into T", "E209"),
        ("select 'a' as s, 5 as v insert into W", "E312"),
        ("select 'a' as s, 5 as v insert into New", "E312"),
        ("select v insert into T", "E203"),
        ("update T on v == 1", "E321"),
        ("delete X on v == 1", "E312"),
        ("delete T on S.v == 1", "E202"),
    ],
)
def test_invalid_queries_are_refused(text: str, code: str) -> None:
    with pytest.raises(OnDemandQueryCreationError) as caught:
        ask(text)
    assert caught.value.code == code
    assert caught.value.source == text


def test_a_query_does_not_change_the_plan() -> None:
    found = planned(APP)
    before = list(found.streams)
    plan_on_demand(parse_on_demand_query("from T select s"), found)
    assert list(found.streams) == before


@pytest.mark.parametrize("kind", ["batch()", "lengthBatch(2)", "timeBatch(1 sec)", "externalTimeBatch(t, 1 sec)"])
def test_batch_windows_of_current_events_have_no_rows(kind: str) -> None:
    def found(output: str, query: str = "") -> OnDemandPlan:
        app = f"define stream S (t long); define window W (t long) {kind} output {output} events; {query}"
        return plan_on_demand(parse_on_demand_query("from W select t"), planned(app))

    with pytest.raises(
        OnDemandQueryCreationError, match="window 'W' outputs only current events and no query joins it, so it retains"
    ) as refused:
        found("current")
    assert refused.value.span is not None
    assert refused.value.hint == "define it with 'output all events'"
    for output in ("all", "expired"):
        assert found(output).store == "W"
    join = "from S join W on S.t == W.t select S.t insert into O;"
    assert found("current", join).store == "W"
    assert found("current", f"partition with (t of S) begin {join} end;").store == "W"


def test_sliding_windows_of_current_events_have_rows() -> None:
    app = "define window W (v int) length(3) output current events;"
    assert plan_on_demand(parse_on_demand_query("from W select v"), planned(app)).store == "W"
