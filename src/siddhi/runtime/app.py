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
    """Lifecycle of an app."""

    OPEN = "created or started"
    CLOSING = "being shut down"
    CLOSED = "shut down"


class SiddhiAppRuntime(AppClock, AppState):
    """One app, ready to run; created by :meth:`SiddhiManager.create_siddhi_app_runtime`.

    A context manager: entering starts the app, leaving shuts it down. Callbacks run on the thread that sends (or on the
    app's timer thread) and may send again. An exception of a callback, or of processing, goes to the handler given to
    :meth:`handle_exception_with` (default: the logger ``siddhi``); it reaches the sender only if the handler raises it.

    After a shutdown the app can be started again. It starts with empty state, as a newly created app does: the contents of
    windows and tables are gone unless they were saved and are restored. Everything attached to it or obtained from it stays:
    callbacks, collected events, input handlers, the debugger, the exception handler, the settings of clock and statistics.
    Sources and sinks are built anew.

    Args:
        build: builds the app's operators: once now, and again for every start after a shutdown.
        persistence_store: returns the store of :meth:`persist` and whether it is incremental; None: there is no store.
        on_shutdown: called at every shutdown.
        claim_name: called before the app starts, and when it starts after a shutdown; raises if another app has the name.
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

    # --- lifecycle

    @property
    def name(self) -> str:
        """The app's name: the value of ``@app:name``, or a random name."""
        return self._context.name

    @property
    def plan(self) -> Plan:
        """The plan from which the app was built."""
        return self._assembly.plan

    @property
    def is_running(self) -> bool:
        """Whether events can be sent."""
        return self._context.running

    @property
    def is_processing_here(self) -> bool:
        """Whether the calling thread is processing an event of the app: it is in a callback or function of the app."""
        return self._context.lock.is_mine

    def start(self) -> None:
        """Connect the sinks, open the input handlers, start the clock, connect the sources. No effect if it is running.

        A source or sink that can't be reached now does not prevent the start: the connection is retried. An app that was
        shut down starts with empty state, unless its state was restored since.

        Raises:
            NotRunningError: the app was shut down and can't be started again: its manager was shut down as well, the
                shutdown is still in progress, or the caller is a callback or function of the app that is running.
            SiddhiAppCreationError: another app of this name is running in the manager.
            Exception: any other error of a source or sink that connects; the app is shut down.
        """
        self.start_without_sources()
        self.start_sources()

    def start_without_sources(self) -> None:
        """Start the app as :meth:`start` does, without its sources: events come from input handlers only.

        Raises:
            NotRunningError: as :meth:`start`.
            Exception: a sink failed to connect; the app is shut down.
        """
        self._rebuild_if_closed()
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
        """Connect the sources of an app that was started without them; connected sources stay connected.

        Raises:
            NotRunningError: the app is not running.
            Exception: a source failed to connect; the app is shut down.
        """
        with self._state_lock:
            if not self._context.running:
                raise NotRunningError(f"Siddhi app '{self.name}' is not running")
            self._connecting(self._assembly.connectors.connect_sources)

    def shutdown(self) -> None:
        """Stop the app. Windows are not flushed; the buffers of ``@async`` streams are delivered first.

        A second shutdown has no effect. Until the app is started again, its state can be saved, and its statistics and
        collected events can be read.
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

    def _rebuild_if_closed(self) -> None:
        # Guarded by the lock of the old operators, in which no thread may be running, and not by the lock of start and
        # shutdown: callbacks may shut down, too.
        while self._lifecycle is not _Lifecycle.OPEN:
            context = self._context
            if context.lock.is_mine:
                raise self._restart_error("it is still processing an event; start it when the send has returned")
            if self._lifecycle is _Lifecycle.CLOSING:
                raise self._restart_error("the shutdown is still in progress")
            with context.lock:
                if context.lock.is_borrowed:
                    raise self._restart_error("it is still processing an event; start it when the send has returned")
                if context is self._context and self._lifecycle is _Lifecycle.CLOSED:
                    self._claim_name(self)
                    self._move_to(self._build())
                    self._lifecycle = _Lifecycle.OPEN

    def _restart_error(self, why: str) -> NotRunningError:
        return NotRunningError(f"Siddhi app '{self.name}' was shut down and cannot start again: {why}")

    def _move_to(self, assembly: Assembly) -> None:
        """Replace the operators by new ones."""
        before, level = self._assembly, self._statistics.level
        assembly.context.on_error = before.context.on_error
        assembly.faults.listener = before.faults.listener
        self._attachments.move_to(assembly)
        self._bind_clock(assembly)
        self._bind_state(assembly)
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
        """Return the handler that sends into a stream: the same one for every call, also after a restart.

        Raises:
            DefinitionNotExistError: there is no such stream.
        """
        if stream in self._assembly.windows:
            raise DefinitionNotExistError(
                f"'{stream}' is a window, not a stream: send events to a stream, and let a query insert them into the window"
            )
        self._junction(stream)
        return self._attachments.input_handler(stream)

    # --- connectors

    @property
    def sources(self) -> Mapping[str, tuple[Source, ...]]:
        """The sources by stream, in text order, for pausing and resuming; a restart builds new ones."""
        built = self._assembly.connectors.sources
        return MappingProxyType(
            {stream: tuple(one.source for one in found) for stream, found in built.items() if found}
        )

    @property
    def sinks(self) -> Mapping[str, tuple[Sink, ...]]:
        """The sinks by stream, in text order; a restart builds new ones."""
        built = self._assembly.connectors.sinks
        return MappingProxyType({stream: tuple(one.sink for one in found) for stream, found in built.items() if found})

    def replay_error_entry(self, entry: ErrorEntry, *, payload: object = None) -> None:
        """Replay an entry of the error store in the calling thread.

        Entry of a stream: its events are sent again as one chunk, with their timestamps; in playback the clock moves to the
        last one, unless it is later already. The buffer of an ``@async`` stream is bypassed. Entry of a sink: the payload is
        published. Entry of a source: the payload is mapped. Entry of a table: the change is made.

        The entry stays in the error store: discard it when this has returned. If the same step fails again, its error is
        raised, not saved, whatever ``@OnError`` and ``on.error`` say. A failure further downstream, as in a stream that
        queries insert into, is handled by the error handling of that stream.

        Args:
            entry: entry of an app of this name, which may have been restarted since.
            payload: for a source or sink: the payload to map or publish instead of the entry's; None: the entry's own. To
                replay corrected events, pass ``dataclasses.replace(entry, events=...)``.

        Raises:
            NotRunningError: the app is not running.
            ValueError: the entry belongs to another app, its stream, table or connector does not exist in this one, or the
                store could not keep what the replay needs.
            Exception: the replay failed.
        """
        replay_entry(self._assembly, entry, payload)

    # --- on-demand queries

    def query(self, text: str) -> list[Event]:
        """Run an on-demand query: ``from T on price > 5 select symbol, price``, ``delete T on T.symbol == 'IBM'``.

        The query is compiled once and cached by its text; any thread may call this while events flow.

        Returns:
            The rows found, as events with timestamp -1; an empty list if no row was found, and for every change.

        Raises:
            NotRunningError: the app is not running.
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: the query can't be run, or failed while it ran.
            LimitExceededError: the query would exceed the limit of a table; see ``@limit``.
            DeadlockError: a callback of the app waits for this thread.
        """
        if not self._context.running:
            raise NotRunningError(f"Siddhi app '{self.name}' is {self._condition}")
        return self._on_demand.run(text)

    def query_types(self, text: str) -> list[tuple[str, str]]:
        """Return names and types of the result columns of an on-demand query, without running it; empty for a change.

        Raises:
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: the query can't be run.
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
            TypeError: the function can't be called with events, or is asynchronous; nothing is attached.
        """
        require_function(function, "a stream callback", "events")
        self._junction(stream)
        self._attachments.on_stream(stream, function)

    def add_batch_callback(self, stream: str, function: BatchCallbackFunction) -> None:
        """Call ``function(batch)`` with the events that reach a stream, as columns.

        A ``send_batch`` yields one batch at its end, any other send one batch per chunk.

        Args:
            stream: name of the stream.
            function: takes an :class:`EventBatch`.

        Raises:
            DefinitionNotExistError: there is no such stream.
            TypeError: the function can't be called with a batch, or is asynchronous; nothing is attached.
        """
        require_function(function, "a batch callback", "batch")
        self._junction(stream)
        self._attachments.on_batches(stream, function)

    def add_query_callback(self, query: str, function: QueryCallbackFunction) -> None:
        """Call ``function(timestamp, current, expired)`` with every chunk that a query emits, before it is sent on.

        Args:
            query: its name, from ``@info(name='...')`` or ``query_<n>``.
            function: takes the timestamp (ms) of the chunk's last event and two lists of :class:`Event`, each None if
                empty.

        Raises:
            DefinitionNotExistError: there is no such query.
            TypeError: the function can't be called with these arguments, or is asynchronous; nothing is attached.
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
        """Collect the events that reach streams from now on, as columns, for :meth:`drain`.

        Args:
            streams: names of the streams; a stream that is collected already keeps the settings of the first call.
            timestamp: name of an additional column with each event's time (ms); None: no such column.
            chunk: name of an additional column with the number of each event's chunk, counted per stream from 0 across
                drains; None: no such column.

        Raises:
            DefinitionNotExistError: there is no such stream; none is collected.
            ValueError: a stream already has an attribute of that name; none is collected.
        """
        for stream in streams:
            names = self._junction(stream).layout.names
            taken = [name for name in (timestamp, chunk) if name in names]
            if taken or (timestamp is not None and timestamp == chunk):
                raise ValueError(
                    f"stream '{stream}' can't be collected: it would have two columns '{(*taken, chunk)[0]}'; "
                    "choose another name with timestamp=... or chunk=..."
                )
        self._attachments.collect(streams, timestamp, chunk)

    def drain(self) -> dict[str, EventBatch]:
        """Return the events collected since :meth:`collect`, or since the last call, by stream.

        Returns:
            One :class:`EventBatch` per collected stream, possibly empty: the attributes of the stream, then the additional
            columns of :meth:`collect`. Events are in the order in which they were emitted.
        """
        return self._attachments.drain()

    def remove_callback(self, function: object) -> None:
        """Remove a function from every stream and query it was added to.

        Raises:
            ValueError: the function was never added.
        """
        if not self._attachments.remove(function):
            raise ValueError(f"{function!r} is not a callback of app '{self.name}'")

    def handle_exception_with(self, handler: ExceptionHandler) -> None:
        """Pass exceptions of processing and callbacks to ``handler(exception, origin, events)`` instead of logging them.

        The handler gets every exception; the log gets the first ones of a kind, then fewer and fewer, with their count. The
        handler is also called for exceptions whose events go to a fault stream or into the error store, before they do. An
        exception raised by the handler reaches the sender; without a sender (timers, ``@async``) it is logged.

        Raises:
            TypeError: the handler can't be called with these arguments, or is asynchronous; the previous one stays.
        """
        require_function(handler, "an exception handler", "exception, origin, events")
        self._context.on_error = handler
        self._assembly.faults.listener = handler

    # --- what the app consists of

    @property
    def stream_definitions(self) -> Mapping[str, StreamDefinition]:
        """Definitions of all streams by name, including inferred ones."""
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
        """Warnings of the plan: annotations and options without effect or with a surprising one, deprecated extensions.

        Each is a string with the attributes ``message``, ``span`` and ``hint``.
        """
        return self.plan.warnings

    @property
    def query_names(self) -> tuple[str, ...]:
        """Names of the queries outside partitions, in text order."""
        return tuple(self._assembly.queries)

    def stream_attributes(self, stream: str) -> list[tuple[str, str]]:
        """Return names and types of a stream's attributes.

        Raises:
            DefinitionNotExistError: there is no such stream.
        """
        return _attributes(self._junction(stream).layout)

    def query_attributes(self, query: str) -> list[tuple[str, str]]:
        """Return names and types of the attributes that a query emits.

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
            level: a :class:`StatisticsLevel` or its name. A change from OFF starts all counters at zero.

        Raises:
            ValueError: there is no such level.
        """
        self._statistics.set_level(StatisticsLevel.of(level))

    @property
    def statistics(self) -> Statistics:
        """The statistics measured so far; empty while the level is OFF."""
        return self._statistics.read()

    # --- debugging

    def debug(self) -> SiddhiDebugger:
        """Start the app under a debugger that can stop it at its queries; return the same debugger for every call.

        A running app goes on, an app that was shut down starts again. Debugging costs nothing until this is called; from
        then on every chunk is checked for break points, and batches go row by row.

        Raises:
            NotRunningError: as :meth:`start`.
        """
        from siddhi.runtime.debugger import SiddhiDebugger

        self._rebuild_if_closed()
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
