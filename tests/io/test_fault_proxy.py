"""The proxy of the fault tests does what it says."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.kit.proxy import FaultProxy

WAIT = 30


@pytest.fixture
def echo() -> Iterator[int]:
    """The port of a server that sends back what it gets."""
    server = socket.create_server(("127.0.0.1", 0))
    threads = []

    def serve(client: socket.socket) -> None:
        with client, suppress(OSError):
            while content := client.recv(4096):
                client.sendall(content)

    def listen() -> None:
        with suppress(OSError):
            while True:
                thread = threading.Thread(target=serve, args=(server.accept()[0],))
                thread.start()
                threads.append(thread)

    listener = threading.Thread(target=listen)
    listener.start()
    yield server.getsockname()[1]
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    for thread in (listener, *threads):
        thread.join(WAIT)


@pytest.fixture
def proxy(echo: int) -> Iterator[FaultProxy]:
    with FaultProxy(echo) as made:
        yield made


def connected(proxy: FaultProxy) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT)
    client.sendall(b"hello")
    assert client.recv(5, socket.MSG_WAITALL) == b"hello"
    return client


def test_dropped_connections_are_reset_and_new_ones_work(proxy: FaultProxy) -> None:
    with connected(proxy) as client:
        assert proxy.drop() == 1
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    connected(proxy).close()
    assert proxy.connected == 2


def test_a_drop_can_come_within_a_message(proxy: FaultProxy) -> None:
    with connected(proxy) as client:
        proxy.drop_after(3)
        client.sendall(b"hello")
        with pytest.raises(ConnectionResetError):
            client.recv(5, socket.MSG_WAITALL)
    connected(proxy).close()


def test_a_stalled_connection_loses_nothing(proxy: FaultProxy) -> None:
    with connected(proxy) as client:
        proxy.stall()
        client.sendall(b"later")
        client.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.recv(1)
        client.settimeout(WAIT)
        proxy.flow()
        assert client.recv(5, socket.MSG_WAITALL) == b"later"


def test_half_closed_connections_end_for_the_client(proxy: FaultProxy) -> None:
    with connected(proxy) as client:
        proxy.half_close()
        assert client.recv(1) == b""
        client.sendall(b"more")


def test_refused_clients_can_connect_after_accept(proxy: FaultProxy) -> None:
    with connected(proxy) as client:
        proxy.refuse()
        with pytest.raises(ConnectionResetError):
            client.recv(1)
    with pytest.raises(ConnectionRefusedError):
        connected(proxy)
    proxy.accept()
    connected(proxy).close()
