"""Patterns and sequences as automata: states, moves, liveness, conditions and keys."""

from __future__ import annotations

import pytest

from siddhi.planner.explain.app import explain
from siddhi.planner.plan.expressions import Attr, IsNullEvent
from siddhi.planner.plan.patterns import OverflowPolicy, PatternPlan, StateKind
from siddhi.types import AttributeType
from tests.kit.planning import planned, query, refused

STREAMS = "define stream A (k string, x int, y double); define stream B (k string, z long); define table T (x int);\n"


def pattern(text: str, select: str = "select 1 as one", *, info: str = "") -> PatternPlan:
    found = query(f"{info} from {text} {select} insert into O;", definitions=STREAMS).input
    assert isinstance(found, PatternPlan)
    return found


def refusal(text: str, select: str = "select 1 as one") -> tuple[str, str]:
    error = refused(f"from {text} {select} insert into O;", definitions=STREAMS)
    return error.code, error.message


def test_elements_become_states_in_order() -> None:
    plan = pattern("e1=A -> e2=B<2:5> -> not A for 2 sec -> e3=A and e4=B and not B -> e5=A or e6=A within 1 min")
    assert [state.kind.value for state in plan.states] == ["event", "count", "absence", "and", "or"]
    assert [state.slots for state in plan.states] == [(0,), (1,), (2,), (3, 4, 5), (6, 7)]
    assert (plan.states[1].min, plan.states[1].max) == (2, 5)
    assert [slot.for_ms for slot in plan.slots] == [None, None, 2000, None, None, None, None, None]
    assert [slot.absent for slot in plan.slots] == [False, False, True, False, False, True, False, False]
    assert plan.within_ms == 60_000
    assert plan.sources == ("A", "B")
    assert plan.waits
    assert not plan.is_sequence


@pytest.mark.parametrize(
    ("text", "again", "expiry"),
    [
        ("e1=A -> e2=B", [None, None], [None, None]),
        ("every e1=A -> e2=B", [0, None], [0, None]),
        ("every (e1=A -> e2=B)", [None, 0], [0, 0]),
        ("e1=A -> every (e2=B -> e3=A) -> e4=B", [None, None, 1, None], [None, 1, 1, None]),
        ("every e1=A -> every e2=B", [0, 1], [0, 1]),
        ("every e1=A, e2=B", [0, None], [0, None]),
    ],
)
def test_groups_have_the_state_where_they_start_again(
    text: str, again: list[int | None], expiry: list[int | None]
) -> None:
    plan = pattern(text)
    assert [state.again for state in plan.states] == again
    assert [state.expiry for state in plan.states] == expiry


def test_a_group_of_optional_counts_starts_again_late_or_never() -> None:
    first, _ = pattern("every e1=A<0:2> -> e2=B").states
    assert (first.again, first.late_again) == (0, True)
    _, inner, _ = pattern("e1=A -> every e2=B<0:2> -> e3=A").states
    assert (inner.again, inner.late_again) == (None, False)


def test_a_slot_keeps_attributes_that_are_read_later() -> None:
    plan = pattern("e1=A[y > 1.0] -> e2=B[k == e1.k and z > 3L] -> e3=A[x > 2]", "select e1.x as x, e3.y as y")
    assert [[slot.attributes[i].name for i in slot.kept] for slot in plan.slots] == [["k", "x"], [], ["y"]]


def test_a_counting_slot_keeps_attributes_of_its_own_filter() -> None:
    plan = pattern("e1=A[x >= e1[last].x and y > 1.0]<1:> -> e2=B")
    assert [plan.slots[0].attributes[i].name for i in plan.slots[0].kept] == ["x"]


def test_conditions_on_the_event_alone_are_evaluated_once() -> None:
    _, second = pattern("e1=A -> e2=A[x > 3 and y < e1.y][k != 'a' or x == 1]").slots
    assert (len(second.alone), len(second.conditions)) == (2, 1)


