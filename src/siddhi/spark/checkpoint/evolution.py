"""Whether the islands of an app fit the state of a checkpoint, and where each finds its own; needs no PySpark.

The shards of an island are a range of keys of the stateful operator: a slot. An island keeps the slot in which elements of
it that hold state were before; what is new gets a slot behind the others, and a slot that nobody wants is retired for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from siddhi.errors import SiddhiAppError
from siddhi.planner.compatibility import can_restore
from siddhi.planner.distribution.fragments import Fragment
from siddhi.spark.checkpoint.key_ranges import Slot, are_apart, kept_in
from siddhi.spark.checkpoint.partition_changes import told_by_queries
from siddhi.spark.checkpoint.schema_changes import doors_of, other_rows
from siddhi.spark.workers.input_schema import Door

__all__ = ["Fit", "fitted"]


@dataclass(frozen=True, slots=True)
class Fit:
    """What became of the slots.

    Attributes:
        slots: those there were, in their places, and new ones.
        places: by island, the number of its slot.
        refused: what does not fit; clauses.
        changed: what begins empty or is left behind; clauses.
    """

    slots: list[Slot]
    places: list[int]
    refused: list[str]
    changed: list[str]


def fitted(before: Sequence[Slot], islands: Sequence[Slot]) -> Fit:
    """Find the slot of every island.

    Args:
        before: the slots of a checkpoint.
        islands: what runs now, as slots that are new.
    """
    slots = list(before)
    places: list[int] = []
    refused: list[str] = []
    changed: list[str] = []
    taken: dict[int, Slot] = {}
    waiting = _places_of_rows(before, islands)
    for number, island in enumerate(islands):
        if island.stateful:
            found = [
                n for n, slot in enumerate(before)
                if not slot.retired and not set(slot.stateful).isdisjoint(island.stateful)
            ]  # fmt: skip
        else:
            found = [waiting[number]] if number in waiting else []
        if len(found) > 1:
            apart = " and of ".join(_listed(before[n].stateful) for n in found)
            refused.append(f"{_listed(island.stateful)} are one island, and the state of {apart} is kept apart")
        elif found and found[0] in taken:
            both = f"{_listed(taken[found[0]].stateful)} and {_listed(island.stateful)}"
            refused.append(f"{both} are islands of their own, and their state is kept together")
        if found:
            place = found[0]
            if not refused or place not in taken:
                slots[place] = _joined(before[place], island, refused, changed)
        else:
            place = len(slots)
            slots.append(replace(island, first=max((slot.first + slot.shards for slot in slots), default=0)))
            changed += [f"'{name}' is new" for name in island.stateful]
        taken[place] = island
        places.append(place)
    for number, slot in enumerate(before):
        if number not in taken and not slot.retired:
            slots[number] = replace(slot, retired=True)
            changed += [f"'{name}' is gone, and its state is left behind" for name in slot.stateful]
    return Fit(slots, places, refused, changed)


def _places_of_rows(before: Sequence[Slot], islands: Sequence[Slot]) -> dict[int, int]:
    """By island that keeps nothing, the slot in which its rows wait: of those they fit, the one with most of its elements."""
    pairs = [
        (-len(set(slot.names) & set(island.names)), number, place)
        for number, island in enumerate(islands)
        for place, slot in enumerate(before)
        if not (island.stateful or slot.stateful or slot.retired) and slot.door == island.door
    ]
    found: dict[int, int] = {}
    for _, number, place in sorted(pairs):
        if number not in found and place not in found.values():
            found[number] = place
    return found


def _joined(slot: Slot, island: Slot, refused: list[str], changed: list[str]) -> Slot:
    """The slot with the island that runs there now."""
    what = _listed(island.stateful or island.names)
    common = slot.keys.keys() & island.keys.keys()
    if any(slot.keys[stream] != island.keys[stream] for stream in common) or bool(slot.keys) != bool(island.keys):
        new = [name for name in island.stateful if name not in slot.stateful]
        way_out = f" (in an app of its own, {_listed(new)} changes no key)" if new and not island.keys else ""
        refused.append(f"{what}: the key is {_shown(island.keys)}, and was {_shown(slot.keys)}{way_out}")
    door, doors = doors_of(slot, island)
    refused += [f"{what}: {told}" for told in other_rows(slot, island)]
    if island.fragment == slot.fragment:
        return replace(slot, names=island.names, text=island.text, door=door, doors=doors)
    now = Fragment.from_json(island.fragment)
    earlier = [slot.fragment, *(text for text in slot.earlier if text not in (slot.fragment, island.fragment))]
    if are_apart(Fragment.from_json(slot.fragment), now):
        was = ", ".join(kept_in(Fragment.from_json(slot.fragment)))
        refused.append(
            f"{was} is {', '.join(kept_in(now))} now: what is new has a name of its own (@info(name = '...'))"
        )
        return slot
    left = list(slot.left)
    for text in earlier:
        old = Fragment.from_json(text)
        if old.fingerprint in left:
            continue
        if are_apart(old, now):  # of forms before the last one, everything may have gone
            left.append(old.fingerprint)
            continue
        refused += [reason for reason in _reasons(old, now) if reason not in refused]
    if refused:
        return slot
    last, kept = kept_in(Fragment.from_json(slot.fragment)), kept_in(now)
    # Shards that had nothing to do meanwhile still hold what it kept, others do not.
    refused += [
        f"{name} was gone and comes back, which it can't as it was: it begins empty under another name (@info(name = '...'))"
        for name in kept
        if name in slot.gone
    ]
    changed += [f"{name} is new" for name in kept if name not in last]
    changed += [f"{name} is gone, and its state is left behind" for name in last if name not in kept]
    dropped = [stream for stream in Door.from_json(slot.door).streams if stream not in Door.from_json(door).streams]
    changed += [f"rows of {stream} that wait are left behind" for stream in dropped]
    gone = [*slot.gone, *(name for name in last if name not in kept)]
    return replace(
        island, first=slot.first, shards=slot.shards, earlier=earlier, left=left, gone=gone, door=door, doors=doors
    )


def _reasons(old: Fragment, new: Fragment) -> tuple[str, ...]:
    try:
        return told_by_queries(can_restore(old, new), old, new)
    except SiddhiAppError as error:  # an extension that is there no more
        return (f"what it was can't be told: {error.message}",)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _shown(keys: Mapping[str, Sequence[str] | None]) -> str:
    told = [f"{stream} by {', '.join(texts)}" for stream, texts in keys.items() if texts]
    return "; ".join(told) or "none"
