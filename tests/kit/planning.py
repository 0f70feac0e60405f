"""Helpers to plan small apps: a stream with every type, and the resulting query or error."""

from __future__ import annotations

import pytest

from siddhi.errors import SiddhiAppError
from siddhi.extension import Registry, builtin_registry
from siddhi.planner.app import plan
from siddhi.planner.plan.expressions import TypedExpression
from siddhi.planner.plan.nodes import PartitionPlan, Plan, QueryPlan, SingleInputPlan
from siddhi.query_compiler import parse

STREAM = "define stream S (i int, l long, f float, d double, b bool, s string, o object);\n"


def planned(text: str, registry: Registry | None = None) -> Plan:
    """Return the plan of a whole app."""
    return plan(parse(text), registry=Registry(builtin_registry()) if registry is None else registry)


def query(text: str, *, definitions: str = STREAM) -> QueryPlan:
    """Return the plan of the last query of an app with these definitions."""
    found = planned(definitions + text).executions[-1]
    assert isinstance(found, QueryPlan)
    return found


def partition(text: str, *, definitions: str = STREAM) -> PartitionPlan:
    """Return the plan of the last partition of an app with these definitions."""
    found = planned(definitions + text).executions[-1]
    assert isinstance(found, PartitionPlan)
    return found


def single(found: QueryPlan) -> SingleInputPlan:
    """Return the input of a query that reads one source."""
    assert isinstance(found.input, SingleInputPlan)
    return found.input


def typed(expression: str) -> TypedExpression:
    """Return an expression over the attributes of STREAM."""
    return query(f"from S select {expression} as x insert into O;").selector.columns[0].expression


def refused(text: str, *, definitions: str = STREAM, registry: Registry | None = None) -> SiddhiAppError:
    """Return the error of an app with these definitions."""
    with pytest.raises(SiddhiAppError) as caught:
        plan(parse(definitions + text), registry=registry or Registry(builtin_registry()))
    assert caught.value.span is not None
    assert caught.value.source == definitions + text
    return caught.value
