"""``@source(type = 'http')``: answers, properties, charsets, limits, access, back-pressure and shutdown."""

from __future__ import annotations

import gzip
import socket
import threading
import zlib
from base64 import b64encode
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.config import InMemoryConfigManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io.http import server
from tests.kit.http import WAIT, connected, post, wait_for

Start = Callable[..., tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]]

APP = (
    "@source(type = 'http', receiver.url = 'http://127.0.0.1:{port}/s', {more} @map(type = '{map}' {mapped})) "
    "define stream S ({attributes});"
)
ROW = '{"s": "a", "v": 1}'


def app(port: int, more: str = "", mapper: str = "json", mapped: str = "", attributes: str = "s string, v long") -> str:
    return APP.format(port=port, more=more and more + ",", map=mapper, mapped=mapped, attributes=attributes)


# --- answers


def test_a_request_is_answered_after_its_events_were_processed(start: Start, port: int) -> None:
    _, rows = start(app(port))
    answer = post(port, "/s", ROW)
    assert (answer.status, answer.body, rows) == (200, b"", [("a", 1)])


def test_a_list_is_one_chunk(manager: SiddhiManager, port: int) -> None:
    runtime = manager.create_siddhi_app_runtime(app(port))
    sizes: list[int] = []
    runtime.add_callback("S", lambda events: sizes.append(len(events)))
    runtime.start()
    assert post(port, "/s", f"[{ROW}, {ROW}, {ROW}]").status == 200
    assert sizes == [3]


def test_what_cannot_be_mapped_is_answered_with_400(start: Start, port: int) -> None:
    _, rows = start(app(port))
    answers = [post(port, "/s", body).status for body in ("{", '{"s": "a", "v": "x"}', ROW, "")]
    assert answers == [400, 400, 200, 400]
    assert rows == [("a", 1)]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/t", 404), ("POST", "/s/", 404), ("GET", "/s", 405), ("DELETE", "/s", 405), ("POST", "/%73", 200)],
)
def test_other_paths_and_methods_are_refused(start: Start, port: int, method: str, path: str, status: int) -> None:
    start(app(port))
    with connected(port) as client:
        answer = client.request(method, path, ROW)
        assert answer.status == status
        assert answer.headers.get("allow") == ("POST, OPTIONS" if status == 405 else None)
        assert client.request("POST", "/s", ROW).status == 200  # on the same connection


def test_a_head_request_has_no_body(start: Start, port: int) -> None:
    start(app(port))
    with connected(port) as client:
        assert client.request("HEAD", "/s").body == b""
        assert client.request("POST", "/s", ROW).status == 200


def test_options_tell_browsers_what_they_may_send(start: Start, port: int) -> None:
    start(app(port))
    with connected(port) as client:
        answer = client.request("OPTIONS", "/s", Origin="http://a", Access_Control_Request_Headers="content-type")
        assert answer.status == 204
        assert {name: value for name, value in answer.headers.items() if name.startswith("access")} == {
            "access-control-allow-origin": "*",
            "access-control-allow-methods": "POST, OPTIONS",
            "access-control-allow-headers": "content-type",
            "access-control-max-age": "86400",
        }
        assert client.request("POST", "/s", ROW, Origin="http://a").headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-origin" not in client.request("POST", "/s", ROW).headers


def test_browsers_can_be_kept_out(start: Start, port: int) -> None:
    start(app(port, "cors.allow.origin = ''"))
    with connected(port) as client:
        answer = client.request("OPTIONS", "/s", Origin="http://a")
        assert (answer.status, answer.headers["allow"]) == (204, "POST, OPTIONS")
        assert not [name for name in answer.headers if name.startswith("access")]


def test_requests_of_a_connection_are_processed_in_order(start: Start, port: int) -> None:
    _, rows = start(app(port))
    request = "POST /s HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n{}"
    bodies = [f'{{"s": "a", "v": {number}}}' for number in range(300)]
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as connection:
        connection.sendall("".join(request.format(len(body), body) for body in bodies).encode())
        received = b""
        while received.count(b"HTTP/1.1 200 OK") < 300:
            received += connection.recv(65536)
    assert [row[1] for row in rows] == list(range(300))


def test_with_ack_received_a_request_is_answered_at_once(manager: SiddhiManager, port: int) -> None:
    runtime = manager.create_siddhi_app_runtime(app(port, "ack = 'received'"))
    go, rows = threading.Event(), []
    runtime.add_callback("S", lambda events: (go.wait(WAIT), rows.extend(events)))
    runtime.start()
    assert post(port, "/s", ROW).status == 202
    assert rows == []
    go.set()
    wait_for(lambda: rows)


# --- properties, charsets, codings


