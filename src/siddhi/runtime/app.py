"""SiddhiAppRuntime: one running app."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING

from siddhi._callables import require_function
from siddhi._core.record.event import Layout
from siddhi._core.record.user_event import Event
from siddhi._core.stream.junction import StreamJunction
from siddhi.errors import DefinitionNotExistError, NotRunningError, SiddhiAppError, did_you_mean
from siddhi.query_api.definition import AggregationDefinition, WindowDefinition
from siddhi.runtime.app_clock import AppClock
from siddhi.runtime.attachments import (
    Attachments,
    BatchCallbackFunction,
    QueryCallbackFunction,
    StreamCallbackFunction,
)
from siddhi.runtime.clock import TimerThread
from siddhi.runtime.errors.faults import ErrorLog, ExceptionHandler
from siddhi.runtime.errors.replay import replay_entry
from siddhi.runtime.metrics.statistics import Statistics, StatisticsLevel, StatisticsService
from siddhi.runtime.on_demand import OnDemandQueries
from siddhi.runtime.state.app_state import AppState

if TYPE_CHECKING:
    from siddhi._core.columnar.batch import EventBatch
    from siddhi._core.stream.input import InputHandler
    from siddhi.io.sink import Sink
    from siddhi.io.source import Source
    from siddhi.persistence import ErrorEntry, PersistenceStore
    from siddhi.planner.plan.warning import AppWarning
    from siddhi.query_api.definition import StreamDefinition, TableDefinition
    from siddhi.runtime.assembly.app import Assembly, Plan
    from siddhi.runtime.assembly.async_stream import AsyncInputHandler
    from siddhi.runtime.debugger import SiddhiDebugger

__all__ = ["SiddhiAppRuntime"]

_TYPE_NAMES = ("string", "int", "long", "float", "double", "bool", "object")


class _Lifecycle(Enum):
    """Of an app's life."""

    OPEN = "created or started"
    CLOSING = "being shut down"
    CLOSED = "shut down"


