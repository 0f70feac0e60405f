"""Ranges of shards, and what is kept of the islands that ran there; needs no PySpark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from siddhi.errors import SiddhiAppError
from siddhi.planner.compatibility import stateful_parts
from siddhi.planner.distribution.sub_app import SubApp, sub_app
from siddhi.planner.plan.nodes import Plan
from siddhi.spark.plan.fragments import EngineFragment
from siddhi.spark.plan.keys import FragmentKey
from siddhi.spark.workers.input_schema import InputSchema
from siddhi.spark.workers.program import FragmentProgram
from siddhi.spark.workers.shard_range import ShardRange

__all__ = ["KeyRange", "are_disjoint", "key_range_of", "stateful_names"]


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A range of shards and the island that runs there.

    Attributes:
        names: of its elements.
        stateful: those of them that hold state.
        first: its first shard.
        shards: how many it has.
        keys: per stream that comes in, the texts of its key; None: it goes to all shards.
        door: the rows it takes, as :meth:`siddhi.spark.workers.input_schema.Door.to_json` gives it.
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
    input_schema: list[Any]
    text: str
    sub_app: str
    earlier: list[str]
    retired: bool = False
    left: Sequence[str] = ()
    gone: Sequence[str] = ()
    earlier_schemas: Sequence[list[Any]] = ()

    @property
    def accepted(self) -> frozenset[str]:
        """Fingerprints of the state that its shards may have."""
        return frozenset(SubApp.from_json(text).fingerprint for text in (self.sub_app, *self.earlier))

    @property
    def shard_range(self) -> ShardRange:
        """What workers are told of it."""
        earlier_schemas = tuple(map(InputSchema.from_json, self.earlier_schemas))
        return ShardRange(
            self.first, self.accepted, frozenset(self.left), InputSchema.from_json(self.input_schema), earlier_schemas
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KeyRange:
        """What was written as JSON."""
        made = cls(**{name: data[name] for name in cls.__slots__ if name in data})
        return made if "left" in data else replace(made, left=_left(made), gone=_gone(made))


def key_range_of(plan: Plan, fragment: EngineFragment, program: FragmentProgram, first: int, shards: int) -> KeyRange:
    """The slot of an island that is new."""
    return KeyRange(
        names=list(fragment.names),
        stateful=[element.name for element in fragment.elements if element.stateful],
        first=first,
        shards=shards,
        keys=_keys(fragment.key),
        input_schema=InputSchema.of(program).to_json(),
        text=program.text,
        sub_app=sub_app(plan, fragment.names).to_json(),
        earlier=[],
    )


def _keys(key: FragmentKey | None) -> dict[str, list[str] | None]:
    if key is None:
        return {}
    return {
        stream: None if keys is None else [expression.text for expression in keys]
        for stream, keys in sorted(key.streams.items())
    }


def stateful_names(part: SubApp) -> list[str]:
    """What holds state in the shards of a part, by kind and name: what is read only is given to them at each start.

    Raises:
        SiddhiAppError: an extension is there no more.
    """
    given = {f"table '{table}'" for table in part.tables} | {f"query 'fill {table}'" for table in part.fills}
    return [name for name in stateful_parts(part) if name not in given]


def are_disjoint(old: SubApp, new: SubApp) -> bool:
    """Whether both hold state, and have no element in common that does."""
    try:
        before, now = stateful_names(old), stateful_names(new)
    except SiddhiAppError:
        return False  # why will be told
    return bool(before and now) and set(before).isdisjoint(now)


def _left(slot: KeyRange) -> list[str]:
    """What has left, where that was not kept yet: forms that have no element in common with the last one."""
    now = SubApp.from_json(slot.sub_app)
    older = (SubApp.from_json(text) for text in slot.earlier)
    return [old.fingerprint for old in older if are_disjoint(old, now)]


def _gone(slot: KeyRange) -> list[str]:
    """What is gone, where that was not kept yet; of forms that can't be read any more, nothing."""
    forms = [_known(SubApp.from_json(text)) for text in (slot.sub_app, *slot.earlier)]
    return sorted({name for form in forms[1:] for name in form} - set(forms[0]))


def _known(part: SubApp) -> list[str]:
    try:
        return stateful_names(part)
    except SiddhiAppError:
        return []
