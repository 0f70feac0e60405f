from __future__ import annotations

import math
import struct
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from siddhi._core.record.event import EventType, Layout, TypeCode
from siddhi._core.snapshot.format import SnapshotReader, SnapshotWriter, decode, encode, seal, unseal
from tests.kit.snapshots import damage_may_be_found

TEXT = st.text(st.characters())  # lone surrogates included: json can bring them in
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**200), 2**200)
    | st.floats(allow_nan=False)
    | TEXT
    | st.binary()
)
KEYS = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner), max_leaves=5)
VALUES = st.recursive(
    KEYS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.sets(KEYS, max_size=4)
    ),
    max_leaves=12,
)


def written(value: Any) -> bytes:
    writer = SnapshotWriter()
    writer.put(value)
    return writer.getvalue()


def exact(value: Any) -> Any:
    """What tells 1 from True and -0.0 from 0.0, and does not depend on the order inside a set."""
    if isinstance(value, (set, frozenset)):
        return type(value), frozenset(exact(each) for each in value)
    if isinstance(value, dict):
        return dict, frozenset((exact(key), exact(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return type(value), tuple(exact(each) for each in value)
    return type(value), repr(value)


def same(a: Any, b: Any) -> bool:
    return bool(exact(a) == exact(b))


@given(VALUES)
@example(2**63 - 1)
@example(-(2**63))
@example(2**63)
@example(-(2**63) - 1)
@example(255)
@example(-0.0)
@example("\ud800 \x00 é 🜛")
def test_values_are_restored_unchanged(value: Any) -> None:
    reader = SnapshotReader(written(value))
    assert same(reader.get(), value)
    assert reader.at_end()


def test_nan_is_restored() -> None:
    assert math.isnan(SnapshotReader(written(float("nan"))).get())


def test_values_are_restored_in_order() -> None:
    writer = SnapshotWriter()
    for value in range(1000):
        writer.put(str(value))
    reader = SnapshotReader(writer.getvalue())
    assert [reader.get() for _ in range(1000)] == [str(value) for value in range(1000)]
    assert reader.at_end()


class Colour(IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "name"),
    [(object(), "builtins.object"), (Colour.RED, "Colour"), ([{1: bytearray()}], "builtins.bytearray")],
)
def test_an_unsupported_type_is_named(value: object, name: str) -> None:
    with pytest.raises(TypeError, match=name):
        written(value)


def test_a_value_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ValueError, match="nested deeper than 200"):
        written(endless)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "1 bytes wanted at 0, 0 left"),
        (b"\xff", "255 is not a tag"),
        (b"\x03\x01", "8 bytes wanted at 1, 1 left"),
        (b"\x09\xff\xff\xff\xff", "4294967295 items announced"),
        (b"\x06\x01\x00\x00\x00\xff", "invalid start byte"),
        (b"\x0a\x01\x00\x00\x00\x00", "a key without its value"),
        (b"\x0b\x01\x00\x00\x00\x09\x00\x00\x00\x00", "unhashable"),
        (b"\x09\x01\x00\x00\x00" * 5000 + b"\x00", "nested deeper than 200"),
    ],
)
def test_the_error_of_a_damaged_value_is_specific(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=f"snapshot is damaged: .*{why}"):
        SnapshotReader(data).get()


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    reader = SnapshotReader(data)
    with damage_may_be_found():
        while not reader.at_end():
            reader.get()


# --- events

CELLS: dict[TypeCode, st.SearchStrategy[Any]] = {
    TypeCode.STRING: st.sampled_from(["IBM", "WSO2", "", "Zürich", "東京", "\ud800"]) | TEXT,
    TypeCode.INT: st.integers(-(2**31), 2**31 - 1),
    TypeCode.LONG: st.integers(-(2**63), 2**63 - 1),
    TypeCode.FLOAT: st.floats(width=32, allow_nan=False),
    TypeCode.DOUBLE: st.floats(allow_nan=False),
    TypeCode.BOOL: st.booleans(),
    TypeCode.OBJECT: VALUES,
}
EventRow = tuple[int, int, tuple[Any, ...]]


@st.composite
def events(draw: st.DrawFn) -> tuple[Layout, list[EventRow]]:
    types = draw(st.lists(st.sampled_from(list(CELLS)), max_size=8))
    cells = st.tuples(*(CELLS[each] | st.none() for each in types))
    event = st.tuples(st.sampled_from([int(each) for each in EventType]), st.integers(-(2**62), 2**62), cells)
    return Layout([f"a{i}" for i in range(len(types))], types), draw(st.lists(event, max_size=40))


def as_typed(layout: Layout, rows: list[EventRow]) -> list[EventRow]:
    """Rows with floats as floats: the engine shows one by its shortest digits."""
    floats = [i for i, code in enumerate(layout.types) if code == TypeCode.FLOAT]
    return [
        (kind, ts, tuple(np.float32(x) if i in floats and x is not None else x for i, x in enumerate(row)))
        for kind, ts, row in rows
    ]


@given(events())
def test_events_are_restored_unchanged(case: tuple[Layout, list[EventRow]]) -> None:
    layout, rows = case
    assert same(as_typed(layout, decode(layout, encode(layout, rows))), as_typed(layout, rows))


