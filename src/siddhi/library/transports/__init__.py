"""Metadata of the transports, one module each; their classes are those of :mod:`siddhi.io`."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata
from siddhi.library.transports import (
    cdc,
    email,
    file,
    grpc,
    http,
    kafka,
    mqtt,
    nats,
    prometheus,
    rabbitmq,
    redis,
    s3,
    sqs,
    tcp,
    websocket,
)

__all__ = ["CONNECTORS"]

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    *cdc.CONNECTORS,
    *email.CONNECTORS,
    *file.CONNECTORS,
    *grpc.CONNECTORS,
    *http.CONNECTORS,
    *kafka.CONNECTORS,
    *mqtt.CONNECTORS,
    *nats.CONNECTORS,
    *prometheus.CONNECTORS,
    *rabbitmq.CONNECTORS,
    *redis.CONNECTORS,
    *s3.CONNECTORS,
    *sqs.CONNECTORS,
    *tcp.CONNECTORS,
    *websocket.CONNECTORS,
)
