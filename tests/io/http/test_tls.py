"""TLS of the server: certificates of both sides, shared servers."""

from __future__ import annotations

import http.client
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from siddhi import SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppCreationError
from siddhi.io.http import server
from tests.kit.certificates import Certificates
from tests.kit.http import WAIT, connected

Start = Callable[..., tuple[SiddhiAppRuntime, list[tuple[Any, ...]]]]

ROW = '{"v": 1}'


def app(port: int, options: str, path: str = "/s", scheme: str = "https") -> str:
    return (
        f"@source(type = 'http', receiver.url = '{scheme}://127.0.0.1:{port}{path}', {options}, @map(type = 'json')) "
        "define stream S (v long);"
    )


def client_tls(certificates: Certificates, *, with_certificate: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(certificates.authority))
    if with_certificate:
        context.load_cert_chain(certificates.client)
    return context


def test_requests_are_encrypted(start: Start, port: int, certificates: Certificates) -> None:
    _, rows = start(app(port, f"tls.certificate.file = '{certificates.server}'"))
    with connected(port, client_tls(certificates)) as client:
        assert client.request("POST", "/s", ROW).status == 200
        assert client.request("POST", "/s", "{").status == 400
        assert client.request("POST", "/s", ROW).status == 200
    assert rows == [(1,), (1,)]


@pytest.mark.parametrize(
    ("verify", "with_certificate", "accepted"),
    [
        ("require", True, True),
        ("require", False, False),
        ("optional", False, True),
        (None, False, False),
        (None, True, True),
    ],
)
def test_clients_need_a_certificate(
    start: Start, port: int, certificates: Certificates, verify: str | None, with_certificate: bool, accepted: bool
) -> None:
    options = f"tls.certificate.file = '{certificates.server}', tls.ca.file = '{certificates.authority}'"
    _, rows = start(app(port, options + (f", ssl.verify.client = '{verify}'" if verify else "")))
    try:
        with connected(port, client_tls(certificates, with_certificate=with_certificate)) as client:
            status = client.request("POST", "/s", ROW).status
    except (OSError, http.client.HTTPException):
        status = 0
    assert (status, len(rows)) == ((200, 1) if accepted else (0, 0))


def test_a_refused_request_is_answered_with_tls(start: Start, port: int, certificates: Certificates) -> None:
    start(app(port, f"tls.certificate.file = '{certificates.server}', max.body.bytes = '10'"))
    with connected(port, client_tls(certificates)) as client:
        assert client.request("POST", "/s", "x" * 1_000).status == 413


def test_who_does_not_speak_tls_is_disconnected(
    start: Start, port: int, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(app(port, f"tls.certificate.file = '{certificates.server}'"))
    with monkeypatch.context() as limited:  # the client with TLS has the time of a loaded machine
        limited.setattr(server, "HEADER_SECONDS", 0.2)
        for sent in (b"", b"POST /s HTTP/1.1\r\nHost: h\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as client:
                client.sendall(sent)
                with suppress(ConnectionResetError):
                    assert not client.recv(1000).startswith(b"HTTP")
    with connected(port, client_tls(certificates)) as client:
        assert client.request("POST", "/s", ROW).status == 200


def test_sources_with_the_same_tls_share_a_server(
    start: Start, manager: SiddhiManager, port: int, certificates: Certificates
) -> None:
    options = f"tls.certificate.file = '{certificates.server}'"
    start("@app:name('A')" + app(port, options))
    start("@app:name('B')" + app(port, options, "/t"))
    with connected(port, client_tls(certificates)) as client:
        assert [client.request("POST", path, ROW).status for path in ("/s", "/t")] == [200, 200]
    for other in (
        app(port, options + ", ssl.protocol = 'TLSv1.3'", "/u"),
        app(port, "worker.count = '1'", "/u", "http"),
    ):
        runtime = manager.create_siddhi_app_runtime("@app:name('C')" + other)
        with pytest.raises(SiddhiAppCreationError, match="other TLS settings"):
            runtime.start()
        runtime.shutdown()


@pytest.mark.parametrize(
    ("options", "scheme", "message"),
    [
        ("tls.certificate.file = '{server}'", "http", "invalid option 'receiver.url'"),
        ("tls.ca.file = '{server}'", "http", "invalid option 'tls.ca.file'"),
        ("ssl.verify.client = 'require'", "http", "invalid option 'ssl.verify.client'"),
        ("tls.certificate.file = '/no/such.pem'", "https", "invalid option 'tls.certificate.file'"),
        (
            "tls.certificate.file = '{server}', ssl.verify.client = 'require'",
            "https",
            "invalid option 'ssl.verify.client'",
        ),
        (
            "tls.certificate.file = '{server}', ssl.verify.client = 'maybe'",
            "https",
            "invalid option 'ssl.verify.client'",
        ),
    ],
)
def test_wrong_options_are_refused(
    manager: SiddhiManager, certificates: Certificates, options: str, scheme: str, message: str
) -> None:
    with pytest.raises(SiddhiAppCreationError, match=message):
        manager.create_siddhi_app_runtime(app(1, options.format(server=certificates.server), scheme=scheme))
