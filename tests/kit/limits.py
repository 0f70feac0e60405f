"""Helpers for tests of limits: an app over keys with a fault stream, and a run of it."""

from __future__ import annotations

from typing import Any

from siddhi import Event
from siddhi.errors import LimitExceededError
from tests.kit.running import collect, running

STREAM = "@app:name('A') @app:playback @OnError(action = 'stream') define stream S (k string, v int);\n"
ROWS = [("a", 1), ("b", 1), ("c", 1), ("a", 1), ("c", 1), ("b", 1)]


def run(text: str, rows: list[tuple[Any, ...]], *, chunk: bool = False) -> tuple[list[Any], list[Any]]:
    """Send rows a millisecond apart; return the outputs and the keys that failed."""
    with running(text) as runtime:
        out, failed = collect(runtime, "Out"), collect(runtime, "!S")
        events = [Event(time, row) for time, row in enumerate(rows, 1)]
        if chunk:
            runtime.input_handler("S").send_events(events)
        else:
            for event in events:
                runtime.input_handler("S").send(event)
    assert all(isinstance(row[-1], LimitExceededError) for row in failed)
    return out, [row[:-1] for row in failed]
