"""Options of gRPC: URLs, TLS, limits of channels and servers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc

from siddhi.errors import SiddhiAppCreationError
from siddhi.extension.local_files import local_path
from siddhi.io.grpc.messages import EVENT_SERVICE, EventFormat, Format, RawFormat
from siddhi.io.options import OptionHolder, pairs_of
from siddhi.io.tls import client_context, refuse_java_stores, server_context

__all__ = ["Target", "channel_arguments", "client_credentials", "metadata_of", "server_arguments", "server_credentials"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
_FOREVER = 2**31 - 1
_TLS = ("tls.certificate.file", "tls.key.file", "tls.key.password", "tls.ca.file")

Arguments = tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A method of a service: ``grpc://host:port/package.Service/method``, for the event service also ``/sequence``.

    Attributes:
        host: the host.
        port: the port.
        path: service and method, as gRPC names them: ``/package.Service/method``.
        sequence: text of the header ``sequence``; None: there is none.
        format: the format of its messages.
    """

    host: str
    port: int
    path: str
    sequence: str | None
    format: Format

    @property
    def address(self) -> str:
        """Host and port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def of(cls, options: OptionHolder, name: str, method: str) -> Target:
        """Read a URL.

        Args:
            options: the options.
            name: the option.
            method: the method of the event service that fits the connector.

        Raises:
            SiddhiAppCreationError: it is invalid, or names another method of the event service.
        """
        expected = f"a URL such as grpc://localhost:8888/{EVENT_SERVICE}/{method}"
        try:
            parts = urlsplit(options.static(name).strip())
            host, port = parts.hostname, parts.port
        except ValueError:
            raise options.invalid(name, expected) from None
        service, *rest = parts.path.strip("/").split("/")
        is_event_service = service == EVENT_SERVICE
        if is_event_service and not rest:
            rest = [method]
        if (
            parts.scheme != "grpc"
            or host is None
            or port is None
            or parts.query
            or not _NAME.fullmatch(service)
            or not 1 <= len(rest) <= 1 + is_event_service
            or not _NAME.fullmatch(rest[0])
        ):
            raise options.invalid(name, expected)
        if is_event_service and rest[0] != method:
            raise options.invalid(name, f"the method '{method}' of the event service: {expected}")
        made: Format = EventFormat() if is_event_service else RawFormat()
        return cls(host, port, f"/{service}/{rest[0]}", rest[1] if len(rest) > 1 else None, made)


@dataclass(frozen=True, slots=True)
class ServerCredentials:
    """TLS of a server. The credentials are not part of comparisons, but the options that they come from are."""

    texts: tuple[str | None, ...] = field(repr=False)
    made: Any = field(repr=False, compare=False)  # grpc.ServerCredentials; None: no TLS


def server_credentials(options: OptionHolder) -> ServerCredentials:
    """Read the TLS of a server.

    Raises:
        SiddhiAppCreationError: a file is missing or invalid.
    """
    context = server_context(options)  # checks the files
    _check_switches(options, has_tls=context is not None)
    if context is None:
        if options.flag("enable.ssl", default=False):
            raise options.invalid("enable.ssl", "'tls.certificate.file' beside it")
        return ServerCredentials((), None)
    authorities = _content(options, "tls.ca.file")
    if options.flag("mutual.auth.enabled", default=authorities is not None) and authorities is None:
        raise options.invalid("mutual.auth.enabled", "'tls.ca.file' beside it")
    certificate = _content(options, "tls.certificate.file")
    key = _content(options, "tls.key.file") or certificate
    made = grpc.ssl_server_credentials([(key, certificate)], authorities, require_client_auth=authorities is not None)
    return ServerCredentials(tuple(options.optional(name) for name in _TLS), made)


def client_credentials(options: OptionHolder) -> grpc.ChannelCredentials | None:
    """Read the TLS of a client; None: no TLS.

    Raises:
        SiddhiAppCreationError: a file is missing or invalid.
    """
    names = [name for name in options.names if name.lower().startswith("tls.")]
    is_enabled = options.flag("enable.ssl", default=bool(names))
    _check_switches(options, has_tls=is_enabled)
    if not is_enabled:
        if names:
            raise options.invalid(names[0], "'enable.ssl' = 'true' beside it", shown=False)
        return None
    for name in ("tls.verify", "tls.verify.hostname"):
        if not options.flag(name, default=True):
            raise options.invalid(name, "'true': gRPC always verifies the server; set 'tls.ca.file'")
    client_context(options)  # checks the files
    certificate = _content(options, "tls.certificate.file")
    if options.flag("mutual.auth.enabled", default=certificate is not None) and certificate is None:
        raise options.invalid("mutual.auth.enabled", "'tls.certificate.file' beside it")
    key = _content(options, "tls.key.file") or certificate
    return grpc.ssl_channel_credentials(_content(options, "tls.ca.file"), key, certificate)


def _check_switches(options: OptionHolder, *, has_tls: bool) -> None:
    refuse_java_stores(options)
    if "tls.key.password" in options:
        expected = "a key without password, which gRPC needs: openssl pkey -in key.pem -out open.pem"
        raise options.invalid("tls.key.password", expected, shown=False)
    if not has_tls and options.flag("mutual.auth.enabled", default=False):
        raise options.invalid("mutual.auth.enabled", "TLS beside it: 'enable.ssl' = 'true' and PEM files")


def _content(options: OptionHolder, name: str) -> bytes | None:
    text = options.optional(name)
    path = None if text is None else local_path(text)
    return None if path is None else Path(path).read_bytes()


def server_arguments(options: OptionHolder) -> Arguments:
    """Return the arguments of a server's channels."""
    return (*_sizes(options), ("grpc.so_reuseport", 0))  # otherwise two processes could share the port unnoticed


