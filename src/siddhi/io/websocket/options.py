"""Options that clients and servers of WebSockets share."""

from __future__ import annotations

import hmac
import logging
from base64 import b64encode
from dataclasses import dataclass
from typing import Any, cast

from websockets.typing import Subprotocol

from siddhi.io.options import OptionHolder, pairs_of
from siddhi.io.tls import refuse_java_stores

__all__ = ["Credentials", "SessionOptions", "headers"]

CLOSE_SECONDS = 5.0
"""Maximum time that closing handshakes take together."""

_library_logger = logging.getLogger("siddhi.websocket")
_library_logger.setLevel(logging.WARNING)  # at the level DEBUG the library logs headers, with their secrets


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options of a connection, whichever side opened it.

    Attributes:
        subprotocols: the sub-protocols, the preferred one first.
        compression: whether messages are compressed if the peer supports it.
        max_size: bytes of the largest message that is received.
        ping_interval: seconds between pings; None: none are sent.
        ping_timeout: seconds within which a peer must answer.
        idle_timeout: seconds without a message after which a connection is closed; None: it stays open.
    """

    subprotocols: tuple[str, ...]
    compression: bool
    max_size: int
    ping_interval: float | None
    ping_timeout: float
    idle_timeout: float | None

    @classmethod
    def of(cls, options: OptionHolder) -> SessionOptions:
        """Read the options.

        Raises:
            SiddhiAppCreationError: one is invalid.
        """
        refuse_java_stores(options)
        interval = options.duration("ping.interval", "20 sec")
        idle = options.static("idle.timeout", "-1").strip()
        return cls(
            tuple(name for part in options.static("sub.protocol", "").split(",") if (name := part.strip())),
            options.flag("compression", default=False),
            options.integer("max.message.size", 16 * 1024 * 1024, least=1, most=2**31 - 1),
            interval or None,
            options.duration("ping.timeout", "20 sec"),
            None if idle in ("-1", "0") else options.duration("idle.timeout"),
        )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of these options for ``connect`` and ``serve`` of the library."""
        return {
            "subprotocols": [cast(Subprotocol, name) for name in self.subprotocols] or None,
            "compression": "deflate" if self.compression else None,
            "max_size": self.max_size,
            "ping_interval": None,  # see link.py
            "close_timeout": CLOSE_SECONDS,
            "logger": _library_logger,
        }


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user name and a password. The header that carries them is not part of the representation."""

    user: str
    _header: str

    def __repr__(self) -> str:
        return f"Credentials({self.user!r})"

    @classmethod
    def of(cls, options: OptionHolder) -> Credentials | None:
        """Read ``basic.auth.username`` and ``basic.auth.password``; None: they are not set.

        Raises:
            SiddhiAppCreationError: one is set without the other, or the name has a colon.
        """
        user, password = options.optional("basic.auth.username"), options.secret("basic.auth.password")
        if user is None and password is None:
            return None
        if user is None:
            raise options.invalid("basic.auth.password", "'basic.auth.username' beside it", shown=False)
        if password is None:
            raise options.invalid("basic.auth.username", "'basic.auth.password' beside it")
        if ":" in user:
            raise options.invalid("basic.auth.username", "a name without ':'")
        return cls(user, "Basic " + b64encode(f"{user}:{password}".encode()).decode())

    @property
    def header(self) -> str:
        """The value of the header ``Authorization``."""
        return self._header

    def matches(self, header: str | None) -> bool:
        """Return whether a header ``Authorization`` has these credentials."""
        return header is not None and hmac.compare_digest(header.encode(), self._header.encode())


def headers(options: OptionHolder) -> dict[str, str]:
    """Return the headers of the option ``headers`` and of the credentials.

    Raises:
        SiddhiAppCreationError: they are invalid.
    """
    try:
        found = pairs_of(options.secret("headers") or "")
    except ValueError:
        raise options.invalid("headers", "names and values such as 'a:1','b:2'", shown=False) from None
    if any(
        ord(character) < 32 or ord(character) == 127 for pair in found.items() for text in pair for character in text
    ):
        raise options.invalid("headers", "names and values without control characters", shown=False)
    credentials = Credentials.of(options)
    if credentials is not None:
        found["Authorization"] = credentials.header
    return found
