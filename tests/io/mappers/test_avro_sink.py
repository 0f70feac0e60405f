"""The avro mapper of a sink: fields by name, types, templates, frames of a registry."""

from __future__ import annotations

from typing import Any

import pytest

from siddhi.errors import SiddhiAppCreationError
from siddhi.event import Event
from tests.kit.avro import decoded, encoded, map_of, record
from tests.kit.mapping import published, write
from tests.kit.running import collect, running
from tests.kit.schema_registry import schema_registry

pytest.importorskip("fastavro")
pytest.importorskip("httpx2")

TRADE = record(symbol="string", price="float", volume=["null", "long"])
ATTRIBUTES = "symbol string, price float, volume long"


def errors_of(map_: str, attributes: str, *rows: tuple[Any, ...]) -> list[str]:
    """Return the errors of rows, none of which may be published."""
    text = f"""@OnError(action = 'STREAM') @sink(type = 'inMemory', topic = 'avro', {map_})
    define stream S ({attributes});"""
    with published("avro") as payloads, running(text) as runtime:
        failed = collect(runtime, "!S")
        for row in rows:
            runtime.input_handler("S").send(row)
    assert payloads == []
    return [str(row[-1]) for row in failed]


def test_an_event_becomes_a_record() -> None:
    payloads = write(map_of(TRADE), ATTRIBUTES, [("WSO2", 55.5, 100), ("IBM", 1.5, None)])
    assert payloads == [
        encoded(TRADE, {"symbol": "WSO2", "price": 55.5, "volume": 100}),
        encoded(TRADE, {"symbol": "IBM", "price": 1.5, "volume": None}),
    ]


def test_a_chunk_is_one_payload_per_event() -> None:
    rows = [("a", 1.0, 1), ("b", 2.0, 2)]
    assert write(map_of(TRADE), ATTRIBUTES, rows, chunk=True) == write(map_of(TRADE), ATTRIBUTES, rows)


@pytest.mark.parametrize(
    ("type_", "value", "avro", "expected"),
    [
        ("string", "é", "string", "é"),
        ("string", "SELL", {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}, "SELL"),
        ("string", "a\xff", "bytes", b"a\xff"),
        ("string", "ab", {"type": "fixed", "name": "Two", "size": 2}, b"ab"),
        ("string", "é", ["int", "null", "string"], "é"),
        ("int", 4, ["int", "null"], 4),
        ("int", -(2**31), "long", -(2**31)),
        ("int", 4, "double", 4.0),
        ("long", 2**63 - 1, "long", 2**63 - 1),
        ("long", 2**31 - 1, "int", 2**31 - 1),
        ("long", 2**40, ["int", "long"], 2**40),
        ("float", 1.5, ["null", "double"], 1.5),
        ("double", 0.1, "double", 0.1),
        ("bool", True, ["null", "boolean"], True),
        ("object", {"a": 1}, {"type": "map", "values": "int"}, {"a": 1}),
        ("object", [1, None], {"type": "array", "items": ["null", "long"]}, [1, None]),
        ("object", {"a": 1}, record("Inner", a="int"), {"a": 1}),
        ("object", b"\xff", "bytes", b"\xff"),
    ],
)
def test_values_are_written_by_the_types_of_the_schema(type_: str, value: Any, avro: Any, expected: Any) -> None:
    schema = record(v=avro)
    (payload,) = write(map_of(schema), f"v {type_}", [(value,)])
    assert decoded(schema, payload) == {"v": expected}


