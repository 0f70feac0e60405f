"""Metadata of the sources and sinks of HTTP."""

from __future__ import annotations

from siddhi._frozen import replace
from siddhi.extension.connectors import ConnectorMetadata, ConnectorOption, SinkMetadata, SourceMetadata
from siddhi.library.transports.delivery import BUFFER, QUEUE
from siddhi.library.transports.security import CLIENT_TLS, SERVER_TLS, java_stores

__all__ = ["CONNECTORS"]

_TUNING = "has no effect: the sockets of all sources belong to one event loop"

_STORES: tuple[ConnectorOption, ...] = (
    *java_stores(
        "https.truststore.file",
        "https.truststore.password",
        "https.keystore.file",
        "https.keystore.password",
        "https.keystore.key.password",
        "tls.store.type",
    ),
    ConnectorOption("ssl.configurations", "refused: use the options that begin with 'tls.'"),
    ConnectorOption("ssl.protocol", "least version: TLS (1.2), TLSv1.2 or TLSv1.3; default: TLS"),
)

_RECEIVER: tuple[ConnectorOption, ...] = (
    ConnectorOption(
        "receiver.url",
        "where to listen; default: http://0.0.0.0:8280/<app>/<stream>, with TLS https and port 8243",
        place="url",
    ),
    ConnectorOption("basic.auth.enabled", "whether requests need a user and a password; default: if there are users"),
    ConnectorOption("basic.auth.username", "the user, if there is one"),
    ConnectorOption("basic.auth.password", "the password of this user", secret=True),
    ConnectorOption("basic.auth.users", "users and passwords: 'ada:secret','bob:secret'", secret=True),
    ConnectorOption("bearer.token", "requests need this bearer token, or a user", secret=True),
    ConnectorOption("cors.allow.origin", "origin of the web pages that may send requests; '' for none; default: '*'"),
    ConnectorOption("max.body.bytes", "bytes of the largest body; default: 16777216"),
    ConnectorOption(
        "socket.idle.timeout", "milliseconds after which an idle connection is closed; default: 120000", unit="ms"
    ),
    ConnectorOption(
        "buffer.wait", "milliseconds that a request waits for room before it is answered 503; default: 1000", unit="ms"
    ),
    ConnectorOption("ssl.verify.client", "require or optional: the certificates of clients; default: require"),
    ConnectorOption(
        "request.size.validation.configurations",
        "limit of bodies: 'request.size.validation:true','request.size.validation.maximum.value:2048'",
    ),
    ConnectorOption(
        "header.validation.configurations",
        "limit of headers: 'header.size.validation:true','header.validation.maximum.size:8192'",
    ),
    ConnectorOption("trace.log.enabled", "whether each request is logged; default: 'false'"),
    ConnectorOption("worker.count", "has no effect: requests are processed in the order of their arrival"),
    ConnectorOption("server.bootstrap.configurations", _TUNING),
    BUFFER,
    *SERVER_TLS,
    *_STORES,
)

_ACK = ConnectorOption(
    "ack",
    "when a request is answered: 'processed' (with 200, after the app has processed its events), 'checkpoint' (with 200, after "
    "they are part of a state that was persisted) or 'received' (with 202, at once); default: processed",
)
_HEADERS = ConnectorOption("headers", "more headers: 'X-Kind:trade','X-Symbol:{{symbol}}'", dynamic=True)
_POOLED = "has no effect: one pool keeps the connections"

_AUTHENTICATION: tuple[ConnectorOption, ...] = (
    ConnectorOption("basic.auth.username", "user of basic authentication"),
    ConnectorOption("basic.auth.password", "the password of this user", secret=True),
    ConnectorOption("bearer.token", "a bearer token", secret=True),
    ConnectorOption("token.url", "OAuth 2: where to get access tokens", place="url"),
    ConnectorOption("consumer.key", "OAuth 2: the client's identifier, sent as basic authentication"),
    ConnectorOption("consumer.secret", "OAuth 2: the client's secret", secret=True),
    ConnectorOption("body.consumer.key", "OAuth 2: the client's identifier, sent in the body"),
    ConnectorOption("body.consumer.secret", "OAuth 2: the client's secret", secret=True),
    ConnectorOption("oauth.username", "OAuth 2: the user"),
    ConnectorOption("oauth.password", "OAuth 2: the user's password", secret=True),
    ConnectorOption("oauth.scope", "OAuth 2: the scope; default: that of the server"),
    ConnectorOption("refresh.token", "OAuth 2: a refresh token", dynamic=True, secret=True),
)

