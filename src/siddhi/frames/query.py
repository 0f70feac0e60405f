"""``siddhi.query``: run an app over data frames in one call."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from siddhi._core.record.user_event import Event
from siddhi._core.stream.input import InputHandler
from siddhi.errors import SiddhiTemporalError, did_you_mean, shown
from siddhi.frames.inputs import (
    DEFAULT_COLUMN,
    FrameInput,
    Piece,
    default_times,
    open_input,
    read_pieces,
    refuse_untyped,
    time_column,
)
from siddhi.frames.merge import Run, in_time_order, one_after_another
from siddhi.frames.model import (
    attributes_of,
    defined,
    endless_reasons,
    handles_errors,
    is_filled,
    objects_of,
    output_streams,
    stream_names,
    with_definitions,
    without_connectors,
)
from siddhi.frames.result import Result
from siddhi.query_compiler.parser import parse
from siddhi.query_compiler.variables import bind_parameters, parameter_names, plain_value
from siddhi.runtime.app import SiddhiAppRuntime
from siddhi.runtime.manager import SiddhiManager

if TYPE_CHECKING:
    from siddhi.query_api.app import SiddhiApp

__all__ = ["query"]

_END = "end"


def query(
    text: str,
    inputs: Mapping[str, Any] | None = None,
    /,
    *,
    params: Mapping[str, object] | None = None,
    timestamp: str | Mapping[str, str | None] | None = None,
    until: int | datetime | np.datetime64 | str | None = _END,
    outputs: str | Sequence[str] | None = None,
    manager: SiddhiManager | None = None,
    **named: Any,
) -> Result:
    """Run an app over data frames and return its output streams as frames.

    Inputs are pandas and polars frames, polars LazyFrames, Arrow tables and readers, duckdb relations, numpy structured
    arrays, mappings of names to columns, event batches, and iterables of rows (mappings, events, dataclasses, named tuples,
    tuples). A stream that the text does not define gets the columns of its input as attributes. Several inputs are merged by
    time; at equal times the input named first comes first.

    The app's clock follows the times of the events, and timers run at their own times, so that the result is that of a live
    app. Sources and sinks of the text are left out, and ``@async`` has no effect.

    Args:
        text: SiddhiQL. A query may end in ``return`` instead of ``insert into``: its output is then called as the query is.
        inputs: inputs by stream, for names that can't be keyword arguments here.
        params: values of ``${name}`` in the text, for names that can't be keyword arguments here.
        timestamp: column or pandas index with the times of the events, which are integers in ms, date-times, whole floats or
            text in ISO 8601, in ascending order: one name for all inputs, or names by stream, None for an input without times.
            Otherwise events and event batches have their own times, and other inputs those of a column ``timestamp``, else of
            their index, else of their only column of dates or date-times. Rows of an input without times happen at the same
            time, before all others.
        until: how far the clock goes after the last event. ``"end"``: until no buffered event waits for time to pass, so that
            windows expire and batches end. A time (ms, a datetime with a zone, a ``numpy.datetime64``): to there. None: not
            beyond the last event.
        outputs: names of the output streams, or one name, and of tables, whose rows at the end are returned. None: the
            streams that queries fill and no other query reads.
        manager: manager whose extensions and stores the app uses; None: a new one.
        named: an input for each stream, and a value for each ``${name}``, by name.

    Returns:
        The output streams: ``result["Alerts"]``, ``result.to_pandas()``.

    Raises:
        SiddhiAppError: the app is invalid.
        TypeError: a keyword is neither a stream nor a parameter, or could be both; an input is not a table.
        ValueError: timers never end, so that ``until="end"`` can't be reached; a parameter has no constant.
        EventError: an input does not fit its stream, or its rows are not in the order of their times.
        SiddhiTemporalError: the app has temporal streams or corrects late events.
        Exception: what a function of the app has raised, unless its stream has ``@OnError``.
    """
    if not isinstance(text, str):
        raise TypeError(f"invalid text: expected SiddhiQL as a str, not {type(text).__name__}")
    given, parameters = _by_kind(text, inputs, params, named)
    model = parse(bind_parameters(text, parameters), needs_definitions=False)
    _refuse_unknown(model, given, parameters)
    end = _end_ms(until)
    _refuse_times(timestamp)
    candidates = _candidates(timestamp)
    found = [
        open_input(name, data, attributes_of(model, name), candidates, objects_of(model, name))
        for name, data in given.items()
    ]
    times = _times_of(found, timestamp)
    undefined = [each for each in found if each.stream not in defined(model) and not is_filled(model, each.stream)]
    for each in undefined:
        refuse_untyped(each)
    model = without_connectors(with_definitions(model, {each.stream: each.columns for each in undefined}))
    app = (SiddhiManager() if manager is None else manager).create_siddhi_app_runtime(model)
    try:
        return _run(app, model, found, times, end, [outputs] if isinstance(outputs, str) else outputs)
    finally:
        app.shutdown()


def _run(
    app: SiddhiAppRuntime,
    model: SiddhiApp,
    inputs: Sequence[FrameInput],
    times: Mapping[str, object],
    end: int | str | None,
    outputs: Sequence[str] | None,
) -> Result:
    if app.plan.temporal_queries or any(not isinstance(_handler(app, each), InputHandler) for each in inputs):
        raise SiddhiTemporalError(
            f"app '{app.name}' has temporal streams or corrects late events, which siddhi.query() does not run: "
            "use siddhi.App and its input handlers"
        )
    if end == _END and (reasons := endless_reasons(app.plan)):
        raise ValueError(f"the input's end can't be awaited (until='end'): {reasons}. Pass until=<time> or until=None")
    names = output_streams(app.plan, times) if outputs is None else list(outputs)
    tables = {name for name in names if defined(model).get(name) == "table"}
    streams = [name for name in names if name not in tables]
    app.collect(*streams, timestamp=None, chunk=None, end=None)
    handled = handles_errors(model)

    def raise_error(error: Exception, origin: str, _: Sequence[Event]) -> None:
        if origin not in handled:
            raise error

    app.handle_exception_with(raise_error)
    app.enable_playback(True)
    app.start_without_sources()
    _send(app, inputs, times)
    if end == _END:
        app.advance_to_end()
    elif isinstance(end, int):
        app.advance_clock(end)
    batches = app.drain()
    return Result(
        {name: app.query(f"from {name} select *").to_batch() if name in tables else batches[name] for name in names},
        list(app.stream_definitions),
    )


def _send(app: SiddhiAppRuntime, inputs: Sequence[FrameInput], times: Mapping[str, object]) -> None:
    """Send the rows of all inputs: those without times first, at the time of the first one with a time."""
    timed = [each for each in inputs if times[each.stream] is not None]
    untimed = [each for each in inputs if times[each.stream] is None]
    merged = len(timed) > 1 or bool(timed and untimed)

    def pieces(each: FrameInput, instant: int) -> Iterator[Piece]:
        names = [name for name, _ in app.stream_attributes(each.stream)]
        handler = _handler(app, each)
        assert isinstance(handler, InputHandler)
        return read_pieces(each, handler, names, times[each.stream], instant=instant, merged=merged)

    chunks = [(each.stream, pieces(each, 0)) for each in timed]
    runs = in_time_order(chunks) if merged else one_after_another(chunks)
    first = next(runs, None) if untimed else None
    if untimed:
        at = int(time.time() * 1000) if first is None else _first_time(first)
        for run in one_after_another((each.stream, pieces(each, at)) for each in untimed):
            run.chunk.send(run.start, run.stop)
    if first is not None:
        first.chunk.send(first.start, first.stop)
    for run in runs:
        run.chunk.send(run.start, run.stop)


def _first_time(run: Run[Piece]) -> int:
    assert run.chunk.times is not None, "merged pieces have times"
    return int(run.chunk.times[run.start])


def _handler(app: SiddhiAppRuntime, given: FrameInput) -> object:
    return app.input_handler(given.stream)


def _by_kind(
    text: str, inputs: Mapping[str, Any] | None, params: Mapping[str, object] | None, named: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, object]]:
    """Return inputs by stream and parameters by name: keywords are parameters where the text has ``${name}``."""
    parameters, streams = dict(params or {}), dict(inputs or {})
    known = parameter_names(text)
    for name, value in named.items():
        kind = parameters if name in known else streams
        if name in kind:
            where = "params" if kind is parameters else "the mapping of inputs"
            raise TypeError(f"'{name}' is given twice: by keyword and in {where}")
        if kind is parameters and not isinstance(plain_value(value), (bool, int, float, str, timedelta)):
            raise TypeError(
                f"'{name}' is the parameter ${{{name}}} of the app, which can't be a {type(value).__name__}; if a stream "
                f"is called so, too, pass its input in a mapping: query(text, {{'{name}': ...}}, params={{'{name}': ...}})"
            )
        kind[name] = value
    return streams, parameters


def _refuse_unknown(model: SiddhiApp, given: Mapping[str, Any], parameters: Mapping[str, object]) -> None:
    """Refuse keywords that name no stream, or a stream and a parameter."""
    streams = stream_names(model)
    for name in parameters:
        if name in streams and name not in given:
            raise TypeError(
                f"'{name}' is a stream and a parameter ${{{name}}} of the app: pass an input in a mapping, as in "
                f"query(text, {{'{name}': frame}}, ...), and a value as params={{'{name}': ...}}"
            )
    for name in given:
        if name in streams:
            continue
        kind = defined(model).get(name)
        if kind is not None:
            raise TypeError(f"'{name}' is a {kind}, not a stream: give the input of a stream, and insert it by a query")
        raise TypeError(
            f"the app has no stream and no parameter ${{...}} called '{name}' (streams: {', '.join(streams) or 'none'})"
            f"{did_you_mean(name, [*streams, *parameters])}"
        )


def _refuse_times(timestamp: object) -> None:
    """Refuse what names no column.

    Raises:
        TypeError: it is neither a name, names by stream, nor None.
    """
    names = timestamp.values() if isinstance(timestamp, Mapping) else (timestamp,)
    for name in names:
        if name is not None and not isinstance(name, str):
            raise TypeError(
                f"invalid timestamp {shown(name)}: expected the name of the column with the times, or names by stream, as in "
                "timestamp={'Trades': 'ts'}"
            )


def _candidates(timestamp: str | Mapping[str, str | None] | None) -> list[str]:
    """Return the names of columns that may hold times."""
    if timestamp is None:
        return [DEFAULT_COLUMN]
    if isinstance(timestamp, str):
        return [timestamp]
    return [DEFAULT_COLUMN, *(name for name in timestamp.values() if name is not None)]


def _times_of(inputs: Sequence[FrameInput], timestamp: str | Mapping[str, str | None] | None) -> dict[str, object]:
    """Return the source of the times of each input, by stream.

    Raises:
        TypeError: a name is wrong, or some inputs have times and others have none, without being declared so.
    """
    if isinstance(timestamp, Mapping):
        for name in timestamp:
            if name not in (streams := [each.stream for each in inputs]):
                raise TypeError(f"timestamp names '{name}', which is not an input{did_you_mean(name, streams)}")
    found: dict[str, object] = {}
    implied: list[str] = []
    for each in inputs:
        if isinstance(timestamp, str):
            found[each.stream] = time_column(each, timestamp)
        elif timestamp is not None and each.stream in timestamp:
            found[each.stream] = time_column(each, timestamp[each.stream])
        else:
            found[each.stream] = default_times(each)
            if found[each.stream] is None and each.columns:
                implied.append(each.stream)
    if implied and any(source is not None for source in found.values()):
        raise TypeError(
            f"the input of stream '{implied[0]}' has no times, but others have: name its column, as in "
            f"timestamp={{'{implied[0]}': 'ts'}}, or declare that all its rows come first: timestamp={{'{implied[0]}': None}}"
        )
    return found


def _end_ms(until: object) -> int | str | None:
    """Return the end of time in ms; ``"end"`` and None as they are.

    Raises:
        TypeError: it is none of these.
        ValueError: a datetime has no zone.
    """
    if until is None:
        return None
    if isinstance(until, str) and until == _END:
        return _END
    if isinstance(until, bool) or not isinstance(until, (int, datetime, np.integer, np.datetime64)):
        raise TypeError(f"invalid until {until!r}: expected 'end', None, or a time (ms, datetime, numpy.datetime64)")
    if isinstance(until, np.datetime64):
        return int(until.astype("datetime64[ms]").astype(np.int64))
    if isinstance(until, datetime):
        if until.tzinfo is None:
            raise ValueError(f"invalid until {until!r}: a datetime needs a zone, as in tzinfo=timezone.utc")
        return round(until.timestamp() * 1000)
    return int(until)
