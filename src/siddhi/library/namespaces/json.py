"""The namespace ``json``: JSON as text or as parsed objects, and JSONPath."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from siddhi.extension.metadata import (
    AggregatorMetadata,
    ExtensionMetadata,
    Overload,
    Parameter,
    StreamProcessorMetadata,
)
from siddhi.library.namespaces.declare import Namespace, takes
from siddhi.library.operators.json import JsonGroup, JsonGroupAsObject, JsonTokenize, JsonTokenizeAsObject
from siddhi.library.operators.json_path import JsonPath
from siddhi.library.type_sets import ANY, BOOL, OBJECT, STRING
from siddhi.query_api.definition import Attribute
from siddhi.types import AttributeType

__all__ = ["EXTENSIONS"]

_json = Namespace("json", None)
_JSON = Parameter("json", STRING | OBJECT, description="JSON text, or a parsed object")
_PATH = Parameter("path", STRING, description="such as $.a.b[0]")
_OBJECT, _STRING, _BOOL = AttributeType.OBJECT, AttributeType.STRING, AttributeType.BOOL
_INVALID = "An event with invalid JSON fails."
_DOCUMENT = '''"""{"a": {"b": [1, 2.5, "7", true, null]}}"""'''


def _check_path(_types: Sequence[AttributeType], constants: Sequence[Any]) -> None:
    if constants[1] is not None:
        JsonPath(constants[1])


def _getter(name: str, returns: AttributeType, *results: tuple[str, Any]) -> ExtensionMetadata:
    return _json.function(
        f"get{name}",
        takes(_JSON, _PATH),
        returns,
        f"The value at a path as {returns}; null, and a line in the log, if there is none, if there are several, or if it is of "
        f"another kind. {_INVALID}",
        *results,
        check=_check_path,
    )


def _group(name: str, implementation: type, description: str) -> ExtensionMetadata:
    enclosing = Parameter("enclosing.element", STRING, dynamic=False, description="name of an object around the list")
    unlike = Parameter("distinct", BOOL, dynamic=False, description="whether equal values occur once; default false")
    return AggregatorMetadata(
        name=name,
        namespace="json",
        implementation=implementation,
        overloads=(
            Overload((_JSON,)),
            Overload((_JSON, enclosing)),
            Overload((_JSON, unlike)),
            Overload((_JSON, enclosing, unlike)),
        ),
        returns=_OBJECT,
        description=description,
    )


def _tokenize(name: str, implementation: type, type_: AttributeType, what: str) -> ExtensionMetadata:
    return StreamProcessorMetadata(
        name=name,
        namespace="json",
        implementation=implementation,
        overloads=tuple(
            takes(
                _JSON,
                _PATH,
                optional=(
                    Parameter(
                        "fail.on.missing.attribute",
                        BOOL,
                        description="whether an event without an element at the path fails; false: its element is null; default true",
                    ),
                ),
            )
        ),
        appends=(Attribute("jsonElement", type_),),
        check=_check_path,
        description=f"An event for each element at a path, {what}.",
    )


EXTENSIONS: tuple[ExtensionMetadata, ...] = (
    _getter("Bool", _BOOL, (f"json:getBool({_DOCUMENT}, '$.a.b[3]')", True)),
    _getter(
        "Double",
        AttributeType.DOUBLE,
        (f"json:getDouble({_DOCUMENT}, '$.a.b[1]')", 2.5),
        (f"json:getDouble({_DOCUMENT}, '$.x')", None),
    ),
    _getter("Float", AttributeType.FLOAT, (f"json:getFloat({_DOCUMENT}, '$.a.b[1]')", 2.5)),
    _getter(
        "Int",
        AttributeType.INT,
        (f"json:getInt({_DOCUMENT}, '$.a.b[2]')", 7),
        (f"json:getInt({_DOCUMENT}, '$.a.b[1]')", None),
    ),
    _getter("Long", AttributeType.LONG, (f"json:getLong({_DOCUMENT}, '$.a.b[0]')", 1)),
    _json.function(
        "getObject",
        takes(_JSON, _PATH),
        _OBJECT,
        f"The element at a path, or the list of them if there are several; null if there is none. {_INVALID}",
        (f"json:getObject({_DOCUMENT}, '$.a')", {"b": [1, 2.5, "7", True, None]}),
        (f"json:getObject({_DOCUMENT}, '$..b[0:2]')", [1, 2.5]),
        check=_check_path,
    ),
    _json.function(
        "getString",
        takes(_JSON, _PATH),
        _STRING,
        f"The value at a path as text, objects and lists as JSON; null, and a line in the log, if there is none. {_INVALID}",
        (f"json:getString({_DOCUMENT}, '$.a.b[2]')", "7"),
        (f"json:getString({_DOCUMENT}, '$.a')", '{"b":[1,2.5,"7",true,null]}'),
        check=_check_path,
    ),
    _group("group", JsonGroup, "The JSON text of the list of the JSON values of a window; nulls are left out."),
    _group(
        "groupAsObject", JsonGroupAsObject, "The list of the JSON values of a window, as object; nulls are left out."
    ),
    _json.function(
        "isExists",
        takes(_JSON, _PATH),
        _BOOL,
        f"Whether a path has an element; null is one. {_INVALID}",
        (f"json:isExists({_DOCUMENT}, '$.a.b[4]')", True),
        (f"json:isExists({_DOCUMENT}, '$.b')", False),
        check=_check_path,
    ),
    _json.function(
        "setElement",
        takes(
            _JSON,
            _PATH,
            Parameter("json.element", ANY),
            optional=(Parameter("key", STRING, description="inside the object at the path"),),
        ),
        _OBJECT,
        "A new object with an element at a path, or at a key inside it. An event fails if the path has no parent.",
        ('json:setElement("""{"a": {"b": 1}}""", \'$.a.c\', 2)', {"a": {"b": 1, "c": 2}}),
        ('json:setElement("""{"a": {"b": 1}}""", \'$.a\', \'x\', \'b\')', {"a": {"b": "x"}}),
        check=_check_path,
    ),
    _json.function(
        "toObject",
        takes(Parameter("json", STRING, description="JSON text")),
        _OBJECT,
        f"The parsed object of a text. {_INVALID}",
        (f"json:toObject({_DOCUMENT})", {"a": {"b": [1, 2.5, "7", True, None]}}),
    ),
    _json.function(
        "toString",
        takes(
            _JSON,
            optional=(
                Parameter(
                    "allow.escape", BOOL, description="whether characters beyond ASCII are escaped; default false"
                ),
            ),
        ),
        _STRING,
        f"The JSON text of an object. {_INVALID}",
        ('json:toString("""{ "a" : 1 }""")', '{"a":1}'),
    ),
    _tokenize("tokenize", JsonTokenize, _STRING, "as text"),
    _tokenize("tokenizeAsObject", JsonTokenizeAsObject, _OBJECT, "as object"),
)
