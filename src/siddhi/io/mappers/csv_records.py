"""Records of CSV texts: reading them, and writing their fields."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from siddhi.errors import MappingFailedError, SiddhiAppCreationError
from siddhi.io.options import OptionHolder

__all__ = ["CsvFormat", "column_of", "format_of"]

Record = list[str]

_LINE_END = re.compile(r"\r\n|\n|\r")


class CsvFormat(NamedTuple):
    """Delimiter of the fields, and whether blanks around them do not count."""

    delimiter: str
    trims: bool

    def reader(self) -> Callable[[str], list[Record]]:
        """Return the function that splits a text into its records, without empty lines.

        It raises MappingFailedError for a quoted field that does not end, or has text after it.
        """
        delimiter, trims = self
        field = _field(delimiter)
        plain = len(delimiter) == 1 and not trims

        def read(text: str) -> list[Record]:
            if '"' not in text:
                lines = _LINE_END.split(text) if "\r" in text else text.split("\n")
                if trims:
                    return [[part.strip(" ") for part in line.split(delimiter)] for line in lines if line]
                return [line.split(delimiter) for line in lines if line]
            if plain:
                try:
                    lines_of = io.StringIO(text, newline="")
                    return [record for record in csv.reader(lines_of, delimiter=delimiter, strict=True) if record]
                except csv.Error:
                    pass  # a field beyond the limit of the csv module, or blanks after a quoted one
            return _parse(text, field, trims=trims)

        return read

    def first_record_end(self) -> Callable[[str], int]:
        """Return the function that gives the index after the first record of a text, and the empty lines before it; 0: it has none.

        If a quoted field of the record has no end, or text after it, the record ends with its line.
        """
        delimiter, trims = self
        field = _field(delimiter)

        def end_of(text: str) -> int:
            start = len(text) - len(text.lstrip("\r\n"))
            at = start
            while at < len(text):
                found = field.match(text, at)
                assert found is not None  # the pattern accepts an empty text
                quoted, quoted_end, plain, plain_end = found.groups()
                if quoted is None and (plain.lstrip(" ") if trims else plain).startswith('"'):
                    line_end = _LINE_END.search(text, start)
                    return len(text) if line_end is None else line_end.end()
                at = found.end()
                if (plain_end if quoted is None else quoted_end) != delimiter:
                    return at
            return at if at > start else 0

        return end_of

    def line_scanner(self) -> Callable[[bytes, bool], bool | None]:
        """Return the function that tells whether a quoted field of a record goes on after a line.

        ``fn(line, is_open)`` takes a line without its line end, and whether a quoted field is open before it; it returns
        whether one is open after it, or None if there is text after the end of a quoted field.
        """
        delimiter = re.escape(self.delimiter.encode())
        blanks = b"" if self.delimiter[0] == " " else b" *"
        quote = re.compile(rb'%b"' % (blanks if self.trims else b"")).match
        quoted = re.compile(rb'[^"]*(?:""[^"]*)*').match
        after_quoted = re.compile(rb"%b(?:%b|\r|(\Z))" % (blanks, delimiter)).match
        after_plain = re.compile(rb"%b|\r" % delimiter).search

        def scan(line: bytes, is_open: bool) -> bool | None:
            at = 0
            while True:
                if not is_open:
                    opening = quote(line, at)
                    if opening is None:
                        found = after_plain(line, at)
                        if found is None:
                            return False
                        at = found.end()
                        continue
                    at = opening.end()
                is_open = False
                content = quoted(line, at)
                at = len(line) if content is None else content.end()
                if at == len(line):
                    return True
                closing = after_quoted(line, at + 1)
                if closing is None:
                    return None
                if closing[1] is not None:
                    return False
                at = closing.end()

        return scan

    def field_writer(self) -> Callable[[str], str]:
        """Return the function that quotes a field if it must be quoted.

        These fields are quoted: one that contains a quote, a line end or the delimiter, begins with a character up to ``#``, or
        ends with a blank or control character.
        """
        delimiter = self.delimiter
        special = re.compile(r'[\x00-#]|[^\r\n"]*["\r\n]|.*[\x00- ]\Z', re.DOTALL).match

        def write(text: str) -> str:
            # A field can also end with the first characters of the delimiter.
            if special(text) is None and (text + delimiter).find(delimiter) == len(text):
                return text
            return '"' + text.replace('"', '""') + '"'

        return write

    def record_writer(self) -> Callable[[Iterable[str]], str]:
        """Return the function that writes the fields of a record and a line feed; an empty first field is quoted."""
        delimiter, field = self.delimiter, self.field_writer()

        def write(fields: Iterable[str]) -> str:
            line = delimiter.join(map(field, fields))
            return ('""' if not line or line.startswith(delimiter) else "") + line + "\n"

        return write


def format_of(options: OptionHolder) -> CsvFormat:
    r"""Return the format by the option ``delimiter``; the two characters ``\t`` stand for a tab.

    Raises:
        SiddhiAppCreationError: the delimiter is empty, or contains a quote or line end.
    """
    delimiter = options.static("delimiter", ",")
    if not delimiter or any(character in delimiter for character in '"\r\n'):
        raise SiddhiAppCreationError(
            f"invalid delimiter {delimiter!r}: expected one or more characters other than quotes and line ends",
            code="E326",
        )
    return CsvFormat("\t", True) if delimiter == r"\t" else CsvFormat(delimiter, False)


def column_of(text: object, what: str) -> int:
    """Return the index of a column.

    Raises:
        SiddhiAppCreationError: the text is not a number from 0.
    """
    stripped = str(text).strip()
    if not (stripped.isascii() and stripped.isdecimal() and len(stripped) < 7):
        raise SiddhiAppCreationError(
            f"invalid column '{text}' of {what}", code="E326", hint="write the number of the column, from '0'"
        )
    return int(stripped)


def _field(delimiter: str) -> re.Pattern[str]:
    """Return the pattern of a field and the delimiter or line end after it."""
    blanks = "" if delimiter[0] == " " else " *"
    end = rf"({re.escape(delimiter)}|\r\n|\n|\r|\Z)"
    quoted = rf'{blanks if delimiter == chr(9) else ""}"([^"]*(?:""[^"]*)*)"{blanks}{end}'
    return re.compile(rf"{quoted}|([^\r\n]*?){end}")


def _parse(text: str, field: re.Pattern[str], *, trims: bool) -> list[Record]:
    records: list[Record] = []
    record: Record = []
    at, line = 0, 1
    while at < len(text) or record:
        found = field.match(text, at)
        assert found is not None  # the pattern accepts an empty text
        quoted, quoted_end, plain, plain_end = found.groups()
        if quoted is None and (plain.lstrip(" ") if trims else plain).startswith('"'):
            raise MappingFailedError(f"line {line}: a quoted field has no end, or text after it: {plain[:80]}")
        end = plain_end if quoted is None else quoted_end
        record.append((plain.strip(" ") if trims else plain) if quoted is None else quoted.replace('""', '"'))
        line += len(_LINE_END.findall(found[0]))
        at = found.end()
        if not end or end in ("\r\n", "\n", "\r"):
            if len(record) > 1 or quoted is not None or plain:
                records.append(record)
            record = []
            if not end:
                break
    return records
