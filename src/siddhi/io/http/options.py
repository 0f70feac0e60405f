"""Options of the connectors of HTTP."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.connector import ConnectorContext
from siddhi.io.http.messages import Header
from siddhi.io.options import OptionHolder, pairs_of
from siddhi.io.tls import refuse_java_stores, server_context

__all__ = ["Address", "Limits", "header_of", "headers_of", "receiver_of", "refuse_stores", "status_ranges", "tls_of"]

DEFAULT_HOST = "0.0.0.0"  # noqa: S104 - Siddhi's default: all interfaces
DEFAULT_PORTS = {"http": 8280, "https": 8243}
MOST_BODY_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens.

    Attributes:
        host: host name or IP address.
        port: the port; 0: any free one.
        tls: the TLS options; None: there is no TLS.
    """

    host: str
    port: int
    tls: tuple[str | None, ...] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        """The URL without path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'http' if self.tls is None else 'https'}://{host}:{self.port}"


def refuse_stores(options: OptionHolder) -> None:
    """Refuse the options for key stores and TLS settings of Java.

    Raises:
        SiddhiAppCreationError: one of them is set.
    """
    refuse_java_stores(options)
    if "ssl.configurations" in options:
        raise options.invalid("ssl.configurations", "the options that begin with 'tls.' instead", shown=False)
    if "ssl.protocol" in options:
        options.choice("ssl.protocol", ("TLS", "TLSv1.2", "TLSv1.3"))


def receiver_of(
    options: OptionHolder, context: ConnectorContext, name: str = "receiver.url"
) -> tuple[Address, str, ssl.SSLContext | None]:
    """Return address, path and TLS of a server from its URL and the system configuration.

    Raises:
        SiddhiAppCreationError: the URL or the TLS options are invalid.
    """
    refuse_stores(options)
    config = context.config
    tls = tls_of(options)
    default_scheme = config.get("default.protocol", "http" if tls is None else "https").lower()
    default_path = f"/{quote(context.app)}/{quote(context.stream)}"
    url = options.static(name, "")
    expected = "a URL such as http://0.0.0.0:8280/trades"
    try:
        parts = urlsplit(url)
        scheme = (parts.scheme or default_scheme).lower()
        port = parts.port
        path = unquote(parts.path or ("/" if url else default_path), errors="strict")
    except ValueError:
        raise options.invalid(name, expected) from None
    if scheme not in DEFAULT_PORTS or (url and not parts.hostname) or parts.query or parts.fragment or parts.username:
        raise options.invalid(name, expected)
    if port is None:
        text = config.get(f"{scheme}.port", str(DEFAULT_PORTS[scheme]))
        if not (text.isascii() and text.isdecimal()) or int(text) > 65535:
            raise SiddhiAppCreationError(f"invalid '{scheme}.port' in the configuration: '{text}'", code="E326")
        port = int(text)
    if (scheme == "https") != (tls is not None):
        if tls is None:
            raise SiddhiAppCreationError(
                f"'{url or scheme}' requires the option 'tls.certificate.file'",
                code="E326",
                hint="set it to a PEM file",
            )
        raise options.invalid(name, "https, since 'tls.certificate.file' is set")
    address = Address(parts.hostname or config.get("default.host", DEFAULT_HOST), port, tls)
    return address, path, _server_tls(options)


def tls_of(options: OptionHolder) -> tuple[str | None, ...] | None:
    """Return the TLS options of a server, to compare them; None: it has no TLS."""
    names = ("tls.certificate.file", "tls.key.file", "tls.ca.file", "ssl.verify.client", "ssl.protocol")
    return tuple(options.optional(name) for name in names) if "tls.certificate.file" in options else None


def _server_tls(options: OptionHolder) -> ssl.SSLContext | None:
    context = server_context(options)
    if context is None:
        if "ssl.verify.client" in options:
            raise options.invalid("ssl.verify.client", "'tls.certificate.file' beside it")
        return None
    if "ssl.verify.client" in options:
        verify = options.choice("ssl.verify.client", ("require", "optional"))
        if "tls.ca.file" not in options:
            raise options.invalid("ssl.verify.client", "'tls.ca.file' beside it: the authorities of the clients")
        context.verify_mode = ssl.CERT_REQUIRED if verify == "require" else ssl.CERT_OPTIONAL
    least = options.choice("ssl.protocol", ("TLS", "TLSv1.2", "TLSv1.3"), "TLS")
    context.minimum_version = ssl.TLSVersion.TLSv1_3 if least == "TLSv1.3" else ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes of requests, and the answers to larger ones.

    Attributes:
        body: bytes of the largest body.
        body_answer: status and text of the answer to a larger one.
        header: bytes of the largest request line with its headers.
        header_answer: status and text of the answer to larger ones.
    """

    body: int = MOST_BODY_BYTES
    body_answer: tuple[int, str] = (413, "the body is too large")
    header: int = 64 * 1024
    header_answer: tuple[int, str] = (431, "the headers are too large")

    @classmethod
    def read(cls, options: OptionHolder) -> Limits:
        """Read the options.

        Raises:
            SiddhiAppCreationError: an option is invalid.
        """
        size = _Lists(options, "request.size.validation.configurations", "request.size.validation")
        header = _Lists(options, "header.validation.configurations", "header.size.validation", "header.validation")
        body = size.integer("maximum.value", MOST_BODY_BYTES)
        if "max.body.bytes" in options:
            body = options.integer("max.body.bytes", least=1)
        limits = cls(
            body=body,
            body_answer=size.answer(413, "the body is too large"),
            header=min(
                header.integer("maximum.request.line", 64 * 1024), header.integer("maximum.size", 64 * 1024), 64 * 1024
            ),
            header_answer=header.answer(431, "the headers are too large"),
        )
        size.end()
        header.end()
        return limits


