"""Typed rows out: classes are matched by name when they are given, and their objects are those of their constructors."""

from __future__ import annotations

import abc
import dataclasses
import typing
from collections import namedtuple
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, NewType, TypedDict

import msgspec
import pytest

from siddhi import Event
from siddhi._core.record.event import Layout, TypeCode
from siddhi._core.record.row_maker import TypedRowMaker

LAYOUT = Layout(("symbol", "price"), (TypeCode.STRING, TypeCode.DOUBLE))
ROW = ("IBM", 75.5)


@dataclasses.dataclass
class Plain:
    price: float
    symbol: str = "default"


@dataclasses.dataclass(slots=True, frozen=True)
class Slots:
    price: float
    symbol: str


@dataclasses.dataclass(frozen=True)
class Frozen:
    symbol: str
    price: float


@dataclasses.dataclass
class Base:
    symbol: str


@dataclasses.dataclass(slots=True)
class HalfSlots(Base):
    price: float


@dataclasses.dataclass
class Checked:
    price: float
    symbol: str
    twice: float = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        self.twice = 2 * self.price


@dataclasses.dataclass(kw_only=True)
class Written:
    price: float
    symbol: str

    def __init__(self, symbol: str, *, price: float) -> None:
        self.symbol = symbol.lower()
        self.price = price


@dataclasses.dataclass(init=False)
class Inherited(Base):
    price: float

    def __init__(self, price: float, symbol: str) -> None:
        super().__init__(symbol)
        self.price = price


class Undecorated(Plain):
    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value + value if name == "symbol" else value)  # type: ignore[operator]


class Struct(msgspec.Struct):
    price: float
    symbol: str


class Keywords(msgspec.Struct, kw_only=True, gc=False):
    price: float
    symbol: str


class Named(NamedTuple):
    price: float
    symbol: str


class Counted(Named):
    def __new__(cls, price: float, symbol: str) -> Counted:
        return super().__new__(cls, price + 1, symbol)


class Typed(TypedDict):
    price: float
    symbol: str


Bare = namedtuple("Bare", ["symbol", "price"])  # noqa: PYI024 - without annotations


@pytest.mark.parametrize(
    "kind",
    [
        Plain,
        Slots,
        Frozen,
        HalfSlots,
        Checked,
        Written,
        Inherited,
        Undecorated,
        Struct,
        Keywords,
        Named,
        Counted,
        Typed,
        Bare,
        dict,
    ],
)
def test_objects_equal_those_of_the_constructor(kind: Any) -> None:
    (made,) = TypedRowMaker("stream 'S'", LAYOUT, kind).rows_of([Event(1, ROW)])
    expected = kind(price=75.5, symbol="IBM")
    assert made == expected
    assert type(made) is type(expected)
    assert getattr(made, "__dict__", None) == getattr(expected, "__dict__", None)
    if dataclasses.is_dataclass(kind):
        assert [getattr(made, field.name) for field in dataclasses.fields(kind)] == [
            getattr(expected, field.name) for field in dataclasses.fields(kind)
        ]


def test_null_is_none_whatever_the_annotation() -> None:
    for kind in (Plain, Slots, Struct, Named):
        (made,) = TypedRowMaker("stream 'S'", LAYOUT, kind).rows_of([Event(1, (None, None))])
        assert (made.symbol, made.price) == (None, None)


def test_an_error_of_the_constructor_is_raised() -> None:
    with pytest.raises(TypeError, match="unsupported operand"):
        TypedRowMaker("stream 'S'", LAYOUT, Checked).rows_of([Event(1, ("IBM", None))])


class Abstract(abc.ABC):
    @abc.abstractmethod
    def work(self) -> None: ...


@dataclasses.dataclass
class AbstractRow(Abstract):
    symbol: str
    price: float


class Starred(Named):
    def __new__(cls, *values: Any) -> Starred:
        return super().__new__(cls, *values)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (dataclasses.make_dataclass("A", ["symbol"]), "can't give A: it has no field for attribute 'price' (double)"),
        (
            dataclasses.make_dataclass("A", ["symbol", "price", ("cost", float, 0.0)]),
            "there is no attribute for its field 'cost'. The attributes are symbol, price; the fields are symbol, price, cost",
        ),
        (
            msgspec.defstruct("A", ["symbol", "prize"]),
            "attribute 'price' (double); there is no attribute for its field 'prize'",
        ),
        (
            dataclasses.make_dataclass("A", [("symbol", str), ("price", int)]),
            "its field 'price' is int, and attribute 'price' (double) gives float",
        ),
        (TypedDict("A", {"symbol": str, "price": bool}), "its field 'price' is bool"),
        (dataclasses.make_dataclass("A", [("symbol", "Missing"), "price"]), "its annotations can't be read"),
        (AbstractRow, "AbstractRow, which is abstract"),
        (Starred, "its constructor takes 'values'"),
        (int, "int is none of these"),
        (object(), "gives objects of a class"),
        (list[int], "gives objects of a "),
    ],
)
def test_a_class_that_does_not_fit_is_refused_with_both_names(kind: Any, message: str) -> None:
    with pytest.raises(TypeError) as caught:
        TypedRowMaker("stream 'S'", LAYOUT, kind)
    assert str(caught.value).startswith("stream 'S' ")
    assert message in str(caught.value)


Name = NewType("Name", str)
Generic = typing.TypeVar("Generic")

FITTING = {
    "string": [str, str | None, object, Any, Name, Literal["x"], typing.Annotated[str, "label"], Sequence, Generic],
    "long": [int, float, int | str, typing.Optional[int], typing.Final[int]],  # noqa: UP045 - both forms
    "float": [float, object],
    "bool": [bool, int],
    "object": [int, list[int], Plain, None],
}
OTHER = {
    "string": [int, bytes, list[str], Literal[1], int | None],
    "long": [str, bool],
    "double": [int, str, list[float]],
    "bool": [str],
}


@pytest.mark.parametrize(("type_name", "annotation"), [(name, one) for name in FITTING for one in FITTING[name]])
def test_annotations_that_allow_the_values_are_accepted(type_name: str, annotation: Any) -> None:
    kind = dataclasses.make_dataclass("A", [("x", annotation)])
    TypedRowMaker("stream 'S'", Layout(("x",), (TypeCode[type_name.upper()],)), kind)


@pytest.mark.parametrize(("type_name", "annotation"), [(name, one) for name in OTHER for one in OTHER[name]])
def test_annotations_that_do_not_allow_the_values_are_refused(type_name: str, annotation: Any) -> None:
    kind = dataclasses.make_dataclass("A", [("x", annotation)])
    with pytest.raises(TypeError, match="its field 'x' is"):
        TypedRowMaker("stream 'S'", Layout(("x",), (TypeCode[type_name.upper()],)), kind)
