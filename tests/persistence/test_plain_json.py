from __future__ import annotations

import json
import math
from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi import Event
from siddhi.persistence import UnkeptValue
from siddhi.persistence.plain_json import read_value, write_value

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))
    | st.binary()
    | st.binary().map(bytearray)
)
KEYS = st.text() | st.sampled_from(["$int", "$"]) | st.integers() | st.tuples(st.integers(), st.binary())
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(KEYS, inner)
        | st.builds(Event, st.integers(-1, 1 << 62), st.lists(inner), st.booleans())
    ),
    max_leaves=10,
)


def exact(value: object) -> object:
    """What tells 1 from 1.0 and True, a list from a tuple, and 0.0 from -0.0."""
    return repr(value)


@given(VALUES)
def test_values_are_read_back_unchanged(value):
    text = write_value(value)
    assert text.isascii()
    json.loads(text, parse_constant=pytest.fail)
    assert exact(read_value(text)) == exact(value)


def test_numbers_that_json_lacks_are_kept():
    assert math.isnan(read_value(write_value(math.nan)))
    assert read_value(write_value([math.inf, -math.inf])) == [math.inf, -math.inf]
    for large in (1 << 512, -(1 << 100_000), (1 << 512) - 1):
        assert read_value(write_value(large)) == large


class Blob:
    def __repr__(self) -> str:
        return "<blob>"


class Mute:
    def __repr__(self) -> str:
        raise OSError("no")


def test_unsupported_values_are_reported():
    assert read_value(write_value(Blob())) == UnkeptValue("Blob", "<blob>")
    assert read_value(write_value({"a": [1, Blob()]})) == UnkeptValue("dict", "{'a': [1, <blob>]}")
    assert read_value(write_value(Mute())) == UnkeptValue("Mute", "<Mute>")
    assert read_value(write_value(OrderedDict(a=1))).type == "OrderedDict"
    assert read_value(write_value(UnkeptValue("Blob", "<blob>"))) == UnkeptValue("Blob", "<blob>")
    endless: list[object] = []
    endless.append(endless)
    assert read_value(write_value(endless)) == UnkeptValue("list", "[[...]]")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"$eval":"1"}',
        '{"$int":1}',
        '{"$bytes":"?"}',
        '{"$unkept":[1]}',
        '{"$dict":[[[],1]]}',
        '{"$event":[1]}',
        '{"$event":["x",[],false]}',
    ],
)
def test_invalid_texts_are_refused(text):
    with pytest.raises(ValueError, match="invalid JSON of a value"):
        read_value(text)
