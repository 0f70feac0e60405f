"""Debugger: stops an app where events enter and leave its queries, and shows the events and the state of the queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING

from siddhi._callables import require_function
from siddhi._core.record.user_event import Event
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.stream.probes import Breakpoint
from siddhi.errors import DefinitionNotExistError, did_you_mean

if TYPE_CHECKING:
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.state.snapshot import SnapshotService

__all__ = ["QueryTerminal", "SiddhiDebugger"]

DebuggerCallback = Callable[["list[Event]", str, "QueryTerminal", "SiddhiDebugger"], object]


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
        self._hooks: dict[str, Callable[[int, list[Event] | None, list[Event] | None], None]] = {}
        with assembly.context.lock:
            for name, junction, receiver in entered:
                Breakpoint(receiver, junction, self._hook_in(name)).attach()
            for name in self._queries:
                self._hooks[name] = self._hook_out(name)
                assembly.queries[name].output.add_callback(self._hooks[name])

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

    # --- inspecting

    def query_state(self, query: str) -> Mapping[str, list[object]]:
        """Return the state of a query: for each of its steps (window, selector, pattern, ...) the items of its snapshot.

        Events are :class:`Event`, the states of aggregators tuples of their numbers; a list begins with the number of
        partition keys. May be called while the app runs, and by any thread while it is stopped.

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

    def watch_again(self, query: str) -> None:
        """Move the hook of a query after query callbacks that were added."""
        hook = self._hooks.get(query)
        if hook is not None:
            output = self._assembly.queries[query].output
            output.remove_callback(hook)
            output.add_callback(hook)

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

    def _hook_in(self, query: str) -> Callable[[list[Event]], None]:
        return lambda events: self._arrive(events, query, QueryTerminal.IN)

    def _hook_out(self, query: str) -> Callable[[int, list[Event] | None, list[Event] | None], None]:
        return lambda _, current, expired: self._arrive([*(current or ()), *(expired or ())], query, QueryTerminal.OUT)

    def _arrive(self, events: list[Event], query: str, terminal: QueryTerminal) -> None:
        me = threading.get_ident()
        if self._closed or ((query, terminal) not in self._break_points and me not in self._stepping):
            return
        with self._changed:
            self._stepping.discard(me)
            self._at_break, before = me, self._at_break
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