_CLIENT: tuple[ConnectorOption, ...] = (
    _HEADERS,
    *_AUTHENTICATION,
    ConnectorOption("connect.timeout", "milliseconds to connect; default: 10000", unit="ms"),
    ConnectorOption("max.redirects", "number of redirects (307, 308) that are followed; default: 0"),
    ConnectorOption("proxy.host", "host of an HTTP proxy", place="url"),
    ConnectorOption("proxy.port", "its port; default: 80", place="url"),
    ConnectorOption("proxy.username", "user of the proxy"),
    ConnectorOption("proxy.password", "the password of this user", secret=True),
    ConnectorOption("ssl.verification.disabled", "whether certificates are not verified; default: 'false'"),
    ConnectorOption("hostname.verification.enabled", "as 'tls.verify.hostname'; default: 'true'"),
    ConnectorOption("client.bootstrap.configurations", _TUNING),
    *CLIENT_TLS,
    *_STORES,
)

_PUBLISHER: tuple[ConnectorOption, ...] = (
    ConnectorOption("publisher.url", "where to send requests", required=True, dynamic=True, place="url"),
    ConnectorOption("method", "the method; GET and HEAD have no body; default: POST", dynamic=True),
    ConnectorOption("idempotency.key", "value of the header Idempotency-Key, such as '{{id}}'", dynamic=True),
    ConnectorOption(
        "request.timeout", "milliseconds until the whole answer has arrived; 0: no limit; default: 30000", unit="ms"
    ),
    ConnectorOption(
        "socket.idle.timeout", "milliseconds to wait for each part of it; -1: no limit; default: -1", unit="ms"
    ),
    ConnectorOption("max.pool.active.connections", "number of connections; -1: no limit; default: -1"),
    ConnectorOption("min.evictable.idle.time", "milliseconds to keep an idle connection; default: 300000", unit="ms"),
    QUEUE,
    *_CLIENT,
    ConnectorOption("chunk.disabled", "has no effect: all requests have a Content-Length"),
    ConnectorOption("min.pool.idle.connections", _POOLED),
    ConnectorOption("max.pool.idle.connections", _POOLED),
    ConnectorOption("time.between.eviction.runs", _POOLED),
    ConnectorOption("max.wait.time", _POOLED),
    ConnectorOption("test.on.borrow", _POOLED),
    ConnectorOption("test.while.idle", _POOLED),
    ConnectorOption("exhausted.action", _POOLED),
)

_NOT_OF_STREAMS = frozenset(
    ("receiver.url", "socket.idle.timeout", "buffer.payloads", "buffer.wait", "trace.log.enabled")
)
_SOURCE_ID = ConnectorOption(
    "source.id", "connects the source and its sink, in the whole process", required=True, place="name"
)
_SINK_ID = ConnectorOption(
    "sink.id", "connects the sink and its sources, in the whole process", required=True, place="name"
)
_ARRIVES, _SENDS = ("httptools",), ("aiohttp",)


_PAIRS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="http-service",
        builtin="http-service",
        location="http.service.HttpServiceSource",
        packages=_ARRIVES,
        extra="http",
        options=(
            _SOURCE_ID,
            ConnectorOption("connection.timeout", "milliseconds to wait for the answer; default: 120000", unit="ms"),
            *_RECEIVER,
        ),
        description="Receives requests that the sink 'http-service-response' answers; 'trp:messageId' identifies them.",
        example="@source(type = 'http-service', source.id = 'adder', receiver.url = 'http://0.0.0.0:8280/add',\n"
        "    @map(type = 'json', @attributes(messageId = 'trp:messageId', v = '$.v')))\n"
        "define stream In (messageId string, v long);",
    ),
    SinkMetadata(
        name="http-service-response",
        builtin="http-service-response",
        location="http.service.HttpServiceResponseSink",
        packages=_ARRIVES,
        extra="http",
        options=(
            _SOURCE_ID,
            ConnectorOption("message.id", "identifies the request: '{{messageId}}'", required=True, dynamic=True),
            ConnectorOption("status.code", "the status code of the answer; default: 200", dynamic=True),
            _HEADERS,
        ),
        description="Answers the requests of the source 'http-service' with the same 'source.id'.",
        example="@sink(type = 'http-service-response', source.id = 'adder', message.id = '{{messageId}}', @map(type = 'json'))\n"
        "define stream Out (messageId string, v long);",
    ),
    SinkMetadata(
        name="http-call",
        builtin="http-call",
        location="http.call.HttpCallSink",
        packages=_SENDS,
        extra="http",
        options=(
            _SINK_ID,
            *_PUBLISHER,
            ConnectorOption("blocking.io", "whether a request waits for the answer before; default: 'false'"),
            ConnectorOption(
                "executor.service.threads", "number of requests at the same time, in any order; default: 20"
            ),
            ConnectorOption("max.body.bytes", "bytes of the largest answer; default: 16777216"),
            ConnectorOption("downloading.enabled", "whether answers are written to 'download.path'; default: 'false'"),
            ConnectorOption("download.path", "the file for an answer", dynamic=True, place="file"),
        ),
        description="Sends requests whose answers go to the source 'http-call-response' with the same 'sink.id'.",
        example="@sink(type = 'http-call', sink.id = 'rates', publisher.url = 'http://localhost:8080/rates',\n"
        "    @map(type = 'json'))\n"
        "define stream Questions (currency string);",
    ),
    SourceMetadata(
        name="http-call-response",
        builtin="http-call-response",
        location="http.call.HttpCallResponseSource",
        packages=_SENDS,
        extra="http",
        options=(
            _SINK_ID,
            ConnectorOption("http.status.code", "regular expression of the status codes; default: 200"),
            ConnectorOption(
                "allow.streaming.responses", "whether each part of an answer is a payload; default: 'false'"
            ),
            BUFFER,
        ),
        description="Receives the answers to the requests of the sink 'http-call' with the same 'sink.id'.",
        example="@source(type = 'http-call-response', sink.id = 'rates', http.status.code = '2..', @map(type = 'json'))\n"
        "define stream Rates (currency string, rate double);",
    ),
)

