"""Clients and apps for tests of HTTP."""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = ["Answer", "connected", "free_port", "post", "raw", "wait_for"]

WAIT = 30


@dataclass(frozen=True)
class Answer:
    """The answer to a request; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


class Client:
    """A keep-alive connection."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection

    def request(self, method: str, path: str, body: bytes | str | None = None, **headers: str) -> Answer:
        self.send(method, path, body, **headers)
        return self.answer()

    def send(self, method: str, path: str, body: bytes | str | None = None, **headers: str) -> None:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        self.connection.request(method, path, body.encode() if isinstance(body, str) else body, given)

    def answer(self) -> Answer:
        found = self.connection.getresponse()
        body = found.read()
        return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, body)


@contextmanager
def connected(port: int, tls: ssl.SSLContext | None = None) -> Iterator[Client]:
    """Connect to a server on this computer."""
    connection = (
        http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT)
        if tls is None
        else http.client.HTTPSConnection("localhost", port, timeout=WAIT, context=tls)
    )
    try:
        connection.connect()
        yield Client(connection)
    finally:
        connection.close()


def post(port: int, path: str, body: bytes | str | None, **headers: str) -> Answer:
    """Send one request on a connection of its own."""
    with connected(port) as client:
        return client.request("POST", path, body, **headers)


def raw(port: int, sent: bytes, *, ends: bool = False) -> list[int]:
    """Send bytes, and return the status codes of all answers until the server closes the connection.

    Args:
        port: port of the server.
        sent: the bytes.
        ends: whether to close the sending side afterwards.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as connection:
        connection.sendall(sent)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while data := connection.recv(65536):
            received += data
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]
