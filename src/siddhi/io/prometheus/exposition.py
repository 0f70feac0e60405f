"""Servers that expose the metrics of sinks, one for each host and port of the process."""

from __future__ import annotations

import base64
import hmac
import socketserver
import ssl
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.prometheus.metrics import MetricDefinition, Registry, make_metric

__all__ = ["Access", "Exposition"]

_IDLE_S = 30.0
_STOPS_WITHIN_S = 0.1


@dataclass(frozen=True, slots=True)
class Access:
    """Who may read the metrics; equal for all sinks of a server.

    Attributes:
        tls: identity of the certificate; None: no TLS.
        credentials: name and password that readers need; None: none.
    """

    tls: tuple[str | None, ...] | None = None
    credentials: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return "Access()"  # no secrets


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    allow_reuse_address = True
    context: ssl.SSLContext | None = None

    def get_request(self) -> tuple[Any, Any]:
        connection, address = self.socket.accept()
        connection.settimeout(_IDLE_S)
        if self.context is not None:
            # The handshake follows in the thread of the request: a silent client must not hold up the others.
            connection = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: the app works without the readers of its metrics."""


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Log nothing."""


class Exposition:
    """One server, its registry, and the metrics of its sinks.

    A metric is exposed while a sink has it, and keeps its values when it comes back, as after a restart of an app.
    """

    _all: ClassVar[dict[tuple[str, int], Exposition]] = {}
    _guard: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._registry = Registry()
        self._metrics: dict[str, tuple[MetricDefinition, Any]] = {}
        self._users: dict[str, int] = {}
        self._access = Access()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    @classmethod
    def acquire(
        cls,
        host: str,
        port: int,
        definition: MetricDefinition,
        access: Access,
        context: Callable[[], ssl.SSLContext | None],
    ) -> tuple[Exposition, Any]:
        """Expose a metric, and return it with its server, which starts with its first metric.

        Raises:
            OSError: the address can't be used.
            SiddhiAppCreationError: another sink has a different metric of this name, or gives other access to the server.
        """
        with cls._guard:
            found = cls._all.setdefault((host, port), cls(host, port))
            return found, found._acquire(definition, access, context)

    def _acquire(
        self, definition: MetricDefinition, access: Access, context: Callable[[], ssl.SSLContext | None]
    ) -> Any:
        name, where = definition.name, f"server {self._address[0]}:{self._address[1]}"
        if self._server is not None and access != self._access:
            raise SiddhiAppCreationError(
                f"sinks 'prometheus' of {where} have different certificates or credentials",
                code="E326",
                hint="write the same options of TLS, username and password in all of them, or use another port",
            )
        kept = self._metrics.get(name)
        is_new = self._users.get(name, 0) == 0
        if kept is not None and kept[0] != definition:
            if not is_new:
                raise SiddhiAppCreationError(
                    f"metric '{name}' of {where} is defined in different ways", code="E326", hint="set metric.name"
                )
            kept = None
        if self._server is None:
            self._start(access, context())
        if is_new:
            try:
                if kept is None:
                    kept = self._metrics[name] = definition, make_metric(definition, self._registry)
                else:
                    self._registry.register(kept[1])
            except ValueError as error:
                if not self._users:
                    self._stop()
                raise SiddhiAppCreationError(
                    f"metric '{name}' of {where} has series of another one: {error}",
                    code="E326",
                    hint="set metric.name",
                ) from None
        assert kept is not None
        self._users[name] = self._users.get(name, 0) + 1
        return kept[1]

    def release(self, definition: MetricDefinition) -> None:
        """End a use of a metric; the server ends with its last metric."""
        with self._guard:
            self._users[definition.name] -= 1
            if not self._users[definition.name]:
                del self._users[definition.name]
                self._registry.unregister(self._metrics[definition.name][1])
            if not self._users:
                self._stop()

    @property
    def port(self) -> int:
        """The port it listens on."""
        assert self._server is not None
        return int(self._server.server_port)

    def _start(self, access: Access, context: ssl.SSLContext | None) -> None:
        application = make_wsgi_app(self._registry)
        if access.credentials is not None:
            application = _protected(application, access.credentials)
        server = make_server(*self._address, application, _Server, _Handler)
        server.context = context
        self._access, self._server = access, server
        self._thread = threading.Thread(
            target=server.serve_forever, args=(_STOPS_WITHIN_S,), name="siddhi-prometheus", daemon=True
        )
        self._thread.start()

    def _stop(self) -> None:
        server, self._server = self._server, None
        if server is not None and self._thread is not None:
            server.shutdown()
            self._thread.join()
            server.server_close()


def _protected(application: Any, credentials: tuple[str, str]) -> Any:
    expected = b"Basic " + base64.b64encode(":".join(credentials).encode())

    def check(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        if hmac.compare_digest(environ.get("HTTP_AUTHORIZATION", "").encode(), expected):
            answer: Iterable[bytes] = application(environ, start)
            return answer
        start("401 Unauthorized", [("WWW-Authenticate", 'Basic realm="metrics"'), ("Content-Length", "0")])
        return [b""]

    return check
