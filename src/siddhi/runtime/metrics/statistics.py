"""Statistics of a running app: throughput, latency, memory and buffered events, at three levels.

OFF costs nothing: counters are not updated, and probes are installed around receivers only at the other levels.
"""

from __future__ import annotations

import fnmatch
import logging
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING

from siddhi._core.pattern.automaton import Pattern
from siddhi._core.stream.probes import LatencyProbe, Stopwatch
from siddhi.runtime.metrics.memory import StateSizes
from siddhi.runtime.metrics.state import StateStatistics, state_statistics
from siddhi.runtime.metrics.temporal import (
    CorrectedCounts,
    CorrectionStatistics,
    TemporalMeters,
    TemporalStatistics,
    correction_statistics,
    temporal_statistics,
)

if TYPE_CHECKING:
    from siddhi.query_api.annotation import Annotation
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.connectors.status import ConnectorStatus

__all__ = [
    "ConnectorStatistics",
    "OperationStatistics",
    "QueryStatistics",
    "StateStatistics",
    "Statistics",
    "StatisticsLevel",
    "StatisticsService",
    "StreamStatistics",
    "TableStatistics",
    "TemporalStatistics",
]

logger = logging.getLogger("siddhi.statistics")

_REPORT_SECONDS = 60


class StatisticsLevel(Enum):
    """What is measured. BASIC: throughput, latency, buffered events. DETAIL: memory, too."""

    OFF = "OFF"
    BASIC = "BASIC"
    DETAIL = "DETAIL"

    @classmethod
    def of(cls, level: StatisticsLevel | str) -> StatisticsLevel:
        """Return the level of a name, in any letter case.

        Raises:
            ValueError: there is no such level.
        """
        if isinstance(level, cls):
            return level
        for known in cls:
            if isinstance(level, str) and level.upper() == known.value:
                return known
        raise ValueError(
            f"invalid statistics level {level!r}: expected one of {', '.join(known.value for known in cls)}"
        )


@dataclass(frozen=True, slots=True)
class StreamStatistics:
    """A stream, trigger or named window.

    Attributes:
        kind: "Streams", "Trigger" or "Windows".
        events: events that reached its receivers since measuring began.
        throughput: events per second since then.
        buffered: events in the buffer; None: the stream is not ``@async``.
    """

    kind: str
    events: int
    throughput: float
    buffered: int | None = None


@dataclass(frozen=True, slots=True)
class QueryStatistics:
    """A query, or the key lookup of a partition.

    Attributes:
        events: events emitted since measuring began; 0 for a partition.
        throughput: events emitted per second since then.
        chunks: chunks received since then; of a temporal query CTIs.
        seconds: time taken by them, without downstream queries.
        slowest: time of the slowest one in seconds.
        partial_matches: current partial matches of a pattern or sequence, over all partition keys, including those that wait
            for their first event; None for other queries.
        dropped: partial matches dropped at ``max.partial.matches`` since the app was created; None for other queries.
    """

    events: int
    throughput: float
    chunks: int
    seconds: float
    slowest: float
    partial_matches: int | None = None
    dropped: int | None = None

    @property
    def latency(self) -> float | None:
        """Mean time per chunk in seconds; None before the first one."""
        return self.seconds / self.chunks if self.chunks else None


@dataclass(frozen=True, slots=True)
class OperationStatistics:
    """An operation on a table, named window or aggregation: find, insert, update, delete, updateOrInsert or contains.

    Attributes:
        operations: operations since measuring began: searches, events that insert or change; of windows and aggregations
            chunks.
        throughput: operations per second since then.
        seconds: time taken by them; of windows and aggregations without downstream queries.
        slowest: time of the slowest call in seconds.
    """

    operations: int
    throughput: float
    seconds: float
    slowest: float

    @property
    def latency(self) -> float | None:
        """Mean time per operation in seconds; None before the first one."""
        return self.seconds / self.operations if self.operations else None


@dataclass(frozen=True, slots=True)
class TableStatistics:
    """An in-memory table with a primary key.

    Attributes:
        refused: rows and changes refused because of a duplicate or null key, since the app was created.
    """

    refused: int


@dataclass(frozen=True, slots=True)
class ConnectorStatistics:
    """A source or sink.

    Attributes:
        payloads: payloads received or published since measuring began.
        throughput: payloads per second since then.
        connected: whether it is connected now.
        status: its counters since the app was started, its buffer and its connection.
    """

    payloads: int
    throughput: float
    connected: bool
    status: ConnectorStatus


