"""Connections to Redis: what sources and sinks of streams and channels have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.options import OptionHolder
from siddhi.io.tls import client_context, pem_path

__all__ = ["RedisServer", "redis_errors", "text_of"]

_HEALTH_SECONDS = 15


@dataclass(frozen=True, slots=True)
class RedisServer:
    """The checked options of a connection.

    Attributes:
        url: address of the server, with the number of the database.
        arguments: further arguments of the client: user, password, TLS.
        timeout: seconds after which a server that does not answer counts as lost.
    """

    url: str
    arguments: dict[str, Any]
    timeout: float

    @classmethod
    def read(cls, options: OptionHolder) -> RedisServer:
        """Read the options.

        Raises:
            SiddhiAppCreationError: an option is invalid.
        """
        url = options.static("url", "redis://localhost:6379")
        expected = "redis://host:port/database, rediss://… for TLS, or unix:///path"
        try:
            parts = urlsplit(url)
            parts.port  # noqa: B018 - raises for an invalid one
        except ValueError:
            raise options.invalid("url", expected) from None
        if parts.password is not None:
            raise options.invalid("url", f"{expected}; write the password in the option 'password'", shown=False)
        if parts.scheme not in ("redis", "rediss", "unix") or parts.query or parts.fragment:
            raise options.invalid("url", expected)
        if parts.scheme != "unix" and parts.path.strip("/") and not parts.path.strip("/").isdecimal():
            raise options.invalid("url", expected)
        arguments: dict[str, Any] = {}
        if (user := options.optional("username")) is not None:
            arguments["username"] = user
        if (password := options.secret("password")) is not None:
            arguments["password"] = password
        if parts.scheme == "rediss":
            context = client_context(options)
            certificate = pem_path(options, "tls.certificate.file")
            arguments |= {
                "ssl_ca_certs": pem_path(options, "tls.ca.file"),
                "ssl_certfile": certificate,
                "ssl_keyfile": pem_path(options, "tls.key.file") or certificate,
                "ssl_password": options.secret("tls.key.password"),
                "ssl_check_hostname": context.check_hostname,
                "ssl_cert_reqs": "required" if options.flag("tls.verify", default=True) else "none",
            }
        else:
            for name in options.names:
                if name.lower().startswith("tls."):
                    raise options.invalid(name, "a 'url' that begins with rediss://", shown=False)
        return cls(url, arguments, options.duration("timeout", "30 sec"))

    def client(self, *, waits: float = 0.0) -> Redis:
        """Return a client, which connects with its first command. It never repeats a command by itself.

        Args:
            waits: seconds that the server itself may wait before it answers a command.
        """
        return Redis.from_url(
            self.url,
            protocol=2,  # both forms of answers differ, also between versions of the library
            retry=Retry(NoBackoff(), 0),
            socket_timeout=self.timeout + waits,
            socket_connect_timeout=self.timeout,
            socket_keepalive=True,
            health_check_interval=_HEALTH_SECONDS,
            **self.arguments,
        )


@contextmanager
def redis_errors() -> Iterator[None]:
    """Turn errors of the library into ConnectionUnavailableError: the app connects again."""
    try:
        yield
    except RedisError as error:
        raise ConnectionUnavailableError(f"Redis: {type(error).__name__}: {error}") from error


def text_of(value: bytes) -> str:
    """Return bytes as text; what is not UTF-8 becomes U+FFFD."""
    return value.decode(errors="replace")
