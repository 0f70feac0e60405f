"""The JSON mapper of sources: forms of payloads, conversions, failures and the generated decoder."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.mappers import json_decoder
from siddhi.io.mappers.json_path import MISSING, JsonPath
from tests.kit.mapping import Mapped, read

DEFAULT = "@map(type = 'json')"
LENIENT = "@map(type = 'json', fail.on.missing.attribute = 'false')"
THREE = "s string, i int, d double"


def test_an_object_becomes_one_event() -> None:
    found = read(DEFAULT, THREE, ['{"event": {"s": "a", "i": 1, "d": 1.5}}', b'{"d": 2.5, "i": 2, "s": "b"}'])
    assert found.chunks == [[("a", 1, 1.5)], [("b", 2, 2.5)]]


def test_a_list_becomes_a_chunk() -> None:
    payload = '[{"event": {"s": "a", "i": 1, "d": 1}}, {"s": "b", "i": "2", "d": 2.5}]'
    assert read(DEFAULT, THREE, [payload]).chunks == [[("a", 1, 1.0), ("b", 2, 2.5)]]


@pytest.mark.parametrize(
    ("payload", "row"),
    [
        ('{"o": {"a": [1, 2.5, null, true]}}', {"a": [1, 2.5, None, True]}),
        ('{"o": [{"b": 1e3}]}', [{"b": 1000.0}]),
        ('{"o": 7}', 7),
        ('{"o": "text"}', "text"),
        ('{"o": null}', None),
    ],
)
def test_an_object_attribute_keeps_the_structure(payload: str, row: object) -> None:
    assert read(DEFAULT, "o object", [payload]).rows == [(row,)]
    assert read("@map(type = 'json', @attributes(o = 'o'))", "o object", [payload]).rows == [(row,)]


@pytest.mark.parametrize(
    ("payload", "cause"),
    [
        ('{"s": "a", "i": 1.0, "d": 1.5}', "attribute 'i': 1.0 is not an int"),
        ('{"s": "a", "i": 2147483648, "d": 1.5}', "attribute 'i': 2147483648 is not an int"),
        ('{"s": "a", "i": 1, "d": "1.5"}', "attribute 'd': \"1.5\" is not a double"),
        ('{"s": "a", "i": 1}', "the event has no 'd'"),
        ('{"s": "a", "i": 1, "d": 1.5, "x": 1}', 'unknown key "x": the stream has no such attribute'),
        ('{"event": {"s": "a", "i": 1, "d": 1.5}, "x": 1}', "unknown key \"x\" beside 'event'"),
        ("12", "the event has no 's'"),
        ('{"s": NaN}', "not a JSON document: NaN is not a JSON value"),
        ("{'s': 1}", "not a JSON document: Expecting property name"),
        (b'{"s": "\xff"}', "not a JSON document: 'utf-8' codec can't decode"),
        ("[" * 100_000, "the JSON document is nested too deeply"),
    ],
)
def test_a_payload_that_cannot_be_mapped_is_stored_with_its_cause(payload: Any, cause: str) -> None:
    found = read(DEFAULT, THREE, [payload])
    assert found.rows == []
    ((why, stored),) = found.failed
    assert cause in why
    assert stored == payload


@pytest.mark.parametrize("has_decoder", [True, False])
@pytest.mark.parametrize(
    ("payload", "row"),
    [
        ('{"s": "a", "i": 1, "d": 2}', ("a", 1, 2.0)),
        ('{"event": {"s": 1, "i": "2", "d": "3"}, "x": 4}', ("1", 2, 3.0)),
        ('{"x": 0, "d": 1.5, "s": null, "i": null}', (None, None, 1.5)),
    ],
)
def test_a_lenient_mapper_reads_one_object_as_an_element_of_a_list(
    payload: str, row: object, has_decoder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_decoder:
        monkeypatch.setattr(json_decoder, "_msgspec", lambda: None)
    found = read(
        "@map(type = 'json', lenient = 'true')", THREE, [payload, '{"s": "a", "i": 1.5, "d": 1}', '{"s": "a"}']
    )
    assert found.rows == [row]
    assert [why for why, _ in found.failed] == [
        "MappingFailedError: attribute 'i': 1.5 is not an int",
        "MappingFailedError: the event has no 'i'",
    ]


LAYOUTS = [
    (DEFAULT, '{"event": {"x": %s}}'),
    (DEFAULT, '{"x": %s}'),
    (DEFAULT, '[{"event": {"x": %s}}]'),
    (DEFAULT, '[{"x": %s}]'),
    ("@map(type = 'json', lenient = 'true')", '{"x": %s}'),
    ("@map(type = 'json', @attributes(x = 'x'))", '{"x": %s}'),
    ("@map(type = 'json', @attributes(x = 'x'))", '[{"x": %s}]'),
    ("@map(type = 'json', @attributes(x = '$.a[0]'))", '{"a": [%s]}'),
]


@pytest.mark.parametrize("has_decoder", [True, False])
@pytest.mark.parametrize(("map_", "layout"), LAYOUTS)
def test_numbers_mean_the_same_in_every_layout(
    map_: str, layout: str, has_decoder: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_decoder:
        monkeypatch.setattr(json_decoder, "_msgspec", lambda: None)
    written = ["120", "-0", "-0.0", "0", "1e39", "-1e39", "3.4028235e38", "9" * 44, "1e400", "-7"]
    inf = float("inf")
    floats = [120.0, -0.0, -0.0, 0.0, inf, -inf, 3.4028235e38, inf, inf, -7.0]
    doubles = [120.0, -0.0, -0.0, 0.0, 1e39, -1e39, 3.4028235e38, 1e44, inf, -7.0]
    for type_, expected in (("float", floats), ("double", doubles)):
        found = read(map_, f"x {type_}", [layout % number for number in written])
        assert found.failed == []
        assert [repr(x) for (x,) in found.rows] == [repr(x) for x in expected]  # repr(): with the sign of 0


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_the_sign_of_zero_is_kept_in_bytes_beside_dates(kind: Any) -> None:
    found = read(DEFAULT, "s string, d double", [kind(b'{"s": "2024-01-05", "d": -0}'), kind(b'{"s": "-0", "d": 1}')])
    assert [repr(row) for row in found.rows] == ["('2024-01-05', -0.0)", "('-0', 1.0)"]


def test_bad_elements_of_a_list_are_stored_one_by_one() -> None:
    payload = '[{"s": "a", "i": 1, "d": 1}, {"s": "b", "i": "x", "d": 1}, 5, {"s": "c", "i": 3, "d": null}]'
    found = read(DEFAULT, THREE, [payload])
    assert found.chunks == [[("a", 1, 1.0), ("c", 3, None)]]
    assert [stored for _, stored in found.failed] == ['[{"s":"b","i":"x","d":1}]', "[5]"]


def test_a_stored_element_keeps_its_enclosing_element() -> None:
    map_ = "@map(type = 'json', enclosing.element = '$.list', @attributes(s = 'a', i = 'b.c', d = 'd[0]'))"
    found = read(map_, THREE, ['{"list": [{"a": "x", "b": {"c": "y"}, "d": [1]}, {"a": 5, "b": {"c": 6}, "d": [7]}]}'])
    assert found.rows == [("5", 6, 7.0)]
    ((_, stored),) = found.failed
    assert stored == '{"list":{"a":"x","b":{"c":"y"},"d":[1]}}'


def test_missing_values_are_null_where_they_are_allowed() -> None:
    assert read(LENIENT, THREE, ['{"i": 1}', '[{"event": {}}]']).rows == [(None, 1, None), (None, None, None)]


def test_paths_of_jsonpath_select_values() -> None:
    map_ = "@map(type = 'json', @attributes(s = '$..name', i = \"$.items[?@.n > 1].n\", d = 'items[0].n'))"
    payload = '{"items": [{"n": 1, "name": "a"}, {"n": 2, "name": "b"}]}'
    found = read(map_, "s string, i object, d double", [payload])
    assert found.rows == [('["a","b"]', [2], 1.0)]


@pytest.mark.parametrize(
    ("path", "document", "found"),
    [
        ("$.tags[0:2]", {"tags": "north"}, []),
        ("$.tags[0:2]", {"tags": ["a", "b", "c"]}, ["a", "b"]),
        ("$.tags[::-1]", {"tags": ["a", "b"]}, ["b", "a"]),
        ("$..[1:]", {"tags": "north", "more": ["a", "b"]}, ["b"]),
        ("$[?@.a > 0]", [{"a": True}, {"a": 1}, {"a": "1"}, {"a": None}], [{"a": 1}]),
        ("$[?@.a < 1]", [{"a": False}, {"a": 0}], [{"a": 0}]),
        ("$[?@.a >= @.b]", [{"a": True, "b": False}, {"a": True, "b": True}, {}], [{"a": True, "b": True}, {}]),
        ("$[?@.a == @.b]", [{"a": [1], "b": [True]}, {"a": {"x": 0}, "b": {"x": False}}, {"a": [1], "b": [1.0]}],
         [{"a": [1], "b": [1.0]}]),
        ("$[?@ != 1]", [1, 1.0, True, "1"], [True, "1"]),
        ("$[?@.a]", [{"a": 0}, {"a": None}, {}], [{"a": 0}, {"a": None}]),
        ("$[?@.a == null]", [{"a": 0}, {"a": None}, {}], [{"a": None}]),
        ("$[?@.a in ['x', 'y']]", [{"a": "x"}, {"a": "z"}], [{"a": "x"}]),
        ("$[?@.a =~ /x.*/]", [{"a": "xy"}, {"a": "z"}], [{"a": "xy"}]),
        ("$['a','b']", {"a": 1, "b": 2}, [1, 2]),
        ("$.a[-1]", {"a": [1, 2]}, 2),
        ("$.a[-1]", {"a": "xy"}, MISSING),
    ],
)  # fmt: skip
def test_jsonpath_follows_rfc_9535(path: str, document: object, found: object) -> None:
    result = JsonPath(path).find(document)
    assert result is MISSING if found is MISSING else json.dumps(result) == json.dumps(found)


@pytest.mark.parametrize(
    ("map_", "message"),
    [
        ("@map(type = 'json', fail.on.missing.attribute = 'yes')", "expected 'true' or 'false'"),
        ("@map(type = 'json', enclosing.element = '$.a[', @attributes(s = 'a'))", "invalid JSONPath"),
        ("@map(type = 'json', @attributes(s = '$.a[?@.b <> 1]'))", "there is no '<>'"),
        ("@map(type = 'json', @attributes(s = '$.a[?@.b <> 1 and @.c in [1]]'))", "there is no '<>'"),
        ("@map(type = 'json', @attributes(s = '$.a[?@.b === 1]'))", "unexpected token '='"),
        ("@map(type = 'json', @attributes(s = '$.a[?@.b like 1]'))", "invalid JSONPath"),
        ("@map(type = 'json', @attributes(s = '$.a[?@.b + 1 > 2]'))", "invalid JSONPath"),
        ("@map(type = 'json', @attributes(s = '$.a | $.b'))", "unexpected token"),
        ("@map(type = 'json', @attributes(s = '$.a[b]'))", "invalid JSONPath"),
        ("@map(type = 'json', @attributes(s = \"$.a[?typeof(@.b) == 'x']\"))", "'typeof' is not defined"),
    ],
)
def test_an_invalid_option_is_refused(map_: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        read(map_, "s string", [])


TYPES = {"string": "s", "int": "i", "long": "l", "float": "f", "double": "d", "bool": "b"}
ATTRIBUTES = ", ".join(f"{name} {type_}" for type_, name in TYPES.items())
MAPPED = "@attributes(s = 'a.s', i = 'a.i', l = 'b', f = 'c.d.f', d = 'c.d.d', b = 'c.b')"
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.sampled_from([0, -1, 2**31 - 1, 2**31, 2**63 - 1, 2**63])
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(max_size=3)
    | st.sampled_from(["1", "1.5", "true", ""])
)
objects = st.dictionaries(st.sampled_from([*TYPES.values(), "x"]), scalars | st.lists(scalars, max_size=1), max_size=7)
full = st.fixed_dictionaries(
    {
        "s": st.none() | st.text(max_size=3),
        "i": st.none() | st.integers(-(2**31), 2**31 - 1),
        "l": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(-9, 9),
        "d": st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9),
        "b": st.none() | st.booleans(),
    }
)
events = full | objects | st.builds(lambda event: {"event": event}, full | objects)


def nested(event: dict[str, Any]) -> dict[str, Any]:
    """The same values at the places of MAPPED."""
    found: dict[str, Any] = {"a": {key: event[key] for key in ("s", "i") if key in event}}
    found |= {"b": event["l"]} if "l" in event else {}
    inner = {key: event[key] for key in ("f", "d") if key in event}
    return found | {"c": {"d": inner} | ({"b": event["b"]} if "b" in event else {})}


def without_decoder(map_: str, payloads: list[str]) -> Mapped:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_decoder, "_msgspec", lambda: None)
        return read(map_, ATTRIBUTES, payloads)


@given(
    documents=st.lists(events | st.lists(events, max_size=3) | scalars, min_size=1, max_size=4),
    strict=st.booleans(),
    mapped=st.booleans(),
)
def test_the_generated_decoder_gives_the_same_rows(documents: list[Any], strict: bool, mapped: bool) -> None:
    pytest.importorskip("msgspec")
    map_ = f"@map(type = 'json', fail.on.missing.attribute = '{str(strict).lower()}'"
    if mapped:
        map_ += ", enclosing.element = 'r', " + MAPPED
        documents = [
            {"r": [nested(each) for each in one] if isinstance(one, list) else nested(one)}
            for one in documents
            if isinstance(one, (dict, list))
        ]
    payloads = [json.dumps(document) for document in documents]
    with_decoder, without = read(map_ + ")", ATTRIBUTES, payloads), without_decoder(map_ + ")", payloads)
    assert with_decoder.chunks == without.chunks
    assert with_decoder.failed == without.failed
