from __future__ import annotations

import pytest

from siddhi.planner.plan.nodes import PurgePlan, RangeKeyPlan, SourceKind, ValueKeyPlan
from tests.kit.planning import STREAM, partition, planned, refused

BODY = "begin from S select i insert into O; end;"


def test_value_and_range_keys() -> None:
    definitions = STREAM + "define stream R (k string); define window W (k int) length(2);"
    found = partition(
        "partition with (i % 10 of S, k of R, k > 5 as 'high' or k <= 5 as 'low' of W) " + BODY, definitions=definitions
    )
    value, other, ranges = found.keys
    assert isinstance(value, ValueKeyPlan)
    assert isinstance(other, ValueKeyPlan)
    assert isinstance(ranges, RangeKeyPlan)
    assert (value.stream, value.kind) == ("S", SourceKind.STREAM)
    assert (ranges.stream, ranges.kind) == ("W", SourceKind.WINDOW)
    assert [label for label, _ in ranges.ranges] == ["high", "low"]


@pytest.mark.parametrize(
    ("key", "code"),
    [
        ("i of X", "E312"),
        ("zz of S", "E203"),
        ("i of T", "E318"),
        ("i as 'x' of S", "E311"),
        ("i of S, l of S", "E208"),
    ],
)
def test_invalid_keys_are_refused(key: str, code: str) -> None:
    assert refused(f"partition with ({key}) " + BODY, definitions=STREAM + "define table T (i int);").code == code


def test_query_names_are_numbered_across_the_app() -> None:
    inside = "begin from S select i insert into A; @info(name='given') from S select i insert into B; end;"
    found = planned(
        STREAM
        + "from S select i insert into C; partition with (s of S) "
        + inside
        + "@info(name='own') partition with (s of S) begin from S select i insert into D; end;"
        + "from S select i insert into E;"
    )
    names = [execution.name for execution in found.executions]
    assert names == ["query_1", "partition_0", "own", "query_5"]
    assert [query.name for query in found.executions[1].queries] == ["query_2", "given"]  # type: ignore[union-attr]
    assert [query.name for query in found.executions[2].queries] == ["query_4"]  # type: ignore[union-attr]


def test_inner_streams_may_have_the_same_name_in_two_partitions() -> None:
    inside = "begin from S select {} insert into #I; from #I insert into {}; end;"
    found = planned(
        STREAM
        + "partition with (s of S) "
        + inside.format("i", "A")
        + "partition with (s of S) "
        + inside.format("d", "B")
    )
    schemas = [[a.name for a in execution.inner_streams[0].attributes] for execution in found.executions]  # type: ignore[union-attr]
    assert schemas == [["i"], ["d"]]
    assert "#I" not in found.streams


def test_an_anonymous_query_stays_inside_the_partition() -> None:
    found = partition("partition with (s of S) begin from (from S select i return) select i insert into O; end;")
    assert [stream.id for stream in found.inner_streams] == ["#anonymous-1"]


@pytest.mark.parametrize(
    ("elements", "purge"),
    [
        ("enable='true', interval='10 sec', idle.period='1 hour'", PurgePlan(10_000, 3_600_000)),
        ("enable='TRUE', idle.period='1 min 30 sec'", PurgePlan(300_000, 90_000)),
        ("enable='false', idle.period='1 hour'", None),
    ],
)
def test_purging(elements: str, purge: PurgePlan | None) -> None:
    assert partition(f"@purge({elements}) partition with (s of S) " + BODY).purge == purge


@pytest.mark.parametrize(
    "elements",
    [
        "idle.period='1 sec'",
        "enable='true'",
        "enable='perhaps', idle.period='1 sec'",
        "enable='true', idle.period='soon'",
        "enable='true', idle.period='1 sec', interval='-1 sec'",
    ],
)
def test_invalid_purging_is_refused(elements: str) -> None:
    assert refused(f"@purge({elements}) partition with (s of S) " + BODY).code == "E315"


def test_an_inner_stream_is_not_readable_outside() -> None:
    body = "partition with (s of S) begin from S select i insert into #A; end; "
    for text in (body + "from #A select i insert into O;", "from #A select i insert into O; " + body):
        error = refused(text)
        assert error.code == "E312"
        assert "inner stream '#A' is visible only inside its partition: insert into a stream" in (error.hint or "")
