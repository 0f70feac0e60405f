"""The XML mapper of sources: layouts, XPath, leaves, documents in parts, failures and hostile documents."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.mappers import xml_source
from tests.kit.mapping import read

etree = pytest.importorskip("lxml.etree")

DEFAULT = "@map(type = 'xml')"
LENIENT = "@map(type = 'xml', fail.on.missing.attribute = 'false')"
TWO = "s string, i int"


def custom(options: str, attributes: str) -> str:
    return f"@map(type = 'xml', {options} @attributes({attributes}))"


@pytest.mark.parametrize(
    ("payload", "rows"),
    [
        ("<events><event><s>a</s><i>1</i></event></events>", [("a", 1)]),
        ("<events><event><i>1</i><s>a</s></event></events>", [("a", 1)]),
        (
            '<?xml version="1.0" encoding="UTF-8"?>\n<events>\n <event> <s>a</s>\n<i>+1</i></event>\n</events>\n',
            [("a", 1)],
        ),
        ('<?xml version="1.0" encoding="latin-1"?><events><event><s>é</s><i>1</i></event></events>', [("é", 1)]),
        ("\ufeff<events><event><s/><i>1</i></event></events>".encode(), [("", 1)]),
        ("<events><event><s>&lt;a&amp;&#13;</s><i>1</i></event></events>", [("<a&\r", 1)]),
        ("<events><event><s><![CDATA[<b>]]>!</s><i>1</i></event></events>", [("<b>!", 1)]),
        ("<events><event><s>a<!-- b -->c<?d?>e</s><i>1</i></event></events>", [("ace", 1)]),
        ("<events><event><s>a<b>c</b>d</s><i>1</i></event></events>", [("ad", 1)]),
        ("<p:events xmlns:p='u'><event><p:s>a</p:s><i>1</i></event></p:events>", [("a", 1)]),
        ("<events><event><s>a</s><s>b</s><i>1</i></event></events>", [("b", 1)]),
        ("<events><event><s>a\r\nb</s><i>1</i></event></events>", [("a\nb", 1)]),
        ("<events xmlns='u'><event><s>a</s><i>1</i></event></events>", []),
        ("<events><other/></events>", []),
        ("<events><event><s>a</s><i>1</i></event>text</events>", [("a", 1)]),
        ("<events><event><s>a</s><i xsi:nil='true'/></event></events>", [("a", None)]),
    ],
)
def test_the_default_layout_is_read(payload: Any, rows: list[Any]) -> None:
    found = read(DEFAULT, TWO, [payload])
    assert (found.rows, found.failed) == (rows, [])


def test_an_element_of_lxml_is_a_payload() -> None:
    root = etree.fromstring("<events><event><s>a<!--b-->c</s><!--d--><i>1</i></event></events>")
    assert read(DEFAULT, TWO, [root]).rows == [("ac", 1)]


@pytest.mark.parametrize(
    ("payload", "cause"),
    [
        ("", "not an XML document"),
        ("<events><event></events>", "not an XML document"),
        ("<events>\x00</events>", "not an XML document"),
        ("<events>\ud800</events>", "not an XML document"),
        (b"<events>\xff</events>", "the payload is not UTF-8"),
        (5, "expected a text or bytes, got int"),
        ("<a>" * 100_000, "not an XML document: Excessive depth"),
        ("<event><s>a</s><i>1</i></event>", "expected the element 'events', got 'event'"),
        ("<events><event><s>a</s><i>x</i></event></events>", "attribute 'i': 'x' is not an int"),
        ("<events><event><s>a</s><i></i></event></events>", "attribute 'i': '' is not an int"),
        ("<events><event><s>a</s><i><b>1</b></i></event></events>", "attribute 'i': '' is not an int"),
        ("<events><event><s>a</s></event></events>", "the event has no 'i'"),
        ("<events><event><s>a]]></s><i>1</i></event></events>", "not an XML document"),
    ],
)
def test_a_payload_that_cannot_be_mapped_is_stored_with_its_cause(payload: Any, cause: str) -> None:
    found = read(DEFAULT, TWO, [payload])
    assert found.rows == []
    ((why, stored),) = found.failed
    assert cause in why
    assert stored == payload


BOMB = (
    "<!DOCTYPE events [<!ENTITY a '"
    + "x" * 100
    + "'>"
    + "".join(f"<!ENTITY {b} '{f'&{a};' * 10}'>" for a, b in zip("abcdefgh", "bcdefghi"))
    + "]><events><event><s>&i;</s><i>1</i></event></events>"
)


@pytest.mark.parametrize(
    "payload",
    [
        BOMB,
        "<!DOCTYPE a SYSTEM 'http://localhost:9/a.dtd'><events/>",
        "<?xml version='1.0'?><!-- c --><?p?>\n<!DOCTYPE e [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><events><event><s>&x;</s></event></events>",
    ],
)
@pytest.mark.parametrize("streams", [False, True])
def test_a_document_type_declaration_is_refused(payload: str, streams: bool) -> None:
    part = custom("enclosing.element = '/events/event', enable.streaming.xml.content = 'true',", "s = 's', i = 'i'")
    found = read(part if streams else DEFAULT, TWO, [payload])
    assert found.rows == []
    assert "document type declarations are not allowed" in found.failed[0][0]


def test_a_doctype_in_a_text_is_a_text() -> None:
    payload = "<events><event><s><![CDATA[<!DOCTYPE html>]]></s><i>1</i></event></events>"
    assert read(DEFAULT, TWO, [payload]).rows == [("<!DOCTYPE html>", 1)]


def test_a_prolog_of_many_comments_takes_linear_time() -> None:
    payload = "<!-- a -->" * 50_000 + "<events/><!-- <!DOCTYPE"
    assert "not an XML document" in read(DEFAULT, TWO, [payload]).failed[0][0]


def test_bad_events_are_stored_one_by_one_after_the_others_were_sent() -> None:
    payload = (
        "<events a='b'><event><s>a</s><i>1</i></event><event><s>b</s></event><event><s>c</s><i>3</i></event></events>"
    )
    found = read(DEFAULT, TWO, [payload])
    assert found.chunks == [[("a", 1), ("c", 3)]]
    assert found.failed == [
        ("MappingFailedError: the event has no 'i'", '<events a="b"><event><s>b</s></event></events>')
    ]


def test_missing_values_are_null_where_they_are_allowed() -> None:
    found = read(LENIENT, TWO, ["<events><event><s>a</s></event><event><i>x</i></event></events>"])
    assert found.rows == [("a", None)]
    assert len(found.failed) == 1


PORTFOLIO = """<p:portfolio xmlns:p='u'><stock id='7'><symbol>IBM</symbol><company><name>x</name></company><n>2</n></stock>
<stock><symbol ex='N'>WSO2</symbol><n>x</n></stock></p:portfolio>"""


@pytest.mark.parametrize(
    ("path", "type_", "value"),
    [
        ("symbol", "string", "IBM"),
        ("@id", "int", 7),
        ("symbol/text()", "string", "IBM"),
        ("count(*)", "int", 3),
        ("count(*) div 2", "double", 1.5),
        ("count(*) = 3", "bool", True),
        ("concat(symbol, '-', n)", "string", "IBM-2"),
        ("company", "string", '<company xmlns:p="u"><name>x</name></company>'),
        ("company/name", "object", "x"),
        ("/q:portfolio/stock[1]/n", "long", 2),
        ("*[last()]", "float", 2.0),
        ("0 div 0", "string", "NaN"),
    ],
)
def test_an_xpath_selects_the_value(path: str, type_: str, value: object) -> None:
    map_ = custom("namespaces = 'q=u', enclosing.element = '/q:portfolio/stock[1]', enclosing.element.as.event = 'true',",
                  f'v = "{path}"')  # fmt: skip
    found = read(map_, f"v {type_}", [PORTFOLIO])
    assert (found.rows, found.failed) == ([(value,)], [])


def test_a_stored_event_keeps_its_enclosing_elements() -> None:
    map_ = custom("namespaces = 'q=u', enclosing.element = '//q:portfolio',", "s = 'symbol', i = 'n'")
    found = read(map_, TWO, [PORTFOLIO])
    assert found.rows == [("IBM", 2)]
    ((cause, stored),) = found.failed
    assert cause == "MappingFailedError: attribute 'i': 'x' is not an int"
    assert read(map_, TWO, [stored]).failed == [(cause, stored)]


@pytest.mark.parametrize(
    ("path", "strict", "rows"),
    [
        ("n", True, []),
        ("n", False, [(None,)]),
        ("symbol/@ex", False, []),
        ("none", False, [(None,)]),
        ("none", True, []),
    ],
)
def test_an_unconvertible_or_missing_value_of_an_xpath(path: str, strict: bool, rows: list[Any]) -> None:
    options = f"enclosing.element = '//stock[2]', enclosing.element.as.event = 'true', fail.on.missing.attribute = '{strict}',"
    assert read(custom(options, f"i = '{path}'"), "i int", [PORTFOLIO]).rows == rows


def test_a_leaf_can_be_the_event_and_its_value() -> None:
    map_ = custom("enclosing.element = '//data', enclosing.element.as.event = 'true',", "i = 'data'")
    assert read(map_, "i int", ["<m><data>1</data><data>2</data></m>"]).chunks == [[(1,), (2,)]]


@pytest.mark.parametrize(
    ("options", "path", "message"),
    [
        ("", "a[", "invalid XPath 'a\\['"),
        ("", "p:a", "unknown prefix 'p'"),
        ("", "f(a)", "Unregistered function"),
        ("", "$v", "Undefined variable"),
        ("enclosing.element = '//12',", "a", "invalid XPath"),
        ("enable.streaming.xml.content = 'true',", "a", "needs 'enclosing.element'"),
        ("enable.streaming.xml.content = 'true', enclosing.element = '//a',", "a", "needs a plain path"),
    ],
)
def test_an_invalid_annotation_is_refused(options: str, path: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        read(custom(options, f"s = '{path}'"), "s string", [])


def test_a_literal_with_a_colon_is_not_a_prefix() -> None:
    assert read(custom("", "s = \"concat('a:b', child::c)\""), "s string", ["<x><c>1</c></x>"]).rows == [("a:b1",)]


LEAVES = """<stock exchange='N'><volume>100</volume><leafNode k='1'><alt> x </alt></leafNode><symbol>IBM</symbol>
<leafNode k='2'><alt>y</alt><empty/></leafNode></stock>"""
PATHS = "s = '/stock/symbol', v = '/stock/volume', a = '/stock/leafNode/alt', k = '/stock/leafNode/@k', e = '/stock/@exchange'"


def test_leaves_give_an_event_per_innermost_element() -> None:
    found = read(
        custom("extract.leaf.node.data = 'true',", PATHS), "s string, v int, a string, k int, e string", [LEAVES]
    )
    assert found.chunks == [[("IBM", 100, "x", 1, "N"), ("IBM", 100, "y", 2, "N")]]


def test_a_missing_leaf_drops_the_event_or_is_null() -> None:
    payload = "<stock><symbol>IBM</symbol></stock>"
    for strict, rows in ((True, []), (False, [("IBM", None)])):
        options = f"extract.leaf.node.data = 'true', fail.on.missing.attribute = '{strict}',"
        found = read(custom(options, "s = '/stock/symbol', i = '/stock/n'"), TWO, [payload])
        assert found.rows == rows


PARTS = custom(
    "enclosing.element = '/root/child', enable.streaming.xml.content = 'true', fail.on.missing.attribute = 'false',",
    "s = '/child/@id', i = 'n'",
)
DOCUMENT = "<root>\n<x><child id='no'/></x><child id='1'/>\n<child id='2'>\n<n>5</n></child><p/><child id='é'><n>6</n></child>\n</root>\n"


@given(st.lists(st.integers(0, len(DOCUMENT)), max_size=6))
def test_a_document_can_arrive_in_parts(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(DOCUMENT)]
    payloads = [DOCUMENT[begin:end] for begin, end in itertools.pairwise(ends)]
    found = read(PARTS, TWO, [*payloads, *DOCUMENT.splitlines()])
    assert (found.rows, found.failed) == ([("1", None), ("2", 5), ("é", 6)] * 2, [])


def test_after_a_broken_part_the_next_payload_begins_a_document() -> None:
    found = read(PARTS, TWO, ["<root><child id='1'/><child></root>", "<root><child id='2'/>"])
    assert found.rows == [("1", None), ("2", None)]
    assert "not XML" in found.failed[0][0]


def test_a_bad_element_of_a_part_is_stored_as_a_document() -> None:
    map_ = PARTS.replace("fail.on.missing.attribute = 'false',", "")
    found = read(map_, TWO, [DOCUMENT])
    assert found.rows == [("2", 5), ("é", 6)]
    assert found.failed == [("MappingFailedError: attribute 'i': the event has no 'n'", '<root><child id="1"/></root>')]


texts = st.text(st.sampled_from('ab<>&;/\r\n\t "\x00\ufffe\ud800é')) | st.sampled_from(
    ["1", "x", "2147483648", "+7", "]]>"]
)
pieces = texts | st.sampled_from(
    ["<events>", "</events>", "<event>", "</event>", "<s>", "</s>", "<i>", "</i>", "<s/>", "&lt;", "<!--", "-->", "\n"]
)
shaped = st.lists(st.tuples(texts, texts, st.sampled_from(["", "\n", " ", "x"])), max_size=3).map(
    lambda rows: "<events>" + "".join(f"<event>{c}<s>{s}</s><i>{i}</i></event>{c}" for s, i, c in rows) + "</events>"
)


@given(shaped | st.lists(pieces, max_size=12).map("".join))
def test_the_split_of_the_default_layout_gives_what_the_parser_gives(payload: str) -> None:
    fast = read(DEFAULT, TWO, [payload])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xml_source, "_usual_layout", lambda context: None)
        parsed = read(DEFAULT, TWO, [payload])
    assert (fast.chunks, fast.failed) == (parsed.chunks, parsed.failed)


def test_without_lxml_the_app_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)
    with pytest.raises(SiddhiAppCreationError, match="requires the package 'lxml'") as refused:
        read(DEFAULT, TWO, [])
    assert refused.value.hint == "pip install 'siddhi[xml]'"
