"""Assign the engine fragments of an app to the key ranges of a checkpoint; needs no PySpark.

A fragment keeps the key range that has the state of its elements. A new fragment gets a range behind the others; a range
that no fragment uses any more is retired for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from siddhi.errors import SiddhiAppError
from siddhi.planner.compatibility import can_restore
from siddhi.planner.distribution.sub_app import SubApp
from siddhi.spark.checkpoint.key_ranges import KeyRange, are_disjoint, stateful_names
from siddhi.spark.checkpoint.partition_changes import describe_changes
from siddhi.spark.checkpoint.schema_changes import changed_schemas, evolved_schemas
from siddhi.spark.workers.input_schema import InputSchema

__all__ = ["RangeAssignment", "assign_key_ranges"]

_OTHER_NAME = "use another name for the new element (@info(name = '...'))"


@dataclass(frozen=True, slots=True)
class RangeAssignment:
    """The key ranges of a checkpoint after a start.

    Attributes:
        key_ranges: the earlier ranges in their order, then new ones.
        indexes: index of the range of each fragment.
        refused: what does not fit; clauses.
        changed: what starts empty or is discarded; clauses.
    """

    key_ranges: list[KeyRange]
    indexes: list[int]
    refused: list[str]
    changed: list[str]


def assign_key_ranges(before: Sequence[KeyRange], fragments: Sequence[KeyRange]) -> RangeAssignment:
    """Find the key range of every engine fragment.

    Args:
        before: key ranges of the checkpoint.
        fragments: the fragments that run now, as new key ranges.
    """
    key_ranges = list(before)
    indexes: list[int] = []
    refused: list[str] = []
    changed: list[str] = []
    taken: dict[int, KeyRange] = {}
    stateless = _stateless_ranges(before, fragments)
    for number, fragment in enumerate(fragments):
        if fragment.stateful:
            found = [
                n for n, each in enumerate(before)
                if not each.retired and not set(each.stateful).isdisjoint(fragment.stateful)
            ]  # fmt: skip
        else:
            found = [stateless[number]] if number in stateless else []
        if len(found) > 1:
            parts = " and ".join(_listed(before[n].stateful) for n in found)
            refused.append(f"{_listed(fragment.stateful)} run in one fragment now, and {parts} have separate state")
        elif found and found[0] in taken:
            both = f"{_listed(taken[found[0]].stateful)} and {_listed(fragment.stateful)}"
            refused.append(f"{both} run in separate fragments now, and their state is stored together")
        if found:
            index = found[0]
            if not refused or index not in taken:
                key_ranges[index] = _evolved(before[index], fragment, refused, changed)
        else:
            index = len(key_ranges)
            first = max((each.first + each.shards for each in key_ranges), default=0)
            key_ranges.append(replace(fragment, first=first))
            changed += [f"'{name}' is new" for name in fragment.stateful]
        taken[index] = fragment
        indexes.append(index)
    for number, key_range in enumerate(before):
        if number not in taken and not key_range.retired:
            key_ranges[number] = replace(key_range, retired=True)
            changed += [f"'{name}' was removed, its state is discarded" for name in key_range.stateful]
    return RangeAssignment(key_ranges, indexes, refused, changed)


def _stateless_ranges(before: Sequence[KeyRange], fragments: Sequence[KeyRange]) -> dict[int, int]:
    """Return the range that buffers the rows of each stateless fragment: of equal schema, and with most of its elements."""
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


def _evolved(key_range: KeyRange, fragment: KeyRange, refused: list[str], changed: list[str]) -> KeyRange:
    """Return a key range with the form of its fragment that runs now."""
    what = _listed(fragment.stateful or fragment.names)
    common = key_range.keys.keys() & fragment.keys.keys()
    if any(key_range.keys[s] != fragment.keys[s] for s in common) or bool(key_range.keys) != bool(fragment.keys):
        new = [name for name in fragment.stateful if name not in key_range.stateful]
        hint = f" (move {_listed(new)} to an app of its own)" if new and not fragment.keys else ""
        refused.append(f"{what}: the key is {_shown(fragment.keys)}, and was {_shown(key_range.keys)}{hint}")
    schema, schemas = evolved_schemas(key_range, fragment)
    refused += [f"{what}: {clause}" for clause in changed_schemas(key_range, fragment)]
    if fragment.sub_app == key_range.sub_app:
        return replace(
            key_range, names=fragment.names, text=fragment.text, input_schema=schema, earlier_schemas=schemas
        )
    last, now = SubApp.from_json(key_range.sub_app), SubApp.from_json(fragment.sub_app)
    if are_disjoint(last, now):
        names = f"{', '.join(stateful_names(last))} is {', '.join(stateful_names(now))} now"
        refused.append(f"{names}: {_OTHER_NAME}")
        return key_range
    earlier = [
        key_range.sub_app,
        *(text for text in key_range.earlier if text not in (key_range.sub_app, fragment.sub_app)),
    ]
    left = list(key_range.left)
    for old in map(SubApp.from_json, earlier):
        if old.fingerprint in left:
            continue
        if are_disjoint(old, now):
            left.append(old.fingerprint)
            continue
        refused += [reason for reason in _reasons(old, now) if reason not in refused]
    if refused:
        return key_range
    had, has = stateful_names(last), stateful_names(now)
    # A shard without rows in between still has the state of an element that was removed; other shards do not.
    refused += [
        f"{name} was removed and can't return under its name: {_OTHER_NAME}" for name in has if name in key_range.gone
    ]
    gone = [name for name in had if name not in has]
    changed += [f"{name} is new" for name in has if name not in had]
    changed += [f"{name} was removed, its state is discarded" for name in gone]
    streams = InputSchema.from_json(schema).streams
    dropped = [s for s in InputSchema.from_json(key_range.input_schema).streams if s not in streams]
    changed += [f"buffered rows of {stream} are discarded" for stream in dropped]
    return replace(
        fragment,
        first=key_range.first,
        shards=key_range.shards,
        earlier=earlier,
        left=left,
        gone=[*key_range.gone, *gone],
        input_schema=schema,
        earlier_schemas=schemas,
    )


def _reasons(old: SubApp, new: SubApp) -> tuple[str, ...]:
    try:
        return describe_changes(can_restore(old, new), old, new)
    except SiddhiAppError as error:  # an extension is missing
        return (f"the earlier form of the app can't be planned: {error.message}",)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _shown(keys: Mapping[str, Sequence[str] | None]) -> str:
    return "; ".join(f"{stream} by {', '.join(texts)}" for stream, texts in keys.items() if texts) or "none"
