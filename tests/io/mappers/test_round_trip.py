"""The law of the mappers: a source reads what the sink of the same mapper writes, for every type and hostile texts."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.avro import map_of, record
from tests.kit.mapping import published, read, write
from tests.kit.protobuf import module
from tests.kit.running import collect, running

SIX = "s string, i int, l long, f float, d double, b bool"
NAMES = ("string", "int", "long", "float", "double", "boolean")

Row = tuple[Any, ...]


class Law(NamedTuple):
    """How events of a mapper come back.

    Attributes:
        source: ``@map`` of the source.
        sink: ``@map`` of the sink.
        expected: what comes back of a row; None: the sink refuses it, or the format can't represent it.
        package: a package that it needs.
    """

    source: str
    sink: str
    expected: Callable[[Row], Row | None]
    package: str = "siddhi"


def same(row: Row) -> Row:
    return row


def of_json(row: Row) -> Row:
    return tuple(None if isinstance(value, float) and not math.isfinite(value) else value for value in row)


def of_csv(row: Row) -> Row | None:
    return None if row[0] == r"\N" else row


def of_text(row: Row) -> Row | None:
    # The layout escapes nothing: it ends a value at a comma and line feed.
    return None if row[0] is not None and ",\n" in f"{row[0]}\n" else row


def of_xml(row: Row) -> Row | None:
    text = row[0] or ""
    is_legal = all(character in "\t\n\r" or "\x20" <= character not in "\ufffe\uffff" for character in text)
    return row if is_legal else None


def of_binary(row: Row) -> Row | None:
    return None if None in row else (row[0] or None, *row[1:])


LAWS = {
    "passThrough": Law("@map(type = 'passThrough')", "@map(type = 'passThrough')", same),
    "json": Law("@map(type = 'json')", "@map(type = 'json', enable.null.attribute.value = 'true')", of_json),
    "csv": Law(
        r"@map(type = 'csv', null.text = '\N')",
        r"@map(type = 'csv', null.text = '\N', event.grouping.enabled = 'true')",
        of_csv,
    ),
    "xml": Law("@map(type = 'xml')", "@map(type = 'xml')", of_xml, "lxml"),
    "text": Law("@map(type = 'text')", "@map(type = 'text')", of_text),
    "keyvalue": Law("@map(type = 'keyvalue', fail.on.missing.attribute = 'false')", "@map(type = 'keyvalue')", same),
    "avro": Law(
        *[map_of(record(**{name: ["null", type_] for name, type_ in zip("silfdb", NAMES, strict=True)}))] * 2,
        same,
        "fastavro",
    ),
    "avro of the stream": Law(*["@map(type = 'avro')"] * 2, lambda row: None if None in row else row, "fastavro"),
    "protobuf": Law(*["@map(type = 'protobuf', class = 'trade_pb2:Six')"] * 2, same, "google.protobuf"),
    "binary": Law(*["@map(type = 'binary')"] * 2, of_binary),
}

HOSTILE = [
    "",
    " ",
    '"',
    '""',
    "'",
    "\\",
    "\n",
    "\r\n",
    ",",
    "\0",
    "\x1f",
    "null",
    "undefined",
    "true",
    r"\N",
    "\ufeff",
    "\u2028",
    "{{s}}",
    "<s>&amp;</s>",
    "]]>",
    'a",\ni:5',
    "~~~~~~~~~~",
    "#",
    "\t",
    "a ",
    "é€𐀀",
    "x" * 3000,
]
texts = st.none() | st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
floats = (
    st.none()
    | st.floats(width=32)
    | st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 2.0**-149, (2 - 2.0**-23) * 2.0**127])
)
doubles = st.none() | st.floats() | st.sampled_from([math.nan, math.inf, 5e-324, 1.7976931348623157e308])
ints = st.none() | st.integers(-(2**31), 2**31 - 1) | st.sampled_from([-(2**31), 2**31 - 1, 0])
longs = st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1])
rows = st.tuples(texts, ints, longs, floats, doubles, st.none() | st.booleans())


@pytest.fixture(scope="module", autouse=True)
def classes() -> Iterator[None]:
    pytest.importorskip("google.protobuf")
    with module("trade_pb2"):
        yield


def comparable(row: Row) -> Row:
    """Return a row in which floats are equal if they are the same: NaN, and zero by its sign. A float has 32 bits."""
    value = row[3]
    single = None if value is None else "nan" if math.isnan(value) else struct.pack("<f", value)
    return (*row[:3], single, repr(row[4]), row[5])


@pytest.mark.parametrize("name", LAWS)
@given(rows=st.lists(rows, min_size=1, max_size=4), chunk=st.booleans())
def test_a_source_reads_what_the_sink_writes(name: str, rows: list[Row], chunk: bool) -> None:
    law = LAWS[name]
    pytest.importorskip(law.package)
    written = [(row, law.expected(row)) for row in rows]
    kept = [row for row, expected in written if expected is not None]
    payloads = write(law.sink, SIX, kept, chunk=chunk and bool(kept))
    found = read(law.source, SIX, payloads)
    assert found.failed == []
    assert list(map(comparable, found.rows)) == [
        comparable(expected) for _, expected in written if expected is not None
    ]


@pytest.mark.parametrize("name", [name for name in LAWS if name not in ("passThrough", "keyvalue")])
def test_a_lone_surrogate_is_an_error_of_the_event(name: str) -> None:
    pytest.importorskip(LAWS[name].package)
    text = f"""@OnError(action = 'STREAM') @sink(type = 'inMemory', topic = 'law', {LAWS[name].sink})
    define stream S ({SIX});"""
    with published("law") as payloads, running(text) as runtime:
        failed = collect(runtime, "!S")
        runtime.input_handler("S").send(("a\ud800", 1, 1, 1.0, 1.0, True))
    assert payloads == []
    assert "MappingFailedError" in repr(failed[0][-1])


@pytest.mark.parametrize("name", LAWS)
def test_a_very_long_text_is_kept(name: str) -> None:
    pytest.importorskip(LAWS[name].package)
    row = ('é"<,x' * 200_000, 1, 2, 3.0, 4.0, True)
    assert read(LAWS[name].source, SIX, write(LAWS[name].sink, SIX, [row])).rows == [row]