class _Lists:
    """An option that is a list of settings, which hold if a switch among them is on."""

    def __init__(self, options: OptionHolder, name: str, switch: str, prefix: str | None = None) -> None:
        self._options = options
        self._name = name
        self._prefix = prefix or switch
        self._given = options.pairs(name)
        self._on = self._given.pop(switch, "false").strip().lower() == "true"

    def _take(self, name: str) -> str | None:
        text = self._given.pop(f"{self._prefix}.{name}", None)
        return text if self._on else None

    def integer(self, name: str, default: int) -> int:
        text = self._take(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdecimal()) or not int(text):
            raise self._options.invalid(self._name, f"a positive integer for '{self._prefix}.{name}'")
        return int(text)

    def answer(self, status: int, text: str) -> tuple[int, str]:
        status = self.integer("reject.status.code", status)
        if not 400 <= status <= 599:
            raise self._options.invalid(self._name, f"a status from 400 to 599 for '{self._prefix}.reject.status.code'")
        return status, self._take("reject.message") or text

    def end(self) -> None:
        for name in self._given:
            raise self._options.invalid(self._name, f"other settings than '{name}', which is not supported")


def header_of(name: str, value: str) -> Header:
    """Return a header for the wire.

    Raises:
        ValueError: it contains characters that a header can't have, such as line ends.
    """
    name = name.strip()
    if not name or not all(character.isalnum() or character in "!#$%&'*+-.^_`|~" for character in name):
        raise ValueError(f"invalid name of a header: {name!r}")
    if not name.isascii() or any(character in "\r\n\0" for character in value):
        raise ValueError(f"invalid value of the header '{name}': it contains a line end")
    return name.encode(), value.strip().encode()


def headers_of(text: str) -> list[Header]:
    """Return the headers in a list ``'name:value','name:value'``.

    Raises:
        ValueError: it is not such a list, or a header is invalid.
    """
    return [header_of(name, value) for name, value in pairs_of(text).items()]


def status_ranges(options: OptionHolder, name: str, default: str) -> frozenset[int]:
    """Return the status codes in an option such as ``200-299,404``.

    Raises:
        SiddhiAppCreationError: it is not such a list.
    """
    found: set[int] = set()
    for part in options.static(name, default).split(","):
        first, dash, last = part.strip().partition("-")
        try:
            start, end = int(first), int(last if dash else first)
        except ValueError:
            start = end = 0
        if not 100 <= start <= end <= 599:
            raise options.invalid(name, "status codes such as 200-299,404")
        found.update(range(start, end + 1))
    return frozenset(found)
