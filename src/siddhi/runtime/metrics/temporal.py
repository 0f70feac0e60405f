"""Statistics of temporal and corrected streams, and of temporal queries."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from siddhi.temporal import MAX, MIN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from siddhi._core.query.output import QueryOutput
    from siddhi._core.stream.junction import StreamJunction
    from siddhi._core.stream.probes import LatencyProbe, Stopwatch
    from siddhi._core.temporal.probe import EntryProbe, ExitProbe
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.assembly.corrections import CorrectedStreams
    from siddhi.runtime.assembly.temporal import TemporalNetwork

__all__ = [
    "CorrectedCounts",
    "CorrectionStatistics",
    "TemporalMeters",
    "TemporalStatistics",
    "correction_statistics",
    "temporal_statistics",
]


@dataclass(frozen=True, slots=True)
class TemporalStatistics:
    """A temporal or corrected stream.

    Attributes:
        cti: the current CTI; None before the first. Of a corrected stream the time before which events are dropped: its CTI,
            or the highest time less the bound, if that is later.
        lag: time of the system clock minus the CTI, in ms; None before the first CTI, and at ``siddhi.temporal.MAX``.
        waiting: starts and ends that wait for the CTI. Of a stream that queries fill: items not shown yet.
        open_events: events of an edge stream whose end may still change.
        dropped: late items, and ends without a start, that the policy dropped.
        adjusted: late items whose start was moved to the CTI.
        late: events of a corrected stream that were put in their place.
    """

    cti: int | None
    lag: int | None
    waiting: int
    open_events: int
    dropped: int
    adjusted: int
    late: int = 0


@dataclass(frozen=True, slots=True)
class CorrectionStatistics:
    """Corrections of an app since it was created, and what it keeps for them now.

    Attributes:
        replays: replays behind late events, each of one or more.
        replayed: events that were processed again. Streams, queries and operations do not count them.
        retracted: rows that were taken back, of all streams and queries with a callback.
        inserted: rows that were emitted instead.
        events: events kept, to be processed again.
        rows: output rows kept, to be compared.
        checkpoints: checkpoints kept.
        checkpoint_bytes: their size.
    """

    replays: int
    replayed: int
    retracted: int
    inserted: int
    events: int
    rows: int
    checkpoints: int
    checkpoint_bytes: int


def temporal_statistics(network: TemporalNetwork) -> dict[str, TemporalStatistics]:
    """Return the statistics of the temporal streams; the caller holds the app's lock."""
    now = int(time.time() * 1000)
    found = {}
    for name, stream in network.streams.items():
        ingress, output = network.ingresses.get(name), network.outputs.get(name)
        cti = stream.output_frontier if ingress is None else ingress.cti
        lag = None if cti in (MIN, MAX) else now - cti
        if ingress is None:
            waiting = 0 if output is None else output.waiting
            found[name] = TemporalStatistics(None if cti == MIN else cti, lag, waiting, 0, 0, 0)
        else:
            found[name] = TemporalStatistics(
                None if cti == MIN else cti,
                lag,
                ingress.waiting,
                ingress.open_events,
                ingress.dropped,
                ingress.adjusted,
            )
    return found


def correction_statistics(corrections: CorrectedStreams) -> tuple[dict[str, TemporalStatistics], CorrectionStatistics]:
    """Return the statistics of corrected streams, and of their app; the caller holds the app's lock."""
    now, core = int(time.time() * 1000), corrections.core
    found = {}
    for name, (horizon, late, dropped) in corrections.figures():
        cti = None if horizon == MIN else horizon
        lag = None if horizon in (MIN, MAX) else now - horizon
        found[name] = TemporalStatistics(cti, lag, 0, 0, dropped, 0, late)
    return found, CorrectionStatistics(
        core.replays,
        core.replayed,
        core.retracted,
        core.inserted,
        core.logged,
        core.kept_rows,
        core.kept_checkpoints,
        core.checkpoint_bytes,
    )


class CorrectedCounts:
    """What the statistics of an app count, as one list: a replay goes on with the counts of its checkpoint.

    Args:
        assembly: the app's operators.
        probes: of its queries and inserts.
    """

    def __init__(self, assembly: Assembly, probes: Iterable[LatencyProbe]) -> None:
        self._counting: list[StreamJunction | QueryOutput] = [
            *assembly.junctions.values(),
            *(query.output for query in assembly.built_queries().values()),
        ]
        self._probes = list(probes)
        self._meters = list(assembly.context.meters.values())

    def read(self) -> list[int]:
        """Return the counts."""
        found = [one.events for one in self._counting]
        for probe in self._probes:
            found += probe.chunks, probe.nanoseconds
        for meter in self._meters:
            found += meter.operations, meter.nanoseconds
        return found

    def write(self, counts: list[int]) -> None:
        """Go on counting from counts that were read before."""
        left = iter(counts)
        for one in self._counting:
            one.events = next(left)
        for probe in self._probes:
            probe.count(next(left), next(left))
        for meter in self._meters:
            meter.count(next(left), next(left))


class TemporalMeters:
    """The probes of the temporal queries of an app.

    Args:
        network: its temporal operators.
        stopwatch: of the app.
    """

    def __init__(self, network: TemporalNetwork, stopwatch: Stopwatch) -> None:
        from siddhi._core.temporal.probe import EntryProbe, ExitProbe  # with the temporal operators only

        self._network = network
        context, lifetimes = network.context, network.lifetimes
        places = {query: network.crossings(query) for query in network.queries}
        self._entries: dict[str, list[EntryProbe]] = {
            query: [EntryProbe(context, lifetimes, stopwatch) for _ in entries]
            for query, (entries, _) in places.items()
        }
        self._exits: dict[str, list[ExitProbe]] = {
            query: [ExitProbe(context, lifetimes, stopwatch) for _ in exits] for query, (_, exits) in places.items()
        }

    def attach(self) -> None:
        """Begin to measure, with counters at zero; the caller holds the app's lock."""
        for query in self._entries:
            entries, exits = self._network.crossings(query)
            for probe, place in zip(self._entries[query], entries, strict=True):
                probe.reset()
                probe.attach(*place)
            for exit_probe, place in zip(self._exits[query], exits, strict=True):
                exit_probe.reset()
                exit_probe.attach(*place)

    def detach(self) -> None:
        """Measure no more; the caller holds the app's lock."""
        for query, entries in self._entries.items():
            for probe in (*entries, *self._exits[query]):
                probe.detach(self._network.before(probe))

    def read(self) -> dict[str, tuple[int, int, int, int]]:
        """Return by query: rows emitted, CTIs received, time taken and time of the slowest CTI (ns)."""
        return {
            query: (
                sum(probe.events for probe in self._exits[query]),
                sum(probe.chunks for probe in entries),
                sum(probe.nanoseconds for probe in entries),
                max((probe.slowest for probe in entries), default=0),
            )
            for query, entries in self._entries.items()
        }
