"""``@source(type = 'cdc')``: the changes of a table in a database."""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from siddhi.errors import SiddhiAppCreationError
from siddhi.io.async_source import ReplayableSource
from siddhi.io.cdc.options import PROPERTIES, ListeningOptions, PollingOptions, is_polling
from siddhi.io.cdc.polling import TablePoller
from siddhi.io.connector import ConnectorContext
from siddhi.io.options import OptionHolder
from siddhi.io.source import SourceEventListener

if TYPE_CHECKING:
    from siddhi.io.cdc.replication import Replication

__all__ = ["CdcSource"]


class CdcSource(ReplayableSource):
    """Polls a table, or listens to the changes that PostgreSQL replicates.

    Positions: in polling mode numbers of rows of this connector; snapshots have the rows around the highest value instead. In
    listening mode those of :class:`siddhi.io.cdc.replication.Replication`.
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
        self._poller: TablePoller | None = None
        self._replication: Replication | None = None
        if is_polling(options):
            self.acknowledges = "received"
            self._poller = TablePoller(PollingOptions.read(options, context), context.stream)
            known: tuple[str, ...] = ()
        else:
            read = ListeningOptions.read(
                options, lambda option: _name_of(context.lasting_name("source 'cdc'", option), context.stream)
            )
            self._replication = _replication()(
                read, context.stream, acknowledges_at_once=self.acknowledges == "processed"
            )
            known = PROPERTIES
        for name in transport_properties:
            if name not in known:
                hint = f"use {', '.join(PROPERTIES)}" if known else "only mode = 'listening' has some"
                raise SiddhiAppCreationError(f"source 'cdc' has no transport property '{name}'", code="E326", hint=hint)
        self._names = transport_properties

    async def open(self) -> None:
        if self._poller is not None:
            self._poller.settle(self.position)
            self.position = None
            await self._poller.open()
        elif self._replication is not None:
            await self._replication.open(self.position)

    async def receive(self) -> None:
        if self._poller is not None:
            await self._poller.receive(self._put_rows, lambda: self.position)
        elif self._replication is not None:
            await self._replication.receive(self._put_change)

    async def _put_rows(self, rows: list[tuple[dict[str, Any], int]]) -> None:
        await self.put_many([(payload, (), number) for payload, number in rows])

    async def _put_change(self, payload: dict[str, Any], properties: dict[str, object], position: object) -> None:
        await self.put(payload, [properties[name] for name in self._names], position)

    async def acknowledge(self, position: object) -> None:
        if self._replication is not None:
            self._replication.acknowledge(cast("list[int]", position))

    async def close(self) -> None:
        if self._poller is not None:
            await self._poller.close()
        elif self._replication is not None:
            await self._replication.close()

    # --- state

    def snapshot(self) -> object:
        if self._poller is not None:
            return {"rows": self._poller.snapshot(self.position)}
        return {"position": self.position}

    def restore(self, state: object) -> None:
        values = cast("dict[str, Any]", state)
        if ("rows" in values) != (self._poller is not None):
            raise ValueError("the state belongs to the other mode of source 'cdc'")
        if self._poller is not None:
            self._poller.restore(values["rows"])
            super().restore([None])
        else:
            if self._replication is not None:
                self._replication.restored(values["position"])
            super().restore([values["position"]])


def _replication() -> type[Replication]:
    # Imported on demand: polling needs no psycopg.
    try:
        from siddhi.io.cdc.replication import Replication
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "psycopg":
            raise
        raise SiddhiAppCreationError(
            "source 'cdc' requires psycopg to listen, which is not installed",
            code="E326",
            hint="pip install 'siddhi[cdc]'",
        ) from error
    return Replication


def _name_of(app: str, stream: str) -> str:
    """Return the default name of slot and publication: what PostgreSQL allows, and different for different streams."""
    plain = f"{app}_{stream}".lower()
    name = "siddhi_" + re.sub("[^a-z0-9]+", "_", plain)
    if name == f"siddhi_{app}_{stream}" and len(name) < 64:
        return name
    return f"{name[:50]}_{blake2b(f'{app}/{stream}'.encode(), digest_size=5).hexdigest()}"
