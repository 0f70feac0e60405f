"""Callbacks, collectors and input handlers of an app: they survive a restart.

An app that starts again after a shutdown has new operators. Callbacks are subscribed again to their streams and queries, in
the order in which they were added. Input handlers and collectors are bound to the new operators: users hold the handlers,
and collectors hold events that were not drained yet.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from siddhi._callables import is_asynchronous
from siddhi._core.columnar.batch import BatchBuilder
from siddhi._core.query.output import QueryOutput, ReceiverTap
from siddhi._core.record.user_event import Event
from siddhi._core.runtime.context import AppContext
from siddhi._core.runtime.operator import Receiver
from siddhi._core.stream.callback import BatchCallback, Collector, StreamCallback
from siddhi._core.stream.input import InputHandler
from siddhi._core.stream.junction import StreamJunction
from siddhi._core.stream.reader_buffer import BatchReceiver, ReaderBuffer

if TYPE_CHECKING:
    from siddhi._core.columnar.batch import EventBatch
    from siddhi._core.correction.input import CorrectedInputHandler
    from siddhi._core.record.event import Layout
    from siddhi._core.record.row_maker import TypedRowMaker
    from siddhi._core.temporal.input import TemporalInputHandler
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.assembly.async_stream import AsyncInputHandler
    from siddhi.runtime.readers.async_callback import AsyncCallback
    from siddhi.runtime.readers.backpressure import Backpressure, Reader
    from siddhi.runtime.readers.event_stream import EventStream, Policy
    from siddhi.temporal import TemporalCallbackFunction

    AnyInputHandler = InputHandler | AsyncInputHandler | TemporalInputHandler | CorrectedInputHandler

__all__ = [
    "Attachment",
    "Attachments",
    "BatchCallbackFunction",
    "QueryCallbackFunction",
    "StreamCallbackFunction",
    "redirected",
]

StreamCallbackFunction = Callable[[list[Event]], object]
QueryCallbackFunction = Callable[[int, "list[Event] | None", "list[Event] | None"], object]
BatchCallbackFunction = Callable[["EventBatch"], object]


class _Subscription(Protocol):
    """A callback or collector that receives the output of an app."""

    @property
    def name(self) -> str:
        """The stream or query."""

    @property
    def function(self) -> object:
        """The object by which it was added and is removed."""

    @property
    def reader(self) -> Reader | None:
        """Who takes the events, if it is not the thread that sends."""

    def attach(self, assembly: Assembly) -> None: ...
    def detach(self, assembly: Assembly) -> None: ...

    def misfit(self, assembly: Assembly, queries: Mapping[str, str]) -> tuple[str, str] | None:
        """Return stream or query, and why it can't be attached to it in the operators of another version of the app.

        Args:
            assembly: these operators.
            queries: new names of queries by former name.
        """

    def rename(self, queries: Mapping[str, str]) -> None: ...


class _OnStream:
    """Attached to a stream; ``columns``: to the rows of which columns are made; ``kind``: the class of typed rows;
    ``hinders``: whether a change of the app that removes the stream, or changes its attributes, is refused."""

    def __init__(
        self,
        stream: str,
        function: object,
        receiver: Callable[[AppContext, StreamJunction], Receiver],
        *,
        columns: bool = False,
        reader: Reader | None = None,
        kind: type[Any] | None = None,
        hinders: bool = True,
    ) -> None:
        self.function = function
        self.reader = reader
        self.hinders = hinders
        self._kind = kind
        self.name = stream
        self._build = receiver
        self._columns = columns
        self._receiver: Receiver | None = None

    def _junction(self, assembly: Assembly) -> StreamJunction:
        return assembly.column_output(self.name) if self._columns else assembly.output(self.name)

    def attach(self, assembly: Assembly) -> None:
        junction = self._junction(assembly)
        self._receiver = self._build(assembly.context, junction)
        junction.subscribe(self._receiver)

    def detach(self, assembly: Assembly) -> None:
        if self._receiver is not None:
            self._junction(assembly).unsubscribe(self._receiver)

    def misfit(self, assembly: Assembly, queries: Mapping[str, str]) -> tuple[str, str] | None:  # noqa: ARG002 - protocol
        if not self.hinders:
            return None
        if self.name not in assembly.junctions:
            return f"stream '{self.name}'", f"it is removed, but {_shown(self.function)} is attached to it"
        if isinstance(self.function, Collector) and not self.function.collects(
            self._junction(assembly).layout.names, self._junction(assembly).layout.types
        ):
            return f"stream '{self.name}'", "its attributes change while it is collected: see collect()"
        if self._kind is not None:
            try:
                _maker(f"stream '{self.name}'", self._junction(assembly).layout, self._kind)
            except TypeError as error:
                return f"stream '{self.name}'", f"{_shown(self.function)} is attached to it, but {error}"
        return None

    def rename(self, queries: Mapping[str, str]) -> None:
        """Do nothing: streams keep their names."""


class _OnQuery:
    """Attached to the output of a query."""

    def __init__(
        self,
        query: str,
        function: object,
        called: Callable[..., object],
        reader: Reader | None,
        kind: type[Any] | None,
    ) -> None:
        self.function = function
        self.name = query
        self.reader = reader
        self._kind = kind
        self._given = called
        self._called: Any = called  # what is attached to the query

    def attach(self, assembly: Assembly) -> None:
        output = assembly.queries[self.name].output
        if self._kind is not None:
            maker = _maker(f"query '{self.name}'", output.layout, self._kind)
            self._called = _with_types(self._given, maker, deferred=self.reader is not None)
        if assembly.corrections is None:
            output.add_callback(self._called)
        else:
            assembly.corrections.add_query_callback(self.name, self._called)

    def detach(self, assembly: Assembly) -> None:
        if assembly.corrections is None:
            assembly.queries[self.name].output.remove_callback(self._called)
        else:
            assembly.corrections.remove_query_callback(self.name, self._called)

    def misfit(self, assembly: Assembly, queries: Mapping[str, str]) -> tuple[str, str] | None:
        if queries.get(self.name, "") not in assembly.queries:
            return f"query '{self.name}'", f"it is removed, but {_shown(self.function)} is attached to it"
        if self._kind is not None:
            try:
                _maker(f"query '{self.name}'", assembly.queries[queries[self.name]].output.layout, self._kind)
            except TypeError as error:
                return f"query '{self.name}'", f"{_shown(self.function)} is attached to it, but {error}"
        return None

    def rename(self, queries: Mapping[str, str]) -> None:
        self.name = queries[self.name]


class _ReadsQuery(_OnQuery):
    """An iterator of what a query emits: its events in their order, or objects of a class."""

    def attach(self, assembly: Assembly) -> None:
        if assembly.corrections is None:
            output = assembly.queries[self.name].output
            receiver = _row_receiver(self.name, self._given, self._kind, of="query")
            self._called = ReceiverTap(receiver(assembly.context, output))
            output.add_callback(self._called)
        else:
            self._called = lambda _, current, expired: self._given([*(expired or ()), *(current or ())])
            assembly.corrections.add_query_callback(self.name, self._called)


class _OnTemporalQuery:
    """Attached to what a temporal query emits, in the form of the model of the stream that it fills."""

    def __init__(self, query: str, function: object, called: Callable[..., object], reader: Reader | None) -> None:
        self.function = function
        self.name = query
        self.reader = reader
        self._called = called

    def _receive(self, events: list[Event]) -> object:
        current = [event for event in events if not event.is_expired]
        expired = [event for event in events if event.is_expired]
        return self._called(events[-1].timestamp, current or None, expired or None)

    def attach(self, assembly: Assembly) -> None:
        assert assembly.temporal is not None
        assembly.temporal.add_query_callback(self.name, self._receive)

    def detach(self, assembly: Assembly) -> None:
        assert assembly.temporal is not None
        assembly.temporal.remove_query_callback(self.name, self._receive)

    def misfit(self, assembly: Assembly, queries: Mapping[str, str]) -> tuple[str, str] | None:  # noqa: ARG002 - protocol
        """Return None: temporal streams and queries do not change."""
        return None

    def rename(self, queries: Mapping[str, str]) -> None:
        """Do nothing: temporal streams and queries keep their names."""


class _ReadsTemporalQuery(_OnTemporalQuery):
    """An iterator of what a temporal query emits."""

    def _receive(self, events: list[Event]) -> object:
        return self._called(events)


class _OnTemporal:
    """Attached to what a temporal stream shows."""

    def __init__(
        self, stream: str, function: TemporalCallbackFunction, called: Callable[..., object], reader: Reader | None
    ) -> None:
        self.function = function
        self.name = stream
        self.reader = reader
        self._called = called

    def attach(self, assembly: Assembly) -> None:
        assembly.temporal_callbacks.add_callback(self.name, self._called)

    def detach(self, assembly: Assembly) -> None:
        assembly.temporal_callbacks.remove_callback(self.name, self._called)

    def misfit(self, assembly: Assembly, queries: Mapping[str, str]) -> tuple[str, str] | None:  # noqa: ARG002 - protocol
        """Return None: temporal streams do not change."""
        return None

    def rename(self, queries: Mapping[str, str]) -> None:
        """Do nothing: streams keep their names."""


class _OnEvents:
    """Attached to the events of a temporal stream, which have the ends of their lifetimes."""

    def __init__(self, stream: str, function: object, called: Callable[..., object], reader: Reader | None) -> None:
        self.function = function
        self.name = stream
        self.reader = reader
        self._called = called

    def attach(self, assembly: Assembly) -> None:
        assert assembly.temporal is not None
        assembly.temporal.add_event_callback(self.name, self._called)

    def detach(self, assembly: Assembly) -> None:
        assert assembly.temporal is not None
        assembly.temporal.remove_event_callback(self.name, self._called)

    def misfit(self, assembly: Assembly, queries: Mapping[str, str]) -> tuple[str, str] | None:  # noqa: ARG002 - protocol
        """Return None: temporal streams and queries do not change."""
        return None

    def rename(self, queries: Mapping[str, str]) -> None:
        """Do nothing: temporal streams and queries keep their names."""


class _OnLifetimes:
    """Columns collected of what a temporal stream shows."""

    reader = None

    def __init__(self, stream: str, collector: Collector) -> None:
        self.function = collector
        self.name = stream

    def attach(self, assembly: Assembly) -> None:
        assert assembly.temporal is not None
        self.function.move(assembly.context)
        assembly.temporal.add_collector(self.name, self.function)

    def detach(self, assembly: Assembly) -> None:
        assert assembly.temporal is not None
        assembly.temporal.remove_collector(self.name, self.function)

    def misfit(self, assembly: Assembly, queries: Mapping[str, str]) -> tuple[str, str] | None:  # noqa: ARG002 - protocol
        """Return None: temporal streams do not change."""
        return None

    def rename(self, queries: Mapping[str, str]) -> None:
        """Do nothing: streams keep their names."""


class Attachment:
    """A callback that is attached to a stream or query; a context manager that detaches it at the end."""

    def __init__(self, attachments: Attachments, subscription: _Subscription) -> None:
        self._attachments = attachments
        self._subscription = subscription

    @property
    def name(self) -> str:
        """Name of the stream or query."""
        return self._subscription.name

    @property
    def function(self) -> object:
        """The function that is called."""
        return self._subscription.function

    @property
    def is_attached(self) -> bool:
        """Whether the function is still called."""
        return self._subscription in self._attachments

    def detach(self) -> None:
        """Detach the function; other attachments of the same function stay. No effect if it is detached."""
        self._attachments.discard(self._subscription)

    def __enter__(self) -> Attachment:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.detach()

    def __repr__(self) -> str:
        return f"<Attachment of {self.function!r} to '{self.name}'{'' if self.is_attached else ' (detached)'}>"


class Attachments:
    """The attachments of one app. The named streams and queries must exist.

    Args:
        assembly: the app's operators.
    """

    def __init__(self, assembly: Assembly) -> None:
        self._assembly = assembly
        self._attached: list[_Subscription] = []
        self._collectors: dict[str, Collector] = {}
        self._input_handlers: dict[str, AnyInputHandler] = {}
        self._backpressure: Backpressure | None = None
        self._join_seconds: float | None = None  # left of the time for which a shutdown waits for callbacks

    def input_handler(self, stream: str) -> AnyInputHandler:
        """Return the input handler of a stream: the same one for every call."""
        handler = self._input_handlers.get(stream)
        if handler is None:
            with self._locked() as assembly:
                handler = self._input_handlers.setdefault(stream, assembly.new_input_handler(stream))
        return handler

    def on_stream(
        self, stream: str, function: Callable[[list[Any]], object], buffer: int, kind: type[Any] | None = None
    ) -> Attachment:
        """Call a function with the chunks of a stream, as events or objects of a class."""
        called, reader = self._called(function, f"callback of '{stream}'", buffer)
        with self._locked() as assembly:
            if kind is None and assembly.temporal is not None and stream in assembly.temporal:
                return self._attach(_OnEvents(stream, function, called, reader))
            receiver = _row_receiver(stream, called, kind, deferred=reader is not None)
            return self._attach(_OnStream(stream, function, receiver, reader=reader, kind=kind))

    def record(self, stream: str, function: Callable[[list[Event]], object]) -> None:
        """Call a function with the chunks of a stream until a change of the app removes the stream; hinder no change."""
        self._attach(_OnStream(stream, function, _row_receiver(stream, function, None), hinders=False))

    def is_recorded(self, stream: str) -> bool:
        """Return whether a function records a stream."""
        return any(one.name == stream and isinstance(one, _OnStream) and not one.hinders for one in self._attached)

    def on_batches(self, stream: str, function: BatchCallbackFunction, buffer: int) -> Attachment:
        """Call a function with the batches of a stream."""
        called, reader = self._called(function, f"batch callback of '{stream}'", buffer)

        def receiver(context: AppContext, junction: StreamJunction) -> Receiver:
            return BatchCallback(context, BatchBuilder(junction.layout), stream, called)

        return self._attach(_OnStream(stream, function, receiver, columns=True, reader=reader))

    def on_query(
        self, query: str, function: Callable[..., object], buffer: int, kind: type[Any] | None = None
    ) -> Attachment:
        """Call a function with the events that a query emits, as events or objects of a class."""
        called, reader = self._called(function, f"callback of query '{query}'", buffer)
        with self._locked() as assembly:
            if query in assembly.queries:
                return self._attach(_OnQuery(query, function, called, reader, kind))
            assert assembly.temporal is not None
            if kind is not None:
                maker = _maker(f"query '{query}'", assembly.temporal.layout_of(query), kind)
                called = _with_types(called, maker, deferred=reader is not None)
            return self._attach(_OnTemporalQuery(query, function, called, reader))

    def on_temporal(self, stream: str, function: TemporalCallbackFunction, buffer: int) -> None:
        """Call a function with the items of a temporal stream."""
        called, reader = self._called(function, f"temporal callback of '{stream}'", buffer)
        self._attach(_OnTemporal(stream, function, called, reader))

    def stream(
        self,
        stream: str,
        *,
        batch: bool,
        kind: type[Any] | None,
        buffer: int,
        policy: Policy,
        timeout: float | None,
    ) -> EventStream[Any]:
        """Make an iterator of the events, objects of a class, or batches of a stream or query."""
        from siddhi.runtime.readers.event_stream import EventStream

        made: EventStream[Any] = EventStream(
            stream,
            buffer=buffer,
            policy=policy,
            timeout=timeout,
            context=lambda: self._assembly.context,
            backpressure=self.backpressure,
        )
        added = made.reader.buffer

        def batches(context: AppContext, junction: StreamJunction) -> Receiver:
            return BatchReceiver(context, BatchBuilder(junction.layout), stream, added)

        with self._locked() as assembly:
            if not batch and kind is None and assembly.temporal is not None and stream in assembly.temporal:
                self._attach(_OnEvents(stream, added, added.add_events, made.reader))
            elif stream not in assembly.junctions:
                self._attach(self._query_reader(assembly, stream, made.reader, kind))
            else:
                receiver = batches if batch else _row_receiver(stream, added.add_events, kind)
                self._attach(_OnStream(stream, added, receiver, columns=batch, reader=made.reader, kind=kind))
        return made

    def _query_reader(
        self, assembly: Assembly, query: str, reader: Reader, kind: type[Any] | None
    ) -> _ReadsQuery | _ReadsTemporalQuery:
        added = reader.buffer
        if query in assembly.queries:
            return _ReadsQuery(query, added, added.add_events, reader, kind)
        assert assembly.temporal is not None
        add: Callable[..., object] = added.add_events
        if kind is not None:
            maker = _maker(f"query '{query}'", assembly.temporal.layout_of(query), kind)
            add = lambda events: added.add_events(maker.rows_of(events))  # noqa: E731 - one of two forms
        return _ReadsTemporalQuery(query, added, add, reader)

    @property
    def backpressure(self) -> Backpressure:
        """The gate of the app's senders."""
        if self._backpressure is None:
            from siddhi.runtime.readers.backpressure import Backpressure

            self._backpressure = Backpressure(self._assembly.context)
        return self._backpressure

    def collect(self, streams: Sequence[str], timestamp: str | None, chunk: str | None, end: str | None) -> None:
        """Collect the events of streams; a stream that is collected already keeps its settings."""
        with self._locked() as assembly:
            for stream in streams:
                if stream in self._collectors:
                    continue
                is_temporal = assembly.temporal is not None and stream in assembly.temporal
                layout = assembly.junctions[stream].layout if is_temporal else assembly.column_output(stream).layout
                builder = BatchBuilder(layout)
                collector = Collector(assembly.context, builder, stream, timestamp, chunk, end if is_temporal else None)
                self._collectors[stream] = collector
                if is_temporal:
                    self._attach(_OnLifetimes(stream, collector))
                else:
                    self._attach(_OnStream(stream, collector, _rebinding(collector), columns=True))

    def drain(self) -> dict[str, EventBatch]:
        """Return the events collected since the last call, by stream."""
        with self._locked():
            return {stream: collector.drain() for stream, collector in self._collectors.items()}

    def remove(self, function: object) -> bool:
        """Detach a function from every stream and query; return whether it was attached."""
        with self._locked() as assembly:
            found = [one for one in self._attached if one.function == function]
            for subscription in found:
                self._detach(subscription, assembly)
        return bool(found)

    def discard(self, subscription: _Subscription) -> None:
        """Detach a subscription if it is attached."""
        with self._locked() as assembly:
            if subscription in self._attached:
                self._detach(subscription, assembly)

    def __contains__(self, subscription: object) -> bool:
        return subscription in self._attached

    def is_named(self, name: str) -> bool:
        """Return whether something is attached to a stream or query of a name."""
        return any(one.name == name for one in self._attached)

    def is_used(self, stream: str) -> bool:
        """Return whether a callback, a collector or an input handler of a stream was requested."""
        return (
            stream in self._input_handlers
            or stream in self._collectors
            or any(
                one.name == stream and not isinstance(one, _OnQuery) and not _is_closed(one) and not _yields(one)
                for one in self._attached
            )
        )

    def misfits(self, assembly: Assembly, queries: Mapping[str, str]) -> dict[str, str]:
        """Return why attachments can't move to the operators of another version of the app, by stream or query.

        Args:
            assembly: these operators.
            queries: new names of queries by former name.
        """
        return dict(filter(None, (one.misfit(assembly, queries) for one in [*self._attached] if not _is_closed(one))))

    def move_to(self, assembly: Assembly, queries: Mapping[str, str] | None = None) -> None:
        """Attach everything to new operators, which no event has reached.

        The caller holds the lock of the old operators and is not processing an event in them.

        Args:
            assembly: operators of the same plan, or of one without :meth:`misfits`.
            queries: new names of queries by former name; None: the plan is the same.
        """
        for subscription in [*self._attached]:
            subscription.detach(self._assembly)
            if _is_closed(subscription):  # no event has come since that would have detached it
                self._attached.remove(subscription)
                continue
            if _yields(subscription) and subscription.name not in assembly.junctions:
                self._attached.remove(subscription)
                continue
            if queries is not None:
                subscription.rename(queries)
            subscription.attach(assembly)
        for stream, handler in self._input_handlers.items():
            if stream in assembly.junctions:
                redirected(handler, assembly.new_input_handler(stream), assembly)
            else:
                _disconnect(handler, stream, self._assembly)
        self._assembly = assembly
        if self._backpressure is not None:
            self._backpressure.move(assembly.context)

    # --- readers

    def open_readers(self) -> None:
        """Let readers go on, and let senders wait for them: the app starts."""
        self._join_seconds = None
        if self._backpressure is not None:
            self._backpressure.lower()
            for reader in self._readers():
                reader.buffer.reopen()

    def release_senders(self) -> None:
        """Let no sender wait any more: the app is being shut down."""
        if self._backpressure is not None:
            self._backpressure.lift()

    def join_callbacks(self) -> None:
        """Wait until the asynchronous callbacks of other threads' event loops have handled the events so far.

        All waiting of one shutdown is limited together.
        """
        if self._backpressure is not None and not self._assembly.context.lock.is_mine:
            from siddhi.runtime.assembly.async_stream import DRAIN_SECONDS

            deadline = time.monotonic() + (DRAIN_SECONDS if self._join_seconds is None else self._join_seconds)
            received = -1
            # Once more if there were calls: they may have led to calls of another one.
            while (now := sum(reader.buffer.received for reader in self._readers())) != received:
                received = now
                for reader in self._readers():
                    reader.join(deadline - time.monotonic())
                if time.monotonic() > deadline:
                    break
            self._join_seconds = max(0.0, deadline - time.monotonic())

    def end_readers(self) -> None:
        """End iterators of streams behind the events in their buffers, and let asynchronous callbacks handle theirs."""
        if self._backpressure is None:
            return
        with self._locked() as assembly:
            for subscription in [one for one in self._attached if one.reader is not None and not one.reader.survives]:
                self._detach(subscription, assembly)
        for reader in self._readers():
            reader.buffer.end()
        self.join_callbacks()

    def _readers(self) -> list[Reader]:
        return [one.reader for one in self._attached if one.reader is not None]

    def _called(
        self, function: Callable[..., object], origin: str, buffer: int
    ) -> tuple[Callable[..., object], AsyncCallback | None]:
        """Return what the engine calls in place of a function, and who calls the function then."""
        if not is_asynchronous(function):
            return function, None
        from siddhi.runtime.readers.async_callback import AsyncCallback

        callback = AsyncCallback(
            function,  # type: ignore[arg-type]  # its result can be awaited
            origin,
            buffer=buffer,
            backpressure=self.backpressure,
            report=self._handle,
        )
        return callback.call, callback

    def _handle(self, error: Exception, origin: str, events: list[Event]) -> None:
        self._assembly.context.handle(error, origin, events)

    def _attach(self, subscription: _Subscription) -> Attachment:
        with self._locked() as assembly:
            subscription.attach(assembly)
            self._attached.append(subscription)
        if subscription.reader is not None:
            subscription.reader.buffer.detach = partial(self.discard, subscription)
        return Attachment(self, subscription)

    def _detach(self, subscription: _Subscription, assembly: Assembly) -> None:
        subscription.detach(assembly)
        self._attached.remove(subscription)
        if subscription.reader is not None:
            subscription.reader.finish()

    @contextmanager
    def _locked(self) -> Iterator[Assembly]:
        """Yield the operators under their lock: no other thread processes an event or replaces them meanwhile."""
        while True:
            assembly = self._assembly
            with assembly.context.lock:
                if assembly is self._assembly:
                    yield assembly
                    return


