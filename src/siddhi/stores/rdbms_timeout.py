"""Statement timeout: a watchdog closes connections whose server has stopped answering.

Timeouts of servers and of TCP do not detect a network that accepts packets and returns none, and a driver's call that waits
for an answer can only be ended by closing its socket.
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

__all__ = ["TIME_LIMIT", "StatementTimeout", "seconds_of"]

TIME_LIMIT = "30 sec"
"""Default of the option ``timeout``."""

_GRACE_S = 5.0
"""Maximum timeout while the app is being shut down."""
_SHORTEST_POLL_S, _LONGEST_POLL_S = 0.02, 2.0

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|millisec(?:ond)?s?|s|sec(?:ond)?s?|min(?:ute)?s?)?", re.ASCII)


def seconds_of(text: str) -> float:
    """Parse a duration such as ``30 sec`` or ``500 millisec`` to seconds; a plain number is in seconds.

    Raises:
        SiddhiAppCreationError: the text is not a positive duration.
    """
    match = _TIME.fullmatch(text.strip().lower())
    seconds = 0.0 if match is None else float(match[1])
    if match is None or seconds <= 0:
        raise SiddhiAppCreationError(
            f"invalid timeout '{text}' for store 'rdbms': expected a duration such as '5 sec'",
            code="E326",
            hint="write timeout = '30 sec'",
        )
    unit = match[2] or "s"
    return seconds / 1000 if unit.startswith(("ms", "mil")) else seconds * 60 if unit.startswith("m") else seconds


class StatementTimeout:
    """Closes the connections of one store if the server does not answer a statement in time.

    Args:
        seconds: maximum time between two answers of the server.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._limit = seconds
        self._hurried = False
        self._connections: WeakSet[Any] = WeakSet()
        self._due: float | None = None
        self._expired = False
        self._watcher: threading.Thread | None = None
        self._changed = threading.Condition()
        self._ended = False

    @property
    def hurried(self) -> bool:
        """Whether the app is being shut down."""
        return self._hurried

    def watch(self, connection: Any) -> None:
        """Register a new connection of the driver."""
        self._connections.add(connection)

    def heard(self) -> None:
        """Restart the timeout: the database has answered, or a statement is about to be sent."""
        if self._due is not None:
            self._due = time.monotonic() + self._limit

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Apply the timeout to the statements of the block.

        Raises:
            ConnectionUnavailableError: the server did not answer in time.
        """
        if not self._connections:
            # Connecting has a timeout of its own; connections without a socket have none.
            yield
            return
        self._expired = False
        self._due = time.monotonic() + self._limit
        if self._watcher is None:
            self._begin()
        try:
            yield
        except Exception as error:
            if self._expired:
                raise ConnectionUnavailableError(f"the database has not answered for {self._limit:g} s") from error
            raise
        finally:
            self._due = None

    def hurry(self) -> None:
        """Shorten the timeout of running and later statements: the app is being shut down."""
        with self._changed:
            self._hurried = True
            self._limit = min(self._limit, _GRACE_S)
            due = self._due
            if due is not None:
                self._due = min(due, time.monotonic() + self._limit)
            self._changed.notify()

    def end(self) -> None:
        """End the watchdog until the next statement."""
        with self._changed:
            self._ended = True
            self._changed.notify()
            watcher, self._watcher = self._watcher, None
        if watcher is not None and watcher is not threading.current_thread():
            watcher.join(1)

    def _begin(self) -> None:
        with self._changed:
            self._ended = False
            self._watcher = threading.Thread(target=self._watch, name="siddhi-database", daemon=True)
            self._watcher.start()

    def _watch(self) -> None:
        current = threading.current_thread()
        while True:
            with self._changed:
                if self._ended or self._watcher is not current:
                    return
                # Polled: a notification would cost time in each statement.
                self._changed.wait(min(max(self._limit / 8, _SHORTEST_POLL_S), _LONGEST_POLL_S))
                due = self._due
                if due is None or time.monotonic() < due:
                    continue
                self._expired = True
            for connection in list(self._connections):
                _shut(connection)


def _shut(connection: Any) -> None:
    """Shut down the socket of a connection, which ends the driver's call; the driver closes the connection."""
    # It may be closed by now, which drivers report with errors of their own.
    with suppress(Exception), socket.socket(fileno=socket.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
