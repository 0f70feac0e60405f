"""``@source(type = 'tcp')``: receives messages of Siddhi's TCP protocol."""

from __future__ import annotations

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import Option, OptionHolder, Template
from siddhi.io.source import SourceEventListener
from siddhi.io.tcp.server import ServerOptions, TcpServer
from siddhi.io.tls import refuse_java_stores, server_context

__all__ = ["TcpSource"]

DEFAULT_PORT = 9892
_TLS = ("tls.certificate.file", "tls.key.file", "tls.key.password", "tls.ca.file")


class TcpSource(AsyncSource):
    """Receives the messages to one channel of a TCP server that all sources with its address share.

    The system configuration sets what the options ``host``, ``port``, ``tcp.no.delay`` and ``keep.alive`` do not set. A
    connection is read no faster than its messages are accepted; messages are not acknowledged, so that those on their way are
    lost in a crash.
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
                f"source 'tcp' has no transport properties, but @attributes maps 'trp:{transport_properties[0]}'",
                code="E326",
            )
        refuse_java_stores(options)
        self._channel = options.static("context", f"{context.app}/{context.stream}")
        names = ("host", "port", "tcp.no.delay", "keep.alive")
        configured = OptionHolder(
            "the configuration of source 'tcp'",
            [Option(name, (Template((context.config[name],)),)) for name in names if name in context.config],
        )
        host, port, no_delay, keep_alive = (options if name in options else configured for name in names)
        self._options = ServerOptions(
            host.static("host", "0.0.0.0"),  # noqa: S104 - Siddhi's default: all interfaces
            port.integer("port", DEFAULT_PORT, most=65535),
            no_delay.flag("tcp.no.delay", default=True),
            keep_alive.flag("keep.alive", default=True),
            tuple(options.optional(name) for name in _TLS),
        )
        self._context = server_context(options)
        self._server: TcpServer | None = None

    @property
    def port(self) -> int | None:
        """The port that the server listens on; None while the source is not connected."""
        return None if self._server is None else self._server.listening_port

    async def open(self) -> None:
        self._server = await TcpServer.open(self._options, self._context, self._channel, self._accept_all)

    async def _accept_all(self, payloads: list[bytes]) -> None:
        await self.put_many([(payload, None, None) for payload in payloads])

    async def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.close(self._channel)
