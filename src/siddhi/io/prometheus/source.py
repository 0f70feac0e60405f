"""``@source(type = 'prometheus')``: scrapes the samples of a metric."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import httpx2
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError
from siddhi.io.async_source import ReplayableSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.prometheus.http import credentials_of, fetch, make_client, read_url
from siddhi.io.prometheus.metrics import TYPES
from siddhi.io.source import SourceEventListener
from siddhi.io.tls import client_context, refuse_java_stores

__all__ = ["PrometheusSource"]

logger = logging.getLogger("siddhi")

_SUBTYPES = {"_bucket": "bucket", "_sum": "sum", "_count": "count"}
_ACCEPT = "text/plain;version=0.0.4;q=0.9,text/plain;q=0.5"


class PrometheusSource(ReplayableSource):
    """Scrapes a target, and delivers the samples of a metric if the answer has changed.

    The position is the digest of the last answer whose samples are processed.
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
                f"source 'prometheus' has no transport properties, but @attributes asks for 'trp:{transport_properties[0]}'",
                code="E326",
            )
        refuse_java_stores(options)
        self._url = read_url(options, "target.url")
        scheme = self._url.partition(":")[0]
        if "scheme" in options and options.static("scheme").lower() != scheme:
            raise options.invalid("scheme", f"{scheme}, as in 'target.url'")
        self._type = options.choice("metric.type", TYPES)
        self._name = options.static("metric.name", context.stream)
        self._interval = options.duration("scrape.interval", "60", unit="sec")
        self._wanted = options.pairs("grouping.key")
        for name in ("job", "instance"):
            if name in options:
                self._wanted[name] = options.static(name)
        timeout = options.duration("scrape.timeout", "10", unit="sec")
        headers = {"Accept": _ACCEPT, **options.pairs("headers")}
        credentials_of(options)
        client_context(options)
        self._make_client: Callable[[], httpx2.AsyncClient] = lambda: make_client(options, timeout, headers)
        self._client: httpx2.AsyncClient | None = None
        self._first: bytes | None = None
        self._handed_over: object = None
        self._is_missing = False

    async def open(self) -> None:
        self._client = self._make_client()
        self._first = await self._scrape()
        self._handed_over = self.position

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def receive(self) -> None:
        content, self._first = self._first, None
        while True:
            if content is None and not self.is_paused:
                content = await self._scrape()
            if content is not None:
                await self._deliver(content)
                content = None
            await asyncio.sleep(self._interval)

    async def _scrape(self) -> bytes:
        if self._client is None:
            raise ConnectionUnavailableError("the source is not connected")
        status, content = await fetch(self._client, "GET", self._url)
        if status != 200:
            raise ConnectionUnavailableError(f"'{self._url}' answers with the status {status}")
        return content

    async def _deliver(self, content: bytes) -> None:
        digest = blake2b(content, digest_size=16).hexdigest()
        if digest == self._handed_over:
            return
        try:
            payloads = list(self._samples(content.decode()))
        except ValueError as error:  # also UnicodeDecodeError
            raise ConnectionUnavailableError(
                f"'{self._url}' answers with something else than metrics: {error}"
            ) from error
        if not payloads and not self._is_missing:
            logger.error(
                "source 'prometheus' of stream '%s': '%s' has no %s '%s' with the wanted labels",
                self.context.stream,
                self._url,
                self._type,
                self._name,
            )
        self._is_missing = not payloads
        last = len(payloads) - 1
        await self.put_many([(one, (), digest if number == last else None) for number, one in enumerate(payloads)])
        self._handed_over = digest

    def _samples(self, text: str) -> Iterator[dict[str, Any]]:
        for family in text_string_to_metric_families(text):
            if family.type != self._type or self._name not in (family.name, f"{family.name}_total"):
                continue
            for sample in family.samples:
                if all(sample.labels.get(label) == value for label, value in self._wanted.items()):
                    yield self._payload(family, sample)

    def _payload(self, family: Metric, sample: Sample) -> dict[str, Any]:
        suffix = sample.name.removeprefix(family.name)
        return {
            **sample.labels,
            "metric_name": self._name,
            "metric_type": family.type,
            "help": family.documentation,
            "subtype": _SUBTYPES.get(suffix, "null"),
            "value": float(sample.value),
        }
