"""Replay of entries of the error store."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from siddhi._core.record.user_event import Event
from siddhi._core.stream.input import InputHandler
from siddhi._core.stream.junction import StreamJunction
from siddhi.errors import CtiViolation, InvalidTemporalEvent, NotRunningError
from siddhi.persistence.error_store import ErrorEntry, ErrorOccurrence, UnkeptValue

if TYPE_CHECKING:
    from siddhi.runtime.assembly.app import Assembly

__all__ = ["replay_entry"]

_SINGLE = struct.Struct("f")
_REFUSALS = (CtiViolation.__name__, InvalidTemporalEvent.__name__)
"""Errors of items that a temporal stream has refused."""


def replay_entry(assembly: Assembly, entry: ErrorEntry, payload: object) -> None:
    """Send, publish, map or change again; see :meth:`SiddhiAppRuntime.replay_error_entry`.

    Raises:
        NotRunningError, ValueError: as documented there.
        Exception: the replay failed.
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
        raise ValueError(f"entry {entry.id} can't be replayed: app '{context.name}' has no stream '{entry.name}' of it")
    _refuse_payload(entry, payload)
    events = _events(entry)
    temporal = assembly.temporal
    if temporal is not None and entry.name in temporal.ingresses and entry.cause.partition(":")[0] in _REFUSALS:
        # The stream has refused them, so that they reached no query.
        def insert() -> None:
            with context.lock:
                for event in events:
                    temporal.replay(entry.name, event)

        return insert
    # Bypass the buffer of an @async stream: errors of its workers could not reach the caller.
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
        raise ValueError(
            f"entry {entry.id} can't be replayed: app '{context.name}' has no such sink of stream '{entry.name}'"
        )
    if payload is None and not isinstance(entry.payload, UnkeptValue):
        payload = entry.payload
    events = _events(entry)

    def replay() -> None:
        with context.lock:  # as for events of the stream
            sinks[entry.connector].replay(payload, events)

    return replay


def _of_source(assembly: Assembly, entry: ErrorEntry, payload: object) -> Callable[[], None]:
    sources = assembly.connectors.sources.get(entry.name, ())
    if entry.app != assembly.context.name or not 0 <= entry.connector < len(sources):
        raise ValueError(
            f"entry {entry.id} can't be replayed: app '{assembly.context.name}' has no such source of stream '{entry.name}'"
        )
    if payload is None:
        payload = entry.payload
        if payload is None or isinstance(payload, UnkeptValue):
            raise ValueError(f"the error store could not save the payload of entry {entry.id}: pass one as payload=...")
    if any(isinstance(value, UnkeptValue) for value in entry.transport_properties):
        raise ValueError(f"the error store could not save the transport properties of entry {entry.id}")
    return lambda: sources[entry.connector].replay(payload, entry.transport_properties)


def _of_table(assembly: Assembly, entry: ErrorEntry, payload: object) -> Callable[[], None]:
    context = assembly.context
    store = assembly.connectors.stores.get(entry.name)
    if entry.app != context.name or store is None:
        raise ValueError(
            f"entry {entry.id} can't be replayed: app '{context.name}' has no table '{entry.name}' with a store"
        )
    _refuse_payload(entry, payload)
    stored: Any = entry.payload
    if isinstance(stored, UnkeptValue):
        raise ValueError(f"the error store could not save the values of entry {entry.id}: {stored.text}")
    change, values = (None, ()) if stored is None else (stored["change"], stored["values"])
    records = [event.data for event in _events(entry)]

    def replay() -> None:
        with context.lock:
            store.replay(change, values, records)

    return replay


def _refuse_payload(entry: ErrorEntry, payload: object) -> None:
    if payload is not None:
        raise ValueError(f"entry {entry.id} does not belong to a source or sink: payload=... is not allowed")


def _events(entry: ErrorEntry) -> tuple[Event, ...]:
    if not entry.events:
        raise ValueError(f"entry {entry.id} has no events")
    for event in entry.events:
        for value in event.data:
            if isinstance(value, UnkeptValue):
                raise ValueError(f"the error store could not save a value of entry {entry.id}: {value.text}")
    return entry.events


@contextmanager
def _failures(junction: StreamJunction, sent: Sequence[Event]) -> Iterator[list[Exception]]:
    """Collect the errors of some events that are sent into a stream; the caller holds the app's lock.

    Errors of other events, as in a stream that feeds itself, are handled as usual.
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
    """Return whether the failed events are the events sent, or some of them."""
    if len(failed) == len(sent) and all(map(_same, failed, sent)):
        return True
    return all(any(_same(event, one) for one in sent) for event in failed)


def _same(failed: Event, sent: Event) -> bool:
    return failed.timestamp == sent.timestamp and all(map(_same_value, failed.data, sent.data))


def _same_value(failed: object, sent: Any) -> bool:
    """Return whether a value of a stream is the converted form of the value that was sent."""
    if failed is sent:
        return True
    if not isinstance(failed, float):
        return isinstance(failed, str | int) and bool(failed == sent)
    try:
        number = float(sent)
        # An attribute of type float has fewer digits; nan does not equal itself.
        return failed in (number, _SINGLE.unpack(_SINGLE.pack(number))[0]) or (failed != failed and number != number)
    except (TypeError, ValueError, OverflowError):
        return False
