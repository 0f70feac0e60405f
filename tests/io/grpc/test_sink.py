"""Sinks `grpc` and `grpc-call`: streams and calls, answers, statuses to on.error, reconnecting, TLS."""

from __future__ import annotations

import threading
from typing import Any

import grpc
import pytest

from siddhi import SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from tests.io.test_tcp import wait_for
from tests.kit.certificates import Certificates
from tests.kit.proxy import FaultProxy
from tests.kit.running import collect
from tests.kit.servers.grpc import EventServer

WAIT = 30
EVENTS = "org.wso2.grpc.EventService"
TEXT = "@map(type = 'text', @payload('{{v}}'))"


def sink(port: int, options: str = "", url: str = f"{EVENTS}/consume", mapper: str = TEXT) -> str:
    return (
        f"@app:name('Out') @OnError(action = 'STREAM') @sink(type = 'grpc', publisher.url = 'grpc://127.0.0.1:{port}/{url}'{options}, "
        f"{mapper}) define stream S (v int);"
    )


def call(port: int, options: str = "", mapper: str = TEXT) -> str:
    return (
        f"@app:name('Call') @OnError(action = 'STREAM') @sink(type = 'grpc-call', sink.id = 'up', "
        f"publisher.url = 'grpc://127.0.0.1:{port}/{EVENTS}/process'{options}, {mapper}) define stream S (v int);"
        " @source(type = 'grpc-call-response', sink.id = 'up', @map(type = 'text', fail.on.missing.attribute = 'false',"
        " regex.A = '(.*)', @attributes(t = 'A[1]', v = 'trp:v', h = 'trp:from', none = 'trp:none')))"
        " define stream R (t string, v int, h string, none string);"
    )


def test_payloads_are_messages_of_one_stream(manager: SiddhiManager, server: EventServer) -> None:
    options = ", headers = \"'stream.id:In','n:{{v}}'\", metadata = 'k:v', bearer.token = 'secret'"
    with manager.create_siddhi_app_runtime(sink(server.port, options, f"{EVENTS}/consume/seq")) as runtime:
        for number in range(100):
            runtime.input_handler("S").send((number,))
    wait_for(lambda: len(server.received) == 100)
    headers = {"stream.id": "In", "sequence": "seq"}
    assert server.received == [(str(number), {**headers, "n": str(number)}) for number in range(100)]
    assert (server.metadata["k"], server.metadata["authorization"]) == ("v", "Bearer secret")


@pytest.mark.parametrize("fault", ["drop", "half_close"])
def test_confirmed_payloads_arrive_although_the_connection_breaks(
    manager: SiddhiManager, server: EventServer, fault: str
) -> None:
    """Ten faults in mid-stream: what is sent is received, some twice, in order."""
    with FaultProxy(server.port) as proxy:
        text = sink(
            proxy.port, ", on.error = 'WAIT', retry.initial = '10 ms', confirm = 'true', call.timeout = '5 sec'"
        )
        with manager.create_siddhi_app_runtime(text) as runtime:
            for number in range(100):
                if number % 10 == 5:
                    getattr(proxy, fault)()
                runtime.input_handler("S").send((number,))
            wait_for(lambda: len({payload for payload, _ in server.received}) == 100)
    firsts = list(dict.fromkeys(int(payload) for payload, _ in server.received))
    assert firsts == list(range(100))


def test_a_server_that_restarts_gets_the_later_payloads(manager: SiddhiManager, server: EventServer) -> None:
    with manager.create_siddhi_app_runtime(
        sink(server.port, ", on.error = 'WAIT', retry.initial = '10 ms'")
    ) as runtime:
        runtime.input_handler("S").send((1,))
        wait_for(lambda: server.received)
        server.stop()
        server.start()

        def arrives() -> bool:
            runtime.input_handler("S").send((2,))
            return ("2", {}) in server.received

        wait_for(arrives)


