"""All sources, sinks and stores of an app, started and stopped together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING

from siddhi._core.snapshot.format import SnapshotReader, SnapshotWriter
from siddhi.io.connector import Connector
from siddhi.io.sink import SinkMapper
from siddhi.io.source import SourceMapper
from siddhi.runtime.connectors.pauses import SourcePauses
from siddhi.runtime.connectors.worker import Worker

if TYPE_CHECKING:
    from siddhi.runtime.connectors.sink import SinkRuntime
    from siddhi.runtime.connectors.source import SourceRuntime
    from siddhi.runtime.connectors.status import ConnectorStatus
    from siddhi.runtime.connectors.table import StoreRuntime

__all__ = ["ConnectorState", "Connectors"]


class Connectors:
    """The connectors of one app.

    Args:
        sources: by stream.
        sinks: by stream.
        stores: by table.
        is_inside: whether the calling thread is processing an event of the app.
        worker: runs the tasks of asynchronous connectors.

    Attributes:
        worker: as passed.
    """

    def __init__(
        self,
        sources: Mapping[str, Sequence[SourceRuntime]],
        sinks: Mapping[str, Sequence[SinkRuntime]],
        stores: Mapping[str, StoreRuntime],
        is_inside: Callable[[], bool],
        worker: Worker,
    ) -> None:
        self.worker = worker
        self.sources = dict(sources)
        self.sinks = dict(sinks)
        self.stores = dict(stores)
        self._pauses = SourcePauses(lambda: [source.source for source in self._all_sources()], is_inside)

    def connect_sinks(self) -> None:
        """Connect every sink and store; retry later those that can't be reached now.

        Raises:
            Exception: one failed with an error that is not retried.
        """
        for sink in self._all_sinks():
            sink.connect()
        for store in self.stores.values():
            store.connect()

    def connect_sources(self) -> None:
        """Connect every source; retry later those that can't be reached now.

        Raises:
            Exception: one failed with an error that is not retried.
        """
        for source in self._all_sources():
            source.connect()

    def paused(self) -> AbstractContextManager[None]:
        """Pause all sources until the block ends; sources that were paused before stay paused."""
        return self._pauses.paused()

    def checkpoint(self) -> Callable[[bool], None]:
        """Note what was received and sent so far; call the result with whether a snapshot of now was saved."""
        sinks = [sink.sink.checkpoint() for sink in self._all_sinks()]
        sources = [source.source.checkpoint() for source in self._all_sources()]

        def notify(saved: bool) -> None:
            with ExitStack() as calls:  # all are called, also if one fails
                for source in sources if saved else ():
                    if source is not None:
                        calls.callback(source)
                for sink in sinks:
                    if sink is not None:
                        calls.callback(sink, saved)

        return notify

    def drain_sources(self) -> None:
        """Let every source deliver what it has received, and receive no more; connections stay."""
        for source in self._all_sources():
            source.drain()

    def stop_sources(self) -> None:
        """Disconnect sources for good, and end waits for a sink or store."""
        for sink in self._all_sinks():
            sink.release()
        for store in self.stores.values():
            store.release()
        for source in self._all_sources():
            source.stop()
        self.worker.stop()

    def stop_sinks(self) -> None:
        """Disconnect sinks and stores for good."""
        for sink in self._all_sinks():
            sink.stop()
        for store in self.stores.values():
            store.stop()

    def status(self) -> list[ConnectorStatus]:
        """Return what is known of each source, then of each sink."""
        found = []
        for stream, sources in self.sources.items():
            found += [source.status(stream, number) for number, source in enumerate(sources, 1)]
        for stream, sinks in self.sinks.items():
            found += [sink.status(stream, number) for number, sink in enumerate(sinks, 1)]
        return found

    def states(self) -> dict[str, ConnectorState]:
        """Return the connectors and mappers with state, by a name that is stable across builds of the app."""
        found: dict[str, Connector | SourceMapper | SinkMapper] = {}
        for stream, sources in self.sources.items():
            for number, source in enumerate(sources):
                found[f"source {number} of {stream}"] = source.source
                found[f"mapper of source {number} of {stream}"] = source.mapper
        for stream, sinks in self.sinks.items():
            for number, sink in enumerate(sinks):
                found[f"sink {number} of {stream}"] = sink.sink
                found[f"mapper of sink {number} of {stream}"] = sink.mapper
        return {name: ConnectorState(one) for name, one in found.items() if type(one).snapshot not in _STATELESS}

    def _all_sources(self) -> list[SourceRuntime]:
        return [source for sources in self.sources.values() for source in sources]

    def _all_sinks(self) -> list[SinkRuntime]:
        return [sink for sinks in self.sinks.values() for sink in sinks]


_STATELESS = (Connector.snapshot, SourceMapper.snapshot, SinkMapper.snapshot)


class ConnectorState:
    """The state of one connector or mapper as a step of a snapshot."""

    def __init__(self, connector: Connector | SourceMapper | SinkMapper) -> None:
        self._connector = connector

    @property
    def kind(self) -> str:
        """Name of the class."""
        return type(self._connector).__qualname__

    def save(self, writer: SnapshotWriter) -> None:
        """Write the state."""
        writer.put(self._connector.snapshot())

    def load(self, reader: SnapshotReader) -> None:
        """Restore the connector from its state."""
        state = reader.get()
        if state is None:
            return
        try:
            self._connector.restore(state)
        except Exception as error:
            raise ValueError(f"{self.kind} failed to restore its state: {type(error).__name__}: {error}") from error
