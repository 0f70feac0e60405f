"""Where a batch may run query by query, and where it must go row by row, for which reason.

Query by query means that each query takes the whole batch before the next one starts. That gives what rows sent one at a
time give as long as no two queries that the batch reaches share anything but the stream they read: no table or window
that one writes and another uses, no stream that two of them feed, no query with two inputs in reach. Under playback rows
move the clock: then no query in reach may look at it unless it is the only one, and what timers start in between must
not meet what the batch reaches. A partition counts as one query: it takes rows in order.
"""

from __future__ import annotations

from collections.abc import Iterable

from siddhi._frozen import replace
from siddhi.planner.plan.graph import Unit, aggregation_unit, unit_of
from siddhi.planner.plan.nodes import BatchPlan, Plan

__all__ = ["check_batches"]


def check_batches(plan: Plan) -> Plan:
    """Fill in :attr:`Plan.batches`: one :class:`BatchPlan` per stream that rows can be sent to."""
    return replace(plan, batches=_batches(plan))


def _batches(plan: Plan) -> tuple[BatchPlan, ...]:
    # In playback, rows move the clock: timers may be due between two of them.
    playback = plan.playback is not None
    units = [aggregation_unit(aggregation) for aggregation in plan.aggregations.values()]
    units += [unit_of(execution) for execution in plan.executions]
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
                _leading_outside(plan, label, reached)
                or (_moving_clock(reached) if playback else "")
                or _meeting(label, reached, timers)
            )
            if not reason:
                # What is downstream of a stream without obstacle has none either.
                clean.update(target for unit in reached for target in unit.writes)
        plans.append(BatchPlan(label, not reason, reason))
    return tuple(plans)


def _leading_outside(plan: Plan, label: str, reached: list[Unit]) -> str:
    """Where events leave the app: what takes them may send into any stream before the next row comes."""
    for name in dict.fromkeys([label, *(target for unit in reached for target in unit.writes)]):
        if name in plan.streams and plan.streams[name].sinks:
            return f"stream '{name}' has a sink"
    return ""


def _moving_clock(reached: list[Unit]) -> str:
    """Why a clock that the rows move is in the way; empty where it is not."""
    clocked = [unit.name for unit in reached if unit.timed or unit.reads_clock]
    if len(reached) < 2 or not clocked:
        return ""
    return f"rows move the clock, which {', '.join(clocked)} read, and {len(reached)} queries are in reach"


def _meeting(label: str, reached: list[Unit], timers: list[Unit]) -> str:
    """Where two of the queries that the batch reaches, or that timers start in between, meet; empty for nowhere."""
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
                return f"{unit.name} writes to '{target}' too"
            fed[target] = unit.name
    for unit in reached:
        if len(unit.reads) > 1:
            inputs = [read for read in unit.reads if read == label or read in fed]
            if len(inputs) > 1:
                names = list(dict.fromkeys(inputs))
                return f"{unit.name} reads {' and '.join(map(repr, names))}{' twice' if len(names) == 1 else ''}"
    return _shared_content(reached)


def _shared_content(reached: list[Unit]) -> str:
    """A table or window that is written and read in one pass."""
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
    """Every unit that events of these streams may reach, and these units, in order of discovery."""
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
