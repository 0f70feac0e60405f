"""TLS of connectors: contexts from the options of an annotation (:mod:`siddhi.library.transports.security`)."""

from __future__ import annotations

import ssl

from siddhi.extension.local_files import local_path
from siddhi.io.options import OptionHolder

__all__ = ["client_context", "pem_path", "refuse_java_stores", "server_context"]

_JAVA_STORES = {"truststore": "tls.ca.file", "keystore": "tls.certificate.file"}
"""The option that stands here for those of a key store of Java, by a part of their names."""


def client_context(options: OptionHolder) -> ssl.SSLContext:
    """Return the context of a client: certificate and host name of the server are verified, unless options say otherwise.

    Raises:
        SiddhiAppCreationError: a file can't be read, or is not a certificate or key.
    """
    context = ssl.create_default_context(cafile=_authorities(options))
    verify = options.flag("tls.verify", default=True)
    context.check_hostname = options.flag("tls.verify.hostname", default=verify) and verify
    if not verify:
        context.verify_mode = ssl.CERT_NONE
    _load_certificate(context, options)
    return context


def server_context(options: OptionHolder) -> ssl.SSLContext | None:
    """Return the context of a server, which asks for certificates of clients if ``tls.ca.file`` is set; None: no TLS.

    Raises:
        SiddhiAppCreationError: as :func:`client_context`, or a certificate is missing.
    """
    if "tls.certificate.file" not in options:
        for name in ("tls.key.file", "tls.key.password", "tls.ca.file"):
            if name in options:
                raise options.invalid(name, "'tls.certificate.file' beside it", shown=False)
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authorities = _authorities(options)
    if authorities is not None:
        context.load_verify_locations(authorities)
        context.verify_mode = ssl.CERT_REQUIRED
    _load_certificate(context, options)
    return context


def refuse_java_stores(options: OptionHolder) -> None:
    """Refuse the options with which Siddhi on the JVM names its key stores.

    Raises:
        SiddhiAppCreationError: one of them is set.
    """
    for name in options.names:
        parts = name.lower().split(".")
        pem = next((_JAVA_STORES[part] for part in parts if part in _JAVA_STORES), None)
        if pem is None and parts == ["tls", "store", "type"]:
            pem = "tls.ca.file"
        if pem is not None:
            expected = f"'{pem}' with a PEM file instead; convert a key store of Java with keytool and openssl"
            raise options.invalid(name, expected, shown=False)


def _load_certificate(context: ssl.SSLContext, options: OptionHolder) -> None:
    certificate, key = pem_path(options, "tls.certificate.file"), pem_path(options, "tls.key.file")
    if certificate is None:
        if key is not None:
            raise options.invalid("tls.key.file", "'tls.certificate.file' beside it")
        return
    password = options.secret("tls.key.password")
    try:
        # A function, since OpenSSL would ask for a missing password on the terminal.
        context.load_cert_chain(certificate, key, password=lambda: password or "")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        name = "tls.certificate.file" if key is None else "tls.key.file"
        raise options.invalid(name, f"PEM files of a certificate and its key: {error}") from None


def pem_path(options: OptionHolder, name: str) -> str | None:
    """Return the path in an option; None: it is not set.

    Raises:
        SiddhiAppCreationError: it is not a local file, or a key store of Java.
    """
    text = options.optional(name)
    if text is None:
        return None
    path = local_path(text)
    if path is None:
        raise options.invalid(name, "a local file")
    if path.lower().endswith((".jks", ".p12", ".pfx", ".keystore", ".truststore")):
        raise options.invalid(name, "a PEM file; convert a key store of Java with keytool and openssl")
    return path


def _authorities(options: OptionHolder) -> str | None:
    path = pem_path(options, "tls.ca.file")
    if path is not None:
        try:
            ssl.create_default_context(cafile=path)
        except OSError as error:  # ssl.SSLError is one
            raise options.invalid("tls.ca.file", f"a PEM file of certificates: {error}") from None
    return path
