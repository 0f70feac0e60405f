"""``@sink(type = 'http')``: requests, answers, failures, authentication, proxies, TLS."""

from __future__ import annotations

import asyncio
import base64
import logging
import re
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from aiohttp import web

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.persistence import InMemoryErrorStore
from tests.kit.certificates import Certificates
from tests.kit.http import free_port, wait_for
from tests.kit.http_server import serving

Start = Callable[..., tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]]


class Recorder:
    """Answers requests, and keeps them."""

    def __init__(self, *answers: int | web.Response) -> None:
        self.requests: list[tuple[str, str, dict[str, str], str]] = []
        self.answers = list(answers)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((request.method, request.path_qs, headers, await request.text()))
        answer = self.answers.pop(0) if self.answers else 200
        return answer if isinstance(answer, web.Response) else web.Response(status=answer)

    @property
    def bodies(self) -> list[str]:
        return [body for _, _, _, body in self.requests]


def app(port: int, more: str = "", *, url: str = "http://127.0.0.1:{port}/a", map: str = "json") -> str:  # noqa: A002
    return (
        f"@sink(type = 'http', publisher.url = '{url.format(port=port)}', {more and more + ','} @map(type = '{map}')) "
        "define stream S (s string, v long);"
    )


def send(runtime: SiddhiAppRuntime, *rows: tuple[Any, ...]) -> None:
    for row in rows:
        runtime.input_handler("S").send(row)


def test_payloads_are_sent_in_their_order(start: Start) -> None:
    recorder = Recorder()
    with serving(recorder) as port:
        runtime, _ = start(app(port))
        send(runtime, *[("é", number) for number in range(50)])
        runtime.shutdown()  # sends what is queued
    assert recorder.bodies == [f'{{"event":{{"s":"é","v":{number}}}}}' for number in range(50)]
    method, path, headers, _ = recorder.requests[0]
    assert (method, path, headers["content-type"]) == ("POST", "/a", "application/json")
    assert headers["user-agent"].startswith("siddhi/")
    assert "content-length" in headers


@pytest.mark.parametrize(
    ("mapper", "type_", "body"),
    [
        ("keyvalue", "application/x-www-form-urlencoded", "s=a%26b&v=1"),
        ("text", "text/plain", 's:"a&b",\nv:1'),
        ("csv", "text/csv", None),
        ("xml", "application/xml", None),
    ],
)
def test_the_content_type_is_that_of_the_mapper(start: Start, mapper: str, type_: str, body: str | None) -> None:
    recorder = Recorder()
    with serving(recorder) as port:
        runtime, _ = start(app(port, map=mapper))
        send(runtime, ("a&b", 1))
        runtime.shutdown()
    assert recorder.requests[0][2]["content-type"] == type_
    if body is not None:
        assert recorder.bodies == [body]


def test_url_method_and_headers_depend_on_the_event(start: Start) -> None:
    recorder = Recorder()
    headers = "\"'X-Kind:a {{s}}','Content-Type:text/x','X-Comma:1,2:3'\""
    with serving(recorder) as port:
        runtime, _ = start(
            "@sink(type = 'http', publisher.url = 'http://127.0.0.1:"
            + str(port)
            + "/{{s}}?v={{v}}', method = '{{m}}', "
            f"headers = {headers}, idempotency.key = 'key-{{{{v}}}}', @map(type = 'json')) "
            "define stream S (s string, v long, m string);"
        )
        send(runtime, ("x", 1, "PUT"), ("y", 2, ""), ("z", 3, "get"), ("z", 4, "BAD"))
        runtime.shutdown()
    assert [(method, path) for method, path, _, _ in recorder.requests] == [
        ("PUT", "/x?v=1"),
        ("POST", "/y?v=2"),
        ("GET", "/z?v=3"),
    ]
    first, last = recorder.requests[0], recorder.requests[2]
    assert {name: first[2][name] for name in ("x-kind", "content-type", "x-comma", "idempotency-key")} == {
        "x-kind": "a x",
        "content-type": "text/x",
        "x-comma": "1,2:3",
        "idempotency-key": "key-1",
    }
    assert last[3] == ""
    assert last[2]["content-type"] == "text/x"


