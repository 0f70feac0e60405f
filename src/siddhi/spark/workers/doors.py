"""The doors of islands: what the rows of each are like, and how rows that wait for an earlier door pass the one there is now.

Every parcel of rows bears the fingerprint of the door it was packed for, as metadata of its Arrow schema.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siddhi.errors import SparkRunError
from siddhi.spark.layout.naming import DOOR
from siddhi.spark.workers.program import IslandProgram
from siddhi.spark.workers.shard import ARROW_TYPES

__all__ = ["Door", "labelled", "let_in"]

_LABEL = b"siddhi.door"
_TICK = -1
_NOWHERE = -2


@dataclass(frozen=True, slots=True)
class Door:
    """What rows are like that go into an island.

    Attributes:
        stream: that takes them.
        columns: names of its attributes.
        kinds: their types.
        inputs: per stream that comes in, the columns of its attributes.
    """

    stream: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    inputs: tuple[tuple[str, tuple[int, ...]], ...]

    @classmethod
    def of(cls, program: IslandProgram) -> Door:
        """That of an island."""
        return cls(program.door, program.columns, program.kinds, program.inputs)

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> Door:
        """What :meth:`to_json` gave."""
        stream, columns, kinds, inputs = data
        return cls(stream, tuple(columns), tuple(kinds), tuple((name, tuple(at)) for name, at in inputs))

    def to_json(self) -> list[Any]:
        """As lists and texts."""
        listed: list[Any] = json.loads(json.dumps(list(asdict(self).values())))
        return listed

    @property
    def fingerprint(self) -> bytes:
        """Tells it apart from others."""
        return hashlib.sha256(json.dumps(self.to_json()).encode()).hexdigest()[:16].encode()

    @property
    def is_of_several(self) -> bool:
        """Whether its first column says from which input a row is."""
        return self.stream == DOOR


def labelled(rows: pa.RecordBatch, fingerprint: bytes) -> pa.RecordBatch:
    """Rows that say for which door they are."""
    return rows.replace_schema_metadata({_LABEL: fingerprint})


def let_in(rows: pa.RecordBatch, now: Door, earlier: Sequence[Door]) -> pa.RecordBatch:
    """Rows that have waited, as rows for the door that an island has now.

    Those of streams that it takes no more are left out. Parcels without a label were packed for the first of the doors.

    Args:
        rows: some columns that order them, and those of their door.
        now: the door of the island.
        earlier: doors that it had, the first one first.

    Raises:
        SparkRunError: they are for none of these doors.
    """
    if not earlier:
        return rows
    label = (rows.schema.metadata or {}).get(_LABEL, earlier[0].fingerprint)
    if label == now.fingerprint:
        return rows
    before = next((door for door in earlier if door.fingerprint == label), None)
    if before is None:
        raise SparkRunError("the checkpoint is damaged: rows wait in it that no form of its app has taken in")
    ordering = rows.num_columns - len(before.columns)
    numbers = {stream: number for number, (stream, _) in enumerate(now.inputs)}
    given = rows.columns[ordering:]
    came = given[0].to_numpy() if before.is_of_several else np.zeros(rows.num_rows, np.int32)
    went = np.full(rows.num_rows, _NOWHERE, np.int32)
    if now.is_of_several:
        went[came == _TICK] = _TICK  # for one that does not ask for time, it is nothing
    filled = [pa.nulls(rows.num_rows, ARROW_TYPES[kind]) for kind in now.kinds]
    for number, (stream, places) in enumerate(before.inputs):
        if stream not in numbers:
            continue
        mine = came == number
        went[mine] = numbers[stream]
        for place, target in zip(places, now.inputs[numbers[stream]][1], strict=True):
            filled[target] = pc.if_else(pa.array(mine), given[place], filled[target])
    if now.is_of_several:
        filled[0] = pa.array(went)
    names = [*rows.schema.names[:ordering], *now.columns]
    made = pa.RecordBatch.from_arrays([*rows.columns[:ordering], *filled], names=names)
    return labelled(made.filter(pa.array(went != _NOWHERE)), now.fingerprint)
