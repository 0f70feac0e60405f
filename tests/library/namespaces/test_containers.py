"""Maps and lists: errors, what changes, aggregators and events of their values."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi.errors import SiddhiAppCreationError
from tests.kit.functions import executors, value
from tests.kit.running import collect, running

STREAM = "define stream S (m object, l object, k string, i int);"


def outputs(app: str, *rows: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    with running(app) as runtime:
        found = collect(runtime, "O")
        for row in rows:
            runtime.input_handler("S").send(row)
    return found


def test_other_objects_and_positions_are_errors() -> None:
    calls = [
        "map:get(l, k)", "map:put(k2, 'a', 1)", "map:size(l)", "map:createFromJSON(k)", "map:createFromXML(k)",
        "map:toXML(map:create('a b', 1))", "map:keys(n)", "list:get(m, 0)", "list:removeByIndex(l, i)", "list:add(l, 1, i)",
        "list:setValue(l, i, 1)", "list:sort(list:create(1, 'a'), 'ASC')", "list:sort(l, k)", "list:contains(n, 1)",
        "map:createFromXML('<!DOCTYPE a><a/>')", "map:createFromJSON('[1]')",
    ]  # fmt: skip
    built, layout = executors("define stream S (m object, l object, k string, i int, k2 object, n object);", calls)
    row = ({"a": 1}, [1, 2], "x", 7, "text", None)
    assert [value(each, layout, row) for each in built] == [RuntimeError] * len(calls)


def test_the_given_map_or_list_is_changed_and_returned() -> None:
    built, layout = executors(STREAM, ["map:put(m, k, i)", "list:add(l, i)", "map:clone(m)"])
    given: tuple[Any, ...] = ({}, [], "a", 1)
    results = [value(each, layout, given) for each in built]
    assert results == [{"a": 1}, [1], {"a": 1}]
    assert results[0] is given[0]
    assert results[1] is given[1]
    assert results[2] is not given[0]


def test_a_new_map_is_made_for_each_event() -> None:
    built, layout = executors(STREAM, ["map:put(map:create('a', 1), k, i)"])
    assert value(built[0], layout, ({}, [], "x", 1)) == {"a": 1, "x": 1}
    assert value(built[0], layout, ({}, [], "y", 2)) == {"a": 1, "y": 2}


def test_true_is_not_one() -> None:
    built, layout = executors(STREAM, ["list:indexOf(l, true)", "list:contains(l, 1)"])
    assert [value(each, layout, ({}, [1, True], "", 0)) for each in built] == [1, True]


def test_xml_is_the_inverse_of_itself() -> None:
    built, layout = executors(STREAM, ["map:createFromXML(map:toXML(m, k))"])
    given = {"a": "1 < 2", "b": {"c": ["x", "y"]}, "e": ""}
    assert value(built[0], layout, (given, [], "root", 0)) == given


def test_aggregators_follow_the_window() -> None:
    app = """define stream S (k string, v int);
    from S#window.length(2)
    select list:collect(v) as l, list:collect(k, true) as d, map:collect(k, v) as m,
        list:merge(list:create(v, 0)) as merged, map:merge(map:create(k, v)) as all,
        str:groupConcat(k, '-', true, 'DESC') as t
    insert into O;"""
    found = outputs(app, ("a", 1), ("a", 2), ("b", 3))
    assert found == [
        ([1], ["a"], {"a": 1}, [1, 0], {"a": 1}, "a"),
        ([1, 2], ["a"], {"a": 2}, [1, 0, 2, 0], {"a": 2}, "a"),
        ([2, 3], ["a", "b"], {"a": 2, "b": 3}, [2, 0, 3, 0], {"a": 2, "b": 3}, "b-a"),
    ]


def test_maps_and_lists_become_events() -> None:
    rows = outputs(
        "define stream S (m object, l object); from S#list:tokenize(l, list:create(7)) select index, value1, value2 insert into O;",
        ({}, ["a", "b"]),
    )
    assert rows == [(0, "a", 7), (1, "b", None)]
    rows = outputs(
        "define stream S (m object, l object); from S#map:tokenize(m) select key, value insert into O;", ({"x": 1}, [])
    )
    assert rows == [("x", 1)]


@pytest.mark.parametrize("call", ["map:create('a')", "list:sort(l, 'UP')"])
def test_invalid_calls_are_refused(call: str) -> None:
    with pytest.raises(SiddhiAppCreationError):
        executors(STREAM, [call])
