"""Cuts the content of files, and of what is read like files, into payloads: lines or matches of patterns."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.file.content import BOM, text_of
from siddhi.io.file.matches import Matches, compiled
from siddhi.io.options import OptionHolder

__all__ = ["LARGEST_LINE", "LARGEST_RECORD", "Cutting", "LineScanner", "Lines", "Splitter"]

LARGEST_LINE = 64 * 1024 * 1024
"""Bytes of the largest line or match; a larger one is a failure of its file, or left out while tailing."""

LARGEST_RECORD = 1024 * 1024
"""Bytes of the largest record of several lines."""
_MOST_LINES = 10_000

LineScanner = Callable[[bytes, bool], "bool | None"]
"""``fn(line, is_open)``: whether a quoted field is open after a line, given whether one is open before; None: it is malformed."""


class Lines:
    """Splits blocks of a file into lines, or into records that may have line ends inside quotes.

    A record whose quoted field has no end, is malformed, or has more than :data:`LARGEST_RECORD` bytes or 10,000 lines, is
    not joined: its first line is a payload of its own, and the next record begins with the line after it.

    Args:
        offset: offset of the first block.
        skipped: number of lines to skip.
        largest: bytes of the largest line.
        scanner: joins the lines of a record; None: each line is a payload.

    Attributes:
        end: offset after the blocks.
    """

    is_unfinished = False  # the last line is delivered without a line end, too

    def __init__(self, offset: int, skipped: int, largest: int, scanner: LineScanner | None = None) -> None:
        self.end = offset
        self._scanner = scanner
        self._open: list[tuple[bytes, int]] = []  # lines of the record that has no end yet, with the offsets after them
        self._open_size = 0
        self._offset = offset  # of the rest
        self._rest = b""
        self._skipped = skipped
        self._largest = largest

    @property
    def rest(self) -> bytes:
        """The bytes after the last complete line or record."""
        return b"".join([line + b"\n" for line, _ in self._open]) + self._rest

    @property
    def is_open(self) -> bool:
        """Whether a record waits for the end of a quoted field."""
        return bool(self._open)

    def feed(self, block: bytes) -> Iterator[tuple[str | bytes, int]]:
        """Return the lines that a block completes, each with the offset after it; empty ones are left out.

        Raises:
            ValueError: a line is larger than ``largest``.
        """
        self.end += len(block)
        *lines, self._rest = (self._rest + block).split(b"\n")
        for line in lines:
            self._offset += len(line) + 1
            yield from self._line(line, self._offset)
        if len(self._rest) > self._largest:
            raise ValueError(f"a line of more than {self._largest} bytes")

    def settle(self, *, at_rest: bool) -> Iterator[tuple[str | bytes, int]]:
        """Return nothing: a line is complete with its line end."""
        return iter(())

    def skip(self) -> None:
        """Leave out the line that is too large, also the rest of it."""
        self._offset, self._rest, self._skipped = self.end, b"", 1
        self._open, self._open_size = [], 0

    def finish(self) -> Iterator[tuple[str | bytes, int]]:
        """Return the last line, if it has no line end, and the lines of a record without its end."""
        rest, self._rest = self._rest, b""
        if rest:
            yield from self._line(rest, self.end)
        while self._open:
            yield from self._released()

    def _line(self, line: bytes, end: int) -> Iterator[tuple[str | bytes, int]]:
        if self._skipped:
            self._skipped -= 1
            return
        if self._scanner is None or (not self._open and b'"' not in line):
            yield from self._payload(line, end)
        else:
            yield from self._joined(self._scanner, [(line, end)])

    def _joined(self, scanner: LineScanner, lines: list[tuple[bytes, int]]) -> Iterator[tuple[str | bytes, int]]:
        """Return the records that lines complete."""
        left = deque(lines)
        while left:
            line, end = left.popleft()
            bare = line.removeprefix(BOM) if end - len(line) <= 1 else line
            is_open = scanner(bare.removesuffix(b"\r"), bool(self._open))
            self._open.append((line, end))
            self._open_size += len(line)
            if is_open is False:
                record = b"\n".join([part for part, _ in self._open])
                self._open, self._open_size = [], 0
                yield from self._payload(record, end)
            elif is_open is None or self._open_size > LARGEST_RECORD or len(self._open) > _MOST_LINES:
                first, *others = self._open
                self._open, self._open_size = [], 0
                left.extendleft(reversed(others))
                yield from self._payload(*first)

    def _released(self) -> Iterator[tuple[str | bytes, int]]:
        """Return the first line of the record without its end, and the records that the lines after it complete."""
        first, *others = self._open
        self._open, self._open_size = [], 0
        yield from self._payload(*first)
        if self._scanner is not None:
            yield from self._joined(self._scanner, others)

    def _payload(self, line: bytes, end: int) -> Iterator[tuple[str | bytes, int]]:
        if end - len(line) <= 1 and line.startswith(BOM):
            line = line.removeprefix(BOM)
        text = text_of(line.removesuffix(b"\r"))
        if text:
            yield text, end


Splitter = Lines | Matches


@dataclass(frozen=True, slots=True)
class Cutting:
    """How content is cut: the options ``mode``, ``begin.regex``, ``end.regex`` and those of a header.

    Attributes:
        mode: one of the modes; regex without a pattern is line.
        begin: in the mode regex the compiled pattern of the beginnings of payloads, or None.
        end: that of their ends, or None.
        skipped: number of lines of the header.
    """

    mode: str
    begin: Any
    end: Any
    skipped: int

    @classmethod
    def read(cls, owner: str, options: OptionHolder, modes: tuple[str, ...]) -> Cutting:
        """Read the options.

        Args:
            owner: for messages, such as ``source 'file'``.
            options: the options.
            modes: the modes that there are.

        Raises:
            SiddhiAppCreationError: an option is invalid, or can't be combined with another one.
        """
        mode = options.choice("mode", modes, "line")
        names = [name for name in ("begin.regex", "end.regex") if name in options]
        if mode != "regex" and names:
            raise SiddhiAppCreationError(f"{owner}: '{names[0]}' needs the mode regex", code="E326")
        if names and "header.present" in options:
            raise SiddhiAppCreationError(f"{owner}: 'header.present' needs the mode line", code="E326")
        has_header = options.flag("header.present", default=False)
        lines = options.integer("header.line.count", 1, least=1)
        if not has_header:
            options.without_effect(("header.line.count",), "header.present = 'true'")
        found = {name: compiled(owner, name, options.static(name)) for name in names}
        return cls(
            mode="line" if mode == "regex" and not names else mode,
            begin=found.get("begin.regex"),
            end=found.get("end.regex"),
            skipped=lines if has_header else 0,
        )

    def first_byte(self, offset: int) -> int:
        """Return the offset from which to read to go on at an offset: patterns such as ``^`` look at the byte before it."""
        return offset if self.begin is None and self.end is None else max(offset - 1, 0)

    def splitter(self, offset: int, before: bytes, scanner: LineScanner | None) -> Splitter:
        """Return what cuts the content from an offset on.

        Args:
            offset: the offset.
            before: the bytes from :meth:`first_byte` to the offset.
            scanner: joins the lines of a record; None: each line is a payload.
        """
        if self.begin is None and self.end is None:
            return Lines(offset, 0 if offset else self.skipped, LARGEST_LINE, scanner)
        return Matches(offset, before, self.begin, self.end, LARGEST_LINE)
