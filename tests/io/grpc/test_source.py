"""Sources `grpc` and `grpc-service`: streams and calls, routing, statuses, back-pressure, TLS, shutdown."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import grpc
import pytest

from siddhi import SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io.grpc.messages import EventFormat
from tests.io.test_tcp import wait_for
from tests.kit.certificates import Certificates
from tests.kit.running import collect
from tests.kit.servers.grpc import Calls

WAIT = 30
EVENTS = "org.wso2.grpc.EventService"


def source(
    port: int, options: str = "", name: str = "In", stream: str = "S (v int)", mapper: str = "@map(type = 'json')"
) -> str:
    url = f"grpc://127.0.0.1:{port}/{EVENTS}/consume"
    return (
        f"@app:name('{name}') @source(type = 'grpc', receiver.url = '{url}'{options}, {mapper}) define stream {stream};"
    )


def service(port: int, options: str = "", url: str = f"{EVENTS}/process") -> str:
    return (
        f"@app:name('Service') @source(type = 'grpc-service', source.id = 'double', receiver.url = 'grpc://127.0.0.1:{port}/{url}'"
        f"{options}, @map(type = 'json', @attributes(id = 'trp:message.id', who = 'trp:who', v = '$.v')))"
        " define stream Calls (id string, who string, v int);"
        " @sink(type = 'grpc-service-response', source.id = 'double', message.id = '{{id}}', headers = \"'who:{{who}}'\","
        " @map(type = 'json')) define stream Answers (id string, who string, v int);"
        " from Calls[v > 0] select id, who, v * 2 as v insert into Answers;"
    )


def status(call: Any) -> grpc.StatusCode:
    with pytest.raises(grpc.RpcError) as raised:
        call()
    code: grpc.StatusCode = raised.value.code()
    return code


def test_messages_of_a_stream_are_received_in_order(manager: SiddhiManager, port: int) -> None:
    with manager.create_siddhi_app_runtime(source(port)) as runtime, Calls(port) as calls:
        rows = collect(runtime, "S")
        assert calls.consume(*[f'{{"v": {number}}}' for number in range(100)], stream_id="S") == b""
        assert rows == [(number,) for number in range(100)]  # processed before the answer


def test_attributes_get_headers_and_metadata(manager: SiddhiManager, port: int) -> None:
    mapper = "@map(type = 'json', @attributes(v = '$.v', a = 'trp:Key', b = 'trp:token'))"
    text = source(port, stream="S (v int, a string, b string)", mapper=mapper)
    with manager.create_siddhi_app_runtime(text) as runtime, Calls(port) as calls:
        rows = collect(runtime, "S")
        calls.consume('{"v": 1}', metadata=(("token", "t"),), key="k")
        assert rows == [(1, "k", "t")]


def test_messages_go_to_the_source_of_their_stream(manager: SiddhiManager, port: int) -> None:
    second = source(port, name="In2").replace(" S (", " T (")
    with manager.create_siddhi_app_runtime(source(port)) as one, manager.create_siddhi_app_runtime(second) as two:
        rows, others = collect(one, "S"), collect(two, "T")
        with Calls(port) as calls:
            calls.consume('{"v": 1}', stream_id="S")
            calls.consume('{"v": 2}', metadata=(("stream.id", "T"),))
            assert status(lambda: calls.consume('{"v": 3}')) is grpc.StatusCode.DATA_LOSS
            assert status(lambda: calls.consume('{"v": 3}', stream_id="U")) is grpc.StatusCode.DATA_LOSS
            two.shutdown()
            assert status(lambda: calls.consume('{"v": 3}', stream_id="T")) is grpc.StatusCode.DATA_LOSS
            calls.consume('{"v": 4}', stream_id="S")
        assert (rows, others) == ([(1,), (4,)], [(2,)])


def test_messages_that_can_t_be_mapped_are_reported_at_the_end(manager: SiddhiManager, port: int) -> None:
    with manager.create_siddhi_app_runtime(source(port)) as runtime, Calls(port) as calls:
        rows = collect(runtime, "S")
        assert status(lambda: calls.consume('{"v": 1}', "wrong", '{"v": 2}')) is grpc.StatusCode.INVALID_ARGUMENT
        assert rows == [(1,), (2,)]
        method = calls.channel.stream_unary(f"/{EVENTS}/consume")
        assert status(lambda: method(iter([b"\xff\xff"]))) is grpc.StatusCode.INVALID_ARGUMENT


def test_unknown_methods_are_unimplemented(manager: SiddhiManager, port: int) -> None:
    with manager.create_siddhi_app_runtime(source(port)), Calls(port) as calls:
        assert status(lambda: calls.process('{"v": 1}')) is grpc.StatusCode.UNIMPLEMENTED


def test_a_slow_app_stops_its_clients(manager: SiddhiManager, port: int) -> None:
    go, taken = threading.Event(), []
    with manager.create_siddhi_app_runtime(source(port, ", buffer.payloads = '2'")) as runtime, Calls(port) as calls:

        def slow(events: list[Any]) -> None:
            go.wait(WAIT)
            taken.extend(event.data[0] for event in events)

        runtime.add_callback("S", slow)
        sent = 0

        def messages() -> Any:
            nonlocal sent
            for number in range(1000):
                sent += 1
                yield EventFormat().encode(f'{{"v": {number}}}' + " " * 20_000, {})

        call = calls.channel.stream_unary(f"/{EVENTS}/consume").future(messages())
        wait_for(lambda: sent > 2)
        go.wait(0.5)
        assert sent < 1000
        go.set()
        call.result(WAIT)
        assert taken == list(range(1000))


def test_a_call_is_answered_by_the_stream(manager: SiddhiManager, port: int) -> None:
    with manager.create_siddhi_app_runtime(service(port)), Calls(port) as calls:
        for number in range(1, 20):
            payload, headers = calls.process(f'{{"v": {number}}}', who=f"me {number}")
            assert f'"v":{2 * number}' in str(payload)
            assert headers == {"who": f"me {number}"}


def test_calls_at_the_same_time_get_their_own_answers(manager: SiddhiManager, port: int) -> None:
    with manager.create_siddhi_app_runtime(service(port)), Calls(port) as calls:
        method = calls.channel.unary_unary(f"/{EVENTS}/process")
        futures = [method.future(EventFormat().encode(f'{{"v": {number}}}', {"who": "x"})) for number in range(1, 50)]
        for number, future in enumerate(futures, 1):
            assert f'"v":{2 * number}' in str(EventFormat().decode(future.result(WAIT))[0])


def test_a_call_without_answer_exceeds_its_deadline(manager: SiddhiManager, port: int) -> None:
    with manager.create_siddhi_app_runtime(service(port, ", service.timeout = '50'")), Calls(port) as calls:
        assert status(lambda: calls.process('{"v": 0}', who="me")) is grpc.StatusCode.DEADLINE_EXCEEDED
        assert status(lambda: calls.process("wrong", who="me")) is grpc.StatusCode.INVALID_ARGUMENT


def test_a_late_answer_is_logged(manager: SiddhiManager, port: int, caplog: pytest.LogCaptureFixture) -> None:
    with manager.create_siddhi_app_runtime(service(port)) as runtime, Calls(port) as calls:
        calls.process('{"v": 1}', who="me")
        runtime.input_handler("Answers").send(("unknown", "me", 1))
        assert "an answer was dropped" in caplog.text


def test_calls_in_progress_end_with_the_app(manager: SiddhiManager, port: int) -> None:
    runtime = manager.create_siddhi_app_runtime(service(port))
    rows = collect(runtime, "Calls")
    runtime.start()
    with Calls(port) as calls:
        call = calls.channel.unary_unary(f"/{EVENTS}/process").future(EventFormat().encode('{"v": 0}', {"who": "x"}))
        wait_for(lambda: rows)
        begin = time.monotonic()
        runtime.shutdown()
        assert time.monotonic() - begin < 4  # less than the grace
        assert status(lambda: call.result(WAIT)) is grpc.StatusCode.UNAVAILABLE


def test_streams_end_with_the_app_which_can_start_again(manager: SiddhiManager, port: int) -> None:
    threads = {thread.name for thread in threading.enumerate()}
    for _ in range(3):
        runtime = manager.create_siddhi_app_runtime(source(port))
        rows = collect(runtime, "S")
        runtime.start()
        more = threading.Event()

        def messages(more: threading.Event = more) -> Any:
            yield EventFormat().encode('{"v": 1}', {})
            more.wait(WAIT)

        with Calls(port) as calls:
            call = calls.channel.stream_unary(f"/{EVENTS}/consume").future(messages(), wait_for_ready=True)
            wait_for(lambda rows=rows: rows)
            runtime.shutdown()
            assert status(lambda call=call: call.result(WAIT)) is grpc.StatusCode.UNAVAILABLE
            more.set()
    assert "siddhi-connectors" not in {thread.name for thread in threading.enumerate()} - threads


def test_a_user_s_service_takes_bytes(manager: SiddhiManager, port: int) -> None:
    url = f"receiver.url = 'grpc://127.0.0.1:{port}/a.b.Own/Push', @map(type = 'binary')"
    app = f"@source(type = 'grpc', {url}) define stream S (v int);"
    message = bytes.fromhex("00000001" + "0000000000000001" + "00000007")
    with manager.create_siddhi_app_runtime(app) as runtime, Calls(port) as calls:
        rows = collect(runtime, "S")
        assert calls.channel.unary_unary("/a.b.Own/Push")(message, wait_for_ready=True, timeout=WAIT) == b""
        assert calls.channel.stream_unary("/a.b.Own/Push")(iter([message, message]), timeout=WAIT) == b""
        assert rows == [(7,)] * 3


def test_a_user_s_service_has_messages_of_its_own(manager: SiddhiManager, port: int, tmp_path: Path) -> None:
    """Both directions with the mapper protobuf: a sink calls a service, whose answer is a message, too."""
    from google.protobuf import descriptor_pb2

    types = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="own.proto", package="a.b", syntax="proto3")
    message = file.message_type.add(name="Number")
    message.field.add(name="v", number=1, type=types.TYPE_INT32, label=types.LABEL_OPTIONAL)
    path = tmp_path / "own.pb"
    path.write_bytes(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    mapper = f"@map(type = 'protobuf', descriptor.file = '{path}', message = 'a.b.Number'"
    served = (
        f"@app:name('Own') @source(type = 'grpc-service', source.id = 'own', receiver.url = 'grpc://127.0.0.1:{port}/a.b.Own/Double', "
        f"{mapper}, @attributes(id = 'trp:message.id', n = 'trp:n', v = 'v'))) define stream Q (id string, n string, v int);"
        f" @sink(type = 'grpc-service-response', source.id = 'own', message.id = '{{{{id}}}}', headers = 'm:{{{{n}}}}', "
        f"{mapper}, @payload(v = 'v'))) define stream A (id string, n string, v int); from Q select id, n, v * 2 as v insert into A;"
    )
    calling = (
        f"@app:name('Calling') @sink(type = 'grpc-call', sink.id = 'own', publisher.url = 'grpc://127.0.0.1:{port}/a.b.Own/Double', "
        f"headers = 'n:{{{{v}}}}', {mapper})) define stream S (v int);"
        f" @source(type = 'grpc-call-response', sink.id = 'own', {mapper}, @attributes(v = 'v', m = 'trp:m')))"
        " define stream R (v int, m string);"
    )
    with manager.create_siddhi_app_runtime(served), manager.create_siddhi_app_runtime(calling) as runtime:
        rows = collect(runtime, "R")
        for number in (1, 2):
            runtime.input_handler("S").send((number,))
        wait_for(lambda: len(rows) == 2)
        assert rows == [(2, "1"), (4, "2")]


def test_credentials_are_checked(manager: SiddhiManager, port: int) -> None:
    with manager.create_siddhi_app_runtime(source(port, ", bearer.token = 'secret'")) as runtime, Calls(port) as calls:
        rows = collect(runtime, "S")
        assert status(lambda: calls.consume('{"v": 1}')) is grpc.StatusCode.UNAUTHENTICATED
        wrong = (("authorization", "Bearer other"),)
        assert status(lambda: calls.consume('{"v": 1}', metadata=wrong)) is grpc.StatusCode.UNAUTHENTICATED
        calls.consume('{"v": 2}', metadata=(("authorization", "Bearer secret"),))
        assert rows == [(2,)]


def test_tls_with_certificates_of_both_sides(manager: SiddhiManager, port: int, certificates: Certificates) -> None:
    options = (
        f", enable.ssl = 'true', mutual.auth.enabled = 'true', tls.certificate.file = '{certificates.server}', "
        f"tls.ca.file = '{certificates.authority}'"
    )
    authority, client = certificates.authority.read_bytes(), certificates.client.read_bytes()
    with manager.create_siddhi_app_runtime(source(port, options)) as runtime:
        rows = collect(runtime, "S")
        with Calls(port, grpc.ssl_channel_credentials(authority)) as calls:
            method = calls.channel.stream_unary(f"/{EVENTS}/consume")
            message = EventFormat().encode('{"v": 1}', {})
            assert status(lambda: method(iter([message]), timeout=WAIT)) is grpc.StatusCode.UNAVAILABLE
        with Calls(port, grpc.ssl_channel_credentials(authority, client, client)) as calls:
            calls.consume('{"v": 1}')
        assert rows == [(1,)]


def test_a_port_in_use_is_tried_again(manager: SiddhiManager) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        runtime = manager.create_siddhi_app_runtime(source(port))
        rows = collect(runtime, "S")
        runtime.start()
    with Calls(port) as calls:
        calls.consume('{"v": 1}')
    assert rows == [(1,)]


def test_a_method_belongs_to_one_source_and_options_must_agree(manager: SiddhiManager, port: int) -> None:
    with manager.create_siddhi_app_runtime(source(port)):
        with pytest.raises(SiddhiAppCreationError, match="belongs to another source"):
            manager.create_siddhi_app_runtime(source(port, name="Second")).start()
        text = source(port, ", max.inbound.message.size = '5'", "Third").replace(" S (", " T (")
        with pytest.raises(SiddhiAppCreationError, match="runs with other options"):
            manager.create_siddhi_app_runtime(text).start()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("receiver.url = 'http://h:1/a.B/c'", r"invalid option 'receiver.url'"),
        ("receiver.url = 'grpc://h/a.B/c'", r"invalid option 'receiver.url'"),
        ("receiver.url = 'grpc://h:1/a.B'", r"invalid option 'receiver.url'"),
        (f"receiver.url = 'grpc://h:1/{EVENTS}/process'", r"invalid option 'receiver.url'"),
        ("receiver.url = 'grpc://h:1/a.B/c', enable.ssl = 'true'", r"invalid option 'enable.ssl'"),
        ("receiver.url = 'grpc://h:1/a.B/c', mutual.auth.enabled = 'true'", r"invalid option 'mutual.auth.enabled'"),
        ("receiver.url = 'grpc://h:1/a.B/c', keystore.file = 'a.jks'", r"invalid option 'keystore.file'"),
    ],
)
def test_invalid_options_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        manager.create_siddhi_app_runtime(
            f"@source(type = 'grpc', {options}, @map(type = 'json')) define stream S (v int);"
        )