def test_a_decimal_is_written_from_a_number_or_a_text() -> None:
    from decimal import Decimal

    schema = record(v={"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2})
    for type_, value in (("string", "12.50"), ("double", 12.5), ("object", Decimal("12.50"))):
        (payload,) = write(map_of(schema), f"v {type_}", [(value,)])
        assert decoded(schema, payload) == {"v": Decimal("12.50")}
    (why,) = errors_of(map_of(schema), "v double", (12.505,))
    assert "attribute 'v': 12.505 is not a decimal with 2 digits after the point" in why


def test_further_attributes_are_left_out_and_defaults_are_used() -> None:
    schema = {
        "type": "record",
        "name": "R",
        "fields": [{"name": "name", "type": "string"}, {"name": "n", "type": "int", "default": 7}],
    }
    (payload,) = write(map_of(schema), "name string, age int", [("WSO2", 5)])
    assert decoded(schema, payload) == {"name": "WSO2", "n": 7}


@pytest.mark.parametrize(
    ("schema", "attributes", "row", "message"),
    [
        (record(username="string"), "name string", ("a",), "no attribute for field 'username'"),
        (record(a="string"), "a string", (None,), "attribute 'a' is null"),
        (record(a="int"), "a long", (2**31,), "attribute 'a': 2147483648 is not an int"),
        (record(a="bytes"), "a string", ("€",), "attribute 'a': '€' can't be bytes"),
        (record(a={"type": "enum", "name": "E", "symbols": ["A"]}), "a string", ("B",), "'B' is not a symbol"),
        (record(a="string"), "a string", ("\ud800",), "surrogates not allowed"),
        (record(a={"type": "map", "values": "int"}), "a object", ({"a": "b"},), "does not fit the Avro schema"),
        (record(a=["null", "int"]), "a object", ("text",), "does not fit the Avro schema"),
    ],
)
def test_an_event_that_does_not_fit_goes_to_the_error_handling(
    schema: Any, attributes: str, row: tuple[Any, ...], message: str
) -> None:
    (why,) = errors_of(map_of(schema), attributes, row)
    assert message in why


def test_a_template_is_the_json_of_avro() -> None:
    schema = record(
        name="string",
        age=["null", "int"],
        address=record("Address", city="string", codes={"type": "array", "items": "long"}),
    )
    text = '{"name":"{{n}}","age":%s,"address":{"city":"x","codes":[1,2]}}'
    expected = {"name": "WSO2", "age": 5, "address": {"city": "x", "codes": [1, 2]}}
    for age in ('{"int":{{a}}}', "{{a}}"):
        map_ = map_of(schema, f'@payload("""{text % age}""")')
        (payload,) = write(map_, "n string, a int", [("WSO2", 5)])
        assert decoded(schema, payload) == expected
    (payload,) = write(map_, "n string, a int", [("WSO2", None)])
    assert decoded(schema, payload) == {**expected, "age": None}
    (why,) = errors_of(map_, "n string, a int", ('"', 5))
    assert "the text of @payload is not JSON" in why
    (why,) = errors_of(map_of(schema, '@payload("""{"name":5}""")'), "n string", ("a",))
    assert "the payload has no 'age'" in why
    (why,) = errors_of(map_of(record(a="int"), '@payload("""{"a":"{{n}}"}""")'), "n string", ("a",))
    assert "the payload.a: 'a' is not an int of the Avro schema" in why


def test_a_payload_begins_with_the_id_of_its_schema() -> None:
    with schema_registry() as registry:
        registry.add(258, TRADE)
        map_ = (
            f"@map(type = 'avro', schema.registry = '{registry.url}', schema.id = '258', use.avro.serializer = 'true')"
        )
        (payload,) = write(map_, ATTRIBUTES, [("a", 1.5, 1)])
        assert payload == b"\0\0\0\x01\x02" + encoded(TRADE, {"symbol": "a", "price": 1.5, "volume": 1})
        (payload,) = write(map_.replace("'true'", "'false'"), ATTRIBUTES, [("a", 1.5, 1)])
        assert payload == encoded(TRADE, {"symbol": "a", "price": 1.5, "volume": 1})


def test_without_a_registry_a_serializer_gets_the_record() -> None:
    payloads = write(map_of(TRADE, "use.avro.serializer = 'true'"), ATTRIBUTES, [("a", 1.5, None)])
    assert payloads == [{"symbol": "a", "price": 1.5, "volume": None}]


def test_the_schema_of_the_stream_is_used_without_another() -> None:
    (payload,) = write("@map(type = 'avro')", ATTRIBUTES, [("a", 1.5, 1)])
    assert decoded(record("S", symbol="string", price="float", volume="long"), payload)["volume"] == 1


@pytest.mark.parametrize(
    ("map_", "message"),
    [
        (map_of(record(a="string")), "attribute 'a' is an int, but the Avro schema has string"),
        (map_of({"type": "array", "items": "int"}), "not that of a record"),
        (map_of(record(a="int"), "@payload('a')"), "needs a text in @payload"),
        (map_of(record(a="int"), "@payload(x = '{{a}}', y = '{{a}}')"), "takes one text in @payload"),
    ],
)
def test_an_invalid_annotation_is_refused(map_: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        write(map_, "a int", [Event(1, (1,))])
