"""The XML mapper of sinks: default and custom documents, null, escapes, validation; and the way back through a source."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppCreationError
from tests.kit.mapping import published, read, write
from tests.kit.running import collect, running

pytest.importorskip("lxml.etree")

DEFAULT = "@map(type = 'xml')"
XSI = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'


def test_markup_is_escaped() -> None:
    assert write(DEFAULT, "s string", [('<a> & "b"]]>\r\n',)]) == [
        '<events><event><s>&lt;a&gt; &amp; "b"]]&gt;&#13;\n</s></event></events>'
    ]


def test_null_is_nil_with_a_declared_prefix() -> None:
    assert write(DEFAULT, "s string", [(None,)]) == [f'<events {XSI}><event><s xsi:nil="true"/></event></events>']
    enclosed = "@map(type = 'xml', enclosing.element = \"<a b='c'>\")"
    assert write(enclosed, "s string", [(None,)]) == [f"<a {XSI} b='c'><event><s xsi:nil=\"true\"/></event></a>"]


def test_a_character_that_xml_lacks_is_an_error_of_the_event() -> None:
    text = (
        f"@OnError(action = 'STREAM') @sink(type = 'inMemory', topic = 'lacks', {DEFAULT}) define stream S (s string);"
    )
    with published("lacks") as payloads, running(text) as runtime:
        failed = collect(runtime, "!S")
        runtime.input_handler("S").send(("a\x00b",))
    assert payloads == []
    ((_, error),) = failed
    assert "attribute 's': XML does not allow the character '\\x00'" in str(error)


@pytest.mark.parametrize("template", ["<a>{{s}}</a>", "<!DOCTYPE a><a>{{s}}</a>", "<p:a>{{s}}</p:a>"])
def test_an_invalid_payload_goes_to_the_error_handling_of_the_stream(template: str) -> None:
    map_ = f"@map(type = 'xml', validate.xml = 'true', @payload('{template}'))"
    text = f"@OnError(action = 'STREAM') @sink(type = 'inMemory', topic = 'valid', {map_}) define stream S (s string);"
    with published("valid") as payloads, running(text) as runtime:
        failed = collect(runtime, "!S")
        for value in ("1", "<"):
            runtime.input_handler("S").send((value,))
    valid = ["<a>1</a>"] if template.startswith("<a>") else []
    assert payloads == valid
    assert len(failed) == 2 - len(valid)


@pytest.mark.parametrize(
    ("map_", "attributes", "message"),
    [
        ("@map(type = 'xml', enclosing.element = 'portfolio')", "s string", "write an opening tag"),
        ("@map(type = 'xml', enclosing.element = '<a/>')", "s string", "write an opening tag"),
        ("@map(type = 'xml', @payload('s'))", "s string", "needs a text in @payload"),
        (DEFAULT, "`a b` string", "can't be the name of an XML element"),
    ],
)
def test_an_invalid_annotation_is_refused(map_: str, attributes: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        write(map_, attributes, [])


legal = st.characters(exclude_categories=["Cs"], exclude_characters=[*map(chr, (*range(9), 11, 12, *range(14, 32))), "\ufffe", "\uffff"])  # fmt: skip
rows = st.tuples(
    st.none() | st.text(legal, max_size=8) | st.text(st.sampled_from("<>&;\r\n\t '\"]x"), max_size=8),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(width=32, allow_nan=False),
    st.none() | st.floats(allow_nan=False),
    st.none() | st.booleans(),
    st.none() | st.text(legal, max_size=3),
)


def singles(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """The row with its float in 32 bits."""
    return (*row[:3], None if row[3] is None else np.float32(row[3]), *row[4:])


@given(st.lists(rows, min_size=1, max_size=4), st.booleans())
def test_a_source_reads_what_a_sink_writes(events: list[tuple[Any, ...]], chunk: bool) -> None:
    attributes = "s string, i int, l long, f float, d double, b bool, o object"
    found = read(DEFAULT, attributes, write(DEFAULT, attributes, events, chunk=chunk))
    assert found.failed == []
    assert [singles(row) for row in found.rows] == [singles(row) for row in events]
