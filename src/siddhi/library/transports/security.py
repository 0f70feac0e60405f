"""Options of TLS that the transports of the network have; :mod:`siddhi.io.tls` reads them."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorOption

__all__ = ["BASIC_AUTH", "CLIENT_TLS", "SERVER_TLS", "java_stores"]

CLIENT_TLS: tuple[ConnectorOption, ...] = (
    ConnectorOption("tls.ca.file", "PEM file of the authorities to trust; default: those of the system", place="file"),
    ConnectorOption("tls.certificate.file", "PEM file of the client's certificate, and of its key", place="file"),
    ConnectorOption("tls.key.file", "PEM file of the key; default: that of the certificate", place="file"),
    ConnectorOption("tls.key.password", "password of the key", secret=True),
    ConnectorOption("tls.verify", "whether the certificate of the server is verified; default: 'true'"),
    ConnectorOption("tls.verify.hostname", "whether its name is that of the host; default: as 'tls.verify'"),
)
"""Options of clients."""

SERVER_TLS: tuple[ConnectorOption, ...] = (
    ConnectorOption("tls.certificate.file", "PEM file of the server's certificate, and of its key", place="file"),
    ConnectorOption("tls.key.file", "PEM file of the key; default: that of the certificate", place="file"),
    ConnectorOption("tls.key.password", "password of the key", secret=True),
    ConnectorOption(
        "tls.ca.file", "PEM file of the authorities of clients, which need a certificate then", place="file"
    ),
)
"""Options of servers."""

BASIC_AUTH: tuple[ConnectorOption, ...] = (
    ConnectorOption("basic.auth.username", "user name of basic authentication"),
    ConnectorOption("basic.auth.password", "its password", secret=True),
)
"""Options of basic authentication."""


def java_stores(*names: str) -> tuple[ConnectorOption, ...]:
    """Return options that name key stores of Java, which :func:`siddhi.io.tls.refuse_java_stores` refuses."""
    return tuple(ConnectorOption(name, "a key store of Java: refused, use PEM files", secret=True) for name in names)
