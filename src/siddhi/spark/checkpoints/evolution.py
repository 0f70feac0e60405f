"""Whether the islands of an app fit the state of a checkpoint, and where each finds its own; needs no PySpark.

The shards of an island are a range of keys of the stateful operator: a slot. An island keeps the slot in which elements of
it that hold state were before; what is new gets a slot behind the others, and a slot that nobody wants is retired for good.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from siddhi.errors import SiddhiAppError
from siddhi.planner import Plan
from siddhi.planner.compatibility import can_restore, stateful_parts
from siddhi.planner.fragments import Fragment, fragment
from siddhi.spark.checkpoints.partition_changes import told_by_queries
from siddhi.spark.layout.islands import Island
from siddhi.spark.layout.keys import IslandKey
from siddhi.spark.workers.doors import Door
from siddhi.spark.workers.program import IslandProgram

__all__ = ["Fit", "Slot", "fitted", "slot_of"]


@dataclass(frozen=True, slots=True)
class Slot:
    """A range of shards and the island that runs there.

    Attributes:
        names: of its elements.
        stateful: those of them that hold state.
        first: its first shard.
        shards: how many it has.
        keys: per stream that comes in, the texts of its key; None: it goes to all shards.
        door: the rows it takes, as :meth:`siddhi.spark.workers.doors.Door.to_json` gives it.
        text: the app that its engines run.
        fragment: the part of the app, as JSON.
        earlier: fragments of earlier forms: a shard that had nothing to do since still has the state of one of them.
        retired: nothing runs there any more.
        left: fingerprints of those that have no element in common with a form since: such shards begin empty.
        gone: what once held state there and left, by kind and name.
        doors: what ``door`` was in earlier forms, the first one first: rows may wait that came by them.
    """

    names: list[str]
    stateful: list[str]
    first: int
    shards: int
    keys: dict[str, list[str] | None]
    door: list[Any]
    text: str
    fragment: str
    earlier: list[str]
    retired: bool = False
    left: Sequence[str] = ()
    gone: Sequence[str] = ()
    doors: Sequence[list[Any]] = ()

    @property
    def accepted(self) -> frozenset[str]:
        """Fingerprints of the state that its shards may have."""
        return frozenset(Fragment.from_json(text).fingerprint for text in (self.fragment, *self.earlier))

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Slot:
        """What was written as JSON."""
        made = cls(**{name: data[name] for name in cls.__slots__ if name in data})
        return made if "left" in data else replace(made, left=_left(made), gone=_gone(made))


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


def slot_of(plan: Plan, island: Island, program: IslandProgram, first: int, shards: int) -> Slot:
    """The slot of an island that is new."""
    return Slot(
        names=list(island.names),
        stateful=[element.name for element in island.elements if element.stateful],
        first=first,
        shards=shards,
        keys=_keys(island.key),
        door=Door.of(program).to_json(),
        text=program.text,
        fragment=fragment(plan, island.names).to_json(),
        earlier=[],
    )


def _keys(key: IslandKey | None) -> dict[str, list[str] | None]:
    if key is None:
        return {}
    return {
        stream: None if keys is None else [expression.text for expression in keys]
        for stream, keys in sorted(key.streams.items())
    }


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
    known = island.door == slot.door or slot.door in slot.doors
    doors = slot.doors if known else [*slot.doors, slot.door]
    refused += [f"{what}: {told}" for told in _other_rows(slot, island)]
    if island.fragment == slot.fragment:
        return replace(slot, names=island.names, text=island.text, door=island.door, doors=doors)
    now = Fragment.from_json(island.fragment)
    earlier = [slot.fragment, *(text for text in slot.earlier if text not in (slot.fragment, island.fragment))]
    if _is_apart(Fragment.from_json(slot.fragment), now):
        was = ", ".join(_kept(Fragment.from_json(slot.fragment)))
        refused.append(f"{was} is {', '.join(_kept(now))} now: what is new has a name of its own (@info(name = '...'))")
        return slot
    left = list(slot.left)
    for text in earlier:
        old = Fragment.from_json(text)
        if old.fingerprint in left:
            continue
        if _is_apart(old, now):  # of forms before the last one, everything may have gone
            left.append(old.fingerprint)
            continue
        refused += [reason for reason in _reasons(old, now) if reason not in refused]
    if refused:
        return slot
    last, kept = _kept(Fragment.from_json(slot.fragment)), _kept(now)
    # Shards that had nothing to do meanwhile still hold what it kept, others do not.
    refused += [
        f"{name} was gone and comes back, which it can't as it was: it begins empty under another name (@info(name = '...'))"
        for name in kept
        if name in slot.gone
    ]
    changed += [f"{name} is new" for name in kept if name not in last]
    changed += [f"{name} is gone, and its state is left behind" for name in last if name not in kept]
    now_read = _streams(island)
    changed += [f"rows of {stream} that wait are left behind" for stream in _streams(slot) if stream not in now_read]
    gone = [*slot.gone, *(name for name in last if name not in kept)]
    return replace(island, first=slot.first, shards=slot.shards, earlier=earlier, left=left, gone=gone, doors=doors)


def _kept(part: Fragment) -> list[str]:
    """What holds state in the shards of a part, by kind and name: what is read only is given to them at each start.

    Raises:
        SiddhiAppError: an extension is there no more.
    """
    given = {f"table '{table}'" for table in part.tables} | {f"query 'fill {table}'" for table in part.fills}
    return [name for name in stateful_parts(part) if name not in given]


def _is_apart(old: Fragment, new: Fragment) -> bool:
    """Whether both hold state, and have no element in common that does."""
    try:
        before, now = _kept(old), _kept(new)
    except SiddhiAppError:
        return False  # why will be told
    return bool(before and now) and set(before).isdisjoint(now)


def _reasons(old: Fragment, new: Fragment) -> tuple[str, ...]:
    try:
        return told_by_queries(can_restore(old, new), old, new)
    except SiddhiAppError as error:  # an extension that is there no more
        return (f"what it was can't be told: {error.message}",)


def _streams(slot: Slot) -> list[str]:
    return [stream for stream, _ in Door.from_json(slot.door).inputs]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _shown(keys: Mapping[str, Sequence[str] | None]) -> str:
    told = [f"{stream} by {', '.join(texts)}" for stream, texts in keys.items() if texts]
    return "; ".join(told) or "none"


def _other_rows(slot: Slot, island: Slot) -> Iterator[str]:
    """Streams whose rows are not what they were: those that wait can't be what is wanted now."""
    forms = [Fragment.from_json(text).inputs for text in (slot.fragment, *slot.earlier)]
    for stream, now in Fragment.from_json(island.fragment).inputs.items():
        before = next((form[stream] for form in forms if form.get(stream, now) != now), None)
        if before is not None:
            yield f"rows that wait are of {_schema(stream, before)}, and now it is {_schema(stream, now)}"


def _schema(stream: str, attributes: Sequence[tuple[str, str]]) -> str:
    return f"{stream} ({', '.join(f'{name} {kind}' for name, kind in attributes)})"


def _left(slot: Slot) -> list[str]:
    """What has left, where that was not kept yet: forms that have no element in common with the last one."""
    now = Fragment.from_json(slot.fragment)
    older = (Fragment.from_json(text) for text in slot.earlier)
    return [old.fingerprint for old in older if _is_apart(old, now)]


def _gone(slot: Slot) -> list[str]:
    """What is gone, where that was not kept yet; of forms that can't be read any more, nothing."""
    forms = [_known(Fragment.from_json(text)) for text in (slot.fragment, *slot.earlier)]
    return sorted({name for form in forms[1:] for name in form} - set(forms[0]))


def _known(part: Fragment) -> list[str]:
    try:
        return _kept(part)
    except SiddhiAppError:
        return []
