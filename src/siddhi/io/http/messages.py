"""Requests that a server received, and the texts of responses."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from email.utils import formatdate
from http import HTTPStatus
from typing import Protocol
from urllib.parse import parse_qsl, unquote

__all__ = ["Client", "Endpoint", "Header", "Request", "header_text", "path_of", "response_head"]

Header = tuple[bytes, bytes]


class Client(Protocol):
    """The connection that a request came from. Used on the event loop only."""

    peer: str

    def answer(self, request: Request, status: int, body: bytes, headers: Sequence[Header]) -> None:
        """Answer a request."""

    def stream(self, request: Request, headers: Sequence[Header], ended: Callable[[], None]) -> bool:
        """Begin an answer without end, whose parts :meth:`send` sends. False: the client has left.

        Args:
            request: the request.
            headers: headers of the answer.
            ended: called when the connection is lost.
        """

    def send(self, data: bytes) -> bool:
        """Send a part of an answer without end. False: the client does not read, or has left."""

    def end_stream(self) -> None:
        """Close the connection once the client has read what was sent."""

    def abort(self) -> None:
        """Close the connection now."""


class Endpoint(Protocol):
    """Handles the requests to one path of a server.

    Attributes:
        methods: methods that it handles; others are answered with 405.
        most_bytes: bytes of the largest body.
        too_large: status and text of the answer to a larger one.
        most_header_bytes: bytes of the largest request line with its headers.
        header_too_large: status and text of the answer to larger ones.
        origins: value of ``Access-Control-Allow-Origin``; None: browsers are not allowed.
        needs_body: whether a request without a body is answered with 400.
    """

    methods: tuple[str, ...]
    most_bytes: int
    too_large: tuple[int, str]
    most_header_bytes: int
    header_too_large: tuple[int, str]
    origins: str | None
    needs_body: bool

    def refuse(self, request: Request) -> tuple[int, str, tuple[Header, ...]] | None:
        """Return status, text and headers of the answer to a request that is not allowed, such as 401; None: it is allowed.

        Called before the body is read.
        """

    def handle(self, request: Request) -> None:
        """Handle a request; call its :meth:`Request.reply` once, now or later, on the event loop."""


class Request:
    """A request, and the way to answer it.

    Attributes:
        id: identifier of a request whose answer comes from another stream; else empty.
        method: such as ``POST``.
        target: path and query, as sent.
        path: the path, decoded.
        headers: names in lower case, and values.
        body: the body, decoded from gzip.
        client: the connection that it came from.
        endpoint: whom the path belongs to; None: no endpoint.
        left: called if the client leaves before the answer.
    """

    __slots__ = ("_query", "body", "client", "endpoint", "headers", "id", "left", "method", "path", "target")

    def __init__(self, client: Client) -> None:
        self.client = client
        self.id = ""
        self.method = ""
        self.target = b""
        self.path = ""
        self.headers: list[Header] = []
        self.body = b""
        self.endpoint: Endpoint | None = None
        self.left: Callable[[], None] | None = None
        self._query: dict[str, str] | None = None

    def header(self, name: bytes) -> str | None:
        """Return the value of a header by its name in lower case; several are joined by commas; None: there is none."""
        found = [value for key, value in self.headers if key == name]
        if not found:
            return None
        return header_text(found[0] if len(found) == 1 else b", ".join(found))

    def parameter(self, name: str) -> str | None:
        """Return the first value of a query parameter; None: there is none."""
        if self._query is None:
            self._query = {}
            query = self.target.partition(b"?")[2].decode("latin-1")
            for key, value in parse_qsl(query, keep_blank_values=True, errors="replace"):
                self._query.setdefault(key, value)
        return self._query.get(name)

    def reply(self, status: int, body: bytes | str = b"", headers: Sequence[Header] = ()) -> None:
        """Answer the request; a text is sent as text/plain. On the event loop only; a second answer is ignored."""
        if isinstance(body, str):
            body = body.encode()
            headers = (*headers, (b"Content-Type", b"text/plain; charset=utf-8"))
        self.client.answer(self, status, body, headers)


def header_text(value: bytes) -> str:
    """Return the text of a header's value: UTF-8, or Latin-1 if it is none."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def path_of(target: bytes) -> str | None:
    """Return the decoded path of a request target; None: it has none."""
    text = target.partition(b"?")[0].decode("latin-1")
    if not text.startswith("/"):
        scheme, colon, rest = text.partition("://")
        if not colon or scheme.lower() not in ("http", "https"):
            return None
        text = "/" + rest.partition("/")[2]
    return unquote(text, errors="strict") if "%" in text else text


_STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus if status >= 200
}


class _Date:
    """The header ``Date``, made once a second."""

    def __init__(self) -> None:
        self._second = 0
        self._line = b""

    def line(self) -> bytes:
        now = int(time.time())
        if now != self._second:
            self._second = now
            self._line = f"Date: {formatdate(now, usegmt=True)}\r\n".encode()
        return self._line


_DATE = _Date()


def response_head(status: int, length: int | None, headers: Iterable[Header]) -> bytes:
    """Return status line and headers of a response, and the empty line.

    Args:
        status: the status code.
        length: bytes of the body; None: they are not known, or it has none by its status.
        headers: more headers.
    """
    line = _STATUS_LINES.get(status) or f"HTTP/1.1 {status} Status\r\n".encode()
    parts = [line, _DATE.line()]
    if length is not None and status != 204:
        parts.append(b"Content-Length: %d\r\n" % length)
    parts.extend(b"%s: %s\r\n" % header for header in headers)
    parts.append(b"\r\n")
    return b"".join(parts)
