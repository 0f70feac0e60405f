"""``@source(type = 'websocket-server')``: receives the messages of WebSocket clients."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener
from siddhi.io.websocket.server import Client, Place, ServerOptions, WebSocketServer

__all__ = ["WebSocketServerSource", "path_of"]


def path_of(options: OptionHolder) -> str | None:
    """Return the option ``path``; None: all paths.

    Raises:
        SiddhiAppCreationError: it does not begin with a slash, or has a query.
    """
    path = options.optional("path")
    if path is not None and (not path.startswith("/") or "?" in path or "#" in path):
        raise options.invalid("path", "a path such as /trades, without a query")
    return path


class WebSocketServerSource(AsyncSource):
    """Receives from all clients that connect to its path; a client is read no faster than the app processes.

    Transport properties: ``path``, ``remote.address``, ``sub.protocol``, ``header.<name>`` and ``query.<name>`` of the client's
    request.
    """

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._properties = [_property(name) for name in transport_properties]
        self._path = path_of(options)
        self._options, self._context = ServerOptions.of(options)
        self._place: tuple[WebSocketServer, Place] | None = None

    async def open(self) -> None:
        self._place = await WebSocketServer.open(self._options, self._context, self._path, receive=self._receive_one)

    async def _receive_one(self, client: Client, message: str | bytes) -> None:
        if client.properties is None:
            client.properties = [of(client) for of in self._properties]
        await self.put(message, client.properties)

    async def close(self) -> None:
        place, self._place = self._place, None
        if place is not None:
            await place[0].close(place[1], is_source=True)


def _property(name: str) -> Callable[[Client], str | None]:
    """Return the function that finds a transport property.

    Raises:
        SiddhiAppCreationError: there is none of this name.
    """
    lowered = name.lower()
    if lowered == "path":
        return lambda client: urlsplit(client.request.path).path
    if lowered == "remote.address":
        return lambda client: client.address
    if lowered == "sub.protocol":
        return lambda client: client.link.connection.subprotocol
    kind, dot, key = name.partition(".")
    if dot and key and kind.lower() == "header":
        return lambda client: ", ".join(client.request.headers.get_all(key)) or None
    if dot and key and kind.lower() == "query":
        return lambda client: parse_qs(urlsplit(client.request.path).query, keep_blank_values=True).get(key, [None])[0]
    raise SiddhiAppCreationError(
        f"source 'websocket-server' has no transport property '{name}'",
        code="E326",
        hint="write trp:path, trp:remote.address, trp:sub.protocol, trp:header.<name> or trp:query.<name>",
    )