@dataclass(frozen=True, slots=True)
class Statistics:
    """The statistics measured so far.

    Attributes:
        app: name of the app.
        level: level of measuring; at OFF everything else is empty.
        seconds: time since measuring began.
        streams: by name.
        queries: by name; those of partitions as ``partition/query``.
        connectors: by kind ("Sources" or "Sinks") and name: the stream, with a number from its second connector on.
        memory: bytes of state by kind and name, as in a snapshot; at DETAIL only. State that can't be serialized is left
            out. The size of a state that takes long to measure may be some time old.
        operations: by kind ("Tables", "Windows" or "Aggregations"), name and operation.
        tables: by name; in-memory tables with a primary key.
        state: sizes of the state and effects of limits, by kind, name and counted item: keys of "Partitions", rows of
            in-memory "Tables", and of "Queries" keys (groups), partialMatches and, if limited, values.
        temporal: temporal and corrected streams, by name.
        corrections: of an app that corrects late events; None: it does not.
        changes: how often the app was changed while it ran, since it was created. Counted at every level.
        longest_pause: longest time that events waited for such a change, in seconds.
        timer_errors: errors in the threads that advance the app's clock, since it was created; they are logged. Failures of
            events are counted only if the app's exception handler failed, too. Counted at every level.
    """

    app: str
    level: StatisticsLevel
    seconds: float = 0.0
    streams: Mapping[str, StreamStatistics] = field(default_factory=dict)
    queries: Mapping[str, QueryStatistics] = field(default_factory=dict)
    memory: Mapping[tuple[str, str], int] = field(default_factory=dict)
    connectors: Mapping[tuple[str, str], ConnectorStatistics] = field(default_factory=dict)
    operations: Mapping[tuple[str, str, str], OperationStatistics] = field(default_factory=dict)
    tables: Mapping[str, TableStatistics] = field(default_factory=dict)
    state: Mapping[tuple[str, str, str], StateStatistics] = field(default_factory=dict)
    timer_errors: int = 0
    temporal: Mapping[str, TemporalStatistics] = field(default_factory=dict)
    changes: int = 0
    longest_pause: float = 0.0
    corrections: CorrectionStatistics | None = None

    def _repr_html_(self) -> str:
        prefix = f"io.siddhi.SiddhiApps.{self.app}.Siddhi."
        rows = "".join(
            f"<tr><td>{escape(name.removeprefix(prefix))}</td><td>{value:,.6g}</td></tr>"
            for name, value in self.metrics().items()
        )
        return (
            f"<p>app <b>{escape(self.app)}</b>, level {self.level.name}, {self.seconds:,.1f} s</p>"
            f"<table><thead><tr><th>metric</th><th>value</th></tr></thead><tbody>{rows}</tbody></table>"
        )

    def metrics(self, include: str = "*.*") -> dict[str, float]:
        """Return all metrics by full name: ``io.siddhi.SiddhiApps.<app>.Siddhi.<kind>.<name>[.<operation>].<metric>``.

        Metrics are throughput (events per second), latency (mean, ms), size (buffered events), partialMatches and
        droppedPartialMatches, keys, values and rows (each also with the suffixes Limit, Refused, Dropped and Purged),
        refused (by tables), memory (bytes) and errors (of timers); of temporal streams cti, lag (ms), waiting, openEvents,
        dropped, adjusted and late; of an app that corrects late events, as kind and name ``Corrections.app``, the fields of
        :class:`~siddhi.runtime.metrics.temporal.CorrectionStatistics`; of the app, once it was changed, changes and
        longestPause (ms). Counters of dropped, late, refused and purged items, and of errors, are shown unless they are 0.

        Args:
            include: comma-separated patterns with ``*`` and ``?``; a name that matches one of them is shown.
        """
        prefix = f"io.siddhi.SiddhiApps.{self.app}.Siddhi"
        found: dict[str, float] = {}
        for name, stream in self.streams.items():
            found[f"{prefix}.{stream.kind}.{name}.throughput"] = stream.throughput
            if stream.buffered is not None:
                found[f"{prefix}.{stream.kind}.{name}.size"] = stream.buffered
        for name, query in self.queries.items():
            found[f"{prefix}.Queries.{name}.throughput"] = query.throughput
            if query.latency is not None:
                found[f"{prefix}.Queries.{name}.latency"] = query.latency * 1000
            if query.partial_matches is not None:
                found[f"{prefix}.Queries.{name}.partialMatches"] = query.partial_matches
            if query.dropped:
                found[f"{prefix}.Queries.{name}.droppedPartialMatches"] = query.dropped
        for name, temporal in self.temporal.items():
            for metric, value in (("cti", temporal.cti), ("lag", temporal.lag)):
                if value is not None:
                    found[f"{prefix}.Streams.{name}.{metric}"] = value
            found[f"{prefix}.Streams.{name}.waiting"] = temporal.waiting
            found[f"{prefix}.Streams.{name}.openEvents"] = temporal.open_events
            for metric, count in (
                ("dropped", temporal.dropped),
                ("adjusted", temporal.adjusted),
                ("late", temporal.late),
            ):
                if count:
                    found[f"{prefix}.Streams.{name}.{metric}"] = count
        if self.corrections is not None:
            for metric, count in asdict(self.corrections).items():
                first, *others = metric.split("_")
                found[f"{prefix}.Corrections.app.{first}{''.join(map(str.capitalize, others))}"] = count
        for (kind, name, operation), measured in self.operations.items():
            found[f"{prefix}.{kind}.{name}.{operation}.throughput"] = measured.throughput
            if measured.latency is not None:
                found[f"{prefix}.{kind}.{name}.{operation}.latency"] = measured.latency * 1000
        for name, table in self.tables.items():
            if table.refused:
                found[f"{prefix}.Tables.{name}.refused"] = table.refused
        for (kind, name, what), state in self.state.items():
            if what != "partialMatches":  # shown with their queries above
                found[f"{prefix}.{kind}.{name}.{what}"] = state.held
            if state.limit is not None:
                found[f"{prefix}.{kind}.{name}.{what}Limit"] = state.limit
            for done, count in (("Refused", state.refused), ("Dropped", state.dropped), ("Purged", state.purged)):
                if count and (what, done) != ("partialMatches", "Dropped"):
                    found[f"{prefix}.{kind}.{name}.{what}{done}"] = count
        for (kind, name), connector in self.connectors.items():
            found[f"{prefix}.{kind}.{name}.throughput"] = connector.throughput
            status = connector.status
            for what in ("events", "bytes", "failures", "reconnects", "waiting", "capacity", "lag"):
                shown = getattr(status, what)
                if shown is not None:
                    found[f"{prefix}.{kind}.{name}.{what}"] = shown
        for (kind, name), size in self.memory.items():
            found[f"{prefix}.{kind}.{name}.memory"] = size
        if self.timer_errors:
            found[f"{prefix}.Timers.{self.app}.errors"] = self.timer_errors
        if self.changes:
            found[f"{prefix}.Changes.{self.app}.changes"] = self.changes
            found[f"{prefix}.Changes.{self.app}.longestPause"] = self.longest_pause * 1000
        patterns = [pattern.strip() for pattern in include.split(",")]
        return {
            name: value
            for name, value in found.items()
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
        }


