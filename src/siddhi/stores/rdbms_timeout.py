"""A database that says nothing is not waited for for ever: its connections are shut from outside.

Time limits of servers and of TCP don't see a network that takes everything and brings nothing back, and a call of a driver
that waits for an answer can't be ended but by what it waits for.
"""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet

from siddhi.errors import ConnectionUnavailableError, SiddhiAppCreationError

__all__ = ["TIME_LIMIT", "SilenceLimit", "seconds_of"]

TIME_LIMIT = "30 sec"
"""How long an answer is waited for where an app does not say."""

_GRACE_S = 5.0
"""How long it may take when the app is being shut down."""
_SHORTEST_LOOK_S, _LONGEST_LOOK_S = 0.02, 2.0

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|millisec(?:ond)?s?|s|sec(?:ond)?s?|min(?:ute)?s?)?", re.ASCII)


def seconds_of(text: str) -> float:
    """The seconds of a time such as ``30 sec`` or ``500 millisec``; a number is one of seconds.

    Raises:
        SiddhiAppCreationError: it is none.
    """
    match = _TIME.fullmatch(text.strip().lower())
    seconds = 0.0 if match is None else float(match[1])
    if match is None or seconds <= 0:
        raise SiddhiAppCreationError(
            f"'timeout' of store 'rdbms' is not a time: '{text}'", code="E326", hint="as in timeout = '30 sec'"
        )
    unit = match[2] or "s"
    return seconds / 1000 if unit.startswith(("ms", "mil")) else seconds * 60 if unit.startswith("m") else seconds


class SilenceLimit:
    """Shuts the connections of one store where a statement is not answered in time.

    Args:
        seconds: from one word of the database to the next.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._limit = seconds
        self._hurried = False
        self._connections: WeakSet[Any] = WeakSet()
        self._due: float | None = None
        self._over = False
        self._watcher: threading.Thread | None = None
        self._look = threading.Condition()
        self._ended = False

    @property
    def hurried(self) -> bool:
        """Whether the app is being shut down."""
        return self._hurried

    def watch(self, connection: Any) -> None:
        """A connection of the driver was made."""
        self._connections.add(connection)

    def heard(self) -> None:
        """The database has just answered, or is about to be asked."""
        if self._due is not None:
            self._due = time.monotonic() + self._limit

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keeps the limit for what is asked inside.

        Raises:
            ConnectionUnavailableError: nothing was heard for too long.
        """
        if not self._connections:
            # A connection that is being made has a limit of its own, and one that can't be shut has none here.
            yield
            return
        self._over = False
        self._due = time.monotonic() + self._limit
        if self._watcher is None:
            self._begin()
        try:
            yield
        except Exception as error:
            if self._over:
                raise ConnectionUnavailableError(f"the database has not answered for {self._limit:g} s") from error
            raise
        finally:
            self._due = None

    def hurry(self) -> None:
        """The app is being shut down: what is asked now, and from now on, has little time."""
        with self._look:
            self._hurried = True
            self._limit = min(self._limit, _GRACE_S)
            due = self._due
            if due is not None:
                self._due = min(due, time.monotonic() + self._limit)
            self._look.notify()

    def end(self) -> None:
        """Nothing is asked any more, for now."""
        with self._look:
            self._ended = True
            self._look.notify()
            watcher, self._watcher = self._watcher, None
        if watcher is not None and watcher is not threading.current_thread():
            watcher.join(1)

    def _begin(self) -> None:
        with self._look:
            self._ended = False
            self._watcher = threading.Thread(target=self._keep, name="siddhi-database", daemon=True)
            self._watcher.start()

    def _keep(self) -> None:
        me = threading.current_thread()
        while True:
            with self._look:
                if self._ended or self._watcher is not me:
                    return
                # Whoever asks wakes nobody, which would cost each statement: it is looked now and then.
                self._look.wait(min(max(self._limit / 8, _SHORTEST_LOOK_S), _LONGEST_LOOK_S))
                due = self._due
                if due is None or time.monotonic() < due:
                    continue
                self._over = True
            for connection in list(self._connections):
                _shut(connection)


def _shut(connection: Any) -> None:
    """Let whoever waits for a connection's next word have its end; the driver closes it."""
    # It may be closed by now, and drivers say so in errors of their own.
    with suppress(Exception), socket.socket(fileno=socket.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
