"""Consuming and publishing: exchanges, properties, acknowledgements, rejected and returned messages, refused options."""

from __future__ import annotations

import asyncio
import threading
import uuid
from typing import Any

import pytest

pytest.importorskip("aio_pika")
import aiormq.channel as aiormq_channel

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io import unacknowledged
from siddhi.io.rabbitmq import source as rabbit_source
from tests.kit.certificates import Certificates
from tests.kit.running import collect
from tests.kit.servers.rabbitmq import RabbitServer
from tests.kit.waiting import wait_until

SOURCE = """@app:name('{app}') @source(type = 'rabbitmq', uri = '{uri}', {options}, @map(type = 'csv'))
define stream S (v long);"""
SINK = """@app:name('Out') @OnError(action = 'stream') @sink(type = 'rabbitmq', uri = '{uri}', on.error = 'STREAM', {options},
@map(type = 'csv')) define stream O (v long);"""


@pytest.fixture
def queue() -> str:
    return f"q-{uuid.uuid4().hex[:12]}"


def source(server: RabbitServer, options: str, app: str = "In") -> str:
    return SOURCE.format(uri=server.url, options=options, app=app)


def started(manager: SiddhiManager, text: str) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def published(manager: SiddhiManager, text: str, rows: Any) -> list[tuple[Any, ...]]:
    """Publish rows; return what the app reports as failed."""
    runtime = manager.create_siddhi_app_runtime(text)
    failed = collect(runtime, "!O")
    runtime.start()
    for row in rows:
        runtime.input_handler("O").send(row)
    runtime.shutdown()
    return failed


@pytest.mark.server
@pytest.mark.parametrize("ack", ["processed", "received"])
def test_messages_arrive_in_their_order(manager: SiddhiManager, server: RabbitServer, queue: str, ack: str) -> None:
    _, rows = started(manager, source(server, f"queue.name = '{queue}', ack = '{ack}'"))
    sent = [(number,) for number in range(2000)]
    assert published(manager, SINK.format(uri=server.url, options=f"routing.key = '{queue}'"), sent) == []
    wait_until(lambda: len(rows) == 2000)
    assert rows == sent


@pytest.mark.server
def test_exchanges_are_declared_and_bound(manager: SiddhiManager, server: RabbitServer, queue: str) -> None:
    topic = f"exchange.name = '{queue}-t', exchange.type = 'topic'"
    fanout = f"exchange.name = '{queue}-f', exchange.type = 'fanout'"
    headers = f"exchange.name = '{queue}-h', exchange.type = 'headers'"
    _, by_topic = started(manager, source(server, f"{topic}, routing.key = 'a.*'", "A"))
    _, by_fanout = started(manager, source(server, fanout, "B"))
    _, by_headers = started(manager, source(server, f"{headers}, headers = \"'kind:1','x-match:all'\"", "C"))
    text = SINK.format(uri=server.url, options=f"{topic}, routing.key = '{{{{k}}}}'").replace(
        "v long", "v long, k string"
    )
    text = text.replace("'csv'", "'text', @payload('{{v}}')")
    assert published(manager, text, [(1, "a.x"), (2, "b.x")]) == []
    assert published(manager, SINK.format(uri=server.url, options=fanout), [(3,)]) == []
    text = SINK.format(uri=server.url, options=f"{headers}, headers = 'kind:{{{{v}}}}'")
    assert published(manager, text, [(1,), (2,)]) == []
    wait_until(lambda: by_topic and by_fanout and by_headers)
    assert (by_topic, by_fanout, by_headers) == ([(1,)], [(3,)], [(1,)])


@pytest.mark.server
def test_properties_and_headers_are_mapped(manager: SiddhiManager, server: RabbitServer, queue: str) -> None:
    text = f"""@source(type = 'rabbitmq', uri = '{server.url}', queue.name = '{queue}', event.time = 'message', @map(type = 'json',
        fail.on.missing.attribute = 'false', @attributes(v = 'event.v', kind = 'trp:kind', other = 'trp:other',
        id = 'trp:message.id', time = 'trp:timestamp', priority = 'trp:priority', again = 'trp:redelivered')))
        define stream S (v long, kind string, other string, id string, time long, priority int, again bool);"""
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    times: list[int] = []
    runtime.add_callback("S", lambda events: times.extend(event.timestamp for event in events))
    runtime.start()
    options = f"routing.key = '{queue}', headers = \"'kind:a,b'\", message.id = 'm-{{{{v}}}}', priority = '3', "
    options += "timestamp = '17000', content.type = 'application/json', delivery.mode = '2', expiration = '60000'"
    assert published(manager, SINK.format(uri=server.url, options=options).replace("'csv'", "'json'"), [(7,)]) == []
    wait_until(lambda: times)
    assert rows == [(7, "a,b", None, "m-7", 17000, 3, False)]
    assert times == [17000]


