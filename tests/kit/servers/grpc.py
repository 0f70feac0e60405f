"""A gRPC server and client for tests: the event service, and methods of bytes. They use threads, not an event loop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("grpc")

import grpc

from siddhi.io.grpc.messages import EVENT_SERVICE, EventFormat

__all__ = ["Calls", "EventServer"]

WAIT = 30
Event = tuple[str | bytes, dict[str, str]]


class Calls:
    """Calls methods of a server."""

    def __init__(self, port: int, credentials: Any = None) -> None:
        target = f"localhost:{port}" if credentials is not None else f"127.0.0.1:{port}"
        self.channel = (
            grpc.insecure_channel(target) if credentials is None else grpc.secure_channel(target, credentials)
        )

    def __enter__(self) -> Calls:
        return self

    def __exit__(self, *_: object) -> None:
        self.channel.close()

    def process(self, payload: str, metadata: Any = (), **headers: str) -> Event:
        method = self.channel.unary_unary(f"/{EVENT_SERVICE}/process")
        message = EventFormat().encode(payload, {name.replace("_", "."): text for name, text in headers.items()})
        return EventFormat().decode(method(message, timeout=WAIT, metadata=metadata, wait_for_ready=True))

    def consume(self, *payloads: str, metadata: Any = (), **headers: str) -> bytes:
        method = self.channel.stream_unary(f"/{EVENT_SERVICE}/consume")
        texts = {name.replace("_", "."): text for name, text in headers.items()}
        messages = iter([EventFormat().encode(payload, texts) for payload in payloads])
        answer: bytes = method(messages, timeout=WAIT, metadata=metadata, wait_for_ready=True)
        return answer


class EventServer:
    """The event service; stopping and starting keeps the port.

    Attributes:
        received: payload and headers of the messages.
        metadata: metadata of the last call.
        respond: returns the answer to a message of ``process``.
        refuses: the status of all calls; None: they are served.
    """

    def __init__(self, credentials: Any = None) -> None:
        self._credentials = credentials
        self._server: Any = None
        self.port = 0
        self.received: list[Event] = []
        self.raw: list[bytes] = []
        self.metadata: dict[str, str] = {}
        self.respond: Callable[[str], str] = str.upper
        self.refuses: Any = None
        self.go = threading.Event()
        self.go.set()

    def start(self) -> EventServer:
        self._server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
        methods = {
            "process": grpc.unary_unary_rpc_method_handler(self._process),
            "consume": grpc.stream_unary_rpc_method_handler(self._consume),
        }
        raw = {"Raw": grpc.unary_unary_rpc_method_handler(self._raw)}
        self._server.add_generic_rpc_handlers(
            [
                grpc.method_handlers_generic_handler(EVENT_SERVICE, methods),
                grpc.method_handlers_generic_handler("a.b.Own", raw),
            ]
        )
        address = f"127.0.0.1:{self.port}"
        if self._credentials is None:
            self.port = self._server.add_insecure_port(address)
        else:
            self.port = self._server.add_secure_port(address, self._credentials)
        self._server.start()
        return self

    def stop(self) -> None:
        self._server.stop(None).wait(WAIT)

    def _check(self, context: Any) -> None:
        self.metadata = dict(context.invocation_metadata())
        if self.refuses is not None:
            context.abort(self.refuses, "refused by the test")

    def _process(self, message: bytes, context: Any) -> bytes:
        self._check(context)
        self.go.wait(WAIT)
        payload, headers = EventFormat().decode(message)
        self.received.append((payload, headers))
        return EventFormat().encode(self.respond(str(payload)), {"from": "server"})

    def _consume(self, messages: Iterator[bytes], context: Any) -> bytes:
        self._check(context)
        try:
            for message in messages:
                self.received.append(EventFormat().decode(message))
        except grpc.RpcError:
            pass  # the connection is lost
        return b""

    def _raw(self, message: bytes, context: Any) -> bytes:
        self._check(context)
        self.raw.append(message)
        return message
