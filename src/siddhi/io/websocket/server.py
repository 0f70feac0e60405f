"""WebSocket servers: one for each address, shared by the sources and sinks of the process that use it."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import ClassVar, cast
from urllib.parse import urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response
from websockets.typing import Origin

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.io.listening import end_listening
from siddhi.io.options import OptionHolder
from siddhi.io.tls import server_context
from siddhi.io.websocket.link import GOING_AWAY, Link, NotingServerConnection
from siddhi.io.websocket.options import CLOSE_SECONDS, Credentials, SessionOptions

__all__ = ["Client", "Place", "ServerOptions", "WebSocketServer"]

logger = logging.getLogger("siddhi")

_TLS = ("tls.certificate.file", "tls.key.file", "tls.key.password", "tls.ca.file")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a server. Who shares it must have the same.

    Attributes:
        host: the address to listen on.
        port: the port.
        session: options of its connections.
        credentials: what clients must send; None: nothing.
        origins: origins that web pages may have; empty: any.
        most_clients: number of connections at the same time.
        tls: texts of the options of TLS.
    """

    host: str
    port: int
    session: SessionOptions
    credentials: Credentials | None
    origins: tuple[str, ...]
    most_clients: int
    tls: tuple[str | None, ...] = field(repr=False)

    @classmethod
    def of(cls, options: OptionHolder) -> tuple[ServerOptions, ssl.SSLContext | None]:
        """Read the options, and the context of TLS; None: no TLS.

        Raises:
            SiddhiAppCreationError: one is invalid.
        """
        session = SessionOptions.of(options)
        if options.flag("tls.enabled", default="tls.certificate.file" in options):
            if "tls.certificate.file" not in options:
                raise options.invalid("tls.enabled", "'tls.certificate.file' beside it")
        elif "tls.certificate.file" in options:
            raise options.invalid("tls.enabled", "'true' beside 'tls.certificate.file'")
        made = cls(
            options.static("host").strip(),
            options.integer("port", most=65535),
            session,
            Credentials.of(options),
            tuple(name for part in options.static("allowed.origins", "").split(",") if (name := part.strip())),
            options.integer("max.clients", 10_000, least=1),
            tuple(options.optional(name) for name in _TLS),
        )
        return made, server_context(options)

    @property
    def name(self) -> str:
        """The server for messages."""
        return f"{'wss' if self.tls[0] else 'ws'}://{self.host}:{self.port}"


class Client:
    """A client of a server.

    Attributes:
        link: its connection.
        address: its host and port, as a text.
        request: its request, with path and headers.
    """

    def __init__(self, link: Link, address: str, request: Request) -> None:
        self.link = link
        self.address = address
        self.request = request
        self.properties: Sequence[str | None] | None = None  # for the source
        self.reading: asyncio.Task[None] | None = None

    async def close(self, code: int, reason: str) -> None:
        """Receive no more, and close the connection with a handshake."""
        if self.reading is not None:
            self.reading.cancel()
            await asyncio.gather(self.reading, return_exceptions=True)
        await self.link.close(code, reason)


@dataclass(slots=True, eq=False)
class Place:
    """A path of a server: its clients, and who uses it.

    Attributes:
        path: the path; None: all paths without a place of their own.
        clients: the connected clients.
        receive: takes a message of a client; None: no source is there, and messages are ignored.
        joined: called with each new client; None: no sink is there.
        left: called with each client that is gone.
    """

    path: str | None
    clients: set[Client] = field(default_factory=set)
    receive: Callable[[Client, str | bytes], Awaitable[None]] | None = None
    joined: Callable[[Client], None] | None = None
    left: Callable[[Client], None] | None = None


