"""Which shards an island runs on, and what may be there of its earlier forms."""

from __future__ import annotations

from dataclasses import dataclass

from siddhi.spark.workers.input_schema import InputSchema
from siddhi.spark.workers.program import FragmentProgram

__all__ = ["ShardRange"]


@dataclass(frozen=True, slots=True)
class ShardRange:
    """The shards of an island.

    Attributes:
        first: the number of the first one.
        accepted: fingerprints of the forms of the island whose state they may have.
        left: those of them whose state is left behind.
        door: that the island has; None: it had no other.
        doors: that it had, the first one first: rows wait that were packed for them.
    """

    first: int
    accepted: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()
    schema: InputSchema | None = None
    earlier_schemas: tuple[InputSchema, ...] = ()

    def schema_of(self, program: FragmentProgram) -> InputSchema:
        """The door of the island that a program runs."""
        return self.schema or InputSchema.of(program)
