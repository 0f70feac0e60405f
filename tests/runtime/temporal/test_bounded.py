"""Operators forget what can't matter any more: in a long run neither lifetimes nor snapshots grow."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.running import running
from tests.oracles.temporal import Row
from tests.runtime.temporal.test_state import APPS, watch

UNBOUNDED = {
    "infinite lifetimes of some rows": "they are valid for ever",
    "an aggregator of an extension by group": "each group has its last starts",
    "signal": "each key has a last reading",
}
"""Apps whose state may grow, and why."""
ROUND = 40


def play(runtime: Any, first: int, rounds: int) -> None:
    a, b = runtime.input_handler("A"), runtime.input_handler("B")
    for number in range(first, first + rounds * ROUND):
        row: Row = (number // 7, number % 9)
        if number % 3:
            a.insert(number, number + 1 + number % 11, row)
        else:
            a.start_edge(number, row)
            a.end_edge(number, number + 5, row)
        b.insert(number, number + 2 + number % 5, row)
        if number % ROUND == ROUND - 1:
            a.cti(number)
            b.cti(number)


@pytest.mark.parametrize("name", [name for name in APPS if name not in UNBOUNDED])
def test_state_does_not_grow_with_time(name: str) -> None:
    with running(APPS[name]) as runtime:
        watch(runtime).clear()
        play(runtime, 0, 6)
        network = runtime._assembly.temporal
        assert network is not None
        lifetimes = network.lifetimes
        alive, size = lifetimes.alive, len(runtime.snapshot())
        play(runtime, 6 * ROUND, 24)
        assert lifetimes.alive <= 1.5 * alive + 20
        assert len(runtime.snapshot()) <= 1.5 * size + 500
