"""Key ranges: which shards an engine fragment has in a checkpoint, and which forms of it wrote their state; needs no PySpark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
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

_PERSISTED = {"input_schema": "door", "sub_app": "fragment", "earlier_schemas": "doors"}
"""Fields whose key in the manifest has another name."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A range of shards of the stateful operator and the engine fragment that runs on it.

    Attributes:
        names: elements of the fragment.
        stateful: those of them that hold state.
        first: number of the first shard.
        shards: number of shards.
        keys: texts of the key expressions by input stream; None: rows go to every shard.
        input_schema: rows of the fragment, see :meth:`siddhi.spark.workers.input_schema.InputSchema.to_json`.
        text: SiddhiQL text of the engines.
        sub_app: the fragment's part of the app, as JSON.
        earlier: sub-apps of earlier forms, the last one first; a shard without rows since then still has their state.
        retired: whether no fragment uses the range any more.
        left: fingerprints of earlier forms that share no stateful element with a later one; their state is discarded.
        gone: elements that held state in the range and were removed, by kind and name.
        earlier_schemas: input schemas of earlier forms, the first one first; buffered rows may have them.
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
    def numbers(self) -> range:
        """Numbers of the shards."""
        return range(self.first, self.first + self.shards)

    @property
    def shard_range(self) -> ShardRange:
        """The part of it that workers need."""
        forms = (self.sub_app, *self.earlier)
        return ShardRange(
            self.first,
            frozenset(SubApp.from_json(text).fingerprint for text in forms),
            frozenset(self.left),
            InputSchema.from_json(self.input_schema),
            tuple(map(InputSchema.from_json, self.earlier_schemas)),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the range as data for JSON."""
        return {_PERSISTED.get(name, name): value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> KeyRange:
        """Return the range that :meth:`to_json` gave."""
        return cls(**{field.name: data[_PERSISTED.get(field.name, field.name)] for field in fields(cls)})


def key_range_of(plan: Plan, fragment: EngineFragment, program: FragmentProgram, first: int, shards: int) -> KeyRange:
    """Return the key range of an engine fragment that has no state yet."""
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
    """Return what holds state in the shards of a sub-app, by kind and name. Read-only tables do not: each start fills them.

    Raises:
        SiddhiAppError: an extension of the sub-app is missing.
    """
    filled = {f"table '{table}'" for table in part.tables} | {f"query 'fill {table}'" for table in part.fills}
    return [name for name in stateful_parts(part) if name not in filled]


def are_disjoint(old: SubApp, new: SubApp) -> bool:
    """Return whether both sub-apps hold state and share no element that does."""
    try:
        before, now = stateful_names(old), stateful_names(new)
    except SiddhiAppError:
        return False  # reported by the comparison of the elements
    return bool(before and now) and set(before).isdisjoint(now)
