"""Lines of CSV records: joining, blocks of any size, and what is left unread."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.io.file import splitting
from siddhi.io.file.splitting import Lines
from siddhi.io.mappers.csv_records import CsvFormat

FIELDS = st.text(alphabet='a,"\n\r \t;\ufeffé', max_size=6)
FORMATS = [CsvFormat(",", False), CsvFormat(";;", False), CsvFormat("\t", True)]


def payloads(lines: Lines, blocks: list[bytes]) -> list[tuple[str | bytes, int]]:
    found = [one for block in blocks for one in lines.feed(block)]
    return found + list(lines.finish())


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("format_", FORMATS)
@given(records=st.lists(st.lists(FIELDS, min_size=2, max_size=3), max_size=6), size=st.integers(1, 30))
def test_records_read_by_lines_are_those_of_the_text(format_: CsvFormat, records: list[list[str]], size: int) -> None:
    text = "x\n" + "".join(map(format_.record_writer(), records))
    read = format_.reader()
    lines = Lines(0, 0, 1000, format_.line_scanner())
    found = payloads(lines, cut(text.encode(), size))
    assert [record for payload, _ in found for record in read(str(payload))] == read(text)
    for payload, end in found:
        assert len(read(str(payload))) <= 1
        assert text.encode()[:end].rstrip(b"\r\n").endswith(str(payload).encode().rstrip(b"\r\n"))


@given(text=st.text(alphabet='a,"\n', max_size=40), size=st.integers(1, 40))
def test_no_byte_of_a_malformed_text_is_lost(text: str, size: int) -> None:
    lines = Lines(0, 0, 1000, CsvFormat(",", False).line_scanner())
    found = payloads(lines, cut(text.encode(), size))
    assert "".join(str(payload) for payload, _ in found).replace("\n", "") == text.replace("\n", "")
    assert [end for _, end in found] == sorted(end for _, end in found)


@given(records=st.lists(st.lists(FIELDS.filter(lambda text: "\r" not in text), min_size=2, max_size=3), max_size=6))
def test_records_equal_those_of_the_csv_module(records: list[list[str]]) -> None:
    written = io.StringIO()
    csv.writer(written, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(records)
    data = written.getvalue().encode()
    found = payloads(Lines(0, 0, 1000, CsvFormat(",", False).line_scanner()), [data])
    assert [next(csv.reader(io.StringIO(str(payload), newline=""))) for payload, _ in found] == records


def test_the_rest_contains_the_open_record() -> None:
    lines = Lines(0, 0, 1000, CsvFormat(",", False).line_scanner())
    data = b'\xef\xbb\xbfa,1\nb,"x\ny\nz'
    assert list(lines.feed(data)) == [("a,1", 7)]
    assert (lines.rest, lines.is_open) == (b'b,"x\ny\nz', True)


def test_a_record_beyond_the_limit_is_cut_at_its_first_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(splitting, "LARGEST_RECORD", 8)
    lines = Lines(0, 0, 1000, CsvFormat(",", False).line_scanner())
    assert [payload for payload, _ in lines.feed(b'"aaaa\nb,1\nc,2\nd,3\n')] == ['"aaaa', "b,1", "c,2", "d,3"]