_OLD = {
    "http-service": "http-request",
    "http-service-response": "http-response",
    "http-call": "http-request",
    "http-call-response": "http-response",
}
_OLD_NAMES = tuple(
    replace(
        one,
        name=_OLD[one.name],
        builtin=_OLD[one.name],
        description=f"Old name of '{one.name}'.",
        example=one.example.replace(f"'{one.name}'", f"'{_OLD[one.name]}'"),
    )
    for one in _PAIRS
)

CONNECTORS: tuple[ConnectorMetadata, ...] = (
    SourceMetadata(
        name="http",
        builtin="http",
        location="http.source.HttpSource",
        packages=_ARRIVES,
        extra="http",
        options=(*_RECEIVER, _ACK),
        description="Receives POST requests; each is answered with 200 after its events were processed.",
        example="@source(type = 'http', receiver.url = 'http://0.0.0.0:8280/trades', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="http",
        builtin="http",
        location="http.sink.HttpSink",
        packages=_SENDS,
        extra="http",
        options=(
            *_PUBLISHER,
            ConnectorOption("success.codes", "status codes that count as success; default: 200-299"),
            ConnectorOption(
                "executor.service.threads",
                "number of requests at the same time; with more than one, in any order; default: 1",
            ),
        ),
        description="Sends each payload as a request.",
        example="@sink(type = 'http', publisher.url = 'http://localhost:8080/alerts', @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
    *_PAIRS,
    *_OLD_NAMES,
    SourceMetadata(
        name="sse",
        builtin="sse",
        location="http.sse_source.SseSource",
        packages=_SENDS,
        extra="http",
        options=(
            ConnectorOption("receiver.url", "the stream of events", required=True, place="url"),
            ConnectorOption(
                "socket.idle.timeout", "milliseconds to wait for the next bytes; 0: no limit; default: 0", unit="ms"
            ),
            ConnectorOption(
                "reconnect.pause",
                "milliseconds until a stream that has ended is requested again, if the server does not set them; "
                "default: 3000",
                unit="ms",
            ),
            BUFFER,
            *_CLIENT,
            ConnectorOption("worker.count", "has no effect: events are processed in their order"),
        ),
        description="Receives server-sent events; the data of each is a payload.",
        example="@source(type = 'sse', receiver.url = 'http://localhost:8080/events', @map(type = 'json'))\n"
        "define stream Trades (symbol string, price double);",
    ),
    SinkMetadata(
        name="sse-server",
        builtin="sse-server",
        location="http.sse_server.SseServerSink",
        packages=_ARRIVES,
        extra="http",
        options=(
            ConnectorOption("server.url", _RECEIVER[0].description, place="url"),
            ConnectorOption("event.type", "kind of the event", dynamic=True),
            ConnectorOption("event.id", "identifier of the event", dynamic=True),
            ConnectorOption(
                "replay.events", "number of events that are kept for clients that connect again; default: 0"
            ),
            ConnectorOption("headers", "more headers of the answers: 'X-Kind:trade'"),
            *(option for option in _RECEIVER if option.name not in _NOT_OF_STREAMS),
            QUEUE,
        ),
        description="Pushes payloads as server-sent events to all clients that have requested the URL.",
        example="@sink(type = 'sse-server', server.url = 'http://0.0.0.0:8280/alerts', @map(type = 'json'))\n"
        "define stream Alerts (symbol string, price double);",
    ),
)
