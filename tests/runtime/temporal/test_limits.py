"""Temporal streams in a sandbox: what they hold is limited."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import LimitExceededError
from siddhi.sandbox import SandboxPolicy
from siddhi.temporal import MAX

STREAMS = """
@temporal(model = 'interval', policy = 'adjust') define stream A (id int);
@temporal(model = 'interval') define stream B (id int);
"""


@contextmanager
def sandbox(query: str, most: int) -> Iterator[SiddhiAppRuntime]:
    with SiddhiManager(policy=SandboxPolicy(max_events=most)) as manager:
        runtime = manager.create_siddhi_app_runtime(f"{STREAMS}{query} insert into Out;")
        runtime.start()
        yield runtime


def failures_of(runtime: SiddhiAppRuntime) -> list[Exception]:
    failures: list[Exception] = []
    runtime.handle_exception_with(lambda error, origin, events: failures.append(error))
    return failures


def test_an_item_beyond_the_limit_has_no_effect() -> None:
    with sandbox("from A select id", 4) as runtime:
        items: list[Any] = []
        runtime.add_temporal_callback("Out", items.extend)
        a: Any = runtime.input_handler("A")
        a.cti(1)
        for number in range(4):
            a.insert(5, 9, (number,))
        with pytest.raises(LimitExceededError, match="max_events"):
            a.insert(0, 9, (4,))
        assert a.adjusted == 0
    assert [item.kind for item in items] == ["cti"]


def test_there_is_room_again_after_a_cti() -> None:
    with sandbox("from A select id", 8) as runtime:
        items: list[Any] = []
        runtime.add_temporal_callback("Out", items.extend)
        a: Any = runtime.input_handler("A")
        for number in range(40):
            a.insert(number, number + 1, (number,))
            a.cti(number + 1)
    assert len([item for item in items if item.kind == "insert"]) == 40


@pytest.mark.parametrize(
    "query",
    [
        "from A join B on A.id == B.id select A.id as id",
        "from A#temporal:antiJoin(B, id == B.id) select id",
        "from A#temporal:shift(5)#temporal:alterDuration(7)#temporal:clip(B, id == B.id) select id",
        "from A#window.hopping(100, 1) select count() as n",
        "from A#window.snapshot() select id order by id limit 1",
    ],
)
def test_results_beyond_the_limit_are_reported(query: str) -> None:
    with sandbox(query, 30) as runtime:
        failures = failures_of(runtime)
        runtime.add_temporal_callback("Out", lambda items: None)
        a, b = runtime.input_handler("A"), runtime.input_handler("B")
        assert a is not None
        for number in range(12):
            a.insert(number, 100, (1,))  # type: ignore[union-attr]
            b.insert(number, 100, (1,))  # type: ignore[union-attr]
        a.cti(150)  # type: ignore[union-attr]
        b.cti(150)  # type: ignore[union-attr]
        assert runtime._assembly.temporal is not None
        assert runtime._assembly.temporal.lifetimes.alive <= 30
        if "snapshot" not in query:
            assert failures
        assert all(isinstance(failure, LimitExceededError) for failure in failures)
        for handler in (a, b):
            handler.cti(MAX)  # type: ignore[union-attr]
