from __future__ import annotations

import pytest

from siddhi.errors import AttributeNotExistError, SiddhiAppValidationError
from siddhi.planner.plan.expressions import OUTPUT_SLOT, TABLE_SLOT, Attr
from siddhi.planner.plan.nodes import FilterPlan, JoinPlan, SourceKind
from siddhi.types import AttributeType
from tests.kit.planning import STREAM, partition, query, refused, single

JOINED = """
define stream L (k string, x int, only_left int);
define stream R (k string, x int, only_right int);
define table T (k string, v int);
"""


def test_names_of_a_single_input_may_be_qualified() -> None:
    found = query("from S select d, S.s insert into O;")
    assert [column.expression for column in found.selector.columns] == [
        Attr(AttributeType.DOUBLE, 0, 3, "d"),
        Attr(AttributeType.STRING, 0, 5, "s"),
    ]


def test_names_are_case_sensitive_and_the_hint_has_the_right_case() -> None:
    error = refused("from S select D insert into O;")
    assert isinstance(error, AttributeNotExistError)
    assert error.hint is not None
    assert error.hint.startswith("did you mean 'd'?")


@pytest.mark.parametrize("name", ["X.d", "#S.d", "!S.d"])
def test_other_qualifiers_are_out_of_scope(name: str) -> None:
    assert refused(f"from S select {name} insert into O;").code == "E202"


def test_appended_attributes_are_visible_to_later_handlers() -> None:
    found = query("from S#pol2Cart(d, d)[x > 1.0] select x, y insert into O;")
    assert [column.expression.position for column in found.selector.columns] == [7, 8]  # type: ignore[attr-defined]
    assert refused("from S[x > 1.0]#pol2Cart(d, d) select x insert into O;").code == "E203"


def test_an_unqualified_name_belongs_to_one_side_of_a_join() -> None:
    found = query(
        "from L#window.length(1) join R#window.length(1) on L.k == R.k select only_left, only_right insert into O;",
        definitions=JOINED,
    )
    assert [column.expression.slot for column in found.selector.columns] == [0, 1]  # type: ignore[attr-defined]
    error = refused("from L#window.length(1) join R#window.length(1) select k insert into O;", definitions=JOINED)
    assert isinstance(error, SiddhiAppValidationError)
    assert (error.code, error.hint) == ("E201", "write L.k or R.k")
    text = "from L#window.length(1) join R#window.length(1) select zz insert into O;"
    assert refused(text, definitions=JOINED).code == "E203"


def test_an_alias_replaces_the_id() -> None:
    text = "from L#window.length(1) as a join R#window.length(1) as b on a.k == b.k select {} as k insert into O;"
    assert query(text.format("b.k"), definitions=JOINED).selector.columns[0].expression.slot == 1  # type: ignore[attr-defined]
    assert refused(text.format("L.k"), definitions=JOINED).code == "E202"


def test_an_id_of_both_sides_is_the_left_side() -> None:
    found = query(
        "from L#window.length(1) join L#window.length(1) on L.k == L.k select L.x as x insert into O;",
        definitions=JOINED,
    )
    assert found.selector.columns[0].expression.slot == 0  # type: ignore[attr-defined]


def test_handlers_of_a_join_side_read_that_side_by_id_and_alias() -> None:
    found = query(
        "from L[L.x > 1 and a.x < 5 and x != 3] as a unidirectional join T on a.k == T.k select v insert into O;",
        definitions=JOINED,
    )
    assert isinstance(found.input, JoinPlan)
    assert isinstance(found.input.left.before[0], FilterPlan)
    text = "from L[R.x > 1]#window.length(1) join R#window.length(1) select only_left insert into O;"
    assert refused(text, definitions=JOINED).code == "E202"


def test_having_and_order_by_read_the_output_by_name_or_id() -> None:
    found = query("from S select i, sum(l) as total having total > 1L and O.i == 2 order by total insert into O;")
    assert found.selector.order_by[0].key == Attr(AttributeType.LONG, OUTPUT_SLOT, 1, "total")
    error = refused("from S select i having l > 1L insert into O;")
    assert error.hint is not None
    assert "attribute of the input" in error.hint
    assert refused("from S select i having S.i > 1 insert into O;").code == "E202"
    assert refused("from S select i order by l insert into O;").code == "E203"


def test_having_of_a_join_can_read_the_inputs() -> None:
    found = query(
        "from L#window.length(1) join R#window.length(1) on L.k == R.k select L.k as k having only_right > 1 "
        "order by only_left insert into O;",
        definitions=JOINED,
    )
    assert found.selector.order_by[0].key.slot == 0


def test_group_by_reads_the_input() -> None:
    found = query("from S select i as s, sum(l) as total group by s insert into O;")
    assert found.selector.group_by == (Attr(AttributeType.STRING, 0, 5, "s"),)


def test_in_reads_the_row_by_table_name_and_otherwise_the_event() -> None:
    found = query("from L[(T.k == k and T.v > L.x) in T] select k insert into O;", definitions=JOINED)
    filter_ = single(found).before[0]
    assert isinstance(filter_, FilterPlan)
    comparison = filter_.condition.condition.left  # type: ignore[attr-defined]
    assert (comparison.left.slot, comparison.right.slot) == (TABLE_SLOT, 0)
    error = refused("from L[(v > 1) in T] select k insert into O;", definitions=JOINED)
    assert error.hint == "table 'T' has it: write T.v"
    assert refused("from L[(X.v > 1) in X] select k insert into O;", definitions=JOINED).code == "E312"


def test_windows_are_resolved_before_streams() -> None:
    definitions = STREAM + "define stream W (i int); define window W (i int) length(2);"
    assert single(query("from W select i insert into O;", definitions=definitions)).kind is SourceKind.WINDOW


def test_a_stream_must_be_inserted_into_before_it_is_read() -> None:
    assert query("from S select i insert into M; from M select i insert into O;").name == "query_2"
    error = refused("from M select i insert into O; from S select i insert into M;")
    assert error.hint is not None
    assert "a later query inserts into 'M': move it before this one, or define the stream" in error.hint


def test_inner_streams_are_visible_in_their_partition_only() -> None:
    inside = "partition with (s of S) begin from S select i insert into #I; from #I select i insert into O; end;"
    assert [stream.id for stream in partition(inside).inner_streams] == ["#I"]
    assert refused(inside + "from #I select i insert into P;").code == "E312"
    assert refused(inside + "partition with (s of S) begin from #I select i insert into P; end;").code == "E312"


def test_outside_of_partitions_an_inner_name_is_a_stream() -> None:
    found = query("from S select i insert into #I; from #I select i insert into O;")
    assert (single(found).source, single(found).kind) == ("#I", SourceKind.STREAM)
