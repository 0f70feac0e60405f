"""Inputs as sources of events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from siddhi.cli.endpoints import Endpoint, Format
from siddhi.cli.failures import BadInput
from siddhi.cli.schema import Chunk, InputSchema, unreadable_attributes


@dataclass(slots=True)
class BadLines:
    """Policy for lines that can't be read: the first ends the run, or all are counted and skipped."""

    skip: bool
    warn: Callable[[str], None]
    count: int = 0
    shown: int = field(default=5)  # number of bad lines to print; further ones are only counted

    def report(self, message: str) -> None:
        """Count a bad line.

        Raises:
            BadInput: bad lines are not skipped.
        """
        if not self.skip:
            raise BadInput(message)
        self.count += 1
        if self.count <= self.shown:
            self.warn(f"skipped: {message}")
        elif self.count == self.shown + 1:
            self.warn("skipped: further bad lines are counted but not shown")


class Source(Protocol):
    """Events of one stream in the order of its input."""

    stream: str
    total_bytes: int | None  # None: unknown, as for a pipe

    @property
    def done_bytes(self) -> int:
        """Number of bytes read so far."""

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events; raise BadInput."""

    def close(self) -> None:
        """Close the input."""


def open_source(
    endpoint: Endpoint, attributes: list[tuple[str, str]], timestamp: str | None, bad_lines: BadLines
) -> Source:
    """Open an input and check that it has the columns of its stream.

    Args:
        endpoint: stream and file.
        attributes: names and SiddhiQL types of the stream's attributes.
        timestamp: column of event times; None: there is none.
        bad_lines: policy for lines that can't be read.

    Raises:
        BadInput: the file can't be read, or a column is missing.
    """
    for name in unreadable_attributes(attributes):
        raise BadInput(
            f"attribute '{name}' of stream '{endpoint.stream}' has type object, which can't be read from files"
        )
    schema = InputSchema(endpoint.stream, tuple(attributes), timestamp)
    if endpoint.format is Format.PARQUET:
        from siddhi.cli.inputs.parquet import ParquetSource

        return ParquetSource(endpoint, schema, bad_lines)
    from siddhi.cli.inputs.text import TextSource

    return TextSource(endpoint, schema, bad_lines)