def test_equalities_with_earlier_events_are_keys() -> None:
    _, second, third = pattern("e1=A -> e2=B[e1.k == k and z == e1.x] -> e3=A<2:3>").slots
    assert len(second.keys) == 2
    assert len(second.conditions) == 2
    assert third.keys == ()


@pytest.mark.parametrize(
    "text",
    [
        "e1=A -> e2=B[k == e1.k]<2:3>",
        "e1=A -> not B[k == e1.k] for 1 sec",
        "e1=A -> e2=B[k == e1.k] and e3=A",
        "e1=A -> e2=B[k == e1.k] or e3=A",
        "e1=A -> not B[k == e1.k] and e3=A",
    ],
)
def test_every_kind_of_state_can_have_keys(text: str) -> None:
    assert [len(slot.keys) for slot in pattern(text).slots[:2]] == [0, 1]


@pytest.mark.parametrize(
    "text",
    [
        "e1=A<1:3> -> e2=B[k == e1[last].k]",  # the list may grow while e2 is waited for
        "e1=A -> e2=B[k != e1.k]",
        "e1=A -> e2=B[k == 'a']",
        "e1=A and e2=B[k == e1.k]",
        "e1=A, e2=B[k == e1.k]",
    ],
)
def test_conditions_that_are_not_keys(text: str) -> None:
    assert all(not slot.keys for slot in pattern(text).slots)


def test_filters_with_python_functions_are_not_split() -> None:
    script = "define function f[python] return bool { return True };\n"
    app = f"{script}{STREAMS}from e1=A -> e2=B[f(z) and k == e1.k and z > 1L] select 1 as one insert into O;"
    found = planned(app).executions[-1].input  # type: ignore[union-attr]
    assert isinstance(found, PatternPlan)
    assert (len(found.slots[1].alone), len(found.slots[1].conditions), found.slots[1].keys) == (0, 3, ())


def test_references_and_their_types() -> None:
    select = "select e1.x as whole, e1[0].x as first, e1[last - 1].x as late, e2.k as k, z, e1[2] is null as none"
    found = query(f"from e1=A<1:> -> e2=B {select} insert into O;", definitions=STREAMS)
    types = [column.expression.type for column in found.selector.columns]
    assert types == [
        AttributeType.OBJECT,
        AttributeType.INT,
        AttributeType.INT,
        AttributeType.STRING,
        AttributeType.LONG,
        AttributeType.BOOL,
    ]
    none = found.selector.columns[-1].expression
    assert isinstance(none, IsNullEvent)
    assert none.slot == 0


def test_a_state_without_reference_is_named_by_its_stream() -> None:
    found = query("from A -> B[z > A.x] select A.x as x, B.z as z insert into O;", definitions=STREAMS)
    assert [column.expression.slot for column in found.selector.columns if isinstance(column.expression, Attr)] == [
        0,
        1,
    ]


def test_select_star_takes_every_event_of_the_pattern() -> None:
    definitions = "define stream A (a int); define stream B (b int); define stream C (c int);\n"
    found = query("from A -> not C for 1 sec -> B<1:2> select * insert into O;", definitions=definitions)
    assert [(c.name, c.expression.type.value) for c in found.selector.columns] == [("a", "int"), ("b", "object")]


def test_invalid_names_are_refused() -> None:
    assert refusal("e1=A[x > e2.z] -> e2=B")[0] == "E202"
    assert (
        "'e2' is a later state: its event has not arrived when this filter is evaluated"
        in refusal("e1=A[x > e2.z] -> e2=B")[1]
    )
    assert refusal("e1=A -> e2=B[z > e3.x]")[0] == "E202"
    assert refusal("e1=A -> e2=B", "select A.x as x")[0] == "E202"
    assert refusal("e1=A -> e2=B", "select k")[0] == "E201"
    assert refusal("e1=A -> e2=B[y > 1.0 and q]")[0] == "E203"
    assert refusal("e1=A -> e1=B")[0] == "E324"
    assert refusal("e1=A -> e2=A", "select *")[0] == "E205"
    assert refusal("e1=A -> e2=T")[0] == "E313"
    assert refusal("e1=A -> e2=Z")[0] == "E312"
    assert refusal("e1=A<0:3>")[0] == "E324"


