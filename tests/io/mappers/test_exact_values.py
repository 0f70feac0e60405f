"""Values of subclasses and of numpy in sinks: texts of str subclasses, JSON of what objects hold, arrays."""

from __future__ import annotations

import enum
import json
from collections import deque
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from siddhi.errors import MappingFailedError
from tests.kit.mapping import published, read, write
from tests.kit.running import collect, running


class Named(str, enum.Enum):
    """A text with a name; its str() is the name."""

    A = "x"


class Strange(str):
    """A text with a str() and repr() of its own."""

    __slots__ = ()

    def __str__(self) -> str:
        return "WRONG"

    __repr__ = __str__


class Plain(enum.Enum):
    """No text and no number."""

    A = 1
    B = "b"


class Level(enum.IntEnum):
    """A number with a name."""

    HIGH = 7


class OwnFloat(float):
    """A float with a repr() of its own."""

    def __repr__(self) -> str:
        return "WRONG"


TEXTS = [np.str_("x"), Named.A, Strange("x"), enum.StrEnum("Exact", {"A": "x"}).A]
texts = pytest.mark.parametrize("text", TEXTS, ids=lambda text: type(text).__name__)


@texts
@pytest.mark.parametrize(
    ("map_", "payload"),
    [
        ("@map(type = 'text')", 's:"x",\no:x'),
        ("@map(type = 'text', @payload('{{s}}/{{o}}'))", "x/x"),
        ("@map(type = 'text', mustache.enabled = 'true', @payload('{{s}}/{{o}}'))", "x/x"),
        ("@map(type = 'xml')", "<events><event><s>x</s><o>x</o></event></events>"),
        ("@map(type = 'xml', @payload('<s>{{s}}</s>'))", "<s>x</s>"),
        ("@map(type = 'csv')", "x,x\n"),
        ("@map(type = 'json')", '{"event":{"s":"x","o":"x"}}'),
        ('@map(type = "json", @payload("""{"s":"{{s}}"}"""))', '{"s":"x"}'),
        ("@map(type = 'keyvalue', @payload(a = 's', b = '{{s}}'))", {"a": "x", "b": "x"}),
    ],
)
def test_a_text_of_a_subclass_is_published_as_its_text(text: Any, map_: str, payload: object) -> None:
    (found,) = write(map_, "s string, o object", [(text, text)])
    assert found == payload
    if isinstance(found, dict):
        assert {type(value) for value in found.values()} == {str}


@texts
def test_a_text_of_a_subclass_can_be_a_dynamic_option(text: Any) -> None:
    app = "@sink(type = 'inMemory', topic = '{{s}}', @map(type = 'keyvalue')) define stream S (s string);"
    with published("x") as payloads, running(app) as runtime:
        runtime.input_handler("S").send((text,))
    assert payloads == [{"s": "x"}]
    assert type(payloads[0]["s"]) is str


@pytest.mark.parametrize("kind", [np.str_, Strange])
@pytest.mark.parametrize(
    ("map_", "payload"),
    [
        ("@map(type = 'json')", '{"a":"1"}'),
        ("@map(type = 'json', @attributes(a = 'a'))", '{"a":"1"}'),
        ("@map(type = 'csv')", "1"),
        ("@map(type = 'xml')", "<events><event><a>1</a></event></events>"),
        ("@map(type = 'text')", 'a:"1"'),
    ],
)
def test_a_payload_of_a_subclass_of_str_is_read(kind: type[str], map_: str, payload: str) -> None:
    found = read(map_, "a string", [kind(payload)])
    assert (found.rows, found.failed) == ([("1",)], [])
    assert type(found.rows[0][0]) is str


def test_values_of_a_payload_are_exact_texts() -> None:
    found = read(
        "@map(type = 'keyvalue', implicit.cast.enable = 'true')", "a string, i int", [{"a": Named.A, "i": Strange("7")}]
    )
    assert (found.rows, found.failed) == ([("x", 7)], [])
    assert type(found.rows[0][0]) is str


