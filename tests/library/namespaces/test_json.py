"""JSONPath, and JSON values of events."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from siddhi.errors import SiddhiAppCreationError
from siddhi.library.operators.json_path import MISSING, JsonPath
from tests.kit.functions import executors, value
from tests.kit.running import collect, running

SHOP = {
    "items": [{"name": "a", "price": 8.5, "tags": ["x"]}, {"name": "b", "price": 12}, {"name": "c", "sold": True}],
    "owner": {"first name": "Ann", "price": 1},
}
STREAM = "define stream S (j object, t string, p string);"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.owner['first name']", "Ann"),
        ("items[1].name", "b"),
        ("$.items[-1].name", "c"),
        ("$", SHOP),
        ("$.items[9]", MISSING),
        ("$.owner[0]", MISSING),
        ("$.items[*].name", ["a", "b", "c"]),
        ("$..price", [8.5, 12, 1]),
        ("$.items[0:2].name", ["a", "b"]),
        ("$.items[::-1].name", ["c", "b", "a"]),
        ("$.items[0,2].name", ["a", "c"]),
        ("$.owner.*", ["Ann", 1]),
        ("$.items[?(@.price < 10)].name", ["a"]),
        ("$.items[?(@.price >= 10 || @.sold == true)].name", ["b", "c"]),
        ("$.items[?(@.tags && !(@.name == 'b'))].name", ["a"]),
        ("$.items[?@.tags[0] == 'x'].price", [8.5]),
        ("$..['name','price']", ["a", 8.5, "b", 12, "c", 1]),
    ],
)
def test_paths_select_elements(path: str, found: Any) -> None:
    result = JsonPath(path).find(SHOP)
    if path == "$..['name','price']":
        assert sorted(map(str, result)) == sorted(map(str, found))
    else:
        assert result == found


@pytest.mark.parametrize(
    "path", ["", "$.", "$.a[", "$.a[x]", "$a b", "$['a", "$.a[?(@.b <)]", "$.a[::0]", "$.a[?(@.b]"]
)
def test_other_texts_are_refused_when_the_app_is_created(path: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match="invalid JSONPath"):
        executors(STREAM, [f'json:getObject(j, """{path}""")'])


def test_values_of_another_kind_are_null_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    calls = ["json:getInt(j, '$.owner')", "json:getBool(j, '$.items[0].price')", "json:getDouble(j, '$..price')"]
    calls += ["json:getLong(j, p)", "json:getString(j, '$.none')"]
    built, layout = executors(STREAM, calls)
    with caplog.at_level(logging.WARNING, "siddhi"):
        assert [value(each, layout, (SHOP, "", "$.items[0].name")) for each in built] == [None] * len(calls)
    assert len(caplog.records) == len(calls)


def test_invalid_documents_and_paths_are_errors() -> None:
    calls = ["json:getInt(t, '$.a')", "json:toObject(t)", "json:getInt(j, p)", "json:setElement(j, '$.x.y', 1)"]
    calls += ["json:setElement(j, '$..x', 1)", "json:toString(t)", "json:isExists(t, '$')"]
    built, layout = executors(STREAM, calls)
    assert [value(each, layout, (SHOP, "{", "$[")) for each in built] == [RuntimeError] * len(calls)
    assert [value(each, layout, (None, None, None)) for each in built] == [RuntimeError] * len(calls)


def test_what_events_change_is_not_what_others_read() -> None:
    built, layout = executors(STREAM, ["map:put(json:getObject(t, '$.a'), 'x', 1)", "json:getString(t, '$.a')"])
    row = (None, '{"a": {}}', "")
    assert [value(each, layout, row) for each in built] == [{"x": 1}, "{}"]
    built, layout = executors(STREAM, ["json:setElement(j, '$.x', 1)"])
    assert value(built[0], layout, ({}, "", "")) == {"x": 1}
    given: dict[str, Any] = {"items": [1]}
    built, layout = executors(STREAM, ["json:setElement(j, '$.items[1]', 2)"])
    assert value(built[0], layout, (given, "", "")) == {"items": [1, 2]}
    assert given == {"items": [1]}


def test_json_becomes_events_and_events_json() -> None:
    app = """define stream S (t string);
    from S#json:tokenize(t, '$.items') select jsonElement insert into O;
    from S#json:tokenizeAsObject(t, '$.none', false) select jsonElement insert into N;
    from O#window.length(2) select json:group(jsonElement, true) as j, json:groupAsObject(jsonElement, 'all') as o
    insert into G;"""
    with running(app) as runtime:
        rows, none, groups = collect(runtime, "O"), collect(runtime, "N"), collect(runtime, "G")
        runtime.input_handler("S").send(('{"items": [1, {"a": 2}, 1]}',))
    assert rows == [("1",), ('{"a":2}',), ("1",)]
    assert none == [(None,)]
    assert groups[-1] == ('[{"a":2},1]', {"all": [{"a": 2}, 1]})