def test_unqualified_names_of_a_filter_prefer_its_own_event() -> None:
    _, second = pattern("e1=A -> e2=B[k == 'a' and x > 3]").slots
    assert (len(second.alone), len(second.conditions)) == (1, 1)


def test_limits_are_set_on_the_query_or_the_app() -> None:
    plan = pattern("e1=A -> e2=B", info="@info(max.partial.matches='7', partial.matches.overflow='drop.oldest')")
    assert (plan.max_partial_matches, plan.overflow) == (7, OverflowPolicy.DROP_OLDEST)
    app = f"@app:partialMatches(max='9') {STREAMS} from e1=A -> e2=B select 1 as one insert into O;"
    found = planned(app).executions[-1].input  # type: ignore[union-attr]
    assert isinstance(found, PatternPlan)
    assert (found.max_partial_matches, found.overflow) == (9, OverflowPolicy.FAIL)
    for wrong in (
        "max.partial.matches='0'",
        "max.partial.matches='3', partial.matches.overflow='never'",
        "partial.matches.overflow='drop.oldest'",
    ):
        text = f"@info({wrong}) from e1=A -> e2=B select 1 as one insert into O;"
        assert refused(text, definitions=STREAMS).code == "E315"


@pytest.mark.parametrize(
    ("of_app", "of_query", "expected"),
    [
        ("max='9'", "partial.matches.overflow='drop.oldest'", (9, OverflowPolicy.DROP_OLDEST)),
        ("max='9', overflow='drop.oldest'", "max.partial.matches='7'", (7, OverflowPolicy.DROP_OLDEST)),
        ("max='9', overflow='drop.oldest'", "partial.matches.overflow='fail'", (9, OverflowPolicy.FAIL)),
        ("overflow='drop.oldest'", "max.partial.matches='7'", (7, OverflowPolicy.DROP_OLDEST)),
        ("overflow='drop.oldest'", "name='q'", (None, OverflowPolicy.FAIL)),
    ],
)
def test_missing_limits_of_a_query_are_taken_from_the_app(
    of_app: str, of_query: str, expected: tuple[int | None, OverflowPolicy]
) -> None:
    app = f"@app:partialMatches({of_app}) {STREAMS} @info({of_query}) from e1=A -> e2=B select 1 as one insert into O;"
    found = planned(app).executions[-1].input  # type: ignore[union-attr]
    assert isinstance(found, PatternPlan)
    assert (found.max_partial_matches, found.overflow) == expected


def test_explain_shows_the_automaton() -> None:
    app = f"{STREAMS}from every e1=A -> e2=B[k == e1.k]<2:> select e1.k as k, e2[last].z as z insert into O;"
    text = explain(planned(app))
    assert "1 event, then 2, again 1" in text
    assert "2 2 or more events, then output" in text
    assert "e2 = stream B keeps z" in text
    assert "match condition k == e1.k" in text


def test_a_batch_treats_a_pattern_as_one_query_with_several_inputs() -> None:
    app = (
        f"{STREAMS}from A select k, x insert into M; from A select k, y insert into N;"
        "from e1=M -> e2=N select e1.x as x insert into O;"
    )
    reasons = {batch.stream: batch.reason for batch in planned(app).batches}
    assert "reads 'M' and 'N'" in reasons["A"]
    assert reasons["M"] == ""


def test_kinds_have_the_numbers_of_the_engine() -> None:
    assert [kind.name for kind in StateKind] == ["STREAM", "COUNT", "ABSENT", "AND", "OR"]
