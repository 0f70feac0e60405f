"""Metadata of the source and sink ``mqtt``."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import ACK, BUFFER, QUEUE, UNACKNOWLEDGED
from siddhi.library.transports.security import CLIENT_TLS

__all__ = ["CONNECTORS"]

_BROKER: tuple[ConnectorOption, ...] = (
    ConnectorOption("url", "the broker: tcp://host:port, or ssl://host:port for TLS", required=True, place="url"),
    ConnectorOption("version", "version of MQTT: 3.1.1 or 5; default: 3.1.1"),
    ConnectorOption("client.id", "identifier of the client; default: a generated one"),
    ConnectorOption(
        "clean.session",
        "whether the broker forgets subscription and messages when the client disconnects; default: 'true'",
    ),
    ConnectorOption(
        "session.expiry",
        "how long it keeps them with clean.session = 'false' and version 5, in ms; default: without end",
        unit="ms",
    ),
    ConnectorOption("username", "the user"),
    ConnectorOption("password", "the password", secret=True),
    ConnectorOption(
        "keep.alive", "seconds without a message after which the client sends a ping; default: 60", unit="sec"
    ),
    ConnectorOption("connection.timeout", "seconds that the broker may take to answer; default: 30", unit="sec"),
    ConnectorOption(
        "will.topic", "topic of the message that the broker publishes when it loses the client", place="name"
    ),
    ConnectorOption("will.payload", "its text; default: empty"),
    ConnectorOption("will.quality.of.service", "its quality of service; default: 1"),
    ConnectorOption("will.retain", "whether the broker keeps it for later subscribers; default: 'false'"),
    *CLIENT_TLS,
)

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="mqtt",
        builtin="mqtt",
        location="mqtt.source.MqttSource",
        packages=("paho.mqtt.client",),
        extra="mqtt",
        options=(
            ConnectorOption("topic", "the topic; + and # are wildcards", required=True, place="name"),
            ConnectorOption("quality.of.service", "0, 1 or 2; default: 1"),
            ACK,
            BUFFER,
            UNACKNOWLEDGED,
            *_BROKER,
        ),
        description="Subscribes a topic of MQTT.",
        example="@source(type = 'mqtt', url = 'tcp://localhost:1883', topic = 'sensors/+/temperature',\n"
        "        client.id = 'alerts', clean.session = 'false', @map(type = 'json'))\n"
        "define stream Temperatures (room string, degrees double);",
    ),
    SinkMetadata(
        name="mqtt",
        builtin="mqtt",
        location="mqtt.sink.MqttSink",
        packages=("paho.mqtt.client",),
        extra="mqtt",
        options=(
            ConnectorOption("topic", "the topic", required=True, dynamic=True, place="name"),
            ConnectorOption("quality.of.service", "0, 1 or 2; default: 1", dynamic=True),
            ConnectorOption(
                "message.retain", "whether the broker keeps it for later subscribers; default: 'false'", dynamic=True
            ),
            ConnectorOption(
                "message.expiry", "ms after which the broker drops it, in version 5; default: never", unit="ms"
            ),
            ConnectorOption("user.properties", "'name:text','name:text', in version 5", dynamic=True),
            ConnectorOption("content.type", "description of the content, in version 5", dynamic=True),
            ConnectorOption("response.topic", "topic for answers, in version 5", dynamic=True, place="name"),
            QUEUE,
            *_BROKER,
        ),
        description="Publishes payloads to a topic of MQTT.",
        example="@sink(type = 'mqtt', url = 'tcp://localhost:1883', topic = 'alerts/{{room}}', @map(type = 'json'))\n"
        "define stream Alerts (room string, degrees double);",
    ),
)
