"""Functions written in Python: boxing, checks of the result, failures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from siddhi._core.expression.executor import make_constant
from siddhi._core.expression.python import make_python_function
from tests.kit.expressions import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    INT_MAX,
    INT_MIN,
    LONG,
    LONG_MAX,
    LONG_MIN,
    NAMES,
    OBJECT,
    STRING,
    apply,
)

VALUES: list[tuple[int, Any]] = [
    (STRING, "a"),
    (INT, INT_MIN),
    (LONG, LONG_MIN),
    (FLOAT, 0.5),
    (DOUBLE, 0.1),
    (BOOL, True),
    (OBJECT, [1]),
]


def returning(value: Any, type_: int) -> Any:
    return apply(lambda: make_python_function(lambda: value, (), type_, "f"))


def test_arguments_come_as_python_values() -> None:
    seen: list[tuple[Any, ...]] = []
    apply(lambda *a: make_python_function(lambda *values: seen.append(values), a, INT, "f"), *VALUES)
    assert seen == [tuple(value for _, value in VALUES)]
    assert [type(value) for value in seen[0]] == [str, int, int, float, float, bool, list]


def test_null_is_passed_as_none() -> None:
    seen: list[tuple[Any, ...]] = []
    apply(
        lambda *a: make_python_function(lambda *values: seen.append(values), a, INT, "f"),
        *[(type_, None) for type_, _ in VALUES],
    )
    assert seen == [(None,) * len(VALUES)]


@pytest.mark.parametrize(("type_", "value"), VALUES)
def test_results_are_unboxed(type_: int, value: Any) -> None:
    found = returning(value, type_)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("type_", NAMES, ids=NAMES.get)
def test_none_becomes_null_and_as_a_bool_false(type_: int) -> None:
    assert returning(None, type_) is (False if type_ == BOOL else None)


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (np.int32(5), INT, 5),
        (np.int64(LONG_MAX), LONG, LONG_MAX),
        (np.float32(0.5), FLOAT, 0.5),
        (np.float64(0.1), DOUBLE, 0.1),
        (np.bool_(True), BOOL, True),
        (np.bool_(False), BOOL, False),
        (7, DOUBLE, 7.0),
        (7, FLOAT, 7.0),
        (0.1, FLOAT, 0.1),
        (math.inf, FLOAT, math.inf),
        ("anything", OBJECT, "anything"),
    ],
)
def test_other_numeric_types_are_accepted(value: Any, type_: int, expected: Any) -> None:
    found = returning(value, type_)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "type_", "why"),
    [
        (5, STRING, "expected string"),
        (b"a", STRING, "expected string"),
        (5.0, INT, "expected int"),
        ("5", INT, "expected int"),
        (True, INT, "expected int"),
        (INT_MAX + 1, INT, "out of range for int"),
        (True, LONG, "expected long"),
        (LONG_MAX + 1, LONG, "out of range for long"),
        ("0.5", DOUBLE, "expected double"),
        (True, DOUBLE, "expected double"),
        ([], DOUBLE, "expected double"),
        (10**400, DOUBLE, "out of range for double"),
        (1e300, FLOAT, "out of range for float"),
        (1, BOOL, "expected bool"),
        ("true", BOOL, "expected bool"),
    ],
)
def test_a_result_of_another_type_is_refused(value: Any, type_: int, why: str) -> None:
    with pytest.raises(TypeError, match=why) as caught:
        returning(value, type_)
    assert str(caught.value).startswith(f"function 'f' returned {repr(value)[:40]}")  # of a long one, no more is shown


def test_a_failure_names_the_function_and_keeps_its_cause() -> None:
    def fail(_value: int) -> int:
        raise KeyError("k")

    with pytest.raises(RuntimeError, match=r"^function 'my:fail' failed: KeyError: 'k'$") as caught:
        apply(lambda a: make_python_function(fail, (a,), INT, "my:fail"), (INT, 1))
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_interrupt_is_not_wrapped() -> None:
    def stop() -> int:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        apply(lambda: make_python_function(stop, (), INT, "f"))


def test_a_failure_of_an_argument_is_not_the_failure_of_the_function() -> None:
    def inner() -> int:
        raise ValueError("inner")

    with pytest.raises(RuntimeError, match=r"^function 'inner' failed"):
        apply(
            lambda: make_python_function(
                lambda value: value, (make_python_function(inner, (), INT, "inner"),), INT, "outer"
            )
        )


def test_the_description_names_the_function() -> None:
    executor = make_python_function(len, (), INT, "text:len")
    assert executor.description == "python text:len()"


@pytest.mark.parametrize("type_", [INT, LONG])
def test_a_float_is_refused_as_a_constant_of_an_integer_type(type_):
    with pytest.raises(TypeError, match="float"):
        make_constant(1.5, type_)
