"""Configuration of librdkafka's clients from the options of an annotation."""

from __future__ import annotations

import logging
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from siddhi.io.options import OptionHolder
from siddhi.io.tls import client_context, pem_path

__all__ = ["Settings", "check_settings", "client_settings", "describe", "own_settings"]

logger = logging.getLogger("siddhi")

Settings = dict[str, Any]

_OWN_OPTIONS = {
    "bootstrap.servers": "bootstrap.servers",
    "metadata.broker.list": "bootstrap.servers",
    "group.id": "group.id",
    "transactional.id": "transactional.id",
    "auto.offset.reset": "auto.offset.reset",
    "security.protocol": "security.protocol",
    "ssl.ca.location": "tls.ca.file",
    "ssl.certificate.location": "tls.certificate.file",
    "ssl.key.location": "tls.key.file",
    "ssl.key.password": "tls.key.password",
    "enable.ssl.certificate.verification": "tls.verify",
    "ssl.endpoint.identification.algorithm": "tls.verify.hostname",
    "ssl.truststore.location": "tls.ca.file",
    "ssl.truststore.password": "tls.ca.file",
    "ssl.keystore.location": "tls.certificate.file",
    "ssl.keystore.password": "tls.key.password",
    "sasl.mechanism": "sasl.mechanism",
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.username": "sasl.username",
    "sasl.password": "sasl.password",
    "sasl.jaas.config": "sasl.mechanism', 'sasl.username' and 'sasl.password",
    "sasl.oauthbearer.client.secret": "oauth.client.secret",
    "sasl.oauthbearer.client.id": "oauth.client.id",
    "sasl.oauthbearer.token.endpoint.url": "oauth.token.url",
}
"""Settings of clients that have an option here: values are checked, and secrets are kept out of texts."""

_REFUSED = {
    "plugin.library.paths": "it loads code into the process",
    "ssl.engine.location": "it loads code into the process",
    "ssl.providers": "it loads code into the process",
    "sasl.kerberos.kinit.cmd": "it runs a command",
    "enable.auto.offset.store": "offsets are committed after their events are processed",
    "test.mock.num.brokers": "it replaces the brokers",
}
_WITHOUT_EFFECT = ("key.serializer", "value.serializer", "key.deserializer", "value.deserializer", "enable.auto.commit")
"""Settings of Java that say what is done here in any case."""
_JAVA_NAMES = {
    "delivery.timeout.ms": "message.timeout.ms",
    "max.request.size": "message.max.bytes",
    "max.in.flight.requests.per.connection": "max.in.flight",
    "max.partition.fetch.bytes": "max.partition.fetch.bytes",
    "metadata.max.age.ms": "metadata.max.age.ms",
    "connections.max.idle.ms": "connections.max.idle.ms",
}
_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
_OAUTH = {
    "oauth.client.id": "sasl.oauthbearer.client.id",
    "oauth.token.url": "sasl.oauthbearer.token.endpoint.url",
    "oauth.scope": "sasl.oauthbearer.scope",
}


