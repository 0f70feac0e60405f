"""Whether rows that wait for an earlier form of an island are what it takes now; needs no PySpark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from siddhi.errors import SiddhiAppError
from siddhi.planner.app import plan
from siddhi.planner.distribution.fragments import Fragment
from siddhi.planner.plan.elements import app_elements
from siddhi.planner.problems import schema_text
from siddhi.query_api.definition import StreamDefinition
from siddhi.query_compiler import parse
from siddhi.spark.checkpoint.key_ranges import Slot
from siddhi.spark.workers.input_schema import Door

__all__ = ["doors_of", "other_rows", "rows_at_risk"]


def doors_of(slot: Slot, island: Slot) -> tuple[list[Any], Sequence[list[Any]]]:
    """The door of an island in the slot, and those that there were. One that comes again is another one: rows of streams that
    were not read in between are left behind, and those that come now are not."""
    was, now = Door.from_json(slot.door), Door.from_json(island.door)
    if was.form == now.form:
        return slot.door, slot.doors
    earlier = [*map(Door.from_json, slot.doors), replace(was, label=was.name)]
    doors = [
        replace(door, dropped=tuple(s for s in door.streams if s in door.dropped or s not in now.streams)).to_json()
        for door in earlier
    ]
    return replace(now, label=f"{now.name}.{len(doors)}").to_json(), doors


def other_rows(slot: Slot, island: Slot) -> Iterator[str]:
    """Streams whose rows are not what they were: those that wait can't be what is wanted now."""
    if not slot.stateful or slot.fragment == island.fragment:  # without state, the door is the same
        return
    was, now = _schemas(slot), _schemas(island)
    for stream in Door.from_json(island.door).streams:
        if stream in Door.from_json(slot.door).streams and was[stream] != now[stream]:
            yield f"rows that wait are of {was[stream]}, and now it is {now[stream]}"


def _schemas(slot: Slot) -> dict[str, str]:
    """``S (k string, v int)`` by stream."""
    definitions = parse(Fragment.from_json(slot.fragment).text).definitions
    return {
        found.id: f"{found.id} {schema_text(found.attributes)}"
        for found in definitions
        if isinstance(found, StreamDefinition)
    }


def rows_at_risk(before: Sequence[Slot], islands: Sequence[Slot], places: Sequence[int]) -> Iterator[tuple[Slot, str]]:
    """Slots whose rows, if some wait, would come twice or not at all to a query that keeps nothing and stands elsewhere now.

    Args:
        before: the slots of a checkpoint.
        islands: what runs now, as slots that are new.
        places: by island, the number of its slot.

    Returns:
        Each of the slots once, with clauses that say why.
    """
    here = dict(zip(places, islands, strict=True))
    for place, slot in enumerate(before):
        if slot.retired:
            continue
        island = here.get(place)
        stay = () if island is None else island.names
        others = {name for at, other in here.items() if at != place for name in other.names}
        clauses = []
        for name in slot.names:
            if name in others and name not in stay and name not in slot.stateful:
                beside = [other for other in slot.names if other != name]
                clauses.append(f"'{name}' runs apart from {', '.join(map(repr, beside)) or 'its shards'} now")
        if island is not None:
            clauses += _moved(slot, island)
        if clauses:
            yield slot, "; ".join(clauses)


def _moved(slot: Slot, island: Slot) -> Iterator[str]:
    """Streams that come in, before or now, and are filled inside by other queries than before."""
    if not slot.stateful or slot.fragment == island.fragment:  # without state, it does all native steps itself
        return
    both = [Fragment.from_json(slot.fragment), Fragment.from_json(island.fragment)]
    came = {stream for held in (slot, island) for stream in Door.from_json(held.door).streams}
    if came.isdisjoint(name for part in both for name in part.outputs):
        return
    try:
        was, now = (_fillers(part) for part in both)
    except SiddhiAppError:
        return  # why will be told
    for stream in sorted(came):
        if was.get(stream) != now.get(stream):
            names = sorted({*was.get(stream, ()), *now.get(stream, ())})
            told = ", ".join(map(repr, names))
            yield f"beside what reads {stream}, it is filled by {told} in one form of the app, and not in the other"


def _fillers(part: Fragment) -> dict[str, list[str]]:
    """By stream, the elements of a part that fill it."""
    found: dict[str, list[str]] = {}
    for element in app_elements(plan(parse(part.text))):
        for stream in element.writes:
            found.setdefault(stream, []).append(element.name)
    return found
