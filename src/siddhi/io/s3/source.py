"""``@source(type = 's3')``: reads the objects of a bucket of Amazon S3."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any, ClassVar, Literal, cast

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import ReplayableSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.file.content import BOM, text_of
from siddhi.io.file.splitting import Cutting
from siddhi.io.options import OptionHolder
from siddhi.io.s3.bucket import Bucket, RefusedError
from siddhi.io.s3.finished import Finished, Listed
from siddhi.io.source import SourceEventListener

__all__ = ["S3Source"]

logger = logging.getLogger("siddhi")

_MODES = ("line", "regex", "text.full", "binary.full")
_PROPERTIES = ("object.key", "object.etag", "eof", "content.length")
_BLOCK = 4 * 1024 * 1024  # bytes of a request


class S3Source(ReplayableSource):
    """Reads each object once, in the order of the keys; an object that was replaced is read again.

    The position is the object that is being read, by key and entity tag, the byte after the last processed payload, and the
    number of the object. Snapshots also have the objects that were read, see :class:`Finished`.
    """

    ack_modes: ClassVar[tuple[Literal["received", "processed", "checkpoint"], ...]] = ("processed", "checkpoint")

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        owner = "source 's3'"
        for name in transport_properties:
            if name not in _PROPERTIES:
                raise SiddhiAppCreationError(
                    f"{owner} has no transport property '{name}'", code="E326", hint=f"use {', '.join(_PROPERTIES)}"
                )
        self._names = transport_properties
        self._bucket = Bucket(owner, options, 1)
        self._prefix = options.static("object.prefix", "")
        self._suffix = options.static("object.suffix", "")
        self._cutting = Cutting.read(owner, options, _MODES)
        self._interval = options.duration("polling.interval", "10 sec")
        self._action = options.choice("action.after.process", ("keep", "delete", "move"), "keep")
        self._target = options.static("move.after.process", "")
        if (self._action == "move") != ("move.after.process" in options):
            raise SiddhiAppCreationError(
                f"{owner}: 'move.after.process' and the action 'move' need each other", code="E326"
            )
        if self._action == "move" and self._prefix.startswith(self._target):
            raise options.invalid("move.after.process", "a prefix that 'object.prefix' does not begin with")
        self._finished = Finished(options.integer("remembered.objects", 10_000, least=1))
        self._restored: dict[str, Any] | None = None
        self._number = 0  # of the object that is being read
        self._unacknowledged: list[tuple[int, Listed]] = []  # objects whose action waits for a checkpoint

    # --- state

    def snapshot(self) -> object:
        if self._restored is not None:
            return {"position": self.position, **self._restored}
        return {"position": self.position, **self._finished.state()}

    def restore(self, state: object) -> None:
        self._restored = dict(cast("dict[str, Any]", state))
        super().restore([self._restored.pop("position")])

    async def seek(self) -> None:
        """Do nothing: objects are opened while receiving."""

    # --- connection

    async def open(self) -> None:
        await self._bucket.open()

    async def close(self) -> None:
        await self._bucket.close()

    async def receive(self) -> None:
        is_restored = self._restored is not None
        if self._restored is not None:
            self._finished.load(self._restored)
            self._restored = None
            self._unacknowledged.clear()
        await self._resume(is_restored=is_restored)
        while True:
            waiting = {listed for _, listed in self._unacknowledged}
            # Listed as a whole before any is read: the objects that were read move the beginning of the next listing.
            for listed in await self._listed():
                if not self._finished.has(listed):
                    await self._read(listed, 0)
                elif self._finished.needs_action(listed) and listed not in waiting:
                    await self._act(listed)
            await asyncio.sleep(self._interval)

    async def _resume(self, *, is_restored: bool) -> None:
        """Read the rest of the object of the position, before others move the position on."""
        if self.position is None:
            return
        key, etag, offset, is_whole, number = cast("tuple[str, str, int, bool, int]", self.position)
        self._number = max(self._number, number)
        listed = Listed(key, etag, offset)
        if self._finished.has(listed):
            return
        if is_whole:
            # Whether the payload of a whole object was mapped is not known any more: such an object is kept.
            acts = self._action != "keep" and self._cutting.mode in ("line", "regex")
            if acts and self.acknowledges == "checkpoint" and not is_restored:
                self._unacknowledged.append((number, listed))
            self._finished.add(listed, acts=acts)
            return
        try:
            head = await self._bucket.call("head_object", Key=key, IfMatch=etag)
        except RefusedError as error:
            if not _is_replaced(error):
                raise
            logger.warning(
                "source 's3' of stream '%s': object '%s' was replaced or removed before its end was read",
                self.context.stream,
                key,
            )
            return
        await self._read(Listed(key, etag, head["ContentLength"]), offset)

    async def _listed(self) -> list[Listed]:
        """Return the objects after the mark, in the order of their keys, and forget those that are gone."""
        arguments: dict[str, Any] = {"Prefix": self._prefix}
        if self._finished.mark:
            arguments["StartAfter"] = self._finished.mark
        found = []
        while True:
            page = await self._bucket.call("list_objects_v2", **arguments)
            found += [Listed(one["Key"], one["ETag"], one["Size"]) for one in page.get("Contents", ())]
            if not page.get("IsTruncated"):
                break
            arguments["ContinuationToken"] = page["NextContinuationToken"]
        self._finished.keep({listed.key for listed in found})
        return [
            listed
            for listed in found
            if listed.key.endswith(self._suffix) and not (self._target and listed.key.startswith(self._target))
        ]

    # --- reading

    async def _read(self, listed: Listed, offset: int) -> None:
        """Read an object from an offset on, and hand over its payloads; then apply the action."""
        self._number += 1
        number = self._number
        try:
            succeeded = await self._deliver(listed, offset, number)
        except RefusedError as error:
            if _is_replaced(error):
                return  # the next listing shows the new one, if there is one
            succeeded = False
            self._report(listed, error)
        except ValueError as error:
            succeeded = False
            self._report(listed, error)
        acts = succeeded and self._action != "keep"
        if acts and self.acknowledges == "checkpoint":
            self._unacknowledged.append((number, listed))
        self._finished.add(listed, acts=acts)
        if acts and self.acknowledges == "processed":
            await self._act(listed)

    def _report(self, listed: Listed, error: Exception) -> None:
        logger.error("source 's3' of stream '%s': can't read '%s': %s", self.context.stream, listed.key, error)

    async def _deliver(self, listed: Listed, offset: int, number: int) -> bool:
        """Hand over the payloads of an object, and wait until the last one is processed; return whether it is kept for good.

        Raises:
            RefusedError: it can't be read.
            ValueError: a payload is too large.
        """
        if self._cutting.mode in ("text.full", "binary.full"):
            content = b"".join([block async for block in self._blocks(listed, 0)])
            payload = content if self._cutting.mode == "binary.full" else text_of(content.removeprefix(BOM))
            position = (listed.key, listed.etag, len(content), True, number)
            return await self.deliver(payload, self._properties(listed, payload, is_last=True), position)
        # One payload is held back, so that the last one is known.
        held: tuple[str | bytes, int] | None = None
        async for payload, end in self._payloads(listed, offset):
            if held is not None:
                position = (listed.key, listed.etag, held[1], False, number)
                await self.put(held[0], self._properties(listed, held[0], is_last=False), position)
            held = (payload, end)
        if held is not None:
            position = (listed.key, listed.etag, held[1], True, number)
            # A line that can't be mapped is logged or stored; its object does not fail.
            await self.deliver(held[0], self._properties(listed, held[0], is_last=True), position)
        return True

    async def _payloads(self, listed: Listed, offset: int) -> AsyncIterator[tuple[str | bytes, int]]:
        first = self._cutting.first_byte(offset)
        splitter = None
        async for block in self._blocks(listed, first):
            if splitter is None:
                before = block[: offset - first]
                splitter = self._cutting.splitter(offset, before, self.context.line_scanner)
                block = block[len(before) :]
            for found in splitter.feed(block):
                yield found
        if splitter is None:
            return
        for found in splitter.finish():
            yield found
        if splitter.is_unfinished:
            logger.warning(
                "source 's3' of stream '%s': the last match in '%s' has no end; it is left out",
                self.context.stream,
                listed.key,
            )

    async def _blocks(self, listed: Listed, offset: int) -> AsyncIterator[bytes]:
        while offset < listed.size:
            last = min(offset + _BLOCK, listed.size) - 1
            block = await self._bucket.content(Key=listed.key, IfMatch=listed.etag, Range=f"bytes={offset}-{last}")
            offset += len(block)
            yield block

    def _properties(self, listed: Listed, payload: str | bytes, *, is_last: bool) -> list[object]:
        if not self._names:
            return []
        values: dict[str, object] = {
            "object.key": listed.key,
            "object.etag": listed.etag.strip('"'),
            "eof": "true" if is_last else "false",
            "content.length": len(payload),
        }
        return [values[name] for name in self._names]

    # --- actions

    async def acknowledge(self, position: object) -> None:
        _, _, _, is_whole, last = cast("tuple[str, str, int, bool, int]", position)
        while self._unacknowledged:
            number, listed = self._unacknowledged[0]
            if number > last or (number == last and not is_whole):
                break
            await self._act(listed)
            self._unacknowledged.pop(0)

    async def _act(self, listed: Listed) -> None:
        """Delete or move an object that was read, unless it was replaced meanwhile."""
        try:
            if self._action == "move":
                target = self._target + listed.key[len(self._prefix) :]
                await self._bucket.call(
                    "copy_object",
                    Key=target,
                    CopySource={"Bucket": self._bucket.name, "Key": listed.key},
                    CopySourceIfMatch=listed.etag,
                )
            else:
                await self._bucket.call("head_object", Key=listed.key, IfMatch=listed.etag)
            # Services without conditional deletes ignore the condition.
            await self._bucket.call("delete_object", Key=listed.key, IfMatch=listed.etag)
            self._finished.remove(listed)
        except RefusedError as error:
            if not _is_replaced(error):
                self._finished.add(listed, acts=False)
                logger.error(
                    "source 's3' of stream '%s': can't %s '%s': %s; it is kept",
                    self.context.stream,
                    self._action,
                    listed.key,
                    error,
                )


def _is_replaced(error: RefusedError) -> bool:
    """Return whether an object is gone, or is another one than was listed."""
    return error.code in ("404", "412", "NoSuchKey", "PreconditionFailed")
