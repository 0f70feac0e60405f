"""Edges of ``math``, and its agreement with numpy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from siddhi.errors import SiddhiAppCreationError
from tests.kit.functions import executors, value
from tests.kit.running import collect, running

NAN, INFINITY = math.nan, math.inf


def evaluated(calls: list[str], definition: str, row: tuple[Any, ...]) -> list[Any]:
    built, layout = executors(definition, calls)
    return [value(each, layout, row) for each in built]


def test_functions_of_numpy_agree() -> None:
    numbers = np.random.default_rng(7).normal(0, 3, 400)
    pairs = {
        "abs": np.abs, "atan": np.arctan, "cbrt": np.cbrt, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh,
        "exp": np.exp, "floor": np.floor, "sin": np.sin, "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh,
        "toDegrees": np.degrees, "toRadians": np.radians, "sqrt": np.sqrt, "ln": np.log, "log10": np.log10,
        "log2": np.log2,
    }  # fmt: skip
    columns = ", ".join(f"math:{name}(a) as {name}_" for name in pairs)
    with running(f"define stream S (a double); from S select {columns} insert into O;") as runtime:
        rows = collect(runtime, "O")
        runtime.input_handler("S").send_batch({"a": numbers})
    found = np.array(rows, dtype=float)
    with np.errstate(invalid="ignore"):
        for column, function in enumerate(pairs.values()):
            np.testing.assert_allclose(found[:, column], function(numbers), rtol=1e-14)


def test_edges_have_the_results_of_java() -> None:
    calls = {
        "math:power(1.0, nan)": NAN, "math:power(-1.0, infinite)": NAN, "math:power(nan, 0.0)": 1.0,
        "math:max(nan, 1.0)": NAN, "math:max(-0.0, 0.0)": 0.0, "math:min(1.0, nan)": NAN,
        "math:round(0.49999999999999994)": 0, "math:round(nan)": 0, "math:round(infinite)": 2**63 - 1,
        "math:round(-0.5)": 0, "math:round(2.5f)": 3, "math:signum(nan)": 0,
        "math:getExponent(infinite)": 1024, "math:getExponent(0.0)": -1023, "math:getExponent(8)": 3,
        "math:acos(nan)": NAN, "math:hex(nan)": "NaN", "math:hex(infinite)": "Infinity",
        "math:hex(-0.0)": "-0x0.0p0", "math:hex(-1L)": "f" * 16, "math:abs(least)": 2.0**31,
        "math:isNan(nan)": True, "math:isInfinite(nan)": False,
    }  # fmt: skip
    definition = "define stream S (nan double, infinite double, least int);"
    for call, found in zip(calls, evaluated(list(calls), definition, (NAN, INFINITY, -(2**31))), strict=True):
        expected = calls[call]
        assert type(found) is type(expected), call
        assert found == expected or (found != found and expected != expected), call


def test_texts_that_are_no_numbers_are_errors() -> None:
    calls = [
        "math:parseInt(t)", "math:parseLong(t)", "math:parseFloat(t)", "math:parseDouble(t)", "math:conv(t, 10, 2)",
        "math:conv('9223372036854775808', 10, 16)", "math:conv('', 10, 16)", "math:conv('1', b, 10)", "math:log(2, b)",
    ]  # fmt: skip
    assert evaluated(calls, "define stream S (t string, b int);", ("12x", 1)) == [ValueError] * len(calls)
    assert evaluated(["math:conv('-9223372036854775808', 10, 16)"], "define stream S (b int);", (1,)) == [
        "-8000000000000000"
    ]


@pytest.mark.parametrize(("call", "message"), [("math:conv('1', 1, 10)", "base 1"), ("math:log(a, 1)", "base 1")])
def test_invalid_constants_are_refused(call: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        executors("define stream S (a double);", [call])


def test_seeded_random_numbers_are_those_of_java() -> None:
    built, layout = executors("define stream S (a int);", ["math:rand(42)", "math:rand()", "math:rand(a)"])
    assert [value(built[0], layout, (1,)) for _ in range(2)] == [0.7275636800328681, 0.6832234717598454]
    free = [value(built[1], layout, (1,)) for _ in range(20)]
    assert len(set(free)) == 20
    assert all(0 <= each < 1 for each in free)
    assert value(built[2], layout, (42,)) == 0.7275636800328681


def test_nan_and_infinity_select_in_batches() -> None:
    app = "define stream S (a double); from S[math:isNan(a) or math:isInfinite(a)] select a insert into O;"
    with running(app) as runtime:
        rows = collect(runtime, "O")
        runtime.input_handler("S").send_batch({"a": [1.0, NAN, 2.0, -INFINITY, None]})
    assert [str(row[0]) for row in rows] == ["nan", "-inf"]


def test_functions_of_constants_are_folded() -> None:
    built, _ = executors("define stream S (a double);", ["math:sqrt(2.0)", "math:sqrt(a)", "math:parseInt('x')"])
    assert [each.description for each in built] == [
        "double const",
        "math:sqrt(double var)",
        "math:parseInt(string const)",
    ]
