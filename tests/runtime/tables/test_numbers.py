"""A lookup of numbers in an index finds the rows of a comparison, for all types and sizes."""

from __future__ import annotations

import math
from itertools import product

import pytest

from siddhi import SiddhiManager

LIMITS = {
    "int": [None, -(2**31), -16777217, -3, -1, 0, 1, 2, 16777217, 2**31 - 1],
    "long": [None, -(2**63), -(2**53) - 1, -(2**31) - 1, -1, 0, 1, 2**31, 2**53 + 1, 2**63 - 1],
    "float": [None, -math.inf, -3.4e38, -1.5, -0.0, 0.0, 0.1, 1.0, 16777216.0, math.inf, math.nan],
    "double": [
        None,
        -math.inf,
        -1e300,
        -2147483649.0,
        -1.5,
        -0.0,
        0.0,
        0.1,
        1.0,
        2147483647.5,
        9.3e18,
        math.inf,
        math.nan,
    ],
}


@pytest.mark.parametrize("attribute", LIMITS)
@pytest.mark.parametrize("operand", LIMITS)
def test_an_index_finds_the_rows_of_a_scan(attribute: str, operand: str) -> None:
    operators = ("==", "<", "<=", ">", ">=")
    bounds = [f"T.x {operator} x" for operator in operators]
    bounds += [f"T.x {low} x and T.x {high} y" for low, high in product((">", ">="), ("<", "<="))]
    app = f"""
        define stream I (n int, x {attribute}); define stream Q (x {operand}, y {operand});
        @index('x') define table A (n int, x {attribute}); define table B (n int, x {attribute});
        from I insert into A; from I insert into B;
        """
    for number, bound in enumerate(bounds):
        for table in "AB":
            condition = bound.replace("T.", f"{table}.").replace(" x", " J.x").replace(" y", " J.y")
            app += (
                f"from Q as J join {table} on {condition} select {number} as q, {table}.n as n insert into {table}Out;"
            )
    with SiddhiManager() as manager, manager.create_siddhi_app_runtime(app) as runtime:
        found: dict[str, list[tuple[int, int]]] = {"A": [], "B": []}
        for table, rows in found.items():
            runtime.add_callback(f"{table}Out", lambda events, rows=rows: rows.extend(event.data for event in events))
        for n, x in enumerate(LIMITS[attribute]):
            runtime.input_handler("I").send((n, x))
        for x, y in product(LIMITS[operand], LIMITS[operand][::3]):
            runtime.input_handler("Q").send((x, y))
        assert found["A"] == found["B"]
        assert found["A"]
