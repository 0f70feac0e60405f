from __future__ import annotations

import pytest

from siddhi import extension
from siddhi.errors import ExtensionNotFoundError
from siddhi.extension import Registry, ScriptLanguageMetadata, builtin_registry
from siddhi.planner.plan.expressions import Aggregate, Call, ScriptCall
from siddhi.planner.plan.nodes import QueryPlan, SelectMode
from siddhi.types import AttributeType
from tests.kit.planning import STREAM, planned, query, refused, typed

INT, LONG, FLOAT, DOUBLE = (AttributeType.INT, AttributeType.LONG, AttributeType.FLOAT, AttributeType.DOUBLE)
STRING, BOOL, OBJECT = AttributeType.STRING, AttributeType.BOOL, AttributeType.OBJECT

TYPES = [
    ("cast(i, 'long')", LONG), ("cast(s, 'float')", FLOAT), ("cast(l, 'INT')", INT), ("cast(o, 'string')", STRING),
    ("convert(s, 'bool')", BOOL), ("convert(o, 'string')", STRING), ("convert(i, 'Double')", DOUBLE),
    ("coalesce(s, 'x', s)", STRING), ("coalesce(o)", OBJECT), ("default(l, 0L)", LONG),
    ("ifThenElse(b, f, 1f)", FLOAT), ("instanceOfFloat(o)", BOOL), ("maximum(i, 1, i)", INT), ("minimum(f)", FLOAT),
    ("UUID()", STRING), ("currentTimeMillis()", LONG), ("eventTimestamp()", LONG), ("createSet(s)", OBJECT),
    ("sizeOfSet(o)", INT), ("sum(i)", LONG), ("sum(l)", LONG), ("sum(f)", DOUBLE), ("sum(d)", DOUBLE),
    ("avg(i)", DOUBLE), ("count()", LONG), ("count(o)", LONG), ("distinctCount(b)", LONG), ("min(i)", INT),
    ("max(f)", FLOAT), ("minForever(l)", LONG), ("maxForever(d)", DOUBLE), ("stdDev(i)", DOUBLE), ("and(b)", BOOL),
    ("or(b)", BOOL), ("unionSet(o)", OBJECT),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "type_"), TYPES)
def test_result_types_of_built_ins(expression: str, type_: AttributeType) -> None:
    found = typed(expression)
    assert isinstance(found, Call | Aggregate)
    assert found.type is type_


REFUSED = [
    ("cast(o, 'object')", "E305"), ("cast(o, s)", "E304"), ("convert(i, 'number')", "E305"), ("convert(i, s)", "E304"),
    ("convert(o, 'int')", "E305"), ("coalesce()", "E303"), ("coalesce(i, l)", "E303"), ("default(i, i)", "E304"),
    ("default(i, 1L)", "E303"), ("default(i, 1 + 1)", "E304"), ("ifThenElse(i, 1, 2)", "E303"),
    ("ifThenElse(b, 1, 'x')", "E305"), ("ifThenElse(b, 1)", "E303"), ("maximum(i, l)", "E303"), ("maximum(s)", "E303"),
    ("UUID(1)", "E303"), ("eventTimestamp(S)", "E203"), ("eventTimestamp(o)", "E303"), ("createSet(o)", "E303"),
    ("sizeOfSet(i)", "E303"), ("sum()", "E303"), ("sum(s)", "E303"), ("sum(i, i)", "E303"), ("count(i, l)", "E303"),
    ("count(*)", "E303"), ("and(i)", "E303"), ("unionSet(i)", "E303"), ("nothing()", "E301"), ("nothing:concat(s)", "E301"),
    ("Sum(i)", "E301"),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "code"), REFUSED)
def test_invalid_arguments_of_built_ins_are_refused(expression: str, code: str) -> None:
    assert refused(f"from S select {expression} as x insert into O;").code == code


def test_star_is_replaced_by_all_attributes() -> None:
    definitions = "define stream One (x int);"
    assert query("from One select count(*) as n insert into O;", definitions=definitions).selector.has_aggregates


def test_aggregators_are_allowed_anywhere_in_an_expression() -> None:
    found = query("from S[sum(i) > 3L] select i having count() > 1L insert into O;")
    assert found.selector.mode is SelectMode.LAST
    assert found.selector.has_aggregates


def test_event_references_are_arguments_in_joins() -> None:
    definitions = "define stream L (k string); define stream R (q string);"
    text = "from L#window.length(1) as a join R#window.length(1) as b select eventTimestamp({}) as t insert into O;"
    assert query(text.format("b"), definitions=definitions).selector.columns[0].expression.type is LONG
    assert refused(text.format("k"), definitions=definitions).code == "E303"


def test_script_functions_hide_built_ins() -> None:
    registry = Registry(builtin_registry())
    registry.register(ScriptLanguageMetadata(name="words", implementation=len))
    text = "define function sum[words] return string { x };\n" + STREAM + "from S select sum(i) as x insert into O;"
    found = planned(text, registry).executions[0]
    assert isinstance(found, QueryPlan)
    assert isinstance(found.selector.columns[0].expression, ScriptCall)
    assert found.selector.columns[0].expression.type is STRING


def test_an_unknown_script_language_is_refused() -> None:
    error = refused(
        "from S select f(i) as x insert into O;", definitions=STREAM + "define function f[js] return int { };"
    )
    assert isinstance(error, ExtensionNotFoundError)


def test_extensions_of_users_are_found() -> None:
    registry = Registry(builtin_registry())

    @extension.function(
        "geo:half", args=((INT, DOUBLE),), returns=lambda types, _constants: types[0], registry=registry
    )
    def half(value: float) -> float: ...

    found = planned(STREAM + "from S select geo:half(i) as h insert into O;", registry).executions[0]
    assert isinstance(found, QueryPlan)
    assert found.selector.columns[0].expression.type is INT


def test_the_hint_suggests_every_kind_of_function() -> None:
    assert refused("from S select convrt(i, 'long') as x insert into O;").hint == "did you mean 'convert'?"
    error = refused("from S#length(3) select i insert into O;")
    assert error.hint == "write a window as #window.length(...)"
