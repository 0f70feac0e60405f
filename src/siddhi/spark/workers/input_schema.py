"""Input schemas of engine fragments, and the upgrade of buffered rows to the schema of the form that runs now.

Every encoded record batch has the id of its schema in the metadata of its Arrow schema.
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
_DROPPED = -2


@dataclass(frozen=True, slots=True)
class InputSchema:
    """The columns of the rows that an engine fragment takes.

    Attributes:
        stream: the stream of the fragment's engine that takes the rows.
        columns: names of its attributes.
        kinds: types of its attributes.
        inputs: indexes of the columns of each input stream.
        assigned_id: id of a schema that replaced another one, which may have the same columns; "": the fingerprint is the id.
        dropped: input streams that a later form of the fragment did not read; their rows with this schema are discarded.
    """

    stream: str
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    inputs: tuple[tuple[str, tuple[int, ...]], ...]
    assigned_id: str = ""
    dropped: tuple[str, ...] = ()

    @classmethod
    def of(cls, program: FragmentProgram) -> InputSchema:
        """Return the schema of a fragment."""
        return cls(program.input_stream, program.columns, program.kinds, program.inputs)

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> InputSchema:
        """Return the schema that :meth:`to_json` gave."""
        stream, columns, kinds, inputs, *more = data
        assigned_id, dropped = more or ("", ())
        indexes = tuple((name, tuple(at)) for name, at in inputs)
        return cls(stream, tuple(columns), tuple(kinds), indexes, assigned_id, tuple(dropped))

    def to_json(self) -> list[Any]:
        """Return the schema as data for JSON."""
        inputs = [[stream, list(at)] for stream, at in self.inputs]
        listed: list[Any] = [self.stream, list(self.columns), list(self.kinds), inputs]
        return [*listed, self.assigned_id, list(self.dropped)] if self.assigned_id else listed

    @property
    def form(self) -> InputSchema:
        """The columns alone, without id."""
        return replace(self, assigned_id="", dropped=())

    @property
    def schema_id(self) -> str:
        """The assigned id, else a fingerprint of the columns: 16 hexadecimal digits."""
        return self.assigned_id or hashlib.sha256(json.dumps(self.form.to_json()).encode()).hexdigest()[:16]

    @property
    def streams(self) -> tuple[str, ...]:
        """The input streams."""
        return tuple(stream for stream, _ in self.inputs)

    @property
    def has_input_index(self) -> bool:
        """Whether the first column is the index of the input stream of a row."""
        return self.stream == INPUT_STREAM


def with_schema_id(rows: pa.RecordBatch, schema_id: str) -> pa.RecordBatch:
    """Return rows that name their schema."""
    return rows.replace_schema_metadata({_SCHEMA_ID: schema_id.encode()})


def upgrade_rows(rows: pa.RecordBatch, now: InputSchema, earlier: Sequence[InputSchema]) -> pa.RecordBatch:
    """Return buffered rows with the current schema, without those of streams that a form in between did not read.

    Args:
        rows: columns that order the rows, then those of their schema.
        now: schema of the fragment.
        earlier: its earlier schemas.

    Raises:
        SparkRunError: the rows have none of these schemas.
    """
    if not earlier:
        return rows
    schema_id = (rows.schema.metadata or {}).get(_SCHEMA_ID, b"").decode()
    if schema_id == now.schema_id:
        return rows
    before = next((schema for schema in earlier if schema.schema_id == schema_id), None)
    if before is None:
        raise SparkRunError(
            "damaged checkpoint: the schema of buffered rows is not in its manifest; restore the checkpoint from a backup or start "
            "with a new one"
        )
    ordering = rows.num_columns - len(before.columns)
    numbers = {stream: number for number, (stream, _) in enumerate(now.inputs)}
    given = rows.columns[ordering:]
    source = given[0].to_numpy() if before.has_input_index else np.zeros(rows.num_rows, np.int32)
    target = np.full(rows.num_rows, _DROPPED, np.int32)
    if now.has_input_index:
        target[source == _TICK] = _TICK  # a schema of one stream has no clock ticks
    filled = [pa.nulls(rows.num_rows, ARROW_TYPES[kind]) for kind in now.kinds]
    for number, (stream, indexes) in enumerate(before.inputs):
        if stream not in numbers or stream in before.dropped:
            continue
        mine = source == number
        target[mine] = numbers[stream]
        for index, new_index in zip(indexes, now.inputs[numbers[stream]][1], strict=True):
            filled[new_index] = pc.if_else(pa.array(mine), given[index], filled[new_index])
    if now.has_input_index:
        filled[0] = pa.array(target)
    names = [*rows.schema.names[:ordering], *now.columns]
    upgraded = pa.RecordBatch.from_arrays([*rows.columns[:ordering], *filled], names=names)
    return with_schema_id(upgraded.filter(pa.array(target != _DROPPED)), now.schema_id)
