"""Reads events from lines of text by blocks; a block that can't be read is bisected to find the bad line.

A valid block costs one call of an Arrow reader. Line numbers are computed by counting line ends, which is cheap. Blocks and
single lines are read by the same reader, so that errors do not depend on block boundaries.
"""

from __future__ import annotations

from collections.abc import Iterator

from siddhi.cli.endpoints import Endpoint, Format
from siddhi.cli.failures import BadInput
from siddhi.cli.formats.csv import CsvFormat, header_of
from siddhi.cli.formats.json import SAMPLE_LINES, JsonLinesFormat
from siddhi.cli.formats.text import READ_ERRORS, TextFormat
from siddhi.cli.inputs.bytes import ByteSource
from siddhi.cli.inputs.source import BadLines
from siddhi.cli.schema import Chunk, InputSchema


class TextSource:
    """A .csv or .jsonl file, or JSON lines from standard input."""

    def __init__(self, endpoint: Endpoint, schema: InputSchema, bad_lines: BadLines) -> None:
        self.stream = endpoint.stream
        self._bytes = ByteSource(endpoint)
        self.total_bytes = self._bytes.total_bytes
        self._pieces = self._bytes.pieces()
        self._bad_lines = bad_lines
        self._line = 1  # number of the first line in _data
        self._data = b""  # bytes read that are not parsed yet
        try:
            self._format = self._recognise(endpoint.format, schema)
        except BaseException:
            self._bytes.close()
            raise

    @property
    def done_bytes(self) -> int:
        """Bytes of the input read so far."""
        return self._bytes.done_bytes

    def chunks(self) -> Iterator[Chunk]:
        """Yield the events block by block.

        Raises:
            BadInput: the file can't be read, or has a bad line and bad lines are not skipped.
        """
        yield from self._whole_records()
        for piece in self._pieces:
            self._data += piece
            yield from self._whole_records()
        block, self._data = self._data, b""
        if block:
            yield from self._read(block)

    def _recognise(self, form: Format, schema: InputSchema) -> TextFormat:
        name = self._bytes.name
        if form is Format.JSONL:
            # A pipe may not deliver more than its first line for a long time.
            enough = SAMPLE_LINES if self.total_bytes is not None else 1
            while self._data.count(b"\n") < enough and self._fetch():
                pass
            return JsonLinesFormat(self._data, schema, name)
        while not (end := header_of(self._data)) and self._fetch():
            pass
        if not self._data:
            raise BadInput(f"{name} is empty: expected a header line with the names of the columns")
        header, self._data = self._data[: end or None], self._data[end:] if end else b""
        if header.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise BadInput(f"{name} is UTF-16: convert it to UTF-8")
        if b"\r" in header.rstrip(b"\r\n") and b'"' not in header:
            raise BadInput(f"{name}: its lines end with CR: convert the line ends to LF or CRLF")
        self._line += header.count(b"\n")
        return CsvFormat(header, schema, name)

    def _fetch(self) -> bool:
        piece = next(self._pieces, b"")
        self._data += piece
        return bool(piece)

    def _whole_records(self) -> Iterator[Chunk]:
        while end := self._format.cut(self._data):
            block, self._data = self._data[:end], self._data[end:]
            yield from self._read(block)

    def _read(self, block: bytes) -> Iterator[Chunk]:
        line = self._line
        self._line += block.count(b"\n")
        try:
            chunk = self._format.read(block)
        except READ_ERRORS:
            yield from self._read_halves(self._format.records(block), line)
        else:
            if len(chunk):
                yield chunk

    def _read_halves(self, records: list[bytes], line: int) -> Iterator[Chunk]:
        """Bisect records that contain at least one bad record."""
        if len(records) == 1:
            fault = self._format.explain(records[0])
            # The column follows without "line": "trades.csv, line 7, column 'price': 'x' is not a double".
            joint = ", " if fault.column is not None else ": "
            self._bad_lines.report(f"{self._bytes.name}, line {line}{joint}{fault}")
            return
        middle = len(records) // 2
        for half in (records[:middle], records[middle:]):
            data = b"".join(half)
            try:
                chunk = self._format.read(data)
            except READ_ERRORS:
                yield from self._read_halves(half, line)
            else:
                if len(chunk):
                    yield chunk
            line += data.count(b"\n")

    def close(self) -> None:
        """Close the input."""
        self._bytes.close()
