"""Subscribing and publishing: qualities of service, wildcards, properties, sessions, acknowledgements, refused options."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io import unacknowledged
from tests.kit.running import collect
from tests.kit.servers.mqtt import Broker
from tests.kit.waiting import wait_until

SOURCE = """@app:name('In') @source(type = 'mqtt', url = '{url}', topic = '{topic}', {options}, @map(type = 'csv'))
define stream S (v long);"""
SINK = """@app:name('Out') @sink(type = 'mqtt', url = '{url}', topic = '{topic}', {options}, @map(type = 'csv'))
define stream O (v long);"""
SESSION = "client.id = '{id}', clean.session = 'false'"


@pytest.fixture
def topic() -> str:
    return f"t-{uuid.uuid4().hex[:12]}"


def started(manager: SiddhiManager, text: str) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def published(manager: SiddhiManager, text: str, rows: Any) -> None:
    runtime = manager.create_siddhi_app_runtime(text)
    runtime.start()
    for row in rows:
        runtime.input_handler("O").send(row)
    runtime.shutdown()


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_arrive_in_their_order(manager: SiddhiManager, broker: Broker, topic: str, qos: int) -> None:
    options = f"quality.of.service = '{qos}'"
    _, rows = started(manager, SOURCE.format(url=broker.url, topic=topic, options=options))
    sent = [(number,) for number in range(300)]
    published(manager, SINK.format(url=broker.url, topic=topic, options=options), sent)
    wait_until(lambda: len(rows) == 300)
    assert rows == sent


def test_wildcards_and_properties(manager: SiddhiManager, broker: Broker, topic: str) -> None:
    text = f"""@source(type = 'mqtt', url = '{broker.url}', topic = '{topic}/+/x', @map(type = 'csv', @attributes(
        v = '0', topic = 'trp:topic', qos = 'trp:qos', retained = 'trp:retain')))
        define stream S (v long, topic string, qos int, retained bool);"""
    _, rows = started(manager, text)
    sink = SINK.format(url=broker.url, topic=topic + "/{{s}}/x", options="quality.of.service = '{{q}}'")
    sink = sink.replace("O (v long)", "O (v long, s string, q int)").replace("'csv'", "'text', @payload('{{v}}')")
    published(manager, sink, [(1, "a", 1), (2, "b", 1), (3, "c/d", 1), (4, "e", 2)])
    wait_until(lambda: len(rows) == 3)
    assert sorted(rows) == [
        (1, f"{topic}/a/x", 1, False),
        (2, f"{topic}/b/x", 1, False),
        (4, f"{topic}/e/x", 1, False),
    ]


@pytest.mark.server  # amqtt hands retained messages to subscribers of other topics
def test_a_retained_message_reaches_later_subscribers(manager: SiddhiManager, mosquitto: Broker, topic: str) -> None:
    published(manager, SINK.format(url=mosquitto.url, topic=topic, options="message.retain = 'true'"), [(1,), (2,)])
    _, rows = started(manager, SOURCE.format(url=mosquitto.url, topic=topic, options="quality.of.service = '1'"))
    wait_until(lambda: rows)
    assert rows == [(2,)]


@pytest.mark.server
def test_a_session_keeps_the_messages_of_a_source_that_is_away(
    manager: SiddhiManager, mosquitto: Broker, topic: str
) -> None:
    source = SOURCE.format(url=mosquitto.url, topic=topic, options=SESSION.format(id=topic))
    sink = SINK.format(url=mosquitto.url, topic=topic, options="quality.of.service = '1'")
    runtime, rows = started(manager, source)
    published(manager, sink, [(1,)])
    wait_until(lambda: rows)
    runtime.shutdown()
    published(manager, sink, [(2,), (3,)])
    _, rows = started(manager, source)
    wait_until(lambda: len(rows) == 2)
    assert rows == [(2,), (3,)]


@pytest.mark.server
def test_messages_are_acknowledged_once_the_state_is_saved(
    manager: SiddhiManager, mosquitto: Broker, topic: str
) -> None:
    source = SOURCE.format(
        url=mosquitto.url, topic=topic, options=f"{SESSION.format(id=topic)}, version = '5', ack = 'checkpoint'"
    )
    sink = SINK.format(url=mosquitto.url, topic=topic, options="version = '5'")
    runtime, rows = started(manager, source)
    published(manager, sink, [(1,), (2,)])
    wait_until(lambda: len(rows) == 2)
    runtime.persist()
    published(manager, sink, [(3,)])
    wait_until(lambda: len(rows) == 3)
    runtime.shutdown()
    again = manager.create_siddhi_app_runtime(source)
    rows = collect(again, "S")
    again.restore_last_revision()
    again.start()
    wait_until(lambda: rows)
    published(manager, sink, [(4,)])
    wait_until(lambda: len(rows) == 2)
    assert rows == [(3,), (4,)]


@pytest.mark.server
@pytest.mark.parametrize("version", ["3.1.1", "5"])
def test_messages_wait_for_a_checkpoint_when_too_many_are_unacknowledged(
    manager: SiddhiManager,
    mosquitto: Broker,
    topic: str,
    version: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(unacknowledged, "WARN_SECONDS", 0.01)
    more = f"{SESSION.format(id=topic)}, version = '{version}', ack = 'checkpoint', buffer.unacknowledged = '5'"
    runtime, rows = started(manager, SOURCE.format(url=mosquitto.url, topic=topic, options=more))
    sink = SINK.format(url=mosquitto.url, topic=topic, options="version = '5'")
    published(manager, sink, [(number,) for number in range(15)])
    for count in (5, 10):
        wait_until(lambda count=count: caplog.text.count("5 messages are not") == count // 5 and len(rows) == count)
        runtime.persist()
    wait_until(lambda: len(rows) == 15)
    assert rows == [(number,) for number in range(15)]
    runtime.persist()
    runtime.shutdown()


@pytest.mark.server
def test_properties_of_version_5(manager: SiddhiManager, mosquitto: Broker, topic: str) -> None:
    text = f"""@source(type = 'mqtt', url = '{mosquitto.url}', topic = '{topic}', version = '5', @map(type = 'json',
        fail.on.missing.attribute = 'false', @attributes(v = 'event.v', kind = 'trp:kind', other = 'trp:other',
        content = 'trp:content.type'))) define stream S (v long, kind string, other string, content string);"""
    _, rows = started(manager, text)
    options = (
        "version = '5', content.type = 'text/csv', message.expiry = '60', user.properties = \"'kind:{{v}}','a:b'\""
    )
    sink = SINK.format(url=mosquitto.url, topic=topic, options=options).replace("'csv'", "'json'")
    published(manager, sink, [(7,)])
    wait_until(lambda: rows)
    assert rows == [(7, "7", None, "text/csv")]


def test_a_slow_app_loses_nothing(manager: SiddhiManager, broker: Broker, topic: str) -> None:
    options = "quality.of.service = '1', buffer.payloads = '5'"
    runtime = manager.create_siddhi_app_runtime(SOURCE.format(url=broker.url, topic=topic, options=options))
    go, seen = threading.Event(), []

    def wait(events: list[Any]) -> None:
        go.wait(60)
        seen.extend(event.data[0] for event in events)

    runtime.add_callback("S", wait)
    runtime.start()
    published(
        manager,
        SINK.format(url=broker.url, topic=topic, options="client.id = ''"),
        [(number,) for number in range(700)],
    )
    assert seen == []
    go.set()
    wait_until(lambda: len(seen) == 700)
    assert seen == list(range(700))
    runtime.shutdown()


def test_what_the_sink_can_not_publish_goes_to_the_fault_stream(
    manager: SiddhiManager, broker: Broker, topic: str
) -> None:
    text = SINK.format(url=broker.url, topic="{{t}}", options="on.error = 'STREAM'")
    text = text.replace("O (v long)", "O (v long, t string)").replace("define", "@OnError(action = 'stream') define")
    runtime = manager.create_siddhi_app_runtime(text)
    failed = collect(runtime, "!O")
    runtime.start()
    for row in [(1, topic), (2, "a/#"), (3, "")]:
        runtime.input_handler("O").send(row)
    wait_until(lambda: len(failed) == 2)
    assert sorted(row[0] for row in failed) == [2, 3]
    runtime.shutdown()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("clean.session = 'false'", "clean.session"),
        ("session.expiry = '60'", "session.expiry"),
        ("quality.of.service = '3'", "quality.of.service"),
        ("quality.of.service = '2', ack = 'processed'", "ack"),
        ("ack = 'checkpoint'", "ack"),
        ("buffer.unacknowledged = '5'", "buffer.unacknowledged"),
        ("password = 'p'", "password"),
        ("keep.alive = '70000'", "keep.alive"),
        ("tls.ca.file = '/x.pem'", "tls.ca.file"),
        ("will.retain = 'true'", "will.retain"),
        ("will.topic = 'lost/#'", "will.topic"),
        ("version = '4'", "version"),
    ],
)
def test_an_invalid_option_of_a_source_is_refused(manager: SiddhiManager, options: str, named: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=f"invalid option '{named}' of source 'mqtt'"):
        manager.create_siddhi_app_runtime(SOURCE.format(url="tcp://localhost", topic="t", options=options))


@pytest.mark.parametrize(
    ("options", "named"), [("user.properties = 'a:b'", "user.properties"), ("message.retain = 'yes'", "message.retain")]
)
def test_an_invalid_option_of_a_sink_is_refused(manager: SiddhiManager, options: str, named: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=f"invalid option '{named}' of sink 'mqtt'"):
        manager.create_siddhi_app_runtime(SINK.format(url="tcp://localhost", topic="t", options=options))


@pytest.mark.parametrize("topic", ["a/#/b", "a#", "a/+b", "#/a", ""])
def test_an_invalid_filter_is_refused(manager: SiddhiManager, topic: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match="invalid option 'topic' of source 'mqtt'"):
        manager.create_siddhi_app_runtime(SOURCE.format(url="tcp://localhost", topic=topic, options="version = '5'"))


@pytest.mark.parametrize("topic", ["#", "+", "/", "a/+/b/#", "$share/group/a/+", "$SYS/#"])
def test_a_filter_may_have_wildcards(manager: SiddhiManager, topic: str) -> None:
    manager.create_siddhi_app_runtime(SOURCE.format(url="tcp://localhost", topic=topic, options="version = '5'"))


@pytest.mark.parametrize("topic", ["a/#", "a/+/b", ""])
def test_a_topic_to_which_nothing_can_be_published_is_refused(manager: SiddhiManager, topic: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match="invalid option 'topic' of sink 'mqtt'"):
        manager.create_siddhi_app_runtime(SINK.format(url="tcp://localhost", topic=topic, options="version = '5'"))


@pytest.mark.parametrize("url", ["http://h", "tcp://", "tcp://h:x", "tcp://u:p@h", "tcp://h/path"])
def test_an_invalid_url_is_refused(manager: SiddhiManager, url: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match="invalid option 'url'"):
        manager.create_siddhi_app_runtime(SOURCE.format(url=url, topic="t", options="version = '5'"))


def test_an_unknown_property_is_refused(manager: SiddhiManager) -> None:
    text = SOURCE.format(url="tcp://localhost", topic="t", options="version = '3.1.1'")
    text = text.replace("'csv'", "'csv', @attributes(v = 'trp:kind')")
    with pytest.raises(SiddhiAppCreationError, match="no transport property 'kind'"):
        manager.create_siddhi_app_runtime(text)
