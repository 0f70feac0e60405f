"""Keeps a source or sink connected: the first attempt at once, further ones with growing pauses."""

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
        connector: the source, sink or store.
        label: for messages: "app 'A', sink 'http' of stream 'S'".
        retries: schedules further attempts.
        disconnects_first: whether to disconnect before connecting again, as for sources.
        on_change: called with True or False whenever the connection is made or lost.
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
        self._lost_again = False  # the connection was lost before the attempt that made it had ended
        self._stopped = False
        self._cancel_retry: Callable[[], None] | None = None
        self.connected = False

    def connect_with_retry(self) -> None:
        """Connect unless an attempt is in progress; if that fails, retry later.

        Raises:
            Exception: the attempt failed with an error other than ConnectionUnavailableError: there is no retry.
        """
        if self.begin():
            self._attempt()

    def begin(self) -> bool:
        """Reserve the next attempt for the caller; return False if connected, connecting or stopped."""
        with self._guard:
            if self._trying or self.connected or self._stopped:
                return False
            self._trying = True
            return True

    def connect_now(self) -> None:
        """Make one attempt, after :meth:`begin`.

        Raises:
            Exception: the attempt failed; no retry is scheduled.
        """
        try:
            if self._disconnects_first and self._cancel_retry is not None:
                self._connector.disconnect()
            self._connector.connect()
        except BaseException:
            with self._guard:
                self._trying = False
            raise
        with self._guard:
            lost, self._lost_again = self._lost_again, False
            self._trying = False
            self.connected = not (self._stopped or lost)
            self._cancel_retry = None
        if lost or not self.connected:
            self._connector.disconnect()
        if lost:
            raise ConnectionUnavailableError("the connection was lost at once")
        self._backoff.reset()
        if self.connected and self._on_change is not None:
            self._on_change(True)

    def reconnect(self) -> None:
        """Disconnect and connect again: the connection is lost.

        Raises:
            Exception: as :meth:`connect_with_retry`.
        """
        with self._guard:
            if self._stopped:
                return
            if self._trying:
                self._lost_again = True
                return
            self._trying = True
        self.lost()
        self._connector.disconnect()
        self._attempt()

    def lost(self) -> None:
        """Record that the connection is lost."""
        with self._guard:
            was, self.connected = self.connected, False
        if was and self._on_change is not None:
            self._on_change(False)

    def stop(self) -> None:
        """Cancel retries, disconnect, and destroy the connector."""
        with self._guard:
            self._stopped = True
            cancel, self._cancel_retry = self._cancel_retry, None
            self.connected = False
        if cancel is not None:
            cancel()
        for doing, end in (
            ("disconnecting", self._connector.disconnect),
            ("destroying it", self._connector.destroy),
        ):
            try:
                end()
            except Exception:
                logger.exception("%s: error while %s", self.label, doing)

    def _attempt(self) -> None:
        try:
            self.connect_now()
        except ConnectionUnavailableError as error:
            pause = self._backoff.next()
            logger.error("%s: %s; reconnecting in %d s", self.label, error, pause)
            with self._guard:
                if not self._stopped:
                    self._trying = True
                    self._cancel_retry = self._retries.after(pause, self._attempt_again)

    def _attempt_again(self) -> None:
        if self._stopped:
            return
        try:
            self._attempt()
        except Exception:
            logger.exception("%s: error while connecting; not retried", self.label)