# --- JSON of objects


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"f": np.float64(1.5)}, '{"f":1.5}'),
        ({"f": OwnFloat(1.5), "n": Level.HIGH}, '{"f":1.5,"n":7}'),
        ([np.int64(7), np.uint64(2**64 - 1), np.bool_(True), np.float32(0.1)], "[7,18446744073709551615,true,0.1]"),
        (np.array([[1, 2], [3, 4]]), "[[1,2],[3,4]]"),
        ({"a": np.array([0.5, np.nan])}, '{"a":[0.5,null]}'),
        (np.array(5), "5"),
        ([np.array(["a", None], dtype=object)], '[["a",null]]'),
        ([pd.NA, pd.NaT, np.ma.masked], "[null,null,null]"),
        (pd.Series([1, 2]), "[1,2]"),
        ({Named.A: 1, Level.HIGH: 2, Plain.B: 3, Strange("s"): 4}, '{"x":1,"7":2,"b":3,"s":4}'),
        ({True: 1, None: 2, 1.5: 3, np.int64(4): 4}, '{"true":1,"null":2,"1.5":3,"4":4}'),
        ({1: "a", "1": "b"}, '{"1":"b"}'),
        ([Plain.A, Plain.B, Named.A, Strange("s")], '[1,"b","x","s"]'),
        ((1, deque([2]), range(2)), "[1,[2],[0,1]]"),
        ([Decimal("1.10"), Decimal("NaN"), float("inf")], "[1.10,null,null]"),
        (np.datetime64("2024-01-01"), '"2024-01-01"'),
        ([{}, []], "[{},[]]"),
    ],
    ids=str,
)
def test_objects_become_json_values(value: Any, written: str) -> None:
    (payload,) = write("@map(type = 'json')", "o object", [(value,)])
    assert payload == f'{{"event":{{"o":{written}}}}}'
    json.loads(payload)


LOOP: list[Any] = []
LOOP.append(LOOP)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"x", "decode it"),
        ([object()], "has no JSON form"),
        ({"a": 1 + 2j}, "has no JSON form"),
        ({(1, 2): 3}, "key of a JSON object"),
        (LOOP, "contains itself"),
    ],
    ids=["bytes", "object", "complex", "key", "loop"],
)
def test_an_object_without_json_form_is_a_mapping_error(value: Any, why: str) -> None:
    sink = "@sink(type = 'inMemory', topic = 't', @map(type = 'json'))"
    app = f"@OnError(action = 'STREAM') {sink} define stream S (n int, o object);"
    with published("t") as payloads, running(app) as runtime:
        failed = collect(runtime, "!S")
        runtime.input_handler("S").send((1, value))
        runtime.input_handler("S").send((2, 0))
    assert payloads == ['{"event":{"n":2,"o":0}}']
    ((_, _, error),) = failed
    assert isinstance(error, MappingFailedError)
    assert why in str(error)


# --- arrays


@pytest.mark.parametrize(
    ("map_", "payload"),
    [
        ("@map(type = 'xml')", "<events><event><n>1</n><o>[1, 2]</o></event></events>"),
        ("@map(type = 'text')", "n:1,\no:[1, 2]"),
        ("@map(type = 'csv')", '1,"[1, 2]"\n'),
        ("@map(type = 'json')", '{"event":{"n":1,"o":[1,2]}}'),
        ("@map(type = 'text', @payload('{{o}}'))", "[1, 2]"),
    ],
)
def test_an_array_in_an_object_attribute_is_published(map_: str, payload: str) -> None:
    assert write(map_, "n int, o object", [(1, np.array([1, 2]))]) == [payload]


def test_long_arrays_are_written_in_full() -> None:
    (payload,) = write("@map(type = 'text', @payload('{{o}}'))", "o object", [(np.arange(2000),)])
    assert payload == "[" + ", ".join(map(str, range(2000))) + "]"
