"""The part of a key range that workers need."""

from __future__ import annotations

from dataclasses import dataclass

from siddhi.spark.workers.input_schema import InputSchema

__all__ = ["ShardRange"]


@dataclass(frozen=True, slots=True)
class ShardRange:
    """The shards of an engine fragment.

    Attributes:
        first: number of the first shard.
        accepted: fingerprints of the forms of the fragment whose state its shards may have.
        left: those of them whose state is discarded.
        schema: input schema of the fragment.
        earlier_schemas: input schemas of earlier forms, the first one first; buffered rows may have them.
    """

    first: int
    accepted: frozenset[str]
    left: frozenset[str]
    schema: InputSchema
    earlier_schemas: tuple[InputSchema, ...]
