"""``@sink(type = 'prometheus')``: metrics of events, exposed by a server or pushed to a gateway."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx2
from prometheus_client import push_to_gateway, pushadd_to_gateway

from siddhi.errors import ConnectionUnavailableError, MappingFailedError, SiddhiAppCreationError
from siddhi.event import Event
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.prometheus.exposition import Access, Exposition
from siddhi.io.prometheus.http import credentials_of, fetch, make_client, read_url
from siddhi.io.prometheus.metrics import MetricDefinition, Registry, make_metric, observe
from siddhi.io.sink import PublishingCallback
from siddhi.io.tls import server_context

__all__ = ["PrometheusSink"]

_TIMEOUT_S = 30.0
_SERVER = ("server.url", "tls.ca.file", "tls.certificate.file", "tls.key.file", "tls.key.password")
_GATEWAY = ("push.url", "push.operation", "grouping.key", "job", "buffer.payloads", "tls.verify", "tls.verify.hostname")


class PrometheusSink(AsyncSink):
    """Changes a metric by each event.

    With a server the events are published at once, when the metric has changed; with a gateway they are queued, and each is
    published when the gateway has accepted the metric.
    """

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        if context.mapper != "keyvalue":
            raise SiddhiAppCreationError(
                f"sink 'prometheus' needs @map(type = 'keyvalue'), not '{context.mapper}'", code="E326"
            )
        self._options = options
        self._definition = MetricDefinition.read(options, context)
        self._pushes = options.choice("publish.mode", ("server", "pushgateway"), "server") == "pushgateway"
        for name in ("server.url",) if self._pushes else _GATEWAY:
            if name in options:
                other = "server" if self._pushes else "pushgateway"
                raise options.invalid(name, f"publish.mode = '{other}' beside it")
        self._metric: Any = None
        self._exposition: Exposition | None = None
        self._client: httpx2.AsyncClient | None = None
        if self._pushes:
            self._url = read_url(options, "push.url", "http://localhost:9091").rstrip("/")
            self._push = {"push": push_to_gateway, "pushadd": pushadd_to_gateway}[
                options.choice("push.operation", ("push", "pushadd"), "pushadd")
            ]
            self._job = options.static("job", "siddhiJob")
            self._grouping = options.pairs("grouping.key")
            self._registry = Registry()
            self._metric = make_metric(self._definition, self._registry)
            self._observed: object = None  # the payload that is in the metric, and not pushed yet
            self._client_of: Callable[[], httpx2.AsyncClient] = lambda: make_client(options, _TIMEOUT_S, {})
            credentials_of(options)
        else:
            self._init_server(options)

    def _init_server(self, options: OptionHolder) -> None:
        url = read_url(options, "server.url", "http://localhost:9080")
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port if parts.port is not None else 9080
        self._context = server_context(options)
        if (parts.scheme == "https") != (self._context is not None):
            raise options.invalid("server.url", "https together with tls.certificate.file, or http without it")
        tls = None if self._context is None else tuple(options.optional(name) for name in _SERVER[1:4])
        self._access = Access(tls, credentials_of(options))

    # --- server

    def attach(self, callback: PublishingCallback) -> Callable[[object, Sequence[Event]], None] | None:
        return super().attach(callback) if self._pushes else None

    def connect(self) -> None:
        if self._pushes:
            super().connect()
            return
        self.disconnect()
        try:
            self._exposition, self._metric = Exposition.acquire(
                self._host, self._port, self._definition, self._access, lambda: self._context
            )
        except OSError as error:
            raise ConnectionUnavailableError(f"can't listen on {self._host}:{self._port}: {error}") from error

    def publish(self, payload: Any, options: DynamicOptions) -> None:
        if self._pushes:
            super().publish(payload, options)
        elif self._metric is None:
            raise ConnectionUnavailableError("the sink is not connected")
        else:
            observe(self._definition, self._metric, payload)

    def disconnect(self) -> None:
        if self._pushes:
            super().disconnect()
            return
        exposition, self._exposition, self._metric = self._exposition, None, None
        if exposition is not None:
            exposition.release(self._definition)

    @property
    def port(self) -> int | None:
        """The port of the server; None: it does not run."""
        return None if self._exposition is None else self._exposition.port

    # --- gateway

    async def open(self) -> None:
        self._client = self._client_of()

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def send(self, payload: Any, options: DynamicOptions) -> None:
        if payload is not self._observed:  # otherwise it could not be pushed before, and is tried again
            observe(self._definition, self._metric, payload)
            self._observed = payload
        if self._client is None:
            raise ConnectionUnavailableError("the sink is not connected")
        requests: list[tuple[str, str, dict[str, str], bytes]] = []

        def collect(url: str, method: str, headers: Any, data: bytes, **_: object) -> Callable[[], None]:
            requests.append((url, method, dict(headers), data))
            return lambda: None

        # The client library makes the request, which is sent without blocking the other connectors.
        self._push(self._url, self._job, self._registry, self._grouping or None, handler=collect)
        for url, method, headers, data in requests:
            status, content = await fetch(self._client, method, url, headers=headers, content=data)
            if status == 400:
                self._observed = None
                raise MappingFailedError(f"the gateway rejects the metric: {content[:500].decode(errors='replace')}")
            if not 200 <= status < 300:
                raise ConnectionUnavailableError(f"the gateway answers with the status {status}")
        self._observed = None
