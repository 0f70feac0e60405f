"""Plans of incremental aggregators of extensions: base attributes, sharing, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from siddhi import extension
from siddhi.errors import SiddhiAppError
from siddhi.extension import BaseAttribute, IncrementalAttributeAggregator, Registry
from siddhi.planner.app import plan
from siddhi.planner.explain.app import explain
from siddhi.planner.plan.aggregations import BaseKind, OutputKind
from siddhi.planner.plan.nodes import Plan
from siddhi.query_api import Attribute, Constant, FunctionCall, IsNull, Variable
from siddhi.query_compiler import parse
from siddhi.types import AttributeType
from tests.kit.incremental import DOUBLE, INT, LONG, NUMBERS, REGISTRY
from tests.kit.planning import STREAM, planned

STRING, OBJECT = AttributeType.STRING, AttributeType.OBJECT


def app(select: str, rest: str = "aggregate every sec, min", registry: Registry = REGISTRY) -> Plan:
    return planned(f"{STREAM}define aggregation A from S select {select} {rest};", registry)


def registry_of(
    describe: Callable[..., Any], *, args: Any = (NUMBERS,), returns: Any = DOUBLE, name: str = "my:f"
) -> Registry:
    registry = Registry(REGISTRY)
    extension.incremental_aggregator(name, args=args, returns=returns, registry=registry)(describe)
    return registry


def refused(select: str, registry: Registry = REGISTRY) -> SiddhiAppError:
    text = f"{STREAM}define aggregation A from S\nselect {select} aggregate every sec, min;"
    with pytest.raises(SiddhiAppError) as caught:
        plan(parse(text), registry=registry)
    return caught.value


# --- what is kept


def test_base_attributes_are_stored_and_expressions_built_from_them() -> None:
    found = app("s, my:geometricMean(d) as g, my:weightedMean(i, l) as w", "group by s aggregate by l every sec, min")
    lines = explain(found).splitlines()
    kept = [line.strip() for line in lines if line.startswith("  ")][:8]
    assert kept == [
        "group by s",
        "keeps AGG_LOGS_d = sum my:log(d)",
        "keeps AGG_VALUED_d = sum ifThenElse(d is null, 0L, 1L)",
        "keeps AGG_WEIGHTED_i_l = sum convert(i, 'double') * l",
        "keeps AGG_WEIGHTS_i_l = sum ifThenElse(i is null, 0.0, convert(l, 'double'))",
        "s string = s",
        "g double = my:exp(AGG_LOGS_d / AGG_VALUED_d)",
        "w double = AGG_WEIGHTED_i_l / AGG_WEIGHTS_i_l",
    ]
    assert found.aggregations["A"].extended
    assert not app("sum(i) as t").aggregations["A"].extended


def test_equal_base_attributes_are_stored_once() -> None:
    found = app("min(i) as lo, my:spread(i) as sp, max(i) as hi, my:spread(l) as sl").aggregations["A"]
    assert [attribute.name for attribute in found.stored] == [
        "AGG_TIMESTAMP",
        "AGG_MIN_i",
        "AGG_MAX_i",
        "AGG_MIN_l",
        "AGG_MAX_l",
    ]
    assert [(output.kind, output.position) for output in found.outputs] == [
        (OutputKind.STORED, 1),
        (OutputKind.COMPUTED, 0),
        (OutputKind.STORED, 2),
        (OutputKind.COMPUTED, 0),
    ]
    assert [attribute.type for attribute in found.attributes[1:]] == [INT, INT, INT, LONG]


def test_a_count_is_shared_with_an_average() -> None:
    def rate(x: Attribute) -> IncrementalAttributeAggregator:
        summed = BaseAttribute(f"AGG_SUM_{x.name}", DOUBLE, "sum", x.name)
        return IncrementalAttributeAggregator(
            (summed, BaseAttribute("AGG_COUNT", LONG, "count")), f"{summed.name} / AGG_COUNT"
        )

    found = app("avg(d) as a, my:f(d) as b", registry=registry_of(rate)).aggregations["A"]
    assert [attribute.name for attribute in found.stored] == ["AGG_TIMESTAMP", "AGG_SUM_d", "AGG_COUNT"]


def test_a_final_expression_that_is_a_base_attribute_is_read_directly() -> None:
    def last(x: Attribute) -> IncrementalAttributeAggregator:
        return IncrementalAttributeAggregator((BaseAttribute("Last", x.type, "latest", x.name),), "Last")

    registry = registry_of(last, args=(frozenset(AttributeType),), returns=lambda types, _constants: types[0])
    found = app("my:f(s) as t", "aggregate by l every sec, min", registry).aggregations["A"]
    assert (found.outputs[0].kind, found.outputs[0].position) == (OutputKind.STORED, 2)
    assert found.base_values[0].kind is BaseKind.LATEST
    assert found.last == 3
    assert app("my:f(o) as t", registry=registry).tables["A_SECONDS"].objects[0][:2] == ("Last", "'Last'")


def test_expressions_may_be_objects() -> None:
    def present(x: Attribute) -> IncrementalAttributeAggregator:
        one, none = Constant(1, LONG), Constant(0, LONG)
        counted = FunctionCall("ifThenElse", (IsNull(Variable(x.name)), none, one))
        return IncrementalAttributeAggregator((BaseAttribute("a b", LONG, "sum", counted),), Variable("a b"))

    found = app("my:f(d) as n", registry=registry_of(present, returns=LONG)).aggregations["A"]
    assert found.stored[1].name == "a b"


# --- what is refused


@pytest.mark.parametrize(
    ("select", "code", "message"),
    [
        ("my:spread() as x", "E325", "'my:spread' of an aggregation takes exactly one attribute"),
        ("my:spread(i, l) as x", "E325", "'my:spread' of an aggregation takes exactly one attribute"),
        ("my:spread(*) as x", "E325", "'my:spread' of an aggregation takes exactly one attribute"),
        ("my:weightedMean(i) as x", "E325", "'my:weightedMean' of an aggregation takes 2 attributes"),
        (
            "my:weightedMean(i, 2) as x",
            "E325",
            "'my:weightedMean' of an aggregation takes attributes, not an expression",
        ),
        ("my:spread(s) as x", "E207", "'my:spread' of an aggregation does not accept a string"),
        ("my:geometricMean(i) as x", "E207", "'my:geometricMean' of an aggregation does not accept an int"),
        ("my:spred(i) as x", "E301", "unknown function or incremental aggregator 'my:spred'"),
        (
            "my:spread(i) * 2 as x",
            "E325",
            "'my:spread' is an incremental aggregator, which only the selection of 'define",
        ),
    ],
)
def test_invalid_calls_are_refused(select: str, code: str, message: str) -> None:
    error = refused(select)
    assert error.code == code
    assert message in error.message
    assert error.span is not None
    assert (error.span.line, error.span.column) >= (3, 7)


def test_errors_suggest_a_valid_call() -> None:
    assert refused("my:spread(s) as x").hint == "it accepts int, long, float and double"
    assert refused("my:geometricMean(i) as x").hint == "it accepts double"
    assert refused("my:spred(i) as x").hint == "did you mean 'my:spread'?"
    assert "my:spread" in (refused("minForever(i) as x").hint or "")


def test_incremental_aggregators_are_refused_in_queries() -> None:
    text = f"{STREAM}from S select my:spread(i) as x insert into O;"
    with pytest.raises(
        SiddhiAppError, match="'my:spread' is an incremental aggregator, which only the selection of 'define"
    ):
        plan(parse(text), registry=REGISTRY)


def kept(*attributes: Any, final: Any = "K") -> Callable[[Attribute], Any]:
    def describe(x: Attribute) -> Any:
        return IncrementalAttributeAggregator(attributes, final)

    return describe


K = BaseAttribute("K", DOUBLE, "sum", "d")


@pytest.mark.parametrize(
    ("describe", "message", "hint"),
    [
        (kept(final="1.0"), "has no base attribute", "at least"),
        (kept(K, K), "has duplicate base attribute 'K'", None),
        (
            kept(BaseAttribute("K", DOUBLE, "avg", "d")),
            "incremental aggregator 'my:f' uses the unknown base aggregator 'avg' for base",
            "use one of count, lat",
        ),  # type: ignore[arg-type]
        (
            kept(BaseAttribute("K", DOUBLE, "summ", "d")),
            "incremental aggregator 'my:f' uses the unknown base aggregator 'summ' for",
            "did you mean 'sum'?",
        ),  # type: ignore[arg-type]
        (
            kept(BaseAttribute("K", DOUBLE, "sum")),
            "incremental aggregator 'my:f' has no initial value for base attribute 'K'",
            "give the expression that 'sum' aggregates",
        ),
        (
            kept(BaseAttribute("K", LONG, "count", "d")),
            "incremental aggregator 'my:f' has an initial value for base attribute 'K',",
            "ifThenElse",
        ),
        (
            kept(BaseAttribute("K", INT, "sum", "d")),
            "'K' as an int, but its type is a double",
            "declare it as a double",
        ),
        (
            kept(BaseAttribute("K", LONG, "max", "d")),
            "'K' as a long, but its type is a double",
            "declare it as a double",
        ),
        (
            kept(BaseAttribute("K", STRING, "min", "'x'")),
            "incremental aggregator 'my:f' applies 'min' to a string in base attribute 'K'",
            "only numbers are allowed",
        ),
        (
            kept(BaseAttribute("K", DOUBLE, "sum", "d +")),
            "initial value 'd +' of base attribute 'K' is not an expr",
            None,
        ),
        (kept(BaseAttribute("K", DOUBLE, "sum", "i")), "unknown attribute 'i' in its arguments", "d"),
        (kept(BaseAttribute("K", DOUBLE, "sum", "lug(d)")), "unknown function or aggregator 'lug'", None),
        (
            kept(BaseAttribute("K", DOUBLE, "sum", "sum(d)")),
            "of base attribute 'K' contains an aggregator",
            "aggregate with base attributes",
        ),
        (kept(BaseAttribute("K", DOUBLE, "sum", 5)), "gives 5 as the initial value", "give SiddhiQL text"),  # type: ignore[arg-type]
        (kept(K, final="d"), "the final expression 'd': unknown attribute 'd' in its base attributes", "K"),
        (kept(K, final="K > 0"), "to return a double, but its final expression is a bool", "convert(..., 'double')"),
        (kept(K, final="count()"), "contains an aggregator", None),
        (kept(K, final="ifThenElse((K == T.K) in T, 1.0, 0.0)"), "reads a table", None),
        (kept("K"), "has a base attribute that is not a BaseAttribute", None),
        (lambda x: K, "returned BaseAttribute", "must return an IncrementalAttributeAggregator"),
    ],
)
def test_invalid_descriptions_are_refused(describe: Callable[..., Any], message: str, hint: str | None) -> None:
    registry = registry_of(describe)
    text = (
        f"{STREAM}define table T (K double); define aggregation A from S\nselect my:f(d) as x aggregate every sec, min;"
    )
    with pytest.raises(SiddhiAppError) as caught:
        plan(parse(text), registry=registry)
    error = caught.value
    assert error.code == "E325"
    assert error.message.startswith("incremental aggregator 'my:f' ")
    assert message in error.message
    assert hint is None or hint in (error.hint or "")
    assert error.span is not None
    assert (error.span.line, error.span.column) == (3, 7)


def test_an_exception_of_an_extension_refuses_the_app() -> None:
    def picky(x: Attribute) -> IncrementalAttributeAggregator:
        raise ValueError(f"'{x.name}' is not a good", "take another")

    error = refused("my:f(d) as x", registry_of(picky))
    assert (error.code, error.message, error.hint) == ("E325", "'d' is not a good", "take another")

    def broken(x: Attribute) -> IncrementalAttributeAggregator:
        raise KeyError(x.name)

    error = refused("my:f(d) as x", registry_of(broken))
    assert error.message == "incremental aggregator 'my:f' failed to describe itself: KeyError: 'd'"
    assert isinstance(error.__cause__, KeyError)


def test_base_attributes_of_equal_name_must_be_equal() -> None:
    def greatest(x: Attribute) -> IncrementalAttributeAggregator:
        return IncrementalAttributeAggregator(
            (BaseAttribute(f"AGG_MIN_{x.name}", x.type, "max", x.name),), f"AGG_MIN_{x.name}"
        )

    registry = registry_of(greatest, args=(DOUBLE,))
    for select, message in (
        ("min(d) as a, my:f(d) as b", "'my:f' defines base attribute 'AGG_MIN_d' as max d, but it is already min d"),
        ("my:f(d) as b, min(d) as a", "'min' defines base attribute 'AGG_MIN_d' as min d, but it is already max d"),
    ):
        error = refused(select, registry)
        assert (error.code, error.message) == ("E325", message)
        assert error.hint == "rename one of the two base attributes"
    assert (
        "duplicate attribute 'AGG_MIN_d' in the rows of aggregation 'A'"
        in refused("i as AGG_MIN_d, my:f(d) as b", registry).message
    )
