"""Rules of all functions of the namespaces, over their worked examples."""

from __future__ import annotations

import math
from typing import Any

import pytest

from siddhi.errors import ExtensionNotFoundError, SiddhiAppCreationError
from siddhi.extension import FunctionMetadata, NullRule, Registry, builtin_registry
from siddhi.library import NAMESPACES
from siddhi.planner.app import plan
from siddhi.query_compiler import parse
from siddhi.types import AttributeType
from tests.kit.functions import Example, examples, executors, stream_of, value
from tests.kit.running import collect, running

ALL = {namespace: list(examples(namespace)) for namespace in NAMESPACES}
WITH_FUNCTIONS = [namespace for namespace, found in ALL.items() if found]
FUNCTIONS = [one for one in builtin_registry().all(FunctionMetadata) if one.namespace is not None]


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal and of one type; a NaN equals itself."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    return type(one) is type(other) and one == other


def different(found: list[Example], values: list[Any]) -> dict[str, Any]:
    """Return the calls whose value is not the expected one, with it."""
    pairs = zip(found, values, strict=True)
    return {each.call: value for each, value in pairs if not same(value, each.expected)}


def test_every_function_has_a_worked_example() -> None:
    # The result of the others is random or depends on the clock or the process.
    lacking = [one.full_name for one in FUNCTIONS if not one.results and one.deterministic]
    assert lacking == []


@pytest.mark.parametrize("namespace", WITH_FUNCTIONS)
def test_worked_examples_hold_for_literals(namespace: str) -> None:
    found = ALL[namespace]
    built, layout = executors("define stream S (unused int);", [each.call for each in found])
    assert different(found, [value(each, layout, (None,)) for each in built]) == {}


@pytest.mark.parametrize("namespace", WITH_FUNCTIONS)
def test_worked_examples_hold_for_attributes_and_null_has_its_rule(namespace: str) -> None:
    found = [each for each in ALL[namespace] if each.attributes]
    built, layout = executors(stream_of(found), [each.lifted for each in found])
    row = [value for each in found for value in each.values]
    assert different(found, [value(each, layout, row) for each in built]) == {}
    wrong = {}
    at = 0
    for each, executor in zip(found, built, strict=True):
        for position in range(at, at + len(each.values)):
            with_null = [None if i == position else value for i, value in enumerate(row)]
            result = value(executor, layout, with_null)
            if each.metadata.nulls is NullRule.NULL and result is not None:
                wrong[each.call, position - at] = result
            if each.metadata.nulls is NullRule.ERROR and not isinstance(result, type):
                wrong[each.call, position - at] = result
        at += len(each.values)
    assert wrong == {}


@pytest.mark.parametrize("namespace", WITH_FUNCTIONS)
def test_batches_have_the_results_of_rows(namespace: str) -> None:
    found = [each for each in ALL[namespace] if each.attributes]
    columns = ", ".join(f"{each.lifted} as c{i}" for i, each in enumerate(found))
    app = f"{stream_of(found)} from S select {columns} insert into O;"
    values = [value for each in found for value in each.values]
    nullable = [each.metadata.nulls is NullRule.NULL for each in found for _ in each.values]
    # Longer than a block, with nulls in changing places where they are no errors.
    rows = [
        tuple(
            None if null and (turn + position) % 7 == 0 else value
            for position, (value, null) in enumerate(zip(values, nullable, strict=True))
        )
        for turn in range(300)
    ]
    with running(app) as runtime:
        results = collect(runtime, "O")
        for row in rows[:8]:
            runtime.input_handler("S").send(row)
        single = results[:]
        results.clear()
        names = [name for each in found for name, _ in each.attributes]
        runtime.input_handler("S").send_batch({name: [row[i] for row in rows] for i, name in enumerate(names)})
    assert len(results) == 300
    for one, other in zip(results[:8], single, strict=True):
        assert all(map(same, one, other))
    for row, again in zip(results[7:], results, strict=False):
        assert all(map(same, row, again))


@pytest.mark.parametrize("namespace", NAMESPACES)
def test_arguments_of_a_wrong_type_are_refused_with_place_and_signature(namespace: str) -> None:
    for function in FUNCTIONS:
        overload = function.overloads[-1]
        if function.namespace != namespace or not overload.parameters:
            continue
        accepted = {type_ for each in function.overloads for one in each.parameters[:1] for type_ in one.types}
        wrong = next((type_ for type_ in AttributeType if type_ not in accepted), None)
        if wrong is None:
            continue
        attributes = [wrong, *(min(one.types, key=str) for one in overload.parameters[1:])]
        names = ", ".join(f"a{i}" for i in range(len(attributes)))
        stream = ", ".join(f"a{i} {type_}" for i, type_ in enumerate(attributes))
        text = f"define stream S ({stream});\nfrom S select {function.full_name}({names}) as x insert into O;"
        with pytest.raises(SiddhiAppCreationError) as caught:
            plan(parse(text), registry=Registry(builtin_registry()))
        assert caught.value.code == "E303", function.full_name
        assert caught.value.hint is not None
        assert f"{function.full_name}(" in caught.value.hint
        assert caught.value.span is not None
        assert caught.value.span.line == 2


def test_an_unknown_function_of_a_namespace_names_the_nearest() -> None:
    text = "define stream S (a double); from S select math:sqr(a) as x insert into O;"
    with pytest.raises(ExtensionNotFoundError, match="unknown function or aggregator 'math:sqr'") as caught:
        plan(parse(text), registry=Registry(builtin_registry()))
    assert "math:sqrt" in str(caught.value.hint)