def test_each_payload_without_a_server_is_handled_by_on_error(manager: SiddhiManager, server: EventServer) -> None:
    port = server.port
    server.stop()
    options = ", on.error = 'STREAM', connection.timeout = '100 ms'"
    with manager.create_siddhi_app_runtime(sink(port, options)) as runtime:
        failed = collect(runtime, "!S")
        for number in range(5):
            runtime.input_handler("S").send((number,))
        wait_for(lambda: len(failed) == 5)
    server.start()


def test_statuses_are_handled_by_on_error(manager: SiddhiManager, server: EventServer) -> None:
    options = ", on.error = 'STREAM', confirm = 'true'"
    with manager.create_siddhi_app_runtime(sink(server.port, options)) as runtime:
        failed = collect(runtime, "!S")
        for number, code in enumerate((grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.DATA_LOSS)):
            server.refuses = code
            runtime.input_handler("S").send((number,))
            wait_for(lambda number=number: len(failed) == number + 1)
            assert code.name in str(failed[-1][-1])
        server.refuses = None
        runtime.input_handler("S").send((3,))
        wait_for(lambda: server.received == [("3", {})])


def test_a_stream_that_was_refused_is_logged(
    manager: SiddhiManager, server: EventServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.refuses = grpc.StatusCode.DATA_LOSS
    with manager.create_siddhi_app_runtime(sink(server.port)) as runtime:
        runtime.input_handler("S").send((1,))
        wait_for(lambda: server.metadata)
    # An end within a write hides its status, and the shutdown can come before the second attempt.
    assert any(text in caplog.text for text in ("DATA_LOSS", "INTERNAL", "before it was published"))


def test_answers_of_calls_are_events(manager: SiddhiManager, server: EventServer) -> None:
    with manager.create_siddhi_app_runtime(call(server.port)) as runtime:
        rows = collect(runtime, "R")
        server.respond = lambda text: f"answer {text}"
        for number in range(20):
            runtime.input_handler("S").send((number,))
        wait_for(lambda: len(rows) == 20)
        assert rows == [(f"answer {number}", number, "server", None) for number in range(20)]


def test_null_attributes_of_the_request_are_null(manager: SiddhiManager, server: EventServer) -> None:
    with manager.create_siddhi_app_runtime(call(server.port)) as runtime:
        rows = collect(runtime, "R")
        runtime.input_handler("S").send((None,))
        wait_for(lambda: rows)
        assert rows[0][1:] == (None, "server", None)


def test_calls_can_be_concurrent(manager: SiddhiManager, server: EventServer) -> None:
    server.go.clear()
    waiting = threading.Semaphore(0)
    with manager.create_siddhi_app_runtime(call(server.port, ", concurrency = '4'")) as runtime:
        rows = collect(runtime, "R")

        def respond(text: str) -> str:
            waiting.release()
            return text

        server.respond = respond
        for number in range(4):
            runtime.input_handler("S").send((number,))
        server.go.set()
        wait_for(lambda: len(rows) == 4)
        assert {row[1] for row in rows} == set(range(4))


def test_a_call_without_answer_is_handled_by_on_error(manager: SiddhiManager, server: EventServer) -> None:
    server.go.clear()
    options = ", on.error = 'STREAM', call.timeout = '50 ms'"
    with manager.create_siddhi_app_runtime(call(server.port, options)) as runtime:
        failed = collect(runtime, "!S")
        runtime.input_handler("S").send((1,))
        wait_for(lambda: failed)
        assert "DEADLINE_EXCEEDED" in str(failed[0][-1])
        server.go.set()


def test_a_loop_of_calls_and_answers_does_not_block(manager: SiddhiManager, server: EventServer) -> None:
    """Each answer makes two more calls, with queues of one payload."""
    text = call(server.port, ", buffer.payloads = '1'").replace(
        "sink.id = 'up', @map", "sink.id = 'up', buffer.payloads = '1', @map"
    )
    text += " from R[v < 64] select v * 2 as v insert into S; from R[v < 64] select v * 2 + 1 as v insert into S;"
    with manager.create_siddhi_app_runtime(text) as runtime:
        rows = collect(runtime, "R")
        runtime.input_handler("S").send((1,))
        wait_for(lambda: len(rows) == 127)
        assert sorted(row[1] for row in rows) == list(range(1, 128))


def test_a_user_s_service_gets_bytes_and_metadata(manager: SiddhiManager, server: EventServer) -> None:
    options = ", headers = 'x:{{v}}'"
    text = sink(server.port, options, "a.b.Own/Raw", "@map(type = 'binary')")
    with manager.create_siddhi_app_runtime(text) as runtime:
        runtime.input_handler("S").send((7,), timestamp=1)
        wait_for(lambda: server.raw)
    assert server.raw == [bytes.fromhex("00000001" + "0000000000000001" + "00000007")]
    assert server.metadata["x"] == "7"


def test_payloads_of_a_wrong_type_can_not_be_sent(manager: SiddhiManager, server: EventServer) -> None:
    for url, mapper in ((f"{EVENTS}/consume", "@map(type = 'binary')"), ("a.b.Own/Raw", TEXT)):
        text = sink(server.port, ", on.error = 'STREAM'", url, mapper)
        with manager.create_siddhi_app_runtime(text) as runtime:
            failed = collect(runtime, "!S")
            runtime.input_handler("S").send((7,), timestamp=1)
            wait_for(lambda failed=failed: failed)


def test_tls_with_certificates_of_both_sides(manager: SiddhiManager, certificates: Certificates) -> None:
    key, authority = certificates.server.read_bytes(), certificates.authority.read_bytes()
    server = EventServer(grpc.ssl_server_credentials([(key, key)], authority, require_client_auth=True)).start()
    options = (
        f", tls.ca.file = '{certificates.authority}', tls.certificate.file = '{certificates.client}', confirm = 'true'"
    )
    with manager.create_siddhi_app_runtime(sink(server.port, options).replace("127.0.0.1", "localhost")) as runtime:
        runtime.input_handler("S").send((1,))
        wait_for(lambda: server.received)
    server.stop()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (", tls.verify = 'false'", r"invalid option 'tls.verify'"),
        (", enable.ssl = 'true', mutual.auth.enabled = 'true'", r"invalid option 'mutual.auth.enabled'"),
        (", enable.ssl = 'false', tls.verify = 'true'", r"invalid option 'tls.verify'"),
        (", truststore.file = 'a.jks'", r"invalid option 'truststore.file'"),
        (", metadata = 'a'", r"invalid option 'metadata'"),
        (", headers = 'a'", r"invalid option 'headers'"),
        (", keep.alive.timeout = '5'", r"invalid option 'keep.alive.timeout'"),
        (", keep.alive.without.calls = 'true'", r"invalid option 'keep.alive.without.calls'"),
        (", max.retry.attempts = '9', enable.retry = 'true'", r"invalid option 'max.retry.attempts'"),
    ],
)
def test_invalid_options_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        manager.create_siddhi_app_runtime(sink(1, options))


def test_sources_and_sinks_of_apps_work_together(manager: SiddhiManager, port: int, server: EventServer) -> None:
    service: Any = (
        "@app:name('Service') @source(type = 'grpc-service', source.id = 'x', receiver.url = 'grpc://127.0.0.1:"
        f"{port}/{EVENTS}/process', @map(type = 'text', regex.A = '(.*)', @attributes(id = 'trp:message.id', t = 'A[1]')))"
        " define stream Q (id string, t string);"
        " @sink(type = 'grpc-service-response', source.id = 'x', message.id = '{{id}}', @map(type = 'text', @payload('<{{t}}>')))"
        " define stream A (id string, t string); from Q select id, t insert into A;"
    )
    with manager.create_siddhi_app_runtime(service), manager.create_siddhi_app_runtime(call(port)) as runtime:
        rows = collect(runtime, "R")
        for number in range(10):
            runtime.input_handler("S").send((number,))
        wait_for(lambda: len(rows) == 10)
        assert [row[:2] for row in rows] == [(f"<{number}>", number) for number in range(10)]
