"""Options of connections to a broker of MQTT."""

from __future__ import annotations

import ssl
import uuid
from dataclasses import dataclass
from urllib.parse import urlsplit

from siddhi.io.options import OptionHolder
from siddhi.io.tls import client_context

__all__ = ["MqttOptions", "Will"]

_SCHEMES = {"tcp": False, "mqtt": False, "ssl": True, "tls": True, "mqtts": True}
_FOREVER = 0xFFFFFFFF
"""A session that never expires, in MQTT 5."""


@dataclass(frozen=True, slots=True)
class Will:
    """The message that the broker publishes when it loses the client."""

    topic: str
    payload: bytes
    qos: int
    retain: bool


@dataclass(frozen=True, slots=True)
class MqttOptions:
    """The checked options.

    Attributes:
        host: host of the broker.
        port: its port.
        tls: context of TLS; None: no TLS.
        version: 4 (MQTT 3.1.1) or 5.
        client_id: identifier of the client.
        clean: whether the broker forgets the session at its begin and end.
        expiry: seconds that the broker keeps a session without connection.
        username: the user; None: none.
        password: the password; None: none.
        keep_alive: seconds after which the client sends a ping; 0: never.
        timeout: seconds that the broker may take to answer.
        will: the last will; None: none.
    """

    host: str
    port: int
    tls: ssl.SSLContext | None
    version: int
    client_id: str
    clean: bool
    expiry: int
    username: str | None
    password: str | None
    keep_alive: int
    timeout: float
    will: Will | None

    @classmethod
    def read(cls, options: OptionHolder) -> MqttOptions:
        """Read the options.

        Raises:
            SiddhiAppCreationError: an option is missing or invalid, or can't be combined with another one.
        """
        host, port, uses_tls = _address(options)
        if not uses_tls:
            for name in options.names:
                if name.lower().startswith("tls."):
                    raise options.invalid(name, "a 'url' that begins with ssl:// or mqtts://", shown=False)
        version = 5 if options.choice("version", ("3.1.1", "5"), "3.1.1") == "5" else 4
        client_id = options.static("client.id", "").strip()
        clean = options.flag("clean.session", default=True)
        if not clean and not client_id:
            raise options.invalid(
                "clean.session", "'client.id' beside it: a session belongs to a client of a fixed name"
            )
        expiry = 0 if clean else _FOREVER
        if "session.expiry" in options:
            if version != 5 or clean:
                raise options.invalid("session.expiry", "version = '5' and clean.session = 'false' beside it")
            expiry = min(int(options.duration("session.expiry")), _FOREVER)
        username, password = options.optional("username"), options.secret("password")
        if password is not None and username is None:
            raise options.invalid("password", "'username' beside it", shown=False)
        keep_alive = options.duration("keep.alive", "60", unit="sec")
        if keep_alive > 65535:
            raise options.invalid("keep.alive", "at most 65535 seconds")
        return cls(
            host=host,
            port=port,
            tls=client_context(options) if uses_tls else None,
            version=version,
            client_id=client_id or f"siddhi-{uuid.uuid4().hex[:16]}",
            clean=clean,
            expiry=expiry,
            username=username,
            password=password,
            keep_alive=int(keep_alive),
            timeout=options.duration("connection.timeout", "30", unit="sec"),
            will=_will(options),
        )


def _address(options: OptionHolder) -> tuple[str, int, bool]:
    expected = "tcp://host:port (or mqtt://), or ssl://host:port (or mqtts://) for TLS"
    url = options.static("url")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise options.invalid("url", expected, shown=False) from None
    if parts.password is not None or parts.username is not None:
        raise options.invalid("url", f"{expected}; write 'username' and 'password' as options", shown=False)
    uses_tls = _SCHEMES.get(parts.scheme)
    if uses_tls is None or not host or parts.path.strip("/") or parts.query:
        raise options.invalid("url", expected)
    return host, port or (8883 if uses_tls else 1883), uses_tls


def check_topic(options: OptionHolder, name: str, *, has_wildcards: bool) -> None:
    """Check the static topic of an option.

    Args:
        options: the options.
        name: the option.
        has_wildcards: whether it may be a filter, with wildcards.

    Raises:
        SiddhiAppCreationError: it is none.
    """
    topic = options.static(name)
    levels = topic.split("/")
    is_topic = 0 < len(topic.encode(errors="replace")) < 65536 and "\0" not in topic
    if not has_wildcards and (not is_topic or "+" in topic or "#" in topic):
        raise options.invalid(name, "a topic such as sensors/1, without the wildcards + and #")
    has_misplaced = "#" in levels[:-1] or any(one not in ("+", "#") and set(one) & {"+", "#"} for one in levels)
    if not is_topic or has_misplaced:
        raise options.invalid(
            name, "a topic such as sensors/+/temperature or sensors/#: a wildcard is a whole level, # the last one"
        )


def _will(options: OptionHolder) -> Will | None:
    topic = options.optional("will.topic")
    if topic is None:
        for name in ("will.payload", "will.quality.of.service", "will.retain"):
            if name in options:
                raise options.invalid(name, "'will.topic' beside it")
        return None
    check_topic(options, "will.topic", has_wildcards=False)
    return Will(
        topic,
        options.static("will.payload", "").encode(),
        options.integer("will.quality.of.service", 1, most=2),
        options.flag("will.retain", default=False),
    )
