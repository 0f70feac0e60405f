"""The checks that every source and sink has to pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from siddhi.testing.connectors import SinkSuite, SourceSuite
from tests.kit.proxy import FaultProxy
from tests.kit.servers.grpc import Calls, EventServer

SERVICE = "org.wso2.grpc.EventService/consume"


class TestSource(SourceSuite):
    """Each stream of a client ends when all of its messages are processed."""

    @pytest.fixture(autouse=True)
    def address(self, port: int) -> None:
        self.port = port
        self.options = f"type = 'grpc', receiver.url = 'grpc://127.0.0.1:{port}/{SERVICE}'"

    def send(self, payloads: Any) -> None:
        with Calls(self.port) as calls:
            try:
                calls.consume(*payloads)
            except grpc.RpcError as error:
                assert payloads == [self.malformed()]
                assert error.code() is grpc.StatusCode.INVALID_ARGUMENT  # noqa: PT017 - only for this payload


class TestSink(SinkSuite):
    @pytest.fixture(autouse=True)
    def connection(self, server: EventServer) -> Iterator[None]:
        self.server = server
        with FaultProxy(server.port) as self.proxy:
            self.options = f"type = 'grpc', publisher.url = 'grpc://127.0.0.1:{self.proxy.port}/{SERVICE}'"
            yield

    def received(self) -> list[str | bytes]:
        return [payload for payload, _ in self.server.received]

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()


class TestConfirmingSink(TestSink):
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def confirm(self, connection: None) -> None:
        self.options += ", confirm = 'true'"


class TestCallSink(TestSink):
    is_confirmed = True

    @pytest.fixture(autouse=True)
    def call(self, connection: None) -> None:
        self.options = self.options.replace("consume", "process").replace("'grpc'", "'grpc-call', sink.id = 'suite'")