@pytest.mark.parametrize("width", [63, 64, 65, 130])
def test_nulls_of_wide_events(width: int) -> None:
    layout = Layout([f"a{i}" for i in range(width)], [TypeCode.INT] * width)
    rows = [(0, k, tuple(None if (i + k) % 3 == 0 else i * k for i in range(width))) for k in range(10)]
    assert decode(layout, encode(layout, rows)) == rows


@pytest.mark.parametrize("distinct", [1, 2, 255, 256, 257, 1000, 5000])
def test_repeated_strings_are_written_once_and_shared(distinct: int) -> None:
    layout = Layout(["s"], [TypeCode.STRING])
    names = [f"symbol {i} ü" for i in range(distinct)]
    rows = [(0, 0, (names[i % distinct] if i % 7 else None,)) for i in range(5000)]
    data = encode(layout, rows)
    back = decode(layout, data)
    assert back == rows
    if distinct <= 2500:
        assert len(data) < 5000 * 8 + 5000 * 2 + 5000 // 8 + distinct * 20 + 100
        assert len({id(row[0]) for _, _, row in back}) == distinct + 1  # and None


@pytest.mark.parametrize("length", [0, 1, 255, 256, 65_535, 65_536])
def test_strings_of_every_length(length: int) -> None:
    layout = Layout(["s"], [TypeCode.STRING])
    rows = [(0, 0, ("x" * length,)), (0, 0, ("",)), (0, 0, ("é" * (length // 2),))]
    assert decode(layout, encode(layout, rows)) == rows


def test_events_take_little_more_space_than_their_data() -> None:
    layout = Layout(
        ["symbol", "price", "volume", "buy"], [TypeCode.STRING, TypeCode.DOUBLE, TypeCode.INT, TypeCode.BOOL]
    )
    names = [f"S{i}" for i in range(100)]
    rows = [(0, i, (names[i % 100], i / 7, i, i % 2 == 0)) for i in range(10_000)]
    data = 10_000 * (8 + 1 + 8 + 4 + 1 / 8)  # timestamp, index of one of a hundred symbols, price, volume, bool
    assert data <= len(encode(layout, rows)) < 1.02 * data


def test_the_same_events_give_the_same_bytes() -> None:
    layout = Layout(["a", "b"], [TypeCode.STRING, TypeCode.LONG])
    rows = [(0, 1, ("x", None)), (1, 2, (None, 7))]
    assert encode(layout, rows) == encode(layout, rows)


@pytest.mark.parametrize(
    "other", [Layout(["a"], [TypeCode.LONG]), Layout(["a", "b"], [TypeCode.INT] * 2), Layout([], [])]
)
def test_events_of_another_layout_are_refused(other: Layout) -> None:
    data = encode(Layout(["a"], [TypeCode.INT]), [(0, 0, (1,))])
    with pytest.raises(ValueError, match=r"another (number of attributes|type of attribute 'a')"):
        decode(other, data)


@given(events(), st.data())
def test_changed_bytes_of_events_are_read_or_refused_and_nothing_leaks(
    case: tuple[Layout, list[EventRow]], data: st.DataObject
) -> None:
    layout, rows = case
    content = bytearray(encode(layout, rows))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    with damage_may_be_found():
        decode(layout, bytes(content[:cut]))  # it checks that its pool ends empty


def test_a_section_is_read_by_its_own_reader() -> None:
    writer = SnapshotWriter()
    for values in ([1, "one"], [], [2.5]):
        begun = writer.begin()
        for value in values:
            writer.put(value)
        writer.end(begun)
    writer.put("behind")
    reader = SnapshotReader(writer.getvalue())
    first, second, third = (reader.part() for _ in range(3))
    assert reader.get() == "behind"
    assert second.at_end()
    assert (third.get(), first.get(), first.get()) == (2.5, 1, "one")
    assert first.at_end()
    with pytest.raises(ValueError, match="0 left"):
        first.get()


def test_a_section_longer_than_the_data_is_refused() -> None:
    for length in (-1, 1, 2**62):
        with pytest.raises(ValueError, match="damaged"):
            SnapshotReader(struct.pack("<q", length)).part()


# --- the seal

SEALED = seal(b"payload")


@given(st.binary())
def test_a_sealed_payload_is_restored(payload: bytes) -> None:
    assert unseal(seal(payload)) == payload


def with_version(data: bytes) -> bytes:
    return data[:8] + struct.pack("<I", 3) + data[12:]


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: b"", "not a snapshot"),
        (lambda data: b"PK\x03\x04 something else altogether", "not a snapshot"),
        (lambda data: data[:7], "damaged: it ends after 7 bytes"),
        (lambda data: data[:-1], "damaged: it should have 31 bytes and has 30"),
        (lambda data: data + b"!", "damaged: it should have 31 bytes and has 32"),
        (lambda data: data[:-1] + b"!", "damaged: its checksum"),
        (with_version, "format version 3, this engine reads version 2"),
    ],
)
def test_the_error_of_a_restore_says_why(spoil: Callable[[bytes], bytes], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        unseal(spoil(SEALED))


@given(st.integers(0, len(SEALED) - 1), st.integers(1, 255))
def test_every_changed_byte_is_detected(position: int, change: int) -> None:
    spoilt = bytearray(SEALED)
    spoilt[position] ^= change
    with pytest.raises(ValueError, match="snapshot"):
        unseal(bytes(spoilt))
