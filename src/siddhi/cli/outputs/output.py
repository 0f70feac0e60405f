"""Output writer: writes the batches of a callback to a file."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any, Protocol

import pyarrow as pa

from siddhi._arrays import python_value
from siddhi.cli.endpoints import Endpoint
from siddhi.cli.failures import OutputFailed, reason
from siddhi.cli.outputs.writers import Writer, open_writer, output_schema
from siddhi.cli.schema import ARROW_TYPES

_MANY_ROWS = 1 << 13  # formatting works on whole columns; smaller batches are buffered


class ReaderGone(Exception):  # noqa: N818 - an end, not an error
    """The reader of standard output has closed it."""


class EventColumns(Protocol):
    """The part of an event batch that is used here."""

    @property
    def timestamps(self) -> Any:
        """Event times in ms, int64."""

    def column(self, name: str) -> Any:
        """Return the values of an attribute."""

    def __len__(self) -> int:
        """Number of events."""


class OutputWriter:
    """Writes the events of one stream to one output.

    The engine logs errors of a callback and goes on. A full disk must end the run instead, so an error is stored and raised
    by the next :meth:`flush` or :meth:`close`, which are called outside the engine.
    """

    def __init__(
        self, endpoint: Endpoint, attributes: Sequence[tuple[str, str]], *, timestamp: str | None, labelled: bool
    ) -> None:
        """Open the output.

        Raises:
            OutputFailed: the output can't be created.
        """
        self.stream = endpoint.stream
        self.name = "standard output" if endpoint.is_standard else endpoint.path
        self.is_standard = endpoint.is_standard
        self.count = 0
        self._attributes = list(attributes)
        self._timestamp = timestamp
        self._schema = output_schema(attributes, timestamp)
        objects = frozenset(name for name, kind in attributes if kind not in ARROW_TYPES)
        self._has_objects = bool(objects)
        label = endpoint.stream if labelled else None
        try:
            self._writer: Writer = open_writer(endpoint, self._schema, json_columns=objects, label=label)
        except OSError as error:
            raise OutputFailed(f"cannot write {self.name}: {reason(error)}") from error
        self._buffered: list[pa.RecordBatch] = []
        self._rows = 0
        self._failure: Exception | None = None
        self._owner = threading.get_ident()
        self._lock = threading.Lock()

    def take(self, batch: EventColumns) -> None:
        """Buffer or write a batch (batch callback)."""
        with self._lock:
            if self._failure is not None:
                return
            try:
                self._buffered.append(self._columns(batch))
                self._rows += len(batch)
                self.count += len(batch)
                # Batches from a timer or worker thread are written at once: the next one may come much later.
                if self._rows >= _MANY_ROWS or threading.get_ident() != self._owner:
                    self._write()
            except Exception as error:  # noqa: BLE001 - raised by flush, in the thread of the run
                self._failure = error

    def flush(self) -> None:
        """Write buffered batches.

        Raises:
            ReaderGone: standard output is closed.
            OutputFailed: the output can't be written.
        """
        with self._lock:
            try:
                if self._failure is None:
                    self._write()
            except OSError as error:
                self._failure = error
            self._raise()

    def close(self) -> None:
        """Write buffered batches and close the file; raise as :meth:`flush` does."""
        with self._lock:
            try:
                if self._failure is None:
                    self._write()
            except OSError as error:
                self._failure = error
            try:
                self._writer.close()
            except OSError as error:
                self._failure = self._failure or error
            self._raise()

    def _raise(self) -> None:
        error = self._failure
        if isinstance(error, BrokenPipeError):
            raise ReaderGone from error
        if isinstance(error, OSError):
            raise OutputFailed(f"cannot write {self.name}: {reason(error)}") from error
        if error is not None:
            raise error

    def _write(self) -> None:
        if self._rows:
            table = pa.Table.from_batches(self._buffered, self._schema)
            self._buffered, self._rows = [], 0
            for batch in table.combine_chunks().to_batches():
                self._writer.write(batch)

    def _columns(self, batch: EventColumns) -> pa.RecordBatch:
        if self._has_objects:  # Arrow has no type object: convert value by value
            arrays = [_array(batch.column(name), kind) for name, kind in self._attributes]
        else:
            columns = pa.record_batch(batch)
            arrays = [columns.column(name).cast(ARROW_TYPES[kind]) for name, kind in self._attributes]
        if self._timestamp is not None:
            arrays.insert(0, pa.array(batch.timestamps, pa.int64()))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)


def _array(values: Sequence[object], kind: str) -> pa.Array:
    if kind in ARROW_TYPES:
        return pa.array(values, ARROW_TYPES[kind])
    return pa.array([_json_text(value) for value in values], pa.string())


def _json_text(value: object) -> str | None:
    return None if value is None else json.dumps(value, default=_json_of, ensure_ascii=False)


def _json_of(value: object) -> object:
    """Convert an object for JSON: sets become sorted lists, other objects their text."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    plain = python_value(value)
    return str(value) if plain is value else plain
