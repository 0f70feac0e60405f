"""``@sink(type = 'http')``: sends each payload as a request."""

from __future__ import annotations

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.http.client import ClientOptions, HttpClient, check
from siddhi.io.http.payloads import content_type, encode
from siddhi.io.options import DynamicOptions, OptionHolder

__all__ = ["HttpSink"]


class HttpSink(AsyncSink):
    """Sends payloads to a URL.

    A payload counts as published when the answer has a status code of ``success.codes``.

    Attributes:
        default_concurrency: number of requests at the same time without the option ``executor.service.threads``.
    """

    supported_input_event_classes = (str, bytes, bytearray, memoryview, dict)
    default_concurrency: int = 1

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._options = ClientOptions(options, context, concurrency=self.default_concurrency)
        self.concurrency = self._options.concurrency
        self._type = content_type(context.mapper)
        self._client: HttpClient | None = None

    async def open(self) -> None:
        """Make a pool of connections; they are made when they are needed."""
        self._client = HttpClient(self._options)

    async def send(self, payload: object, options: DynamicOptions) -> None:
        async with self.connected().request(encode(payload), self._type, options) as response:
            await check(response, self._options.accepted)
            await response.content.read(1 << 16)  # so that the connection can be used again

    def connected(self) -> HttpClient:
        """Return the client.

        Raises:
            ConnectionUnavailableError: the sink is not connected.
        """
        if self._client is None:
            raise ConnectionUnavailableError("the sink is not connected")
        return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()
