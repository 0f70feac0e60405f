"""``@sink(type = 's3')``: writes objects of Amazon S3."""

from __future__ import annotations

import time
from secrets import token_hex
from typing import Any, cast

from siddhi.errors import MappingFailedError
from siddhi.io.async_sink import AsyncSink
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import DynamicOptions, OptionHolder
from siddhi.io.s3.bucket import Bucket, RefusedError

__all__ = ["S3Sink"]

_CLASSES = (
    "STANDARD",
    "REDUCED_REDUNDANCY",
    "STANDARD_IA",
    "ONEZONE_IA",
    "INTELLIGENT_TIERING",
    "GLACIER",
    "GLACIER_IR",
    "DEEP_ARCHIVE",
)
_LONGEST_KEY = 1024  # bytes, of S3


class S3Sink(AsyncSink):
    """Writes each payload as an object, which is published when the bucket has it.

    The name of an object is the run that the app began with, and the number of the payload. Both are in snapshots: what is
    sent again after a restore overwrites the object of the first time.
    """

    supported_input_event_classes = (str, bytes)

    def init(self, options: OptionHolder, context: ConnectorContext) -> None:
        super().init(options, context)
        self.concurrency = options.integer("concurrency", 1, least=1, most=64)
        self._bucket = Bucket("sink 's3'", options, self.concurrency)
        self._path = options.option("object.path")
        self._is_numbered = options.flag("object.numbered", default=True)
        self._suffix = options.static("object.suffix", "")
        self._node = options.static("node.id", "")
        self._has_versions = options.flag("versioning.enabled", default=False)
        self._arguments = {
            "StorageClass": options.choice("storage.class", _CLASSES, "STANDARD"),
            "ContentType": options.static("content.type", "application/octet-stream"),
        }
        # An app that begins without a snapshot must not overwrite the objects of an earlier run.
        self._run = f"{time.time_ns() // 1_000_000:013d}{token_hex(3)}"
        if "bucket.acl" in options:
            raise options.invalid("bucket.acl", "no list of grants: give access by the policy of the bucket")
        if not self._is_numbered:
            for name in ("object.suffix", "node.id"):
                if name in options:
                    raise options.invalid(name, "it only with object.numbered = 'true'")
            if self.concurrency > 1:
                raise options.invalid("concurrency", "1: otherwise an older payload may overwrite a newer one")

    async def open(self) -> None:
        await self._bucket.open()
        if self._has_versions:
            try:
                await self._bucket.call("put_bucket_versioning", VersioningConfiguration={"Status": "Enabled"})
            except RefusedError as error:
                raise MappingFailedError(f"bucket '{self._bucket.name}' can't keep versions: {error}") from error

    async def close(self) -> None:
        await self._bucket.close()

    async def send(self, payload: Any, options: DynamicOptions) -> None:
        key = self._key(options)
        if not key or len(key.encode()) > _LONGEST_KEY:
            raise MappingFailedError(f"object.path gives {key[:100]!r}: a key has 1 to {_LONGEST_KEY} bytes")
        body = payload.encode() if isinstance(payload, str) else payload
        try:
            await self._bucket.call("put_object", Key=key, Body=body, **self._arguments)
        except RefusedError as error:
            raise MappingFailedError(f"bucket '{self._bucket.name}' refuses object '{key}': {error}") from error

    def _key(self, options: DynamicOptions) -> str:
        path = str(self._path.value(options))
        if not self._is_numbered:
            return path
        # The destinations of a distributed sink may share a path.
        parts = (self._node, self._run, str(options.destination or ""), f"{options.number:012d}")
        name = "-".join(part for part in parts if part) + self._suffix
        return f"{path.rstrip('/')}/{name}" if path else name

    # --- snapshots: also the numbers of the payloads that are not published yet, and of the last one

    def snapshot(self) -> object:
        with self._changed:
            numbers = [entry.number for entry in (*self._sending, *self._queue)]
            return {"run": self._run, "last": self._last_number, "numbers": numbers, "waiting": super().snapshot()}

    def restore(self, state: object) -> None:
        saved = cast("dict[str, Any]", state)
        with self._changed:
            super().restore(saved["waiting"])
            self._run, self._last_number = saved["run"], saved["last"]
            for entry, number in zip(self._queue, saved["numbers"], strict=True):
                entry.number = number