def test_values_cannot_add_headers(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder()
    with serving(recorder) as port:
        runtime, _ = start(app(port, "headers = \"'X-Kind:{{s}}'\""))
        send(runtime, ("a','X-Evil:1", 1), ("a\r\nX-Evil: 1", 2))
        runtime.shutdown()
    [(_, _, headers, _)] = recorder.requests
    assert headers["x-kind"] == "a','X-Evil:1"
    assert "x-evil" not in headers
    assert "line end" in caplog.text


def test_a_placeholder_alone_is_the_list_of_headers(start: Start) -> None:
    recorder = Recorder()
    with serving(recorder) as port:
        runtime, _ = start(app(port, "headers = '{{s}}'"))
        send(runtime, ("'A:1','B:2'", 1))
        runtime.shutdown()
    [(_, _, headers, _)] = recorder.requests
    assert (headers["a"], headers["b"]) == ("1", "2")


# --- answers that are no success


@pytest.mark.parametrize("status", [500, 404, 302, 400])
def test_other_status_codes_are_failures(manager: SiddhiManager, status: int) -> None:
    store = InMemoryErrorStore()
    manager.set_error_store(store)
    recorder = Recorder(web.Response(status=status, text="why"))
    with serving(recorder) as port, manager.create_siddhi_app_runtime(app(port, "on.error = 'STORE'")) as runtime:
        send(runtime, ("a", 1), ("b", 2))
        wait_for(lambda: len(recorder.requests) == 2)
    [entry] = store.load_error_entries(runtime.name)
    assert f"status {status}: why" in entry.cause
    assert len(recorder.requests) == 2  # it was not sent again


def test_more_status_codes_can_be_successes(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    with serving(Recorder(404, 201, 409)) as port:
        runtime, _ = start(app(port, "success.codes = '200-299,404'"))
        send(runtime, ("a", 1), ("b", 2), ("c", 3))
        runtime.shutdown()
    assert [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR] != []
    assert caplog.text.count("answered with status") == 1
    assert "status 409" in caplog.text


def test_wait_sends_again_until_it_is_accepted(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(503, 503)
    with serving(recorder) as port:
        runtime, _ = start(app(port, "on.error = 'WAIT', retry.initial = '10 ms'"))
        send(runtime, ("a", 1), ("b", 2))
        wait_for(lambda: len(recorder.requests) == 4)
        runtime.shutdown()
    assert [body[-3] for body in recorder.bodies] == ["1", "1", "1", "2"]


def test_a_server_that_is_down_is_a_failure_of_each_payload(manager: SiddhiManager) -> None:
    store = InMemoryErrorStore()
    manager.set_error_store(store)
    port = free_port()
    with manager.create_siddhi_app_runtime("@app:name('A')" + app(port, "on.error = 'STORE'")) as runtime:
        send(runtime, ("a", 1), ("b", 2))
    assert len(store.load_error_entries("A")) == 2


def test_what_was_stored_is_sent_once_the_server_is_back(manager: SiddhiManager) -> None:
    store = InMemoryErrorStore()
    manager.set_error_store(store)
    recorder, port = Recorder(), free_port()
    with manager.create_siddhi_app_runtime("@app:name('A')" + app(port, "on.error = 'STORE'")) as runtime:
        send(runtime, ("a", 1))
        wait_for(lambda: store.load_error_entries("A"))
        with serving(recorder, port=port):
            send(runtime, ("b", 2))
            wait_for(lambda: len(recorder.requests) == 1)
            for entry in store.load_error_entries("A"):
                runtime.replay_error_entry(entry)
            wait_for(lambda: len(recorder.requests) == 2)


def test_a_slow_answer_is_a_failure(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        await asyncio.sleep(30)
        raise AssertionError

    with serving(slow) as port:
        runtime, _ = start(app(port, "request.timeout = '50'"))
        send(runtime, ("a", 1))
        runtime.shutdown()
    assert "no answer within the limits of time" in caplog.text


def test_several_requests_at_the_same_time(start: Start) -> None:
    running, most = 0, 0

    async def slow(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.02)
        running -= 1
        return web.Response()

    with serving(slow) as port:
        runtime, _ = start(app(port, "executor.service.threads = '5'"))
        send(runtime, *[("a", number) for number in range(20)])
        runtime.shutdown()
    assert most == 5


def test_connections_are_kept(start: Start) -> None:
    peers: set[object] = set()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        peers.add(request.transport.get_extra_info("peername"))
        return web.Response(text="x" * 5000)

    with serving(handler) as port:
        runtime, _ = start(app(port))
        send(runtime, *[("a", number) for number in range(20)])
        runtime.shutdown()
    assert len(peers) == 1


# --- redirects, authentication, proxies


def test_redirects_are_followed_up_to_a_limit(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    def to(status: int) -> web.Response:
        return web.Response(status=status, headers={"Location": "/b"})

    recorder = Recorder(to(307), to(308), 200, to(307), to(307), to(307), to(302))
    with serving(recorder) as port:
        runtime, _ = start(app(port, "max.redirects = '2'"))
        send(runtime, ("a", 1), ("b", 2), ("c", 3))
        runtime.shutdown()
    assert [(method, path) for method, path, _, _ in recorder.requests] == [
        ("POST", "/a"),
        ("POST", "/b"),
        ("POST", "/b"),
        ("POST", "/a"),
        ("POST", "/b"),
        ("POST", "/b"),
        ("POST", "/a"),
    ]
    assert caplog.text.count("with status 307") == 1
    assert caplog.text.count("with status 302") == 1


def test_credentials_stay_with_their_server(start: Start) -> None:
    other = Recorder()
    with serving(other) as elsewhere:
        recorder = Recorder(web.Response(status=307, headers={"Location": f"http://127.0.0.1:{elsewhere}/x"}))
        with serving(recorder) as port:
            runtime, _ = start(app(port, "max.redirects = '1', bearer.token = 'abc'"))
            send(runtime, ("a", 1))
            runtime.shutdown()
    assert recorder.requests[0][2]["authorization"] == "Bearer abc"
    assert "authorization" not in other.requests[0][2]


def test_basic_authentication(start: Start) -> None:
    recorder = Recorder()
    with serving(recorder) as port:
        runtime, _ = start(app(port, "basic.auth.username = 'ada', basic.auth.password = 'é:1'"))
        send(runtime, ("a", 1))
        runtime.shutdown()
    scheme, _, given = recorder.requests[0][2]["authorization"].partition(" ")
    assert (scheme, base64.b64decode(given).decode()) == ("Basic", "ada:é:1")


def test_a_proxy_gets_the_requests(start: Start) -> None:
    proxy = Recorder()
    with serving(proxy) as port:
        runtime, _ = start(
            app(
                0, f"proxy.host = '127.0.0.1', proxy.port = '{port}', proxy.username = 'u', proxy.password = 'p'"
            ).replace("127.0.0.1:0", "example.invalid")
        )
        send(runtime, ("a", 1))
        runtime.shutdown()
    [(_, path, headers, body)] = proxy.requests
    assert (path, headers["host"]) == ("/a", "example.invalid")
    assert base64.b64decode(headers["proxy-authorization"].partition(" ")[2]) == b"u:p"
    assert body == '{"event":{"s":"a","v":1}}'


# --- TLS


def server_tls(certificates: Certificates, *, mutual: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.server)
    if mutual:
        context.load_verify_locations(certificates.authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@pytest.mark.parametrize(
    ("options", "mutual", "arrives"),
    [
        ("tls.ca.file = '{authority}'", False, True),
        ("tls.ca.file = '{other}'", False, False),
        ("method = 'POST'", False, False),
        ("ssl.verification.disabled = 'true'", False, True),
        ("tls.verify = 'false'", False, True),
        ("tls.ca.file = '{authority}'", True, False),
        ("tls.ca.file = '{authority}', tls.certificate.file = '{client}'", True, True),
    ],
)
def test_certificates_are_verified(
    start: Start,
    certificates: Certificates,
    options: str,
    mutual: bool,
    arrives: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorder = Recorder()
    more = options.format(authority=certificates.authority, other=certificates.other, client=certificates.client)
    with serving(recorder, tls=server_tls(certificates, mutual=mutual)) as port:
        runtime, _ = start(app(port, more, url="https://127.0.0.1:{port}/a"))
        send(runtime, ("a", 1))
        runtime.shutdown()
    assert len(recorder.requests) == int(arrives)
    assert bool(re.search(r"SSL|certificate|ClientOSError|disconnected", caplog.text)) != arrives


def test_a_proxy_forwards_encrypted_requests(start: Start, certificates: Certificates) -> None:
    heads: list[bytes] = []

    def forward(listening: socket.socket) -> None:
        client, _ = listening.accept()
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(4096)
            heads.append(head)
            host, _, port = head.split()[1].decode().partition(":")
            with socket.create_connection((host, int(port))) as server:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                answers = threading.Thread(target=pump, args=(server, client))
                answers.start()
                pump(client, server)
                answers.join(30)

    def pump(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(4096):
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    recorder = Recorder()
    with serving(recorder, tls=server_tls(certificates)) as port, socket.create_server(("127.0.0.1", 0)) as listening:
        proxy = threading.Thread(target=forward, args=(listening,))
        proxy.start()
        more = (
            f"tls.ca.file = '{certificates.authority}', proxy.host = '127.0.0.1', "
            f"proxy.port = '{listening.getsockname()[1]}', proxy.username = 'u', proxy.password = 'p'"
        )
        runtime, _ = start(app(port, more, url="https://127.0.0.1:{port}/a"))
        send(runtime, ("a", 1))
        runtime.shutdown()
        proxy.join(30)
    [head] = heads
    assert head.startswith(f"CONNECT 127.0.0.1:{port} ".encode())
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"u:p") in head
    assert len(recorder.requests) == 1
    assert "proxy-authorization" not in recorder.requests[0][2]


# --- life cycle and options


def test_an_app_starts_again(manager: SiddhiManager) -> None:
    before = set(threading.enumerate())
    recorder = Recorder()
    with serving(recorder) as port:
        for number in range(3):
            with manager.create_siddhi_app_runtime(app(port)) as runtime:
                send(runtime, ("a", number))
        assert [body[-3] for body in recorder.bodies] == ["0", "1", "2"]
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("method = 'FETCH'", "invalid option 'method'"),
        ("success.codes = '2xx'", "invalid option 'success.codes'"),
        ("success.codes = '299-200'", "invalid option 'success.codes'"),
        ("basic.auth.username = 'a'", "need each other"),
        ("basic.auth.username = 'a', basic.auth.password = 'b', bearer.token = 'c'", "invalid option 'bearer.token'"),
        ("headers = 'nothing'", "invalid option 'headers'"),
        ("headers = 's'", "invalid option 'headers'"),
        ("headers = \"'a b:c'\"", "invalid option 'headers'"),
        ("proxy.port = '1'", "invalid option 'proxy.port'"),
        ("consumer.key = 'k'", "need each other"),
        ("token.url = 'http://h/t'", "needs a client or a user"),
        ("consumer.key = 'k', consumer.secret = 's'", "requires the option 'token.url'"),
        ("https.truststore.file = 'x.jks'", "tls.ca.file"),
        ("ssl.protocol = 'SSLv3'", "invalid option 'ssl.protocol'"),
        ("executor.service.threads = '0'", "invalid option 'executor.service.threads'"),
    ],
)
def test_wrong_options_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        manager.create_siddhi_app_runtime(app(1, options))


@pytest.mark.parametrize("url", ["h/a", "ftp://h/a", "http:///a", "http://h:x/a", "http://u:p@h/a"])
def test_wrong_urls_are_refused(manager: SiddhiManager, url: str) -> None:
    with pytest.raises(SiddhiAppCreationError, match=r"publisher\.url"):
        manager.create_siddhi_app_runtime(app(1, url=url))