@pytest.mark.server
def test_messages_are_acknowledged_once_the_state_is_saved(
    manager: SiddhiManager, server: RabbitServer, queue: str
) -> None:
    text = source(server, f"queue.name = '{queue}', ack = 'checkpoint'")
    sink = SINK.format(uri=server.url, options=f"routing.key = '{queue}'")
    runtime, rows = started(manager, text)
    published(manager, sink, [(1,), (2,)])
    wait_until(lambda: len(rows) == 2)
    runtime.persist()
    published(manager, sink, [(3,)])
    wait_until(lambda: len(rows) == 3)
    runtime.shutdown()
    _, rows = started(manager, text)
    wait_until(lambda: rows)
    published(manager, sink, [(4,)])
    wait_until(lambda: len(rows) == 2)
    assert rows == [(3,), (4,)]


@pytest.mark.server
def test_a_message_that_can_not_be_mapped_goes_to_the_dead_letter_exchange(
    manager: SiddhiManager, server: RabbitServer, queue: str
) -> None:
    dead = source(server, f"exchange.name = '{queue}-dead', exchange.type = 'fanout'", "Dead").replace("long", "string")
    _, rejected = started(manager, dead)
    options = f"queue.name = '{queue}', reject.failed = 'true', dead.letter.exchange = '{queue}-dead'"
    _, rows = started(manager, source(server, options))
    text = SINK.format(uri=server.url, options=f"routing.key = '{queue}'").replace("long", "string")
    assert published(manager, text, [("1",), ("x",), ("2",), ("y",)]) == []
    wait_until(lambda: len(rows) == 2 and len(rejected) == 2)
    assert (rows, rejected) == ([(1,), (2,)], [("x",), ("y",)])


@pytest.mark.server
def test_a_mandatory_message_that_no_queue_takes_is_an_error(
    manager: SiddhiManager, server: RabbitServer, queue: str
) -> None:
    _, rows = started(manager, source(server, f"queue.name = '{queue}'"))
    options = "mandatory = 'true', routing.key = '{{k}}'"
    text = SINK.format(uri=server.url, options=options).replace("v long", "v long, k string")
    text = text.replace("'csv'", "'text', @payload('{{v}}')")
    failed = published(manager, text, [(1, queue), (2, f"{queue}-none"), (3, queue)])
    wait_until(lambda: len(rows) == 2)
    assert [row[0] for row in failed] == [2]
    assert "returned: no queue takes it" in str(failed[0][2])


@pytest.mark.server
def test_a_slow_app_gets_no_more_than_the_prefetch_count(
    manager: SiddhiManager, server: RabbitServer, queue: str
) -> None:
    runtime = manager.create_siddhi_app_runtime(source(server, f"queue.name = '{queue}', prefetch.count = '10'"))
    go, seen = threading.Event(), []

    def wait(events: list[Any]) -> None:
        go.wait(60)
        seen.extend(event.data[0] for event in events)

    runtime.add_callback("S", wait)
    runtime.start()
    published(manager, SINK.format(uri=server.url, options=f"routing.key = '{queue}'"), [(n,) for n in range(500)])
    _, other = started(manager, source(server, f"queue.name = '{queue}'", "Other"))
    wait_until(lambda: len(other) == 490)
    go.set()
    wait_until(lambda: len(seen) == 10)
    assert seen == list(range(10))


