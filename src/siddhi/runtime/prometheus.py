"""Statistics for Prometheus, through its client library (extra ``metrics``).

from prometheus_client import REGISTRY, start_http_server
from siddhi.runtime.prometheus import SiddhiCollector

REGISTRY.register(SiddhiCollector(manager))
start_http_server(9100)
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily

from siddhi.runtime.manager import SiddhiManager
from siddhi.runtime.metrics.statistics import StatisticsLevel

__all__ = ["SiddhiCollector"]


class SiddhiCollector:
    """Tells Prometheus what the running apps of a manager measured; apps whose level is OFF are left out.

    Counters start again from zero when measuring is switched on, as those of a process that starts again.

    Args:
        manager: its apps, those it creates later included.
    """

    def __init__(self, manager: SiddhiManager) -> None:
        self._manager = manager

    def collect(self) -> Iterator[Metric]:
        """The metrics; called by the client library at every scrape."""
        streams = CounterMetricFamily("siddhi_stream_events", "Events that reached a stream", labels=["app", "stream"])
        buffered = GaugeMetricFamily(
            "siddhi_stream_buffered_events", "Events that wait in the buffer of a stream", labels=["app", "stream"]
        )
        queries = CounterMetricFamily("siddhi_query_events", "Events that a query put out", labels=["app", "query"])
        latency = SummaryMetricFamily(
            "siddhi_query_seconds", "Time a query took per chunk, without queries behind it", labels=["app", "query"]
        )
        partial = GaugeMetricFamily(
            "siddhi_query_partial_matches", "Partial matches that a pattern or sequence holds", labels=["app", "query"]
        )
        dropped = CounterMetricFamily(
            "siddhi_query_dropped_partial_matches", "Partial matches that had to make room", labels=["app", "query"]
        )
        memory = GaugeMetricFamily(
            "siddhi_state_bytes", "Size of the state, as in a snapshot", labels=["app", "kind", "name"]
        )
        payloads = CounterMetricFamily(
            "siddhi_connector_payloads", "Payloads of a source or sink", labels=["app", "kind", "name"]
        )
        connected = GaugeMetricFamily(
            "siddhi_connector_connected", "1 where a source or sink is connected", labels=["app", "kind", "name"]
        )
        operations = SummaryMetricFamily(
            "siddhi_operation_seconds",
            "Time of operations on a table, named window or aggregation",
            labels=["app", "kind", "name", "operation"],
        )
        refused = CounterMetricFamily(
            "siddhi_table_refused",
            "Rows and changes that a table in memory refused for their primary key",
            labels=["app", "table"],
        )
        held = GaugeMetricFamily(
            "siddhi_state_held",
            "Keys, values, rows or partial matches that are held",
            labels=["app", "kind", "name", "what"],
        )
        limit = GaugeMetricFamily(
            "siddhi_state_limit", "How many of them may be held", labels=["app", "kind", "name", "what"]
        )
        ended = CounterMetricFamily(
            "siddhi_state_limited",
            "Events refused, and keys and rows dropped or purged, by limits",
            labels=["app", "kind", "name", "what", "done"],
        )
        timers = CounterMetricFamily(
            "siddhi_timer_errors", "Errors that the threads that move an app's time have survived", labels=["app"]
        )
        for runtime in self._manager.runtimes:
            read = runtime.statistics
            if read.level is StatisticsLevel.OFF:
                continue
            timers.add_metric([read.app], read.timer_errors)
            for name, stream in read.streams.items():
                streams.add_metric([read.app, name], stream.events)
                if stream.buffered is not None:
                    buffered.add_metric([read.app, name], stream.buffered)
            for name, query in read.queries.items():
                queries.add_metric([read.app, name], query.events)
                latency.add_metric([read.app, name], count_value=query.chunks, sum_value=query.seconds)
                if query.partial_matches is not None and query.dropped is not None:
                    partial.add_metric([read.app, name], query.partial_matches)
                    dropped.add_metric([read.app, name], query.dropped)
            for (kind, name), connector in read.connectors.items():
                payloads.add_metric([read.app, kind, name], connector.payloads)
                connected.add_metric([read.app, kind, name], int(connector.connected))
            for (kind, name, operation), measured in read.operations.items():
                operations.add_metric(
                    [read.app, kind, name, operation], count_value=measured.operations, sum_value=measured.seconds
                )
            for name, table in read.tables.items():
                refused.add_metric([read.app, name], table.refused)
            for (kind, name, what), state in read.state.items():
                held.add_metric([read.app, kind, name, what], state.held)
                if state.limit is not None:
                    limit.add_metric([read.app, kind, name, what], state.limit)
                for done, count in (("refused", state.refused), ("dropped", state.dropped), ("purged", state.purged)):
                    if count:
                        ended.add_metric([read.app, kind, name, what, done], count)
            for (kind, name), size in read.memory.items():
                memory.add_metric([read.app, kind, name], size)
        yield from (
            streams,
            buffered,
            queries,
            latency,
            partial,
            dropped,
            memory,
            payloads,
            connected,
            operations,
            refused,
            held,
            limit,
            ended,
            timers,
        )