def own_settings(options: OptionHolder) -> Settings:
    """Return the settings in ``optional.configuration``.

    Raises:
        SiddhiAppCreationError: one is not allowed there.
    """
    name = "optional.configuration"
    found: Settings = {}
    for key, value in options.pairs(name).items():
        if key in _OWN_OPTIONS:
            raise options.invalid(name, f"the option '{_OWN_OPTIONS[key]}' instead of '{key}'", shown=False)
        if key in _REFUSED:
            raise options.invalid(name, f"a list without '{key}': {_REFUSED[key]}", shown=False)
        if key == "buffer.memory":  # bytes in Java
            if not value.isdecimal():
                raise options.invalid(name, "a number of bytes for 'buffer.memory'", shown=False)
            found["queue.buffering.max.kbytes"] = max(1, int(value) // 1024)
        elif key not in _WITHOUT_EFFECT:
            found[_JAVA_NAMES.get(key, key)] = value
    return found


def client_settings(options: OptionHolder) -> Settings:
    """Return the settings of addresses and security.

    Raises:
        SiddhiAppCreationError: an option is invalid, or can't be combined with another one.
    """
    settings: Settings = {"bootstrap.servers": options.static("bootstrap.servers").replace(" ", "")}
    has_tls = any(name.lower().startswith("tls.") for name in options.names)
    mechanism = options.choice("sasl.mechanism", _MECHANISMS) if "sasl.mechanism" in options else None
    default = ("sasl_" if mechanism else "") + ("ssl" if has_tls else "plaintext")
    protocol = options.choice("security.protocol", _PROTOCOLS, default if default in _PROTOCOLS else "ssl")
    settings["security.protocol"] = protocol
    if has_tls and not protocol.endswith("ssl"):
        raise options.invalid("security.protocol", "ssl or sasl_ssl beside the options 'tls.*'")
    if (mechanism is not None) != protocol.startswith("sasl_"):
        raise options.invalid(
            "security.protocol", "sasl_plaintext or sasl_ssl if, and only if, 'sasl.mechanism' is set"
        )
    if protocol.endswith("ssl"):
        settings |= _tls(options)
    if mechanism is not None:
        settings["sasl.mechanism"] = mechanism
        settings |= _sasl(options, mechanism)
    return settings


def _tls(options: OptionHolder) -> Settings:
    client_context(options)  # checks the files, with errors that name the option
    settings: Settings = {}
    for name, key in (
        ("tls.ca.file", "ssl.ca.location"),
        ("tls.certificate.file", "ssl.certificate.location"),
        ("tls.key.file", "ssl.key.location"),
    ):
        path = pem_path(options, name)
        if path is not None:
            settings[key] = path
    if "ssl.certificate.location" in settings:
        settings.setdefault("ssl.key.location", settings["ssl.certificate.location"])
    password = options.secret("tls.key.password")
    if password is not None:
        settings["ssl.key.password"] = password
    verify = options.flag("tls.verify", default=True)
    settings["enable.ssl.certificate.verification"] = verify
    by_name = options.flag("tls.verify.hostname", default=verify) and verify
    settings["ssl.endpoint.identification.algorithm"] = "https" if by_name else "none"
    return settings


def _sasl(options: OptionHolder, mechanism: str) -> Settings:
    settings: Settings = {}
    if mechanism == "OAUTHBEARER":
        settings["sasl.oauthbearer.method"] = "oidc"
        for name, key in _OAUTH.items():
            if name in options or name != "oauth.scope":
                settings[key] = options.static(name)
        options.static("oauth.client.secret")
        settings["sasl.oauthbearer.client.secret"] = options.secret("oauth.client.secret")
    elif mechanism != "GSSAPI":
        settings["sasl.username"] = options.static("sasl.username")
        options.static("sasl.password")
        settings["sasl.password"] = options.secret("sasl.password")
    return settings


def check_settings(options: OptionHolder, kind: type[Consumer | Producer], settings: Settings) -> None:
    """Check that librdkafka accepts the settings.

    Raises:
        SiddhiAppCreationError: it does not.
    """
    # A client without brokers connects nowhere; without SASL it fetches no token.
    checked = {
        key: value for key, value in settings.items() if not key.startswith(("bootstrap.", "sasl.", "security."))
    }
    try:
        client = kind({**checked, "log_level": 0})
    except KafkaException as error:
        expected = f"settings that the client knows: {describe(error.args[0])}"
        raise options.invalid("optional.configuration", expected, shown=False) from None
    except (TypeError, ValueError) as error:
        raise options.invalid(
            "optional.configuration", f"settings that the client knows: {error}", shown=False
        ) from None
    if isinstance(client, Consumer):
        client.close()


def describe(error: KafkaError) -> str:
    """Return name and text of an error."""
    text: str = error.str()
    return text if error.name() in text else f"{error.name()}: {text}"