def test_properties_are_headers_and_query_parameters(start: Start, port: int) -> None:
    names = {"s": "trp:X-Kind", "v": "$.v", "q": "trp:_a b", "to": "trp:TO", "none": "trp:nothing", "two": "trp:two"}
    mapped = (
        ", fail.on.missing.attribute = 'false', @attributes("
        + ", ".join(f"{name} = '{value}'" for name, value in names.items())
        + ")"
    )
    _, rows = start(app(port, mapped=mapped, attributes="s string, v long, q string, to string, none string, two int"))
    assert post(port, "/s?x=1&a%20b=%C3%A9+1", '{"v": 1}', x_kind="é".encode().decode("latin-1"), two="2").status == 200
    assert rows == [("é", 1, "é 1", "/s?x=1&a%20b=%C3%A9+1", None, 2)]


def test_the_charset_of_the_content_type_is_used(start: Start, port: int) -> None:
    _, rows = start(app(port))
    kind = "application/json; charset="
    assert post(port, "/s", '{"s": "é", "v": 1}'.encode("latin-1"), content_type=kind + "ISO-8859-1").status == 200
    assert post(port, "/s", '{"s": "é", "v": 1}'.encode("utf-16"), content_type=kind + '"utf-16"').status == 200
    assert post(port, "/s", '{"s": "é", "v": 1}', content_type="application/json").status == 200
    assert post(port, "/s", ROW, content_type=kind + "no-such").status == 415
    assert post(port, "/s", b"\xff", content_type=kind + "utf-16").status == 400
    assert rows == [("é", 1)] * 3


def test_texts_have_unix_line_ends(start: Start, port: int) -> None:
    _, rows = start(
        app(port, mapper="text", mapped=", regex.A = '(?s)(.*)', @attributes(s = 'A')", attributes="s string")
    )
    assert post(port, "/s", "a\r\nb").status == 200
    assert rows == [("a\nb",)]


def test_forms_are_read_by_the_keyvalue_mapper(start: Start, port: int) -> None:
    _, rows = start(app(port, mapper="keyvalue", mapped=", implicit.cast.enable = 'true'"))
    assert post(port, "/s", "&s=a%26b&v=1").status == 200
    assert post(port, "/s", "nothing").status == 400
    assert rows == [("a&b", 1)]


@pytest.mark.parametrize("coding", ["gzip", "deflate", "identity"])
def test_compressed_bodies_are_read(start: Start, port: int, coding: str) -> None:
    _, rows = start(app(port))
    body = {"gzip": gzip.compress, "deflate": zlib.compress, "identity": bytes}[coding](ROW.encode())
    assert post(port, "/s", body, content_encoding=coding).status == 200
    assert rows == [("a", 1)]


def test_bad_compressed_bodies_are_refused(start: Start, port: int) -> None:
    start(app(port, "max.body.bytes = '100000'"))
    bomb = gzip.compress(b" " * 50_000_000)
    assert post(port, "/s", bomb, content_encoding="gzip").status == 413
    assert post(port, "/s", gzip.compress(ROW.encode())[:-9], content_encoding="gzip").status == 400
    assert post(port, "/s", b"abc", content_encoding="gzip").status == 400
    assert post(port, "/s", b"abc", content_encoding="br").status == 415
    assert post(port, "/s", ROW).status == 200


# --- limits and back-pressure


def test_large_bodies_are_refused(start: Start, port: int) -> None:
    _, rows = start(app(port, "max.body.bytes = '50'"))
    assert post(port, "/s", ROW + " " * (50 - len(ROW))).status == 200
    assert post(port, "/s", ROW + " " * (51 - len(ROW))).status == 413
    assert len(rows) == 1


def test_limits_of_siddhi_are_used(start: Start, port: int) -> None:
    size = "'request.size.validation:true','request.size.validation.maximum.value:50'"
    size += ",'request.size.validation.reject.status.code:403','request.size.validation.reject.message:no'"
    header = "'header.size.validation:true','header.validation.maximum.size:500'"
    start(
        app(
            port,
            f'request.size.validation.configurations = "{size}", header.validation.configurations = "{header}"',
        )
    )
    answer = post(port, "/s", "x" * 51)
    assert (answer.status, answer.body) == (403, b"no")
    assert post(port, "/s", ROW, x="a" * 500).status == 431
    assert post(port, "/s", ROW).status == 200


def test_a_full_app_answers_503(manager: SiddhiManager, port: int) -> None:
    runtime = manager.create_siddhi_app_runtime(app(port, "buffer.payloads = '2', buffer.wait = '10'"))
    entered, go, rows = threading.Event(), threading.Event(), []

    def slow(events: list[Any]) -> None:
        entered.set()
        go.wait(WAIT)
        rows.extend(events)

    runtime.add_callback("S", slow)
    runtime.start()
    with connected(port) as first, connected(port) as second, connected(port) as third:
        first.send("POST", "/s", ROW)
        assert entered.wait(WAIT)
        second.send("POST", "/s", ROW)
        [source] = runtime.sources["S"]
        wait_for(lambda: source._waiting)
        answer = third.request("POST", "/s", ROW)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        go.set()
        assert (first.answer().status, second.answer().status) == (200, 200)
        assert third.request("POST", "/s", ROW).status == 200
    assert len(rows) == 3


