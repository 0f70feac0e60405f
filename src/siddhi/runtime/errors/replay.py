"""What failed, and was saved in the error store, done once more."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from siddhi._core.record.user_event import Event
from siddhi._core.stream.input import InputHandler
from siddhi._core.stream.junction import StreamJunction
from siddhi.errors import NotRunningError
from siddhi.persistence.error_store import ErrorEntry, ErrorOccurrence, UnkeptValue

if TYPE_CHECKING:
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["replay_entry"]

_SINGLE = struct.Struct("f")


def replay_entry(assembly: Assembly, entry: ErrorEntry, payload: object) -> None:
    """Send, publish, map or change again; see :meth:`SiddhiAppRuntime.replay_error_entry`.

    Raises:
        NotRunningError, ValueError: as told there.
        Exception: what failed once more.
    """
    occurrence = entry.occurrence
    replay: Callable[[], None]
    if occurrence is ErrorOccurrence.STORE_ON_STREAM_ERROR:
        replay = _of_stream(assembly, entry, payload)
    elif occurrence is ErrorOccurrence.STORE_ON_SINK_ERROR:
        replay = _of_sink(assembly, entry, payload)
    elif occurrence is ErrorOccurrence.BEFORE_SOURCE_MAPPING:
        replay = _of_source(assembly, entry, payload)
    else:
        replay = _of_table(assembly, entry, payload)
    if not assembly.context.running:
        raise NotRunningError(f"Siddhi app '{assembly.context.name}' is not running")
    replay()


def _of_stream(assembly: Assembly, entry: ErrorEntry, payload: object) -> Callable[[], None]:
    context = assembly.context
    junction = assembly.junctions.get(entry.name)
    if entry.app != context.name or junction is None or entry.name in assembly.windows:
        raise ValueError(f"entry {entry.id} tells of no stream of app '{context.name}'")
    _take_no_payload(entry, payload)
    events = _events(entry)
    # Past the buffer of an @async stream: nobody could be told of what its workers meet with.
    handler = InputHandler(context, junction)

    def replay() -> None:
        with context.lock, _failures(junction, events) as failed:
            if len(events) == 1:
                handler.send(events[0])
            else:
                handler.send_events(events)
        if failed:
            raise failed[0]

    return replay


def _of_sink(assembly: Assembly, entry: ErrorEntry, payload: object) -> Callable[[], None]:
    context = assembly.context
    sinks = assembly.connectors.sinks.get(entry.name, ())
    if entry.app != context.name or not 0 <= entry.connector < len(sinks):
        raise ValueError(f"entry {entry.id} tells of no sink of app '{context.name}'")
    if payload is None and not isinstance(entry.payload, UnkeptValue):
        payload = entry.payload
    events = _events(entry)

    def replay() -> None:
        with context.lock:  # as whenever the stream has events for it
            sinks[entry.connector].replay(payload, events)

    return replay


def _of_source(assembly: Assembly, entry: ErrorEntry, payload: object) -> Callable[[], None]:
    sources = assembly.connectors.sources.get(entry.name, ())
    if entry.app != assembly.context.name or not 0 <= entry.connector < len(sources):
        raise ValueError(f"entry {entry.id} tells of no source of app '{assembly.context.name}'")
    if payload is None:
        payload = entry.payload
        if payload is None or isinstance(payload, UnkeptValue):
            raise ValueError(f"the error store could not keep the payload of entry {entry.id}: give one")
    if any(isinstance(value, UnkeptValue) for value in entry.transport_properties):
        raise ValueError(f"the error store could not keep the transport properties of entry {entry.id}")
    return lambda: sources[entry.connector].map(payload, entry.transport_properties)


def _of_table(assembly: Assembly, entry: ErrorEntry, payload: object) -> Callable[[], None]:
    context = assembly.context
    store = assembly.connectors.stores.get(entry.name)
    if entry.app != context.name or store is None:
        raise ValueError(f"entry {entry.id} tells of no change of a table of app '{context.name}'")
    _take_no_payload(entry, payload)
    kept: Any = entry.payload
    if isinstance(kept, UnkeptValue):
        raise ValueError(f"the error store could not keep the values of entry {entry.id}: {kept.text}")
    change, values = (None, ()) if kept is None else (kept["change"], kept["values"])
    records = [event.data for event in _events(entry)]

    def replay() -> None:
        with context.lock:
            store.replay(change, values, records)

    return replay


def _take_no_payload(entry: ErrorEntry, payload: object) -> None:
    if payload is not None:
        raise ValueError(f"entry {entry.id} is of no source or sink: it takes no other payload")


def _events(entry: ErrorEntry) -> tuple[Event, ...]:
    if not entry.events:
        raise ValueError(f"entry {entry.id} has no events")
    for event in entry.events:
        for value in event.data:
            if isinstance(value, UnkeptValue):
                raise ValueError(f"the error store could not keep a value of entry {entry.id}: {value.text}")
    return entry.events


@contextmanager
def _failures(junction: StreamJunction, sent: Sequence[Event]) -> Iterator[list[Exception]]:
    """What is raised at a stream while some events are sent into it; the app's lock is held.

    Only the failures of these: where the stream feeds itself, others may fail there, and are handled as ever.
    """
    found: list[Exception] = []
    usual = junction.on_error

    def handle(error: Exception, events: list[Event]) -> None:
        if _same_events(events, sent):
            found.append(error)
        elif usual is not None:
            usual(error, events)
        else:
            junction.app.handle(error, junction.id, events)

    junction.on_error = handle
    try:
        yield found
    finally:
        junction.on_error = usual


def _same_events(failed: Sequence[Event], sent: Sequence[Event]) -> bool:
    """Whether what failed is what was sent, or part of it."""
    if len(failed) == len(sent) and all(map(_same, failed, sent)):
        return True
    return all(any(_same(event, one) for one in sent) for event in failed)


def _same(failed: Event, sent: Event) -> bool:
    return failed.timestamp == sent.timestamp and all(map(_same_value, failed.data, sent.data))


def _same_value(failed: object, sent: Any) -> bool:
    """Whether a value is what became of another one in the stream."""
    if failed is sent:
        return True
    if not isinstance(failed, float):
        return isinstance(failed, str | int) and bool(failed == sent)
    try:
        number = float(sent)
        # An attribute of type float has fewer digits; nan is not itself.
        return failed in (number, _SINGLE.unpack(_SINGLE.pack(number))[0]) or (failed != failed and number != number)
    except (TypeError, ValueError, OverflowError):
        return False
