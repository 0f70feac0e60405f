"""SiddhiAppRuntime: one running app."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Protocol

from siddhi.errors import DefinitionNotExistError, NotRunningError, SiddhiAppError, did_you_mean, shown
from siddhi.query_api.definition import AggregationDefinition, WindowDefinition
from siddhi.runtime.app_clock import AppClock
from siddhi.runtime.app_output import AppOutput
from siddhi.runtime.change.live import AppChanges
from siddhi.runtime.clock import TimerThread
from siddhi.runtime.errors.faults import ErrorLog
from siddhi.runtime.errors.replay import replay_entry
from siddhi.runtime.metrics.statistics import Statistics, StatisticsLevel, StatisticsService
from siddhi.runtime.on_demand import OnDemandQueries

if TYPE_CHECKING:
    from siddhi._core.correction.input import CorrectedInputHandler
    from siddhi._core.runtime.context import AppContext
    from siddhi._core.stream.input import InputHandler
    from siddhi._core.temporal.input import TemporalInputHandler
    from siddhi.io.sink import Sink
    from siddhi.io.source import Source
    from siddhi.persistence import ErrorEntry, PersistenceStore
    from siddhi.planner.plan.warning import AppWarning
    from siddhi.query_api.app import SiddhiApp
    from siddhi.query_api.definition import StreamDefinition, TableDefinition
    from siddhi.runtime.assembly.app import Assembly, Plan
    from siddhi.runtime.assembly.async_stream import AsyncInputHandler
    from siddhi.runtime.assembly.kept import Kept
    from siddhi.runtime.connectors.status import ConnectorStatus
    from siddhi.runtime.debugger import SiddhiDebugger
    from siddhi.runtime.manager import SiddhiManager
    from siddhi.runtime.profile.explained import Explained, ExplainFormat
    from siddhi.runtime.profile.profile import Profile
    from siddhi.runtime.query_rows import QueryRows
    from siddhi.runtime.state.snapshot import SnapshotService
    from siddhi.sandbox import SandboxPolicy

__all__ = ["SiddhiAppRuntime"]


class _Lifecycle(Enum):
    """Lifecycle of an app."""

    OPEN = "created or started"
    CLOSING = "being shut down"
    CLOSED = "shut down"


class Build(Protocol):
    """Builds the operators of an app."""

    def __call__(self, context: AppContext | None = None, kept: Kept | None = None) -> Assembly:
        """Return new operators; the arguments are those of :class:`Assembly`."""


@dataclass(frozen=True)
class Construction:
    """What an app needs of its manager."""

    manager: SiddhiManager
    plan: Plan
    build: Build
    """Builds the app's operators: once now, again for every start after a shutdown, and beside those that run for a change."""
    persistence_store: Callable[[], tuple[PersistenceStore, bool] | None]
    """Returns the store of :meth:`SiddhiAppRuntime.persist` and whether it is incremental; None: the manager has none."""
    adopt: Callable[[SiddhiAppRuntime], None]
    """Called with the new app."""
    claim_name: Callable[[SiddhiAppRuntime], None]
    """Called before the app starts, and when it starts after a shutdown; raises if another app has the name."""
    forget: Callable[[SiddhiAppRuntime], None]
    """Called at every shutdown."""


