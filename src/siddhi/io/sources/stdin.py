"""``@source(type = 'stdin')``: receives the lines of the standard input."""

from __future__ import annotations

import asyncio
import logging
import sys

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import AsyncSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.file.splitting import LARGEST_LINE, Lines
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener
from siddhi.io.sources.standard_input import StandardInput

__all__ = ["StdinSource"]

logger = logging.getLogger("siddhi")


class StdinSource(AsyncSource):
    """Receives each line that is not empty. The end of the input ends the source.

    At a shutdown the lines that were read and not accepted are left to the next app of the process.
    """

    is_finite = True

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        owner = "source 'stdin'"
        if transport_properties:
            raise SiddhiAppCreationError(
                f"{owner} has no transport property '{transport_properties[0]}'", code="E326", hint="it has none"
            )
        if sys.platform == "win32":
            raise SiddhiAppCreationError(
                f"{owner} is not supported on Windows", code="E326", hint="run the app with --input STREAM=-"
            )
        has_header = options.flag("header.present", default=False)
        self._skipped = options.integer("header.line.count", 1, least=1) if has_header else 0
        self._input: StandardInput | None = None

    async def open(self) -> None:
        self._input = StandardInput(f"app '{self.context.app}', stream '{self.context.stream}'")

    async def close(self) -> None:
        given, self._input = self._input, None
        if given is not None:
            await asyncio.to_thread(given.close)

    async def receive(self) -> None:
        given = self._input
        if given is None:
            return
        lines = Lines(0, 0 if given.is_begun else self._skipped, LARGEST_LINE, self.context.line_scanner)
        block, given.rest = given.rest, b""
        while True:
            await self._put_lines(given, lines, block)
            block = await self._read(given, lines)
            if not block:
                break
        rest = lines.rest
        try:
            for line, _ in lines.finish():
                await self.put(line)
        except asyncio.CancelledError:
            given.rest = rest
            raise

    async def _put_lines(self, given: StandardInput, lines: Lines, block: bytes) -> None:
        """Hand over the lines that a block completes."""
        rest, start, done = lines.rest, lines.end, 0
        try:
            for line, end in lines.feed(block):
                await self.put(line)
                done = end
        except asyncio.CancelledError:
            given.rest = (rest + block)[max(done - start + len(rest), 0) :]
            raise
        except ValueError as error:
            logger.error("source 'stdin' of stream '%s': %s; it is left out", self.context.stream, error)
            lines.skip()

    async def _read(self, given: StandardInput, lines: Lines) -> bytes:
        reading = asyncio.ensure_future(asyncio.to_thread(given.read))
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            given.wake()
            given.rest = lines.rest + await reading
            raise
