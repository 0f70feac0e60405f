"""The protobuf mapper: how a message is named, types, presence, paths; and the way back through a source."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from siddhi.errors import SiddhiAppCreationError
from tests.kit.mapping import published, read, write
from tests.kit.protobuf import module, write_set
from tests.kit.running import collect, running

pytest.importorskip("google.protobuf")

PATHS = "symbol string, name string, volume long, side string, lots object, counts object, others object"
FIELDS = {
    "symbol": "stock.symbol",
    "name": "stock.name",
    **{name: name for name in ("volume", "side", "lots", "counts", "others")},
}
MAP = "@map(type = 'protobuf', class = 'trade_pb2:Trade'"
ATTRIBUTES = MAP + ", @attributes({}))".format(", ".join(f"{name} = '{path}'" for name, path in FIELDS.items()))
PAYLOAD = MAP + ", @payload({}))".format(", ".join(f"{path} = '{name}'" for name, path in FIELDS.items()))


@pytest.fixture(autouse=True)
def classes() -> Iterator[dict[str, Any]]:
    with module("trade_pb2") as found:
        yield found


def six(**more: Any) -> str:
    return f"@map(type = 'protobuf', class = 'trade_pb2.Six'{''.join(f', {text}' for text in more.values())})"


SIX = "s string, i int, l long, f float, d double, b bool"


def test_fields_are_attributes_of_the_same_name(classes: dict[str, Any]) -> None:
    message = classes["Six"](s="é\0", i=-(2**31), l=2**63 - 1, f=1.5, d=0.1, b=True)
    row = ("é\0", -(2**31), 2**63 - 1, 1.5, 0.1, True)
    assert read(six(), SIX, [message.SerializeToString(), message]).rows == [row, row]
    assert write(six(), SIX, [row]) == [message.SerializeToString()]


def test_a_field_with_presence_is_null_if_it_is_not_set(classes: dict[str, Any]) -> None:
    assert read(six(), SIX, [b""]).rows == [(None,) * 6]
    assert write(six(), SIX, [(None,) * 6]) == [b""]
    assert write(six(), SIX, [("", 0, 0, 0.0, 0.0, False)]) == [
        classes["Six"](s="", i=0, l=0, f=0, d=0, b=False).SerializeToString()
    ]


def test_a_field_without_presence_has_its_default() -> None:
    map_ = "@map(type = 'protobuf', class = 'trade_pb2:Plain')"
    assert read(map_, "b bool, s string, i int", [b""]).rows == [(False, "", 0)]
    assert write(map_, "b bool, s string, i int", [(None, None, None), (False, "", 0)]) == [b"", b""]


def test_paths_lists_maps_and_enums(classes: dict[str, Any]) -> None:
    trade, stock = classes["Trade"], classes["Stock"]
    message = trade(
        stock=stock(symbol="W"), volume=5, side=2, lots=[1, -2], counts={"b": 1, "a": 2}, others=[stock(name="x")]
    )
    row = ("W", None, 5, "SELL", [1, -2], {"b": 1, "a": 2}, [stock(name="x")])
    payload = message.SerializeToString(deterministic=True)
    assert read(ATTRIBUTES, PATHS, [payload]).rows == [row]
    assert write(PAYLOAD, PATHS, [row, (*row[:-1], [{"name": "x"}])]) == [payload, payload]
    assert read(ATTRIBUTES, PATHS, [b"", trade(side=7).SerializeToString()]).rows == [
        (None, None, 0, "NONE", [], {}, []),
        (None, None, 0, "7", [], {}, []),
    ]


def test_messages_bytes_and_lists_are_objects(classes: dict[str, Any]) -> None:
    trade, stock = classes["Trade"], classes["Stock"]
    attributes = "stock object, raw object, sides object, stocks object, time object"
    map_ = f"{MAP})"
    (payload,) = write(
        map_, attributes, [({"symbol": "a"}, b"\xff", ["BUY", 2], {"k": {"name": "n"}}, {"seconds": 5, "nanos": None})]
    )
    expected = trade(stock=stock(symbol="a"), raw=b"\xff", sides=[1, 2], stocks={"k": stock(name="n")})
    expected.time.seconds = 5
    assert payload == expected.SerializeToString(deterministic=True)
    ((found, raw, sides, stocks, time),) = read(map_, attributes, [payload]).rows
    assert (found.symbol, raw, sides, stocks["k"].name, time.seconds) == ("a", b"\xff", [1, 2], "n", 5)


def test_a_template_is_text_for_a_string() -> None:
    map_ = f"{MAP}, @payload(stock.symbol = '{{{{a}}}} is {{{{b}}}}', side = 'SELL'))"
    assert write(map_, "a string, b int", [("x", 5)]) == [b"\x0a\x08\x0a\x06x is 5\x20\x02"]


def test_unsigned_numbers_must_fit_the_attribute(classes: dict[str, Any]) -> None:
    map_ = "@map(type = 'protobuf', class = 'trade_pb2:Trade', @attributes(big = 'big', small = 'small'))"
    trade = classes["Trade"]
    payloads = [trade(big=2**63 - 1, small=2**31 - 1), trade(big=2**63), trade(small=2**31)]
    found = read(map_, "big long, small int", [payload.SerializeToString() for payload in payloads])
    assert found.rows == [(2**63 - 1, 2**31 - 1)]
    assert [cause for cause, _ in found.failed] == [
        "MappingFailedError: field 'big': 9223372036854775808 is not in the range of long",
        "MappingFailedError: field 'small': 2147483648 is not in the range of int",
    ]
    assert read(map_, "big long, small long", [payloads[2].SerializeToString()]).rows == [(0, 2**31)]


def test_a_descriptor_file_names_the_message(classes: dict[str, Any], tmp_path: Path) -> None:
    file = write_set(tmp_path)
    map_ = f"@map(type = 'protobuf', descriptor.file = '{file}', message = 't.Six')"
    payload = classes["Six"](s="a", i=5).SerializeToString()
    assert read(map_, SIX, [payload, classes["Six"](s="a", i=5)]).rows == [("a", 5, None, None, None, None)] * 2
    assert write(map_, SIX, [("a", 5, None, None, None, None)]) == [payload]


@pytest.mark.parametrize(
    ("payload", "cause"),
    [
        (b"\x0a\xff", "not a message t.Six"),
        (b"\x0a\x02a", "not a message t.Six"),
        (b"\x0a\xff\xff\xff\xff\x7fa", "not a message t.Six"),
        (b"\x0a\x01\xff", "not a message t.Six"),
        (b"\x0b" * 200, "not a message t.Six"),
        ("text", "expected bytes or a message, got str"),
    ],
)
def test_broken_bytes_are_dropped_and_stored(payload: Any, cause: str) -> None:
    found = read(six(), SIX, [payload])
    assert found.rows == []
    ((why, stored),) = found.failed
    assert cause in why
    assert stored == payload


def test_a_message_of_another_type_is_dropped(classes: dict[str, Any]) -> None:
    text = f"@source(type = 'inMemory', topic = 'pb', {six()}) define stream S ({SIX});"
    from siddhi.io import InMemoryBroker

    with running(text) as runtime:
        rows = collect(runtime, "S")
        InMemoryBroker.publish("pb", classes["Plain"](s="a"))
    assert rows == []


@pytest.mark.parametrize(
    ("attributes", "row", "message"),
    [
        ("symbol string", ("\ud800",), "field 'stock.symbol'"),
        ("big long", (-1,), "field 'big': -1 does not fit"),
        ("small long", (2**32,), "field 'small': 4294967296 does not fit"),
        ("side string", ("HOLD",), "field 'side': 'HOLD' does not fit"),
        ("lots object", ("ab",), "field 'lots': 'ab' does not fit: expected a list"),
        ("lots object", ([2**31],), "field 'lots': [2147483648] does not fit"),
        ("counts object", ([1],), "field 'counts': [1] does not fit: expected a dict"),
        ("counts object", ({"a": "b"},), "field 'counts'"),
        ("stock object", ({"nope": 1},), "message t.Stock has no field 'nope'"),
        ("stock object", (5,), "expected a message t.Stock or a dict"),
        ("raw object", ("text",), "field 'raw'"),
    ],
)
def test_a_value_that_does_not_fit_goes_to_the_error_handling(attributes: str, row: Any, message: str) -> None:
    name = attributes.split(maxsplit=1)[0]
    field = "stock.symbol" if name == "symbol" else name
    text = f"""@OnError(action = 'STREAM') @sink(type = 'inMemory', topic = 'pb', {MAP}, @payload({field} = '{name}')))
    define stream S ({attributes});"""
    with published("pb") as payloads, running(text) as runtime:
        failed = collect(runtime, "!S")
        runtime.input_handler("S").send(row)
    assert payloads == []
    assert message in str(failed[0][-1])


@pytest.mark.parametrize(
    ("map_", "attributes", "message"),
    [
        ("@map(type = 'protobuf')", "s string", "requires the option 'class'"),
        ("@map(type = 'protobuf', class = 'nowhere_pb2:Six')", "s string", "invalid option 'class'"),
        ("@map(type = 'protobuf', class = 'trade_pb2:Nope')", "s string", "invalid option 'class'"),
        ("@map(type = 'protobuf', class = 'os:path')", "s string", "invalid option 'class'"),
        ("@map(type = 'protobuf', class = 'Six')", "s string", "invalid option 'class'"),
        ("@map(type = 'protobuf', class = 'trade_pb2:Six', message = 'a')", "s string", "invalid option 'message'"),
        ("@map(type = 'protobuf', descriptor.file = '/nowhere/a.bin', message = 'a')", "s string", "descriptor.file"),
        (six(), "s string, x int", "message t.Six has no field 'x'"),
        (six(), "i long", "attribute 'i' is a long, but field 'i' of t.Six is sint32"),
        (six(), "f double", "attribute 'f' is a double, but field 'f' of t.Six is float"),
        (six(), "s object", "attribute 's' is an object, but field 's' of t.Six is string"),
        (f"{MAP})", "lots int", "attribute 'lots' is an int, but field 'lots' of t.Trade is repeated int32"),
        (f"{MAP})", "counts string", "field 'counts' of t.Trade is map"),
    ],
)
def test_an_invalid_annotation_is_refused(map_: str, attributes: str, message: str) -> None:
    for use in (read, write):
        with pytest.raises(SiddhiAppCreationError, match=message) as caught:
            use(map_, attributes, [])
        assert caught.value.code == "E326"


def test_a_path_must_lead_through_messages(tmp_path: Path) -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"'price' in 'price.x' is not a single message"):
        read(f"{MAP}, @attributes('price.x'))", "a int", [])
    with pytest.raises(SiddhiAppCreationError, match="needs the name of a field in @payload"):
        write(f"{MAP}, @payload('a'))", "a int", [])
    with pytest.raises(
        SiddhiAppCreationError, match=r"attribute 'price' is text, but field 'price' of t.Trade is float"
    ):
        write(f"{MAP}, @payload(price = '{{{{a}}}}'))", "a float", [])
    file = write_set(tmp_path)
    with pytest.raises(SiddhiAppCreationError, match=r"the descriptor file has no message 't.Trad'"):
        write(f"@map(type = 'protobuf', descriptor.file = '{file}', message = 't.Trad')", "a int", [])
    file = write_set(tmp_path, whole=False)
    with pytest.raises(SiddhiAppCreationError, match=r"invalid option 'descriptor.file'") as caught:
        write(f"@map(type = 'protobuf', descriptor.file = '{file}', message = 't.Trade')", "a int", [])
    assert "--include_imports" in str(caught.value.hint)
