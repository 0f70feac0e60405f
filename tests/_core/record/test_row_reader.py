"""Typed rows in: every kind of class is read by name, and one that does not fit is refused by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec
import pytest

from siddhi.errors import EventError
from tests.kit.running import collect, running

APP = "define stream S (symbol string, price double);"
ROW = ("IBM", 75.5)


@dataclasses.dataclass
class Plain:
    price: float
    symbol: str


@dataclasses.dataclass(slots=True, frozen=True)
class Slots:
    price: float
    symbol: str


class Derived(Plain):
    @property
    def symbol(self) -> str:  # type: ignore[override]
        return "IBM"

    @symbol.setter
    def symbol(self, value: str) -> None: ...


@dataclasses.dataclass(slots=True)
class Computed:
    price: float
    symbol: str

    def __getattribute__(self, name: str) -> Any:
        return "IBM" if name == "symbol" else object.__getattribute__(self, name)


@dataclasses.dataclass
class Iterable:
    price: float
    symbol: str

    def __iter__(self) -> Iterator[Any]:
        return iter((self.price, self.symbol))


class Struct(msgspec.Struct, frozen=True):
    price: float
    symbol: str


class Named(NamedTuple):
    price: float
    symbol: str


KINDS: list[Callable[[float, str], Any]] = [
    Plain,
    Slots,
    Derived,
    Computed,
    Iterable,
    Struct,
    Named,
    lambda price, symbol: {"price": price, "symbol": symbol},
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_a_class_is_read_by_name(kind: Callable[[float, str], Any]) -> None:
    with running(APP) as runtime:
        rows = collect(runtime, "S")
        for _ in range(2):  # found out, and remembered
            runtime.input_handler("S").send(kind(75.5, "IBM"))
        assert rows == [ROW, ROW]


def test_rows_of_several_classes_take_turns() -> None:
    with running(APP) as runtime:
        rows = collect(runtime, "S")
        for _ in range(3):
            for kind in KINDS:
                runtime.input_handler("S").send(kind(75.5, "IBM"))
            runtime.input_handler("S").send(ROW)
            runtime.input_handler("S").send(list(ROW))
        assert rows == [ROW] * 3 * (len(KINDS) + 2)


def test_more_classes_than_are_remembered_are_read() -> None:
    with running(APP) as runtime:
        rows = collect(runtime, "S")
        for number in range(130):
            kind = dataclasses.make_dataclass(f"Row{number}", ["price", "symbol"])
            runtime.input_handler("S").send(kind(75.5, "IBM"))
        assert rows == [ROW] * 130


@pytest.mark.parametrize(
    "row",
    [
        dataclasses.make_dataclass("More", ["price", "symbol", "more"])(75.5, "IBM", 1),
        dataclasses.make_dataclass("Other", ["price", "symbl"], slots=True)(75.5, "IBM"),
        msgspec.defstruct("Fewer", ["price"])(75.5),
        {"price": 1.0, "symbol": "x", "more": 2},
        {"price": 1.0},
    ],
    ids=["more", "other", "fewer", "dict of more", "dict of fewer"],
)
def test_other_names_are_refused_twice_alike(row: Any) -> None:
    with running(APP) as runtime:
        rows = collect(runtime, "S")
        for _ in range(2):
            with pytest.raises(EventError, match=r"stream 'S': the attributes are symbol, price; the row (lacks|has)"):
                runtime.input_handler("S").send(row)
        assert rows == []


@pytest.mark.parametrize("kind", [Plain, Slots])
def test_a_row_that_lost_a_value_is_refused(kind: Any) -> None:
    row = kind(75.5, "IBM")
    object.__delattr__(row, "symbol")
    with running(APP) as runtime, pytest.raises(EventError, match="no value for one of its fields"):
        runtime.input_handler("S").send(row)


def test_a_value_of_another_type_is_refused_with_its_name() -> None:
    with running(APP) as runtime, pytest.raises(EventError, match=r"attribute 'price' \(double\) can't take 'x'"):
        runtime.input_handler("S").send(Slots("x", "IBM"))  # type: ignore[arg-type]


def test_a_class_is_no_row() -> None:
    with running(APP) as runtime, pytest.raises(EventError, match="a row is a tuple or list of values"):
        runtime.input_handler("S").send(Plain)
