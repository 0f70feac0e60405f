"""The binary mapper: the layout of messages, timestamps, broken messages; and the way back through a source."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event
from siddhi.errors import SiddhiAppCreationError
from siddhi.io import InMemoryBroker
from tests.kit.mapping import published, read, write
from tests.kit.running import collect, collect_events, running

DEFAULT = "@map(type = 'binary')"
SIX = "s string, i int, l long, f float, d double, b bool"
EXAMPLE = bytes.fromhex("00000001 0000000000000001 00000002 4142 3fc00000 00000007")


def test_the_layout_of_a_message() -> None:
    attributes = "symbol string, price float, volume int"
    assert write(DEFAULT, attributes, [Event(1, ("AB", 1.5, 7))]) == [EXAMPLE]
    assert read(DEFAULT, attributes, [EXAMPLE, bytearray(EXAMPLE), memoryview(EXAMPLE)]).rows == [("AB", 1.5, 7)] * 3


def test_events_have_the_timestamps_of_the_message() -> None:
    text = f"@source(type = 'inMemory', topic = 'binary', {DEFAULT}) define stream S (v int);"
    message = struct.pack(">iqiqi", 2, 17, 1, 18, 2)
    with running(text) as runtime:
        chunks = collect_events(runtime, "S")
        InMemoryBroker.publish("binary", message)
    assert [[(event.timestamp, event.data) for event in chunk] for chunk in chunks] == [[(17, (1,)), (18, (2,))]]


def test_a_chunk_is_one_message() -> None:
    (message,) = write(DEFAULT, "s string, o object", [("é", [1]), ("", None)], chunk=True)
    assert message == struct.pack(">iqi2siqii", 2, 1, 2, "é".encode(), 0, 1, 0, 0)
    assert read(DEFAULT, "s string, o object", [message]).chunks == [[("é", None), (None, None)]]


@pytest.mark.parametrize("value", [None, "\ud800"])
def test_a_value_outside_of_the_format_goes_to_the_error_handling_of_the_stream(value: Any) -> None:
    text = f"""@OnError(action = 'STREAM') @sink(type = 'inMemory', topic = 'binary', {DEFAULT})
    define stream S (s string, i int);"""
    with published("binary") as payloads, running(text) as runtime:
        failed = collect(runtime, "!S")
        runtime.input_handler("S").send((value, 1))
    assert payloads == []
    assert "attribute 's'" in str(failed[0][-1])


@pytest.mark.parametrize(
    ("payload", "cause"),
    [
        (b"", "the message has 0 bytes"),
        (b"\xff\xff\xff\xff", "the number of events in the message is -1"),
        (b"\x7f\xff\xff\xff", "the message ends in event 1 of 2147483647, at byte 4"),
        (EXAMPLE[:-1], "the message ends in event 1 of 1, at byte 25"),
        (EXAMPLE + b"x", "the message has 1 bytes after its 1 events"),
        (EXAMPLE[:12] + b"\xff\xff\xff\xff" + EXAMPLE[16:], "attribute 'symbol': -1 is not the length of a text"),
        (EXAMPLE[:12] + b"\x00\xff\xff\xff" + EXAMPLE[16:], "attribute 'symbol': 16777215 is not the length of a text"),
        (EXAMPLE.replace(b"AB", b"\xff\xff"), "attribute 'symbol': 'utf-8' codec can't decode"),
        ("text", "expected bytes, got str"),
    ],
)
def test_a_message_without_the_format_is_stored_with_its_cause(payload: Any, cause: str) -> None:
    found = read(DEFAULT, "symbol string, price float, volume int", [payload])
    assert found.rows == []
    ((why, stored),) = found.failed
    assert cause in why
    assert stored == payload


def test_messages_of_a_fixed_length_must_have_it() -> None:
    found = read(
        DEFAULT, "i int, b bool", [struct.pack(">iqi?qi?", 2, 1, 1, True, 2, 2, False), b"\x00\x00\x00\x01abc"]
    )
    assert found.chunks == [[(1, True), (2, False)]]
    ((cause, _),) = found.failed
    assert cause == "MappingFailedError: the message has 7 bytes, expected 17 for its 1 events"


def test_an_object_must_be_empty() -> None:
    ((cause, _),) = read(DEFAULT, "o object", [struct.pack(">iqi", 1, 1, 4)]).failed
    assert cause == "MappingFailedError: attribute 'o': the length of an object is 4, expected 0"


def test_an_event_with_a_broken_text_is_stored_by_itself() -> None:
    good, bad = EXAMPLE[4:], EXAMPLE[4:].replace(b"AB", b"\xff\xff")
    found = read(DEFAULT, "symbol string, price float, volume int", [b"\x00\x00\x00\x03" + good + bad + good])
    assert found.chunks == [[("AB", 1.5, 7), ("AB", 1.5, 7)]]
    assert [payload for _, payload in found.failed] == [b"\x00\x00\x00\x01" + bad]


def test_mappings_are_refused() -> None:
    with pytest.raises(SiddhiAppCreationError, match="can't map attribute 'i' to 'x'"):
        read("@map(type = 'binary', @attributes(i = 'x'))", "i int", [])
    with pytest.raises(SiddhiAppCreationError, match="takes no @payload"):
        write("@map(type = 'binary', @payload('{{i}}'))", "i int", [])


rows = st.tuples(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(width=32, allow_nan=False),
    st.floats(allow_nan=False),
    st.booleans(),
)


def singles(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with its float in 32 bits."""
    return (*row[:-3], np.float32(row[-3]), *row[-2:])


@given(st.lists(rows, min_size=1, max_size=4), st.booleans())
def test_a_source_reads_what_a_sink_writes(events: list[tuple[Any, ...]], chunk: bool) -> None:
    for attributes, of in ((SIX, lambda row: row), (SIX.partition(", ")[2], lambda row: row[1:])):
        rows = [of(row) for row in events]
        found = read(DEFAULT, attributes, write(DEFAULT, attributes, rows, chunk=chunk))
        assert found.failed == []
        assert [singles(row) for row in found.rows] == [singles(row) for row in rows]


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda data: b"\x00\x00\x00\x01" + data))
def test_any_bytes_are_mapped_or_stored(payload: bytes) -> None:
    found = read(DEFAULT, "s string, i int, o object", [payload])
    assert len(found.failed) <= 1
