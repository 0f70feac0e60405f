"""Metadata of the sources and sinks of gRPC."""

from __future__ import annotations

from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import BUFFER, QUEUE
from siddhi.library.transports.security import BASIC_AUTH, CLIENT_TLS, SERVER_TLS, java_stores

__all__ = ["CONNECTORS"]

_STORES = java_stores(
    "truststore.file",
    "truststore.password",
    "truststore.algorithm",
    "tls.store.type",
    "keystore.file",
    "keystore.password",
    "keystore.algorithm",
)
_MUTUAL = ConnectorOption(
    "mutual.auth.enabled", "whether both sides show certificates; default: as the PEM files are given"
)
_SIZES = (
    ConnectorOption("max.inbound.message.size", "bytes of the largest message that is received; default: 4194304"),
    ConnectorOption("max.inbound.metadata.size", "bytes of the largest metadata that is received; default: 8192"),
)
_SERVER = (
    ConnectorOption(
        "receiver.url",
        "the method: grpc://host:port/package.Service/method; org.wso2.grpc.EventService is Siddhi's own",
        required=True,
        place="url",
    ),
    *_SIZES,
    ConnectorOption(
        "server.shutdown.waiting.time", "seconds that calls get to end at a shutdown; default: 5", unit="sec"
    ),
    ConnectorOption("threadpool.size", "has no effect: the event loop serves all calls"),
    ConnectorOption("threadpool.buffer.size", "has no effect: 'buffer.payloads' limits what waits"),
    *BASIC_AUTH,
    ConnectorOption("bearer.token", "token that clients must send", secret=True),
    ConnectorOption("enable.ssl", "whether the server uses TLS; default: 'true' with 'tls.certificate.file'"),
    _MUTUAL,
    *SERVER_TLS,
    *_STORES,
    BUFFER,
)
_CLIENT = (
    ConnectorOption(
        "publisher.url",
        "the method: grpc://host:port/package.Service/method; org.wso2.grpc.EventService is Siddhi's own",
        required=True,
        place="url",
    ),
    ConnectorOption(
        "headers", "headers of the message, or metadata of a user's service: 'a:1','b:2'; default: none", dynamic=True
    ),
    ConnectorOption("metadata", "metadata of each call: 'a:1','b:2'; default: none", secret=True),
    ConnectorOption("bearer.token", "token that each call sends", secret=True),
    ConnectorOption("connection.timeout", "longest time to connect, in ms; default: 10 sec", unit="ms"),
    ConnectorOption("call.timeout", "longest time for an answer, in ms; default: 30 sec", unit="ms"),
    ConnectorOption(
        "idle.timeout", "seconds without a call after which the connection is closed; default: 1800", unit="sec"
    ),
    ConnectorOption("keep.alive.time", "seconds without traffic before a ping; default: no pings", unit="sec"),
    ConnectorOption("keep.alive.timeout", "seconds to wait for its answer; default: 20", unit="sec"),
    ConnectorOption("keep.alive.without.calls", "whether there are pings without calls; default: 'false'"),
    ConnectorOption("enable.retry", "whether gRPC itself repeats calls that failed; default: 'false'"),
    ConnectorOption("max.retry.attempts", "number of attempts then, from 2 to 5; default: 5"),
    ConnectorOption("retry.buffer.size", "has no effect: 'per.rpc.buffer.size' limits what is kept"),
    ConnectorOption("per.rpc.buffer.size", "bytes that are kept to repeat a call; default: 1048576"),
    ConnectorOption(
        "channel.termination.waiting.time", "seconds that the end of the channel may take; default: 5", unit="sec"
    ),
    *_SIZES,
    ConnectorOption("enable.ssl", "whether the connection uses TLS; default: 'true' with a 'tls.*' option"),
    _MUTUAL,
    *CLIENT_TLS,
    *_STORES,
    QUEUE,
)
_PACKAGES = ("grpc", "google.protobuf")

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="grpc",
        builtin="grpc",
        location="grpc.source.GrpcSource",
        packages=_PACKAGES,
        extra="grpc",
        options=_SERVER,
        description="Receives messages of gRPC clients.",
        example="@source(type = 'grpc', receiver.url = 'grpc://localhost:8888/org.wso2.grpc.EventService/consume', "
        "@map(type = 'json'))\ndefine stream Trades (symbol string, price double);",
    ),
    SourceMetadata(
        name="grpc-service",
        builtin="grpc-service",
        location="grpc.service.GrpcServiceSource",
        packages=_PACKAGES,
        extra="grpc",
        options=(
            ConnectorOption(
                "source.id", "name that the sink 'grpc-service-response' refers to", required=True, place="name"
            ),
            ConnectorOption(
                "service.timeout",
                "milliseconds (or '5 sec') until a call without answer ends; default: 10000",
                unit="ms",
            ),
            *_SERVER,
        ),
        description="Receives calls of gRPC clients, which the sink 'grpc-service-response' answers.",
        example="@source(type = 'grpc-service', source.id = 'adder', "
        "receiver.url = 'grpc://localhost:8888/org.wso2.grpc.EventService/process',\n"
        "    @map(type = 'json', @attributes(id = 'trp:message.id', v = '$.v')))\n"
        "define stream Calls (id string, v long);",
    ),
    SourceMetadata(
        name="grpc-call-response",
        builtin="grpc-call-response",
        location="grpc.call.GrpcCallResponseSource",
        packages=_PACKAGES,
        extra="grpc",
        options=(ConnectorOption("sink.id", "name of the sink 'grpc-call'", required=True, place="name"), BUFFER),
        description="Receives the answers to the calls of the sink 'grpc-call'.",
        example="@source(type = 'grpc-call-response', sink.id = 'adder', @map(type = 'json'))\n"
        "define stream Sums (v long);",
    ),
    SinkMetadata(
        name="grpc",
        builtin="grpc",
        location="grpc.sink.GrpcSink",
        packages=_PACKAGES,
        extra="grpc",
        options=(
            *_CLIENT,
            ConnectorOption(
                "confirm",
                "whether each payload is a call of its own, published when the server has answered; otherwise all are messages "
                "of one stream; default: 'false' for the event service, else 'true'",
            ),
        ),
        description="Sends messages to a gRPC service.",
        example="@sink(type = 'grpc', publisher.url = 'grpc://localhost:8888/org.wso2.grpc.EventService/consume', "
        "@map(type = 'json'))\ndefine stream Alerts (symbol string, price double);",
    ),
    SinkMetadata(
        name="grpc-call",
        builtin="grpc-call",
        location="grpc.call.GrpcCallSink",
        packages=_PACKAGES,
        extra="grpc",
        options=(
            ConnectorOption(
                "sink.id", "name that the source 'grpc-call-response' refers to", required=True, place="name"
            ),
            ConnectorOption("concurrency", "number of calls at the same time; more than one keep no order; default: 1"),
            *_CLIENT,
        ),
        description="Calls a gRPC service; the source 'grpc-call-response' receives the answers.",
        example="@sink(type = 'grpc-call', sink.id = 'adder', "
        "publisher.url = 'grpc://localhost:8888/org.wso2.grpc.EventService/process', @map(type = 'json'))\n"
        "define stream Calls (v long);",
    ),
    SinkMetadata(
        name="grpc-service-response",
        builtin="grpc-service-response",
        location="grpc.service.GrpcServiceResponseSink",
        packages=_PACKAGES,
        extra="grpc",
        options=(
            ConnectorOption("source.id", "name of the source 'grpc-service'", required=True, place="name"),
            ConnectorOption("message.id", "id of the call: its property message.id", required=True, dynamic=True),
            ConnectorOption("headers", "headers of the answer: 'a:1','b:2'; default: none", dynamic=True),
        ),
        description="Answers the calls of the source 'grpc-service'.",
        example="@sink(type = 'grpc-service-response', source.id = 'adder', message.id = '{{id}}', @map(type = 'json'))\n"
        "define stream Sums (id string, v long);",
    ),
)