class WebSocketServer:
    """A listening server. Used on the event loop only."""

    _running: ClassVar[dict[tuple[str, int], WebSocketServer]] = {}

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._places: dict[str | None, Place] = {}
        self._starting = asyncio.Lock()
        self._server: Server | None = None
        self._clients = 0

    @classmethod
    async def open(
        cls,
        options: ServerOptions,
        context: ssl.SSLContext | None,
        path: str | None,
        *,
        receive: Callable[[Client, str | bytes], Awaitable[None]] | None = None,
        joined: Callable[[Client], None] | None = None,
        left: Callable[[Client], None] | None = None,
    ) -> tuple[WebSocketServer, Place]:
        """Use a path of the server of an address, as a source (``receive``) or a sink; the first one starts the server.

        Raises:
            SiddhiAppCreationError: a source or sink has the path already, or the server has other options.
            OSError: the address can't be used.
        """
        server = cls._running.setdefault((options.host, options.port), cls(options))
        if server._options != options:
            raise SiddhiAppCreationError(
                f"the server {options.name} runs with other options already",
                code="E326",
                hint="sources and sinks with one host and port need the same options; only 'path' may differ",
            )
        place = server._places.setdefault(path, Place(path))
        if (place.receive if receive is not None else place.joined) is not None:
            kind = "source" if receive is not None else "sink"
            what = f"path '{path}' of {options.name}" if path is not None else options.name
            raise SiddhiAppCreationError(f"{what} belongs to another {kind}", code="E326", hint="set 'path' or 'port'")
        if receive is not None:
            place.receive = receive
        else:
            place.joined, place.left = joined, left
            for client in place.clients:
                cast("Callable[[Client], None]", joined)(client)
        try:
            async with server._starting:
                if server._server is None:
                    server._server = await server._listen(context)
        except BaseException:
            await server.close(place, is_source=receive is not None)
            raise
        return server, place

    async def _listen(self, context: ssl.SSLContext | None) -> Server:
        options = self._options
        server: Server = await serve(
            self._serve,
            options.host,
            options.port,
            origins=[cast(Origin, origin) for origin in options.origins] or None,
            process_request=self._check,
            create_connection=NotingServerConnection,
            server_header=None,
            open_timeout=CLOSE_SECONDS,  # a shutdown waits for opening handshakes
            ssl=context,
            ssl_handshake_timeout=None if context is None else CLOSE_SECONDS,
            **options.session.arguments(),
        )
        return server

    async def close(self, place: Place, *, is_source: bool) -> None:
        """End the use of a path; the last use closes its connections with 1001, the last path ends the server."""
        if is_source:
            place.receive = None
        else:
            place.joined = place.left = None
        if place.receive is not None or place.joined is not None or self._places.get(place.path) is not place:
            return
        del self._places[place.path]
        server = self._server
        if not self._places:
            self._running.pop((self._options.host, self._options.port), None)
            self._server = None
            if server is not None:
                await end_listening(server.server)
                server.close(close_connections=False)  # below, with the reason
        leaving = [client.close(GOING_AWAY, "the app is shut down") for client in tuple(place.clients)]
        await asyncio.gather(*leaving, return_exceptions=True)
        if not self._places and server is not None:
            await server.wait_closed()

    def _place(self, request: Request) -> Place | None:
        return self._places.get(urlsplit(request.path).path) or self._places.get(None)

    def _check(self, connection: ServerConnection, request: Request) -> Response | None:
        """Return the answer to a request that is refused."""
        credentials = self._options.credentials
        if credentials is not None and not credentials.matches(request.headers.get("Authorization")):
            refused = connection.respond(HTTPStatus.UNAUTHORIZED, "wrong user name or password\n")
            refused.headers["WWW-Authenticate"] = 'Basic realm="siddhi", charset="UTF-8"'
            return refused
        if self._place(request) is None:
            return connection.respond(HTTPStatus.NOT_FOUND, "no app listens to this path\n")
        if self._clients >= self._options.most_clients:
            return connection.respond(HTTPStatus.SERVICE_UNAVAILABLE, "too many clients\n")
        return None

    async def _serve(self, connection: ServerConnection) -> None:
        assert isinstance(connection, NotingServerConnection)
        request = connection.request
        assert request is not None
        place = self._place(request)
        if place is None:  # it was closed during the handshake
            await connection.close(GOING_AWAY)
            return
        host, port = connection.remote_address[:2]
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        client = Client(Link(connection, self._options.session, f"client {address}"), address, request)
        client.reading = asyncio.get_running_loop().create_task(self._read(place, client))
        self._clients += 1
        place.clients.add(client)
        if place.joined is not None:
            place.joined(client)
        try:
            await asyncio.wait([client.reading])
        finally:
            self._clients -= 1
            place.clients.discard(client)
            if place.left is not None:
                place.left(client)
            await client.close(GOING_AWAY, "")

    async def _read(self, place: Place, client: Client) -> None:
        link = client.link
        try:
            while True:
                message = await link.receive()
                if (receive := place.receive) is not None:
                    link.is_received = True
                    link.block()
                    try:
                        await receive(client, message)
                    except asyncio.CancelledError:
                        link.discarded += 1
                        raise
                    link.unblock()
        except ConnectionUnavailableError as error:
            logger.debug("%s: %s", self._options.name, error)
