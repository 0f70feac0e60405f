from __future__ import annotations

import pytest

from siddhi.errors import AttributeNotExistError, DuplicateDefinitionError
from siddhi.planner.plan.expressions import OUTPUT_SLOT, TABLE_SLOT, Attr, Const
from siddhi.planner.plan.nodes import Action, QueryPlan, SetPlan, SourceKind
from siddhi.planner.plan.walk import walk
from siddhi.types import AttributeType
from tests.kit.planning import planned, query, refused

TABLE = "define stream S (s string, v int, d double); define table T (s string, v int);"


def slots(condition: object) -> list[int]:
    return [node.slot for node in walk(condition) if isinstance(node, Attr)]  # type: ignore[arg-type]


def test_targets_of_insertions() -> None:
    definitions = TABLE + "define window W (s string, v int) length(2); define stream D (s string, v int);"
    for target, kind in (
        ("T", SourceKind.TABLE),
        ("W", SourceKind.WINDOW),
        ("D", SourceKind.STREAM),
        ("New", SourceKind.STREAM),
    ):
        output = query(f"from S select s, v insert into {target};", definitions=definitions).output
        assert (output.action, output.target, output.kind) == (Action.INSERT, target, kind)


@pytest.mark.parametrize("target", ["T", "W", "D"])
@pytest.mark.parametrize("select", ["v, s", "s", "s, v, d", "s, d as v", "s as x, v"])
def test_names_order_and_types_must_fit(target: str, select: str) -> None:
    definitions = TABLE + "define window W (s string, v int) length(2); define stream D (s string, v int);"
    error = refused(f"from S select {select} insert into {target};", definitions=definitions)
    assert isinstance(error, DuplicateDefinitionError)
    assert error.code == "E209"


def test_queries_that_insert_into_a_stream_must_agree() -> None:
    assert refused("from S select s insert into O; from S select v insert into O;", definitions=TABLE).code == "E209"


def test_the_fault_prefix_is_removed_when_inserting() -> None:
    output = query("from S select * insert into !S;", definitions=TABLE).output
    assert (output.target, output.kind) == ("S", SourceKind.STREAM)


def test_delete_reads_output_and_row() -> None:
    output = query("from S select v as x delete T for expired events on T.v == x;", definitions=TABLE).output
    assert output.action is Action.DELETE
    assert output.set is None
    assert slots(output.condition) == [TABLE_SLOT, OUTPUT_SLOT]


def test_conditions_cannot_read_the_input() -> None:
    error = refused("from S select v delete T on T.s == s;", definitions=TABLE)
    assert isinstance(error, AttributeNotExistError)
    assert error.hint == "table 'T' has it: write T.s"
    assert refused("from S select v delete T on T.s == S.s;", definitions=TABLE).code == "E202"


def test_conditions_must_be_bool() -> None:
    for clause in ("delete T on T.v", "update T set T.v = v on v", "update or insert into T on T.s"):
        assert refused(f"from S select s, v {clause};", definitions=TABLE).code == "E311"


@pytest.mark.parametrize("qualifier", ["S", "Nothing"])
@pytest.mark.parametrize("verb", ["update T", "update or insert into T"])
def test_a_qualifier_of_set_is_ignored_with_a_warning(verb: str, qualifier: str) -> None:
    text = "define stream S (s string, v int); define table T (s string, v int);"
    found = planned(f"{text} from S {verb} set {qualifier}.v = v on T.s == s;")
    own = planned(f"{text} from S {verb} set T.v = v on T.s == s;")
    outputs = [one.executions[0].output.set for one in (found, own) if isinstance(one.executions[0], QueryPlan)]
    assert outputs[0] == outputs[1]
    assert len(outputs) == 2
    (warning,) = found.warnings
    assert f"the qualifier '{qualifier}' is ignored" in warning
    assert "write set T.v = ..." in warning
    assert own.warnings == ()


def test_update_without_set_assigns_equal_names() -> None:
    output = query("from S select v update T on T.v > 1;", definitions=TABLE).output
    assert output.set == (SetPlan(1, Attr(AttributeType.INT, OUTPUT_SLOT, 0, "v")),)
    assert refused("from S select d update T on T.v > 1;", definitions=TABLE).code == "E203"
    assert refused("from S select d as v update T on T.v > 1;", definitions=TABLE).code == "E310"


def test_set_reads_output_and_row_and_takes_extra_outputs() -> None:
    output = query("from S update T set T.v = T.v + v, s = s on T.s == s and d > 1;", definitions=TABLE).output
    assert output.set is not None
    assert [assignment.position for assignment in output.set] == [1, 0]
    assert slots(output.set[0].value) == [TABLE_SLOT, OUTPUT_SLOT]


def test_set_widens_numbers_and_refuses_other_conversions() -> None:
    wide = "define stream S (s string, v int, l long); define table T (s string, d double, l long, o object);"
    output = query("from S update T set T.d = 1, T.l = v, T.o = s on T.s == s;", definitions=wide).output
    assert output.set is not None
    assert output.set[0].value == Const(AttributeType.DOUBLE, 1.0)
    assert output.set[1].value.type is AttributeType.LONG
    assert refused("from S update T set T.l = 1.5 on T.s == s;", definitions=wide).code == "E310"
    assert refused("from S update T set T.s = v on T.s == s;", definitions=wide).code == "E310"
    assert refused("from S update T set T.zz = v on T.s == s;", definitions=wide).code == "E203"


def test_update_or_insert_needs_the_schema_of_the_table() -> None:
    output = query("from S select s, v update or insert into T on T.s == s;", definitions=TABLE).output
    assert output.action is Action.UPDATE_OR_INSERT
    assert output.set is not None
    assert [assignment.position for assignment in output.set] == [0, 1]
    assert refused("from S select s update or insert into T set T.s = s on T.s == s;", definitions=TABLE).code == "E209"


@pytest.mark.parametrize("clause", ["delete X on v > 1", "update S on v > 1", "update or insert into O on v > 1"])
def test_only_tables_can_be_updated(clause: str) -> None:
    text = f"from S select v insert into O; from S select v {clause};"
    assert refused(text, definitions=TABLE).code == "E312"


def test_anonymous_queries_insert_into_hidden_streams() -> None:
    found = planned(
        TABLE + "from (from (from S select v return) select v + 1 as w return)[w > 2] select w insert into O;"
    )
    assert [execution.name for execution in found.executions] == ["anonymous-2", "anonymous-1", "query_1"]
    assert [batch.stream for batch in found.batches] == ["S", "O"]
