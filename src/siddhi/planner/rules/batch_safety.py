"""Choose whether a batch runs query by query or row by row.

Query by query means that each query processes the whole batch before the next one starts. The results are those of rows
sent one by one if no two queries that the batch reaches share anything but the stream they read: no table or window
that one writes and another uses, no stream that two of them fill, no query with two affected inputs. In playback, rows
advance the clock: then no affected query may read it unless it is the only one, and queries that timers run in between
must not share anything with the affected ones. A partition counts as one query: it processes rows in order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from siddhi._frozen import replace
from siddhi.planner.plan.graph import Unit, aggregation_unit, unit_of
from siddhi.planner.plan.nodes import BatchPlan, Plan

__all__ = ["batch_plans", "check_batches", "units_of"]


def check_batches(plan: Plan) -> Plan:
    """Set :attr:`Plan.batches`: one :class:`BatchPlan` per stream that rows can be sent to."""
    return replace(plan, batches=batch_plans(plan, units_of(plan)))


def units_of(plan: Plan) -> list[Unit]:
    """Return the units of an app: of its aggregations, then of its queries and partitions in text order."""
    units = [aggregation_unit(aggregation) for aggregation in plan.aggregations.values()]
    return units + [unit_of(execution) for execution in plan.executions]


def batch_plans(plan: Plan, units: Sequence[Unit]) -> tuple[BatchPlan, ...]:
    """Return how a batch runs, by stream.

    Args:
        plan: the plan of the app.
        units: as :func:`units_of` returns them.
    """
    # In playback, rows advance the clock: timers can be due between two rows.
    playback = plan.playback is not None
    readers: dict[str, list[Unit]] = {}
    for unit in units:
        for label in unit.reads:
            readers.setdefault(label, []).append(unit)
    timers: list[Unit] = []
    if playback:
        timed_windows = [name for name, window in plan.windows.items() if window.window.window.clock_driven]
        timed_units = [unit for unit in units if unit.timed]
        timers = _reach([*plan.triggers, *timed_windows], readers, timed_units)
    plans: list[BatchPlan] = []
    clean: set[str] = set()
    for label in plan.streams:
        if label.startswith(("!", "anonymous-")):
            continue
        reason = ""
        if label not in clean:
            reached = _reach([label], readers)
            reason = (
                _sink_reason(plan, label, reached)
                or (_clock_reason(reached) if playback else "")
                or _shared_stream_reason(label, reached, timers)
            )
            if not reason:
                # The streams downstream of a safe stream are safe, too.
                clean.update(target for unit in reached for target in unit.writes)
        plans.append(BatchPlan(label, not reason, reason))
    return tuple(plans)


def _sink_reason(plan: Plan, label: str, reached: list[Unit]) -> str:
    """Return the reason if events reach a sink, which can send into any stream before the next row arrives."""
    for name in dict.fromkeys([label, *(target for unit in reached for target in unit.writes)]):
        if name in plan.streams and plan.streams[name].sinks:
            return f"stream '{name}' has a sink"
    return ""


def _clock_reason(reached: list[Unit]) -> str:
    """Return the reason if several affected queries depend on the clock that the rows advance; else an empty text."""
    clocked = [unit.name for unit in reached if unit.timed or unit.reads_clock]
    if len(reached) < 2 or not clocked:
        return ""
    return f"rows advance the clock, which {', '.join(clocked)} read, and affect {len(reached)} queries"


def _shared_stream_reason(label: str, reached: list[Unit], timers: list[Unit]) -> str:
    """Return the reason if two queries that the batch reaches, or that timers run in between, share a stream; else empty."""
    if not reached:
        return ""
    known = {id(unit) for unit in reached}
    reached = [*reached, *(unit for unit in timers if id(unit) not in known)]
    fed: dict[str, str] = {}
    for unit in reached:
        for target in dict.fromkeys(unit.writes):
            if target in fed:
                return f"{fed[target]} and {unit.name} both write to '{target}'"
            if target == label:
                return f"{unit.name} also writes to '{target}'"
            fed[target] = unit.name
    for unit in reached:
        if len(unit.reads) > 1:
            inputs = [read for read in unit.reads if read == label or read in fed]
            if len(inputs) > 1:
                names = list(dict.fromkeys(inputs))
                return f"{unit.name} reads {' and '.join(map(repr, names))}{' twice' if len(names) == 1 else ''}"
    return _shared_state_reason(reached)


def _shared_state_reason(reached: list[Unit]) -> str:
    """Return the reason if the batch writes and reads the same table or window; else an empty text."""
    writers: dict[str, str] = {}
    for unit in reached:
        for name in sorted(unit.changes):
            if name in writers:
                return f"{writers[name]} and {unit.name} both write to '{name}'"
            writers[name] = unit.name
    for unit in reached:
        for name in sorted(unit.uses):
            if name in writers:
                return f"{writers[name]} writes '{name}', which {unit.name} reads"
    return ""


def _reach(labels: Iterable[str], readers: dict[str, list[Unit]], started: Iterable[Unit] = ()) -> list[Unit]:
    """Return every unit that events of these streams or units can reach, in order of discovery."""
    reached: dict[int, Unit] = {}
    pending = list(labels)
    for unit in started:
        reached[id(unit)] = unit
        pending += unit.writes
    while pending:
        for unit in readers.get(pending.pop(), ()):
            if id(unit) not in reached:
                reached[id(unit)] = unit
                pending += unit.writes
    return list(reached.values())
