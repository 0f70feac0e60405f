"""Stream functions that are coroutine functions: events wait for the results of their calls, and go on in their order."""

from collections import deque

cimport cython
from libc.stdint cimport uint32_t

from siddhi._core.expression.executor cimport Executor, evaluate_to_python
from siddhi._core.python.stream_function cimport set_appended
from siddhi._core.query.entry cimport RecordCopier
from siddhi._core.record.event cimport EventC, EventPool, copy_event, release
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport BlockTraits, Processor, refuse_blocks
from siddhi._core.runtime.ring cimport EventRingC, ring_at, ring_clear, ring_pop, ring_push, ring_read, ring_write
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.stream.junction cimport StreamJunction


@cython.final
@cython.no_gc_clear
cdef class AwaitedFunction(Processor):
    """Begins a call for every event, and passes the event on with its result once all calls before it have ended.

    It takes the records of the stream and makes those of the query. While the app follows the system's clock, another thread
    calls :meth:`deliver`. In playback the chunk waits for its results, so that nothing depends on how long calls take.

    Args:
        app: context of the app.
        source: the stream; a failed event goes to its error handling.
        copier: makes the record of the query.
        function: the coroutine function, for messages.
        arguments: executors of its arguments, on records of the stream.
        first: position of the first appended attribute in the record of the query.
        count: number of appended attributes.
        calls: begins the calls, waits for one and ends them; see ``runtime/assembly/awaited.py``.
    """

    cdef StreamJunction source
    cdef EventPool pool
    cdef RecordCopier copier
    cdef object function
    cdef tuple arguments
    cdef int first
    cdef int count
    cdef readonly object calls
    cdef EventRingC ring           # the events whose calls have not ended, or not those before them
    cdef object pending            # a deque of their calls

    def __init__(self, AppContext app not None, StreamJunction source not None, RecordCopier copier not None,
                 function not None, tuple arguments not None, int first, int count, calls not None):
        self.app = app
        self.source = source
        self.pool = source.pool
        self.copier = copier
        self.function = function
        self.arguments = arguments
        self.first = first
        self.count = count
        self.calls = calls
        self.pending = deque()

    def __dealloc__(self):
        if self.pool is not None:
            ring_clear(&self.ring, self.pool)

    cdef int process(self, EventC* event) except -1:
        self.hold(copy_event(self.pool, event))
        return 0

    cdef int hold(self, EventC* event) except -1:
        """Begin the call for an event; takes over the caller's reference."""
        try:
            call = self.call_for(event)
            ring_push(&self.ring, event)
        except BaseException:
            release(self.pool, event)
            raise
        self.pending.append(call)
        self.calls.begin(call)                 # now the call may end, in another thread
        return 0

    cdef object call_for(self, EventC* event):
        cdef Executor argument
        return self.calls.call([evaluate_to_python(argument, event, &self.app.frame) for argument in self.arguments])

    cdef int finish(self) except -1:
        """End a chunk. Each event that goes on is a chunk of its own."""
        if self.app.frame.playback:
            while self.pending:
                self.calls.wait(self.pending[0])
                self.deliver_first()
        return 0

    cdef int deliver_first(self) except -1:
        """Pass the oldest event on, whose call has ended, or give it to the error handling of the stream."""
        cdef EventC* event = ring_pop(&self.ring)
        cdef uint32_t partition = self.app.frame.partition
        call = self.pending.popleft()
        try:
            self.calls.end(call)
            self.app.frame.partition = 0
            if call.error is None:
                try:
                    self.pass_on(event, call.answer)
                except Exception as error:
                    self.next.abort()
                    self.source.fault(error, event)
                except BaseException:
                    self.next.abort()
                    raise
            else:
                self.source.fault(call.error, event)
        finally:
            self.app.frame.partition = partition
            release(self.pool, event)
        return 0

    cdef int pass_on(self, EventC* event, object answer) except -1:
        cdef EventC* record = self.copier.copy(event)
        try:
            set_appended(record, self.copier.pool, self.first, self.count, answer, self.function)
            return self.next.process_one(record)
        finally:
            release(self.copier.pool, record)

    def pending_calls(self):
        """Return the calls whose events are held, the oldest one first."""
        return list(self.pending)

    @property
    def is_ready(self):
        """Whether the oldest call has ended."""
        return bool(self.pending) and self.pending[0].done

    def deliver(self):
        """Pass on the events whose calls, and all before them, have ended. The caller holds the app's lock."""
        while self.pending and self.pending[0].done:
            self.deliver_first()

    def adopt(self, AwaitedFunction former not None, calls not None):
        """Go on with the calls of an operator from which the state was loaded, instead of repeating them."""
        self.calls = calls
        self.pending, former.pending = former.pending, deque()
        ring_clear(&former.ring, former.pool)

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)      # events are kept with all their attributes
        return 0

    # --- snapshots: the events; their calls are repeated

    cdef int write(self, SnapshotWriter writer) except -1:
        ring_write(&self.ring, writer, self.pool)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef EventRingC fresh = EventRingC(NULL, 0, 0, 0)
        cdef EventRingC before = self.ring
        cdef Py_ssize_t i
        try:
            ring_read(&fresh, reader, self.pool)
            calls = [self.call_for(ring_at(&fresh, i)) for i in range(fresh.size)]
        except BaseException:
            ring_clear(&fresh, self.pool)
            raise
        for call in self.pending:
            self.calls.drop(call)
        self.pending = deque(calls)
        self.ring = fresh
        ring_clear(&before, self.pool)
        for call in calls:
            self.calls.begin(call)
        return 0
