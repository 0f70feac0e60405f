from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from siddhi._core.aggregate.aggregator import Aggregator
from siddhi._core.aggregate.python import make_python_aggregator
from siddhi._core.expression.executor import make_variable
from siddhi._core.record.event import Layout, TypeCode
from tests.kit.aggregators import CURRENT, EXPIRED

LAYOUT = Layout(["v", "w"], [TypeCode.INT, TypeCode.STRING])


class Collect:
    """Keeps the values it was given; its value is what `give` makes of them."""

    give: Any = staticmethod(list)

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, v: int | None, w: str | None) -> None:
        self.values.append((v, w))

    def remove(self, v: int | None, w: str | None) -> None:
        self.values.remove((v, w))

    def reset(self) -> None:
        self.values.clear()

    def value(self) -> Any:
        return type(self).give(self.values)


def aggregator(factory: Any, code: TypeCode = TypeCode.OBJECT) -> Aggregator:
    made: Aggregator = make_python_aggregator(factory, tuple(make_variable(LAYOUT, i) for i in range(2)), code, "mine")
    made.open(0)
    return made


def giving(give: Any) -> type[Collect]:
    return type("Giving", (Collect,), {"give": staticmethod(give)})


def test_a_python_aggregator_receives_added_and_removed_values_with_nulls() -> None:
    mine = aggregator(Collect)
    assert mine.empty()
    assert mine.step(LAYOUT, (1, "a"), CURRENT) == [(1, "a")]
    assert mine.step(LAYOUT, (None, None), CURRENT) == [(1, "a"), (None, None)]
    assert mine.step(LAYOUT, (1, "a"), EXPIRED) == [(None, None)]
    assert not mine.empty()
    assert mine.step(LAYOUT, (None, None), EXPIRED) == []
    assert mine.empty()


def test_a_reset_calls_the_object_and_clears_the_group() -> None:
    mine = aggregator(Collect)
    mine.step(LAYOUT, (1, "a"), CURRENT)
    mine.clear()
    assert mine.empty()
    assert mine.step(LAYOUT, (2, "b"), CURRENT) == [(2, "b")]


def test_each_group_has_an_object_and_releases_it() -> None:
    alive: list[weakref.ref[Collect]] = []

    def make() -> Collect:
        one = Collect()
        alive.append(weakref.ref(one))
        return one

    mine = aggregator(make)
    mine.open(5)
    mine.step(LAYOUT, (1, "a"), CURRENT, 0)
    assert mine.step(LAYOUT, (2, "b"), CURRENT, 5) == [(2, "b")]
    mine.close(0)
    assert [each() is not None for each in alive] == [False, True]
    mine.open(5)
    assert mine.empty(5)
    assert mine.step(LAYOUT, (3, "c"), CURRENT, 5) == [(3, "c")]
    del mine
    gc.collect()
    assert [each() for each in alive] == [None, None, None]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        (TypeCode.INT, 7),
        (TypeCode.INT, np.int64(7)),
        (TypeCode.LONG, 2**63 - 1),
        (TypeCode.FLOAT, 0.5),
        (TypeCode.DOUBLE, 0.1),
        (TypeCode.DOUBLE, np.float32(0.5)),
        (TypeCode.DOUBLE, 3),
        (TypeCode.STRING, "text"),
        (TypeCode.OBJECT, [1]),
        (TypeCode.BOOL, True),
        (TypeCode.BOOL, False),
        (TypeCode.BOOL, np.bool_(True)),
        (TypeCode.LONG, None),
        (TypeCode.BOOL, None),
    ],
)
def test_values_of_every_type(code: TypeCode, value: Any) -> None:
    got = aggregator(giving(lambda _: value), code).step(LAYOUT, (1, "a"), CURRENT)
    assert got == value
    assert (got is None) == (value is None)


@pytest.mark.parametrize(
    ("code", "value", "name"),
    [
        (TypeCode.INT, 2**31, "int"),
        (TypeCode.INT, True, "int"),
        (TypeCode.INT, 1.5, "int"),
        (TypeCode.LONG, "1", "long"),
        (TypeCode.DOUBLE, "1", "double"),
        (TypeCode.STRING, 1, "string"),
        (TypeCode.BOOL, 1, "bool"),
    ],
)
def test_a_value_of_another_type_is_an_error(code: TypeCode, value: Any, name: str) -> None:
    with pytest.raises(TypeError, match=f"aggregator 'mine' gave {value!r}, which is not of type {name}"):
        aggregator(giving(lambda _: value), code).step(LAYOUT, (1, "a"), CURRENT)


@pytest.mark.parametrize("method", ["__init__", "add", "value", "remove", "reset", "snapshot", "restore"])
def test_a_failure_names_the_aggregator_and_the_method(method: str) -> None:
    def fail(self: Any, *arguments: Any) -> None:
        raise LookupError("no luck")

    mine = aggregator(type("Failing", (Collect,), {method: fail}))
    where = "its constructor" if method == "__init__" else method

    def use() -> None:
        mine.step(LAYOUT, (1, "a"), CURRENT)
        mine.step(LAYOUT, (1, "a"), EXPIRED)
        mine.clear()
        mine.load(mine.save())

    with pytest.raises(RuntimeError, match=f"aggregator 'mine' failed in {where}: LookupError: no luck") as caught:
        use()
    assert isinstance(caught.value.__cause__, LookupError)


def test_is_empty_of_the_class_is_used_if_defined() -> None:
    mine = aggregator(type("Forever", (Collect,), {"is_empty": lambda self: False}))
    mine.step(LAYOUT, (1, "a"), CURRENT)
    mine.step(LAYOUT, (1, "a"), EXPIRED)
    assert not mine.empty()


def test_the_attributes_of_an_object_are_its_state_in_a_snapshot() -> None:
    mine, copy = aggregator(Collect), aggregator(Collect)
    mine.step(LAYOUT, (1, "a"), CURRENT)
    copy.step(LAYOUT, (9, "z"), CURRENT)
    copy.load(mine.save())
    assert copy.step(LAYOUT, (2, "b"), CURRENT) == [(1, "a"), (2, "b")]
    copy.step(LAYOUT, (2, "b"), EXPIRED)
    copy.step(LAYOUT, (1, "a"), EXPIRED)
    assert copy.empty()


def test_an_unused_group_is_restored_as_unused() -> None:
    mine, copy = aggregator(Collect), aggregator(Collect)
    copy.step(LAYOUT, (9, "z"), CURRENT)
    copy.load(mine.save())
    assert copy.empty()


def test_a_class_can_define_its_own_state() -> None:
    class Own(Collect):
        def snapshot(self) -> Any:
            return {"pairs": tuple(self.values)}

        def restore(self, state: Any) -> None:
            self.values = list(state["pairs"])

    mine, copy = aggregator(Own), aggregator(Own)
    mine.step(LAYOUT, (1, None), CURRENT)
    copy.load(mine.save())
    assert copy.step(LAYOUT, (2, "b"), CURRENT) == [(1, None), (2, "b")]


def test_a_state_that_is_not_of_built_in_types_is_refused() -> None:
    mine = aggregator(Collect)
    mine.step(LAYOUT, (1, "a"), CURRENT)
    handle = type("Handle", (), {})()
    keeps = aggregator(type("Keeps", (Collect,), {"reset": lambda self: setattr(self, "handle", handle)}))
    keeps.step(LAYOUT, (1, "a"), CURRENT)
    keeps.clear()
    with pytest.raises(RuntimeError, match=r"failed in snapshot: TypeError: a snapshot can't hold a .*Handle"):
        keeps.save()
