"""Keeps a source or sink connected: the first attempt at once, further ones with growing pauses."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from siddhi._redaction import redacted
from siddhi.errors import ConnectionUnavailableError
from siddhi.io.connector import Connector
from siddhi.runtime.connectors.retry import Backoff, RetryPolicy, RetryScheduler

__all__ = ["Connection"]

logger = logging.getLogger("siddhi")

SHORT_SECONDS = 10.0
"""A connection that is lost earlier than this counts as a failed attempt, from the second one on."""


class Connection:
    """The connection of one connector.

    Args:
        connector: the source, sink or store.
        label: for messages: "app 'A', sink 'http' of stream 'S'".
        retries: schedules further attempts.
        disconnects_first: whether to disconnect before connecting again, as for sources.
        on_change: called with True or False whenever the connection is made or lost.
        policy: the pauses between attempts.

    Attributes:
        connected: whether it is connected.
        reconnects: how often the connection was made again.
        failure: the error of the last failed attempt; None: it succeeded, or there was none.
    """

    def __init__(
        self,
        connector: Connector,
        label: str,
        retries: RetryScheduler,
        *,
        disconnects_first: bool = False,
        on_change: Callable[[bool], None] | None = None,
        policy: RetryPolicy | None = None,
    ) -> None:
        self.label = label
        self._connector = connector
        self._retries = retries
        self._disconnects_first = disconnects_first
        self._on_change = on_change
        self._backoff = Backoff(policy)
        self._guard = threading.Lock()
        self._trying = False
        self._lost_again = False  # the connection was lost before the attempt that made it had ended
        self._stopped = False
        self._cancel_retry: Callable[[], None] | None = None
        self._made_at = 0.0  # when the connection was made, by the monotonic clock
        self._short_ones = 0  # connections, one after the other, that were lost soon after they were made
        self._stopped_trying = False  # the limit of attempts is reached
        self.connected = False
        self.reconnects = 0
        self.failure: Exception | None = None

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
            if self._trying or self.connected or self._stopped or self._stopped_trying:
                return False
            self._trying = True
            return True

    def connect_now(self, *, is_retried: bool = False) -> None:
        """Make one attempt, after :meth:`begin`.

        Args:
            is_retried: whether the caller schedules a further attempt after a ConnectionUnavailableError: it stays reserved,
                so that no other thread makes or schedules one meanwhile.

        Raises:
            Exception: the attempt failed; no retry is scheduled.
        """
        try:
            if self._disconnects_first and self._cancel_retry is not None:
                self._connector.disconnect()
            self._connector.connect()
        except BaseException as error:
            self.failed(error, is_retried=is_retried and isinstance(error, ConnectionUnavailableError))
            raise
        if not self.made(is_retried=is_retried):
            self._connector.disconnect()
            if not self._stopped:
                raise ConnectionUnavailableError("the connection was lost at once")

    def made(self, *, is_retried: bool = False) -> bool:
        """Record the success of an attempt, after :meth:`begin`. Return False if the connection is lost, or stopped, again."""
        with self._guard:
            lost, self._lost_again = self._lost_again, False
            self._trying = is_retried and lost
            self.connected = not (self._stopped or lost)
            self._cancel_retry = None
            if self.connected:
                self.reconnects += self._made_at > 0
                self._made_at = time.monotonic()
                self.failure = None
        if not lost:
            self._backoff.reset()
        if self.connected and self._on_change is not None:
            self._on_change(True)
        return self.connected

    def failed(self, error: BaseException, *, is_retried: bool = False) -> None:
        """Record the failure of an attempt, after :meth:`begin`; ``is_retried``: as for :meth:`connect_now`."""
        with self._guard:
            self._trying = is_retried
            if isinstance(error, Exception):
                self.failure = error

    def reconnect(self, error: Exception) -> None:
        """Disconnect and connect again: the connection is lost.

        The first attempt is made at once, unless the connection was lost soon after it was made, for the second time or
        more: a server that accepts connections and then refuses to work is not to be asked without pauses. After any error
        it is tried again later: a connector that was connected must not stay dead.
        """
        with self._guard:
            if self._stopped or self._stopped_trying:
                return
            if self._trying:
                self._lost_again = True
                return
            self._trying = True
        self.lost()
        try:
            self._connector.disconnect()
        except Exception:
            logger.exception("%s: error while disconnecting", self.label)
        is_short = time.monotonic() - self._made_at < SHORT_SECONDS
        self._short_ones = self._short_ones + 1 if is_short else 0
        if self._short_ones < 2:
            logger.error("%s: %s; reconnecting", self.label, redacted(str(error)))
            self._attempt_again()
        else:
            self._schedule(error, self._backoff.policy.pause(self._short_ones - 1))

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

    def connect_later(self, error: Exception) -> None:
        """Connect after a pause, unless an attempt is in progress or scheduled: the last attempt failed with this error."""
        if self.begin():
            self._schedule(error, self._backoff.next())

    def _attempt(self) -> None:
        try:
            self.connect_now(is_retried=True)
        except ConnectionUnavailableError as error:
            self._schedule(error, self._backoff.next())

    def _schedule(self, error: Exception, pause: float | None) -> None:
        with self._guard:
            if self._stopped:  # during the attempt: nothing follows that could be logged
                return
        if pause is None:
            logger.error(
                "%s: %s; 'retry.limit' is reached: no more attempts to connect are made",
                self.label,
                redacted(str(error)),
            )
            with self._guard:
                self._stopped_trying = True
                self._trying = False
            return
        logger.error("%s: %s; reconnecting in %g s", self.label, redacted(str(error)), pause)
        with self._guard:
            if not self._stopped:
                self._trying = True
                jitter = self._backoff.policy.jitter
                self._cancel_retry = self._retries.after(pause, self._attempt_again, jitter)

    def _is_stopped(self) -> bool:
        with self._guard:
            return self._stopped

    def _attempt_again(self) -> None:
        if self._stopped:
            return
        try:
            self._attempt()
        except Exception as error:
            if self._is_stopped():
                return  # the shutdown has interrupted the attempt
            # At the start of the app such an error ends it; later the connector must not stay dead.
            logger.exception("%s: error while connecting", self.label)
            if self.begin():
                self._schedule(error, self._backoff.next())
