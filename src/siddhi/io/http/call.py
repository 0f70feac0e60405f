"""``@sink(type = 'http-call')`` and ``@source(type = 'http-call-response')``: requests whose answers are payloads."""

from __future__ import annotations

import asyncio
import logging
import os
import re
from pathlib import Path
from typing import BinaryIO, ClassVar

import aiohttp

from siddhi.errors import ConnectionUnavailableError, MappingFailedError
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.event_loop import end_tasks
from siddhi.io.file.options import path_of_event, path_prefixes
from siddhi.io.http.payloads import encode, payload_reader
from siddhi.io.http.sink import HttpSink
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.source import SourceEventListener
from siddhi.repeats import Repeats

__all__ = ["HttpCallResponseSource", "HttpCallSink"]

logger = logging.getLogger("siddhi")

MOST_BODY_BYTES = 16 * 1024 * 1024
_CHUNK = 1 << 16


class HttpCallResponseSource(AsyncSource):
    """Receives the answers to the requests of the sink ``http-call`` with the same ``sink.id``.

    An answer goes to the first source, in the order in which they connected, whose ``http.status.code`` matches its status
    code.
    """

    output_event_classes = (str, bytes, dict)
    _by_id: ClassVar[dict[str, list[HttpCallResponseSource]]] = {}

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        self._id = options.static("sink.id")
        try:
            self._statuses = re.compile(options.static("http.status.code", "200"))
        except re.error as error:
            raise options.invalid("http.status.code", f"a regular expression such as '2\\d+': {error}") from None
        self.streams = options.flag("allow.streaming.responses", default=False)
        self._read = payload_reader(context.mapper)
        self._names = transport_properties
        self._stopped = asyncio.Event()

    @classmethod
    def find(cls, id_: str, status: int) -> HttpCallResponseSource | None:
        """Return the source for an answer. On the event loop only."""
        for source in cls._by_id.get(id_, ()):
            if source._statuses.fullmatch(str(status)):
                return source
        return None

    async def open(self) -> None:
        self._stopped = asyncio.Event()
        self._by_id.setdefault(self._id, []).append(self)

    async def receive(self) -> None:
        """Wait until no more answers are accepted."""
        try:
            await self._stopped.wait()
        finally:
            self._leave()

    async def close(self) -> None:
        self._leave()

    def _leave(self) -> None:
        self._stopped.set()
        sources = self._by_id.get(self._id, [])
        if self in sources:
            sources.remove(self)
        if not sources:
            self._by_id.pop(self._id, None)

    async def give(
        self, body: bytes, response: aiohttp.ClientResponse, attributes: dict[str, object], *, path: str | None = None
    ) -> None:
        """Hand an answer, or a part of it, to the app; wait while it has no room.

        Args:
            body: the body, or a part of it.
            response: status and headers of the answer.
            attributes: attributes of the first event of the request.
            path: the file with the body, which is the payload then; None: the body is.

        Raises:
            MappingFailedError: the body is not in its charset.
            ConnectionUnavailableError: the source was disconnected.
        """
        properties = [self._property(name, response, attributes) for name in self._names]
        try:
            payload = path if path is not None else self._read(body, response.headers.get("Content-Type"))
        except (ValueError, LookupError) as error:
            raise MappingFailedError(f"the body of the answer can't be read: {error}") from None
        if self.offer(payload, properties) is not None:
            return
        tasks = [
            asyncio.ensure_future(self.put(payload, properties)),
            asyncio.ensure_future(self._stopped.wait()),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if not tasks[0].done():
                raise ConnectionUnavailableError("the source of the answer was disconnected")
            tasks[0].result()
        finally:
            await end_tasks(tasks)

    def _property(self, name: str, response: aiohttp.ClientResponse, attributes: dict[str, object]) -> object:
        lowered = name.lower()
        if lowered == "http.status.code":
            return str(response.status)
        if lowered.startswith("header."):
            values = response.headers.getall(name[len("header.") :], [])
            return ", ".join(values) if values else None
        return attributes.get(name)


class HttpCallSink(HttpSink):
    """Sends payloads to a URL; the answers go to the sources ``http-call-response`` with the same ``sink.id``.

    A payload counts as published when its answer was handed to the app, whatever the status code is.
    """

    default_concurrency = 20

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self._id = options.static("sink.id")
        if options.flag("blocking.io", default=False):
            self.concurrency = 1
        self._most_bytes = options.integer("max.body.bytes", MOST_BODY_BYTES, least=1)
        downloads = options.flag("downloading.enabled", default=False)
        self._download = options.option("download.path") if downloads else None
        if self._download is not None:
            self._prefixes = path_prefixes("sink 'http-call'", self._download)
        self._repeats = Repeats()
        self._label = f"app '{context.app}', sink 'http-call' of stream '{context.stream}'"

    async def send(self, payload: object, options: DynamicOptions) -> None:
        event = options.event
        names = (name for name, _ in self.context.attributes)
        attributes: dict[str, object] = {} if event is None else dict(zip(names, event.data, strict=False))
        # Only a source knows whether it takes an answer in parts, for which there is no limit of time.
        streams = any(source.streams for source in HttpCallResponseSource._by_id.get(self._id, ()))
        silence = self._options.request_seconds if streams else None
        async with self.connected().request(encode(payload), self._type, options, silence=silence) as response:
            source = HttpCallResponseSource.find(self._id, response.status)
            if source is None:
                note = self._repeats.note(f"{self._label}: no source for status {response.status}")
                if note is not None:
                    logger.error(
                        "%s: no source 'http-call-response' with sink.id '%s' for the status code %d: the answer is lost%s",
                        self._label,
                        self._id,
                        response.status,
                        note,
                    )
            elif source.streams:
                async for chunk in response.content.iter_any():
                    await source.give(chunk, response, attributes)
            elif self._download is not None and 200 <= response.status < 300:
                path = path_of_event("sink 'http-call'", self._download, self._prefixes, options)
                await self._save(response, path)
                await source.give(b"", response, attributes, path=path)
            else:
                await source.give(await self._body(response), response, attributes)

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        parts, size = [], 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size > self._most_bytes:
                raise MappingFailedError(f"the answer of '{response.url}' has more than {self._most_bytes} bytes")
            parts.append(chunk)
        return b"".join(parts)

    async def _save(self, response: aiohttp.ClientResponse, path: str) -> None:
        """Write the body of an answer to a file, which is replaced when all of it has arrived."""
        part = f"{path}.{os.getpid()}.tmp"
        try:
            file = await asyncio.to_thread(_create, part)
            try:
                async for chunk in response.content.iter_chunked(_CHUNK * 16):
                    await asyncio.to_thread(file.write, chunk)
            finally:
                await asyncio.to_thread(file.close)
            await asyncio.to_thread(Path(part).replace, path)
        except BaseException as error:
            await asyncio.to_thread(_remove, part)
            if isinstance(error, OSError) and not isinstance(error, aiohttp.ClientError):
                raise ConnectionUnavailableError(f"can't write '{path}': {error.strerror}") from error
            raise


def _create(path: str) -> BinaryIO:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    return Path(path).open("wb")


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)
