"""The JSON mapper of sinks: default and custom payloads, null, objects, validation; and the way back through a source."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppCreationError
from tests.kit.mapping import published, read, write
from tests.kit.running import collect, running

DEFAULT = "@map(type = 'json')"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": None, "c": {}}, '{"a":1,"c":{}}'),
        ([1, None, "x", {"y": 1.5}], '[1,null,"x",{"y":1.5}]'),
        ((1, True), "[1,true]"),
        ('te"xt', '"te\\"xt"'),
        (float("nan"), "null"),
    ],
)
def test_an_object_is_written_as_json(value: object, text: str) -> None:
    assert write(DEFAULT, "o object", [(value,)]) == [f'{{"event":{{"o":{text}}}}}']


def test_null_entries_of_a_map_are_kept_with_the_option() -> None:
    map_ = "@map(type = 'json', enable.null.attribute.value = 'true')"
    assert write(map_, "o object", [({"a": None},)]) == ['{"event":{"o":{"a":null}}}']


def test_numbers_that_json_lacks_are_null() -> None:
    assert write(DEFAULT, "d double, f float", [(float("inf"), float("nan"))]) == ['{"event":{"d":null,"f":null}}']


def test_line_separators_are_escaped() -> None:
    assert write(DEFAULT, "s string", [("\u2028é",)]) == ['{"event":{"s":"\\u2028é"}}']


def test_an_event_is_not_changed_by_its_payload() -> None:
    text = "@sink(type = 'inMemory', topic = 'kept', @map(type = 'json')) define stream S (s string);"
    with published("kept"), running(text) as runtime:
        rows = collect(runtime, "S")
        runtime.input_handler("S").send((None,))
    assert rows == [(None,)]


def test_an_invalid_payload_goes_to_the_error_handling_of_the_stream() -> None:
    map_ = '@map(type = \'json\', validate.json = \'true\', @payload("""{"s":{{s}}}"""))'
    text = f"@OnError(action = 'STREAM') @sink(type = 'inMemory', topic = 'valid', {map_}) define stream S (s string);"
    with published("valid") as payloads, running(text) as runtime:
        failed = collect(runtime, "!S")
        for value in ("1", "x", None):
            runtime.input_handler("S").send((value,))
    assert payloads == ['{"s":1}', '{"s":undefined}']
    ((value, error),) = failed
    assert value == "x"
    assert "not JSON" in str(error)


@pytest.mark.parametrize("payload", ["@payload('s')", "@payload(a = '{{s}}', b = '{{s}}')"])
def test_a_payload_that_is_no_text_is_refused(payload: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match="sink mapper 'json'"):
        write(f"@map(type = 'json', {payload})", "s string", [])


rows = st.tuples(
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.booleans(),
    st.none() | st.lists(st.integers(-9, 9) | st.text(max_size=3), max_size=3),
)


def singles(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with its float in 32 bits."""
    return (*row[:3], None if row[3] is None else np.float32(row[3]), *row[4:])


@given(st.lists(rows, min_size=1, max_size=4), st.booleans())
def test_a_source_reads_what_a_sink_writes(events: list[tuple[Any, ...]], chunk: bool) -> None:
    map_ = "@map(type = 'json', enable.null.attribute.value = 'true')"
    attributes = "s string, i int, l long, f float, d double, b bool, o object"
    payloads = write(map_, attributes, events, chunk=chunk)
    assert all(json.loads(payload) for payload in payloads)
    found = read(DEFAULT, attributes, payloads)
    assert found.failed == []
    assert [singles(row) for row in found.rows] == [singles(row) for row in events]


def test_a_topic_can_have_the_name_of_an_attribute() -> None:
    text = "@sink(type = 'inMemory', topic = 'to', @map(type = 'json')) define stream S (to string);"
    with published("to") as payloads, published("here") as elsewhere, running(text) as runtime:
        runtime.input_handler("S").send(("here",))
    assert payloads == ['{"event":{"to":"here"}}']
    assert elsewhere == []


def test_a_topic_can_be_the_value_of_an_attribute() -> None:
    text = "@sink(type = 'inMemory', topic = '{{to}}', @map(type = 'json')) define stream S (to string);"
    with published("here") as payloads, running(text) as runtime:
        runtime.input_handler("S").send(("here",))
    assert payloads == ['{"event":{"to":"here"}}']
