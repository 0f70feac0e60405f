"""``@source(type = 'tcp')``: receives messages of Siddhi's TCP protocol."""

from __future__ import annotations

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener
from siddhi.io.tcp import TcpServer

__all__ = ["TcpSource"]

DEFAULT_PORT = 9892


class TcpSource(AsyncSource):
    """Receives the messages to one channel of the process's TCP server.

    The system configuration sets ``host`` and ``port`` of the server. A connection is read no faster than its messages are
    accepted; messages are not acknowledged, so that those on their way are lost in a crash.
    """

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        if transport_properties:
            raise SiddhiAppCreationError(
                f"source 'tcp' has no transport properties, but @attributes asks for 'trp:{transport_properties[0]}'",
                code="E326",
            )
        self._channel = options.static("context", f"{context.app}/{context.stream}")
        self._host = context.config.get("host", "0.0.0.0")  # noqa: S104 - Siddhi's default: all interfaces
        text = context.config.get("port", str(DEFAULT_PORT))
        if not text.isdecimal() or int(text) > 65535:
            raise SiddhiAppCreationError(f"invalid port '{text}' in the configuration of source 'tcp'", code="E326")
        self._port = int(text)
        self._server: TcpServer | None = None

    @property
    def port(self) -> int | None:
        """The port that the server listens on; None while the source is not connected."""
        return None if self._server is None else self._server.listening_port

    async def open(self) -> None:
        self._server = await TcpServer.open(self._host, self._port, self._channel, self.put)

    async def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.close(self._channel)