def redirected(handler: AnyInputHandler, new: AnyInputHandler, assembly: Assembly) -> AnyInputHandler:
    """Let a handler send where a new one does; return it. Threads that are sending through it follow.

    Args:
        handler: the handler.
        new: the new one, of a stream of the same name.
        assembly: the operators of the new one.
    """
    from siddhi.runtime.assembly.async_stream import AsyncInputHandler

    if isinstance(handler, InputHandler) and isinstance(new, AsyncInputHandler):
        # The stream has a buffer now; the handler fills it as queries of the app do.
        handler.rebind(InputHandler(assembly.context, assembly.async_streams[new.stream].entry))
    elif isinstance(handler, AsyncInputHandler) and isinstance(new, InputHandler):
        handler.send_directly(new)
    else:
        handler.rebind(new)  # type: ignore[arg-type]  # handlers of one kind
    return handler


def _is_closed(subscription: _Subscription) -> bool:
    """Return whether its reader takes no more events."""
    return subscription.reader is not None and subscription.reader.buffer.is_closed


def _disconnect(handler: AnyInputHandler, stream: str, assembly: Assembly) -> None:
    """Let a handler refuse events: its stream was removed."""
    context = AppContext(assembly.context.name)
    junction = assembly.junctions.get(stream)
    if junction is not None:
        nowhere = StreamJunction(context, stream, junction.layout)
        new = InputHandler(context, nowhere)
        if isinstance(handler, InputHandler):
            handler.rebind(new)
        else:
            handler.send_directly(new)  # type: ignore[union-attr]  # temporal and corrected streams are not removed


