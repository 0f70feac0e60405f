"""One connection of a server: its requests one after the other, within limits of size and time.

A request is refused, and its connection closed, if two readers could understand its length or its end differently:
httptools (llhttp in its strict mode) refuses both ``Content-Length`` and ``Transfer-Encoding``, repeated lengths, line ends
other than CR LF, folded headers and unknown characters. Beyond that, ``Transfer-Encoding`` must be ``chunked`` and of
HTTP/1.1, and there is exactly one ``Host``.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import httptools

from siddhi.io.http.messages import Endpoint, Header, Request, path_of, response_head

if TYPE_CHECKING:
    from typing import Any

__all__ = ["Connection", "Listener"]

logger = logging.getLogger("siddhi")

MOST_HEADER_BYTES = 64 * 1024
"""Bytes of the largest request line with its headers."""
HEADER_SECONDS = 10.0
"""Maximum time from the first byte of a request to the end of its headers."""
REQUEST_SECONDS = 60.0
"""Maximum time from the first byte of a request to the end of its body."""
WRITING_SECONDS = 30.0
"""Maximum time that a client reads nothing of its answers."""
MOST_STREAM_BYTES = 1024 * 1024
"""Bytes that a client of an answer without end may have not read yet."""
_LINGER_SECONDS = 2.0
"""Time that bytes of a refused request are read and thrown away, so that its client gets the answer before a reset."""
_MOST_PIPELINED = 16
"""Number of requests of a connection that wait for those before them; then it is read no more."""

_OK = b"Content-Length: 0\r\n\r\n"


class Listener(Protocol):
    """The server of a connection."""

    idle_seconds: float
    is_closing: bool

    def endpoint(self, path: str) -> Endpoint | None:
        """Return whom a path belongs to."""

    def add(self, connection: Connection) -> bool:
        """Count a connection; False: there are too many."""

    def remove(self, connection: Connection) -> None:
        """Forget a connection."""

    def reserve(self, size: int) -> bool:
        """Count bytes of bodies in memory; negative: they are released. False: there are too many."""


class Connection(asyncio.Protocol):
    """A connection of a client."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport | None = None
        self.peer = ""
        self._active = self._loop.time()  # when the last bytes arrived or were answered
        self._started: float | None = None  # when the request that is being read began
        self._head_size = 0
        self._in_head = True
        self._request: Request | None = None  # the one that is being read
        self._body: list[bytes] = []
        self._size = 0  # bytes of the body
        self._reserved = 0
        self._refusal: tuple[int, str, Sequence[Header]] | None = None
        self._resuming = False
        self._refused = False  # no further request is read
        self._ended = False  # the client sends no more
        self._keeps = True
        self._pending: deque[tuple[Request, int, bool]] = deque()  # to be answered: request, reserved bytes, keep-alive
        self._handling: Request | None = None  # the first of these, while it is handled
        self._reading = True
        self._blocked: float | None = None  # since when the client reads nothing
        self._lingering: float | None = None
        self._stream: Callable[[], None] | None = None

    # --- asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        address = transport.get_extra_info("peername")
        self.peer = str(address[0]) if address else ""
        if not self._listener.add(self):
            transport.write(response_head(503, 0, ((b"Retry-After", b"1"), (b"Connection", b"close"))))
            transport.close()
            self._lingering = self._active

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._listener.remove(self)
        self._listener.reserve(-self._reserved)
        for request, reserved, _ in self._pending:
            self._listener.reserve(-reserved)
            if request.left is not None:
                request.left()
        self._pending.clear()
        self._handling = self._request = None
        if self._stream is not None:
            self._stream()

    def pause_writing(self) -> None:
        self._blocked = self._loop.time()

    def resume_writing(self) -> None:
        self._blocked = None
        self._active = self._loop.time()
        self._next()

    def eof_received(self) -> bool:
        # A client may close its side once it has sent a request, and still read the answer.
        self._ended = True
        return bool(self._pending) and self._lingering is None and not self._is_tls

    @property
    def _is_tls(self) -> bool:
        return self._transport is not None and self._transport.get_extra_info("ssl_object") is not None

    def data_received(self, data: bytes) -> None:
        self._active = self._loop.time()
        if self._refused or self._stream is not None:
            return
        if self._in_head:
            if self._started is None:
                self._started = self._active
            self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if isinstance(error, httptools.HttpParserCallbackError) and error.__context__ is not None:
                logger.error("http: a request of %s failed", self.peer, exc_info=error.__context__)
            self._refuse(400, str(error))
        else:
            if self._in_head and self._request is not None and self._head_size > MOST_HEADER_BYTES:
                self._refuse(431, "the headers are too large")

    # --- httptools

    def on_message_begin(self) -> None:
        if self._resuming or self._refused:
            return
        self._request = Request(self)
        self._in_head = True
        if self._started is None:
            self._started = self._active
        self._body = []
        self._size = 0
        self._refusal = None

    def on_url(self, url: bytes) -> None:
        if self._request is not None and not self._resuming:
            self._request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._request is not None and not self._resuming:
            self._request.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        request = self._request
        if request is None or self._resuming:
            return
        self._in_head = False
        self._head_size = 0
        request.method = self._parser.get_method().decode()
        version = self._parser.get_http_version()
        hosts = expects = 0
        length = 0
        coding = None
        size = len(request.target)
        for name, value in request.headers:
            size += len(name) + len(value) + 4
            if name == b"host":
                hosts += 1
            elif name == b"content-length":
                length = int(value)
            elif name == b"transfer-encoding":
                coding = value.lower() if coding is None else b"?"
            elif name == b"expect":
                expects += 1
                if value.lower() != b"100-continue":
                    self._refusal = (417, f"unknown expectation: {value.decode('latin-1')}", ())
        if size > MOST_HEADER_BYTES:
            self._refuse(431, "the headers are too large")
        elif hosts != 1 and not (hosts == 0 and version == "1.0"):
            self._refuse(400, "a request needs exactly one Host")
        elif coding is not None and (coding != b"chunked" or version == "1.0"):
            self._refuse(501, "the only Transfer-Encoding is chunked, of HTTP/1.1")
        elif version not in ("1.1", "1.0"):
            self._refuse(505, "the versions are HTTP/1.1 and HTTP/1.0")
        else:
            self._route(request, size)
            if expects and self._refusal is not None:
                self._refuse(*self._refusal)
            elif length > self._most_bytes:
                self._refuse(*self._too_large)
            elif expects and version == "1.1" and self._transport is not None and not self._pending:
                self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _route(self, request: Request, size: int) -> None:
        """Find the endpoint of a request, and whether it takes it."""
        try:
            path = path_of(request.target)
        except UnicodeDecodeError:
            path = None
        if path is None:
            self._refusal = self._refusal or (400, "the request target has no path", ())
            return
        request.path = path
        endpoint = self._listener.endpoint(path)
        if endpoint is None:
            self._refusal = (404, "there is no such path", ())
            return
        request.endpoint = endpoint
        if size > endpoint.most_header_bytes:
            self._refusal = (*endpoint.header_too_large, ())
        elif request.method == "OPTIONS":
            methods = ", ".join((*endpoint.methods, "OPTIONS")).encode()
            self._refusal = (204, "", ((b"Allow", methods), *_preflight(request, endpoint, methods)))
        elif request.method not in endpoint.methods:
            methods = ", ".join((*endpoint.methods, "OPTIONS")).encode()
            self._refusal = (405, f"the methods are {methods.decode()}", ((b"Allow", methods),))
        else:
            self._refusal = endpoint.refuse(request) or self._refusal

    @property
    def _most_bytes(self) -> int:
        endpoint = None if self._request is None else self._request.endpoint
        return 1024 * 1024 if endpoint is None else endpoint.most_bytes

    @property
    def _too_large(self) -> tuple[int, str]:
        endpoint = None if self._request is None else self._request.endpoint
        return (413, "the body is too large") if endpoint is None else endpoint.too_large

    def on_body(self, data: bytes) -> None:
        if self._request is None:
            return
        self._size += len(data)
        if self._size > self._most_bytes:
            self._refuse(*self._too_large)
        elif self._refusal is None:
            if self._listener.reserve(len(data)):
                self._reserved += len(data)
                self._body.append(data)
            else:
                self._refusal = (503, "too many requests are being received", ((b"Retry-After", b"1"),))
                self._forget_body()

    def _forget_body(self) -> None:
        self._body = []
        self._listener.reserve(-self._reserved)
        self._reserved = 0

    def on_message_complete(self) -> None:
        request = self._request
        if request is None or (self._parser.should_upgrade() and not self._resuming):
            return  # refused, or the body follows: see _ignore_upgrade
        keeps = self._keeps if self._resuming else self._parser.should_keep_alive()
        self._resuming = False
        self._request = self._started = None
        self._in_head = True
        if self._refusal is None and self._body:
            request.body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
            coding = request.header(b"content-encoding")
            if coding is not None and coding.lower() != "identity":
                self._decode(request, coding.lower())
        if self._refusal is None and not request.body and request.endpoint is not None and request.endpoint.needs_body:
            self._refusal = (400, "the request has no body", ())
        refusal, reserved = self._refusal, self._reserved
        self._reserved, self._refusal, self._body = 0, None, []
        if refusal is not None:
            request.endpoint = _Refusing(refusal, request.endpoint)
        self._pending.append((request, reserved, keeps))
        if self._handling is None:
            self._next()
        if len(self._pending) > _MOST_PIPELINED:
            self._read(on=False)

    def _decode(self, request: Request, coding: str) -> None:
        """Decompress a body. One that grows beyond the limit is refused before it does."""
        if coding not in ("gzip", "x-gzip", "deflate"):
            self._refusal = (415, f"unknown Content-Encoding: {coding}", ((b"Accept-Encoding", b"gzip, deflate"),))
            return
        decoder = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        try:
            body = decoder.decompress(request.body, self._most_decoded(request) + 1)
        except zlib.error:
            self._refusal = (400, f"the body is not {coding}", ())
            return
        if len(body) > self._most_decoded(request):
            self._refusal = (*(request.endpoint.too_large if request.endpoint else (413, "too large")), ())
        elif not decoder.eof or decoder.unused_data:
            self._refusal = (400, f"the body is not {coding}", ())
        elif not self._listener.reserve(len(body)):
            self._refusal = (503, "too many requests are being received", ((b"Retry-After", b"1"),))
        else:
            self._reserved += len(body)
            request.body = body

    def _most_decoded(self, request: Request) -> int:
        return 0 if request.endpoint is None else request.endpoint.most_bytes

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Read the body of a request that asks for another protocol, such as h2c: it is answered with HTTP/1.1.

        The parser ends such a request after its headers.
        """
        request = self._request
        if request is None or request.method == "CONNECT":
            self._refuse(405, "CONNECT is not a method of this server")
            return
        kept = (b"content-length", b"transfer-encoding")
        framing = [b"%s: %s\r\n" % header for header in request.headers if header[0] in kept]
        tokens = [token.strip() for token in (request.header(b"connection") or "").lower().split(",")]
        self._keeps = "close" not in tokens
        self._parser = httptools.HttpRequestParser(self)
        self._resuming = True
        self.data_received(b"%s / HTTP/1.1\r\n%s\r\n" % (request.method.encode(), b"".join(framing)) + rest)

    # --- answers

    def _next(self) -> None:
        """Handle the requests that wait, each after the answer to the one before."""
        while self._pending and self._handling is None and self._blocked is None and self._lingering is None:
            request = self._pending[0][0]
            self._handling = request
            endpoint = request.endpoint
            assert endpoint is not None
            try:
                endpoint.handle(request)
            except Exception:
                logger.exception("http: a request to %s failed", request.path)
                request.reply(500, "the request failed: see the log of the app")

    def answer(self, request: Request, status: int, body: bytes, headers: Sequence[Header]) -> None:
        transport = self._transport
        if request is not self._handling or transport is None:
            return
        _, reserved, keeps = self._pending.popleft()
        self._handling = None
        if reserved:
            self._listener.reserve(-reserved)
        self._active = self._loop.time()
        keeps = keeps and not self._listener.is_closing and not (self._ended and not self._pending)
        if not keeps:
            headers = (*headers, (b"Connection", b"close"))
        origins = None if request.endpoint is None else request.endpoint.origins
        if origins is not None and request.header(b"origin") is not None:
            headers = (*headers, (b"Access-Control-Allow-Origin", origins.encode()), (b"Vary", b"Origin"))
        head = response_head(status, len(body), headers)
        transport.write(head if request.method == "HEAD" or status == 204 else head + body)
        if not keeps:
            self._refused = True
            self._linger()
            return
        if not self._reading and len(self._pending) <= _MOST_PIPELINED:
            self._read(on=True)
        if self._pending:
            self._loop.call_soon(self._next)

    def stream(self, request: Request, headers: Sequence[Header], ended: Callable[[], None]) -> bool:
        transport = self._transport
        if request is not self._handling or transport is None:
            return False
        self._stream = ended
        self._pending.clear()
        transport.set_write_buffer_limits(high=MOST_STREAM_BYTES)
        transport.write(response_head(200, None, (*headers, (b"Connection", b"close"))))
        return True

    def send(self, data: bytes) -> bool:
        if self._transport is None or self._blocked is not None:
            return False
        self._transport.write(data)
        return True

    def end_stream(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _refuse(self, status: int, text: str, headers: Sequence[Header] = ()) -> None:
        """Answer the request that is being read, after those before it, and close the connection."""
        if self._refused:
            return
        request = self._request
        if request is None:
            if self._pending and not self._pending[-1][2]:
                return  # bytes after the last request
            request = Request(self)
        self._request = None
        self._refused = True
        self._forget_body()
        endpoint = request.endpoint
        request.endpoint = _Refusing((status, text, headers), endpoint)
        self._pending.append((request, 0, False))
        self._read(on=False)
        self._next()

    def _linger(self) -> None:
        """Close the connection once the client has had time to read the answer."""
        transport = self._transport
        if transport is None:
            return
        self._lingering = self._loop.time()
        if self._started is None or self._is_tls:
            transport.close()
            return
        self._read(on=True)
        if transport.can_write_eof():
            transport.write_eof()

    def _read(self, *, on: bool) -> None:
        if self._transport is not None and on != self._reading and not self._transport.is_closing():
            self._reading = on
            if on:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    # --- limits of time

    def check(self, now: float) -> None:
        """Close the connection if its client is too slow."""
        transport = self._transport
        if transport is None:
            return
        if self._lingering is not None:
            if now - self._lingering > _LINGER_SECONDS:
                transport.abort()
        elif self._blocked is not None:
            if now - self._blocked > WRITING_SECONDS:
                transport.abort()
        elif self._started is not None and now - self._started > (HEADER_SECONDS if self._in_head else REQUEST_SECONDS):
            self._refuse(408, "the request took too long")
        elif (
            not self._pending
            and self._stream is None
            and self._started is None
            and now - self._active > self._listener.idle_seconds
        ):
            transport.close()

    def end(self) -> None:
        """Close the connection after the answers to the requests that it has sent completely."""
        if self._transport is not None and not self._pending:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class _Refusing:
    """The endpoint of a request that is answered before any other sees it."""

    methods: tuple[str, ...] = ()
    most_bytes = most_header_bytes = 0
    too_large = header_too_large = (413, "")
    needs_body = False

    def __init__(self, refusal: tuple[int, str, Sequence[Header]], endpoint: Endpoint | None) -> None:
        self._refusal = refusal
        self.origins = None if endpoint is None else endpoint.origins

    def refuse(self, request: Request) -> Any:
        return self._refusal

    def handle(self, request: Request) -> None:
        status, text, headers = self._refusal
        request.reply(status, text, headers)


def _preflight(request: Request, endpoint: Endpoint, methods: bytes) -> tuple[Header, ...]:
    """Return the headers that tell a browser what it may send."""
    if endpoint.origins is None or request.header(b"origin") is None:
        return ()
    allowed = request.header(b"access-control-request-headers")
    headers: tuple[Header, ...] = (
        (b"Access-Control-Allow-Methods", methods),
        (b"Access-Control-Max-Age", b"86400"),
    )
    return headers if allowed is None else (*headers, (b"Access-Control-Allow-Headers", allowed.encode()))
