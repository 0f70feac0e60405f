"""Logic: null counts as false, nothing is null, evaluation stops where the answer is known."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi._core.expression.arithmetic import make_arithmetic
from siddhi._core.expression.executor import make_event_timestamp, make_slot_is_null, make_variable
from siddhi._core.expression.logic import make_and, make_is_null, make_not, make_or
from siddhi._core.expression.python import make_python_function
from siddhi._core.record.event import Layout
from tests.kit.expressions import BOOL, INT, NAMES, STRING, apply

BOOLS = [True, False, None]
VALUES = [(type_, value) for type_, value in zip(sorted(NAMES), ["a", 1, 2, 1.5, 2.5, False, [1]])]


@pytest.mark.parametrize("constants", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("a", BOOLS)
@pytest.mark.parametrize("b", BOOLS)
def test_and_or(a: bool | None, b: bool | None, constants: tuple[int, ...]) -> None:
    assert apply(make_and, (BOOL, a), (BOOL, b), constants=constants) is (bool(a) and bool(b))
    assert apply(make_or, (BOOL, a), (BOOL, b), constants=constants) is (bool(a) or bool(b))


def test_not_of_null_is_true() -> None:
    assert apply(make_not, (BOOL, None)) is True
    assert apply(make_not, (BOOL, False)) is True
    assert apply(make_not, (BOOL, True)) is False


@pytest.mark.parametrize(("make", "stops_at"), [(make_and, False), (make_or, True)])
def test_the_right_side_is_evaluated_only_if_it_decides(make: Any, stops_at: bool) -> None:
    seen: list[bool] = []

    def build(a: Any, b: Any) -> Any:
        return make(a, make_python_function(lambda b: seen.append(b), (b,), BOOL, "see"))

    apply(build, (BOOL, stops_at), (BOOL, True))
    assert seen == []
    apply(build, (BOOL, not stops_at), (BOOL, True))
    assert seen == [True]


@pytest.mark.parametrize(("type_", "value"), VALUES)
def test_is_null(type_: int, value: Any) -> None:
    assert apply(make_is_null, (type_, value)) is False
    assert apply(make_is_null, (type_, None)) is True
    assert apply(make_is_null, (type_, None), constants=(0,)) is True


def test_is_null_of_something_computed() -> None:
    assert apply(lambda a, b: make_is_null(make_arithmetic("/", a, b)), (INT, 1), (INT, 0)) is True
    assert apply(lambda a, b: make_is_null(make_arithmetic("/", a, b)), (INT, 1), (INT, 1)) is False


def test_events_of_slots() -> None:
    layout = Layout(("s",), (STRING,))
    slots = [(layout, ("x",), 42), None]
    assert apply(lambda: make_slot_is_null(0), slots=slots) is False
    assert apply(lambda: make_slot_is_null(1), slots=slots) is True
    assert apply(lambda: make_event_timestamp(0), slots=slots) == 42
    assert apply(lambda: make_event_timestamp(1), slots=slots) is None
    assert apply(lambda: make_variable(layout, 0, 0), slots=slots) == "x"
    assert apply(lambda: make_variable(layout, 0, 1), slots=slots) is None
    assert apply(lambda: make_is_null(make_variable(layout, 0, 1)), slots=slots) is True


def test_output_event_and_table_row() -> None:
    layout = Layout(("s", "n"), (STRING, INT))
    assert apply(lambda: make_variable(layout, 1, "output"), output=(layout, ("x", 3))) == 3
    assert apply(lambda: make_variable(layout, 0, "row"), table_row=(layout, ("x", 3))) == "x"
