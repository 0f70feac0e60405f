"""Values of each type: usual ones, those at its borders, and those of other types."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["FITTING", "HOSTILE", "FallenError", "fitting", "rows_for", "same"]

FITTING: dict[str, list[Any]] = {
    "string": ["", "a", "b", "IBM", "WSO2", "5", "ä", "\0", "\U0001f600" * 3, "x" * 5000, "NaN", "null"],
    "int": [0, 1, 2, 3, 10, 50, -1, 2**31 - 1, -(2**31)],
    "long": [0, 1, 2, 5, 100, -1, 1_496_289_950_000, 2**63 - 1, -(2**63)],
    "float": [0.0, -0.0, 1.0, 2.5, -3.25, 1e-45, 3.4028234663852886e38, math.inf, -math.inf],
    "double": [0.0, -0.0, 1.0, 55.5, -3.25, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, math.nan],
    "bool": [True, False],
    "object": ["o", 1, (1, 2), {"a": [1]}, None],
}


class FallenError(Exception):
    """Raised by a value."""


class Falling:
    """Raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise FallenError(f"asked for {name}")

    def __len__(self) -> int:
        raise FallenError("asked for its length")

    def __iter__(self) -> Any:
        raise FallenError("asked for its items")

    def __float__(self) -> float:
        raise FallenError("asked for a float")

    def __index__(self) -> int:
        raise FallenError("asked for an int")

    def __eq__(self, other: object) -> bool:
        raise FallenError("compared")

    __hash__ = None  # type: ignore[assignment]


class Text(str):
    """A text that is none in every way."""

    __slots__ = ()


class Whole(int):
    """A number that is none in every way."""


def deep(levels: int) -> Any:
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return found


HOSTILE: list[Any] = [
    None, True, 0, -1, 2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 10**400, -(10**400), 0.5, math.nan, math.inf, 1e300, 3.5e38,
    "", "x", "\ud800", "\udfff" * 9, "1", "9" * 5000, Text("x"), Whole(5), b"x", bytearray(3), 1j, decimal.Decimal("1.5"),
    decimal.Decimal("NaN"), dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), dt.date.min, (), [], {}, set(),
    (1,), [1] * 100, {"a": 1}, object, object(), Falling(), Falling, deep(3), deep(100_000), range(3), ...,
    np.int32(7), np.int64(2**40), np.uint64(2**64 - 1), np.float32(0.1), np.float16("nan"), np.bool_(True), np.str_("x"),
    np.datetime64("NaT"), np.datetime64("2020-01-01"), np.array(5), np.array([1, 2]), np.array([], dtype=object), np.nan, print,
    memoryview(b"abc"), type, NotImplemented,
]  # fmt: skip
"""What people and their mistakes put into a row."""


def fitting(chance: random.Random, kind: str) -> Any:
    """A value of a type, sometimes null; most are small, so that groups and joins find each other."""
    if chance.random() < 0.08:
        return None
    values = FITTING[kind]
    return chance.choice(values[:5] if chance.random() < 0.8 else values)


def rows_for(chance: random.Random, kinds: Sequence[str], count: int) -> list[tuple[Any, ...]]:
    """Rows of these types."""
    return [tuple(fitting(chance, kind) for kind in kinds) for _ in range(count)]


def same(kind: str, sent: Any, got: Any) -> bool:
    """Whether a value of a type came out as it went in."""
    if sent is None or got is None:
        return sent is got
    if kind in ("float", "double"):
        exact = np.float32 if kind == "float" else np.float64
        return type(got) is float and bool(exact(got) == exact(sent) or (math.isnan(got) and math.isnan(exact(sent))))
    if kind == "object":
        return got is sent
    if kind == "string":
        return isinstance(got, str) and got == sent
    return type(got) is (bool if kind == "bool" else int) and bool(got == sent)
