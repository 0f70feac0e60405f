"""Statistics of keys, values and rows, and of refused and dropped ones."""

from __future__ import annotations

import logging

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.runtime.metrics.statistics import StateStatistics

APP = """@app:name('held') @app:playback @OnError(action = 'stream') define stream S (k string, v int);
@limit(rows = '2', on.full = 'drop_oldest') define table T (k string);
define table U (k string);
@info(name = 'free') from S select k, count() as n group by k insert into Out;
@info(name = 'bound') @limit(keys = '2', ttl = '10 milliseconds', on.full = 'log')
from S select k, count() as n group by k insert into Out;
@info(name = 'values') @limit(values = '1', on.full = 'log') from S select distinctCount(v) as n insert into Counts;
@info(name = 'window') from S#window.length(2) select k, sum(v) as n group by k insert into Sums;
from S select k insert into T;
from S select k insert into U;
@info(name = 'P') @limit(keys = '2', on.full = 'drop_oldest')
partition with (k of S) begin @info(name = 'in') from S select v, count() as n group by v insert into In; end;
@info(name = 'pattern', max.partial.matches = '3') from every a=S -> b=S[v < 0] select a.k as k insert into Found;
"""


@pytest.fixture
def manager() -> SiddhiManager:
    return SiddhiManager()


@pytest.fixture
def runtime(manager: SiddhiManager) -> SiddhiAppRuntime:
    runtime = manager.create_siddhi_app_runtime(APP)
    runtime.start()
    runtime.enable_statistics("basic")
    for time, key in enumerate("abcda", 1):
        runtime.input_handler("S").send((key, time % 2), timestamp=time)
    return runtime


EXPECTED = {
    ("Partitions", "P", "keys"): StateStatistics(2, 2, dropped=3),
    ("Tables", "T", "rows"): StateStatistics(2, 2, dropped=3),
    ("Tables", "U", "rows"): StateStatistics(5),
    ("Queries", "free", "keys"): StateStatistics(4),
    ("Queries", "bound", "keys"): StateStatistics(2, 2, refused=2),
    ("Queries", "values", "values"): StateStatistics(1, 1, refused=2),
    ("Queries", "window", "keys"): StateStatistics(2),
    ("Queries", "pattern", "partialMatches"): StateStatistics(3, 3, refused=2),
    ("Queries", "P/in", "keys"): StateStatistics(2),
}


def test_state_is_counted_by_element(runtime: SiddhiAppRuntime) -> None:
    assert dict(runtime.statistics.state) == EXPECTED


def test_keys_idle_for_longer_than_their_ttl_are_not_counted(runtime: SiddhiAppRuntime) -> None:
    runtime.input_handler("S").send(("x", 0), timestamp=100)
    assert runtime.statistics.state["Queries", "bound", "keys"] == StateStatistics(1, 2, refused=2, purged=2)


def test_purged_keys_of_a_partition_are_counted(manager: SiddhiManager) -> None:
    app = """@app:playback define stream S (k string);
    @info(name = 'P') @purge(enable = 'true', interval = '1 sec', idle.period = '2 sec')
    partition with (k of S) begin from S select k, count() as n insert into Out; end;"""
    runtime = manager.create_siddhi_app_runtime(app)
    runtime.start()
    runtime.enable_statistics("basic")
    for time, key in ((1_000, "a"), (2_000, "b"), (9_000, "c")):
        runtime.input_handler("S").send((key,), timestamp=time)
    assert runtime.statistics.state["Partitions", "P", "keys"] == StateStatistics(1, purged=2)


def test_metrics_include_state_and_limits(runtime: SiddhiAppRuntime) -> None:
    prefix = "io.siddhi.SiddhiApps.held.Siddhi"
    assert runtime.statistics.metrics("*.bound.keys*, *.T.rows*, *.free.keys*, *.pattern.partial*") == {
        f"{prefix}.Queries.bound.keys": 2,
        f"{prefix}.Queries.bound.keysLimit": 2,
        f"{prefix}.Queries.bound.keysRefused": 2,
        f"{prefix}.Tables.T.rows": 2,
        f"{prefix}.Tables.T.rowsLimit": 2,
        f"{prefix}.Tables.T.rowsDropped": 3,
        f"{prefix}.Queries.free.keys": 4,
        f"{prefix}.Queries.pattern.partialMatches": 3,
        f"{prefix}.Queries.pattern.partialMatchesLimit": 3,
        f"{prefix}.Queries.pattern.partialMatchesRefused": 2,
    }


def test_metrics_are_exported_to_prometheus(manager: SiddhiManager, runtime: SiddhiAppRuntime) -> None:
    prometheus_client = pytest.importorskip("prometheus_client")
    from siddhi.runtime.prometheus import SiddhiCollector

    registry = prometheus_client.CollectorRegistry()
    registry.register(SiddhiCollector(manager))
    for (kind, name, what), state in EXPECTED.items():
        labels = {"app": "held", "kind": kind, "name": name, "what": what}
        assert registry.get_sample_value("siddhi_state_held", labels) == state.held
        assert registry.get_sample_value("siddhi_state_limit", labels) == state.limit
        for done, count in (("refused", state.refused), ("dropped", state.dropped)):
            assert registry.get_sample_value("siddhi_state_limited_total", {**labels, "done": done}) == (count or None)


@pytest.mark.parametrize("overflow", ["fail", "drop.oldest"])
def test_one_warning_at_four_fifths_of_the_partial_matches(
    manager: SiddhiManager, overflow: str, caplog: pytest.LogCaptureFixture
) -> None:
    app = f"""@app:name('A') define stream S (k int); @info(name = 'q', max.partial.matches = '5',
    partial.matches.overflow = '{overflow}') from every a=S -> b=S[k < 0] select a.k as k insert into Out;"""
    with caplog.at_level(logging.WARNING, "siddhi"), manager.create_siddhi_app_runtime(app) as runtime:
        for number in range(3):
            runtime.input_handler("S").send((number,))
        assert caplog.messages == []
        for number in range(2):
            runtime.input_handler("S").send((number,))
    said = "@info(max.partial.matches = '5')"
    assert caplog.messages == [f"app 'A', query 'q': holds 4 partial matches; {said} allows 5"]
