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
    """Exports the statistics of the running apps of a manager to Prometheus; apps at level OFF are left out.

    Counters restart from zero when statistics are enabled, as those of a process that restarts.

    Args:
        manager: the manager whose apps are exported, including apps created later.
    """

    def __init__(self, manager: SiddhiManager) -> None:
        self._manager = manager

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; called by the client library at every scrape."""
        streams = CounterMetricFamily("siddhi_stream_events", "Events that reached a stream", labels=["app", "stream"])
        buffered = GaugeMetricFamily(
            "siddhi_stream_buffered_events", "Events in the buffer of an @async stream", labels=["app", "stream"]
        )
        queries = CounterMetricFamily("siddhi_query_events", "Events emitted by a query", labels=["app", "query"])
        latency = SummaryMetricFamily(
            "siddhi_query_seconds", "Time of a query per chunk, without downstream queries", labels=["app", "query"]
        )
        partial = GaugeMetricFamily(
            "siddhi_query_partial_matches", "Partial matches of a pattern or sequence", labels=["app", "query"]
        )
        dropped = CounterMetricFamily(
            "siddhi_query_dropped_partial_matches",
            "Partial matches dropped at max.partial.matches",
            labels=["app", "query"],
        )
        memory = GaugeMetricFamily(
            "siddhi_state_bytes", "Size of the state as in a snapshot", labels=["app", "kind", "name"]
        )
        payloads = CounterMetricFamily(
            "siddhi_connector_payloads", "Payloads of a source or sink", labels=["app", "kind", "name"]
        )
        connected = GaugeMetricFamily(
            "siddhi_connector_connected", "1 if a source or sink is connected", labels=["app", "kind", "name"]
        )
        operations = SummaryMetricFamily(
            "siddhi_operation_seconds",
            "Time of operations on a table, named window or aggregation",
            labels=["app", "kind", "name", "operation"],
        )
        refused = CounterMetricFamily(
            "siddhi_table_refused",
            "Rows and changes that an in-memory table refused because of their primary key",
            labels=["app", "table"],
        )
        held = GaugeMetricFamily(
            "siddhi_state_held",
            "Number of keys, values, rows or partial matches in the state",
            labels=["app", "kind", "name", "what"],
        )
        limit = GaugeMetricFamily(
            "siddhi_state_limit",
            "Maximum number of keys, values, rows or partial matches",
            labels=["app", "kind", "name", "what"],
        )
        ended = CounterMetricFamily(
            "siddhi_state_limited",
            "Events refused, and keys and rows dropped or purged, because of limits",
            labels=["app", "kind", "name", "what", "done"],
        )
        timers = CounterMetricFamily(
            "siddhi_timer_errors", "Errors in the threads that advance an app's clock", labels=["app"]
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