class SiddhiAppRuntime(AppClock, AppOutput, AppChanges):
    """One app, ready to run: ``siddhi.App`` is this class. A manager creates it, or the constructor with a manager of its own.

    A context manager, also for ``async with``: entering starts the app, leaving shuts it down. Callbacks run on the thread that sends (or on the
    app's timer thread) and may send again. An exception of a callback, or of processing, goes to the handler given to
    :meth:`handle_exception_with` (default: the logger ``siddhi``); it reaches the sender only if the handler raises it.

    After a shutdown the app can be started again. It starts with empty state, as a newly created app does: the contents of
    windows and tables are gone unless they were saved and are restored. Everything attached to it or obtained from it stays:
    callbacks, collected events, input handlers, the debugger, the exception handler, the settings of clock and statistics.
    Sources and sinks are built anew.

    Args:
        app: SiddhiQL text, or its object model.
        manager: the manager whose extensions and stores the app uses; None: a new one.
        policy: permissions and limits of this app; None: the manager's policy.
        replace: whether a running app of this name is shut down once this one has been built.
        parameters: values of ``${name}`` in the text, as keyword arguments: see
            :meth:`SiddhiManager.create_siddhi_app_runtime`, which also takes those called like an argument above.

    Raises:
        SiddhiAppError, TypeError, ValueError: as :meth:`SiddhiManager.create_siddhi_app_runtime`.
    """

    def __init__(
        self,
        app: str | SiddhiApp,
        /,
        *,
        manager: SiddhiManager | None = None,
        policy: SandboxPolicy | None = None,
        replace: bool = False,
        **parameters: object,
    ) -> None:
        from siddhi.runtime.manager import SiddhiManager

        if manager is None:
            manager = SiddhiManager()
        elif not isinstance(manager, SiddhiManager):
            raise TypeError(
                f"invalid manager {shown(manager)}: expected a SiddhiManager; the value of a parameter ${{manager}} of the text "
                "is given to create_siddhi_app_runtime() of one"
            )
        self._set_up(manager.construction(app, policy=policy, replace=replace, parameters=parameters))
        self._construction.adopt(self)

    @classmethod
    def build(cls, construction: Construction) -> SiddhiAppRuntime:
        """Return an app that its manager does not know yet: :meth:`SiddhiManager.create_siddhi_app_runtime` registers it.

        Raises:
            SiddhiAppError: the engine can't build the app.
        """
        runtime = cls.__new__(cls)
        runtime._set_up(construction)
        return runtime

    def _set_up(self, construction: Construction) -> None:
        assembly = construction.build()
        self._construction = construction
        self._assembly = assembly
        self._context = assembly.context
        self._error_log = ErrorLog(self.name)
        assembly.handle_errors_with(self._error_log)
        AppOutput.__init__(self, assembly)
        AppChanges.__init__(self, assembly, construction.persistence_store)
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
    def manager(self) -> SiddhiManager:
        """The manager whose extensions and stores the app uses."""
        return self._construction.manager

    @property
    def plan(self) -> Plan:
        """The plan from which the app was built."""
        return self._assembly.plan

    @property
    def is_running(self) -> bool:
        """Whether events can be sent."""
        return self._context.running

    @property
    def is_shut_down(self) -> bool:
        """Whether the app was shut down, or is being shut down, and has not been started again."""
        return self._lifecycle is not _Lifecycle.OPEN

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
            self._construction.claim_name(self)
            self._attachments.open_readers()
            self._open_calls()
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

    def shutdown(self, *, persist: bool = False) -> None:
        """Stop the app. Windows are not flushed; the buffers of ``@async`` streams are delivered first.

        A second shutdown has no effect. Until the app is started again, its state can be saved, and its statistics and
        collected events can be read.

        Args:
            persist: whether to save the state once the sources have delivered what they received, and to acknowledge that to
                their servers: the next start goes on from there and repeats nothing. If saving fails, the app is stopped all
                the same.

        Raises:
            NoPersistenceStoreError: ``persist``, and the manager has no store.
            PersistenceStoreError, CannotSaveStateError: ``persist``, and the state could not be saved.
        """
        if persist and self.is_running:
            try:
                self._assembly.connectors.drain_sources()
                self._attachments.release_senders()
                self._assembly.drain()
                self._attachments.join_callbacks()
                self.persist()
            finally:
                self.shutdown()
            return
        with self._state_lock:
            if self._lifecycle is not _Lifecycle.OPEN:
                return
            self._lifecycle = _Lifecycle.CLOSING
        self._stop()

    def _stop(self) -> None:
        if self._debugger is not None:
            self._debugger.close()
        self._attachments.release_senders()
        self._assembly.connectors.stop_sources()
        if self._context.running:
            self._assembly.drain()
            self._attachments.join_callbacks()
            if self._assembly.temporal is not None:
                self._assembly.temporal.end_inputs()
            self._context.set_running(False)
            self._assembly.stop()
        self._assembly.connectors.stop_sinks()
        self._statistics.stop()
        self._stop_heartbeat()
        self._timers.stop()
        self._attachments.end_readers()
        self._context.close()
        self._error_log.close()
        self._construction.forget(self)
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
                    self._construction.claim_name(self)
                    self._move_to(self._construction.build())
                    self._lifecycle = _Lifecycle.OPEN

    def _restart_error(self, why: str) -> NotRunningError:
        return NotRunningError(f"Siddhi app '{self.name}' was shut down and cannot start again: {why}")

    def _move_to(self, assembly: Assembly) -> None:
        """Replace the operators by new ones."""
        before, level = self._assembly, self._statistics.level
        _end_profile(before, assembly)
        assert before.context.on_error is not None
        assembly.handle_errors_with(before.context.on_error)
        assembly.faults.listener = before.faults.listener
        self._attachments.move_to(assembly)
        self._bind_clock(assembly)
        self._bind_state(assembly)
        if self._debugger is not None:
            self._debugger.watch(assembly, self._state)
        self._serve(assembly)
        self._statistics.set_level(level)

    def _install(
        self, construction: Construction, assembly: Assembly, state: SnapshotService, queries: Mapping[str, str]
    ) -> None:
        before = self._assembly
        _end_profile(before, assembly)
        self._construction = construction
        assembly.faults.listener = before.faults.listener
        self._attachments.move_to(assembly, queries)
        self._bind_state(assembly, state)
        self._open_calls()
        self._on_demand = OnDemandQueries(assembly)
        self._statistics.move_to(assembly, queries)
        if self._debugger is not None:
            self._debugger.watch(assembly, self._state)

    def _open_calls(self) -> None:
        """Let senders wait for the calls of coroutine functions."""
        for calls in self._assembly.awaited.values():
            calls.open(self._attachments.backpressure)

    def _require_open(self) -> None:
        if self._lifecycle is not _Lifecycle.OPEN:
            raise NotRunningError(f"Siddhi app '{self.name}' was not changed: it is {self._lifecycle.value}")

    def _note_change(self, seconds: float) -> None:
        self._statistics.note_change(seconds)

    def _is_watched(self) -> bool:
        return (
            self._lifecycle is not _Lifecycle.OPEN
            or self._debugger is not None
            or self._assembly.profile is not None
            or self._statistics.has_probes
        )

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

    async def __aenter__(self) -> SiddhiAppRuntime:
        """Start the app in a thread, so that the event loop goes on."""
        import asyncio

        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Shut the app down in a thread, and wait until asynchronous callbacks have handled their events."""
        import asyncio

        await asyncio.to_thread(self.shutdown)

    # --- events in

    def input_handler(
        self, stream: str
    ) -> InputHandler | AsyncInputHandler | TemporalInputHandler | CorrectedInputHandler:
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

    def __getitem__(
        self, stream: str
    ) -> InputHandler | AsyncInputHandler | TemporalInputHandler | CorrectedInputHandler:
        """Return the input handler of a stream: ``app["Trades"].send(row)``.

        Raises:
            DefinitionNotExistError: the app has no stream of this name.
        """
        return self.input_handler(stream)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the streams."""
        return iter(self._assembly.junctions)

    def __contains__(self, stream: object) -> bool:
        """Whether the app has a stream of this name."""
        return stream in self._assembly.junctions

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

    def connectors(self) -> list[ConnectorStatus]:
        """Return counters, buffer and connection of each source and sink since the app was started: sources first, by stream."""
        return self._assembly.connectors.status()

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
        with self._gate:
            replay_entry(self._assembly, entry, payload)

    # --- on-demand queries

    def query(self, text: str, /, **parameters: object) -> QueryRows:
        """Run an on-demand query: ``from T on price > 5 select symbol, price``, ``delete T on T.symbol == 'IBM'``.

        The query is compiled once and cached by its text; any thread may call this while events flow. Values that differ
        from call to call are best written as parameters: ``app.query("from T on id == :id select price", id=7)``. A parameter
        stands for a value, never for a name or a part of the text. It has the type of what it is compared with or assigned
        to; ``cast(:x, 'double')`` says another.

        Args:
            text: the query.
            parameters: the values of its parameters; None is null.

        Returns:
            The rows found, as a sequence of events with timestamp -1, which equals a list of them and makes frames:
            ``rows.to_pandas()``. It is empty if no row was found, and for every change.

        Raises:
            NotRunningError: the app is not running.
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: the query can't be run, or failed while it ran; a parameter has no value, is unknown
                or has a wrong type.
            LimitExceededError: the query would exceed the limit of a table; see ``@limit``.
            DeadlockError: a callback of the app waits for this thread.
        """
        if not self._context.running:
            raise NotRunningError(f"Siddhi app '{self.name}' is {self._condition}")
        with self._gate:
            return self._on_demand.run(text, parameters)

    async def query_async(self, text: str, /, **parameters: object) -> QueryRows:
        """Run an on-demand query as :meth:`query` does, after waiting, without blocking the event loop, for other threads in the app.

        The query itself runs on the thread of the loop. One that takes long, or reads a table in a database, is better run in a
        thread: ``await asyncio.to_thread(app.query, text)``.

        Raises:
            NotRunningError, SiddhiParserError, OnDemandQueryCreationError, LimitExceededError: as :meth:`query`.
            DeadlockError: a callback of the app waits for this task.
        """
        from siddhi._core.stream.gate import lock_release

        while (context := self._context).lock.is_taken:
            await lock_release(context)
        return self.query(text, **parameters)

    def query_types(self, text: str) -> list[tuple[str, str]]:
        """Return names and types of the result columns of an on-demand query, without running it; empty for a change.

        Raises:
            SiddhiParserError: the text is not an on-demand query.
            OnDemandQueryCreationError: the query can't be run.
        """
        return self._on_demand.types(text)

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
        return self._junction(stream).layout.attributes

    def query_attributes(self, query: str) -> list[tuple[str, str]]:
        """Return names and types of the attributes that a query emits.

        Raises:
            DefinitionNotExistError: there is no such query.
        """
        if query not in self._assembly.queries:
            raise DefinitionNotExistError(
                f"app '{self.name}' has no query '{query}'{did_you_mean(query, self._assembly.queries)}"
            )
        return self._assembly.queries[query].output.layout.attributes

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

    # --- profiling

    def profile(self, *, budget: float = 0.01, every: int | None = None) -> Profile:
        """Return a profile, which measures while it is entered where the time of the app goes, clause by clause.

        ``with app.profile() as p: ...``, then ``print(p)`` or ``p`` in a notebook. Work is sampled, so that profiling costs
        little (docs/profiling.md has figures); an app that is not profiled pays nothing.

        Args:
            budget: the part of the time that sampling may cost.
            every: sample every n-th send, block of a batch or timer; 1: all, which makes all counts exact; None: all of the
                first 256 of a stream, then as the budget allows.

        Raises:
            ValueError: an argument is out of range.
        """
        from siddhi.runtime.profile.profile import Profile

        return Profile(self._assembly, budget, every)

    @property
    def last_profile(self) -> Profile | None:
        """The profile that is running, else the last one that ended; None: the app was not profiled."""
        return self._assembly.profile or self._assembly.last_profile

    def explain(self, format: ExplainFormat = "text", *, analyze: bool | Profile = False) -> Explained:  # noqa: A002
        """Return the plan of the app: how each query is executed.

        Args:
            format: ``text``; ``json``, which has a graph of the app as well; or that graph as ``mermaid`` or ``svg``.
            analyze: whether the figures of a profile are added: those of the profile that is running, else of the last one;
                or the profile to take.

        Raises:
            ValueError: there is no such format, or no profile to analyze.
        """
        from siddhi.runtime.profile.explained import explained

        profile = None
        if analyze is True:
            profile = self.last_profile
            if profile is None:
                raise ValueError(
                    f"app '{self.name}' was not profiled: run it in 'with app.profile():', then explain it"
                )
        elif analyze is not False:
            profile = analyze
        return explained(self.plan, format, profile)

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
        return f"<App '{self.name}' ({self._condition})>"

    def _repr_html_(self) -> str:
        from siddhi.runtime.profile.explained import app_html

        return app_html(self, self._condition)


def _end_profile(before: Assembly, after: Assembly) -> None:
    """End the profile of operators that others replace; its figures stay."""
    if before.profile is not None:
        before.profile.stop()
    after.last_profile = before.last_profile
