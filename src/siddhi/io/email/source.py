"""``@source(type = 'email')``: receives mails by IMAP or POP3."""

from __future__ import annotations

from typing import ClassVar, Literal, cast

from siddhi.io.async_source import ReplayableSource
from siddhi.io.connector import ConnectorContext
from siddhi.io.email.imap_reader import ImapReader
from siddhi.io.email.options import SourceOptions
from siddhi.io.email.pop3_reader import Pop3Reader
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener

__all__ = ["EmailSource"]


class EmailSource(ReplayableSource):
    """Polls a mailbox; a mail is acknowledged by doing with it what the options say."""

    ack_modes: ClassVar[tuple[Literal["received", "processed", "checkpoint"], ...]] = ("processed", "checkpoint")

    def init(
        self,
        listener: SourceEventListener,
        options: OptionHolder,
        transport_properties: tuple[str, ...],
        context: ConnectorContext,
    ) -> None:
        super().init(listener, options, transport_properties, context)
        read = SourceOptions.read(options)
        kind = ImapReader if read.store == "imap" else Pop3Reader
        self._reader: ImapReader | Pop3Reader = kind(read, transport_properties, context.stream)

    async def open(self) -> None:
        self.position = await self._reader.open(self.position, acts=self.acknowledges == "processed")

    async def receive(self) -> None:
        await self._reader.receive(self.submit)

    async def acknowledge(self, position: object) -> None:
        await self._reader.acknowledge(position)

    async def close(self) -> None:
        await self._reader.close()

    def snapshot(self) -> object:
        return [self._reader.snapshot(self.position)]

    def restore(self, state: object) -> None:
        (inner,) = cast("list[object]", state)
        super().restore([self._reader.restore(inner)])
