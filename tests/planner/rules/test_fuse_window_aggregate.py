from __future__ import annotations

import pytest

from siddhi.planner.app import plan
from siddhi.planner.plan.nodes import FusedWindow, PartitionPlan, QueryPlan
from siddhi.query_compiler import parse
from siddhi.sandbox import SandboxPolicy

DEFINITIONS = """define stream S (k string, v int, l long, d double, o object);
define table T (k string, v int); define window W (k string, v int) length(5);
define function f[python] return int { return data[0] };
"""


def found(text: str) -> FusedWindow | None:
    (execution,) = plan(parse(f"{DEFINITIONS} {text}")).executions
    query = execution.queries[0] if isinstance(execution, PartitionPlan) else execution
    assert isinstance(query, QueryPlan)
    return query.fused


def over(window: str, select: str = "sum(v) as s", rest: str = "", output: str = "insert into O") -> str:
    return f"from S#window.{window} select {select} {rest} {output};"


@pytest.mark.parametrize("window", ["length(5)", "time(1 sec)", "externalTime(l, 100)"])
def test_sliding_windows_that_keep_arguments(window: str) -> None:
    assert found(over(window)) is FusedWindow.SLIDING


@pytest.mark.parametrize(
    "window", ["lengthBatch(5)", "timeBatch(1 sec)", "timeBatch(1 sec, 5)", "timeBatch(1 sec, false)"]
)
def test_batch_windows_that_keep_totals(window: str) -> None:
    assert found(over(window)) is FusedWindow.TUMBLING


@pytest.mark.parametrize(
    "text",
    [
        over("length(5)", "k, sum(v) as s, avg(d) as a, count() as n", "group by k"),
        over("length(5)", "sum(v) * 2 as s"),
        over("length(5)", "sum(v + 1) as s, avg(coalesce(d, 0.0)) as a"),
        over("length(5)", "sum(v) as s", "having s > 3"),
        over("length(5)", "k, sum(v) as s", "group by k order by s limit 3 offset 1"),
        "from S[v > 3][d > 1.0]#window.length(5) select sum(v) as s insert into O;",
        "partition with (k of S) begin from S#window.length(5) select sum(v) as s insert into O; end;",
        over("lengthBatch(5)", "k, v, avg(v) as a", "group by k order by a limit 1"),
    ],
)
def test_selections_around_a_fused_window(text: str) -> None:
    assert found(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "from S select sum(v) as s insert into O;",
        over("length(5)", "v"),
        over("length(5)", "max(v) as m"),
        over("length(5)", "sum(v) as s, min(v) as m"),
        over("length(5)", output="insert all events into O"),
        over("length(5)", output="insert expired events into O"),
        over("length(5)", output="output every 3 events insert into O"),
        over("length(5)", output="output snapshot every 1 sec insert into O"),
        "from S#window.length(5)[v > 1] select sum(v) as s insert into O;",
        "from S#window.length(5)#log('x') select sum(v) as s insert into O;",
        "from S#log('x')#window.length(5) select sum(v) as s insert into O;",
        over("length(5)", "sum(eventTimestamp()) as s"),
        over("length(5)", "sum(currentTimeMillis()) as s"),
        over("length(5)", "sum(f(v)) as s"),
        over("length(5)", "ifThenElse(v > 1, sum(v), 0L) as s"),
        over("length(5)", "sum(v) + count() as s"),
        over("length(0)"),
        over("length(-1)"),
        over("time(0)"),
        over("sort(5, v)"),
        over("batch()"),
        over("lengthBatch(5, true)"),
        over("timeBatch(1 sec, true)"),
        over("lengthBatch(0)"),
        over("lengthBatch(5)", "sum(v) * 2 as s"),
        over("lengthBatch(5)", "v + 1 as w, sum(v) as s"),
        over("lengthBatch(5)", rest="having s > 3"),
        "from W select sum(v) as s insert into O;",
        "from S#window.length(5) as a join S#window.length(5) as b on a.v == b.v select sum(a.v) as s insert into O;",
        over("length(5)", ", ".join(f"sum(v + {number}) as s{number}" for number in range(33))),
    ],
)
def test_windows_that_keep_events(text: str) -> None:
    assert found(text) is None


def test_a_limit_of_the_memory_of_records_keeps_windows_unfused() -> None:
    app = parse(f"{DEFINITIONS} {over('length(5)')}")
    for limit, form in ((None, FusedWindow.SLIDING), (1_000_000, None)):
        (query,) = plan(app, policy=SandboxPolicy(scripts={"python"}, max_record_bytes=limit)).executions
        assert isinstance(query, QueryPlan)
        assert query.fused is form
