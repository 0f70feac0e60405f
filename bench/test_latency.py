"""Latency of one ``send``: the median is the benchmark's figure, p50 and p99 are in its extra info."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import driver
import scenarios
from subjects import Engine, NotSupportedError

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

EVENTS = 100_000
SCENARIOS = [scenario for scenario in scenarios.load().values() if "latency" in scenario.modes]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_latency(benchmark: BenchmarkFixture, scenario: scenarios.Scenario) -> None:
    try:
        driver.check(Engine, scenario, "event", EVENTS)
    except NotSupportedError as refusal:
        pytest.skip(f"not supported yet: {str(refusal).splitlines()[0]}")
    samples = benchmark.pedantic(driver.latencies, args=(Engine, scenario, EVENTS), rounds=1, iterations=1)
    benchmark.group = "latency"
    benchmark.extra_info["clock ns"] = driver.clock_ns()
    benchmark.extra_info["p50 ns"] = samples[EVENTS // 2]
    benchmark.extra_info["p99 ns"] = samples[EVENTS * 99 // 100]
