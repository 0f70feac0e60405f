"""The text mapper of sinks: lines, templates, Mustache; and the way back through a source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppCreationError
from tests.kit.mapping import read, write

GROUPED = "event.grouping.enabled = 'true'"


def test_a_chunk_is_one_payload_or_several() -> None:
    assert write("@map(type = 'text')", "i int", [(1,), (2,)], chunk=True) == ["i:1", "i:2"]
    assert write(f"@map(type = 'text', {GROUPED}, delimiter = '#')", "i int", [(1,), (2,)], chunk=True) == [
        "i:1\n#\ni:2"
    ]


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{s}} {{{s}}}", "&lt;a&gt; <a>"),
        ("{{i}} {{d}} {{n}}|{{x}}", "7 0.5 |"),
        ("{{b}} {{#b}}yes{{/b}}{{^b}}no{{/b}}", "false no"),
        ("{{#o}}<{{.}}>{{/o}}", "<1><2>"),
        ("{{!comment}}{ {{ i }} }", "{ 7 }"),
    ],
)
def test_a_template_of_mustache_is_filled(template: str, text: str) -> None:
    map_ = f"@map(type = 'text', mustache.enabled = 'true', @payload('{template}'))"
    row = ("<a>", 7, 0.5, False, None, [1, 2])
    assert write(map_, "s string, i int, d double, b bool, n string, o object", [row]) == [text]


@pytest.mark.parametrize(
    "map_",
    [
        "@map(type = 'text', mustache.enabled = 'true')",
        "@map(type = 'text', mustache.enabled = 'true', @payload('{{#a}}'))",
        "@map(type = 'text', @payload('s'))",
    ],
)
def test_an_invalid_template_is_refused(map_: str) -> None:
    with pytest.raises(SiddhiAppCreationError):
        write(map_, "s string", [])


rows = st.tuples(
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8).filter(lambda text: ",\n" not in text),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(allow_nan=False, width=32),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.booleans(),
)


@given(st.lists(rows, min_size=1, max_size=4))
def test_a_source_reads_what_a_sink_writes(events: list[tuple[Any, ...]]) -> None:
    attributes = "s string, l long, f float, d double, b bool"
    found = read("@map(type = 'text')", attributes, write("@map(type = 'text')", attributes, events))
    assert found.failed == []
    assert [singles(row) for row in found.rows] == [singles(row) for row in events]


def singles(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*row[:2], None if row[2] is None else np.float32(row[2]), *row[3:])
