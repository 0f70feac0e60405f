"""The decoder of binary messages: every type, and messages that are not well-formed."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event
from siddhi._core.record.binary import BinaryReader
from siddhi._core.record.event import TypeCode

ALL = [
    TypeCode.STRING,
    TypeCode.INT,
    TypeCode.LONG,
    TypeCode.FLOAT,
    TypeCode.DOUBLE,
    TypeCode.BOOL,
    TypeCode.OBJECT,
]
rows = st.tuples(
    st.integers(-(2**45), 2**45),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(width=32, allow_nan=False),
    st.floats(allow_nan=False),
    st.booleans(),
)


def message(events: list[tuple[int, str, int, int, float, float, bool]]) -> bytes:
    parts = [struct.pack(">i", len(events))]
    for time, text, *values in events:
        encoded = text.encode()
        parts.append(struct.pack(f">qi{len(encoded)}siqfd?i", time, len(encoded), encoded, *values, 0))
    return b"".join(parts)


@given(st.lists(rows, max_size=3))
def test_the_events_of_a_message_are_decoded(events: list[tuple[int, str, int, int, float, float, bool]]) -> None:
    reader = BinaryReader(ALL)
    data = message(events)
    expected = [Event(time, (text or None, *values, None)) for time, text, *values in events]
    assert reader.events(data) == expected
    assert reader.events(data + b"\0") is None
    assert all(reader.events(data[:end]) is None for end in range(len(data)))


def test_a_message_that_is_not_well_formed_is_left_to_the_mapper() -> None:
    reader = BinaryReader([TypeCode.STRING, TypeCode.OBJECT])
    event = struct.pack(">qi2si", 1, 2, b"ab", 0)
    assert reader.events(struct.pack(">i", 1) + event) == [Event(1, ("ab", None))]
    for data in (
        struct.pack(">i", -1) + event,
        struct.pack(">i", 2**31 - 1) + event,
        struct.pack(">iqi2si", 1, 1, 2, b"\xff\xff", 0),
        struct.pack(">iqi2si", 1, 1, -2, b"ab", 0),
        struct.pack(">iqi2si", 1, 1, 2**31 - 1, b"ab", 0),
        struct.pack(">iqi2si", 1, 1, 2, b"ab", 1),
    ):
        assert reader.events(data) is None
