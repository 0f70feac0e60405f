"""Statistics of temporal streams and queries."""

from __future__ import annotations

import time
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.runtime.metrics.temporal import TemporalStatistics
from siddhi.runtime.prometheus import SiddhiCollector
from siddhi.temporal import MAX
from tests.kit.running import running

APP = """@app:name('Meters') @app:statistics
@temporal(model = 'edge', policy = 'adjust') define stream A (id int);
@temporal(model = 'edge') define stream B (id int);
@info(name = 'joined') from A join B on A.id == B.id select A.id as id insert into Joined;
@info(name = 'counted') from Joined#window.snapshot() select count() as n insert into Counted;
"""


def send(runtime: SiddhiAppRuntime) -> None:
    a: Any = runtime.input_handler("A")
    b: Any = runtime.input_handler("B")
    a.insert(1, 9, (1,))
    b.insert(2, 7, (1,))
    b.insert(3, 20, (1,))
    a.cti(10)
    a.insert(4, 8, (1,))
    a.start_edge(5, (2,))
    a.start_edge(12, (3,))
    b.cti(10)


def test_a_stream_has_its_cti_and_what_waits() -> None:
    with running(APP) as runtime:
        before = runtime.statistics.temporal
        assert (before["A"].cti, before["A"].lag, before["Counted"].cti) == (None, None, None)
        runtime.add_temporal_callback("Counted", lambda items: None)
        send(runtime)
        found = dict(runtime.statistics.temporal)
        lag = found["A"].lag
        assert lag is not None
        assert abs(lag - (time.time() * 1000 - 10)) < 60_000
        assert found["A"] == TemporalStatistics(10, lag, 2, 2, 1, 1)
        assert (found["B"].cti, found["B"].waiting, found["B"].open_events) == (10, 1, 1)
        assert (found["Joined"].cti, found["Counted"].cti) == (10, 10)
        metrics = runtime.statistics.metrics("*.Streams.A.*")
        assert metrics["io.siddhi.SiddhiApps.Meters.Siddhi.Streams.A.openEvents"] == 2
        runtime.input_handler("A").cti(MAX)  # type: ignore[union-attr]
        assert (runtime.statistics.temporal["A"].cti, runtime.statistics.temporal["A"].lag) == (MAX, None)


def test_queries_have_rows_ctis_and_times() -> None:
    with running(APP) as runtime:
        send(runtime)
        joined, counted = (runtime.statistics.queries[name] for name in ("joined", "counted"))
        assert (joined.events, joined.chunks) == (2, 2)
        assert (counted.events, counted.chunks) == (3, 1)
        assert 0 < joined.slowest <= joined.seconds
        assert joined.throughput > 0
        assert joined.latency is not None


def test_statistics_can_be_switched_while_lifetimes_are_alive() -> None:
    items: list[Any] = []
    with running(APP) as runtime:
        runtime.add_temporal_callback("Counted", items.extend)
        send(runtime)
        runtime.enable_statistics("OFF")
        runtime.input_handler("A").insert(12, 14, (1,))  # type: ignore[union-attr]
        for stream in "AB":
            runtime.input_handler(stream).cti(15)  # type: ignore[union-attr]
        runtime.enable_statistics("DETAIL")
        assert runtime.statistics.queries["counted"].events == 0
        assert runtime.statistics.memory["Temporal", "lifetimes"] > 100
        for stream in "AB":
            runtime.input_handler(stream).cti(MAX)  # type: ignore[union-attr]
    rows = [(item.start, item.end, item.data[0]) for item in items if item.data]
    assert rows == [(2, 3, 1), (3, 7, 2), (7, 9, 1), (12, 14, 1)]


def test_prometheus_gets_the_statistics_of_temporal_streams() -> None:
    registry = CollectorRegistry()
    with SiddhiManager() as manager, running(APP, manager=manager) as runtime:
        registry.register(SiddhiCollector(manager))
        send(runtime)
        text = generate_latest(registry).decode()
    assert 'siddhi_temporal_cti{app="Meters",stream="A"} 10.0' in text
    assert 'siddhi_temporal_open_events{app="Meters",stream="A"} 2.0' in text
    assert 'siddhi_temporal_dropped_total{app="Meters",stream="A"} 1.0' in text
