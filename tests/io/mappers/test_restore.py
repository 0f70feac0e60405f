"""A snapshot at any payload is no interruption for a mapper, and a replay does not disturb it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from siddhi import SiddhiManager
from siddhi.errors import MappingFailedError, SubscriberUnavailableError
from siddhi.io import InMemoryBroker
from siddhi.persistence import InMemoryErrorStore
from tests.io.test_tcp import wait_for
from tests.kit.mapping import published
from tests.kit.running import collect, running

STREAMED = (
    "@map(type = 'xml', enclosing.element = '/r/c', enable.streaming.xml.content = 'true',"
    " fail.on.missing.attribute = 'false', @attributes(s = '@id', i = 'n'))"
)
DOCUMENT = (
    "<?xml version='1.0'?><!-- > --><r xmlns:p='u' a='/&gt;'>\n<x><c id='no'/>a > b</x><c id='1'/>\n<c id='2'>\n"
    "<n>5</n><![CDATA[>]]></c><c p:q='1' id='é'><n>6</n></c>\n</r>\n"
)
JSON = '{"s": "a", "i": 1}'
SOURCES: dict[str, tuple[str, list[Any]]] = {
    "csv": ("@map(type = 'csv', header = 'true')", ["\n", "s,i\na,1\n", "b,2\n", "c,3\nd,4\n"]),
    "csv of lines": ("@map(type = 'csv', header = 'true')", ["s,i", "a,1", "b,x", "c,3"]),
    "csv without header": ("@map(type = 'csv')", ["a,1", "b,2"]),
    "json": ("@map(type = 'json')", [JSON, f"[{JSON}]", "{}"]),
    "keyvalue": ("@map(type = 'keyvalue')", [{"s": "a", "i": 1}, {"s": "b", "i": 2}]),
    "passThrough": ("@map(type = 'passThrough')", [("a", 1), ("b", 2)]),
    "text": ("@map(type = 'text')", ['s:"a",\ni:1', 's:"b",\ni:2']),
    "xml": ("@map(type = 'xml')", ["<events><event><s>a</s><i>1</i></event></events>"] * 2),
}
SINKS = {
    "csv": "@map(type = 'csv', header = 'true')",
    "csv in groups": "@map(type = 'csv', header = 'true', event.grouping.enabled = 'true')",
    "json": "@map(type = 'json')",
    "keyvalue": "@map(type = 'keyvalue')",
    "text": "@map(type = 'text')",
    "xml": "@map(type = 'xml')",
}


def app(map_: str) -> str:
    return f"@app:name('Maps') @source(type = 'inMemory', topic = 'maps', {map_}) define stream S (s string, i int);"


def received(map_: str, lives: list[list[Any]]) -> tuple[list[Any], list[Any]]:
    """Return rows and stored payloads of an app that is restored in a new one before each list of payloads but the first."""
    rows: list[Any] = []
    errors = InMemoryErrorStore()
    snapshot = None
    for payloads in lives:
        manager = SiddhiManager()
        manager.set_error_store(errors)
        with running(app(map_), manager=manager) as runtime:
            runtime.add_callback("S", lambda events: rows.extend(event.data for event in events))
            if snapshot is not None:
                runtime.restore(snapshot)
            for payload in payloads:
                InMemoryBroker.publish("maps", payload)
            snapshot = runtime.snapshot()
    return rows, [entry.payload for entry in errors.load_error_entries("Maps")]


@pytest.mark.parametrize("name", SOURCES)
def test_a_restored_source_goes_on_at_any_payload(name: str) -> None:
    map_, payloads = SOURCES[name]
    whole = received(map_, [payloads])
    for cut in range(len(payloads) + 1):
        assert received(map_, [payloads[:cut], payloads[cut:]]) == whole


@settings(max_examples=10)
@given(st.lists(st.integers(0, len(DOCUMENT)), max_size=5))
def test_a_restored_source_goes_on_inside_a_document(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(DOCUMENT)]
    lives = [[DOCUMENT[begin:end]] for begin, end in itertools.pairwise(ends)]
    assert received(STREAMED, [*lives, [DOCUMENT]]) == ([("1", None), ("2", 5), ("é", 6)] * 2, [])


def test_a_document_may_begin_in_the_payload_that_ends_one() -> None:
    assert received(STREAMED, [["<r><c id='1'/></r>\n<r><c id='2'/>"], ["<c id='3'/></r>"]])[0] == [
        ("1", None),
        ("2", None),
        ("3", None),
    ]


@pytest.mark.parametrize("name", SINKS)
def test_a_restored_sink_goes_on_at_any_event(name: str) -> None:
    text = f"@sink(type = 'inMemory', topic = 'mapped', {SINKS[name]}) define stream S (s string, i int);"
    rows = [("a", 1), ("b", 2), ("c", 3)]

    def sent(lives: list[list[Any]]) -> list[Any]:
        snapshot = None
        with published("mapped") as payloads:
            for life in lives:
                with running(f"@app:name('Maps') {text}") as runtime:
                    if snapshot is not None:
                        runtime.restore(snapshot)
                    for row in life:
                        runtime.input_handler("S").send(row)
                    snapshot = runtime.snapshot()
        return payloads

    for cut in range(len(rows) + 1):
        assert sent([rows[:cut], rows[cut:]]) == sent([rows])


def test_a_restored_csv_file_loses_no_line_to_the_header(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("k,v\na,1\n", encoding="utf-8")
    text = (
        f"@app:name('Lines') @source(type = 'file', file.uri = '{path}', file.polling.interval = '10',"
        " @map(type = 'csv', header = 'true')) define stream S (k string, v int);"
    )
    with running(text) as runtime:
        rows = collect(runtime, "S")
        runtime.start()
        wait_for(lambda: rows == [("a", 1)])
        snapshot = runtime.snapshot()
    again = SiddhiManager().create_siddhi_app_runtime(text)
    rows = collect(again, "S")
    again.restore(snapshot)
    with path.open("a", encoding="utf-8") as file:
        file.write("b,2\nc,3\n")
    with again:
        wait_for(lambda: len(rows) == 2)
    assert rows == [("b", 2), ("c", 3)]


@pytest.mark.parametrize(
    ("map_", "payloads", "corrected"),
    [
        ("@map(type = 'csv', header = 'true')", ["s,i", "a,x"], "a,1"),
        ("@map(type = 'csv', header = 'true')", ["s,i\na,x"], "a,1"),
        ("@map(type = 'csv', header = 'true')", ['s,i\n"a,1'], "a,1"),
        ("@map(type = 'csv', header = 'true')", ['"s,i\n"a,1'], "a,1"),
    ],
)
@pytest.mark.parametrize("restarts", [False, True])
def test_a_replay_has_no_header(map_: str, payloads: list[Any], corrected: str, restarts: bool) -> None:
    errors = InMemoryErrorStore()
    manager = SiddhiManager()
    manager.set_error_store(errors)
    with running(app(map_), manager=manager) as runtime:
        for payload in payloads:
            InMemoryBroker.publish("maps", payload)
        (entry,) = errors.load_error_entries("Maps")
        assert isinstance(entry.payload, str)
        assert "s,i" not in entry.payload
        if restarts:
            runtime.shutdown()
            runtime = manager.create_siddhi_app_runtime(app(map_))
            runtime.start()
        rows = collect(runtime, "S")
        with pytest.raises(MappingFailedError):
            runtime.replay_error_entry(entry)
        runtime.replay_error_entry(entry, payload=corrected)
        InMemoryBroker.publish("maps", "b,2\nc,3")
        assert rows == [("a", 1), *([] if restarts else [("b", 2)]), ("c", 3)]
        runtime.shutdown()


def test_a_replay_is_not_mixed_with_a_document_that_is_being_read() -> None:
    map_ = STREAMED.replace(" fail.on.missing.attribute = 'false',", "")
    errors = InMemoryErrorStore()
    manager = SiddhiManager()
    manager.set_error_store(errors)
    with running(app(map_), manager=manager) as runtime:
        rows = collect(runtime, "S")
        InMemoryBroker.publish("maps", "<r><c id='1'><n>x</n></c><c id='2'>")
        (entry,) = errors.load_error_entries("Maps")
        with pytest.raises(MappingFailedError, match="attribute 'i'"):
            runtime.replay_error_entry(entry)
        runtime.replay_error_entry(entry, payload=str(entry.payload).replace("x", "1"))
        InMemoryBroker.publish("maps", "<n>2</n></c></r>")
    assert rows == [("1", 1), ("2", 2)]


def test_a_broken_document_is_stored_from_its_last_event_on() -> None:
    errors = InMemoryErrorStore()
    manager = SiddhiManager()
    manager.set_error_store(errors)
    with running(app(STREAMED), manager=manager) as runtime:
        rows = collect(runtime, "S")
        InMemoryBroker.publish("maps", "<r a='1'><c id='1'/><c id='2'><n>")
        InMemoryBroker.publish("maps", "2</n></x>")
        (entry,) = errors.load_error_entries("Maps")
        assert entry.payload == """<r a="1"><c id='2'><n>2</n></x>"""
        with pytest.raises(MappingFailedError, match="not XML"):
            runtime.replay_error_entry(entry)
    assert rows == [("1", None)]


def test_a_replay_of_a_sink_has_no_header() -> None:
    errors = InMemoryErrorStore()
    manager = SiddhiManager()
    manager.set_error_store(errors)
    text = f"""@app:name('Maps')
        @sink(type = 'inMemory', topic = 'mapped', on.error = 'STORE', {SINKS["csv"]}) define stream S (s string, i int);"""
    received: list[Any] = []

    def receive(payload: Any) -> None:
        if payload == "a,1\n" and len(received) == 1:
            raise SubscriberUnavailableError("down")
        received.append(payload)

    InMemoryBroker.subscribe("mapped", receive)
    try:
        with running(text, manager=manager) as runtime:
            runtime.input_handler("S").send(("a", 1))
            runtime.input_handler("S").send(("b", 2))
        (entry,) = errors.load_error_entries("Maps")
        with running(text, manager=manager) as again:
            again.replay_error_entry(replace(entry, payload=None))
    finally:
        InMemoryBroker.unsubscribe("mapped", receive)
    assert received == ["s,i\n", "b,2\n", "a,1\n"]


@pytest.mark.parametrize("name", ["csv", "json", "text", "xml"])
@pytest.mark.parametrize("form", [str, lambda text: text.encode(), lambda text: memoryview(text.encode())])
def test_a_byte_order_mark_is_no_data(name: str, form: Any) -> None:
    map_, payloads = SOURCES[name]
    marked = [form(f"\ufeff{payload}") for payload in payloads]
    rows, failed = received(map_, [payloads])
    assert received(map_, [marked])[0] == rows
    assert rows
    assert len(received(map_, [marked])[1]) == len(failed)
