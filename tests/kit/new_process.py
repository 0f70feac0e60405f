"""Run the same app in this process and in another one, for the tests of operators with state."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from siddhi import Event, SiddhiAppRuntime, SiddhiManager

Step = tuple[Any, ...]
"""Step: ``("clock", ms)``, a chunk of events ``(stream, ms, [row, ...])``, or an on-demand query ``("ask", text)``."""
Seen = list[Any]


@dataclass
class Played:
    """App that is run several times, each time from a given state."""

    runtime: SiddhiAppRuntime
    at_first: bytes
    seen: Seen = field(default_factory=list)


_PLAYED: dict[str, Played] = {}
_MANAGER = SiddhiManager()


def play(app: str, state: bytes | None, steps: list[Step]) -> tuple[Seen, bytes]:
    """Run an app from a state (None: a new app); return its outputs and its state at the end."""
    played = _PLAYED.get(app)
    if played is None:
        played = _PLAYED[app] = _begin(app)
    played.runtime.restore(played.at_first if state is None else state)
    played.seen.clear()
    for step in steps:
        _do(played, step)
    return list(played.seen), played.runtime.snapshot()


def _begin(app: str) -> Played:
    runtime = _MANAGER.create_siddhi_app_runtime("@app:playback " + app)
    runtime.start()
    played = Played(runtime, runtime.snapshot())
    for stream in [*runtime.stream_definitions, *runtime.window_definitions]:
        if not stream.startswith("#"):
            runtime.add_callback(stream, _note_stream(played.seen, stream))
    for query in runtime.query_names:
        runtime.add_query_callback(query, _note_query(played.seen, query))
    runtime.handle_exception_with(lambda error, origin, events: played.seen.append((str(error), origin)))
    return played


def _do(played: Played, step: Step) -> None:
    if step[0] == "clock":
        played.runtime.advance_clock(step[1])
    elif step[0] == "ask":
        played.seen.append([event.data for event in played.runtime.query(step[1])])
    else:
        stream, moment, rows = step
        played.runtime.input_handler(stream).send_events([Event(moment, row) for row in rows])


def _rows(events: list[Event] | None) -> Seen | None:
    return None if events is None else [(event.timestamp, event.data, event.is_expired) for event in events]


def _note_stream(seen: Seen, stream: str) -> Callable[[list[Event]], None]:
    return lambda events: seen.append((stream, _rows(events)))


def _note_query(seen: Seen, query: str) -> Callable[[int, list[Event] | None, list[Event] | None], None]:
    return lambda moment, current, expired: seen.append((query, moment, _rows(current), _rows(expired)))


@contextmanager
def other_process() -> Iterator[Callable[[str, bytes | None, list[Step]], tuple[Seen, bytes]]]:
    """Process that runs the apps, shared by all examples because its start is slow. It ends if the engine crashes."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield lambda app, state, steps: pool.submit(play, app, state, steps).result(timeout=120)
