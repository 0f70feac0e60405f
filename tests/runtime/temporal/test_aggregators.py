"""Aggregators of extensions in temporal windows that fail, and what they cost."""

from __future__ import annotations

from typing import Any

from siddhi import AttributeType, extension
from siddhi.temporal import MAX
from tests.kit.running import running

CALLS: list[str] = []


class Counting:
    """A sum that refuses negative values, and records its calls."""

    def __init__(self) -> None:
        self.total = 0
        CALLS.append("new")

    def add(self, value: int) -> None:
        CALLS.append("add")
        if value < 0:
            raise ValueError("negative")
        self.total += value

    def remove(self, value: int) -> None:
        CALLS.append("remove")
        self.total -= value

    def reset(self) -> None:
        raise AssertionError("no temporal window resets")

    def value(self) -> int:
        CALLS.append("value")
        return self.total


INT = AttributeType.INT
extension.aggregator("temporalCalls:anew", args=(INT,), returns=INT)(Counting)
extension.aggregator("temporalCalls:changed", args=(INT,), returns=INT, any_order=True)(Counting)


def results(aggregator: str, *items: tuple[int, int, int]) -> tuple[list[Any], list[str]]:
    """Return the results of a snapshot window, and the messages of exceptions."""
    CALLS.clear()
    rows: list[Any] = []
    errors: list[str] = []
    app = f"""
    @temporal(model = 'interval') define stream S (v int);
    from S#window.snapshot() select temporalCalls:{aggregator}(v) as total insert into Out;
    """
    with running(app) as runtime:
        runtime.handle_exception_with(lambda error, *_: errors.append(str(error)))
        runtime.add_temporal_callback("Out", lambda shown: rows.extend(item[:4] for item in shown[:-1]))
        handler: Any = runtime.input_handler("S")
        for start, end, value in items:
            handler.insert(start, end, (value,))
        handler.cti(MAX)
    return [(start, end, *row) for _, start, end, row in rows], errors


def test_an_aggregator_starts_anew_for_each_result() -> None:
    assert results("anew", (1, 9, 10), (4, 6, 5)) == ([(1, 4, 10), (4, 6, 15), (6, 9, 10)], [])
    assert CALLS == ["new", "add", "value", "new", "add", "add", "value", "new", "add", "value"]


def test_an_aggregator_for_any_order_sees_each_row_once() -> None:
    assert results("changed", (1, 9, 10), (4, 6, 5)) == ([(1, 4, 10), (4, 6, 15), (6, 9, 10)], [])
    assert CALLS == ["new", "add", "value", "add", "value", "remove", "value", "remove"]


def test_a_failing_aggregator_gives_no_result_while_the_row_is_valid() -> None:
    rows, errors = results("anew", (1, 9, 10), (4, 6, -5))
    assert rows == [(1, 4, 10), (6, 9, 10)]
    assert len(errors) == 1
    assert "negative" in errors[0]


def test_a_row_that_an_aggregator_for_any_order_refuses_is_left_out() -> None:
    rows, errors = results("changed", (1, 9, 10), (4, 6, -5))
    assert rows == [(1, 4, 10), (4, 6, 10), (6, 9, 10)]
    assert len(errors) == 1
    assert "negative" in errors[0]