@pytest.mark.parametrize("ack", ["processed", "received"])
def test_more_requests_than_the_app_has_room_for_wait(start: Start, port: int, ack: str) -> None:
    _, rows = start(app(port, f"buffer.payloads = '2', buffer.wait = '20000', ack = '{ack}'"))
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(port)) for _ in range(50)]
        for turn in range(4):
            for number, client in enumerate(clients):
                client.send("POST", "/s", f'{{"s": "a", "v": {turn * 50 + number}}}')
            assert {client.answer().status for client in clients} == {200 if ack == "processed" else 202}
    wait_for(lambda: len(rows) == 200)
    assert sorted(row[1] for row in rows) == list(range(200))


def test_who_waits_for_room_is_answered_at_shutdown(manager: SiddhiManager, port: int) -> None:
    runtime = manager.create_siddhi_app_runtime(app(port, "buffer.payloads = '1', buffer.wait = '20000'"))
    entered, go = threading.Event(), threading.Event()
    runtime.add_callback("S", lambda _: (entered.set(), go.wait(WAIT)))
    runtime.start()
    [source] = runtime.sources["S"]
    with connected(port) as first, connected(port) as second:
        first.send("POST", "/s", ROW)
        assert entered.wait(WAIT)
        second.send("POST", "/s", ROW)
        wait_for(lambda: source._waits)
        end = threading.Thread(target=runtime.shutdown)
        end.start()
        assert second.answer().status == 503
        go.set()
        assert first.answer().status == 200
        end.join(WAIT)


