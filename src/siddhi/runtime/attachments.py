"""What users have attached to an app, or were given of it: it stays theirs when the app is started anew.

An app that starts again after a shutdown has new operators. Callbacks are subscribed to their streams and queries once more,
in the order in which they were added; input handlers and collectors are led over, since users hold the ones, and the others
hold events that nobody has asked for yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from siddhi._core.columnar.batch import BatchBuilder
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Receiver
from siddhi._core.stream.callback import BatchCallback, Collector, StreamCallback
from siddhi._core.stream.input import InputHandler
from siddhi._core.stream.junction import StreamJunction

if TYPE_CHECKING:
    from siddhi._core.columnar.batch import EventBatch
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.assembly.async_stream import AsyncInputHandler

__all__ = ["Attachments", "BatchCallbackFunction", "QueryCallbackFunction", "StreamCallbackFunction"]

StreamCallbackFunction = Callable[[list[Event]], object]
QueryCallbackFunction = Callable[[int, "list[Event] | None", "list[Event] | None"], object]
BatchCallbackFunction = Callable[["EventBatch"], object]


class _Attachment(Protocol):
    """Something that hears what an app puts out."""

    @property
    def function(self) -> object:
        """What it was added as, and is taken out by."""

    def attach(self, assembly: Assembly) -> None: ...
    def detach(self, assembly: Assembly) -> None: ...


class _OnStream:
    """At a stream."""

    def __init__(
        self, stream: str, function: object, receiver: Callable[[AppContext, StreamJunction], Receiver]
    ) -> None:
        self.function = function
        self._stream = stream
        self._build = receiver
        self._receiver: Receiver | None = None

    def attach(self, assembly: Assembly) -> None:
        junction = assembly.junctions[self._stream]
        self._receiver = self._build(assembly.context, junction)
        junction.subscribe(self._receiver)

    def detach(self, assembly: Assembly) -> None:
        if self._receiver is not None:
            assembly.junctions[self._stream].unsubscribe(self._receiver)


class _OnQuery:
    """At the exit of a query."""

    def __init__(self, query: str, function: QueryCallbackFunction) -> None:
        self.function = function
        self._query = query

    def attach(self, assembly: Assembly) -> None:
        assembly.queries[self._query].output.add_callback(self.function)

    def detach(self, assembly: Assembly) -> None:
        assembly.queries[self._query].output.remove_callback(self.function)


class Attachments:
    """Of one app. Streams and queries that are named must exist.

    Args:
        assembly: the app's operators.
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._attached: list[_Attachment] = []
        self._collectors: dict[str, Collector] = {}
        self._input_handlers: dict[str, InputHandler | AsyncInputHandler] = {}

    def input_handler(self, stream: str) -> InputHandler | AsyncInputHandler:
        """The way into a stream; the same one for every call."""
        handler = self._input_handlers.get(stream)
        if handler is None:
            with self._standing() as assembly:
                handler = self._input_handlers.setdefault(stream, assembly.new_input_handler(stream))
        return handler

    def on_stream(self, stream: str, function: StreamCallbackFunction) -> None:
        """Call a function with the chunks of a stream."""

        def receiver(context: AppContext, junction: StreamJunction) -> Receiver:
            return StreamCallback(context, junction.pool, junction.layout, stream, function)

        self._attach(_OnStream(stream, function, receiver))

    def on_batches(self, stream: str, function: BatchCallbackFunction) -> None:
        """Call a function with the batches of a stream."""

        def receiver(context: AppContext, junction: StreamJunction) -> Receiver:
            return BatchCallback(context, BatchBuilder(junction.layout), stream, function)

        self._attach(_OnStream(stream, function, receiver))

    def on_query(self, query: str, function: QueryCallbackFunction) -> None:
        """Call a function with what a query puts out."""
        self._attach(_OnQuery(query, function))

    def collect(self, streams: Sequence[str], timestamp: str | None, chunk: str | None) -> None:
        """Keep the events of streams; one that is collected already goes on as it is."""
        with self._standing() as assembly:
            for stream in streams:
                if stream not in self._collectors:
                    builder = BatchBuilder(assembly.junctions[stream].layout)
                    collector = Collector(assembly.context, builder, stream, timestamp, chunk)
                    self._collectors[stream] = collector
                    self._attach(_OnStream(stream, collector, _led_over(collector)))

    def drain(self) -> dict[str, EventBatch]:
        """What was collected since the last time, by stream."""
        with self._standing():
            return {stream: collector.drain() for stream, collector in self._collectors.items()}

    def remove(self, function: object) -> bool:
        """Detach a function from everything; whether it was attached at all."""
        with self._standing() as assembly:
            found = [attachment for attachment in self._attached if attachment.function == function]
            for attachment in found:
                attachment.detach(assembly)
                self._attached.remove(attachment)
        return bool(found)

    def move_to(self, assembly: Assembly) -> None:
        """Attach everything to other operators of the same plan, which no event has reached.

        The lock of those left behind is held, by one who is not at work in them.
        """
        for attachment in self._attached:
            attachment.detach(self._assembly)
            attachment.attach(assembly)
        for stream, handler in self._input_handlers.items():
            handler.rebind(assembly.new_input_handler(stream))  # type: ignore[arg-type]  # of one plan: of one kind
        self._assembly = assembly

    def _attach(self, attachment: _Attachment) -> None:
        with self._standing() as assembly:
            attachment.attach(assembly)
            self._attached.append(attachment)

    @contextmanager
    def _standing(self) -> Iterator[Assembly]:
        """The operators, while no event is on its way in another thread and they are not exchanged."""
        while True:
            assembly = self._assembly
            with assembly.context.lock:
                if assembly is self._assembly:
                    yield assembly
                    return


def _led_over(collector: Collector) -> Callable[[AppContext, StreamJunction], Receiver]:
    def receiver(context: AppContext, _: StreamJunction) -> Receiver:
        collector.move(context)
        return collector

    return receiver
