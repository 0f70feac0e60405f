"""A file (or standard input) as the events of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from siddhi.cli.endpoints import Endpoint, Format
from siddhi.cli.failures import BadInput
from siddhi.cli.schema import Chunk, InputSchema, unreadable_attributes


@dataclass(slots=True)
class BadLines:
    """What becomes of lines that can't be read: the first ends the run, or all are counted and passed over."""

    skip: bool
    warn: Callable[[str], None]
    count: int = 0
    shown: int = field(default=5)  # the first ones are told, the rest only counted

    def report(self, message: str) -> None:
        """Take note of a bad line.

        Raises:
            BadInput: bad lines are not to be skipped.
        """
        if not self.skip:
            raise BadInput(message)
        self.count += 1
        if self.count <= self.shown:
            self.warn(f"skipped: {message}")
        elif self.count == self.shown + 1:
            self.warn("skipped: more bad lines, from here on only counted")


class Source(Protocol):
    """Events of one stream in the order of its input."""

    stream: str
    total_bytes: int | None  # None: not known, as with a pipe

    @property
    def done_bytes(self) -> int:
        """How much of the input is read."""

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events; raises BadInput."""

    def close(self) -> None:
        """Close the input."""


def open_source(
    endpoint: Endpoint, attributes: list[tuple[str, str]], timestamp: str | None, bad_lines: BadLines
) -> Source:
    """Open an input and check that it has the columns of its stream.

    Args:
        endpoint: which stream, which file.
        attributes: (name, SiddhiQL type) of the stream.
        timestamp: the column of event times, if there is one.
        bad_lines: told of every line that can't be read.

    Raises:
        BadInput: the file can't be read, or lacks a column.
    """
    for name in unreadable_attributes(attributes):
        raise BadInput(f"attribute '{name}' of stream '{endpoint.stream}' is an object, which no file holds")
    schema = InputSchema(endpoint.stream, tuple(attributes), timestamp)
    if endpoint.format is Format.PARQUET:
        from siddhi.cli.inputs.parquet import ParquetSource

        return ParquetSource(endpoint, schema, bad_lines)
    from siddhi.cli.inputs.text import TextSource

    return TextSource(endpoint, schema, bad_lines)
