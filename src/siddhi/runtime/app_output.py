"""Output of an app: callbacks, and events collected as columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from siddhi._callables import require_function
from siddhi._core.stream.junction import StreamJunction
from siddhi.errors import DefinitionNotExistError, SiddhiTemporalError, did_you_mean
from siddhi.runtime.attachments import (
    Attachment,
    Attachments,
    BatchCallbackFunction,
    QueryCallbackFunction,
    StreamCallbackFunction,
)
from siddhi.runtime.errors.faults import ExceptionHandler

if TYPE_CHECKING:
    from siddhi._core.columnar.batch import EventBatch
    from siddhi._core.record.user_event import Event
    from siddhi.runtime.assembly.app import Assembly
    from siddhi.runtime.readers.event_stream import EventStream, Policy
    from siddhi.temporal import TemporalCallbackFunction

__all__ = ["AppOutput"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Row = TypeVar("_Row")

BUFFER = 1024
"""Number of events that wait for a reader before senders do."""


class _Omitted:
    """The function was not given. A None that was given is refused like any other object that can't be called."""


_OMITTED = _Omitted()


class AppOutput:
    """Base of :class:`SiddhiAppRuntime`.

    Args:
        assembly: the app's operators.
    """

    _assembly: Assembly

    def __init__(self, assembly: Assembly) -> None:
        self._attachments = Attachments(assembly)

    @overload
    def on(
        self,
        name: str,
        function: StreamCallbackFunction | QueryCallbackFunction,
        /,
        *,
        batch: Literal[False] = False,
        buffer: int = BUFFER,
    ) -> Attachment: ...

    @overload
    def on(
        self, name: str, function: BatchCallbackFunction, /, *, batch: Literal[True], buffer: int = BUFFER
    ) -> Attachment: ...

    @overload
    def on(
        self,
        name: str,
        function: Callable[[list[_Row]], object] | Callable[[int, list[_Row] | None, list[_Row] | None], object],
        /,
        *,
        type: type[_Row],
        buffer: int = BUFFER,
    ) -> Attachment: ...

    @overload
    def on(
        self, name: str, /, *, batch: bool = False, type: type[Any] | None = None, buffer: int = BUFFER
    ) -> Callable[[_Function], _Function]: ...

    def on(
        self,
        name: str,
        function: Callable[..., Any] | _Omitted = _OMITTED,
        /,
        *,
        batch: bool = False,
        type: type[Any] | None = None,  # noqa: A002 - as users write it
        buffer: int = BUFFER,
    ) -> Attachment | Callable[[_Function], _Function]:
        """Attach a callback to a stream or a query; without a function, return a decorator that does.

        Args:
            name: name of a stream, named window or query; a stream comes before a query of the same name, which
                :meth:`add_query_callback` finds.
            function: takes a list of :class:`Event`, as in :meth:`add_callback`; of a query: ``(timestamp, current,
                expired)``, as in :meth:`add_query_callback`.
            batch: of a stream: whether the function takes an :class:`EventBatch`, as in :meth:`add_batch_callback`.
            type: class of which the function gets objects in place of events: a dataclass, ``msgspec.Struct``, ``NamedTuple``,
                ``TypedDict`` or dict. Its fields are the attributes, in any order.
            buffer: of an ``async def`` function: number of events whose calls wait, beyond which senders wait.

        An ``async def`` function runs on the event loop of the thread that attaches it: one call after the other, in the
        order of the events. A shutdown waits for its calls, unless it is that loop which would wait; ``async with app``
        does not block the loop.

        Returns:
            A handle that detaches the function: ``attachment.detach()``, or a ``with`` statement. The decorator returns the
            function; detach it with :meth:`remove_callback`.

        Raises:
            DefinitionNotExistError: the app has no stream and no query of this name.
            TypeError: the function can't be called with these arguments, or is asynchronous and no event loop runs in this
                thread; the class has other fields than attributes, or annotations that do not allow their values; nothing is
                attached.
            ValueError: ``batch`` with a query or a type, or ``buffer`` is not a number above 0.
            SiddhiTemporalError: a type in an app that corrects late events.
        """
        if not isinstance(name, str):
            raise TypeError(
                f"on() takes the name of a stream or query first, as in on('Alerts', function), not {name!r}"
            )
        if isinstance(function, _Omitted):
            self._require_output(name, batch=batch)
            self._require_type(name, type, batch=batch)

            def attach(decorated: _Function) -> _Function:
                self._on(name, decorated, batch=batch, kind=type, buffer=buffer)
                return decorated

            return attach
        return self._on(name, function, batch=batch, kind=type, buffer=buffer)

    def _on(
        self, name: str, function: Callable[..., Any], *, batch: bool, kind: type[Any] | None, buffer: int
    ) -> Attachment:
        _check_buffer(buffer)
        self._require_output(name, batch=batch)
        self._require_type(name, kind, batch=batch)
        if name not in self._assembly.junctions:
            return self._add_query_callback(name, function, buffer, kind)
        if batch:
            return self._add_batch_callback(name, function, buffer)
        return self._add_callback(name, function, buffer, kind)

    def _require_type(self, name: str, kind: type[Any] | None, *, batch: bool) -> None:
        """Raise unless objects of the class can be made of the events of a stream or query.

        Raises:
            TypeError: its fields are others.
            ValueError: there are batches of columns instead.
            SiddhiTemporalError: the app corrects late events.
        """
        if kind is None:
            return
        if batch:
            raise ValueError(f"'{name}': a batch has columns, not rows of a type: leave out batch or type")
        if self._assembly.corrections is not None:
            raise SiddhiTemporalError(
                f"app '{self._assembly.context.name}' corrects late events: rows of a type could not tell retractions from events; "
                "use add_callback() or add_temporal_callback()"
            )
        from siddhi._core.record.row_maker import TypedRowMaker

        if name in self._assembly.junctions:
            TypedRowMaker(f"stream '{name}'", self._assembly.junctions[name].layout, kind)
        elif name in self._assembly.queries:
            TypedRowMaker(f"query '{name}'", self._assembly.queries[name].output.layout, kind)
        elif self._assembly.temporal is not None and name in self._assembly.temporal.targets:
            TypedRowMaker(f"query '{name}'", self._assembly.temporal.layout_of(name), kind)

    @overload
    def stream(
        self,
        stream: str,
        *,
        batch: Literal[False] = False,
        buffer: int = BUFFER,
        policy: Policy = "wait",
        timeout: float | None = None,
    ) -> EventStream[Event]: ...

    @overload
    def stream(
        self,
        stream: str,
        *,
        batch: Literal[True],
        buffer: int = BUFFER,
        policy: Policy = "wait",
        timeout: float | None = None,
    ) -> EventStream[EventBatch]: ...

    @overload
    def stream(
        self,
        stream: str,
        *,
        type: type[_Row],
        buffer: int = BUFFER,
        policy: Policy = "wait",
        timeout: float | None = None,
    ) -> EventStream[_Row]: ...

    def stream(
        self,
        stream: str,
        *,
        batch: bool = False,
        type: type[Any] | None = None,  # noqa: A002 - as users write it
        buffer: int = BUFFER,
        policy: Policy = "wait",
        timeout: float | None = None,
    ) -> EventStream[Any]:
        """Return an iterator of the events that reach a stream, or that a query emits, from now on, for ``for`` and ``async for``.

        It ends when the app is shut down, after the events that are in its buffer.

        Args:
            stream: name of a stream, named window or query; a stream comes before a query of the same name. A query yields its
                expired events as well, in the order in which it emits them.
            batch: of a stream: whether it yields an :class:`EventBatch` with everything that has arrived since the one before.
            type: class of which it yields objects in place of events, as of :meth:`on`.
            buffer: number of events that it holds. What one send emits is added as a whole.
            policy: what happens when the buffer is full. ``wait``: senders wait for the reader before their next event;
                ``drop_oldest``: the oldest events are lost; ``raise``: the newest events are lost, and the reader gets a
                :class:`siddhi.errors.BufferOverflowError` where they are missing.
            timeout: seconds to wait for the next event, after which iteration ends and can be begun again; 0: take what is
                there; None: wait until the app is shut down.

        Raises:
            DefinitionNotExistError: neither a stream nor a query has this name.
            TypeError: ``buffer`` or ``timeout`` is not a number; the class has other fields than attributes, or annotations that
                do not allow their values.
            ValueError: ``buffer`` or ``timeout`` is out of range, the policy is unknown; ``batch`` with a type or a query.
            SiddhiTemporalError: a type in an app that corrects late events.
        """
        from siddhi.runtime.readers.event_stream import POLICIES

        self._require_output(stream, batch=batch)
        if stream not in self._assembly.junctions:
            self._require_query(stream)
        self._require_type(stream, type, batch=batch)
        _check_buffer(buffer)
        if policy not in POLICIES:
            raise ValueError(f"invalid policy {policy!r}: expected one of {', '.join(map(repr, POLICIES))}")
        if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float)):
            raise TypeError(f"invalid timeout {timeout!r}: expected a number of seconds, or None")
        if timeout is not None and not timeout >= 0:
            raise ValueError(f"invalid timeout {timeout!r}: expected 0 seconds or more")
        return self._attachments.stream(stream, batch=batch, kind=type, buffer=buffer, policy=policy, timeout=timeout)

    def _require_output(self, name: str, *, batch: bool) -> None:
        """Raise unless there is such a stream or query.

        Raises:
            DefinitionNotExistError: there is none.
            ValueError: batches of a query.
        """
        junctions, queries = self._assembly.junctions, self._assembly.queries
        if name in junctions:
            return
        if not any(name == plan.name for plan in self._assembly.plan.temporal_queries) and name not in queries:
            raise DefinitionNotExistError(
                f"app '{self._assembly.context.name}' has no stream or query '{name}'{did_you_mean(name, [*junctions, *queries])}"
            )
        if batch:
            raise ValueError(f"query '{name}' has no batches: take those of the stream into which it inserts")

    def add_callback(self, stream: str, function: StreamCallbackFunction) -> None:
        """Call ``function(events)`` with every chunk that reaches a stream.

        In an app that corrects late events, an expired event takes back an equal event before it; and in a named window a
        current event an expired one.

        Args:
            stream: name of the stream; ``!S`` is the fault stream of S.
            function: takes a list of :class:`Event`.

        Raises:
            DefinitionNotExistError: there is no such stream.
            TypeError: the function can't be called with events, or is asynchronous and no event loop runs in this thread; nothing
                is attached.
        """
        self._add_callback(stream, function, BUFFER)

    def add_batch_callback(self, stream: str, function: BatchCallbackFunction) -> None:
        """Call ``function(batch)`` with the events that reach a stream, as columns.

        A ``send_batch`` yields one batch at its end, any other send one batch per chunk. In an app that corrects late events,
        a batch per chunk has the additional column ``_op``, which says whether a row is an ``insert`` or a ``delete``.

        Args:
            stream: name of the stream.
            function: takes an :class:`EventBatch`.

        Raises:
            DefinitionNotExistError: there is no such stream.
            TypeError: the function can't be called with a batch, or is asynchronous and no event loop runs in this thread;
                nothing is attached.
            ValueError: the app corrects late events, and the stream has an attribute ``_op``.
        """
        self._add_batch_callback(stream, function, BUFFER)

    def add_temporal_callback(self, stream: str, function: TemporalCallbackFunction) -> None:
        """Call ``function(items)`` with what a temporal stream shows at each CTI: its items in order, the CTI last.

        In an app that corrects late events: with the rows of each chunk (``insert``), and behind a late event with the rows
        that were wrong (``retract``) and those that are right. :meth:`remove_callback` ends it.

        Args:
            stream: name of a temporal stream, or any stream of an app that corrects late events.
            function: takes a list of :class:`siddhi.temporal.TemporalEvent`.

        Raises:
            DefinitionNotExistError: there is no such stream, or it is classical.
            TypeError: the function can't be called with items, or is asynchronous and no event loop runs in this thread; nothing
                is attached.
        """
        require_function(function, "a temporal callback", "items", may_be_async=True)
        self._junction(stream)
        if self._assembly.corrections is None and (
            self._assembly.temporal is None or stream not in self._assembly.temporal
        ):
            raise DefinitionNotExistError(
                f"stream '{stream}' is classical: declare it with @temporal(...), or use add_callback()"
            )
        self._attachments.on_temporal(stream, function, BUFFER)

    def add_query_callback(self, query: str, function: QueryCallbackFunction) -> None:
        """Call ``function(timestamp, current, expired)`` with every chunk that a query emits, before it is sent on.

        A temporal query emits, at a CTI, what its stream shows of its rows: in the edge model, a row is a current event when
        it starts and an expired one when it ends.

        In an app that corrects late events, a row of the other kind takes back an equal row before it: what was wrongly current
        comes back as expired, what was wrongly expired as current.

        Args:
            query: its name, from ``@info(name='...')`` or ``query_<n>``.
            function: takes the timestamp (ms) of the chunk's last event and two lists of :class:`Event`, each None if
                empty.

        Raises:
            DefinitionNotExistError: there is no such query.
            TypeError: the function can't be called with these arguments, or is asynchronous and no event loop runs in this
                thread; nothing is attached.
        """
        self._add_query_callback(query, function, BUFFER)

    def collect(
        self,
        *streams: str,
        timestamp: str | None = "_timestamp",
        chunk: str | None = "_chunk",
        end: str | None = "_end",
    ) -> None:
        """Collect the events that reach streams from now on, as columns, for :meth:`drain`.

        In an app that corrects late events, the column ``_op`` says whether a row is an ``insert`` or a ``delete``.

        Args:
            streams: names of the streams; a stream that is collected already keeps the settings of the first call.
            timestamp: name of an additional column with each event's time (ms), which is the start of its lifetime in a
                temporal stream; None: no such column.
            chunk: name of an additional column with the number of each event's chunk, counted per stream from 0 across
                drains; in a temporal stream, what one CTI releases is a chunk. None: no such column.
            end: of temporal streams: name of an additional column with the end of the lifetime (ms), null where it is not
                known yet (a START of the edge model); None: no such column.

        Raises:
            DefinitionNotExistError: there is no such stream; none is collected.
            ValueError: a stream already has an attribute of that name; none is collected.
        """
        for stream in streams:
            names = self._junction(stream).layout.names
            temporal = self._assembly.temporal is not None and stream in self._assembly.temporal
            action = None if self._assembly.corrections is None else "_op"
            added = [name for name in (timestamp, chunk, end if temporal else None, action) if name is not None]
            taken = [name for name in added if name in names or added.count(name) > 1]
            if taken:
                raise ValueError(
                    f"stream '{stream}' can't be collected: it would have two columns '{taken[0]}'; "
                    f"choose another name with timestamp=...{', end=...' * temporal} or chunk=..."
                )
        self._attachments.collect(streams, timestamp, chunk, end)

    def drain(self) -> dict[str, EventBatch]:
        """Return the events collected since :meth:`collect`, or since the last call, by stream.

        Returns:
            One :class:`EventBatch` per collected stream, possibly empty: the attributes of the stream, then the additional
            columns of :meth:`collect`. Events are in the order in which they were emitted.
        """
        return self._attachments.drain()

    def remove_callback(self, function: object) -> None:
        """Remove a function from every stream and query it was added to.

        Raises:
            ValueError: the function was never added.
        """
        if not self._attachments.remove(function):
            raise ValueError(f"{function!r} is not a callback of app '{self._assembly.context.name}'")

    def handle_exception_with(self, handler: ExceptionHandler) -> None:
        """Pass exceptions of processing and callbacks to ``handler(exception, origin, events)`` instead of logging them.

        The handler gets every exception; the log gets the first ones of a kind, then fewer and fewer, with their count. The
        handler is also called for exceptions whose events go to a fault stream or into the error store, before they do. An
        exception raised by the handler reaches the sender; without a sender (timers, ``@async``) it is logged.

        Raises:
            TypeError: the handler can't be called with these arguments, or is asynchronous; the previous one stays.
        """
        require_function(handler, "an exception handler", "exception, origin, events")
        self._assembly.handle_errors_with(handler)
        self._assembly.faults.listener = handler

    # --- inside

    def _add_callback(
        self, stream: str, function: Callable[[list[Any]], object], buffer: int, kind: type[Any] | None = None
    ) -> Attachment:
        require_function(function, "a stream callback", "events", may_be_async=True)
        self._junction(stream)
        return self._attachments.on_stream(stream, function, buffer, kind)

    def _add_batch_callback(self, stream: str, function: BatchCallbackFunction, buffer: int) -> Attachment:
        require_function(function, "a batch callback", "batch", may_be_async=True)
        self._junction(stream)
        return self._attachments.on_batches(stream, function, buffer)

    def _add_query_callback(
        self, query: str, function: Callable[..., object], buffer: int, kind: type[Any] | None = None
    ) -> Attachment:
        require_function(function, "a query callback", "timestamp, current, expired", may_be_async=True)
        self._require_query(query)
        with self._assembly.context.lock:
            return self._attachments.on_query(query, function, buffer, kind)

    def _require_query(self, query: str) -> None:
        """Raise unless there is a query of this name whose output can be seen.

        Raises:
            DefinitionNotExistError: there is none.
        """
        network = self._assembly.temporal
        temporal = () if network is None else network.targets
        if network is not None and query in network.queries and query not in temporal:
            raise DefinitionNotExistError(
                f"temporal query '{query}' fills an inner stream of a partition: attach to a query that reads it"
            )
        if query not in self._assembly.queries and query not in temporal:
            close = did_you_mean(query, [*self._assembly.queries, *temporal])
            raise DefinitionNotExistError(f"app '{self._assembly.context.name}' has no query '{query}'{close}")

    def _junction(self, stream: str) -> StreamJunction:
        junction = self._assembly.junctions.get(stream)
        if junction is None:
            raise DefinitionNotExistError(
                f"app '{self._assembly.context.name}' has no stream '{stream}'{did_you_mean(stream, self._assembly.junctions)}"
            )
        return junction


def _check_buffer(buffer: object) -> None:
    if type(buffer) is not int:
        raise TypeError(f"invalid buffer {buffer!r}: expected a number of events (int)")
    if buffer < 1:
        raise ValueError(f"invalid buffer {buffer}: expected 1 event or more")