def _yields(subscription: _Subscription) -> bool:
    """Return whether a subscription ends with its stream."""
    return isinstance(subscription, _OnStream) and not subscription.hinders


def _shown(function: object) -> str:
    if isinstance(function, ReaderBuffer):
        return "an iterator of stream()"
    return "collect()" if isinstance(function, Collector) else f"the callback {function!r}"


def _maker(what: str, layout: Layout, kind: type[Any]) -> TypedRowMaker[Any]:
    from siddhi._core.record.row_maker import TypedRowMaker

    return TypedRowMaker(what, layout, kind)


def _row_receiver(
    name: str,
    called: Callable[[list[Any]], object],
    kind: type[Any] | None,
    *,
    of: str = "stream",
    deferred: bool = False,
) -> Callable[[AppContext, StreamJunction | QueryOutput], Receiver]:
    """Return what makes the receiver that calls a function with events, or with objects of a class.

    Args:
        name: of the stream or query.
        called: the function.
        kind: the class.
        of: ``stream`` or ``query``.
        deferred: whether the objects are made when the function, which is asynchronous, is run.
    """

    def of_events(context: AppContext, source: StreamJunction | QueryOutput) -> Receiver:
        return StreamCallback(context, source.pool, source.layout, name, called)

    def of_objects(context: AppContext, source: StreamJunction | QueryOutput) -> Receiver:
        assert kind is not None
        maker = _maker(f"{of} '{name}'", source.layout, kind)
        if deferred:
            rows = _rows(maker, deferred=True)
            return StreamCallback(context, source.pool, source.layout, name, lambda events: called(rows(events)))
        from siddhi._core.python.typed_callback import TypedCallback

        return TypedCallback(context, source.pool, source.layout, name, called, maker)

    return of_events if kind is None else of_objects


def _with_types(function: Callable[..., object], maker: TypedRowMaker[Any], *, deferred: bool) -> QueryCallbackFunction:
    """Return a query callback that calls a function with objects in place of events."""
    rows = _rows(maker, deferred=deferred)

    def call(timestamp: int, current: list[Event] | None, expired: list[Event] | None) -> object:
        return function(
            timestamp, None if current is None else rows(current), None if expired is None else rows(expired)
        )

    return call


def _rows(maker: TypedRowMaker[Any], *, deferred: bool) -> Callable[[list[Event]], list[Any]]:
    """Return what makes objects of events; *deferred*: or keeps the events, of which an AsyncCallback makes the objects."""
    if not deferred:
        return maker.rows_of
    from siddhi.runtime.readers.async_callback import EventsOfType

    return lambda events: EventsOfType(events, maker)


def _rebinding(collector: Collector) -> Callable[[AppContext, StreamJunction], Receiver]:
    def receiver(context: AppContext, _: StreamJunction) -> Receiver:
        collector.move(context)
        return collector

    return receiver
