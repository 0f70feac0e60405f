"""Events per second of every scenario, sent one by one and in tables, measured with pytest-benchmark.

The results are checked before the measurement, and the number of outputs after every round. A scenario that the engine
rejects is skipped with the engine's message. ``bench/run.py`` measures the same figures, and those of the loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import driver
import scenarios
from subjects import Engine, Loop, NotSupportedError, has_loop

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

ROUNDS = 3
SCENARIOS = [
    pytest.param(scenario, mode, id=f"{scenario.name}-{mode}")
    for scenario in scenarios.load().values()
    for mode in ("event", "batch")
    if mode in scenario.modes
]


@pytest.mark.parametrize(("scenario", "mode"), SCENARIOS)
def test_throughput(benchmark: BenchmarkFixture, scenario: scenarios.Scenario, mode: str) -> None:
    n = scenario.events
    try:
        expected = driver.check(Engine, scenario, mode, n).outputs
    except NotSupportedError as refusal:
        pytest.skip(f"not supported yet: {str(refusal).splitlines()[0]}")
    subjects = []

    def setup() -> tuple[tuple[object, ...], dict[str, object]]:
        subject, total = driver.prepare(Engine, scenario, mode)
        subjects.append((subject, total))
        return (subject, n), {}

    try:
        benchmark.group = mode
        benchmark.pedantic(driver.FEEDS[mode], setup=setup, rounds=ROUNDS, iterations=1)
    finally:
        for subject, _ in subjects:
            subject.close()
    if scenario.subscriber:
        assert [total() for _, total in subjects] == [expected] * len(subjects)
    if benchmark.stats is not None:  # None under --benchmark-disable
        benchmark.extra_info["M events/s"] = round(n / benchmark.stats.stats.min / 1e6, 2)
    if not has_loop(scenario):
        return
    limit = min(driver.timed(Loop, scenario, mode, n, expected) for _ in range(ROUNDS))
    benchmark.extra_info["limit M events/s"] = round(n / limit / 1e6, 2)
    if benchmark.stats is not None:
        benchmark.extra_info["times slower than the limit"] = round(benchmark.stats.stats.min / limit, 2)
