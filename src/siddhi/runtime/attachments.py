"""Callbacks, collectors and input handlers of an app: they survive a restart.

An app that starts again after a shutdown has new operators. Callbacks are subscribed again to their streams and queries, in
the order in which they were added. Input handlers and collectors are bound to the new operators: users hold the handlers,
and collectors hold events that were not drained yet.
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
    """A callback or collector that receives the output of an app."""

    @property
    def function(self) -> object:
        """The object by which it was added and is removed."""

    def attach(self, assembly: Assembly) -> None: ...
    def detach(self, assembly: Assembly) -> None: ...


class _OnStream:
    """Attached to a stream."""

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
    """Attached to the output of a query."""

    def __init__(self, query: str, function: QueryCallbackFunction) -> None:
        self.function = function
        self._query = query

    def attach(self, assembly: Assembly) -> None:
        assembly.queries[self._query].output.add_callback(self.function)

    def detach(self, assembly: Assembly) -> None:
        assembly.queries[self._query].output.remove_callback(self.function)


class Attachments:
    """The attachments of one app. The named streams and queries must exist.

    Args:
        assembly: the app's operators.
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._attached: list[_Attachment] = []
        self._collectors: dict[str, Collector] = {}
        self._input_handlers: dict[str, InputHandler | AsyncInputHandler] = {}

    def input_handler(self, stream: str) -> InputHandler | AsyncInputHandler:
        """Return the input handler of a stream: the same one for every call."""
        handler = self._input_handlers.get(stream)
        if handler is None:
            with self._locked() as assembly:
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
        """Call a function with the events that a query emits."""
        self._attach(_OnQuery(query, function))

    def collect(self, streams: Sequence[str], timestamp: str | None, chunk: str | None) -> None:
        """Collect the events of streams; a stream that is collected already keeps its settings."""
        with self._locked() as assembly:
            for stream in streams:
                if stream not in self._collectors:
                    builder = BatchBuilder(assembly.junctions[stream].layout)
                    collector = Collector(assembly.context, builder, stream, timestamp, chunk)
                    self._collectors[stream] = collector
                    self._attach(_OnStream(stream, collector, _rebinding(collector)))

    def drain(self) -> dict[str, EventBatch]:
        """Return the events collected since the last call, by stream."""
        with self._locked():
            return {stream: collector.drain() for stream, collector in self._collectors.items()}

    def remove(self, function: object) -> bool:
        """Detach a function from every stream and query; return whether it was attached."""
        with self._locked() as assembly:
            found = [attachment for attachment in self._attached if attachment.function == function]
            for attachment in found:
                attachment.detach(assembly)
                self._attached.remove(attachment)
        return bool(found)

    def move_to(self, assembly: Assembly) -> None:
        """Attach everything to new operators of the same plan, which no event has reached.

        The caller holds the lock of the old operators and is not processing an event in them.
        """
        for attachment in self._attached:
            attachment.detach(self._assembly)
            attachment.attach(assembly)
        for stream, handler in self._input_handlers.items():
            handler.rebind(assembly.new_input_handler(stream))  # type: ignore[arg-type]  # one plan: same kind of handler
        self._assembly = assembly

    def _attach(self, attachment: _Attachment) -> None:
        with self._locked() as assembly:
            attachment.attach(assembly)
            self._attached.append(attachment)

    @contextmanager
    def _locked(self) -> Iterator[Assembly]:
        """Yield the operators under their lock: no other thread processes an event or replaces them meanwhile."""
        while True:
            assembly = self._assembly
            with assembly.context.lock:
                if assembly is self._assembly:
                    yield assembly
                    return


def _rebinding(collector: Collector) -> Callable[[AppContext, StreamJunction], Receiver]:
    def receiver(context: AppContext, _: StreamJunction) -> Receiver:
        collector.move(context)
        return collector

    return receiver
