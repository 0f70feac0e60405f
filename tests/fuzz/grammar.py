"""Mutated SiddhiQL: whatever a text says, it is refused with an error of siddhi's, or it runs."""

from __future__ import annotations

import contextlib
import random
import re
from types import TracebackType

from siddhi import Event, SiddhiAppRuntime, SiddhiManager
from siddhi.errors import SiddhiAppError, SiddhiError
from siddhi.planner.explain.app import explain
from siddhi.query_compiler import parse, to_siddhiql
from tests.fuzz.texts import mutated
from tests.fuzz.values import rows_for

__all__ = ["LEAPS", "START", "attempt", "send_some"]

START = 1_496_289_950_000
LEAPS = [0, 1, 10, 100, 1_000, 10_000, 60_000]


def attempt(chance: random.Random) -> None:
    """Take one text as far as it goes."""
    text = mutated(chance)
    try:
        _try(chance, text)
    except BaseException as error:
        raise AssertionError(f"the text was:\n{text[:3000]}") from error


def _try(chance: random.Random, text: str) -> None:
    try:
        app = parse(text)
    except SiddhiAppError as error:
        _check_refusal(error)
        return
    assert parse(to_siddhiql(app)) == app, "printed and parsed again it is another app"
    with SiddhiManager(allow_scripts=False) as manager:
        try:
            runtime = manager.create_sandbox_siddhi_app_runtime(app)
        except SiddhiAppError as error:
            _check_refusal(error)
            return
        explain(runtime.plan)
        runtime.enable_playback(True)
        play(chance, runtime, text)


def _check_refusal(error: SiddhiAppError) -> None:
    assert error.message
    assert str(error).startswith(f"[{error.code}] ")
    if error.span is not None and error.source is not None:
        lines = error.source.split("\n")
        assert 1 <= error.span.line <= error.span.end_line <= len(lines), error.span
        assert 0 <= error.span.column <= len(lines[error.span.line - 1]), error.span


def play(chance: random.Random, runtime: SiddhiAppRuntime, text: str, clock: int = START) -> None:
    """Send events of every stream, let time pass, ask, save and restore. Errors of events must be siddhi's."""
    failed: list[BaseException] = []
    runtime.handle_exception_with(lambda error, origin, events: failed.append(error))
    for stream in runtime.stream_definitions:
        if chance.random() < 0.5 and not stream.startswith("#"):
            runtime.add_callback(stream, lambda events: [event.data for event in events])
    for query in runtime.query_names:
        if chance.random() < 0.5:
            runtime.add_query_callback(query, lambda moment, current, expired: None)
    runtime.start()
    clock = send_some(chance, runtime, clock, 12)
    _ask(runtime)
    try:
        state = runtime.snapshot()
        runtime.restore(state)
        has_order = not re.search("set|distinctcount", text, re.IGNORECASE)  # sets come back in any order
        assert not has_order or runtime.snapshot() == state, "a restored app has another state"
    except SiddhiError:
        pass  # objects that are not data
    runtime.advance_clock(clock + chance.choice(LEAPS))
    _ask(runtime)
    runtime.shutdown()
    for error in failed:
        if not _allowed(error):
            raise AssertionError("an event failed with an error of another kind") from error


def send_some(chance: random.Random, runtime: SiddhiAppRuntime, clock: int, most: int) -> int:
    """Send up to so many chunks of events as time passes; returns the time of the last one."""
    streams = [name for name in runtime.stream_definitions if not name.startswith(("#", "!"))]
    for _ in range(chance.randrange(most) if streams else 0):
        clock += chance.choice(LEAPS)
        _send(chance, runtime, chance.choice(streams), clock)
    return clock


def _allowed(error: BaseException) -> bool:
    """The engine's core raises built-in exceptions with a message; what is raised by mistake has other classes."""
    if isinstance(error, TypeError):  # of objects only the core can say that they are of a wrong type
        return error.__traceback__ is not None and _last_file(error.__traceback__).endswith(".pyx")
    if type(error) is RuntimeError and isinstance(error.__cause__, Exception):  # a function that refused its values
        return str(error).startswith("function '") and _allowed(error.__cause__)
    return isinstance(error, (SiddhiError, ValueError, OverflowError, RecursionError)) and bool(str(error))


def _last_file(place: TracebackType) -> str:
    while place.tb_next is not None:
        place = place.tb_next
    return place.tb_frame.f_code.co_filename


def _send(chance: random.Random, runtime: SiddhiAppRuntime, stream: str, clock: int) -> None:
    attributes = runtime.stream_attributes(stream)
    rows = rows_for(chance, [kind for _, kind in attributes], chance.choice([1, 1, 1, 3, 20]))
    handler = runtime.input_handler(stream)
    try:
        way = chance.randrange(3)
        if way == 0:
            handler.send(rows[0], clock)
        elif way == 1 or any(kind == "object" for _, kind in attributes):
            handler.send_events([Event(clock, row) for row in rows])
        else:
            columns = {name: [row[place] for row in rows] for place, (name, _) in enumerate(attributes)}
            handler.send_batch(columns, timestamp=[clock] * len(rows))
    except SiddhiError:
        pass


def _ask(runtime: SiddhiAppRuntime) -> None:
    for name in [*runtime.table_definitions, *runtime.window_definitions]:
        with contextlib.suppress(SiddhiError):
            runtime.query(f"from `{name}` select *")
