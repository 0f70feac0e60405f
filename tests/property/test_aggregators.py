"""Every aggregator against a slow oracle, over arrivals, expiries, resets and snapshots in any order."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi._core.record.event import TypeCode
from tests.kit.aggregators import NUMBERS, WHOLE, Bench


class Twin:
    """An aggregator as the reference words it; subclasses say what a value does to the state."""

    def __init__(self) -> None:
        self.held: list[Any] = []

    def add(self, value: Any) -> None:
        self.held.append(value)

    def remove(self, value: Any) -> None:
        self.held.remove(value)

    def value(self) -> Any:
        raise NotImplementedError

    def is_empty(self) -> bool:
        return not self.held


class SkippingNull(Twin):
    def add(self, value: Any) -> None:
        if value is not None:
            self.take(value)

    def remove(self, value: Any) -> None:
        if value is not None:
            self.give(value)

    def take(self, value: Any) -> None:
        super().add(value)

    def give(self, value: Any) -> None:
        super().remove(value)


class WholeSum(SkippingNull):
    def value(self) -> Any:
        total = sum(self.held)
        return (total + 2**63) % 2**64 - 2**63 if self.held else None


class RealSum(SkippingNull):
    """Add and remove in the order of events: rounding errors are part of the expected result."""

    widen: Callable[[Any], float] = float

    def __init__(self) -> None:
        super().__init__()
        self.total = 0.0

    def take(self, value: Any) -> None:
        super().take(value)
        self.total += type(self).widen(value)

    def give(self, value: Any) -> None:
        super().give(value)
        self.total -= type(self).widen(value)

    def value(self) -> Any:
        return self.total if self.held else None


class Mean(RealSum):
    def value(self) -> Any:
        return self.total / len(self.held) if self.held else None


def widened(value: float) -> float:
    """What a double holds after a float was assigned to it."""
    return float(np.float32(value))


class FloatSum(RealSum):
    widen = staticmethod(widened)


class FloatMean(Mean):
    widen = staticmethod(widened)


class Count(Twin):
    def value(self) -> Any:
        return len(self.held)


class DistinctCount(Twin):
    def value(self) -> Any:
        return len(set(self.held))


class Extremum(SkippingNull):
    """A queue in which a value that comes drops the worse ones at the end; `sign` -1 for min, 1 for max."""

    sign = 1

    def take(self, value: Any) -> None:
        while self.held and self.sign * self.held[-1] < self.sign * value:
            self.held.pop()
        self.held.append(value)

    def give(self, value: Any) -> None:
        if value in self.held:
            self.held.remove(value)

    def value(self) -> Any:
        return self.held[0] if self.held else None


class Minimum(Extremum):
    sign = -1


class Forever(SkippingNull):
    best: Callable[..., Any] = max

    def give(self, value: Any) -> None:
        self.held.append(value)

    def value(self) -> Any:
        return type(self).best(self.held) if self.held else None


class MinimumForever(Forever):
    best = min


class Deviation(SkippingNull):
    def value(self) -> Any:
        return statistics.pstdev(map(float, self.held)) if self.held else None


class And(Twin):
    def value(self) -> Any:
        return bool(self.held) and all(self.held)


class Or(Twin):
    def value(self) -> Any:
        return any(self.held)


class Union(Twin):
    def value(self) -> Any:
        return set().union(*self.held)

    def is_empty(self) -> bool:
        return not self.value()


WIDE: dict[TypeCode, st.SearchStrategy[Any]] = {
    TypeCode.INT: st.integers(-(2**31), 2**31 - 1),
    TypeCode.LONG: st.integers(-(2**63), 2**63 - 1),
    TypeCode.FLOAT: st.floats(width=32, allow_nan=False, allow_infinity=False),
    TypeCode.DOUBLE: st.floats(-1e300, 1e300),
    TypeCode.BOOL: st.booleans(),
    TypeCode.STRING: st.sampled_from(["", "a", "b", "é", "null"]),
    TypeCode.OBJECT: st.frozensets(st.integers(0, 5) | st.sampled_from(["a", None])),
}


def values_of(code: TypeCode) -> st.SearchStrategy[Any]:
    """Values of a type, often the same few: equal values are where queues and counts go wrong."""
    if code in WHOLE:
        return st.integers(-3, 3) | WIDE[code]
    if code in NUMBERS:
        few_or_any = st.sampled_from([-1.5, 0.25, 1.0, 3.0]) | WIDE[code].map(lambda value: value + 0.0)  # no -0.0
        return few_or_any.map(np.float32) if code == TypeCode.FLOAT else few_or_any
    return WIDE[code]


CASES: list[tuple[str, TypeCode, type[Twin]]] = [
    *(("sum", code, WholeSum) for code in WHOLE),
    ("sum", TypeCode.FLOAT, FloatSum),
    ("sum", TypeCode.DOUBLE, RealSum),
    *(("avg", code, FloatMean if code == TypeCode.FLOAT else Mean) for code in NUMBERS),
    *(
        (name, code, twin)
        for name, twin in [
            ("count", Count),
            ("distinctCount", DistinctCount),
            ("min", Minimum),
            ("max", Extremum),
            ("minForever", MinimumForever),
            ("maxForever", Forever),
        ]
        for code in NUMBERS
    ),
    ("count", TypeCode.STRING, Count),
    ("distinctCount", TypeCode.STRING, DistinctCount),
    ("distinctCount", TypeCode.BOOL, DistinctCount),
    ("distinctCount", TypeCode.OBJECT, DistinctCount),
    ("and", TypeCode.BOOL, And),
    ("or", TypeCode.BOOL, Or),
    ("unionSet", TypeCode.OBJECT, Union),
]
REFUSE_NULL = {"and", "or", "unionSet"}
STEPS = st.sampled_from(["add"] * 6 + ["expire"] * 4 + ["remove"] * 2 + ["reset", "snapshot", "reopen"])


class Slot:
    """A slot of an aggregator beside its twin, and what a window would hold."""

    def __init__(self, twin: type[Twin]) -> None:
        self.make = twin
        self.start()

    def start(self) -> None:
        self.twin = self.make()
        self.window: list[Any] = []


def play(bench: Bench, slots: list[Slot], number: int, step: str, value: Any, at: int) -> None:
    """One step in one slot; the results must be the twin's. `value` is what may come, `at` where one may go."""
    slot = slots[number]
    if step == "add":
        slot.window.append(value)
        slot.twin.add(value)
        assert same(bench.add(value, number), slot.twin.value())
    elif step in ("expire", "remove") and slot.window:
        gone = slot.window.pop(0 if step == "expire" else at % len(slot.window))
        slot.twin.remove(gone)
        assert same(bench.remove(gone, number), slot.twin.value())
    elif step == "reset":
        bench.aggregator.clear(number)
        slot.start()
    elif step == "reopen":
        bench.aggregator.close(number)
        bench.aggregator.open(number)
        slot.start()
    elif step == "snapshot":
        saved = bench.aggregator.save(number)
        bench.aggregator.open(number)
        bench.aggregator.load(saved, number)
    assert bench.aggregator.empty(number) == slot.twin.is_empty()


