"""Debugger: stops an app where events enter and leave its queries, and shows the events and the state of the queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any

from siddhi._callables import require_function
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.stream.probes import Breakpoint
from siddhi.errors import DefinitionNotExistError, EventError, did_you_mean

if TYPE_CHECKING:
    from siddhi._core.record.event import Layout
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.assembly.temporal import TemporalNetwork
    from siddhi.runtime.state.snapshot import SnapshotService

__all__ = ["QueryTerminal", "SiddhiDebugger"]


DebuggerCallback = Callable[["list[Any]", str, "QueryTerminal", "SiddhiDebugger"], object]


class QueryTerminal(Enum):
    """Where a query is stopped."""

    IN = "IN"
    """A chunk of events has arrived and is not processed yet."""
    OUT = "OUT"
    """A chunk is emitted: query callbacks have received it, the output stream or table has not."""


class SiddhiDebugger:
    """Stops the queries of one app; returned by :meth:`SiddhiAppRuntime.debug`.

    At a break point the thread that sent the events calls the function of :meth:`set_debugger_callback` and then waits
    until :meth:`next` or :meth:`play` is called, by that function or by another thread. The app is stopped meanwhile: other
    threads that send wait, too. Queries inside partitions can't have break points.
    """

    def __init__(self, assembly: Assembly, state: SnapshotService) -> None:
        self._callback: DebuggerCallback | None = None
        self._break_points: set[tuple[str, QueryTerminal]] = set()
        self._stepping: set[int] = set()  # threads that stop at the next terminal of any query
        self._changed = threading.Condition()
        self._at_break: int | None = None  # the thread that waits
        self._stop: _Stop | None = None  # where it waits
        self._requests: list[_StateRequest] = []
        self.watch(assembly, state)

    def watch(self, assembly: Assembly, state: SnapshotService) -> None:
        """Attach to the queries of new operators: at first, and after a restart of the app."""
        self._assembly = assembly
        self._state = state
        self._closed = False
        # Queries inside partitions are entered from the partition and can't be stopped.
        entered = [
            (name, entry, receiver)
            for name, entry, receiver in assembly.entries
            if name in assembly.queries and isinstance(entry, StreamJunction)
        ]
        self._queries = {name for name, _, _ in entered}
        self._state_paths = {name: (f"query '{name}'", "") for name in self._queries} | _paths_in_partitions(assembly)
        with assembly.context.lock:
            for name, junction, receiver in entered:
                stop = partial(self._arrive, query=name, terminal=QueryTerminal.IN, layout=junction.layout)
                Breakpoint(receiver, junction, stop).attach()
            for name in self._queries:
                output = assembly.queries[name].output
                stop = partial(self._arrive, query=name, terminal=QueryTerminal.OUT, layout=output.layout)
                output.set_debugger(stop)
            if assembly.temporal is not None:
                self._watch_temporal(assembly.temporal)

    def _watch_temporal(self, network: TemporalNetwork) -> None:
        """Attach to the temporal queries."""
        from siddhi._core.temporal.probe import TemporalBreakpoint  # with the temporal operators only
        from siddhi.temporal import TemporalEvent

        for name in network.queries:
            for places, terminal in zip(network.crossings(name), (QueryTerminal.IN, QueryTerminal.OUT), strict=True):
                for place in places:
                    hook = partial(self._arrive, query=name, terminal=terminal)
                    TemporalBreakpoint(network.context, network.lifetimes, TemporalEvent, hook).attach(*place)
        self._queries |= set(network.queries)
        self._state_paths |= {name: ("temporal queries", name) for name in network.queries}

    # --- where to stop

    def acquire_break_point(self, query: str, terminal: QueryTerminal | str) -> None:
        """Stop at a terminal of a query from now on.

        Args:
            query: its name.
            terminal: ``IN`` or ``OUT``.

        Raises:
            DefinitionNotExistError: there is no such query, or it is inside a partition.
            ValueError: there is no such terminal.
        """
        self._require(query)
        self._break_points = {*self._break_points, (query, QueryTerminal(terminal))}

    def release_break_point(self, query: str, terminal: QueryTerminal | str) -> None:
        """Stop at a terminal of a query no more.

        Raises:
            DefinitionNotExistError: there is no such query, or it is inside a partition.
            ValueError: there is no such terminal.
        """
        self._require(query)
        self._break_points = self._break_points - {(query, QueryTerminal(terminal))}

    def release_all_break_points(self) -> None:
        """Release every break point."""
        self._break_points = set()

    def set_debugger_callback(self, callback: DebuggerCallback | None) -> None:
        """Call ``callback(events, query, terminal, debugger)`` at every stop, with the current chunk.

        Temporal queries stop at each item: the chunk is one :class:`siddhi.temporal.TemporalEvent` of kind ``start``, ``end``
        or ``cti``. Inside a query, lifetimes have these forms whatever the models of its streams.

        Its exceptions go to the app's exception handler, and the thread waits as if it had returned.

        Raises:
            TypeError: the callback can't be called with these arguments, or is asynchronous.
        """
        if callback is not None:
            require_function(callback, "a debugger callback", "events, query, terminal, debugger")
        self._callback = callback

    # --- resuming

    def next(self) -> None:
        """Let the stopped thread run to the next terminal of any query, and stop there.

        If no thread is stopped, the calling one will stop at the first terminal that its events reach.
        """
        self._go_on(stepping=True)

    def play(self) -> None:
        """Let the stopped thread run to the next break point."""
        self._go_on(stepping=False)

    # --- changing

    def replace_events(self, rows: Iterable[object]) -> None:
        """Let the stopped chunk go on with other values; times and kinds of its events stay.

        At ``IN`` this query alone sees them, at ``OUT`` the output stream or table. May be called by the debugger callback, or
        by another thread before it resumes the stopped one. The last call counts. A value that does not fit its attribute
        is an error of the debugger callback, and the events go on unchanged.

        Args:
            rows: one for each event of the chunk, as for :meth:`InputHandler.send`.

        Raises:
            EventError: no thread is stopped, it is stopped in a temporal query, or there are fewer or more rows than events.
        """
        changed = list(rows)
        with self._changed:
            self._require_stop().replace(changed)

    def stopped_attributes(self) -> list[tuple[str, str]]:
        """Return names and types of the attributes of the stopped events.

        Raises:
            EventError: no thread is stopped, or it is stopped in a temporal query.
        """
        with self._changed:
            return self._require_stop().layout.attributes

    def _require_stop(self) -> _Stop:
        if self._stop is None:
            raise EventError("no query is stopped at a break point, or a temporal one")
        return self._stop

    # --- inspecting

    def query_state(self, query: str) -> Mapping[str, list[object]]:
        """Return the state of a query: for each of its steps (window, selector, pattern, ...) the items of its snapshot.

        Events are :class:`Event`, the states of aggregators tuples of their numbers; a list begins with the number of
        partition keys. Of temporal queries the lifetimes are ``(start, end, row)``. May be called while the app runs, and by any thread while it is stopped.

        Args:
            query: its name; inside a partition ``partition/query``, as in statistics. ``keys`` are then those of the
                partition, and each step lists the items of all keys: the number of a key, then the items of that key.

        Raises:
            DefinitionNotExistError: there is no such query.
        """
        if query not in self._state_paths:
            raise DefinitionNotExistError(
                f"query '{query}' of app '{self._assembly.context.name}' does not exist: "
                f"it has no state to show{did_you_mean(query, self._state_paths)}"
            )
        request = _StateRequest(*self._state_paths[query])
        with self._changed:
            if self._at_break not in (None, threading.get_ident()):
                # The stopped thread holds the app's lock: it has to read the state.
                self._requests.append(request)
                self._changed.notify_all()
                while not request.answered:
                    self._changed.wait()
                return request.answer
        return self._state.shown(*self._state_paths[query])

    # --- inside

    def close(self) -> None:
        """Stop nowhere, and let the stopped thread go on: the app shuts down."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _require(self, query: str) -> None:
        if query not in self._queries:
            is_inside = query in self._assembly.queries or query in self._state_paths
            why = "is inside a partition" if is_inside else "does not exist"
            raise DefinitionNotExistError(
                f"query '{query}' of app '{self._assembly.context.name}' {why}: "
                f"it can't have break points{'' if is_inside else did_you_mean(query, self._queries)}"
            )

    def _arrive(
        self, events: list[Any], query: str, terminal: QueryTerminal, layout: Layout | None = None
    ) -> list[Any] | None:
        """Stop at a terminal if it is time to; return the rows that go on in place of the events, or None."""
        me = threading.get_ident()
        if self._closed or ((query, terminal) not in self._break_points and me not in self._stepping):
            return None
        stop = None if layout is None else _Stop(len(events), layout)
        with self._changed:
            self._stepping.discard(me)
            self._at_break, before = me, self._at_break
            self._stop, outer = stop, self._stop
        try:
            if self._callback is not None:
                self._callback(events, query, terminal, self)
        except BaseException:
            # The callback failed before it could resume the app, and no other thread knows that it should.
            self._go_on(stepping=False)
            raise
        finally:
            self._wait(me)
            with self._changed:
                self._at_break = before
                self._stop = outer
        return None if stop is None else stop.rows

    def _wait(self, me: int) -> None:
        """Answer state requests until the thread is resumed."""
        with self._changed:
            while not self._closed and self._at_break == me:
                while self._requests:
                    self._requests.pop().take(self._state)
                    self._changed.notify_all()
                if self._at_break == me:
                    self._changed.wait()
            while self._requests:
                self._requests.pop().take(self._state)
            self._changed.notify_all()

    def _go_on(self, *, stepping: bool) -> None:
        with self._changed:
            thread = threading.get_ident() if self._at_break is None else self._at_break
            if stepping:
                self._stepping.add(thread)
            self._at_break = None
            self._changed.notify_all()


def _paths_in_partitions(assembly: Assembly) -> dict[str, tuple[str, str]]:
    """Map the names of queries inside partitions to the element and part of their state."""
    paths = {id(query): path for path, query in assembly.built_queries().items()}
    return {
        paths[id(query)]: (f"partition '{name}'", str(number))
        for name, partition in assembly.partitions.items()
        for number, query in enumerate(partition.queries, 1)
    }


class _Stop:
    """Where a thread is stopped: how many events wait there, and the rows that go on in their place."""

    def __init__(self, events: int, layout: Layout) -> None:
        self._events = events
        self.layout = layout
        self.rows: list[object] | None = None

    def replace(self, rows: list[object]) -> None:
        if len(rows) != self._events:
            raise EventError(f"{self._events} events are stopped: they can't be replaced by {len(rows)}")
        self.rows = rows


class _StateRequest:
    """A request of another thread for the state of a query."""

    def __init__(self, element: str, part: str) -> None:
        self._element = element
        self._part = part
        self.answered = False
        self.answer: Mapping[str, list[object]] = {}

    def take(self, state: SnapshotService) -> None:
        """Read the state; the calling thread holds the app's lock."""
        try:
            self.answer = state.shown(self._element, self._part)
        finally:
            self.answered = True