class StatisticsService:
    """Switches measuring on and off, and reads the statistics.

    Args:
        assembly: the app's operators.
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._sizes = StateSizes(assembly)
        self._level = StatisticsLevel.OFF
        self._since = 0.0
        self._before: dict[tuple[str, str], int] = {}
        self._probes: dict[str, list[LatencyProbe]] = {}
        self._insert_probes: list[tuple[tuple[str, str], LatencyProbe]] = []
        self._temporal: TemporalMeters | None = None
        self._reporter: _Reporter | None = None
        self._changes = 0
        self._longest_pause = 0.0

    @property
    def level(self) -> StatisticsLevel:
        """The level of measuring."""
        return self._level

    @property
    def has_probes(self) -> bool:
        """Whether there are probes at the queries, attached or not."""
        return bool(self._probes or self._insert_probes) or self._level is not StatisticsLevel.OFF

    def set_level(self, level: StatisticsLevel) -> None:
        """Measure at a level; a change from OFF resets all counters."""
        with self._assembly.context.lock:
            before, self._level = self._level, level
            if (before is StatisticsLevel.OFF) is (level is StatisticsLevel.OFF):
                return
            on = level is not StatisticsLevel.OFF
            self._since = time.monotonic()
            self._before = {status.key: status.payloads for status in self._assembly.connectors.status()}
            self._count(on=on)
            self._assembly.context.set_measuring(on)
            if on:
                self._make_probes()
                return
            for probe in self._all_probes():
                probe.detach()
            if self._temporal is not None:
                self._temporal.detach()
            if self._assembly.corrections is not None:
                self._assembly.corrections.core.measure(None)

    def _count(self, *, on: bool) -> None:
        """Count events from zero, or no more."""
        for junction in self._assembly.junctions.values():
            junction.events = 0
            junction.counting = on
        for query in self._assembly.built_queries().values():
            query.output.events = 0
            query.output.set_counting(on)

    def _make_probes(self) -> None:
        """Attach the probes; make them at the first time."""
        if not self._probes and not self._insert_probes and self._temporal is None:
            stopwatch = Stopwatch()
            if self._assembly.temporal is not None:
                self._temporal = TemporalMeters(self._assembly.temporal, stopwatch)
            for name, place, receiver in self._assembly.entries:
                self._probes.setdefault(name, []).append(LatencyProbe(receiver, place, stopwatch))
            self._insert_probes = [
                (owner, LatencyProbe(receiver, junction, stopwatch))
                for owner, junction, receiver in self._assembly.insert_entries
            ]
        for probe in self._all_probes():
            probe.attach()
        if self._temporal is not None:
            self._temporal.attach()
        if self._assembly.corrections is not None:
            self._assembly.corrections.core.measure(CorrectedCounts(self._assembly, self._all_probes()))

    def _all_probes(self) -> list[LatencyProbe]:
        return [probe for probes in self._probes.values() for probe in probes] + [
            probe for _, probe in self._insert_probes
        ]

    def move_to(self, assembly: Assembly, queries: Mapping[str, str]) -> None:
        """Measure new operators of the app; what goes on in them keeps its counters. The caller holds the app's lock.

        Args:
            assembly: the new operators.
            queries: new name by former name of each query that there still is.
        """
        former, probes, insert_probes = self._assembly, self._probes, self._insert_probes
        self._assembly = assembly
        self._sizes = StateSizes(assembly)
        self._probes, self._insert_probes, self._temporal = {}, [], None
        if self._level is StatisticsLevel.OFF:
            return
        emitted = {name: query.output.events for name, query in former.built_queries().items()}
        self._count(on=True)
        self._make_probes()
        for id_, junction in former.junctions.items():
            if id_ in assembly.junctions:
                assembly.junctions[id_].events = junction.events
        built = assembly.built_queries()
        for name, events in emitted.items():
            moved = built.get(queries.get(name, ""))
            if moved is not None:
                moved.output.events = events
        for name, found in probes.items():
            for probe, counted in zip(self._probes.get(queries.get(name, name), ()), found, strict=False):
                probe.add(counted)
        inserts = dict(insert_probes)
        for owner, probe in self._insert_probes:
            if owner in inserts:
                probe.add(inserts[owner])

    def note_change(self, seconds: float) -> None:
        """Count a change of the app, for which events waited so long."""
        self._changes += 1
        self._longest_pause = max(self._longest_pause, seconds)

    def read(self) -> Statistics:
        """Return the statistics measured so far."""
        with self._assembly.context.lock:
            assembly = self._assembly
            if self._level is StatisticsLevel.OFF:
                return Statistics(
                    assembly.plan.name,
                    self._level,
                    timer_errors=assembly.context.timer_errors,
                    changes=self._changes,
                    longest_pause=self._longest_pause,
                )
            seconds = max(time.monotonic() - self._since, 1e-9)
            temporal: dict[str, TemporalStatistics] = {}
            corrections = None
            if assembly.temporal is not None:
                temporal = temporal_statistics(assembly.temporal)
            elif assembly.corrections is not None:
                temporal, corrections = correction_statistics(assembly.corrections)
            return Statistics(
                assembly.plan.name,
                self._level,
                seconds,
                MappingProxyType(self._streams(seconds)),
                MappingProxyType(self._queries(seconds)),
                self._sizes.read() if self._level is StatisticsLevel.DETAIL else MappingProxyType({}),
                MappingProxyType(self._connectors(seconds)),
                MappingProxyType(self._operations(seconds)),
                MappingProxyType(self._tables()),
                MappingProxyType(dict(state_statistics(assembly))),
                assembly.context.timer_errors,
                MappingProxyType(temporal),
                self._changes,
                self._longest_pause,
                corrections,
            )

    def start(self) -> None:
        """Apply ``@app:statistics`` when the app starts."""
        annotation = self._assembly.plan.statistics
        if annotation is None or not _is_on(annotation):
            return
        if self._level is StatisticsLevel.OFF:
            self.set_level(StatisticsLevel.BASIC)
        if (annotation.element("reporter") or "console").lower() == "console":
            interval = float(annotation.element("interval") or _REPORT_SECONDS)
            self._reporter = _Reporter(self, interval, annotation.element("include") or "*.*")

    def stop(self) -> None:
        """End reporting; the statistics stay readable."""
        if self._reporter is not None:
            self._reporter.stop()

    def _streams(self, seconds: float) -> dict[str, StreamStatistics]:
        plan, found = self._assembly.plan, {}
        for name, junction in self._assembly.junctions.items():
            kind = "Trigger" if name in plan.triggers else "Windows" if name in plan.windows else "Streams"
            buffered = self._assembly.async_streams.get(name)
            found[name] = StreamStatistics(
                kind, junction.events, junction.events / seconds, None if buffered is None else len(buffered.buffer)
            )
        return found

    def _queries(self, seconds: float) -> dict[str, QueryStatistics]:
        built = self._assembly.built_queries()
        events = {name: query.output.events for name, query in built.items()}
        patterns = {name: query.stateful.get("pattern") for name, query in built.items()}
        found = {}
        for name in [*events, *(name for name in self._probes if name not in events)]:
            probes = self._probes.get(name, [])
            pattern = patterns.get(name)
            found[name] = QueryStatistics(
                events.get(name, 0),
                events.get(name, 0) / seconds,
                sum(probe.chunks for probe in probes),
                sum(probe.nanoseconds for probe in probes) / 1e9,
                max((probe.slowest for probe in probes), default=0) / 1e9,
                pattern.alive if isinstance(pattern, Pattern) else None,
                pattern.dropped if isinstance(pattern, Pattern) else None,
            )
        for name, (rows, ctis, nanoseconds, slowest) in (
            {} if self._temporal is None else self._temporal.read()
        ).items():
            found[name] = QueryStatistics(rows, rows / seconds, ctis, nanoseconds / 1e9, slowest / 1e9)
        return found

    def _connectors(self, seconds: float) -> dict[tuple[str, str], ConnectorStatistics]:
        found = {}
        for status in self._assembly.connectors.status():
            number = status.payloads - self._before.get(status.key, 0)
            found[status.key] = ConnectorStatistics(number, number / seconds, status.connected, status)
        return found

    def _operations(self, seconds: float) -> dict[tuple[str, str, str], OperationStatistics]:
        measured = [
            (key, meter.operations, meter.nanoseconds, meter.slowest)
            for key, meter in self._assembly.context.meters.items()
        ]
        measured += [
            ((*owner, "insert"), probe.chunks, probe.nanoseconds, probe.slowest) for owner, probe in self._insert_probes
        ]
        return {
            key: OperationStatistics(number, number / seconds, nanoseconds / 1e9, slowest / 1e9)
            for key, number, nanoseconds, slowest in sorted(measured)
        }

    def _tables(self) -> dict[str, TableStatistics]:
        return {table.id: TableStatistics(table.refused) for table in self._assembly.tables.keyed()}


def _is_on(annotation: Annotation) -> bool:
    said: Iterable[str] = (*annotation.values(), annotation.element("enable") or "true")
    return all(text.strip().lower() != "false" for text in said)


class _Reporter:
    """Logs the metrics every ``seconds``, as logger ``siddhi.statistics`` at level INFO."""

    def __init__(self, service: StatisticsService, seconds: float, include: str) -> None:
        self._service = service
        self._seconds = min(seconds, threading.TIMEOUT_MAX)
        self._include = include
        self._stopped = threading.Event()
        threading.Thread(target=self._run, name="siddhi-statistics", daemon=True).start()

    def stop(self) -> None:
        """End the thread; a report in progress may still appear."""
        self._stopped.set()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            for name, value in self._service.read().metrics(self._include).items():
                logger.info("%s = %s", name, value)
