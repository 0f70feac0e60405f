"""Connectors and tables of a running app that go on with its new operators."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from siddhi._core.stream.input import InputHandler, RowInput
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.table.table import Table
from siddhi.planner.plan.nodes import Plan
from siddhi.runtime.assembly.async_stream import AsyncInputHandler
from siddhi.runtime.attachments import redirected
from siddhi.runtime.change.plans import is_same

if TYPE_CHECKING:
    from siddhi.planner.plan.connectors import SinkPlan, SourcePlan
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.assembly.stores.stores import StoreTable
    from siddhi.runtime.connectors.service import Connectors
    from siddhi.runtime.connectors.sink import SinkRuntime
    from siddhi.runtime.connectors.source import SourceRuntime
    from siddhi.runtime.connectors.table import StoreRuntime
    from siddhi.runtime.connectors.worker import Worker

__all__ = ["Kept"]

Place = tuple[str, int]
"""A stream, and the position among its sources or sinks."""


class Kept:
    """What goes on as it is: sources, sinks, stores and tables in memory whose definition is the same in the new app.

    Connectors keep connection, buffer and counters, tables their rows.

    Args:
        running: the app's operators.
        plan: the plan of the new ones.
        anew: labels of elements that start anew; None: no table in memory is kept.

    Attributes:
        pools: the record pools of the app: records pass from kept tables to new operators.
        tables: labels of the kept tables in memory.
    """

    def __init__(self, running: Assembly, plan: Plan, anew: Collection[str] | None) -> None:
        before, connectors = running.plan, running.connectors
        self._running = running
        self._sources: dict[Place, SourceRuntime] = {}
        self._sinks: dict[Place, SinkRuntime] = {}
        for id_, stream in plan.streams.items():
            former = before.streams.get(id_)
            if former is None or former.attributes != stream.attributes:
                continue
            for number, place in _pairs(former.sources, stream.sources):
                self._sources[id_, place] = connectors.sources[id_][number]
            for number, place in _pairs(former.sinks, stream.sinks):
                self._sinks[id_, place] = connectors.sinks[id_][number]
        self._stores = {
            id_: running.tables.stores[id_]
            for id_, table in plan.tables.items()
            if id_ in running.tables.stores and is_same(before.tables[id_], table)
        }
        budgeted = plan.policy is not None and plan.policy.max_record_bytes is not None
        # The pools of a budget are limited together; those of the new operators have a budget of their own.
        self.pools = {} if budgeted else dict(running.pools)
        self._tables: dict[str, Table] = {
            id_: running.tables[id_]
            for id_, table in plan.tables.items()
            if anew is not None
            and not budgeted
            and id_ in running.tables.in_memory()
            and table.owner is None
            and f"table '{id_}'" not in anew
            and is_same(before.tables[id_], table)
        }
        self.tables = {f"table '{id_}'" for id_ in self._tables}
        self._handlers: list[tuple[SourceRuntime, InputHandler | AsyncInputHandler, Place]] = []
        self._carriers: list[tuple[SinkRuntime, StreamJunction, int]] = []
        self._taken_stores: set[str] = set()
        if self._sinks or self._sources:
            # Imported only if there is a connector: most apps have none.
            from siddhi.runtime.assembly.connectors import fault_of

            self._fault_of = fault_of

    # --- while the new operators are built

    @property
    def worker(self) -> Worker:
        """The app's thread for asynchronous connectors."""
        return self._running.connectors.worker

    def source(self, stream: str, number: int, handler: object) -> SourceRuntime | None:
        """Return the running source that becomes that with a number of a stream, whose input handler is given; or None."""
        found = self._sources.get((stream, number))
        if found is not None:
            assert isinstance(handler, (InputHandler, AsyncInputHandler))
            self._handlers.append((found, handler, (stream, number)))
        return found

    def sink(self, stream: str, number: int, carrier: StreamJunction) -> SinkRuntime | None:
        """Return the running sink that becomes that with a number of a stream, whose junction is given; or None."""
        found = self._sinks.get((stream, number))
        if found is not None:
            self._carriers.append((found, carrier, number))
        return found

    def store(self, table: str, *, gathers: bool) -> StoreTable | None:
        """Return the running table with a store that becomes this one; or None."""
        found = self._stores.get(table)
        if found is None or (found.runtime.gather is not None) is not gathers:
            return None
        self._taken_stores.add(table)
        return found

    def table(self, id_: str) -> Table | None:
        """Return the running table in memory that becomes this one; or None."""
        return self._tables.get(id_)

    # --- when they are in place

    def redirect(self, assembly: Assembly) -> None:
        """Let the kept connectors send into, and serve, the new operators; the caller holds the app's lock."""
        for source, handler, (stream, number) in self._handlers:
            former = source.input
            assert isinstance(former, (InputHandler, AsyncInputHandler))
            redirected(former, handler, assembly)
            source.rows = (
                RowInput(former, assembly.context)
                if isinstance(former, InputHandler)
                else former.row_input(assembly.context)
            )
            source.number = number
            if source.fault is not None:
                source.fault = self._fault_of(assembly.junctions[stream])
        for sink, carrier, number in self._carriers:
            sink.fault = self._fault_of(carrier)
            sink.number = number

    def new_of(self, assembly: Assembly) -> PassingConnectors:
        """Return the connectors of the new operators that are not kept."""
        return self._others(assembly.connectors)

    def left(self) -> PassingConnectors:
        """Return the running connectors that are not kept."""
        return self._others(self._running.connectors)

    def _others(self, connectors: Connectors) -> PassingConnectors:
        sources = {id(source) for source in self._sources.values()}
        sinks = {id(sink) for sink in self._sinks.values()}
        return PassingConnectors(
            [one for found in connectors.sources.values() for one in found if id(one) not in sources],
            [one for found in connectors.sinks.values() for one in found if id(one) not in sinks],
            [one for id_, one in connectors.stores.items() if id_ not in self._taken_stores],
        )


class PassingConnectors:
    """Connectors that begin or end with a change."""

    def __init__(
        self, sources: Sequence[SourceRuntime], sinks: Sequence[SinkRuntime], stores: Sequence[StoreRuntime]
    ) -> None:
        self._sources = sources
        self._sinks = sinks
        self._stores = stores

    def connect_sinks(self) -> None:
        """Connect sinks and stores; those that can't be reached now are retried.

        Raises:
            Exception: one failed with an error that is not retried.
        """
        for sink in self._sinks:
            sink.connect()
        for store in self._stores:
            store.connect()

    def connect_sources(self) -> None:
        """Connect the sources as :meth:`connect_sinks` does the sinks."""
        for source in self._sources:
            source.connect()

    def stop(self) -> None:
        """Disconnect all of them for good."""
        for sink in self._sinks:
            sink.release()
        for store in self._stores:
            store.release()
        # If one fails to stop, the others are stopped all the same.
        with ExitStack() as stopping:
            for store in self._stores:
                stopping.callback(store.stop)
            for sink in self._sinks:
                stopping.callback(sink.stop)
            for source in self._sources:
                stopping.callback(source.stop)


def _pairs(
    before: Sequence[SourcePlan] | Sequence[SinkPlan], now: Sequence[SourcePlan] | Sequence[SinkPlan]
) -> Iterator[tuple[int, int]]:
    """Yield the positions of each connector whose definition is the same before and now."""
    free = list(range(len(before)))
    for place, plan in enumerate(now):
        found = next((number for number in free if is_same(before[number], plan)), None)
        if found is not None:
            free.remove(found)
            yield found, place
