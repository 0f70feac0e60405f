"""A view of a running app that stays in its cell: rates of streams and the last rows, renewed in place."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from siddhi.event import Event
    from siddhi.runtime.app import SiddhiAppRuntime

__all__ = ["LiveView"]

_CELL = 'style="padding:0 .6em;text-align:right;white-space:nowrap"'


class LiveView:
    """Counts the events of streams, and keeps their last rows.

    Args:
        app: the app.
        streams: names of the streams that are shown.
        rows: how many of the last rows of each are kept.
        name: how the cells call the app; None: its own name, if its text has one.
    """

    def __init__(self, app: SiddhiAppRuntime, streams: Sequence[str], rows: int = 5, name: str | None = None) -> None:
        self._app = app
        self._name = name or app.plan.app.name
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(streams, 0)
        self._rows: dict[str, deque[tuple[Any, ...]]] = {stream: deque(maxlen=rows) for stream in streams}
        self._shown = dict.fromkeys(streams, 0)
        self._since = time.monotonic()
        self._callbacks = {stream: self._take(stream) for stream in streams}
        for stream, callback in self._callbacks.items():
            app.add_callback(stream, callback)

    def _take(self, stream: str) -> Callable[[list[Event]], None]:
        rows = self._rows[stream]

        def take(events: list[Event]) -> None:
            with self._lock:
                self._counts[stream] += len(events)
                rows.extend(tuple(event) for event in events[-(rows.maxlen or 1) :])

        return take

    def close(self) -> None:
        """Receive no more events."""
        for callback in self._callbacks.values():
            self._app.remove_callback(callback)
        self._callbacks = {}

    def html(self) -> str:
        """Return the view: events and events per second since the last call, and the last rows of each stream."""
        now = time.monotonic()
        with self._lock:
            elapsed = max(1e-9, now - self._since)
            rates = {stream: (count - self._shown[stream]) / elapsed for stream, count in self._counts.items()}
            counts, rows = dict(self._counts), {stream: list(found) for stream, found in self._rows.items()}
            self._shown, self._since = counts, now
        name = "" if self._name is None else f" <b>{escape(self._name)}</b>"
        parts = [f"<p>app{name}, {'running' if self._app.is_running else 'stopped'}</p>"]
        for stream, count in counts.items():
            names = [name for name, _ in self._app.stream_attributes(stream)]
            head = "".join(f"<th {_CELL}>{escape(name)}</th>" for name in names)
            body = "".join(
                "<tr>" + "".join(f"<td {_CELL}>{escape(str(value))}</td>" for value in row) + "</tr>"
                for row in rows[stream]
            )
            parts.append(
                f"<p><b>{escape(stream)}</b>: {count:,} events, {rates[stream]:,.0f}/s</p>"
                f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            )
        return f"<div>{''.join(parts)}</div>"

    def run(
        self,
        seconds: float,
        show: Callable[[str], None],
        every: float = 0.2,
        *,
        goes_on: Callable[[], bool] = lambda: False,
    ) -> None:
        """Show the view again and again for some seconds; an interrupt of the kernel ends it.

        Its times are fixed beforehand, so that a busy machine shows it later, but not less often, until a time is missed.

        Args:
            seconds: how long.
            show: called with the HTML, replaces what it showed before.
            every: seconds between two of its calls.
            goes_on: whether it is shown for longer.
        """
        start = time.monotonic()
        ended = threading.Event()
        try:
            while (passed := time.monotonic() - start) < seconds or goes_on():
                show(self.html())
                following = every * (passed // every + 1.0)
                if passed < seconds:
                    following = min(following, seconds)
                ended.wait(max(0.0, start + following - time.monotonic()))
        except KeyboardInterrupt:
            pass  # the user wants to see no more: the cell has ended as it should
        finally:
            self.close()
            show(self.html())
