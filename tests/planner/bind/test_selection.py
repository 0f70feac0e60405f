from __future__ import annotations

import pytest

from siddhi.errors import DuplicateAttributeError, UnsupportedAttributeTypeError
from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import SelectMode
from siddhi.query_api import (
    Constant,
    FunctionCall,
    InsertInto,
    OutputAttribute,
    Query,
    Selector,
    SiddhiApp,
    SingleInput,
    SnapshotRate,
)
from siddhi.query_api.selection import OutputEventType
from siddhi.query_compiler import parse
from siddhi.types import AttributeType
from tests.kit.planning import STREAM, planned, query, refused


@pytest.mark.parametrize(
    ("select", "mode"),
    [
        ("select i", SelectMode.EACH),
        ("select sum(i) as t", SelectMode.LAST),
        ("select i, 1 + count() as t", SelectMode.LAST),
        ("select i having count() > 1L", SelectMode.LAST),
        ("select i group by s", SelectMode.LAST_PER_GROUP),
        ("select sum(i) as t group by s", SelectMode.LAST_PER_GROUP),
        ("select sum(i) as t group by s output snapshot every 1 sec", SelectMode.EACH),
        ("select sum(i) as t output last every 1 sec", SelectMode.LAST),
    ],
)
def test_events_of_a_chunk_that_are_emitted(select: str, mode: SelectMode) -> None:
    assert query(f"from S {select} insert into O;").selector.mode is mode


def test_an_aggregate_in_a_filter_does_not_aggregate_the_selection() -> None:
    found = query("from S[sum(i) > 1L] select i insert into O;")
    assert found.selector.mode is SelectMode.EACH
    assert not found.selector.has_aggregates


def test_star_and_no_select_select_every_attribute() -> None:
    for text in ("from S select * insert into O;", "from S insert into O;"):
        assert [column.name for column in query(text).selector.columns] == list("ilfdbso")


def test_star_of_a_join_selects_left_then_right() -> None:
    definitions = "define stream L (a int); define stream R (b int);"
    found = query("from L#window.length(1) join R#window.length(1) select * insert into O;", definitions=definitions)
    assert [(column.name, column.expression.slot) for column in found.selector.columns] == [("a", 0), ("b", 1)]  # type: ignore[attr-defined]


def test_output_names_are_unique() -> None:
    definitions = "define stream L (a int); define stream R (a int);"
    error = refused("from L#window.length(1) join R#window.length(1) insert into O;", definitions=definitions)
    assert isinstance(error, DuplicateAttributeError)


def hand_made(selector: Selector) -> SiddhiApp:
    app = parse(STREAM + "from S select i insert into O;")
    made = Query(input=SingleInput("S"), selector=selector, output=InsertInto(target="O"))
    return SiddhiApp(definitions=app.definitions, executions=(made,))


def test_apps_built_from_objects_are_checked() -> None:
    number = Constant(1, AttributeType.INT)
    twice = (OutputAttribute(number, "x"), OutputAttribute(number, "x"))
    with pytest.raises(DuplicateAttributeError):
        plan(hand_made(Selector(twice)))
    with pytest.raises(UnsupportedAttributeTypeError):
        plan(hand_made(Selector(limit=Constant("x", AttributeType.STRING))))
    with pytest.raises(Exception, match="needs a name"):
        plan(hand_made(Selector((OutputAttribute(FunctionCall("UUID")),))))


def test_limit_and_offset() -> None:
    selector = query("from S select i limit 3 offset 2L insert into O;").selector
    assert (selector.limit, selector.offset) == (3, 2)
    assert refused("from S select i limit -1 insert into O;").code == "E319"
    assert refused("from S select i offset -1 insert into O;").code == "E319"


def test_the_stream_has_the_output_types() -> None:
    found = planned(STREAM + "from S select i, sum(f) as t, s is null as n insert into O;")
    assert [(a.name, str(a.type)) for a in found.streams["O"].attributes] == [
        ("i", "int"),
        ("t", "double"),
        ("n", "bool"),
    ]


@pytest.mark.parametrize(
    ("clause", "event_type"),
    [
        ("insert into O", OutputEventType.CURRENT),
        ("insert current events into O", OutputEventType.CURRENT),
        ("insert expired events into O", OutputEventType.EXPIRED),
        ("insert all events into O", OutputEventType.ALL),
        ("output snapshot every 1 sec insert into O", OutputEventType.ALL),
        ("output snapshot every 1 sec insert all events into O", OutputEventType.ALL),
        ("return", OutputEventType.CURRENT),
        ("return expired events", OutputEventType.EXPIRED),
    ],
)
def test_event_types(clause: str, event_type: OutputEventType) -> None:
    assert query(f"from S#window.length(2) select i {clause};").output.event_type is event_type


def test_a_snapshot_emits_all_events() -> None:
    assert isinstance(query("from S select i output snapshot every 1 sec insert into O;").rate, SnapshotRate)
    for kind in ("current", "expired"):
        text = f"from S select i output snapshot every 1 sec insert {kind} events into O;"
        assert refused(text).code == "E316"
