"""The checks that every source and sink has to pass."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pymap", reason="pymap is not installed")
pytest.importorskip("aiosmtplib", reason="the extra 'email' is not installed")
pytest.importorskip("aiosmtpd", reason="aiosmtpd is not installed")

from siddhi.testing.connectors import SinkSuite, SourceSuite
from tests.kit.proxy import FaultProxy
from tests.kit.servers.mail import PASSWORD, USER, Pop3Server, SmtpServer, imap_server, mail

_numbers = itertools.count()


class _Mailbox(SourceSuite):
    delivery = "at least once"
    is_durable = True
    is_reconnecting = True
    count = 10

    def connected(self, port: int, more: str) -> Iterator[None]:
        with FaultProxy(port) as self.proxy:
            self.options = (
                f"type = 'email', host = '127.0.0.1', port = '{self.proxy.port}', ssl.enable = 'false', starttls = 'never', "
                f"username = '{USER}', password = '{PASSWORD}', polling.interval = '10 ms', ack = 'checkpoint', {more}"
            )
            yield

    def payload(self, number: int) -> str:
        return f"{super().payload(number)!s}\n"

    def break_connection(self) -> None:
        self.proxy.drop()


class TestImapSource(_Mailbox):
    @pytest.fixture(autouse=True)
    def connection(self) -> Iterator[None]:
        self.server = imap_server()
        self.server.clear()
        yield from self.connected(self.server.port, "action.after.processed = 'SEEN'")

    def send(self, payloads: Any) -> None:
        self.server.deliver(*(mail("a number", payload) for payload in payloads))


class TestPop3Source(_Mailbox):
    is_reconnecting = False  # each look at the mailbox has a connection of its own

    @pytest.fixture(autouse=True)
    def connection(self) -> Iterator[None]:
        self.server = Pop3Server()
        yield from self.connected(self.server.port, "store = 'pop3', action.after.processed = 'DELETE'")
        self.server.stop()

    def send(self, payloads: Any) -> None:
        for payload in payloads:
            self.server.deliver(f"id{next(_numbers)}", mail("a number", payload))


class TestSink(SinkSuite):
    is_confirmed = True
    count = 10

    @pytest.fixture(autouse=True)
    def connection(self) -> Iterator[None]:
        server = SmtpServer()
        server.start()
        self.inbox = server.inbox
        with FaultProxy(server.port) as self.proxy:
            self.options = (
                f"type = 'email', host = '127.0.0.1', port = '{self.proxy.port}', ssl.enable = 'false', auth = 'false', "
                "address = 'me@x.org', to = 'a@x.org', subject = 'a number'"
            )
            yield
        server.stop()

    def received(self) -> list[str | bytes]:
        return [str(one.get_content()) for one in self.inbox.mails]

    def stop_server(self) -> None:
        self.proxy.refuse()

    def start_server(self) -> None:
        self.proxy.accept()
