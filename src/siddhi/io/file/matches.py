"""Cuts the content of a file into the matches of two patterns: the mode ``regex`` of the source ``file``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.file.content import BOM, text_of

__all__ = ["Matches", "compiled"]

LONGEST_DELIMITER = 64 * 1024
"""Bytes of the longest text that a pattern is certain to match as a whole."""


def compiled(owner: str, name: str, pattern: str) -> Any:
    """Compile a pattern of an option; ``^`` and ``$`` match at line ends, too.

    Args:
        owner: for messages, such as ``source 'file'``.
        name: the option.
        pattern: its text.

    Raises:
        SiddhiAppCreationError: it is invalid or matches the empty text, or the library is not installed.
    """
    try:
        import re2
    except ImportError:
        raise SiddhiAppCreationError(
            f"option '{name}' of {owner} needs the package google-re2", code="E326", hint="pip install 'siddhi[text]'"
        ) from None
    options = re2.Options()
    options.log_errors = False
    try:
        found = re2.compile(f"(?m){pattern}", options)
    except re2.error as error:
        why = error.args[0] if error.args else ""
        raise SiddhiAppCreationError(
            f"invalid option '{name}' of {owner}: {why.decode() if isinstance(why, bytes) else why}",
            code="E326",
            hint="patterns are those of RE2: without back references and look-around",
        ) from None
    if found.search("") is not None:
        raise SiddhiAppCreationError(
            f"invalid option '{name}' of {owner}: '{pattern}' matches the empty text",
            code="E326",
            hint="write a pattern of at least one character",
        )
    return found


class Matches:
    """Cuts blocks of a file into matches: from a match of ``begin`` to the next match of ``end``, both included.

    Without ``end`` a match reaches to the next ``begin``; without ``begin`` it starts where the one before ends. Where a block
    ends makes no difference, except for a pattern that is matched at the end of the file (see :meth:`settle`).

    Args:
        offset: offset of the first block.
        before: the byte before it, which patterns such as ``^`` look at; empty at the beginning.
        begin: compiled pattern, or None.
        end: compiled pattern, or None; not both are None.
        largest: bytes of the largest match.

    Attributes:
        end: offset after the blocks.
    """

    def __init__(self, offset: int, before: bytes, begin: Any, end: Any, largest: int) -> None:
        self.end = offset
        self._begins, self._ends, self._largest = begin, end, largest
        self._text = before
        self._base = offset - len(before)  # offset of the text
        # Places in the text: where the current match starts (None: not found yet), and where the next search starts.
        self._start: int | None = len(before) if begin is None else None
        self._from = len(before)
        self._skips = False

    def feed(self, block: bytes) -> Iterator[tuple[str | bytes, int]]:
        """Return the matches that a block completes, each with the offset after it.

        Raises:
            ValueError: a match is larger than ``largest``.
        """
        self.end += len(block)
        self._text += block
        if self._base == 0:
            if BOM.startswith(self._text):
                return
            if self._text.startswith(BOM):
                self._text, self._base = self._text[len(BOM) :], len(BOM)
        yield from self._found(LONGEST_DELIMITER)

    def settle(self, *, at_rest: bool) -> Iterator[tuple[str | bytes, int]]:
        """Return the matches up to the present end of a growing file.

        Args:
            at_rest: whether the file has not grown since the last call: then a pattern may match up to the very end, although
                a longer match is possible when the file grows on.

        Raises:
            ValueError: a match is larger than ``largest``.
        """
        yield from self._found(0 if at_rest else 1)

    def finish(self) -> Iterator[tuple[str | bytes, int]]:
        """Return the last matches: the file is complete.

        Raises:
            ValueError: a match is larger than ``largest``.
        """
        yield from self._found(0)
        if self._ends is None and self._start is not None:
            yield text_of(self._text[self._start :]), self.end

    @property
    def is_unfinished(self) -> bool:
        """Whether there is more than blanks of a match without its end."""
        return self._ends is not None and self._start is not None and bool(self._text[self._start :].strip())

    @property
    def is_open(self) -> bool:
        """False: the source warns of a match without its end when the file is complete."""
        return False

    def skip(self) -> None:
        """Leave out the match that is too large; the next one begins after it."""
        self._skips = self._begins is None
        self._text, self._base = self._text[-1:], self.end - len(self._text[-1:])
        self._from = len(self._text)
        self._start = self._from if self._begins is None else None

    def _found(self, margin: int) -> Iterator[tuple[str | bytes, int]]:
        """Return the matches whose delimiters end at least some bytes before the end of the text."""
        while True:
            pattern = self._begins if self._start is None or self._ends is None else self._ends
            place = self._search(pattern, margin)
            if place is None:
                break
            first, last = place
            if self._start is None:
                self._start, self._from = first, last
                continue
            cut = last if self._ends is not None else first
            payload = self._text[self._start : cut]
            self._from = last
            if self._ends is None or self._begins is None:
                self._start = cut
            else:
                self._start = None
            skips, self._skips = self._skips, False
            if not skips:
                yield text_of(payload), self._base + cut
        self._drop()
        if self._start is not None and len(self._text) - margin - self._start > self._largest:
            raise ValueError(f"a match of more than {self._largest} bytes")

    def _search(self, pattern: Any, margin: int) -> tuple[int, int] | None:
        size = len(self._text)
        at = self._from
        while (found := pattern.search(self._text, at)) is not None:
            first, last = found.start(), found.end()
            if last > size - margin:
                self._from = min(max(self._from, size - LONGEST_DELIMITER), first)
                return None
            if last > first:
                return first, last
            at = first + 1  # an empty match cuts nothing
        self._from = max(self._from, size - LONGEST_DELIMITER)
        return None

    def _drop(self) -> None:
        """Forget the text that is not needed any more, but for one byte before the place of the next search."""
        kept = self._from if self._start is None else min(self._start, self._from)
        if kept > 1:
            self._text = self._text[kept - 1 :]
            self._base += kept - 1
            self._from -= kept - 1
            if self._start is not None:
                self._start -= kept - 1
