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

_OF_CONNECTORS: tuple[tuple[str, type[CounterMetricFamily | GaugeMetricFamily], str], ...] = (
    ("events", CounterMetricFamily, "Events that a source sent into its app, or that a sink was given"),
    ("bytes", CounterMetricFamily, "Size of the payloads that are texts or bytes"),
    ("failures", CounterMetricFamily, "Payloads that could not be mapped, or not be published"),
    ("reconnects", CounterMetricFamily, "How often a connection was made again"),
    ("waiting", GaugeMetricFamily, "Payloads in the buffer of a source or sink"),
    ("capacity", GaugeMetricFamily, "Largest number of payloads in the buffer"),
    ("lag", GaugeMetricFamily, "Messages that the server has for a source and that it has not received"),
)
"""Fields of :class:`~siddhi.runtime.connectors.status.ConnectorStatus` with their metric; counted since the app was started."""


_OF_TEMPORAL_STREAMS: tuple[tuple[str, type[CounterMetricFamily | GaugeMetricFamily], str], ...] = (
    ("cti", GaugeMetricFamily, "Current CTI of a temporal stream, or horizon of a corrected one, ms since 1970"),
    ("lag", GaugeMetricFamily, "Time of the system clock minus the CTI of a temporal stream, ms"),
    ("waiting", GaugeMetricFamily, "Starts and ends that wait for the CTI of a temporal stream"),
    ("open_events", GaugeMetricFamily, "Events of an edge stream whose end may still change"),
    ("dropped", CounterMetricFamily, "Items that the policy of a temporal stream dropped"),
    ("adjusted", CounterMetricFamily, "Late items of a temporal stream whose start was moved"),
    ("late", CounterMetricFamily, "Late events of a corrected stream that were put in their place"),
)
"""Fields of :class:`~siddhi.runtime.metrics.temporal.TemporalStatistics` with their metric."""

_OF_CORRECTIONS: tuple[tuple[str, type[CounterMetricFamily | GaugeMetricFamily], str], ...] = (
    ("replays", CounterMetricFamily, "Replays behind late events"),
    ("replayed", CounterMetricFamily, "Events that replays have processed again"),
    ("retracted", CounterMetricFamily, "Rows that corrections have taken back"),
    ("inserted", CounterMetricFamily, "Rows that corrections have emitted instead"),
    ("events", GaugeMetricFamily, "Events kept for replays"),
    ("rows", GaugeMetricFamily, "Output rows kept to be compared with those of replays"),
    ("checkpoints", GaugeMetricFamily, "Checkpoints kept for replays"),
    ("checkpoint_bytes", GaugeMetricFamily, "Size of the checkpoints kept for replays"),
)
"""Fields of :class:`~siddhi.runtime.metrics.temporal.CorrectionStatistics` with their metric."""


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
        more = [
            (what, family(f"siddhi_connector_{what}", text, labels=["app", "kind", "name"]))
            for what, family, text in _OF_CONNECTORS
        ]
        temporal = [
            (what, family(f"siddhi_temporal_{what}", text, labels=["app", "stream"]))
            for what, family, text in _OF_TEMPORAL_STREAMS
        ]
        corrections = [
            (what, family(f"siddhi_corrections_{what}", text, labels=["app"])) for what, family, text in _OF_CORRECTIONS
        ]
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
        sizes = GaugeMetricFamily(
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
                for what, metric in more:
                    if (value := getattr(connector.status, what)) is not None:
                        metric.add_metric([read.app, kind, name], value)
            for (kind, name, operation), measured in read.operations.items():
                operations.add_metric(
                    [read.app, kind, name, operation], count_value=measured.operations, sum_value=measured.seconds
                )
            for name, lifetimes in read.temporal.items():
                for what, metric in temporal:
                    if (value := getattr(lifetimes, what)) is not None:
                        metric.add_metric([read.app, name], value)
            if read.corrections is not None:
                for what, metric in corrections:
                    metric.add_metric([read.app], getattr(read.corrections, what))
            for name, table in read.tables.items():
                refused.add_metric([read.app, name], table.refused)
            for (kind, name, what), state in read.state.items():
                sizes.add_metric([read.app, kind, name, what], state.held)
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
            *(metric for _, metric in more),
            *(metric for _, metric in temporal),
            *(metric for _, metric in corrections),
            operations,
            refused,
            sizes,
            limit,
            ended,
            timers,
        )
