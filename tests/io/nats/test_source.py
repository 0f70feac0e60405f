"""The source ``nats`` against a real server."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nats")

from nats.aio.client import Client

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io import unacknowledged
from siddhi.persistence import InMemoryPersistenceStore
from siddhi.testing.connectors import SourceSuite
from tests.kit.certificates import Certificates
from tests.kit.killed_consumer import ROUNDS, KilledConsumer
from tests.kit.nats import NatsServer
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.waiting import wait_until

WAIT = 30

ManagerMaker = Callable[[], SiddhiManager]


def app(url: str, subject: str, options: str = "", *, name: str = "In") -> str:
    return f"""@app:name('{name}')
        @source(type = 'nats', server.urls = '{url}', destination = '{subject}' {options},
            @map(type = 'text', regex.A = '(.*)', @attributes(v = 'A[1]', n = 'trp:sequenceNumber')))
        define stream S (v string, n long);"""


def started(manager: SiddhiManager, text: str) -> tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]:
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    runtime.start()
    return runtime, rows


def texts(count: int, start: int = 0) -> list[str]:
    return [str(number) for number in range(start, start + count)]


def send(server: NatsServer, subject: str, values: list[str], **more: Any) -> None:
    """Publish without JetStream."""

    async def act(client: Client) -> None:
        for value in values:
            await client.publish(subject, value.encode(), **more)
        await client.flush()

    server.run(act)


def acknowledged(server: NatsServer, stream: str, durable: str) -> int:
    async def act(client: Client) -> int:
        info = await client.jetstream().consumer_info(stream, durable)
        assert info.ack_floor is not None
        return info.ack_floor.stream_seq

    return server.run(act)


class _Suite(SourceSuite):
    @pytest.fixture(autouse=True)
    def server(self, nats_server: NatsServer, stream: str) -> Iterator[None]:
        self.nats, self.stream = nats_server, stream
        with FaultProxy(nats_server.port) as self.proxy:
            self.options = f"type = 'nats', server.urls = 'nats://127.0.0.1:{self.proxy.port}', {self.more(stream)}"
            yield

    def more(self, stream: str) -> str:
        raise NotImplementedError

    def break_connection(self) -> None:
        self.proxy.drop()


class TestCoreSuite(_Suite):
    has_buffer = False  # the client takes what the server sends, and drops it beyond its limits

    def more(self, stream: str) -> str:
        return f"destination = 'core.{stream}'"

    def break_connection(self) -> None:
        """Wait until the source has subscribed again, since messages that are sent before are lost."""
        answers = threading.Semaphore(0)

        def observed(content: bytes) -> bytes:
            for _ in range(content.count(b"PONG")):
                answers.release()
            return content

        self.proxy.rewrite = observed
        self.proxy.drop()
        for _ in range(2):  # one to the client's first ping, one after the subscription
            assert answers.acquire(timeout=WAIT)

    def send(self, payloads: Any) -> None:
        send(self.nats, f"core.{self.stream}", payloads)


class TestStreamSuite(_Suite):
    delivery = "at least once"
    is_durable = True

    def more(self, stream: str) -> str:
        return f"destination = '{stream}.a', durable.name = 'd'"

    def send(self, payloads: Any) -> None:
        self.nats.publish(f"{self.stream}.a", list(payloads))


def test_messages_arrive_with_their_properties(nats_server: NatsServer, stream: str, manager: SiddhiManager) -> None:
    nats_server.publish(f"{stream}.a", ["one"], headers={"Kind": "x"})
    text = f"""@source(type = 'nats', server.urls = '{nats_server.url}', destination = '{stream}.*', jetstream = 'true', event.time = 'message',
        @map(type = 'text', fail.on.missing.attribute = 'false', regex.A = '(.*)', @attributes(v = 'A[1]', s = 'trp:subject',
        n = 'trp:sequenceNumber', at = 'trp:timestamp', kind = 'trp:Kind', other = 'trp:Other', r = 'trp:reply')))
        define stream S (v string, s string, n long, at long, kind string, other string, r string);"""
    runtime = manager.create_siddhi_app_runtime(text)
    rows = collect(runtime, "S")
    times: list[int] = []
    runtime.add_callback("S", lambda events: times.extend(event.timestamp for event in events))
    runtime.start()
    wait_until(lambda: times)
    v, s, n, at, kind, other, reply = rows[0]
    assert (v, s, n, kind, other, reply) == ("one", f"{stream}.a", 1, "x", None, None)
    assert times == [at]
    assert abs(at - time.time() * 1000) < 60_000


def test_sources_of_a_queue_group_share_the_messages(nats_server: NatsServer, new_manager: ManagerMaker) -> None:
    apps = [started(new_manager(), app(nats_server.url, "shared", ", queue.group.name = 'g'")) for _ in range(2)]
    send(nats_server, "shared", texts(200))
    wait_until(lambda: sum(len(rows) for _, rows in apps) == 200)
    assert all(rows for _, rows in apps)
    assert sorted(int(row[0]) for _, rows in apps for row in rows) == list(range(200))


def test_a_stream_is_read_in_its_order(nats_server: NatsServer, stream: str, manager: SiddhiManager) -> None:
    nats_server.publish(f"{stream}.a", texts(2000))
    _, rows = started(manager, app(nats_server.url, f"{stream}.a", ", jetstream = 'true'"))
    wait_until(lambda: len(rows) == 2000)
    assert [row[1] for row in rows] == list(range(1, 2001))


@pytest.mark.parametrize(
    ("options", "first"),
    [
        (", deliver.policy = 'all'", 1),
        (", deliver.policy = 'last'", 10),
        (", subscription.sequence = '6'", 7),
        (", deliver.policy = 'new'", 11),
    ],
)
def test_reading_starts_where_the_option_says(
    nats_server: NatsServer, stream: str, manager: SiddhiManager, options: str, first: int
) -> None:
    nats_server.publish(f"{stream}.a", texts(10))
    _, rows = started(manager, app(nats_server.url, f"{stream}.a", f", stream = '{stream}' {options}"))
    nats_server.publish(f"{stream}.a", texts(5, 10))
    wait_until(lambda: rows and rows[-1][1] == 15)
    assert rows[0][1] == first


def test_processed_messages_are_acknowledged(nats_server: NatsServer, stream: str, new_manager: ManagerMaker) -> None:
    text = app(nats_server.url, f"{stream}.a", ", durable.name = 'd'")
    nats_server.publish(f"{stream}.a", texts(10))
    runtime, rows = started(new_manager(), text)
    wait_until(lambda: acknowledged(nats_server, stream, "d") == 10)
    runtime.shutdown()
    nats_server.publish(f"{stream}.a", texts(5, 10))
    _, later = started(new_manager(), text)
    wait_until(lambda: len(later) == 5)
    assert [row[0] for row in rows + later] == texts(15)


def test_checkpoint_acknowledges_what_a_saved_state_contains(
    nats_server: NatsServer, stream: str, new_manager: ManagerMaker
) -> None:
    text = app(nats_server.url, f"{stream}.a", ", durable.name = 'd', ack = 'checkpoint'")
    manager = new_manager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    nats_server.publish(f"{stream}.a", texts(2000))  # more than the server lets wait by default
    runtime, rows = started(manager, text)
    wait_until(lambda: len(rows) == 2000)
    assert acknowledged(nats_server, stream, "d") == 0
    runtime.persist()
    wait_until(lambda: acknowledged(nats_server, stream, "d") == 2000)
    nats_server.publish(f"{stream}.a", texts(5, 2000))
    wait_until(lambda: len(rows) == 2005)
    runtime.shutdown()
    _, later = started(new_manager(), text)
    wait_until(lambda: len(later) == 5)
    assert [row[0] for row in later] == texts(5, 2000)


def test_messages_wait_for_a_checkpoint_when_too_many_are_unacknowledged(
    nats_server: NatsServer, stream: str, manager: SiddhiManager, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(unacknowledged, "WARN_SECONDS", 0.01)
    manager.set_persistence_store(InMemoryPersistenceStore())
    nats_server.publish(f"{stream}.a", texts(20))
    options = ", durable.name = 'd', ack = 'checkpoint', buffer.unacknowledged = '5'"
    runtime, rows = started(manager, app(nats_server.url, f"{stream}.a", options))
    wait_until(lambda: "5 messages are not acknowledged" in caplog.text and len(rows) == 5)

    def are_all_there() -> bool:
        runtime.persist()
        return len(rows) == 20

    wait_until(are_all_there)
    assert [row[0] for row in rows] == texts(20)
    runtime.shutdown()


@pytest.mark.parametrize(
    "options", [", jetstream = 'true'", ", durable.name = 'd'", ", durable.name = 'd', ack = 'checkpoint'"]
)
def test_a_restore_continues_after_the_position(
    nats_server: NatsServer, stream: str, new_manager: ManagerMaker, options: str
) -> None:
    text = app(nats_server.url, f"{stream}.a", options)
    nats_server.publish(f"{stream}.a", texts(10))
    runtime, rows = started(new_manager(), text)
    wait_until(lambda: len(rows) == 10)
    state = runtime.snapshot()
    nats_server.publish(f"{stream}.a", texts(5, 10))
    wait_until(lambda: len(rows) == 15)
    runtime.shutdown()
    again = new_manager().create_siddhi_app_runtime(text)
    later = collect(again, "S")
    again.restore(state)
    again.start()
    wait_until(lambda: len(later) == 5)
    again.restore(state)
    wait_until(lambda: len(later) == 10)
    assert [row[0] for row in later] == texts(5, 10) * 2


def test_a_shared_consumer_repeats_only_what_was_not_acknowledged(
    nats_server: NatsServer, stream: str, new_manager: ManagerMaker
) -> None:
    text = app(nats_server.url, f"{stream}.a", f", stream = '{stream}', queue.group.name = 'g'")
    apps = [started(new_manager(), text) for _ in range(2)]
    nats_server.publish(f"{stream}.a", texts(1000))
    wait_until(lambda: sum(len(rows) for _, rows in apps) == 1000)
    wait_until(lambda: acknowledged(nats_server, stream, "g") == 1000)
    assert sorted(int(row[0]) for _, rows in apps for row in rows) == list(range(1000))


def test_messages_in_progress_are_delivered_to_nobody_else(
    nats_server: NatsServer, stream: str, new_manager: ManagerMaker
) -> None:
    text = app(
        nats_server.url,
        f"{stream}.a",
        f", stream = '{stream}', queue.group.name = 'g', ack.wait = '1', ack = 'checkpoint'",
    )
    manager = new_manager()
    manager.set_persistence_store(InMemoryPersistenceStore())
    runtime, rows = started(manager, text)
    nats_server.publish(f"{stream}.a", texts(10))
    wait_until(lambda: len(rows) == 10)
    _, others = started(new_manager(), text)
    threading.Event().wait(2.5)  # more than two times 'ack.wait'
    assert (len(rows), len(others)) == (10, 0)
    runtime.persist()
    wait_until(lambda: acknowledged(nats_server, stream, "g") == 10)


def test_a_stream_that_is_missing_is_waited_for(
    nats_server: NatsServer, manager: SiddhiManager, caplog: pytest.LogCaptureFixture
) -> None:
    _, rows = started(manager, app(nats_server.url, "later.a", ", stream = 'later'"))
    assert "JetStream has no stream 'later'" in caplog.text
    nats_server.create("later")
    nats_server.publish("later.a", texts(3))
    wait_until(lambda: len(rows) == 3)


def test_a_deleted_consumer_is_made_again(nats_server: NatsServer, stream: str, manager: SiddhiManager) -> None:
    _, rows = started(manager, app(nats_server.url, f"{stream}.a", ", durable.name = 'd'"))
    nats_server.publish(f"{stream}.a", texts(3))
    wait_until(lambda: len(rows) == 3)

    async def delete(client: Client) -> None:
        await client.jsm().delete_consumer(stream, "d")

    nats_server.run(delete)
    nats_server.publish(f"{stream}.a", texts(3, 3))
    wait_until(lambda: len(rows) == 6)
    assert [row[0] for row in rows] == texts(6)


def test_a_server_that_restarts_loses_and_repeats_nothing(tmp_path: Path, manager: SiddhiManager) -> None:
    server = NatsServer(tmp_path)
    try:
        server.create("st")
        _, rows = started(manager, app(server.url, "st.a", ", durable.name = 'd'"))
        for number in range(10):
            server.publish("st.a", texts(100, 100 * number))
            wait_until(lambda number=number: len(rows) > 100 * number)
            server.kill()
            server.start()
        wait_until(lambda: len(rows) == 1000)
        assert [row[1] for row in rows] == list(range(1, 1001))
    finally:
        manager.shutdown()
        server.kill()


def test_a_killed_consumer_loses_nothing(nats_server: NatsServer, stream: str, tmp_path: Path) -> None:
    text = app(nats_server.url, f"{stream}.a", ", durable.name = 'd', ack = 'checkpoint'", name="Killed")
    consumer = KilledConsumer(text, tmp_path)
    sent = 0
    try:
        for _ in range(ROUNDS):
            consumer.start()
            seen = len(consumer.lines)
            for _ in range(5):
                nats_server.publish(f"{stream}.a", texts(100, sent))
                sent += 100
            wait_until(lambda seen=seen: len(consumer.lines) > seen + 50)
            consumer.kill()
        consumer.start()
        wait_until(lambda: {line.split()[1] for line in consumer.lines} == set(map(str, range(1, sent + 1))))
    finally:
        consumer.kill()


@pytest.mark.parametrize(
    ("settings", "options", "missing"),
    [
        ('authorization { user: "me", password: "pässword" }', ", username = 'me', password = 'pässword'", ""),
        ('authorization { token: "s3cret" }', ", auth.type = 'token', token = 's3cret'", ", token = 'wrong'"),
        (
            "authorization { users = [ { nkey: UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4 } ] }",
            ", nkey.seed = 'SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY'",
            "",
        ),
    ],
)
def test_credentials_are_needed_and_not_shown(
    tmp_path: Path, manager: SiddhiManager, caplog: pytest.LogCaptureFixture, settings: str, options: str, missing: str
) -> None:
    server = NatsServer(tmp_path, settings)
    try:
        refused, _ = started(manager, app(server.url, "s", missing, name="Refused"))
        assert not refused.connectors()[0].connected
        assert "authorization" in caplog.text.lower()
        refused.shutdown()
        runtime, _ = started(manager, app(server.url, "s", options))
        assert runtime.connectors()[0].connected
        runtime.shutdown()
        assert all(secret not in caplog.text for secret in ("pässword", "s3cret", "SUACSSL3UA"))
    finally:
        server.kill()


def test_tls_verifies_the_server_and_shows_a_certificate(
    tmp_path: Path, manager: SiddhiManager, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    settings = f'tls {{ cert_file: "{certificates.server}", key_file: "{certificates.server}", ca_file: "{certificates.authority}", verify: true }}'
    server = NatsServer(tmp_path, settings)
    try:
        unverified, _ = started(
            manager, app(server.url, "s", f", tls.certificate.file = '{certificates.client}'", name="U")
        )
        assert not unverified.connectors()[0].connected
        assert "CERTIFICATE_VERIFY_FAILED" in caplog.text
        unverified.shutdown()
        options = f", tls.ca.file = '{certificates.authority}', tls.certificate.file = '{certificates.client}'"
        runtime, _ = started(manager, app(server.url, "s", options))
        assert runtime.connectors()[0].connected
        runtime.shutdown()
    finally:
        server.kill()


def test_a_subject_that_is_not_allowed_is_reported(
    tmp_path: Path, manager: SiddhiManager, caplog: pytest.LogCaptureFixture
) -> None:
    server = NatsServer(
        tmp_path, 'authorization { users = [ { user: u, password: p, permissions: { subscribe: "a.>" } } ] }'
    )
    try:
        runtime, _ = started(manager, app(server.url, "b.c", ", username = 'u', password = 'p'"))
        # The server answers the subscription later: before or after the source counts as connected.
        wait_until(lambda: 'permissions violation for subscription to "b.c"' in caplog.text.lower())
        runtime.shutdown()
    finally:
        server.kill()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (", ack = 'checkpoint'", "core NATS acknowledges nothing"),
        (", event.time = 'message'", "messages of core NATS have no time"),
        (", stream = 's', ack = 'checkpoint'", "'ack' needs a 'durable.name'"),
        (", stream = 's', deliver.policy = 'some'", "one of all, new, last"),
        (", durable.name = 'a.b'", "a name without . * > / and spaces"),
        (", subscription.sequence = '1', deliver.policy = 'all'", "no 'subscription.sequence' beside it"),
        (", durable.name = 'd', ack.wait = '0'", "at least a second"),
        (", username = 'u'", "requires the option 'password'"),
        (", token = 't', nkey.seed = 'x'", "no 'token' beside it"),
        (", nkey.seed = 'x'", "the seed of an NKey"),
        (", auth.type = 'user'", "the option 'username' beside it"),
        (", credentials.file = '/nowhere'", "a file that can be read"),
        (", truststore.file = 'a.jks'", "'tls.ca.file' with a PEM file instead"),
        (", optional.configuration = 'no_echo:1'", "numbers of connect_timeout, ping_interval, max_outstanding_pings"),
        (", bootstrap.servers = 'localhost:4222'", "nats://host:port"),
        (", bootstrap.servers = 'nats://u:p@localhost:4222'", "users have options of their own"),
    ],
)
def test_invalid_options_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError) as found:
        manager.create_siddhi_app_runtime(app("nats://127.0.0.1:1", "t", options))
    assert message in str(found.value)