@pytest.mark.server
def test_a_source_that_waits_for_a_checkpoint_says_so(
    manager: SiddhiManager,
    server: RabbitServer,
    queue: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(unacknowledged, "WARN_SECONDS", 0.01)
    options = f"queue.name = '{queue}', ack = 'checkpoint', prefetch.count = '5'"
    runtime, rows = started(manager, source(server, options))
    published(manager, SINK.format(uri=server.url, options=f"routing.key = '{queue}'"), [(n,) for n in range(10)])
    wait_until(lambda: "5 messages are not acknowledged, as many as 'prefetch.count' allows" in caplog.text)
    wait_until(lambda: len(rows) == 5)
    runtime.persist()
    wait_until(lambda: len(rows) == 10)


@pytest.mark.server
@pytest.mark.parametrize("told", [True, False])
def test_a_queue_that_is_deleted_is_declared_again(
    manager: SiddhiManager,
    server: RabbitServer,
    queue: str,
    told: bool,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import aio_pika

    monkeypatch.setattr(rabbit_source, "CHECK_SECONDS", 0.05)
    if not told:  # as with versions of the library that do not tell it
        monkeypatch.setattr(aiormq_channel.Channel, "_on_cancel_frame", lambda *_: asyncio.sleep(0))

    async def delete() -> None:
        async with await aio_pika.connect(server.url) as connection:
            await (await connection.channel()).queue_delete(queue)

    _, rows = started(manager, source(server, f"queue.name = '{queue}'"))
    asyncio.run(delete())
    wait_until(lambda: "the server has cancelled the consumer" in caplog.text or "NOT_FOUND" in caplog.text)
    sink = SINK.format(uri=server.url, options=f"routing.key = '{queue}', mandatory = 'true'")
    wait_until(lambda: published(manager, sink, [(1,)]) == [])
    wait_until(lambda: rows)


@pytest.mark.server
def test_tls_verifies_the_server_and_shows_a_certificate(
    manager: SiddhiManager,
    server: RabbitServer,
    certificates: Certificates,
    queue: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    uri = f"amqps://localhost:{server.tls_port}"
    options = f"queue.name = '{queue}', tls.certificate.file = '{certificates.client}', tls.ca.file = '%s'"
    runtime, _ = started(manager, SOURCE.format(uri=uri, options=options % certificates.other, app="In"))
    wait_until(lambda: "CERTIFICATE_VERIFY_FAILED" in caplog.text)
    runtime.shutdown()
    _, rows = started(manager, SOURCE.format(uri=uri, options=options % certificates.authority, app="In"))
    published(manager, SINK.format(uri=server.url, options=f"routing.key = '{queue}'"), [(1,)])
    wait_until(lambda: rows)


@pytest.mark.server
def test_a_wrong_password_is_retried_and_not_logged(
    manager: SiddhiManager, server: RabbitServer, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    uri = server.url.replace("//", "//guest:wrong-one@")
    runtime, _ = started(manager, SOURCE.format(uri=uri, options=f"queue.name = '{queue}'", app="In"))
    wait_until(lambda: "ACCESS_REFUSED" in caplog.text)
    runtime.shutdown()
    assert "wrong-one" not in caplog.text


@pytest.mark.server
def test_starts_and_stops_leave_no_thread(manager: SiddhiManager, server: RabbitServer, queue: str) -> None:
    before = set(threading.enumerate())
    text = SINK.format(uri=server.url, options=f"routing.key = '{queue}'")
    text += f" @source(type = 'rabbitmq', uri = '{server.url}', queue.name = '{queue}', @map(type = 'csv')) define stream S (v long);"
    for _ in range(3):
        runtime, rows = started(manager, text)
        runtime.input_handler("O").send((1,))
        wait_until(lambda rows=rows: rows)
        runtime.shutdown()
    wait_until(lambda: not set(threading.enumerate()) - before)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("routing.key = 'k'", "queue.name"),
        ("queue.name = 'q', auto.ack = 'true', ack = 'processed'", "auto.ack"),
        ("queue.name = 'q', auto.ack = 'true', reject.failed = 'true'", "reject.failed"),
        ("queue.name = 'q', exchange.type = 'x'", "exchange.type"),
        ("queue.name = 'q', tls.truststore.path = 'x.jks'", "tls.truststore.path"),
        ("queue.name = 'q', tls.ca.file = 'x.pem'", "tls.ca.file"),
        ("queue.name = 'q', headers = 'x'", "headers"),
        ("queue.name = 'q', prefetch.count = '0'", "prefetch.count"),
    ],
)
def test_an_invalid_option_of_a_source_is_refused(manager: SiddhiManager, options: str, named: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=f"invalid option '{named}' of source 'rabbitmq'"):
        manager.create_siddhi_app_runtime(SOURCE.format(uri="amqp://localhost", options=options, app="In"))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("priority = '300'", "priority"),
        ("delivery.mode = '3'", "delivery.mode"),
        ("timestamp = 'now'", "timestamp"),
        ("exchange.durable.enabled = 'yes'", "exchange.durable.enabled"),
        ("headers = 'x'", "headers"),
    ],
)
def test_an_invalid_option_of_a_sink_is_refused(manager: SiddhiManager, options: str, named: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=f"invalid option '{named}' of sink 'rabbitmq'"):
        manager.create_siddhi_app_runtime(SINK.format(uri="amqp://localhost", options=options))


@pytest.mark.parametrize("uri", ["http://h", "amqp://", "amqp://h:x", "amqp://h/v?heartbeat=1"])
def test_an_invalid_uri_is_refused(manager: SiddhiManager, uri: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match="invalid option 'uri'"):
        manager.create_siddhi_app_runtime(SOURCE.format(uri=uri, options="queue.name = 'q'", app="In"))
