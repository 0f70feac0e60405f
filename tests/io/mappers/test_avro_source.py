"""The avro mapper of a source: where schemas come from, types, paths, arrays of records, broken payloads."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from siddhi.errors import SiddhiAppCreationError
from tests.kit.avro import encoded, map_of, record
from tests.kit.mapping import Mapped, read, write
from tests.kit.schema_registry import schema_registry

pytest.importorskip("fastavro")
pytest.importorskip("httpx2")

TRADE = record(symbol="string", price="float", volume=["null", "long"])
ATTRIBUTES = "symbol string, price float, volume long"
ROW = {"symbol": "WSO2", "price": 55.5, "volume": 100}


def read_one(schema: Any, attributes: str, value: Any, more: str = "") -> Mapped:
    return read(map_of(schema, more), attributes, [encoded(schema, value)])


def test_a_record_becomes_an_event() -> None:
    found = read(map_of(TRADE), ATTRIBUTES, [encoded(TRADE, ROW), bytearray(encoded(TRADE, {**ROW, "volume": None}))])
    assert found.rows == [("WSO2", 55.5, 100), ("WSO2", 55.5, None)]


def test_an_array_of_records_becomes_a_chunk() -> None:
    schema = {"type": "array", "items": TRADE}
    found = read_one(schema, ATTRIBUTES, [ROW, {**ROW, "symbol": "IBM"}])
    assert found.chunks == [[("WSO2", 55.5, 100), ("IBM", 55.5, 100)]]


def test_an_item_that_does_not_fit_fails_alone() -> None:
    schema = {"type": "array", "items": record(v="long")}
    found = read_one(schema, "v int", [{"v": 1}, {"v": 2**31}, {"v": 3}])
    assert found.chunks == [[(1,), (3,)]]
    ((cause, part),) = found.failed
    assert cause == "MappingFailedError: attribute 'v': 2147483648 is not an int"
    assert part == encoded(schema, [{"v": 2**31}])


@pytest.mark.parametrize(
    ("type_", "avro", "value", "expected"),
    [
        ("string", "string", "é\0", "é\0"),
        ("string", {"type": "enum", "name": "Side", "symbols": ["BUY", "SELL"]}, "SELL", "SELL"),
        ("string", "int", 7, "7"),
        ("string", "float", 55.6, "55.6"),
        ("string", "double", 1e-5, "1.0E-5"),
        ("string", "boolean", True, "true"),
        ("string", "bytes", b"\x00\xff", "\x00\xff"),
        ("string", record("Inner", a="int", b=["null", "string"]), {"a": 1, "b": None}, '{"a":1,"b":null}'),
        ("string", {"type": "array", "items": "bytes"}, [b"a", b"b"], '["a","b"]'),
        ("string", ["null", "string", "long"], 5, "5"),
        ("bool", ["null", "boolean"], False, False),
        ("int", "long", -(2**31), -(2**31)),
        ("int", ["null", "int", "string"], 5, 5),
        ("long", "int", 5, 5),
        ("long", {"type": "long", "logicalType": "timestamp-micros"}, 1_700_000_000_000_001, 1_700_000_000_000_001),
        ("int", {"type": "int", "logicalType": "date"}, 19_000, 19_000),
        ("float", "double", 1.5, 1.5),
        ("float", "int", 3, 3.0),
        ("double", "long", 2**40, float(2**40)),
        ("double", "float", float("inf"), float("inf")),
        ("object", {"type": "map", "values": "int"}, {"a": 1}, {"a": 1}),
        ("object", {"type": "array", "items": ["null", "float"]}, [None, 1.5], [None, 1.5]),
        ("object", record("Inner", a="int"), {"a": 1}, {"a": 1}),
        ("object", "bytes", b"\xff", b"\xff"),
    ],
)
def test_values_are_converted_by_the_types_of_the_schema(type_: str, avro: Any, value: Any, expected: Any) -> None:
    found = read_one(record(v=avro, w="int"), f"v {type_}, w int", {"v": value, "w": 1})
    assert found.rows == [(expected, 1)]
    assert type(found.rows[0][0]) is type(expected)


def test_a_decimal_is_a_number_or_a_text() -> None:
    from decimal import Decimal

    schema = record(v={"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2})
    for type_, expected in (("string", "12.50"), ("double", 12.5), ("object", Decimal("12.50"))):
        assert read_one(schema, f"v {type_}", {"v": Decimal("12.50")}).rows == [(expected,)]


def test_an_attribute_without_a_field_is_null() -> None:
    assert read_one(record(symbol="string"), "symbol string, price float", {"symbol": "a"}).rows == [("a", None)]


def test_a_field_without_an_attribute_drops_the_event(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ((cause, _),) = read_one(TRADE, "symbol string, price float", ROW).failed
    assert cause == "MappingFailedError: the stream has no attribute for field 'volume' of the Avro schema"
    assert "each event will fail" in caplog.text


def test_items_of_an_array_can_have_more_fields_but_not_fewer() -> None:
    schema = {"type": "array", "items": TRADE}
    assert read_one(schema, "symbol string, price float", [ROW]).rows == [("WSO2", 55.5)]
    ((cause, _),) = read_one(schema, f"{ATTRIBUTES}, more int", [ROW]).failed
    assert "the items have no field 'more'" in cause


def test_paths_select_values_inside_the_record() -> None:
    schema = record(
        name="string",
        address=["null", record("Address", city="string", tags={"type": "array", "items": "string"})],
    )
    attributes = "n string, c string, t string, a object"
    map_ = map_of(schema, "@attributes(n = 'name', c = 'address.city', t = '$.address.tags[1]', a = 'address')")
    address = {"city": "Colombo", "tags": ["x", "y"]}
    found = read(map_, attributes, [encoded(schema, {"name": "a", "address": address})])
    assert found.rows == [("a", "Colombo", "y", address)]
    found = read(map_, attributes, [encoded(schema, {"name": "a", "address": None})])
    assert "attribute 'c': the record has no 'address.city'" in found.failed[0][0]
    lenient = map_.replace("@attributes", "fail.on.missing.attribute = 'false', @attributes")
    assert read(lenient, attributes, [encoded(schema, {"name": "a", "address": None})]).rows == [
        ("a", None, None, None)
    ]


def test_without_a_schema_that_of_the_stream_is_used(caplog: pytest.LogCaptureFixture) -> None:
    schema = record("S", symbol="string", price="float", volume="long")
    with caplog.at_level(logging.WARNING):
        assert read("@map(type = 'avro')", ATTRIBUTES, [encoded(schema, ROW)]).rows == [("WSO2", 55.5, 100)]
    assert "has no schema" in caplog.text


def test_a_schema_can_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "trade.avsc"
    file.write_text(json.dumps(TRADE))
    found = read(f"@map(type = 'avro', schema.file = '{file}')", ATTRIBUTES, [encoded(TRADE, ROW)])
    assert found.rows == [("WSO2", 55.5, 100)]


def test_a_registry_has_the_schema_of_each_frame() -> None:
    old = record(symbol="string", price="float")
    new = {
        "type": "record",
        "name": "Trade",
        "fields": [*old["fields"], {"name": "volume", "type": ["null", "long"], "default": None}],
    }
    with schema_registry() as registry:
        registry.add(7, new)
        registry.add(6, old)
        registry.add(5, {"type": "string"}, schemaType="PROTOBUF")
        map_ = f"""@map(type = 'avro', schema.registry = '{registry.url}/', schema.id = '7',
            basic.auth.username = 'me', basic.auth.password = 'secret')"""
        first, second = encoded(new, ROW), encoded(old, {"symbol": "IBM", "price": 1.5})
        payloads = [b"\0\0\0\0\x07" + first, b"\0\0\0\0\x06" + second, b"\0\0\0\0\x06" + second]
        found = read(map_, ATTRIBUTES, [*payloads, b"\0\0\0\0\x05" + first, b"\0\0\0\0\x09" + first, first, b""])
        assert found.rows == [("WSO2", 55.5, 100), ("IBM", 1.5, None), ("IBM", 1.5, None)]
        causes = [cause for cause, _ in found.failed]
        assert "schema 5 of the registry is of type PROTOBUF" in causes[0]
        assert "answered /schemas/ids/9 with status 404" in causes[1]
        assert "does not begin with a byte 0" in causes[2]
        assert "does not begin with a byte 0" in causes[3]
        assert [path for path, _ in registry.requests].count("/schemas/ids/6") == 1
        assert {header for _, header in registry.requests} == {"Basic bWU6c2VjcmV0"}


def test_a_schema_of_the_registry_can_refer_to_others() -> None:
    address = record("Address", city="string")
    person = record("Person", name="string", address="Address")
    with schema_registry() as registry:
        registry.add(1, person, references=[{"name": "Address", "subject": "a/b", "version": 3}])
        registry.answers["/subjects/a%2Fb/versions/3"] = {"schema": json.dumps(address)}
        map_ = f"""@map(type = 'avro', schema.registry = '{registry.url}', schema.id = '1',
            @attributes(n = 'name', c = 'address.city'))"""
        payload = b"\0\0\0\0\x01" + encoded(
            {**person, "fields": [person["fields"][0], {"name": "address", "type": address}]},
            {"name": "a", "address": {"city": "b"}},
        )
        assert read(map_, "n string, c string", [payload]).rows == [("a", "b")]


def test_records_of_a_deserializer_are_mapped() -> None:
    map_ = map_of(TRADE, "use.avro.deserializer = 'true'")
    found = read(map_, ATTRIBUTES, [ROW, [ROW, {"symbol": "b"}], encoded(TRADE, ROW)])
    assert found.chunks == [[("WSO2", 55.5, 100)], [("WSO2", 55.5, 100), ("b", None, None)], [("WSO2", 55.5, 100)]]
    ((cause, _),) = read(map_of(TRADE), ATTRIBUTES, [ROW]).failed
    assert cause == "MappingFailedError: expected bytes, got dict"


RECURSIVE = record("Node", v="int", next=["null", "Node"])


@pytest.mark.parametrize(
    ("schema", "payload"),
    [
        (TRADE, b""),
        (TRADE, encoded(TRADE, ROW)[:-1]),
        (TRADE, encoded(TRADE, ROW) + b"\0"),
        (TRADE, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" + b"a" * 20),  # a text of 2^63 - 1 bytes
        (TRADE, b"\x01" + encoded(TRADE, ROW)),  # a text of -1 bytes
        (TRADE, b"\xff" * 40),
        (TRADE, b"\x02\xff\x00\x00\x00\x00\x00"),  # not UTF-8
        (TRADE, b"\x02a\x00\x00\x00\x00\x08"),  # the fifth branch of a union
        ({"type": "array", "items": TRADE}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01" + encoded(TRADE, ROW)),
        (record(symbol={"type": "map", "values": "int"}), b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        (RECURSIVE, b"\x00\x02" * 1_000_000),
    ],
)
def test_broken_bytes_are_dropped_and_stored(schema: Any, payload: bytes) -> None:
    map_ = map_of(schema, "@attributes(s = '$')")
    found = read(map_, "s string", [payload])
    assert found.rows == []
    ((cause, stored),) = found.failed
    assert cause.startswith("MappingFailedError: the payload ")
    assert stored == payload


def test_a_recursive_schema_is_read() -> None:
    value = {"v": 1, "next": {"v": 2, "next": None}}
    found = read_one(RECURSIVE, "v int, next object", value)
    assert found.rows == [(1, {"v": 2, "next": None})]


@pytest.mark.parametrize(
    ("map_", "attributes", "message"),
    [
        ("@map(type = 'avro', schema.def = 'nope')", "a int", "invalid Avro schema"),
        ("""@map(type = 'avro', schema.def = '''{"type": "record"}''')""".replace("'''", '"""'), "a int", "name"),
        (map_of({"type": "array", "items": "null"}), "a int", "the items of an array .* have no bytes"),
        (map_of({"type": "array", "items": record("Empty")}), "a int", "the items of an array .* have no bytes"),
        (map_of(record(a="string")), "a int", "attribute 'a' is an int, but the Avro schema has string there"),
        (map_of(record(a=["null", "double"])), "a bool", "attribute 'a' is a bool, but the Avro schema has double"),
        (map_of(TRADE, "@attributes('a[')"), "a int", "invalid JSONPath"),
        ("@map(type = 'avro')", "a object", "attribute 'a' is an object"),
        ("@map(type = 'avro', schema.file = '/nowhere/a.avsc')", "a int", "invalid option 'schema.file'"),
        ("@map(type = 'avro', schema.registry = 'ftp://a', schema.id = '1')", "a int", "'schema.registry'"),
        ("@map(type = 'avro', schema.registry = 'http://127.0.0.1:1')", "a int", "'schema.id'"),
        ("@map(type = 'avro', schema.registry = 'http://127.0.0.1:1', schema.id = '1')", "a int", "can't be reached"),
        (map_of(TRADE, "ssl.keystore.path = 'a.jks'"), ATTRIBUTES, "invalid option 'ssl.keystore.path'"),
        (
            "@map(type = 'avro', schema.registry = 'http://a', schema.id = '1', basic.auth.username = 'u')",
            "a int",
            "basic.auth.username",
        ),
    ],
)
def test_an_invalid_annotation_is_refused(map_: str, attributes: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message) as caught:
        read(map_, attributes, [])
    assert caught.value.code == "E326"
    assert caught.value.span is not None


@pytest.mark.parametrize("package", ["fastavro", "httpx2"])
def test_without_its_packages_the_app_is_refused(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SiddhiAppCreationError, match=f"requires the package '{package}'") as caught:
        read(map_of(TRADE), ATTRIBUTES, [])
    assert (caught.value.code, caught.value.hint) == ("E301", "pip install 'siddhi[avro]'")


def test_the_password_of_a_registry_is_not_in_errors() -> None:
    map_ = "@map(type = 'avro', schema.registry = 'http://u:hidden@127.0.0.1:1/%', schema.id = '1')"
    with pytest.raises(SiddhiAppCreationError) as caught:
        write(map_, "a int", [])
    assert "hidden" not in f"{caught.value.message} {caught.value.hint}"
