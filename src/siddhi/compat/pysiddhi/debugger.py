"""The debugger."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import Any

import siddhi
from siddhi.compat.pysiddhi.events import ComplexEvent, _Chunk
from siddhi.runtime.debugger import QueryTerminal as Terminal
from siddhi.runtime.debugger import SiddhiDebugger as Debugger

__all__ = ["SiddhiDebugger", "SiddhiDebuggerCallback"]


class SiddhiDebuggerCallback(ABC):
    """Receives the events that are stopped; a subclass implements :meth:`debugEvent`."""

    @abstractmethod
    def debugEvent(
        self,
        complexEvent: ComplexEvent,
        queryName: str,
        queryTerminal: SiddhiDebugger.QueryTerminal,
        debugger: SiddhiDebugger,
    ) -> None:
        """Take the first of the events that wait at a terminal of a query; ``debugger.next()`` or ``play()`` lets them go on."""


class SiddhiDebugger:
    """Stops an app where events enter and leave its queries; made by :meth:`SiddhiAppRuntime.debug`.

    The callback is called by the thread that sends the events, which waits until ``next()`` or ``play()`` is called.
    """

    class QueryTerminal(Enum):
        """Where a query is stopped."""

        IN = "IN"
        OUT = "OUT"

    _debugger: Debugger

    def __init__(self) -> None:
        raise TypeError("the debugger is made by SiddhiAppRuntime.debug()")

    @classmethod
    def _of(cls, runtime: siddhi.SiddhiAppRuntime) -> SiddhiDebugger:
        made = cls.__new__(cls)
        made._debugger = runtime.debug()
        return made

    def acquireBreakPoint(self, queryName: str, queryTerminal: QueryTerminal) -> None:
        """Stop at a terminal of a query from now on.

        Raises:
            DefinitionNotExistError: there is no such query.
        """
        self._debugger.acquire_break_point(queryName, queryTerminal.value)

    def releaseBreakPoint(self, queryName: str, queryTerminal: QueryTerminal) -> None:
        """Stop at a terminal of a query no more.

        Raises:
            DefinitionNotExistError: there is no such query.
        """
        self._debugger.release_break_point(queryName, queryTerminal.value)

    def releaseAllBreakPoints(self) -> None:
        """Stop nowhere any more."""
        self._debugger.release_all_break_points()

    def setDebuggerCallback(self, siddhi_debugger_callback: SiddhiDebuggerCallback | None) -> None:
        """Set what is called with the stopped events; None: nothing is."""
        if siddhi_debugger_callback is None:
            self._debugger.set_debugger_callback(None)
            return
        called = siddhi_debugger_callback.debugEvent

        def stopped(events: Sequence[Any], query: str, terminal: Terminal, debugger: Debugger) -> None:
            chunk = _Chunk(
                [event.data for event in events],
                [event.timestamp for event in events],
                [event.is_expired for event in events],
                debugger.stopped_attributes(),
                debugger.replace_events,
            )
            first = ComplexEvent._at(chunk, 0)
            if first is not None:
                called(first, query, SiddhiDebugger.QueryTerminal[terminal.name], self)

        self._debugger.set_debugger_callback(stopped)

    def getQueryState(self, queryName: str) -> dict[str, object]:
        """Return the state of a query by its steps.

        Raises:
            DefinitionNotExistError: there is no such query.
        """
        return dict(self._debugger.query_state(queryName))

    def next(self) -> None:
        """Let the stopped events go on to the next terminal of any query."""
        self._debugger.next()

    def play(self) -> None:
        """Let the stopped events go on to the next break point."""
        self._debugger.play()
