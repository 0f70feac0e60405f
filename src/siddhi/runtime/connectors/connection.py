"""Keeps a source or sink connected: the first attempt at once, the others later and later."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from siddhi.errors import ConnectionUnavailableError
from siddhi.io.connector import Connector
from siddhi.runtime.connectors.retry import Backoff, RetryScheduler

__all__ = ["Connection"]

logger = logging.getLogger("siddhi")


class Connection:
    """The connection of one connector.

    Args:
        connector: what connects.
        label: for messages: "app 'A', sink 'http' of stream 'S'".
        retries: when attempts are made.
        disconnects_first: whether it is disconnected before it is connected again, as sources are.
        on_change: called with whether it is connected, whenever that changes.
    """

    def __init__(
        self,
        connector: Connector,
        label: str,
        retries: RetryScheduler,
        *,
        disconnects_first: bool = False,
        on_change: Callable[[bool], None] | None = None,
    ) -> None:
        self.label = label
        self._connector = connector
        self._retries = retries
        self._disconnects_first = disconnects_first
        self._on_change = on_change
        self._backoff = Backoff()
        self._guard = threading.Lock()
        self._trying = False
        self._stopped = False
        self._call_off: Callable[[], None] | None = None
        self.connected = False

    def connect_with_retry(self) -> None:
        """Connect, unless that is under way; where it does not work now, it is tried again later.

        Raises:
            Exception: the attempt failed with something else than a ConnectionUnavailableError: no other follows.
        """
        if self.begin():
            self._attempt()

    def begin(self) -> bool:
        """Take it on to connect; False where that is done already, under way, or over."""
        with self._guard:
            if self._trying or self.connected or self._stopped:
                return False
            self._trying = True
            return True

    def connect_now(self) -> None:
        """One attempt, after :meth:`begin`.

        Raises:
            Exception: it failed; nobody is trying any more.
        """
        try:
            if self._disconnects_first and self._call_off is not None:
                self._connector.disconnect()
            self._connector.connect()
        except BaseException:
            with self._guard:
                self._trying = False
            raise
        with self._guard:
            self._trying = False
            self.connected = not self._stopped
            self._call_off = None
        self._backoff.reset()
        if not self.connected:
            self._connector.disconnect()
        elif self._on_change is not None:
            self._on_change(True)

    def lost(self) -> None:
        """It is not connected any more."""
        with self._guard:
            was, self.connected = self.connected, False
        if was and self._on_change is not None:
            self._on_change(False)

    def stop(self) -> None:
        """Try no more, disconnect, and destroy the connector."""
        with self._guard:
            self._stopped = True
            call_off, self._call_off = self._call_off, None
            self.connected = False
        if call_off is not None:
            call_off()
        for doing, end in (
            ("disconnecting", self._connector.disconnect),
            ("it was destroyed", self._connector.destroy),
        ):
            try:
                end()
            except Exception:
                logger.exception("%s: an error while %s", self.label, doing)

    def _attempt(self) -> None:
        try:
            self.connect_now()
        except ConnectionUnavailableError as error:
            pause = self._backoff.next()
            logger.error("%s: %s; trying to connect again in %d s", self.label, error, pause)
            with self._guard:
                if not self._stopped:
                    self._trying = True
                    self._call_off = self._retries.after(pause, self._attempt_again)

    def _attempt_again(self) -> None:
        if self._stopped:
            return
        try:
            self._attempt()
        except Exception:
            logger.exception("%s: an error while connecting, which ends the attempts at intervals", self.label)