def test_bodies_in_memory_are_limited(start: Start, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_BUFFERED", 100)
    start(app(port))
    for _ in range(3):  # what was answered is released
        assert post(port, "/s", ROW + " " * (100 - len(ROW))).status == 200
    assert post(port, "/s", ROW + " " * (101 - len(ROW))).status == 503
    assert post(port, "/s", ROW).status == 200


def test_connections_are_limited(start: Start, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MOST_CONNECTIONS", 1)
    start(app(port))
    with connected(port) as first:
        assert first.request("POST", "/s", ROW).status == 200
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as second:
            assert second.recv(100).startswith(b"HTTP/1.1 503 ")
        assert first.request("POST", "/s", ROW).status == 200


# --- access


def basic(user: str, password: str) -> str:
    return "Basic " + b64encode(f"{user}:{password}".encode()).decode()


def test_users_need_their_password(start: Start, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BOB", "'bob:b:2','eve:é'")
    start(
        app(
            port,
            "basic.auth.enabled = 'true', basic.auth.username = 'ada', basic.auth.password = 'secret', "
            "basic.auth.users = 'env:BOB'",
        )
    )
    right = [
        basic("ada", "secret"),
        basic("bob", "b:2"),
        basic("eve", "é"),
        basic("ada", "secret").replace("B", "b", 1),
    ]
    wrong = [
        basic("ada", "secre"),
        basic("bob", "secret"),
        basic("eva", "é"),
        basic("ada", ""),
        "Basic !",
        "Bearer a",
        "",
    ]
    assert [post(port, "/s", ROW, authorization=given).status for given in right] == [200] * len(right)
    assert [post(port, "/s", ROW, authorization=given).status for given in wrong] == [401] * len(wrong)
    answer = post(port, "/s", ROW)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Basic realm="siddhi", charset="UTF-8"')


def test_a_bearer_token_is_checked(start: Start, port: int) -> None:
    _, rows = start(app(port, "bearer.token = 'abc'"))
    assert post(port, "/s", ROW, authorization="Bearer abc").status == 200
    assert [post(port, "/s", ROW, authorization=given).status for given in ("Bearer ab", "abc", "Basic abc")] == [
        401
    ] * 3
    assert rows == [("a", 1)]


def test_who_is_not_allowed_does_not_send_a_body(start: Start, port: int) -> None:
    start(app(port, "bearer.token = 'abc'"))
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as client:
        client.sendall(b"POST /s HTTP/1.1\r\nHost: h\r\nContent-Length: 99\r\nExpect: 100-continue\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 401 ")


# --- life cycle


def test_sources_of_several_apps_share_a_server(start: Start, port: int) -> None:
    first, ones = start("@app:name('A')" + app(port))
    _, twos = start("@app:name('B')" + app(port).replace("/s'", "/t'"))
    with connected(port) as client:
        assert [client.request("POST", path, ROW).status for path in ("/s", "/t")] == [200, 200]
        first.shutdown()
        assert [client.request("POST", path, ROW).status for path in ("/s", "/t")] == [404, 200]
    assert (len(ones), len(twos)) == (1, 2)


def test_a_path_belongs_to_one_source(start: Start, manager: SiddhiManager, port: int) -> None:
    start("@app:name('A')" + app(port))
    second = manager.create_siddhi_app_runtime("@app:name('B')" + app(port))
    with pytest.raises(SiddhiAppCreationError, match="/s' belongs to another connector"):
        second.start()


def test_an_app_starts_again_on_the_same_port(manager: SiddhiManager, port: int) -> None:
    before = set(threading.enumerate())
    for _ in range(3):
        with connected_app(manager, app(port)) as rows:
            assert post(port, "/s", ROW).status == 200
            assert rows == [("a", 1)]
    assert set(threading.enumerate()) == before


class connected_app:  # noqa: N801 - used like a function
    def __init__(self, manager: SiddhiManager, text: str) -> None:
        self.runtime = manager.create_siddhi_app_runtime(text)

    def __enter__(self) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        self.runtime.add_callback("S", lambda events: rows.extend(event.data for event in events))
        self.runtime.start()
        return rows

    def __exit__(self, *_: object) -> None:
        self.runtime.shutdown()


def test_what_was_answered_with_200_is_processed(manager: SiddhiManager, port: int) -> None:
    """Clients send while the app is shut down: every 200 is processed, everything else is refused."""
    runtime = manager.create_siddhi_app_runtime(app(port))
    rows: list[int] = []
    runtime.add_callback("S", lambda events: rows.extend(event.data[1] for event in events))
    runtime.start()
    accepted: list[int] = []
    lock = threading.Lock()

    def send(start: int) -> None:
        number = start
        try:
            with connected(port) as client:
                while True:
                    number += 1
                    status = client.request("POST", "/s", f'{{"s": "a", "v": {number}}}').status
                    assert status in (200, 503, 404)
                    if status == 200:
                        with lock:
                            accepted.append(number)
        except OSError:
            return
        except Exception as error:
            if "Remote end closed" not in str(error) and "BadStatusLine" not in type(error).__name__:
                raise

    clients = [threading.Thread(target=send, args=(index * 1_000_000,)) for index in range(4)]
    for client in clients:
        client.start()
    wait_for(lambda: len(accepted) > 200)
    runtime.shutdown()
    for client in clients:
        client.join(WAIT)
    assert set(accepted) <= set(rows)
    assert len(rows) == len(set(rows))


def test_a_paused_source_answers_after_it_is_resumed(start: Start, port: int) -> None:
    runtime, rows = start(app(port))
    [source] = runtime.sources["S"]
    source.pause()
    with connected(port) as client:
        client.send("POST", "/s", ROW)
        wait_for(lambda: source._waiting)
        assert rows == []
        source.resume()
        assert client.answer().status == 200
    assert rows == [("a", 1)]


def test_the_configuration_sets_host_and_ports(manager: SiddhiManager, port: int) -> None:
    manager.set_config_manager(
        InMemoryConfigManager(extensions={"source.http.default.host": "127.0.0.1", "source.http.http.port": str(port)})
    )
    text = "@app:name('My app') @source(type = 'http', @map(type = 'json')) define stream S (s string, v long);"
    with connected_app(manager, text) as rows:
        assert post(port, "/My%20app/S", ROW).status == 200
    assert rows == [("a", 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("receiver.url = 'ftp://h/s'", "invalid option 'receiver.url'"),
        ("receiver.url = 'http://h:99999/s'", "invalid option 'receiver.url'"),
        ("receiver.url = 'http://h/s?a=1'", "invalid option 'receiver.url'"),
        ("receiver.url = 'https://h/s'", "requires the option 'tls.certificate.file'"),
        ("basic.auth.enabled = 'true'", "needs users"),
        ("basic.auth.username = 'ada'", "need each other"),
        ("basic.auth.users = 'secret'", "invalid option 'basic.auth.users'"),
        ("bearer.token = ' '", "invalid option 'bearer.token'"),
        ("https.keystore.file = 'a.jks'", "tls.certificate.file"),
        (
            "request.size.validation.configurations = \"'a:b'\"",
            "invalid option 'request.size.validation.configurations'",
        ),
        ("worker.count = 'x'", "invalid option 'worker.count'"),
    ],
)
def test_wrong_options_are_refused(manager: SiddhiManager, options: str, message: str) -> None:
    text = f"@source(type = 'http', {options}, @map(type = 'json')) define stream S (v int);"
    with pytest.raises(SiddhiAppCreationError, match=message):
        manager.create_siddhi_app_runtime(text)
