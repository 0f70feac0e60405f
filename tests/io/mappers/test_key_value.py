"""The keyvalue mapper: types of values with and without cast, keys, templates; and the way back through a source."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.mapping import read, write

DEFAULT = "@map(type = 'keyvalue')"
CAST = "@map(type = 'keyvalue', implicit.cast.enable = 'true')"
LENIENT = "@map(type = 'keyvalue', fail.on.missing.attribute = 'false')"
NOON = datetime(2024, 1, 1, 12, 0, 0, 5000, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("type_", "value", "plain", "cast"),
    [
        ("bool", True, True, True),
        ("bool", "TRUE", None, True),
        ("bool", 1, None, False),
        ("int", 5, 5, 5),
        ("int", -(2**31), -(2**31), -(2**31)),
        ("int", 2**31, None, None),
        ("int", Decimal("7.9"), 7, 7),
        ("int", Decimal("1e999999999"), None, None),
        ("int", Decimal("nan"), None, None),
        ("int", "5", None, 5),
        ("int", "5.5", None, None),
        ("int", 5.0, None, None),
        ("int", True, None, None),
        ("int", NOON, None, None),
        ("long", 2**40, 2**40, 2**40),
        ("long", NOON, 1704110400005, 1704110400005),
        ("long", "1099511627776", None, 2**40),
        ("float", 1.5, 1.5, 1.5),
        ("float", 1, None, 1.0),
        ("double", 1.5, 1.5, 1.5),
        ("double", Decimal("1.25"), 1.25, 1.25),
        ("double", 5, None, 5.0),
        ("double", "5.5d", None, 5.5),
        ("double", False, None, None),
        ("string", "a", "a", "a"),
        ("string", Decimal(9001), "9001", "9001"),
        ("string", date(2024, 1, 2), "2024-01-02", "2024-01-02"),
        ("string", 5, None, None),
        ("string", b"a", None, None),
        ("string", True, None, None),
        ("object", {"a": [1]}, {"a": [1]}, {"a": [1]}),
    ],
)
def test_a_value_must_have_the_type_or_is_cast(type_: str, value: Any, plain: Any, cast: Any) -> None:
    for map_, expected in ((DEFAULT, plain), (CAST, cast)):
        found = read(map_, f"a {type_}", [{"a": value}])
        if expected is None:
            assert found.rows == []
            ((cause, payload),) = found.failed
            assert cause.startswith("MappingFailedError: attribute 'a': ")
            assert payload == {"a": value} or value != value
        else:
            assert found.rows == [(expected,)]
            assert type(found.rows[0][0]) is type(expected)


def test_a_missing_value_and_null_are_the_same() -> None:
    payloads = [{"s": "a"}, {"s": "a", "i": None}, {}]
    assert read(LENIENT, "s string, i int", payloads).rows == [("a", None), ("a", None), (None, None)]
    found = read(DEFAULT, "s string, i int", payloads)
    assert found.rows == []
    assert [cause for cause, _ in found.failed] == [
        "MappingFailedError: attribute 'i': the payload has no value for the key 'i'",
        "MappingFailedError: attribute 'i': the payload has no value for the key 'i'",
        "MappingFailedError: attribute 's': the payload has no value for the key 's'",
    ]


@pytest.mark.parametrize("payload", ["s=1", b"s", [("s", "a")], 5, object()])
def test_a_payload_that_is_no_dict_fails(payload: Any) -> None:
    ((cause, _),) = read(DEFAULT, "s string", [payload]).failed
    assert cause == f"MappingFailedError: expected a dict, got {type(payload).__name__}"


def test_any_mapping_is_a_payload() -> None:
    assert read(DEFAULT, "s string", [MappingProxyType({"s": "a", "x": 1})]).rows == [("a",)]


def test_a_template_without_a_key_has_the_key_none() -> None:
    assert write("@map(type = 'keyvalue', @payload('{{s}}!'))", "s string", [("a",), (None,)]) == [
        {None: "a!"},
        {None: "null!"},
    ]


rows = st.tuples(
    st.text(max_size=8),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(width=32, allow_nan=False),
    st.floats(allow_nan=False),
    st.booleans(),
    st.none() | st.lists(st.integers()),
)


def singles(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with its float in 32 bits."""
    return (*row[:3], None if row[3] is None else np.float32(row[3]), *row[4:])


@given(st.lists(rows | st.just((None,) * 7), min_size=1, max_size=4), st.booleans())
def test_a_source_reads_what_a_sink_writes(events: list[tuple[Any, ...]], chunk: bool) -> None:
    attributes = "s string, i int, l long, f float, d double, b bool, o object"
    payloads = write(DEFAULT, attributes, events, chunk=chunk)
    assert all(list(payload) == ["s", "i", "l", "f", "d", "b", "o"] for payload in payloads)
    found = read(LENIENT, attributes, payloads)
    assert found.failed == []
    assert [singles(row) for row in found.rows] == [singles(row) for row in events]
