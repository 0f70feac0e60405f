"""Batches and tables: where one query writes what another reads, rows are processed one by one."""

from __future__ import annotations

import pytest

from siddhi.planner.app import plan
from siddhi.query_compiler.parser import parse

DEFINITIONS = "define stream S (x int); define table T (x int); define table U (x int);"


@pytest.mark.parametrize(
    ("queries", "columnar"),
    [
        ("from S insert into T;", True),
        ("from S insert into T; from S insert into U;", True),
        ("from S insert into T; from S[(T.x == x) in T] select x insert into O;", False),
        ("from S insert into U; from S delete T on (U.x > 1) in U;", False),
        (
            "from S insert into U; from S select x as y update T set T.x = ifThenElse((U.x > 1) in U, 1, 2) on T.x == y;",
            False,
        ),
        ("from S insert into T; from S update T on T.x == x;", False),
    ],
)
def test_a_table_written_and_read_by_one_batch(queries: str, columnar: bool) -> None:
    (batch,) = (batch for batch in plan(parse(DEFINITIONS + queries)).batches if batch.stream == "S")
    assert batch.columnar is columnar
    assert bool(batch.reason) is not columnar
