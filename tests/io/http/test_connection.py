"""Connections of a server: requests that could be understood in two ways, slow clients, half-closed and upgraded ones."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from siddhi import SiddhiAppRuntime
from siddhi.io.http import connection, server
from tests.kit.http import WAIT, connected, post, raw, wait_for

Start = Callable[..., tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]]

ROW = b'{"v":1}'
HEAD = b"POST /s HTTP/1.1\r\nHost: h\r\n"
GOOD = HEAD + b"Content-Length: 7\r\n\r\n" + ROW


@pytest.fixture
def rows(start: Start, port: int) -> list[tuple[Any, ...]]:
    _, found = start(
        f"@source(type = 'http', receiver.url = 'http://127.0.0.1:{port}/s', @map(type = 'json')) "
        "define stream S (v long);"
    )
    return found


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n7\r\n" + ROW + b"\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (HEAD + b"Content-Length: 7\r\n" + CHUNKED, 400),
        (HEAD + b"Transfer-Encoding: chunked\r\nContent-Length: 7\r\n\r\n" + ROW, 400),
        (HEAD + b"Content-Length: 7\r\nContent-Length: 7\r\n\r\n" + ROW, 400),
        (HEAD + b"Content-Length: 7\r\nContent-Length: 1\r\n\r\n" + ROW, 400),
        (HEAD + b"Content-Length: +7\r\n\r\n" + ROW, 400),
        (HEAD + b"Content-Length: 7, 7\r\n\r\n" + ROW, 400),
        (HEAD + b"Content-Length : 7\r\n\r\n" + ROW, 400),
        (HEAD + b"Content-Length: 99999999999999999999\r\n\r\n" + ROW, 400),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501),
        (HEAD + b"Transfer-Encoding: identity\r\n" + CHUNKED, 501),
        (HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501),
        (b"POST /s HTTP/1.0\r\n" + CHUNKED, 501),
        (HEAD + b"X: a\r\n Content-Length: 7\r\n\r\n" + ROW, 400),
        (HEAD + b"X: a\0b\r\nContent-Length: 7\r\n\r\n" + ROW, 400),
        (GOOD.replace(b"\r\n", b"\n"), 400),
        (HEAD + b"Host: i\r\nContent-Length: 7\r\n\r\n" + ROW, 400),
        (b"POST /s HTTP/1.1\r\nContent-Length: 7\r\n\r\n" + ROW, 400),
        (GOOD.replace(b"1.1", b"1.2"), 400),
        (GOOD.replace(b"/s", b"s"), 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n7\r\n" + ROW + b"x\r\n0\r\n\r\n", 400),
        (HEAD + b"Expect: wonders\r\nContent-Length: 7\r\n\r\n" + ROW, 417),
        (b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 405),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", 400),
        (HEAD + b"X: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (HEAD + b"A: b\r\n" * 20_000 + b"\r\n", 431),
        (b"POST /" + b"s" * 70_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n", 431),
        (HEAD + b"Content-Length: 999999999\r\n\r\n", 413),
    ],
)
def test_unclear_requests_are_refused(rows: list[Any], port: int, sent: bytes, status: int) -> None:
    assert raw(port, sent + GOOD) == [status]  # and what follows is not read
    assert rows == []


def test_a_refused_request_is_answered_after_those_before_it(rows: list[Any], port: int) -> None:
    assert raw(port, GOOD + GOOD + b"nonsense\r\n\r\n" + GOOD) == [200, 200, 400]
    assert rows == [(1,), (1,)]


def test_chunked_bodies_are_read(rows: list[Any], port: int) -> None:
    pieces = b"".join(b"1;x=y\r\n%c\r\n" % byte for byte in ROW)
    assert raw(
        port, HEAD + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\nA: b\r\n\r\n"
    ) == [200]
    assert rows == [(1,)]


def test_a_chunked_body_is_limited(start: Start, port: int) -> None:
    start(
        f"@source(type = 'http', receiver.url = 'http://127.0.0.1:{port}/s', max.body.bytes = '1000', @map(type = 'json')) "
        "define stream S (v long);"
    )
    assert raw(port, HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + (b"64\r\n" + b" " * 100 + b"\r\n") * 11) == [413]


def test_old_clients_are_answered(rows: list[Any], port: int) -> None:
    body = b"Content-Length: 7\r\n\r\n" + ROW
    assert raw(port, b"POST /s HTTP/1.0\r\n" + body) == [200]
    assert (
        raw(port, b"POST /s HTTP/1.0\r\nConnection: keep-alive\r\n" + body + b"POST /s HTTP/1.0\r\n" + body)
        == [200] * 2
    )
    assert raw(port, HEAD + b"Connection: close\r\n" + body + GOOD) == [200]
    assert len(rows) == 4


def test_the_absolute_form_of_a_target_is_understood(rows: list[Any], port: int) -> None:
    assert raw(port, GOOD.replace(b"/s", b"http://h/s"), ends=True) == [200]
    assert raw(port, GOOD.replace(b"/s", b"http://h"), ends=True) == [404]
    assert raw(port, GOOD.replace(b"/s", b"/%ff"), ends=True) == [400]


def test_a_client_may_close_its_side_and_read_the_answer(rows: list[Any], port: int) -> None:
    assert raw(port, GOOD + GOOD, ends=True) == [200, 200]
    assert raw(port, GOOD[:-1], ends=True) == []
    assert len(rows) == 2


def test_a_request_for_another_protocol_is_answered_with_http_1(rows: list[Any], port: int) -> None:
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
    last = GOOD.replace(b"Host", b"Connection: close\r\nHost")
    assert raw(port, HEAD + upgrade + b"Content-Length: 7\r\n\r\n" + ROW + last) == [200, 200]
    assert raw(port, HEAD + upgrade + CHUNKED + last) == [200, 200]
    assert raw(port, HEAD.replace(b"POST", b"GET") + upgrade + b"\r\n" + last) == [405, 200]
    assert len(rows) == 5
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as client:
        for byte in HEAD + upgrade + b"Content-Length: 7\r\n\r\n" + ROW:
            client.sendall(bytes([byte]))
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")


def test_who_expects_it_is_told_to_continue(rows: list[Any], port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as client:
        client.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: 7\r\n\r\n")
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(ROW)
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "sent", [b"", b"P", HEAD, HEAD + b"Content-Length: 99\r\n\r\n", HEAD + b"Content-Length: 99\r\n\r\n{"]
)
def test_a_slow_client_is_disconnected(
    rows: list[Any], port: int, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HEADER_SECONDS", "REQUEST_SECONDS"):
        monkeypatch.setattr(connection, name, 0.3)
    monkeypatch.setattr(connection, "_LINGER_SECONDS", 0.1)
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as slow:
        slow.sendall(sent)
        assert post(port, "/s", ROW).status == 200  # it holds nobody up
        if not sent:
            return
        received, sending = b"", True
        slow.settimeout(0.05)
        for byte in b"x" * 1000:  # one byte now and then does not help
            try:
                if sending and not received:
                    slow.sendall(bytes([byte]))
                data = slow.recv(1000)
            except TimeoutError:
                continue
            except OSError:
                break
            received += data
            if not data:
                break
        assert received.startswith(b"HTTP/1.1 4")
    assert rows == [(1,)]


def test_idle_connections_are_closed(start: Start, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_CHECK_SECONDS", 0.01)
    start(
        f"@source(type = 'http', receiver.url = 'http://127.0.0.1:{port}/s', socket.idle.timeout = '50', "
        "@map(type = 'json')) define stream S (v long);"
    )
    with connected(port) as client:
        assert client.request("POST", "/s", ROW).status == 200
        client.connection.sock.settimeout(WAIT)
        assert client.connection.sock.recv(1) == b""


def test_a_client_that_reads_no_answers_is_read_no_more(
    rows: list[Any], port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "WRITING_SECONDS", 0.2)
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as client:
        started = time.monotonic()
        with suppress(OSError):
            while time.monotonic() - started < WAIT:
                client.sendall(b"GET /s HTTP/1.1\r\nHost: h\r\n\r\n" * 1000)
        assert time.monotonic() - started < WAIT  # the connection was reset
    assert post(port, "/s", ROW).status == 200


def test_a_client_that_leaves_does_no_harm(rows: list[Any], port: int) -> None:
    for cut in range(1, len(GOOD), 7):
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as client:
            client.sendall(GOOD + GOOD[:cut])
    assert post(port, "/s", ROW).status == 200
    wait_for(lambda: len(rows) == len(range(1, len(GOOD), 7)) + 1)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 400), max_size=12), count=st.integers(1, 5))
def test_requests_can_be_cut_anywhere(rows: list[Any], port: int, cuts: list[int], count: int) -> None:
    rows.clear()
    requests = [GOOD, HEAD + CHUNKED] * count
    content = b"".join(requests) + GOOD.replace(b"Host", b"Connection: close\r\nHost")
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(content)]):
            client.sendall(content[start:end])
        received = b""
        while data := client.recv(65536):
            received += data
    assert received.count(b"HTTP/1.1 200 OK") == len(requests) + 1
    assert len(rows) == len(requests) + 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=60), st.integers(0, len(GOOD)), st.integers(0, 30))
def test_hostile_bytes_are_answered_or_closed(rows: list[Any], port: int, junk: bytes, at: int, skip: int) -> None:
    statuses = raw(port, GOOD[:at] + junk + GOOD[at + skip :], ends=True)
    assert set(statuses) <= {200, 204, 400, 404, 405, 413, 415, 417, 431, 501, 505, 503}
