"""On-demand queries that planning refuses, each against its message."""

from __future__ import annotations

from pathlib import Path

import pytest

from siddhi.errors import OnDemandQueryCreationError
from siddhi.planner.app import plan
from siddhi.planner.on_demand import plan_on_demand
from siddhi.query_compiler import parse, parse_on_demand_query
from tests.conftest import Golden

APP = """
define stream S (symbol string, price double);
define table Table (symbol string, price double);
define window W (symbol string, price double) length(2);
define aggregation A from S select symbol, sum(price) as total group by symbol aggregate every sec ... hour;
from S insert into Table;
"""
QUERIES = sorted(Path(__file__).parent.glob("*.siddhiql"))


@pytest.mark.parametrize("query", QUERIES, ids=lambda path: path.stem)
def test_the_message_equals_the_golden_file(query: Path, golden: Golden) -> None:
    text = query.read_text(encoding="utf-8")
    with pytest.raises(OnDemandQueryCreationError) as caught:
        plan_on_demand(parse_on_demand_query(text), plan(parse(APP)), source=text)
    golden(query.with_suffix(".error"), str(caught.value))
