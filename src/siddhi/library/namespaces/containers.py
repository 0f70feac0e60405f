"""The namespaces ``map`` and ``list``: maps and lists are values of type object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import (
    AggregatorMetadata,
    ExtensionMetadata,
    NullRule,
    Overload,
    Parameter,
    Repeat,
    ReturnRule,
    StreamProcessorMetadata,
)
from siddhi.library.namespaces.declare import Namespace, takes
from siddhi.library.operators.collect import (
    ListCollect,
    ListMerge,
    ListTokenize,
    MapCollect,
    MapMerge,
    MapTokenize,
)
from siddhi.library.type_sets import ANY, BOOL, INT, OBJECT, STRING
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = ["LIST", "MAP"]

_map, _list = Namespace("map", NullRule.CONTAINER), Namespace("list", NullRule.CONTAINER)
_OBJECT, _BOOL, _INT, _STRING = AttributeType.OBJECT, AttributeType.BOOL, AttributeType.INT, AttributeType.STRING
_M = Parameter("map", OBJECT, description="a map")
_TO = Parameter("to.map", OBJECT, description="the map that is changed")
_FROM = Parameter("from.map", OBJECT, description="the map that is read")
_KEY, _VALUE = Parameter("key", ANY), Parameter("value", ANY)
_L = Parameter("list", OBJECT, description="a list")
_OTHER = Parameter("given.list", OBJECT, description="another list")
_INDEX = Parameter("index", INT, description="from 0")
_DISTINCT = Parameter("is.distinct", BOOL, description="without values that are there already; default false")


def _given(types: Sequence[AttributeType], _constants: Sequence[Any]) -> AttributeType:
    return types[2] if len(types) == 3 else _OBJECT


def _check_pairs(types: Sequence[AttributeType], _constants: Sequence[Any]) -> None:
    if len(types) % 2:
        raise ValueError("map:create() takes pairs of key and value", "add a value for the last key")


def _check_order(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if len(constants) == 2 and constants[1] is not None and constants[1].upper() not in ("ASC", "DESC", "REV"):
        raise ValueError(f"unknown order '{constants[1]}' of list:sort()", "the orders are ASC, DESC and REV")


def _of_map(
    name: str, parameters: Sequence[Parameter], returns: ReturnRule, description: str, *results: tuple[str, Any]
) -> ExtensionMetadata:
    return _map.function(name, takes(*parameters), returns, description, *results)


def _of_list(
    name: str, parameters: Sequence[Parameter], returns: ReturnRule, description: str, *results: tuple[str, Any]
) -> ExtensionMetadata:
    return _list.function(name, takes(*parameters), returns, description, *results)


def _values_of(types: Sequence[AttributeType], _constants: Sequence[Any]) -> tuple[Attribute, ...]:
    """Return the attributes of list:tokenize: an index, and a value for each list."""
    names = ["value"] if len(types) == 1 else [f"value{i}" for i in range(1, len(types) + 1)]
    return (Attribute("index", _INT), *(Attribute(name, _OBJECT) for name in names))


def _entries_of(types: Sequence[AttributeType], _constants: Sequence[Any]) -> tuple[Attribute, ...]:
    """Return the attributes of map:tokenize: a key, and a value for each map."""
    names = ["value"] if len(types) == 1 else [f"value{i}" for i in range(1, len(types) + 1)]
    return (Attribute("key", _OBJECT), *(Attribute(name, _OBJECT) for name in names))


_ONE = "map:create('a', 1)"
_TWO = "map:create('a', 1, 'b', 2)"

MAP: tuple[ExtensionMetadata, ...] = (
    _of_map("clear", (_M,), _OBJECT, "Removes all entries and returns the map.", (f"map:clear({_ONE})", {})),
    _of_map("clone", (_M,), _OBJECT, "A new map with the same entries.", (f"map:clone({_ONE})", {"a": 1})),
    AggregatorMetadata(
        name="collect",
        namespace="map",
        implementation=MapCollect,
        overloads=(Overload((_KEY, _VALUE)),),
        returns=_OBJECT,
        description="The map of keys and values of the events of a window; of equal keys the last value.",
    ),
    _map.function(
        "combineByKey",
        [Overload((_M,), Repeat.ONE_OR_MORE)],
        _OBJECT,
        "A new map with the list of the values of each key in all maps.",
        (f"map:combineByKey({_ONE}, {_TWO})", {"a": [1, 1], "b": [2]}),
    ),
    _of_map("containsKey", (_M, _KEY), _BOOL, "Whether the map has a key.", (f"map:containsKey({_ONE}, 'a')", True)),
    _of_map(
        "containsValue", (_M, _VALUE), _BOOL, "Whether the map has a value.", (f"map:containsValue({_ONE}, 2)", False)
    ),
    _map.function(
        "create",
        [Overload(), Overload((_KEY, _VALUE), Repeat.ONE_OR_MORE)],
        _OBJECT,
        "A new map of pairs of key and value.",
        ("map:create('a', 1, 2, true)", {"a": 1, 2: True}),
        ("map:create()", {}),
        check=_check_pairs,
    ),
    _of_map(
        "createFromJSON",
        (Parameter("json.string", STRING),),
        _OBJECT,
        "The map of a JSON object. An event with another text fails.",
        ('map:createFromJSON("""{"a": {"b": [1, null]}}""")', {"a": {"b": [1, None]}}),
    ),
    _of_map(
        "createFromXML",
        (Parameter("xml.string", STRING),),
        _OBJECT,
        "The map of the elements inside the root of an XML document: their texts, maps of nested ones, lists of repeated ones. "
        "An event with another text, or a document type, fails.",
        (
            "map:createFromXML('<s><a>1</a><b><c>x</c></b><d>1</d><d>2</d></s>')",
            {"a": "1", "b": {"c": "x"}, "d": ["1", "2"]},
        ),
    ),
    _map.function(
        "get",
        takes(_M, _KEY, optional=(Parameter("default.value", ANY, description="for a key that is missing"),)),
        _given,
        "The value of a key, or the default or null; of the type of the default, without one an object.",
        (f"map:get({_ONE}, 'a')", 1),
        (f"map:get({_ONE}, 'x', 'none')", "none"),
    ),
    _of_map("isEmpty", (_M,), _BOOL, "Whether the map has no entries.", (f"map:isEmpty({_ONE})", False)),
    _map.function(
        "isMap",
        takes(Parameter("arg", ANY)),
        _BOOL,
        "Whether the value is a map; false for null.",
        ("map:isMap(1)", False),
        own_nulls=True,
    ),
    _of_map("keys", (_M,), _OBJECT, "The list of the keys.", (f"map:keys({_TWO})", ["a", "b"])),
    AggregatorMetadata(
        name="merge",
        namespace="map",
        implementation=MapMerge,
        overloads=(Overload((_M,)),),
        returns=_OBJECT,
        description="One map of the entries of the maps of a window; of equal keys the last value.",
    ),
    _of_map(
        "put",
        (_M, _KEY, _VALUE),
        _OBJECT,
        "Sets the value of a key and returns the map.",
        (f"map:put({_ONE}, 'a', 3)", {"a": 3}),
    ),
    _of_map(
        "putAll",
        (_TO, _FROM),
        _OBJECT,
        "Sets the entries of another map and returns the map.",
        (f"map:putAll({_ONE}, map:create('c', 3))", {"a": 1, "c": 3}),
    ),
    _of_map(
        "putIfAbsent",
        (_M, _KEY, _VALUE),
        _OBJECT,
        "Sets the value of a key that is missing and returns the map.",
        (f"map:putIfAbsent({_ONE}, 'a', 3)", {"a": 1}),
    ),
    _of_map(
        "remove", (_M, _KEY), _OBJECT, "Removes a key and returns the map.", (f"map:remove({_TWO}, 'a')", {"b": 2})
    ),
    _of_map(
        "replace",
        (_M, _KEY, _VALUE),
        _OBJECT,
        "Sets the value of a key that is there and returns the map.",
        (f"map:replace({_ONE}, 'b', 3)", {"a": 1}),
    ),
    _of_map(
        "replaceAll",
        (_TO, _FROM),
        _OBJECT,
        "Sets those entries of another map whose keys are there, and returns the map.",
        (f"map:replaceAll({_ONE}, map:create('a', 5, 'c', 3))", {"a": 5}),
    ),
    _of_map("size", (_M,), _INT, "The number of entries.", (f"map:size({_TWO})", 2)),
    _of_map("toJSON", (_M,), _STRING, "The JSON text of the map.", (f"map:toJSON({_TWO})", '{"a":1,"b":2}')),
    _map.function(
        "toXML",
        takes(_M, optional=(Parameter("root.element.name", OBJECT | STRING, description="default: no root element"),)),
        _STRING,
        "The XML text of the map, an element for each entry. An event with a key that is not the name of an element fails.",
        (f"map:toXML({_TWO}, 'r')", "<r><a>1</a><b>2</b></r>"),
    ),
    StreamProcessorMetadata(
        name="tokenize",
        namespace="map",
        implementation=MapTokenize,
        overloads=(Overload((_M,), Repeat.ONE_OR_MORE),),
        appends=_entries_of,
        description="An event for each entry; with several maps one for each key of the first, with its value in each of them.",
        example="from S#map:tokenize(map:create('a', 1)) select key, value insert into O;",
    ),
    _of_map("values", (_M,), _OBJECT, "The list of the values.", (f"map:values({_TWO})", [1, 2])),
)

_ABC = "list:create('a', 'b', 'c')"

LIST: tuple[ExtensionMetadata, ...] = (
    _list.function(
        "add",
        takes(_L, _VALUE, optional=(Parameter("index", INT, description="from 0; default: the end"),)),
        _OBJECT,
        "Adds a value at the end, or before a position, and returns the list.",
        (f"list:add({_ABC}, 'd')", ["a", "b", "c", "d"]),
        (f"list:add({_ABC}, 'd', 0)", ["d", "a", "b", "c"]),
    ),
    _list.function(
        "addAll",
        takes(Parameter("to.list", OBJECT), Parameter("from.list", OBJECT), optional=(_DISTINCT,)),
        _OBJECT,
        "Adds the values of another list and returns the list.",
        (f"list:addAll({_ABC}, list:create('c', 'd'))", ["a", "b", "c", "c", "d"]),
        (f"list:addAll({_ABC}, list:create('c', 'd'), true)", ["a", "b", "c", "d"]),
    ),
    _of_list("clear", (_L,), _OBJECT, "Removes all values and returns the list.", (f"list:clear({_ABC})", [])),
    _of_list("clone", (_L,), _OBJECT, "A new list with the same values.", (f"list:clone({_ABC})", ["a", "b", "c"])),
    AggregatorMetadata(
        name="collect",
        namespace="list",
        implementation=ListCollect,
        overloads=(Overload((_VALUE,)), Overload((_VALUE, _DISTINCT))),
        returns=_OBJECT,
        description="The list of the values of a window, in order of arrival.",
    ),
    _of_list("contains", (_L, _VALUE), _BOOL, "Whether the list has a value.", (f"list:contains({_ABC}, 'b')", True)),
    _of_list(
        "containsAll",
        (_L, _OTHER),
        _BOOL,
        "Whether the list has all values of another.",
        (f"list:containsAll({_ABC}, list:create('a', 'd'))", False),
    ),
    _of_list(
        "containsAny",
        (_L, _OTHER),
        _BOOL,
        "Whether the list has any value of another.",
        (f"list:containsAny({_ABC}, list:create('a', 'd'))", True),
    ),
    _list.function(
        "create",
        [Overload(), Overload((Parameter("value", ANY),), Repeat.ONE_OR_MORE)],
        _OBJECT,
        "A new list of values.",
        ("list:create(1, 'b', true)", [1, "b", True]),
    ),
    _of_list(
        "get",
        (_L, _INDEX),
        _OBJECT,
        "The value at a position; null outside of the list.",
        (f"list:get({_ABC}, 1)", "b"),
        (f"list:get({_ABC}, 3)", None),
    ),
    _of_list(
        "indexOf",
        (_L, _VALUE),
        _INT,
        "The first position of a value; -1 if it is not there.",
        ("list:indexOf(list:create(1, 2, 1), 1)", 0),
    ),
    _of_list("isEmpty", (_L,), _BOOL, "Whether the list has no values.", (f"list:isEmpty({_ABC})", False)),
    _list.function(
        "isList",
        takes(Parameter("arg", ANY)),
        _BOOL,
        "Whether the value is a list; false for null.",
        ("list:isList(1)", False),
        own_nulls=True,
    ),
    _of_list(
        "lastIndexOf",
        (_L, _VALUE),
        _INT,
        "The last position of a value; -1 if it is not there.",
        ("list:lastIndexOf(list:create(1, 2, 1), 1)", 2),
    ),
    AggregatorMetadata(
        name="merge",
        namespace="list",
        implementation=ListMerge,
        overloads=(Overload((_L,)), Overload((_L, _DISTINCT))),
        returns=_OBJECT,
        description="One list of the values of the lists of a window.",
    ),
    _of_list(
        "remove",
        (_L, _VALUE),
        _OBJECT,
        "Removes the first occurrence of a value and returns the list.",
        (f"list:remove({_ABC}, 'a')", ["b", "c"]),
    ),
    _of_list(
        "removeAll",
        (_L, _OTHER),
        _OBJECT,
        "Removes the values of another list and returns the list.",
        (f"list:removeAll({_ABC}, list:create('a', 'c'))", ["b"]),
    ),
    _of_list(
        "removeByIndex",
        (_L, _INDEX),
        _OBJECT,
        "Removes the value at a position and returns the list. An event with a position outside of the list fails.",
        (f"list:removeByIndex({_ABC}, 1)", ["a", "c"]),
    ),
    _of_list(
        "retainAll",
        (_L, _OTHER),
        _OBJECT,
        "Removes the values that another list does not have, and returns the list.",
        (f"list:retainAll({_ABC}, list:create('a', 'd'))", ["a"]),
    ),
    _of_list(
        "setValue",
        (_L, _INDEX, _VALUE),
        _OBJECT,
        "Replaces the value at a position and returns the list. An event with a position outside of the list fails.",
        (f"list:setValue({_ABC}, 0, 'x')", ["x", "b", "c"]),
    ),
    _of_list("size", (_L,), _INT, "The number of values.", (f"list:size({_ABC})", 3)),
    _list.function(
        "sort",
        takes(_L, optional=(Parameter("order", STRING, description="ASC, DESC or REV (default)"),)),
        _OBJECT,
        "Sorts the list and returns it: ascending, descending, or in the reverse of its present order.",
        ("list:sort(list:create(2, 3, 1), 'ASC')", [1, 2, 3]),
        ("list:sort(list:create(2, 3, 1))", [1, 3, 2]),
        check=_check_order,
    ),
    StreamProcessorMetadata(
        name="tokenize",
        namespace="list",
        implementation=ListTokenize,
        overloads=(Overload((_L,), Repeat.ONE_OR_MORE),),
        appends=_values_of,
        description="An event for each position, with the value of each list there; null where a list is shorter.",
        example="from S#list:tokenize(list:create('a', 'b')) select index, value insert into O;",
    ),
)
