"""Connections to NATS servers from the options of an annotation."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nats.errors
from nats.aio.client import Client

from siddhi.errors import ConnectionUnavailableError
from siddhi.extension.local_files import local_path
from siddhi.io.options import OptionHolder
from siddhi.io.tls import client_context, refuse_java_stores
from siddhi.repeats import Repeats

__all__ = ["ConnectionOptions", "NatsConnection", "is_streaming", "subject"]

logger = logging.getLogger("siddhi")

CLOSE_SECONDS = 5.0
"""Maximum time that closing a connection may take."""
_DEFAULT_URL = "nats://localhost:4222"
_SCHEMES = ("nats", "tls", "ws", "wss")
_STREAMING = ("stream", "durable.name", "subscription.sequence", "cluster.id", "streaming.cluster.id")
_SETTINGS = {
    "connect_timeout": "connect_timeout",
    "ping_interval": "ping_interval",
    "max_outstanding_pings": "max_outstanding_pings",
    "io.nats.client.timeout": "connect_timeout",
    "io.nats.client.pinginterval": "ping_interval",
    "io.nats.client.maxpings": "max_outstanding_pings",
}
"""Settings of ``optional.configuration``, also by the names of the Java client; there in ms."""
_SUBJECT = re.compile(r"[^\s\x00-\x1f]+")


def is_streaming(options: OptionHolder) -> bool:
    """Return whether an annotation is about JetStream."""
    return options.flag("jetstream", default=any(name in options for name in _STREAMING))


def subject(options: OptionHolder) -> str:
    """Return the subject in the static option ``destination``.

    Raises:
        SiddhiAppCreationError: it is none.
    """
    text = options.static("destination").strip()
    if _SUBJECT.fullmatch(text) is None or "" in text.split("."):
        raise options.invalid("destination", "a subject such as trades.eu")
    return text


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """The checked options of a connection.

    Attributes:
        urls: addresses of the servers.
        settings: arguments of the client; the secrets are among them.
    """

    urls: tuple[str, ...]
    settings: dict[str, Any] = field(repr=False)

    @classmethod
    def read(cls, options: OptionHolder) -> ConnectionOptions:
        """Read the options.

        Raises:
            SiddhiAppCreationError: an option is missing or invalid, or can't be combined with another one.
        """
        refuse_java_stores(options)
        name = "bootstrap.servers" if "bootstrap.servers" in options else "server.urls"
        urls = tuple(url.strip() for url in options.static(name, _DEFAULT_URL).split(",") if url.strip())
        for url in urls:
            parts = urlsplit(url)
            if parts.scheme not in _SCHEMES or not parts.hostname or parts.username is not None:
                raise options.invalid(
                    name, "nats://host:port, separated by commas; users have options of their own", shown=False
                )
        settings: dict[str, Any] = {"connect_timeout": 5, "ping_interval": 20, "max_outstanding_pings": 2}
        for key, value in options.pairs("optional.configuration").items():
            known = _SETTINGS.get(key.lower())
            if known is None or not re.fullmatch("[0-9]{1,9}", value):
                raise options.invalid(
                    "optional.configuration", f"numbers of {', '.join(list(_SETTINGS)[:3])}, in seconds"
                )
            in_ms = key.lower().startswith("io.") and known != "max_outstanding_pings"
            settings[known] = max(1, int(value) // 1000) if in_ms else int(value)
        settings |= _identity(options)
        has_tls = any(name.lower().startswith("tls.") for name in options.names)
        if has_tls or any(url.startswith(("tls:", "wss:")) for url in urls):
            settings["tls"] = client_context(options)
        if options.optional("auth.type") == "tls" and "tls" not in settings:
            raise options.invalid("auth.type", "'tls.certificate.file' beside it")
        return cls(urls, settings)

    @property
    def tls(self) -> ssl.SSLContext | None:
        """The context of TLS; None: there is no TLS."""
        found: ssl.SSLContext | None = self.settings.get("tls")
        return found


def _identity(options: OptionHolder) -> dict[str, Any]:
    kinds = [name for name in ("username", "token", "nkey.seed", "credentials.file") if name in options]
    if len(kinds) > 1:
        raise options.invalid(kinds[1], f"no '{kinds[0]}' beside it", shown=False)
    wanted = {"user": "username", "token": "token", "tls": None}
    if "auth.type" in options:
        needed = wanted[options.choice("auth.type", list(wanted))]
        if needed is not None and needed not in options:
            raise options.invalid("auth.type", f"the option '{needed}' beside it")
    if "username" in options:
        options.static("password")
        return {"user": options.static("username"), "password": options.secret("password")}
    if "token" in options:
        return {"token": options.secret("token")}
    if "nkey.seed" in options:
        seed = options.secret("nkey.seed") or ""
        try:
            import nkeys

            nkeys.from_seed(seed.encode())
        except Exception:  # noqa: BLE001 - any error means that it is not a seed; the error could quote it
            raise options.invalid("nkey.seed", "the seed of an NKey, which begins with S", shown=False) from None
        return {"nkeys_seed_str": seed}
    if "credentials.file" in options:
        path = local_path(options.static("credentials.file"))
        try:
            with Path(path or "").open("rb"):
                pass
        except OSError as error:
            raise options.invalid("credentials.file", f"a file that can be read: {error.strerror}") from None
        return {"user_credentials": path}
    return {}


class NatsConnection:
    """One connection, which does not reconnect by itself: the app does, after its pauses.

    Args:
        options: the options.
        name: name of the client, for the server.
        label: the connector, for messages.

    Attributes:
        client: the client.
        denied: subjects to which the server does not let this client publish.
    """

    def __init__(self, options: ConnectionOptions, name: str, label: str) -> None:
        self._options = options
        self._name = name
        self._label = label
        self._repeats = Repeats()
        self._cause: Exception | None = None
        self._closed = asyncio.Event()
        self.client = Client()
        self.denied: set[str] = set()
        self._calls: set[asyncio.Future[Any]] = set()

    async def open(self) -> None:
        """Connect to the first server that can be reached.

        Raises:
            ConnectionUnavailableError: there is none.
        """
        failures = []
        for url in self._options.urls:
            self.client = Client()
            self._closed.clear()
            try:
                # The client's own limit is for the first connection alone, not for TLS and the answer of the server.
                await asyncio.wait_for(
                    self.client.connect(
                        [url],
                        name=self._name,
                        allow_reconnect=False,
                        error_cb=self._note,
                        closed_cb=self._end,
                        disconnected_cb=self._end,
                        reconnect_to_server_handler=_never,
                        **self._options.settings,
                    ),
                    2 * self._options.settings["connect_timeout"],
                )
            except (OSError, ValueError, nats.errors.Error, asyncio.TimeoutError) as error:
                await self._end_client(1.0)  # after a failure of TLS it waits in vain
                failures.append(f"{url}: {_described(error)}")
            else:
                # Without this the client may end in the midst of a lost connection, and call no callback; _never keeps it from reconnecting.
                self.client.options["allow_reconnect"] = True
                return
        raise ConnectionUnavailableError(f"can't connect to NATS at {'; '.join(failures)}")

    async def lost(self) -> None:
        """Wait until the connection is closed, and raise ConnectionUnavailableError then."""
        await self._closed.wait()
        self.check()

    def check(self) -> None:
        """Raise ConnectionUnavailableError if the connection is closed, or the server has refused the subscription."""
        if not self._closed.is_set() and self.client.is_connected:
            return
        cause = f": {_described(self._cause)}" if self._cause is not None else ""
        raise ConnectionUnavailableError(f"the connection to NATS is closed{cause}")

    async def call(self, request: Coroutine[Any, Any, Any]) -> None:
        """Wait for a request of the client, but not longer than the connection lasts.

        Raises:
            ConnectionUnavailableError: the connection is closed.
        """
        try:
            self.check()
        except ConnectionUnavailableError:
            request.close()
            raise
        task = asyncio.ensure_future(request)
        self._calls.add(task)
        try:
            await task
        except asyncio.CancelledError:
            if task in self._calls:  # the caller was cancelled
                raise
        finally:
            self._calls.discard(task)
        self.check()  # the client may return as if all was well, although the connection is closed

    async def close(self) -> None:
        """Send what is written, and close the connection."""
        client = self.client
        with suppress(Exception):  # it may be broken in any state
            if client.is_connected:
                await asyncio.wait_for(client.flush(), CLOSE_SECONDS)
        await self._end_client()
        for line in self._repeats.summary():
            logger.error("%s", line)

    async def _end_client(self, seconds: float = CLOSE_SECONDS) -> None:
        if not self.client.is_connected:
            self.client._pending.clear()  # it would fail to write this, and leave its tasks behind
            self.client._pending_data_size = 0
        with suppress(Exception):  # it may be broken in any state
            await asyncio.wait_for(self.client.close(), seconds)

    async def _end(self) -> None:
        self._closed.set()
        calls, self._calls = self._calls, set()
        for call in calls:
            call.cancel()

    async def _note(self, error: Exception) -> None:
        self._cause = error
        text = str(error).lower()
        if "permissions violation for subscription" in text:
            self._closed.set()
        denied = re.search(r'permissions violation for publish to "?([^"\s]+)', text)
        if denied is not None:
            self.denied.add(denied[1])
        if not isinstance(error, (OSError, nats.errors.UnexpectedEOF)):
            note = self._repeats.note(f"{self._label}: {type(error).__name__}")
            if note is not None:
                what = (
                    "the app is too slow, messages are dropped"
                    if isinstance(error, nats.errors.SlowConsumerError)
                    else "error"
                )
                logger.warning("%s: %s: %s%s", self._label, what, _described(error), note)


def _never(*_: object) -> tuple[None, float]:
    """Let the client wait instead of reconnecting, until it is closed."""
    return None, 86400.0


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
