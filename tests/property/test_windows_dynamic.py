"""Windows with conditions from events against their oracles, with changing conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from siddhi.extension import WindowMetadata, builtin_registry
from tests.oracles.windows import (
    ATTRIBUTE_TWINS,
    TWINS,
    Batch,
    Condition,
    Expression,
    ExpressionBatch,
    Item,
    Twin,
    at_most,
    current,
    sum_below,
)
from tests.property.test_windows import CLAUSES, told_by_twin
from tests.property.test_windows_by_attribute import History, app_with, told_by_engine

CONDITIONS: dict[str, Condition] = {
    "count() <= 1": at_most(1),
    "count() <= 2": at_most(2),
    "count() <= 4": at_most(4),
    "sum(v) < 110000": sum_below(110_000),
}


@dataclass
class DynamicExpression(Expression):
    """The first part of the value is the condition."""

    text: str = ""

    def take(self, item: Item, now: int) -> Batch:
        out: Batch = []
        if item.value[0] != self.text:
            self.text = item.value[0]
            self.condition = CONDITIONS[self.text]
            held, self.held = self.held, []
            for each in held:
                out += super().take(each, now)[:-1]
        return [*out, *super().take(item, now)[:-1], *current([item])]


@dataclass
class DynamicExpressionBatch(ExpressionBatch):
    """The first part of the value is the condition."""

    text: str = ""

    def take_one(self, item: Item, now: int) -> list[Batch]:
        chunks: list[Batch] = []
        if item.value[0] != self.text:
            self.text = item.value[0]
            self.condition = CONDITIONS[self.text]
            held, self.held, self.counted = self.held, [], []
            for each in held:
                chunks += super().take_one(each, now)
        return chunks + super().take_one(item, now)


DYNAMIC_TWINS: dict[str, Callable[[], Twin]] = {
    "expression(a)": lambda: DynamicExpression(at_most(0)),
    "expressionBatch(a)": lambda: DynamicExpressionBatch(at_most(0)),
    "expressionBatch(a, true)": lambda: DynamicExpressionBatch(at_most(0), lambda item: True),
}


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Chunks of events that bring a condition each, most often that of the event before."""
    clock, text = 50_000, draw(st.sampled_from(sorted(CONDITIONS)))
    history: History = []
    for _ in range(draw(st.integers(0, 25))):
        clock += draw(st.sampled_from([0, 1, 250]))
        chunk = []
        for _ in range(draw(st.sampled_from([1, 1, 1, 3]))):
            if draw(st.integers(0, 3)) == 0:
                text = draw(st.sampled_from(sorted(CONDITIONS)))
            chunk.append(Item(clock, (text, clock)))
        history.append(chunk)
    return history


ONE_BY_ONE: History = [[Item(clock, ("count() <= 1", clock))] for clock in (50_000, 50_001, 50_002, 50_003)]
"""Where the releasing event is included, the window is empty when the third comes, which fails at once."""


@pytest.mark.parametrize("window", DYNAMIC_TWINS)
@example(history=ONE_BY_ONE, clause="insert all events")
@given(history=histories(), clause=st.sampled_from(sorted(CLAUSES)))
def test_a_window_equals_its_oracle(window: str, history: Any, clause: str) -> None:
    assert told_by_engine(app_with(window, clause), history) == told_by_twin(
        DYNAMIC_TWINS[window](), history, CLAUSES[clause]
    )


def test_every_window_has_an_oracle() -> None:
    known = {window.partition("(")[0] for window in (*TWINS, *ATTRIBUTE_TWINS)}
    # Those of namespaces have tests of their own: tests/library/namespaces.
    assert known == {name for name in builtin_registry().names(WindowMetadata) if ":" not in name}