def same(got: Any, expected: Any) -> bool:
    """Equal and of one type. A float of the engine is shown by its shortest digits, so it is compared as a float."""
    if isinstance(expected, np.float32) and isinstance(got, float):
        return bool(np.float32(got) == expected)
    return bool(got == expected) and type(got) is type(expected)


@pytest.mark.parametrize(("name", "code", "twin"), CASES, ids=[f"{name}-{code.name}" for name, code, _ in CASES])
@given(data=st.data())
def test_an_aggregator_equals_its_oracle(name: str, code: TypeCode, twin: type[Twin], data: st.DataObject) -> None:
    bench = Bench(name, code, computed=code in NUMBERS and data.draw(st.booleans()))
    slots = [Slot(twin) for _ in range(3)]
    for number in range(len(slots)):
        bench.aggregator.open(number)
    values = values_of(code) if name in REFUSE_NULL else values_of(code) | st.none()
    steps = st.tuples(st.sampled_from([0, 0, 0, 1, 2]), STEPS, values, st.integers(0, 9))
    for step in data.draw(st.lists(steps, min_size=1, max_size=60)):
        play(bench, slots, *step)


@given(st.lists(st.integers(-1000, 1000) | st.none(), max_size=80), st.integers(1, 10), st.sampled_from(NUMBERS))
def test_deviation_is_close_to_the_oracle(values: list[int | None], length: int, code: TypeCode) -> None:
    bench, twin = Bench("stdDev", code), Deviation()
    for i, value in enumerate(values):
        if i >= length:
            bench.remove(values[i - length])
            twin.remove(values[i - length])
        got = bench.add(value)
        twin.add(value)
        expected = twin.value()
        assert (got is None) == (expected is None)
        if got is not None:
            assert math.isclose(got, expected, rel_tol=1e-9, abs_tol=1e-4)
        if i % 7 == 3:
            saved = bench.aggregator.save()
            bench.aggregator.open(0)
            bench.aggregator.load(saved)


@given(st.lists(st.integers(-5, 5) | st.none(), max_size=60), st.integers(1, 8), st.sampled_from(["min", "max"]))
def test_without_equal_values_the_queue_has_the_extremum_of_the_window(
    values: list[int | None], length: int, name: str
) -> None:
    # Siddhi's queue forgets only where equal values meet; made distinct, it must give the plain answer.
    distinct = [None if value is None else value * 100 + i for i, value in enumerate(values)]
    results = Bench(name, TypeCode.LONG).slide(distinct, length)
    for i, result in enumerate(results):
        held = [value for value in distinct[max(0, i - length + 1) : i + 1] if value is not None]
        assert result == ((min if name == "min" else max)(held) if held else None)


@given(st.lists(st.sampled_from("abc") | st.none(), max_size=60), st.integers(1, 8))
def test_distinct_values_of_a_window(values: list[str | None], length: int) -> None:
    results = Bench("distinctCount", TypeCode.STRING).slide(values, length)
    assert results == [len(Counter(values[max(0, i - length + 1) : i + 1])) for i in range(len(values))]
