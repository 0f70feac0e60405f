"""Client of a WebSocket server: options of the address, and connecting."""

from __future__ import annotations

import ssl
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidHandshake, InvalidURI
from websockets.uri import parse_uri

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.options import OptionHolder
from siddhi.io.tls import client_context
from siddhi.io.websocket.link import Link, NotingClientConnection
from siddhi.io.websocket.options import SessionOptions, headers

__all__ = ["WebSocketClient"]


class _Connect(connect):
    """Follows no redirects: they would take headers with secrets to another server, and leave the allowed locations."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        return exc


class WebSocketClient:
    """Connects to the server of the options.

    Attributes:
        name: the server for messages, without a password in its URL.

    Raises:
        SiddhiAppCreationError: an option is invalid.
    """

    def __init__(self, options: OptionHolder) -> None:
        url = options.static("url").strip()
        try:
            parts = urlsplit(url)
            parse_uri(url)
            self.name = f"{parts.scheme}://{parts.hostname}:{parts.port or (443 if parts.scheme == 'wss' else 80)}"
        except (ValueError, InvalidURI):
            raise options.invalid("url", "ws://host:port/path or wss://host:port/path", shown=False) from None
        self._url = url
        self._headers = headers(options)
        self._session = SessionOptions.of(options)
        self._timeout = options.duration("connection.timeout", "10 sec")
        self._context: ssl.SSLContext | None = None
        if parts.scheme == "wss":
            self._context = client_context(options)
        elif given := next((name for name in options.names if name.lower().startswith("tls.")), None):
            raise options.invalid(given, "a URL that begins with wss:// beside it", shown=False)

    async def connect(self) -> Link:
        """Return a new connection.

        Raises:
            ConnectionUnavailableError, OSError: it can't be reached, or the handshake failed.
        """
        try:
            connection = await _Connect(
                self._url,
                additional_headers=self._headers,
                open_timeout=self._timeout,
                create_connection=NotingClientConnection,
                ssl=self._context,
                **self._session.arguments(),
            )
        except InvalidHandshake as error:
            raise ConnectionUnavailableError(f"{self.name}: {error}") from error
        except OSError as error:
            raise ConnectionUnavailableError(f"{self.name}: {type(error).__name__}: {error}") from error
        assert isinstance(connection, NotingClientConnection)
        return Link(connection, self._session, self.name)
