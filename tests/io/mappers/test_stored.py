"""What the error store keeps of a payload is mapped again to exactly the event that failed, by every mapper and layout."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi.io import InMemoryBroker
from siddhi.persistence import InMemoryErrorStore
from tests.kit.running import collect, running

Pair = tuple[str, str]
"""The texts of the attributes ``s`` and ``i``."""


def objects(pairs: list[Pair]) -> list[dict[str, Any]]:
    return [{"s": s, "i": int(i) if i.isdecimal() else i, "other": 1} for s, i in pairs]


def document(pairs: list[Pair]) -> str:
    return "<d><x><n>7</n></x>" + "".join(f"<e k='{s}'><i>{i}</i><n>8</n></e>" for s, i in pairs) + "</d>"


def json_at(path: str) -> str:
    return f"@map(type = 'json', enclosing.element = '{path}', @attributes(s = 's', i = 'i'))"


def xml_at(path: str, s: str = "@k", i: str = "i") -> str:
    return (
        f"@map(type = 'xml', enclosing.element = '{path}', enclosing.element.as.event = 'true',"
        f" @attributes(s = '{s}', i = '{i}'))"
    )


LAYOUTS: dict[str, tuple[str, Callable[[list[Pair]], str]]] = {
    "json": ("@map(type = 'json')", lambda pairs: json.dumps(objects(pairs))),
    "json in event": ("@map(type = 'json')", lambda pairs: json.dumps([{"event": one} for one in objects(pairs)])),
    "json at the root": (json_at("$"), lambda pairs: json.dumps(objects(pairs))),
    "json by keys": (json_at("$.a.b"), lambda pairs: json.dumps({"a": {"b": objects(pairs)}})),
    "json by an index": (json_at("a[2].b"), lambda pairs: json.dumps({"a": [1, {}, {"b": objects(pairs)}]})),
    "json at any depth": (json_at("$..e"), lambda pairs: json.dumps([{"e": one} for one in objects(pairs)])),
    "json of all": (json_at("$.a[*]"), lambda pairs: json.dumps({"a": objects(pairs)})),
    "json by a filter": (json_at("$.a[?@.other == $.o]"), lambda pairs: json.dumps({"o": 1, "a": objects(pairs)})),
    "json by a slice": (json_at("$.a[1:]"), lambda pairs: json.dumps({"a": [{}, *objects(pairs)]})),
    "csv": ("@map(type = 'csv', header = 'true')", lambda pairs: "h,h\n" + "".join(f'"{s}",{i}\n' for s, i in pairs)),
    "csv by tabs": (
        r"@map(type = 'csv', delimiter = '\t', @attributes(s = '1', i = '0'))",
        lambda pairs: "".join(f'{i}\t" {s}"\n' for s, i in pairs),
    ),
    "text": (
        "@map(type = 'text', event.grouping.enabled = 'true')",
        lambda pairs: "\n~~~~~~~~~~\n".join(f's:"{s}",\ni:{i}' for s, i in pairs),
    ),
    "text by patterns": (
        "@map(type = 'text', event.grouping.enabled = 'true', regex.A = 's=(.*) i=(.*)', @attributes(s = 'A[1]', i = 'A[2]'))",
        lambda pairs: "\n~~~~~~~~~~\n".join(f"s={s} i={i}" for s, i in pairs),
    ),
    "xml": (
        "@map(type = 'xml')",
        lambda pairs: f"<events>{''.join(f'<event><s>{s}</s><i>{i}</i></event>' for s, i in pairs)}</events>",
    ),
    "xml by names": (xml_at("/d/e"), document),
    "xml at any depth": (xml_at("//e"), document),
    "xml by a condition": (xml_at("/d/*[position() > 1]"), document),
    "xml of another element": (xml_at("/d/e", s="/d/x/n", i="i"), document),
    "xml beside a sibling": (xml_at("/d/e", s="../x/n", i="i"), document),
    "xml in parts": (
        xml_at("/d/e").replace("enclosing.element.as.event", "enable.streaming.xml.content"),
        document,
    ),
}


def app(map_: str, type_: str) -> str:
    return f"@app:name('Stores') @source(type = 'inMemory', topic = 'stores', {map_}) define stream S (s string, i {type_});"


@pytest.mark.parametrize("name", LAYOUTS)
@settings(max_examples=5)
@given(
    pairs=st.lists(st.tuples(st.sampled_from(["a", "b", "12", "é"]), st.sampled_from(["1", "x", "y z"])), min_size=1)
)
def test_what_is_stored_replays_to_the_event_that_failed(name: str, pairs: list[Pair]) -> None:
    map_, payload_of = LAYOUTS[name]
    payload = payload_of(pairs)
    errors = InMemoryErrorStore()
    manager = SiddhiManager()
    manager.set_error_store(errors)
    with running(app(map_, "int"), manager=manager) as runtime:
        rows = collect(runtime, "S")
        InMemoryBroker.publish("stores", payload)
        entries = errors.load_error_entries("Stores")
        for entry in entries:
            with pytest.raises(Exception, match="i") as failed:
                runtime.replay_error_entry(entry)
            assert entry.cause == f"{type(failed.value).__name__}: {failed.value}"
        good = [str(row[1]) for row in rows]
    assert good == [i for _, i in pairs if i == "1"]
    # In an app that takes any text, all events of the payload are mapped: those that failed are among them.
    with running(app(map_, "string"), manager=manager) as runtime:
        every = collect(runtime, "S")
        InMemoryBroker.publish("stores", payload)
        expected = [row for row in every if row[1] != "1"]
        del every[:]
        for entry in entries:
            runtime.replay_error_entry(entry)
        assert every == expected
    assert len(expected) == len(pairs) - len(good)
