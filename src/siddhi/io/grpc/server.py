"""gRPC servers: one for each address, shared by the sources of the process that use it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import grpc

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.grpc.options import Arguments, ServerCredentials, Target, server_arguments, server_credentials
from siddhi.io.http.access import Access
from siddhi.io.options import OptionHolder

__all__ = ["Answer", "Endpoint", "GrpcServer", "Refusal", "ServerOptions", "property_reader"]

logger = logging.getLogger("siddhi")

STREAM_ID = "stream.id"
"""Header that says which source of the event service gets a message: the name of its stream."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The payload and the headers of an answer."""

    payload: object
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A status instead of an answer, and the reason."""

    status: grpc.StatusCode
    reason: str


class Endpoint(Protocol):
    """A source that receives the messages of a method.

    Attributes:
        stream: name of its stream.
        target: the method.
        is_call: whether the method answers each message; otherwise it takes a stream of messages.
    """

    stream: str
    target: Target
    is_call: bool

    async def take(self, payload: str | bytes, properties: Mapping[str, object]) -> asyncio.Future[bool]:
        """Take a message of a stream, as soon as there is room; the result says whether it was processed."""

    async def answer(self, payload: str | bytes, properties: Mapping[str, object]) -> Answer | Refusal:
        """Return the answer to a message."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Options of a server. The sources that share it must have the same.

    Attributes:
        host: the address to listen on.
        address: host and port.
        credentials: its TLS.
        access: texts of the options of authentication.
        arguments: limits of its connections.
        grace: seconds that calls get to end at a shutdown.
    """

    host: str
    address: str
    credentials: ServerCredentials
    access: tuple[str | None, ...] = field(repr=False)
    arguments: Arguments
    grace: float

    @classmethod
    def of(cls, options: OptionHolder, target: Target) -> tuple[ServerOptions, Access | None]:
        """Read the options, and who may call; None: every client.

        Raises:
            SiddhiAppCreationError: one is invalid.
        """
        names = ("basic.auth.username", "basic.auth.password", "bearer.token")
        made = cls(
            target.host,
            target.address,
            server_credentials(options),
            tuple(options.optional(name) for name in names),
            server_arguments(options),
            options.duration("server.shutdown.waiting.time", "5", unit="sec"),
        )
        return made, Access.read(options)


@dataclass(slots=True)
class _Call:
    """A call that is being served: its method, the sources that it has used, and whether the server ends it."""

    path: str
    endpoints: set[int] = field(default_factory=set)
    is_ending: bool = False


class GrpcServer:
    """A listening server. Used on the event loop only."""

    _running: ClassVar[dict[str, GrpcServer]] = {}

    def __init__(self, options: ServerOptions, access: Access | None) -> None:
        self._options = options
        self._access = access
        self._methods: dict[str, dict[str, Endpoint]] = {}
        self._calls: dict[asyncio.Task[Any], _Call] = {}
        self._starting = asyncio.Lock()
        self._server: grpc.aio.Server | None = None

    @classmethod
    async def open(cls, options: ServerOptions, access: Access | None, endpoint: Endpoint) -> GrpcServer:
        """Add a source to the server of an address; the first one starts it.

        Raises:
            SiddhiAppCreationError: another source has the method and stream, or the server has other options.
            OSError: the address can't be used.
        """
        server = cls._running.setdefault(options.address, cls(options, access))
        if server._options != options:
            raise SiddhiAppCreationError(
                f"the server grpc://{options.address} runs with other options already",
                code="E326",
                hint="sources with one host and port need the same options of the server",
            )
        sources = server._methods.setdefault(endpoint.target.path, {})
        key = endpoint.stream if endpoint.target.format.has_headers else ""
        other = next(iter(sources.values()), None)
        if key in sources or (other is not None and other.is_call != endpoint.is_call):
            raise SiddhiAppCreationError(
                f"the method {endpoint.target.path} of grpc://{options.address} belongs to another source"
                + (f" of a stream '{endpoint.stream}'" if key else ""),
                code="E326",
                hint="use another method, port or name of the stream",
            )
        sources[key] = endpoint
        try:
            async with server._starting:
                if server._server is None:
                    server._server = await server._listen()
        except BaseException:
            await server.close(endpoint)
            raise
        return server

    async def _listen(self) -> grpc.aio.Server:
        options = self._options
        server = grpc.aio.server(options=options.arguments)
        server.add_generic_rpc_handlers((_Handlers(self._handler),))
        try:
            if options.credentials.made is None:
                port = server.add_insecure_port(options.address)
            else:
                port = server.add_secure_port(options.address, options.credentials.made)
        except RuntimeError as error:
            port, cause = 0, str(error)
        else:
            cause = "the address is in use"
        if port == 0:
            await server.stop(None)
            raise OSError(f"grpc://{options.address} can't be used: {cause}")
        await server.start()
        return server

    async def close(self, endpoint: Endpoint) -> None:
        """Remove a source and end its calls with UNAVAILABLE; the last one ends the server."""
        path = endpoint.target.path
        sources = self._methods.get(path, {})
        for key, one in tuple(sources.items()):
            if one is endpoint:
                del sources[key]
        if not sources:
            self._methods.pop(path, None)
        calls = [
            task
            for task, call in self._calls.items()
            if id(endpoint) in call.endpoints or (call.path == path and not sources)
        ]
        if not endpoint.is_call:  # the answers of calls are on their way
            for task in calls:
                self._calls[task].is_ending = True
                task.cancel()
        if calls:
            await asyncio.wait(calls, timeout=self._options.grace)
        if self._methods:
            return
        self._running.pop(self._options.address, None)
        server, self._server = self._server, None
        if server is not None:
            await server.stop(self._options.grace)

    def _handler(self, path: str) -> grpc.RpcMethodHandler | None:
        sources = self._methods.get(path)
        if not sources:
            return None
        if next(iter(sources.values())).is_call:
            return grpc.unary_unary_rpc_method_handler(self._noting(path, self._process))
        return grpc.stream_unary_rpc_method_handler(self._noting(path, self._consume))

    def _noting(self, path: str, serve: Callable[..., Any]) -> Callable[..., Any]:
        """Return a handler that can be ended."""

        async def handle(request: Any, context: Any) -> bytes:
            task = asyncio.current_task()
            assert task is not None
            call = self._calls[task] = _Call(path)
            try:
                await self._check(context)
                answer: bytes = await serve(call, request, context)
                return answer
            except asyncio.CancelledError:
                if call.is_ending:
                    await context.abort(grpc.StatusCode.UNAVAILABLE, "the app is shut down")
                raise
            finally:
                self._calls.pop(task, None)

        return handle

    async def _check(self, context: Any) -> None:
        if self._access is not None:
            given = dict(context.invocation_metadata() or ()).get("authorization")
            if not isinstance(given, str) or not self._access.allows(given):
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "the credentials are missing or wrong")

    async def _consume(self, call: _Call, messages: Any, context: Any) -> bytes:
        metadata = _texts(context.invocation_metadata())
        waiting: set[asyncio.Future[bool]] = set()
        failed = 0

        def done(outcome: asyncio.Future[bool]) -> None:
            nonlocal failed
            waiting.discard(outcome)
            failed += not (not outcome.cancelled() and outcome.result())

        async for message in messages:
            endpoint, payload, properties = await self._read(call, message, metadata, context)
            outcome = await endpoint.take(payload, properties)
            waiting.add(outcome)
            outcome.add_done_callback(done)
        if waiting:
            await asyncio.wait(tuple(waiting))
        if failed:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, f"{failed} messages could not be mapped")
        return b""  # google.protobuf.Empty

    async def _process(self, call: _Call, message: bytes, context: Any) -> bytes:
        metadata = _texts(context.invocation_metadata())
        endpoint, payload, properties = await self._read(call, message, metadata, context)
        answer = await endpoint.answer(payload, properties)
        if isinstance(answer, Refusal):
            await context.abort(answer.status, answer.reason)
            raise AssertionError("abort returned")
        if not endpoint.target.format.has_headers and answer.headers:
            metadata_of_answer = tuple((name.lower(), text) for name, text in answer.headers.items())
            await context.send_initial_metadata(metadata_of_answer)
        return endpoint.target.format.encode(answer.payload, answer.headers)

    async def _read(
        self, call: _Call, message: bytes, metadata: dict[str, str], context: Any
    ) -> tuple[Endpoint, str | bytes, dict[str, str]]:
        """Return the source of a message, its payload, and its properties."""
        sources = self._methods.get(call.path)
        if not sources:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the app is shut down")
        assert sources
        only = next(iter(sources.values()))
        try:
            payload, headers = only.target.format.decode(message)
        except ValueError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            raise
        properties = {**metadata, **headers}
        stream, endpoint = headers.get(STREAM_ID, metadata.get(STREAM_ID)), None
        if not only.target.format.has_headers or (stream is None and len(sources) == 1):
            endpoint = only
        elif stream is not None:
            endpoint = sources.get(stream)
        if endpoint is None:
            text = f"the header '{STREAM_ID}' is missing" if stream is None else f"no source of a stream '{stream}'"
            await context.abort(grpc.StatusCode.DATA_LOSS, text)
            raise AssertionError("abort returned")
        call.endpoints.add(id(endpoint))
        return endpoint, payload, properties


class _Handlers(grpc.GenericRpcHandler):  # type: ignore[misc] # grpc has no types
    def __init__(self, find: Callable[[str], grpc.RpcMethodHandler | None]) -> None:
        self._find = find

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        return self._find(handler_call_details.method)


def _texts(metadata: Any) -> dict[str, str]:
    return {name: value for name, value in metadata or () if isinstance(value, str)}


def property_reader(names: tuple[str, ...]) -> Callable[[Mapping[str, object]], list[object]]:
    """Return a function that finds the transport properties of these names; case counts only where there are several."""

    def read(properties: Mapping[str, object]) -> list[object]:
        lowered = {name.lower(): value for name, value in properties.items()}
        return [properties.get(name, lowered.get(name.lower())) for name in names]

    return read