class SiddhiAppRuntime(AppClock, AppState):
    """One app, ready to run; got from :meth:`SiddhiManager.create_siddhi_app_runtime`.

    A context manager: entering starts the app, leaving shuts it down. Callbacks run on the thread that sends (or on the
    app's timer thread) and may send again. An exception of a callback, or of processing, goes to the handler given to
    :meth:`handle_exception_with` (default: the logger ``siddhi``); it reaches the sender only if the handler raises it.

    After a shutdown the app can be started again. It begins anew, as if it were created again: what windows, tables and
    the like held is gone, unless it was saved and is restored. What users attached to it or got of it stays: callbacks, what is
    collected, input handlers, the debugger, the exception handler, the settings of clock and statistics. Sources and sinks are
    made anew.

    Args:
        build: makes the app's operators: at once, and for every start after a shutdown.
        persistence_store: tells where :meth:`persist` saves, and whether in increments; None: nowhere.
        on_shutdown: called at every shutdown.
        claim_name: called before it starts, and when it comes back from a shutdown; raises where another app has its name.
    """

    def __init__(
        self,
        build: Callable[[], Assembly],
        *,
        persistence_store: Callable[[], tuple[PersistenceStore, bool] | None],
        on_shutdown: Callable[[SiddhiAppRuntime], None],
        claim_name: Callable[[SiddhiAppRuntime], None],
    ) -> None:
        assembly = build()
        self._build = build
        self._assembly = assembly
        self._context = assembly.context
        self._error_log = ErrorLog(self.name)
        self._context.on_error = self._error_log
        self._on_shutdown = on_shutdown
        self._claim_name = claim_name
        self._attachments = Attachments(assembly)
        AppState.__init__(self, assembly, persistence_store)
        AppClock.__init__(self, assembly)
        self._serve(assembly)
        self._state_lock = threading.Lock()
        self._lifecycle = _Lifecycle.OPEN
        self._debugger: SiddhiDebugger | None = None

    # --- life

    @property
    def name(self) -> str:
        """The app's name: that of ``@app:name``, or a random one."""
        return self._context.name

    @property
    def plan(self) -> Plan:
        """What the app was built from."""
        return self._assembly.plan

    @property
    def is_running(self) -> bool:
        """Whether events can be sent."""
        return self._context.running

    @property
    def is_processing_here(self) -> bool:
        """Whether the calling thread is in the middle of an event of the app: in a callback or function of it."""
        return self._context.lock.is_mine

    def start(self) -> None:
        """Connect the sinks, open the input handlers, start the clock, connect the sources. Starting twice changes nothing.

        A source or sink that can't be reached now does not stop the start: it is tried again. An app that was shut down
        begins anew, unless its state was restored since.

        Raises:
            NotRunningError: the app was shut down, and can't be started again: its manager was shut down, too, the
                shutdown is not done yet, or a callback or function of the app asks while its event is at work.
            SiddhiAppCreationError: another app of this name runs in the manager.
            Exception: what else a source or sink raised when it connected; the app is shut down.
        """
        self.start_without_sources()
        self.start_sources()

    def start_without_sources(self) -> None:
        """What :meth:`start` does, but for the sources: events are taken from input handlers only.

        Raises:
            NotRunningError: as :meth:`start`.
            Exception: what a sink raised when it connected; the app is shut down.
        """
        self._begin_anew()
        with self._state_lock:
            if self._lifecycle is not _Lifecycle.OPEN:
                raise NotRunningError(f"Siddhi app '{self.name}' was shut down while it started")
            if self._context.running:
                return
            self._claim_name(self)
            self._connecting(self._assembly.connectors.connect_sinks)
            with self._context.lock:
                self._context.set_running(True)
                self._assembly.start()
            self._statistics.start()
            self._start_heartbeat()

    def start_sources(self) -> None:
        """Connect the sources of an app that runs without; those that are connected stay so.

        Raises:
            NotRunningError: the app does not run.
            Exception: what a source raised when it connected; the app is shut down.
        """
        with self._state_lock:
            if not self._context.running:
                raise NotRunningError(f"Siddhi app '{self.name}' is not running")
            self._connecting(self._assembly.connectors.connect_sources)

    def shutdown(self) -> None:
        """Stop. What windows hold is not flushed; what buffers of ``@async`` streams hold is delivered first.

        Shutting down twice changes nothing. Until the app is started again, what it held can be saved, and what was
        measured and collected can be read.
        """
        with self._state_lock:
            if self._lifecycle is not _Lifecycle.OPEN:
                return
            self._lifecycle = _Lifecycle.CLOSING
        self._stop()

    def _stop(self) -> None:
        if self._debugger is not None:
            self._debugger.close()
        self._assembly.connectors.stop_sources()
        if self._context.running:
            self._assembly.drain()
            self._context.set_running(False)
            self._assembly.stop()
        self._assembly.connectors.stop_sinks()
        self._statistics.stop()
        self._stop_heartbeat()
        self._timers.stop()
        self._context.close()
        self._error_log.close()
        self._on_shutdown(self)
        self._lifecycle = _Lifecycle.CLOSED

    def _begin_anew(self) -> None:
        # Guarded by the lock of the operators that are left behind, in which nobody may be at work, and not by the one of
        # start and shutdown: callbacks shut down, too.
        while self._lifecycle is not _Lifecycle.OPEN:
            context = self._context
            if context.lock.is_mine:
                raise self._not_again("it is still at work on an event; start it when the send has returned")
            if self._lifecycle is _Lifecycle.CLOSING:
                raise self._not_again("the shutdown is not done yet")
            with context.lock:
                if context.lock.is_borrowed:
                    raise self._not_again("it is still at work on an event; start it when the send has returned")
                if context is self._context and self._lifecycle is _Lifecycle.CLOSED:
                    self._claim_name(self)
                    self._move_to(self._build())
                    self._lifecycle = _Lifecycle.OPEN

    def _not_again(self, why: str) -> NotRunningError:
        return NotRunningError(f"Siddhi app '{self.name}' was shut down and cannot start again: {why}")

    def _move_to(self, assembly: Assembly) -> None:
        """Leave the operators behind for new ones."""
        before, level = self._assembly, self._statistics.level
        assembly.context.on_error = before.context.on_error
        assembly.faults.listener = before.faults.listener
        self._attachments.move_to(assembly)
        self._keep_time_of(assembly)
        self._hold_state_of(assembly)
        if self._debugger is not None:
            self._debugger.watch(assembly, self._state)
        self._serve(assembly)
        self._statistics.set_level(level)

    def _serve(self, assembly: Assembly) -> None:
        self._timers = TimerThread(assembly.context)
        assembly.context.wake = self._timers.wake
        self._on_demand = OnDemandQueries(assembly)
        self._statistics = StatisticsService(assembly)

    def __enter__(self) -> SiddhiAppRuntime:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.shutdown()

    # --- events in

    def input_handler(self, stream: str) -> InputHandler | AsyncInputHandler:
        """The handler that sends into a stream; the same one for every call, also when the app has started again.

        Raises:
            DefinitionNotExistError: there is no such stream.
        """
        if stream in self._assembly.windows:
            raise DefinitionNotExistError(
                f"'{stream}' is a window: a query inserts into it, events are sent to streams"
            )
        self._junction(stream)
        return self._attachments.input_handler(stream)

    # --- connectors

    @property
    def sources(self) -> Mapping[str, tuple[Source, ...]]:
        """The sources by stream, in text order, to be paused and resumed; others when the app has started again."""
        built = self._assembly.connectors.sources
        return MappingProxyType(
            {stream: tuple(one.source for one in found) for stream, found in built.items() if found}
        )

    @property
    def sinks(self) -> Mapping[str, tuple[Sink, ...]]:
        """The sinks by stream, in text order; others when the app has started again."""
        built = self._assembly.connectors.sinks
        return MappingProxyType({stream: tuple(one.sink for one in found) for stream, found in built.items() if found})

    def replay_error_entry(self, entry: ErrorEntry, *, payload: object = None) -> None:
        """Do again what an entry of the error store tells of, in the calling thread.

        Of a stream, its events are sent into it once more, as they came together, with their timestamps: in playback the
        clock moves to the last one, unless it is later already. Into an ``@async`` stream they go past its buffer. Of a
        sink, the payload is published; of a source, it is mapped. Of a table, the change is made.

        The entry stays in the error store: discard it when this has returned. What fails once more where it failed is
        raised, not saved, whatever ``@OnError`` and ``on.error`` say. What fails further on, as in a stream that queries
        insert into, is a failure of its own, and goes where that stream says.

        Args:
            entry: of the app of this name, which may have been started anew.
            payload: of a source or sink: what to map or publish instead of the entry's; None: that of the entry. For
                events that were put right, there is ``dataclasses.replace(entry, events=...)``.

        Raises:
            NotRunningError: the app is not running.
            ValueError: the entry is of another app, or of something that this one does not have, or the store could not
                keep what it needs.
            Exception: what failed once more.
        """
        replay_entry(self._assembly, entry, payload)

    # --- on-demand queries

    def query(self, text: str) -> list[Event]:
        """Ask a table, or change one: ``from T on price > 5 select symbol, price``, ``delete T on T.symbol == 'IBM'``.

        The query is compiled once and kept by its text; any thread may ask while events flow.

        Returns:
            The rows found, as events with timestamp -1; nothing where no row was found and for every change.

        Raises:
            NotRunningError: the app is not running.
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: it can't be run, or failed while it ran.
        """
        if not self._context.running:
            raise NotRunningError(f"Siddhi app '{self.name}' is {self._condition}")
        return self._on_demand.run(text)

    def query_types(self, text: str) -> list[tuple[str, str]]:
        """Names and types of what an on-demand query answers with, without running it; empty for a change.

        Raises:
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: it can't be run.
        """
        return self._on_demand.types(text)

    # --- events out

    def add_callback(self, stream: str, function: StreamCallbackFunction) -> None:
        """Call ``function(events)`` with every chunk that reaches a stream.

        Args:
            stream: name of the stream; ``!S`` is the fault stream of S.
            function: takes a list of :class:`Event`.

        Raises:
            DefinitionNotExistError: there is no such stream.
            TypeError: it can't be called with events, or is asynchronous; nothing is attached.
        """
        require_function(function, "a stream callback", "events")
        self._junction(stream)
        self._attachments.on_stream(stream, function)

    def add_batch_callback(self, stream: str, function: BatchCallbackFunction) -> None:
        """Call ``function(batch)`` with the events that reach a stream, as columns.

        A ``send_batch`` is answered with one batch at its end, any other send with one batch per chunk.

        Args:
            stream: name of the stream.
            function: takes an :class:`EventBatch`.

        Raises:
            DefinitionNotExistError: there is no such stream.
            TypeError: it can't be called with a batch, or is asynchronous; nothing is attached.
        """
        require_function(function, "a batch callback", "batch")
        self._junction(stream)
        self._attachments.on_batches(stream, function)

    def add_query_callback(self, query: str, function: QueryCallbackFunction) -> None:
        """Call ``function(timestamp, current, expired)`` with every chunk a query puts out, before it is sent on.

        Args:
            query: its name, from ``@info(name='...')`` or ``query_<n>``.
            function: takes the timestamp (ms) of the chunk's last event and two lists of :class:`Event`, each None where
                there are none.

        Raises:
            DefinitionNotExistError: there is no such query.
            TypeError: it can't be called with these, or is asynchronous; nothing is attached.
        """
        require_function(function, "a query callback", "timestamp, current, expired")
        if query not in self._assembly.queries:
            raise DefinitionNotExistError(
                f"app '{self.name}' has no query '{query}'{did_you_mean(query, self._assembly.queries)}"
            )
        with self._context.lock:
            self._attachments.on_query(query, function)
            if self._debugger is not None:
                self._debugger.watch_again(query)

    def collect(self, *streams: str, timestamp: str | None = "_timestamp", chunk: str | None = "_chunk") -> None:
        """Keep the events that reach streams from now on, as columns, for :meth:`drain`.

        Args:
            streams: their names; one that is collected already goes on as it was asked for first.
            timestamp: name of a further column with each event's time (ms); None: no such column.
            chunk: name of a further column with the number of the chunk each event came in, counted per stream from 0 and
                on from drain to drain; None: no such column.

        Raises:
            DefinitionNotExistError: there is no such stream; none is collected.
            ValueError: a stream has an attribute of that name already; none is collected.
        """
        for stream in streams:
            names = self._junction(stream).layout.names
            taken = [name for name in (timestamp, chunk) if name in names]
            if taken or (timestamp is not None and timestamp == chunk):
                raise ValueError(
                    f"stream '{stream}' can't be collected: it would have two columns '{(*taken, chunk)[0]}'"
                )
        self._attachments.collect(streams, timestamp, chunk)

    def drain(self) -> dict[str, EventBatch]:
        """What was collected since :meth:`collect`, or since the last call, by stream.

        Returns:
            One :class:`EventBatch` per collected stream, also where nothing came: its attributes, then the columns that
            :meth:`collect` was asked for. Events are in the order in which they were put out.
        """
        return self._attachments.drain()

    def remove_callback(self, function: object) -> None:
        """Take a function out of every stream and query it was added to.

        Raises:
            ValueError: it was never added.
        """
        if not self._attachments.remove(function):
            raise ValueError(f"{function!r} is not a callback of app '{self.name}'")

    def handle_exception_with(self, handler: ExceptionHandler) -> None:
        """Give exceptions of processing and callbacks to ``handler(exception, origin, events)`` instead of the log. The handler is
        told of each; the log of the first of a kind, then ever more rarely, with their number.

        It is also told of those whose events go on to a fault stream or into the error store, before they do. What the
        handler raises reaches the sender; where there is none (timers, ``@async``), it is logged.

        Raises:
            TypeError: it can't be called with these, or is asynchronous; the handler stays what it was.
        """
        require_function(handler, "an exception handler", "exception, origin, events")
        self._context.on_error = handler
        self._assembly.faults.listener = handler

    # --- what the app consists of

    @property
    def stream_definitions(self) -> Mapping[str, StreamDefinition]:
        """Definitions of all streams, inferred ones included, by name."""
        return MappingProxyType(self._assembly.stream_definitions)

    @property
    def table_definitions(self) -> Mapping[str, TableDefinition]:
        """Definitions of all tables, by name."""
        return MappingProxyType(self._assembly.table_definitions)

    @property
    def window_definitions(self) -> Mapping[str, WindowDefinition]:
        """Definitions of all named windows, by name."""
        return MappingProxyType(
            {found.id: found for found in self.plan.app.definitions if isinstance(found, WindowDefinition)}
        )

    @property
    def aggregation_definitions(self) -> Mapping[str, AggregationDefinition]:
        """Definitions of all incremental aggregations, by name."""
        return MappingProxyType(
            {found.id: found for found in self.plan.app.definitions if isinstance(found, AggregationDefinition)}
        )

    @property
    def warnings(self) -> tuple[AppWarning, ...]:
        """What has no effect, or another than it seems: annotations and options that nobody reads, deprecated extensions.

        They are texts, and have ``message``, ``span`` and ``hint``.
        """
        return self.plan.warnings

    @property
    def query_names(self) -> tuple[str, ...]:
        """Names of the queries outside partitions, in text order."""
        return tuple(self._assembly.queries)

    def stream_attributes(self, stream: str) -> list[tuple[str, str]]:
        """Names and types of a stream's attributes.

        Raises:
            DefinitionNotExistError: there is no such stream.
        """
        return _attributes(self._junction(stream).layout)

    def query_attributes(self, query: str) -> list[tuple[str, str]]:
        """Names and types of what a query puts out.

        Raises:
            DefinitionNotExistError: there is no such query.
        """
        if query not in self._assembly.queries:
            raise DefinitionNotExistError(
                f"app '{self.name}' has no query '{query}'{did_you_mean(query, self._assembly.queries)}"
            )
        return _attributes(self._assembly.queries[query].output.layout)

    # --- statistics

    def enable_statistics(self, level: StatisticsLevel | str = StatisticsLevel.BASIC) -> None:
        """Measure throughput and latency (BASIC), memory as well (DETAIL), or nothing (OFF).

        Args:
            level: a :class:`StatisticsLevel` or its name. Coming from OFF, everything starts from zero.

        Raises:
            ValueError: there is no such level.
        """
        self._statistics.set_level(StatisticsLevel.of(level))

    @property
    def statistics(self) -> Statistics:
        """What was measured until now; empty while the level is OFF."""
        return self._statistics.read()

    # --- debugging

    def debug(self) -> SiddhiDebugger:
        """Start the app so that it can be stopped at its queries; the same debugger for every call.

        An app that runs already goes on, one that was shut down starts again. Until this is called, debugging costs nothing;
        from then on every chunk is looked at, and batches go row by row.

        Raises:
            NotRunningError: as :meth:`start`.
        """
        from siddhi.runtime.debugger import SiddhiDebugger

        self._begin_anew()
        with self._state_lock:
            if self._debugger is None:
                self._debugger = SiddhiDebugger(self._assembly, self._state)
        self.start()
        return self._debugger

    # --- inside

    def _junction(self, stream: str) -> StreamJunction:
        junction = self._assembly.junctions.get(stream)
        if junction is None:
            raise DefinitionNotExistError(
                f"app '{self.name}' has no stream '{stream}'{did_you_mean(stream, self._assembly.junctions)}"
            )
        return junction

    @property
    def _condition(self) -> str:
        return "running" if self.is_running else "not started" if self._lifecycle is _Lifecycle.OPEN else "shut down"

    def _connecting(self, connect: Callable[[], None]) -> None:
        try:
            connect()
        except BaseException as error:
            self._lifecycle = _Lifecycle.CLOSING
            self._stop()
            if isinstance(error, SiddhiAppError):
                error.located(source=self.plan.app.source, app=self.name)
            raise

    def __repr__(self) -> str:
        return f"<SiddhiAppRuntime '{self.name}' ({self._condition})>"


def _attributes(layout: Layout) -> list[tuple[str, str]]:
    return [(name, _TYPE_NAMES[code]) for name, code in zip(layout.names, layout.types, strict=True)]
