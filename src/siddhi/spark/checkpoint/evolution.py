"""Whether the islands of an app fit the state of a checkpoint, and where each finds its own; needs no PySpark.

The shards of an island are a range of keys of the stateful operator: a slot. An island keeps the slot in which elements of
it that hold state were before; what is new gets a slot behind the others, and a slot that nobody wants is retired for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from siddhi.errors import SiddhiAppError
from siddhi.planner.compatibility import can_restore
from siddhi.planner.distribution.sub_app import SubApp
from siddhi.spark.checkpoint.key_ranges import KeyRange, are_disjoint, stateful_names
from siddhi.spark.checkpoint.partition_changes import describe_changes
from siddhi.spark.checkpoint.schema_changes import evolved_schemas, other_rows
from siddhi.spark.workers.input_schema import InputSchema

__all__ = ["RangeAssignment", "assign_key_ranges"]


@dataclass(frozen=True, slots=True)
class RangeAssignment:
    """What became of the slots.

    Attributes:
        slots: those there were, in their places, and new ones.
        places: by island, the number of its slot.
        refused: what does not fit; clauses.
        changed: what begins empty or is left behind; clauses.
    """

    key_ranges: list[KeyRange]
    indexes: list[int]
    refused: list[str]
    changed: list[str]


def assign_key_ranges(before: Sequence[KeyRange], fragments: Sequence[KeyRange]) -> RangeAssignment:
    """Find the slot of every island.

    Args:
        before: the slots of a checkpoint.
        islands: what runs now, as slots that are new.
    """
    key_ranges = list(before)
    indexes: list[int] = []
    refused: list[str] = []
    changed: list[str] = []
    taken: dict[int, KeyRange] = {}
    waiting = _indexes_of_rows(before, fragments)
    for number, fragment in enumerate(fragments):
        if fragment.stateful:
            found = [
                n for n, key_range in enumerate(before)
                if not key_range.retired and not set(key_range.stateful).isdisjoint(fragment.stateful)
            ]  # fmt: skip
        else:
            found = [waiting[number]] if number in waiting else []
        if len(found) > 1:
            apart = " and of ".join(_listed(before[n].stateful) for n in found)
            refused.append(f"{_listed(fragment.stateful)} are one island, and the state of {apart} is kept apart")
        elif found and found[0] in taken:
            both = f"{_listed(taken[found[0]].stateful)} and {_listed(fragment.stateful)}"
            refused.append(f"{both} are islands of their own, and their state is kept together")
        if found:
            index = found[0]
            if not refused or index not in taken:
                key_ranges[index] = _joined(before[index], fragment, refused, changed)
        else:
            index = len(key_ranges)
            key_ranges.append(
                replace(
                    fragment, first=max((key_range.first + key_range.shards for key_range in key_ranges), default=0)
                )
            )
            changed += [f"'{name}' is new" for name in fragment.stateful]
        taken[index] = fragment
        indexes.append(index)
    for number, key_range in enumerate(before):
        if number not in taken and not key_range.retired:
            key_ranges[number] = replace(key_range, retired=True)
            changed += [f"'{name}' is gone, and its state is left behind" for name in key_range.stateful]
    return RangeAssignment(key_ranges, indexes, refused, changed)


def _indexes_of_rows(before: Sequence[KeyRange], fragments: Sequence[KeyRange]) -> dict[int, int]:
    """By island that keeps nothing, the slot in which its rows wait: of those they fit, the one with most of its elements."""
    pairs = [
        (-len(set(key_range.names) & set(fragment.names)), number, index)
        for number, fragment in enumerate(fragments)
        for index, key_range in enumerate(before)
        if not (fragment.stateful or key_range.stateful or key_range.retired)
        and key_range.input_schema == fragment.input_schema
    ]
    found: dict[int, int] = {}
    for _, number, index in sorted(pairs):
        if number not in found and index not in found.values():
            found[number] = index
    return found


def _joined(key_range: KeyRange, fragment: KeyRange, refused: list[str], changed: list[str]) -> KeyRange:
    """The slot with the island that runs there now."""
    what = _listed(fragment.stateful or fragment.names)
    common = key_range.keys.keys() & fragment.keys.keys()
    if any(key_range.keys[stream] != fragment.keys[stream] for stream in common) or bool(key_range.keys) != bool(
        fragment.keys
    ):
        new = [name for name in fragment.stateful if name not in key_range.stateful]
        way_out = f" (in an app of its own, {_listed(new)} changes no key)" if new and not fragment.keys else ""
        refused.append(f"{what}: the key is {_shown(fragment.keys)}, and was {_shown(key_range.keys)}{way_out}")
    schema, schemas = evolved_schemas(key_range, fragment)
    refused += [f"{what}: {told}" for told in other_rows(key_range, fragment)]
    if fragment.sub_app == key_range.sub_app:
        return replace(
            key_range, names=fragment.names, text=fragment.text, input_schema=schema, earlier_schemas=schemas
        )
    now = SubApp.from_json(fragment.sub_app)
    earlier = [
        key_range.sub_app,
        *(text for text in key_range.earlier if text not in (key_range.sub_app, fragment.sub_app)),
    ]
    if are_disjoint(SubApp.from_json(key_range.sub_app), now):
        was = ", ".join(stateful_names(SubApp.from_json(key_range.sub_app)))
        refused.append(
            f"{was} is {', '.join(stateful_names(now))} now: what is new has a name of its own (@info(name = '...'))"
        )
        return key_range
    left = list(key_range.left)
    for text in earlier:
        old = SubApp.from_json(text)
        if old.fingerprint in left:
            continue
        if are_disjoint(old, now):  # of forms before the last one, everything may have gone
            left.append(old.fingerprint)
            continue
        refused += [reason for reason in _reasons(old, now) if reason not in refused]
    if refused:
        return key_range
    last, kept = stateful_names(SubApp.from_json(key_range.sub_app)), stateful_names(now)
    # Shards that had nothing to do meanwhile still hold what it kept, others do not.
    refused += [
        f"{name} was gone and comes back, which it can't as it was: it begins empty under another name (@info(name = '...'))"
        for name in kept
        if name in key_range.gone
    ]
    changed += [f"{name} is new" for name in kept if name not in last]
    changed += [f"{name} is gone, and its state is left behind" for name in last if name not in kept]
    dropped = [
        stream
        for stream in InputSchema.from_json(key_range.input_schema).streams
        if stream not in InputSchema.from_json(schema).streams
    ]
    changed += [f"rows of {stream} that wait are left behind" for stream in dropped]
    gone = [*key_range.gone, *(name for name in last if name not in kept)]
    return replace(
        fragment,
        first=key_range.first,
        shards=key_range.shards,
        earlier=earlier,
        left=left,
        gone=gone,
        input_schema=schema,
        earlier_schemas=schemas,
    )


def _reasons(old: SubApp, new: SubApp) -> tuple[str, ...]:
    try:
        return describe_changes(can_restore(old, new), old, new)
    except SiddhiAppError as error:  # an extension that is there no more
        return (f"what it was can't be told: {error.message}",)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _shown(keys: Mapping[str, Sequence[str] | None]) -> str:
    told = [f"{stream} by {', '.join(texts)}" for stream, texts in keys.items() if texts]
    return "; ".join(told) or "none"
