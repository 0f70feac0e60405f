"""Client of a gRPC service: its channel, and the errors of calls."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc

from siddhi.errors import ConnectionUnavailableError, MappingFailedError
from siddhi.io.grpc.options import Target, channel_arguments, client_credentials, metadata_of
from siddhi.io.options import DynamicOptions, OptionHolder, pairs_of

__all__ = ["GrpcChannel"]

_OF_THE_PAYLOAD = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.OUT_OF_RANGE)
"""Statuses that the same message would get again."""


class GrpcChannel:
    """The channel of a sink.

    Attributes:
        target: the method.

    Raises:
        SiddhiAppCreationError: an option is invalid.
    """

    def __init__(self, options: OptionHolder, method: str) -> None:
        self.target = Target.of(options, "publisher.url", method)
        self._arguments = channel_arguments(options, self.target)
        self._credentials = client_credentials(options)
        self._metadata = metadata_of(options)
        self._headers = options.option("headers", "")
        if self._headers.is_static:
            options.pairs("headers")
        self._connect_timeout = options.duration("connection.timeout", "10 sec")
        self.closing_timeout = options.duration("channel.termination.waiting.time", "5", unit="sec")
        self._channel: grpc.aio.Channel | None = None

    @property
    def name(self) -> str:
        """The method for messages."""
        return f"grpc://{self.target.address}{self.target.path}"

    async def open(self) -> grpc.aio.Channel:
        """Connect.

        Raises:
            ConnectionUnavailableError: the server can't be reached.
        """
        if self._credentials is None:
            channel = grpc.aio.insecure_channel(self.target.address, options=self._arguments)
        else:
            channel = grpc.aio.secure_channel(self.target.address, self._credentials, options=self._arguments)
        self._channel = channel
        try:
            await asyncio.wait_for(channel.channel_ready(), self._connect_timeout)
        except asyncio.TimeoutError:
            raise ConnectionUnavailableError(f"{self.name}: no connection within {self._connect_timeout:g} s") from None
        return channel

    async def close(self) -> None:
        """Close the channel."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    def message(self, payload: object, options: DynamicOptions) -> tuple[bytes, tuple[tuple[str, str], ...]]:
        """Return the message of a payload, and the metadata of its call.

        Raises:
            MappingFailedError: the service can't carry the payload, or its headers are not pairs of names and texts.
        """
        try:
            headers = pairs_of(str(self._headers.value(options)))
        except ValueError as error:
            raise MappingFailedError(f"option 'headers': {error}") from None
        if self.target.sequence is not None:
            headers["sequence"] = self.target.sequence
        content = self.target.format.encode(payload, headers)
        if self.target.format.has_headers:
            return content, self._metadata
        return content, (*self._metadata, *((name.lower(), text) for name, text in headers.items()))

    async def failure(self, call: Any, error: BaseException) -> Exception:
        """Return the error of a call that failed."""
        if isinstance(error, grpc.aio.AioRpcError):
            code, details = error.code(), error.details()
        elif call is not None and call.done():
            code, details = await call.code(), await call.details()
        else:
            return ConnectionUnavailableError(f"{self.name}: {type(error).__name__}: {error}")
        text = f"{self.name}: {code.name}: {details or 'no details'}"
        return (MappingFailedError if code in _OF_THE_PAYLOAD else ConnectionUnavailableError)(text)
