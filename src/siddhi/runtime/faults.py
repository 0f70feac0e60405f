"""What happens to an event whose processing failed: ``@OnError`` of its stream, else the app's exception handler."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from siddhi._core.junction import StreamJunction
from siddhi._core.user_event import Event

__all__ = ["ExceptionHandler", "forward_to_fault_stream", "log_error"]

logger = logging.getLogger("siddhi")

ExceptionHandler = Callable[[Exception, str, Sequence[Event]], None]
"""``fn(exception, origin, events)``: origin names the stream or callback, events are those being processed."""


def log_error(app: str) -> ExceptionHandler:
    """The default handler: logs the exception with the dropped events."""

    def handle(error: Exception, origin: str, events: Sequence[Event]) -> None:
        shown = ", ".join(map(repr, events[:5])) + (", ..." if len(events) > 5 else "")
        logger.error(
            "app '%s', %s: %s: %s; dropped: %s",
            app,
            origin,
            type(error).__name__,
            error,
            shown or "nothing",
            exc_info=error,
        )

    return handle


def forward_to_fault_stream(fault: StreamJunction) -> Callable[[Exception, Sequence[Event]], None]:
    """A junction's error handling that sends the failed events, with the exception as ``_error``, to its fault stream."""

    def handle(error: Exception, events: Sequence[Event]) -> None:
        fault.send_rows([(event.timestamp, (*event.data, error)) for event in events])

    return handle
