"""The checks that every source and sink has to pass."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("prometheus_client", reason="the extra 'prometheus' is not installed")
pytest.importorskip("prometheus_summary", reason="the extra 'prometheus' is not installed")
pytest.importorskip("httpx2", reason="the extra 'prometheus' is not installed")

from siddhi.testing.connectors import SinkSuite, SourceSuite
from tests.kit.proxy import FaultProxy
from tests.kit.servers.prometheus import Gateway, Target


class TestSource(SourceSuite):
    """Each payload is the only sample of an answer."""

    mapper = "@map(type = 'keyvalue', @attributes(n = 'value'))"
    attribute_type = "double"
    delivery = "at least once"  # the last answer
    is_reconnecting = True
    count = 20

    @pytest.fixture(autouse=True)
    def connection(self, target: Target) -> Any:
        self.target = target
        target.content = ""
        with FaultProxy(target.server.server_port) as self.proxy:
            self.options = (
                f"type = 'prometheus', target.url = 'http://127.0.0.1:{self.proxy.port}/metrics', "
                "scrape.interval = '5 ms', metric.name = 'm', metric.type = 'gauge'"
            )
            yield

    def size(self, number: int) -> int:
        return 0  # a payload is a sample

    def malformed(self) -> None:
        return None  # each sample is a number

    def send(self, payloads: Any) -> None:
        for payload in payloads:
            self.target.content = f"# TYPE m gauge\nm {json.loads(payload)['event']['n']}\n"
            self.target.scraped()

    def break_connection(self) -> None:
        self.proxy.refuse()
        self.proxy.accept()


class TestGatewaySink(SinkSuite):
    options = "metric.type = 'gauge', metric.name = 'm', value.attribute = 'n', publish.mode = 'pushgateway'"
    mapper = "@map(type = 'keyvalue')"
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def connection(self, gateway: Gateway) -> Any:
        self.gateway = gateway
        with FaultProxy(gateway.server.server_port) as self.proxy:
            self.options = f"type = 'prometheus', push.url = 'http://127.0.0.1:{self.proxy.port}', {self.options}"
            yield

    def size(self, number: int) -> int:
        return 0  # a payload is a dict

    def received(self) -> list[str | bytes]:
        return [content for _, _, content in self.gateway.pushed]

    def number_of(self, payload: str | bytes) -> int:
        return int(float(str(payload).split()[-1]))

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()
