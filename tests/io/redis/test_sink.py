"""Adding to streams and publishing to channels: order, fields, limits, what the server refuses, TLS and passwords."""

from __future__ import annotations

import ssl
import threading
from pathlib import Path
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from tests.kit.certificates import Certificates
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.redis import RedisServer, library, redis_server
from tests.kit.waiting import wait_until

SINK = "@sink(type = 'redis-stream', url = '{url}', {options}, @map(type = 'csv')) define stream O (v long, s string);"


def sent(manager: SiddhiManager, text: str, rows: Any) -> SiddhiAppRuntime:
    runtime = manager.create_siddhi_app_runtime(text)
    runtime.start()
    for row in rows:
        runtime.input_handler("O").send(row)
    return runtime


def test_entries_are_added_in_the_order_of_the_events(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    text = SINK.format(url=server.url, options="stream = 'o-{{s}}'")
    sent(manager, text, [(number, "ab"[number % 2]) for number in range(2000)]).shutdown()
    for start, name in enumerate("ab"):
        found = [fields["payload"].strip() for _, fields in client.xrange(f"o-{name}")]
        assert found == [f"{number},{name}" for number in range(start, 2000, 2)]


def test_a_stream_keeps_no_more_entries_than_it_may(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    options = "stream = 'o', maxlen = '10', maxlen.approximate = 'false', payload.field = 'line'"
    sent(manager, SINK.format(url=server.url, options=options), [(number, "") for number in range(100)]).shutdown()
    assert [fields["line"].strip() for _, fields in client.xrange("o")] == [f"{number}," for number in range(90, 100)]


def test_the_entries_of_a_dict_are_fields(manager: SiddhiManager, server: RedisServer, client: Any) -> None:
    text = f"""@sink(type = 'redis-stream', url = '{server.url}', stream = 'o', @map(type = 'keyvalue'))
        define stream O (a long, b bool, c string, d double);"""
    sent(manager, text, [(1, True, None, 0.5)]).shutdown()
    assert [fields for _, fields in client.xrange("o")] == [{"a": "1", "b": "true", "d": "0.5"}]


def test_payloads_are_published_to_a_channel(manager: SiddhiManager, server: RedisServer) -> None:
    source = f"@source(type = 'redis-pubsub', url = '{server.url}', pattern = 'o.*', @map(type = 'csv')) define stream S (v long, s string);"
    receiver = manager.create_siddhi_app_runtime(source)
    rows = collect(receiver, "S")
    receiver.start()
    text = SINK.format(url=server.url, options="channel = 'o.{{s}}'").replace("redis-stream", "redis-pubsub")
    sent(manager, text, [(number, "x") for number in range(500)])
    wait_until(lambda: len(rows) == 500)
    assert rows == [(number, "x") for number in range(500)]


def test_an_entry_that_the_server_refuses_goes_to_the_fault_stream(
    manager: SiddhiManager, server: RedisServer, client: Any
) -> None:
    client.set("o-b", "no stream")
    text = "@OnError(action = 'stream') " + SINK.format(
        url=server.url, options="stream = 'o-{{s}}', on.error = 'STREAM'"
    )
    runtime = manager.create_siddhi_app_runtime(text)
    failed = collect(runtime, "!O")
    runtime.start()
    for row in [(1, "a"), (2, "b"), (3, "a")]:
        runtime.input_handler("O").send(row)
    wait_until(lambda: len(failed) == 1 and client.xlen("o-a") == 2)
    assert failed[0][:2] == (2, "b")
    assert "WRONGTYPE" in str(failed[0][2])


def test_an_option_that_needs_another_is_refused(manager: SiddhiManager) -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"invalid option 'maxlen.approximate'"):
        manager.create_siddhi_app_runtime(
            SINK.format(url="redis://localhost", options="stream = 'o', maxlen.approximate = 'false'")
        )


def test_a_password_may_be_wrong_and_is_not_logged(
    manager: SiddhiManager, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("wrong-one\n", encoding="ascii")
    with redis_server("--requirepass", "right-one") as server:
        options = f"stream = 'o', password = 'file:{secret}', on.error = 'WAIT'"
        runtime = manager.create_siddhi_app_runtime(SINK.format(url=server.url, options=options))
        runtime.start()
        wait_until(lambda: "AuthenticationError" in caplog.text)
        runtime.shutdown()
        secret.write_text("right-one\n", encoding="ascii")
        sent(manager, SINK.format(url=server.url, options=options), [(1, "a")]).shutdown()
        with library().Redis(port=server.port, password="right-one") as client:
            assert client.xlen("o") == 1
    assert "-one" not in caplog.text


def test_tls_verifies_the_server_and_shows_a_certificate(
    manager: SiddhiManager, server: RedisServer, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.authority))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificates.server)
    with FaultProxy(server.port, tls=context) as proxy:  # the bundled server has no TLS
        url = f"rediss://localhost:{proxy.port}"
        client = f"tls.certificate.file = '{certificates.client}'"
        text = SINK.format(url=url, options=f"stream = 'o', tls.ca.file = '{certificates.other}', {client}")
        runtime = manager.create_siddhi_app_runtime(text)
        runtime.start()
        wait_until(lambda: "CERTIFICATE_VERIFY_FAILED" in caplog.text)
        runtime.shutdown()
        text = SINK.format(url=url, options=f"stream = 'o', tls.ca.file = '{certificates.authority}', {client}")
        sent(manager, text, [(1, "a")]).shutdown()
        with library().Redis(port=server.port) as plain:
            assert plain.xlen("o") == 1


def test_starts_and_stops_leave_no_thread(manager: SiddhiManager, server: RedisServer) -> None:
    before = set(threading.enumerate())
    text = (
        SINK.format(url=server.url, options="stream = 'o'")
        + f" @source(type = 'redis-stream', url = '{server.url}', stream = 'o', @map(type = 'csv')) define stream S (v long, s string);"
    )
    for _ in range(3):
        runtime = manager.create_siddhi_app_runtime(text)
        rows = collect(runtime, "S")
        runtime.start()
        runtime.input_handler("O").send((1, "a"))
        wait_until(lambda rows=rows: rows)
        runtime.shutdown()
    wait_until(lambda: not set(threading.enumerate()) - before)
