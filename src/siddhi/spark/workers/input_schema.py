"""The doors of islands: what the rows of each are like, and how rows that wait for an earlier door pass the one there is now.

Every parcel of rows bears the label of the door it was packed for, as metadata of its Arrow schema.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from siddhi.errors import SparkRunError
from siddhi.spark.plan.naming import INPUT_STREAM
from siddhi.spark.workers.program import FragmentProgram
from siddhi.spark.workers.shard import ARROW_TYPES

__all__ = ["InputSchema", "upgrade_rows", "with_schema_id"]

_SCHEMA_ID = b"siddhi.door"
_TICK = -1
_NOWHERE = -2


@dataclass(frozen=True, slots=True)
class InputSchema:
    """What rows are like that go into an island.

    Attributes:
        stream: that takes them.
        columns: names of its attributes.
        kinds: their types.
        inputs: per stream that comes in, the columns of its attributes.
        label: tells it apart from others that the island had, which may be alike; "": its fingerprint does.
        dropped: streams that the island has not read since: their rows are left behind.
    """

    stream: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    assigned_id: str = ""
    dropped: tuple[str, ...] = ()

    @classmethod
    def of(cls, program: FragmentProgram) -> InputSchema:
        """That of an island."""
        return cls(program.input_stream, program.columns, program.kinds, program.inputs)

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> InputSchema:
        """What :meth:`to_json` gave."""
        stream, columns, kinds, inputs, *more = data
        assigned_id, dropped = more or ("", ())
        read = tuple((name, tuple(at)) for name, at in inputs)
        return cls(stream, tuple(columns), tuple(kinds), read, assigned_id, tuple(dropped))

    def to_json(self) -> list[Any]:
        """As lists and texts."""
        inputs = [[stream, list(at)] for stream, at in self.inputs]
        listed: list[Any] = [self.stream, list(self.columns), list(self.kinds), inputs]
        return [*listed, self.assigned_id, list(self.dropped)] if self.assigned_id else listed

    @property
    def form(self) -> InputSchema:
        """What its rows are like, and nothing else."""
        return replace(self, assigned_id="", dropped=())

    @property
    def schema_id(self) -> str:
        """Its label, else a fingerprint of what its rows are like: 16 hexadecimal digits."""
        return self.assigned_id or hashlib.sha256(json.dumps(self.form.to_json()).encode()).hexdigest()[:16]

    @property
    def streams(self) -> tuple[str, ...]:
        """What comes in."""
        return tuple(stream for stream, _ in self.inputs)

    @property
    def is_of_several(self) -> bool:
        """Whether its first column says from which input a row is."""
        return self.stream == INPUT_STREAM


def with_schema_id(rows: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """Rows that say for which door they are, by its name."""
    return rows.replace_schema_metadata({_SCHEMA_ID: name.encode()})


def upgrade_rows(rows: pa.RecordBatch, now: InputSchema, earlier: Sequence[InputSchema]) -> pa.RecordBatch:
    """Rows that have waited, as rows for the door that an island has now.

    Those of streams that it has not taken at some time since are left out. Parcels without a label were packed for the first of the doors.

    Args:
        rows: some columns that order them, and those of their door.
        now: the door of the island.
        earlier: doors that it had, the first one first.

    Raises:
        SparkRunError: they are for none of these doors.
    """
    if not earlier:
        return rows
    name = (rows.schema.metadata or {}).get(_SCHEMA_ID, earlier[0].schema_id.encode()).decode()
    if name == now.schema_id:
        return rows
    before = next((schema for schema in earlier if schema.schema_id == name), None)
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
        if stream not in numbers or stream in before.dropped:
            continue
        mine = came == number
        went[mine] = numbers[stream]
        for place, target in zip(places, now.inputs[numbers[stream]][1], strict=True):
            filled[target] = pc.if_else(pa.array(mine), given[place], filled[target])
    if now.is_of_several:
        filled[0] = pa.array(went)
    names = [*rows.schema.names[:ordering], *now.columns]
    made = pa.RecordBatch.from_arrays([*rows.columns[:ordering], *filled], names=names)
    return with_schema_id(made.filter(pa.array(went != _NOWHERE)), now.schema_id)