def channel_arguments(options: OptionHolder, target: Target) -> Arguments:
    """Return the arguments of a client's channel.

    Raises:
        SiddhiAppCreationError: an option is invalid.
    """
    alive = options.static("keep.alive.time", "").strip()
    found: list[tuple[str, Any]] = [
        *_sizes(options),
        ("grpc.client_idle_timeout_ms", _milliseconds(options, "idle.timeout", "1800")),
        ("grpc.keepalive_timeout_ms", _milliseconds(options, "keep.alive.timeout", "20")),
        ("grpc.keepalive_permit_without_calls", int(options.flag("keep.alive.without.calls", default=False))),
        ("grpc.per_rpc_retry_buffer_size", options.integer("per.rpc.buffer.size", 1048576, most=_FOREVER)),
    ]
    if alive and alive != str(2**63 - 1):
        found.append(("grpc.keepalive_time_ms", _milliseconds(options, "keep.alive.time", alive)))
    if "keep.alive.time" not in options:
        options.without_effect(("keep.alive.timeout", "keep.alive.without.calls"), "'keep.alive.time'")
    attempts = options.integer("max.retry.attempts", 5, least=2, most=5)
    if options.flag("enable.retry", default=False):
        policy = {
            "maxAttempts": attempts,
            "initialBackoff": "0.1s",
            "maxBackoff": "5s",
            "backoffMultiplier": 2,
            "retryableStatusCodes": ["UNAVAILABLE"],
        }
        service = target.path.split("/")[1]
        config = {"methodConfig": [{"name": [{"service": service}], "retryPolicy": policy}]}
        found.append(("grpc.service_config", json.dumps(config)))
    else:
        options.without_effect(("max.retry.attempts", "per.rpc.buffer.size"), "enable.retry = 'true'")
        found.append(("grpc.enable_retries", 0))
    return tuple(found)


def _sizes(options: OptionHolder) -> Arguments:
    return (
        ("grpc.max_receive_message_length", options.integer("max.inbound.message.size", 4194304, most=_FOREVER)),
        ("grpc.max_metadata_size", options.integer("max.inbound.metadata.size", 8192, most=_FOREVER)),
    )


def _milliseconds(options: OptionHolder, name: str, default: str) -> int:
    return min(max(1, int(options.duration(name, default, unit="sec") * 1000)), _FOREVER)


def metadata_of(options: OptionHolder) -> tuple[tuple[str, str], ...]:
    """Return the metadata that each call gets.

    Raises:
        SiddhiAppCreationError: it is invalid.
    """
    try:
        found = pairs_of(options.secret("metadata") or "")
        if not all(re.fullmatch(r"[0-9a-z_.-]+", name.lower()) and text.isascii() for name, text in found.items()):
            raise ValueError
    except ValueError:
        raise options.invalid(
            "metadata", "ASCII names and texts such as 'authorization:Bearer x'", shown=False
        ) from None
    token = options.secret("bearer.token")
    if token is not None:
        found["authorization"] = f"Bearer {token}"
    if any(name.lower().endswith("-bin") for name in found):
        raise SiddhiAppCreationError("option 'metadata' can't contain binary metadata ('-bin')", code="E326")
    return tuple((name.lower(), text) for name, text in found.items())
