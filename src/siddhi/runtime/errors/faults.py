"""Handling of events whose processing failed: ``@OnError`` of their stream, else the app's exception handler."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Sequence

from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.stream.junction import StreamJunction
from siddhi.persistence.error_store import ErrorEntry, ErrorOccurrence, ErrorStore
from siddhi.repeats import Repeats

__all__ = ["ErrorLog", "ExceptionHandler", "FaultHandling"]

logger = logging.getLogger("siddhi")

ExceptionHandler = Callable[[Exception, str, Sequence[Event]], None]
"""``fn(exception, origin, events)``: origin names the stream or callback, events are those being processed."""


class ErrorLog:
    """The default handler: logs the exception with the dropped events; repeated ones less and less often.

    Args:
        app: name of the app.
    """

    def __init__(self, app: str) -> None:
        self._app = app
        self._repeats = Repeats()

    def __call__(self, error: Exception, origin: str, events: Sequence[Event]) -> None:
        """Log an exception, unless it is one of many."""
        note = self._repeats.note(f"app '{self._app}', {origin}: {type(error).__name__}")
        if note is None:
            return
        shown = ", ".join(map(repr, events[:5])) + (", ..." if len(events) > 5 else "")
        logger.error(
            "app '%s', %s: %s: %s; dropped: %s%s",
            self._app,
            origin,
            type(error).__name__,
            error,
            shown or "nothing",
            note,
            exc_info=error,
        )

    def close(self) -> None:
        """Log how many exceptions were not shown: the app is shut down."""
        for line in self._repeats.summary():
            logger.error("%s", line)


class FaultHandling:
    """Error handling of the streams of an app.

    Args:
        context: the app's context.
        store: returns the current error store, or None.

    Attributes:
        listener: the user's exception handler, called first for every failure; None: there is none.
    """

    def __init__(self, context: AppContext, store: Callable[[], ErrorStore | None]) -> None:
        self._context = context
        self._store = store
        self.listener: ExceptionHandler | None = None

    @property
    def has_store(self) -> bool:
        """Whether there is an error store now."""
        return self._store() is not None

    def forward(self, stream: str, fault: StreamJunction) -> Callable[[Exception, Sequence[Event]], None]:
        """Return error handling that sends the failed events, with the exception as ``_error``, to a fault stream."""

        def handle(error: Exception, events: Sequence[Event]) -> None:
            self._notify(error, stream, events)
            fault.send_rows([(event.timestamp, (*event.data, error)) for event in events])

        return handle

    def keep(self, stream: str) -> Callable[[Exception, Sequence[Event]], None]:
        """Return error handling that saves the failed events in the error store; without a store it has no effect."""

        def handle(error: Exception, events: Sequence[Event]) -> None:
            if not self.has_store:
                self._context.handle(error, stream, list(events))
                return
            self._notify(error, stream, events)
            self.save(error, stream, events, ErrorOccurrence.STORE_ON_STREAM_ERROR)

        return handle

    def save(
        self,
        error: Exception,
        stream: str,
        events: Sequence[Event],
        occurrence: ErrorOccurrence,
        payload: object = None,
        *,
        connector: int = 0,
        transport_properties: Sequence[object] = (),
    ) -> bool:
        """Save events or a payload in the error store; return whether there is one."""
        store = self._store()
        if store is None:
            return False
        store.save(
            ErrorEntry(
                id=0,
                timestamp=int(time.time() * 1000),
                app=self._context.name,
                name=stream,
                occurrence=occurrence,
                # Copies: the engine's events would keep its records alive.
                events=tuple(Event(event.timestamp, event.data, event.is_expired, event.end) for event in events),
                cause=f"{type(error).__name__}: {error}",
                stack_trace="".join(traceback.format_exception(error)),
                payload=payload,
                connector=connector,
                transport_properties=tuple(transport_properties),
            )
        )
        return True

    def _notify(self, error: Exception, stream: str, events: Sequence[Event]) -> None:
        if self.listener is not None:
            self.listener(error, stream, events)
