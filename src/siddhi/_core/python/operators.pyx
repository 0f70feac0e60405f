"""Common parts of stream processors and windows written in Python.

The user's class is constructed with a :class:`ProcessorContext`. It has ``process(event, *values)`` and may have
``on_timer(time)`` and ``end_chunk()``. Each returns an Event, several, or None. A window may have ``events()``, which
returns what joins and on-demand queries find in it. For snapshots the class may have ``snapshot()`` and
``restore(state)`` with a state of built-in types, events and deques; without them the attributes of the object are
saved.
"""

cimport cython
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport int64_t, uint32_t

from siddhi._core.expression.executor cimport VARIABLE, Executor, evaluate_to_python
from siddhi._core.record.event cimport CURRENT, EXPIRED, EventC, acquire, cell_from_python, event_to_tuple, release
from siddhi._core.record.frame cimport now_ms
from siddhi._core.record.user_event cimport read_timestamp
from siddhi._core.runtime.lock cimport AppLock
from siddhi._core.runtime.operator cimport BlockTraits, Processor, refuse_blocks
from siddhi._core.runtime.ring cimport ring_clear, ring_push
from siddhi._core.runtime.sampler cimport Sampler, SpanC, sampler_here
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.snapshot.python_state cimport living_state, plain_state
from siddhi.errors import shown


cdef class ProcessorContext:
    """The context of an object of a user's class: names, clock and timers.

    Attributes:
        arguments: value of each literal argument, None for the others.
        attributes: names of the attributes of incoming events.
        argument_names: the name of each argument that is one of these attributes, None for the others.
    """

    @property
    def app_name(self):
        """Name of the app."""
        return self.app.name

    @property
    def now(self):
        """The app's clock in ms."""
        return now_ms(&self.app.frame)

    def schedule(self, when):
        """Have ``on_timer(when)`` called when the app's clock reaches a time (ms). Equal requests count once.

        Raises:
            EventError: the time is not an integer.
            ValueError: ``on_timer`` requests a time that is not after its own: that would never end.
        """
        cdef int64_t due = read_timestamp(when)
        cdef AppLock lock = self.app.lock
        with lock:
            if self.firing and due <= self.fired:
                raise ValueError(f"on_timer({self.fired}) cannot schedule {due}: expected a later time")
            if not self.dropped and due not in self.pending:
                self.pending.add(due)
                self.app.schedule(self.step, due, self.partition)


@cython.no_gc_clear
cdef class PythonKey:
    """The state of one partition key."""

    def __dealloc__(self):
        if self.pool is not None:
            ring_clear(&self.shown, self.pool)


cdef str name_of(Executor argument, Layout layout):
    """Return the name of the attribute that an argument is; None: it is an expression."""
    cdef int i
    if argument.kind == VARIABLE:
        for i in range(layout.width):
            if layout.words + i == argument.c.cell:
                return layout.names[i]
    return None


cdef class PythonStep:
    """Calls the user's objects for a processor.

    Args:
        app: context of the app.
        pool: of the incoming records.
        layout: attributes at this point: the first cells of the records.
        factory: the user's class; called with a :class:`ProcessorContext`, once per partition key.
        what: kind and name, for messages.
        arguments: executors.
        constants: the value of each literal argument, None for the others.
        count: number of appended attributes.
        reset: represents RESET in an answer; None: nothing does.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, Layout layout not None, factory not None,
                 str what not None, tuple arguments not None, tuple constants not None, int count, reset=None):
        self.app = app
        self.pool = pool
        self.layout = layout
        self.factory = factory
        self.what = what
        self.arguments = arguments
        self.constants = constants
        self.argument_names = tuple([name_of(argument, layout) for argument in arguments])
        self.count = count
        self.reset = reset

    cdef PythonKey key(self, Timed step, uint32_t partition):
        """Return a new state."""
        cdef PythonKey key = PythonKey.__new__(PythonKey)
        cdef ProcessorContext context = ProcessorContext.__new__(ProcessorContext)
        context.app = self.app
        context.step = step
        context.partition = partition
        context.arguments = self.constants
        context.attributes = self.layout.names
        context.argument_names = self.argument_names
        context.pending = set()
        key.context = context
        key.pool = self.pool
        return key

    cdef object failed(self, str method, object error):
        return RuntimeError(f"{self.what} failed in {method}: {type(error).__name__}: {error}")

    cdef object instance_of(self, PythonKey key):
        if key.instance is None:
            try:
                one = self.factory(key.context)
            except Exception as error:
                raise self.failed("its constructor", error) from error
            # The constructor may have run anything, even this method.
            if key.instance is None:
                key.instance = one
        return key.instance

    cdef list answer(self, PythonKey key, str method, tuple arguments):
        """Return the complete output of a method; if the method fails, nothing is passed on."""
        cdef object one = self.instance_of(key)
        cdef Sampler sampler = sampler_here()
        cdef SpanC span
        try:
            if sampler is None:
                found = getattr(one, method)(*arguments)
            else:
                sampler.open_span(sampler.meter_of(self, "function", self.what), &span)
                try:
                    found = getattr(one, method)(*arguments)
                finally:
                    sampler.close_span(&span)
            if found is None:
                return []
            if type(found) is Event or found is self.reset:
                return [found]
            return list(found)
        except Exception as error:
            raise self.failed(method, error) from error

    cdef bint offer(self, PythonKey key, EventC* event, Processor next) except -1:
        """Pass an event to the user's object; return whether anything was emitted."""
        cdef Executor argument
        cdef Event seen = self.show(event)
        values = [evaluate_to_python(argument, event, &self.app.frame) for argument in self.arguments]
        return self.emit_answer(self.answer(key, "process", (seen, *values)), event, seen, next)

    cdef bint wake(self, PythonKey key, int64_t when, Processor next) except -1:
        """Handle a due timer; return whether anything was emitted."""
        if when not in key.context.pending:
            return False  # of a removed key, whose partition id may be reused
        key.context.pending.remove(when)
        key.context.firing, key.context.fired = True, when
        try:
            answer = self.answer(key, "on_timer", (when,))
        finally:
            key.context.firing = False
        return self.emit_answer(answer, NULL, None, next)

    cdef bint end_chunk(self, PythonKey key, Processor next) except -1:
        """End a chunk; return whether anything was emitted."""
        if key.instance is None or not hasattr(key.instance, "end_chunk"):
            return False
        return self.emit_answer(self.answer(key, "end_chunk", ()), NULL, None, next)

    cdef Event show(self, EventC* event):
        """Return an Event of the attributes at this point; its values are independent of the record."""
        cdef Event seen = Event.__new__(Event)
        cdef tuple values = event_to_tuple(event, self.pool.layout)
        seen.timestamp = event.timestamp
        seen.is_expired = event.type == EXPIRED
        seen.values = values if len(values) == self.layout.width else values[:self.layout.width]
        seen.layout = self.layout
        return seen

    cdef EventC* record(self, Event event) except NULL:
        """Return a record of an event emitted by the user's object; the caller owns it."""
        cdef tuple values = event.load()
        cdef Layout layout = self.pool.layout
        cdef EventC* record
        cdef int i, width = self.layout.width + self.count
        if len(values) != width:
            appended = f", {self.count} of them appended" if self.count else ""
            raise ValueError(f"{self.what} gave {shown(event)}, where events have {width} values{appended}")
        record = acquire(self.pool)
        try:
            for i in range(layout.words):
                record.body[i] = 0
            for i in range(layout.width):
                cell_from_python(record, layout, i, values[i] if i < width else None)
        except ValueError as error:
            release(self.pool, record)
            raise ValueError(f"{self.what} gave {shown(event)}: {error}") from None
        except BaseException:
            release(self.pool, record)
            raise
        record.timestamp = event.timestamp
        record.type = EXPIRED if event.is_expired else CURRENT
        return record

    cdef bint emit_answer(self, list answer, EventC* borrowed, Event seen, Processor next) except -1:
        """Emit the answer of a method. All records are made first: an invalid item stops the whole answer."""
        cdef Py_ssize_t i, n = len(answer)
        cdef EventC** records
        cdef object item
        if n == 0:
            return False
        if n == 1 and answer[0] is seen and self.count == 0 and borrowed is not NULL:
            next.process(borrowed)             # the incoming event, unchanged
            return True
        records = <EventC**> PyMem_Malloc(n * sizeof(EventC*))
        if records is NULL:
            raise MemoryError
        for i in range(n):
            records[i] = NULL
        try:
            for i in range(n):
                item = answer[i]
                if type(item) is Event:
                    records[i] = self.record(item)
                elif item is None or item is not self.reset:
                    raise TypeError(f"{self.what} gave {shown(item)}, which is not an event")
            for i in range(n):
                if records[i] is NULL:
                    next.reset(now_ms(&self.app.frame))
                else:
                    next.process(records[i])
        finally:
            for i in range(n):
                if records[i] is not NULL:
                    release(self.pool, records[i])
            PyMem_Free(records)
        return True

    cdef int show_content(self, PythonKey key) except -1:
        """Fill ``key.shown`` with the events that the user's object shows to searches."""
        cdef EventRingC fresh = EventRingC(NULL, 0, 0, 0)
        try:
            if key.instance is not None:
                for item in self.answer(key, "events", ()):
                    if type(item) is not Event:
                        raise TypeError(f"{self.what} gave {shown(item)} in events(), which is not an event")
                    ring_push(&fresh, self.record(item))
        except BaseException:
            ring_clear(&fresh, self.pool)
            raise
        ring_clear(&key.shown, self.pool)
        key.shown = fresh
        return 0

    cdef int write_key(self, PythonKey key, SnapshotWriter writer) except -1:
        cdef object one = key.instance
        writer.put_object(sorted(key.context.pending))
        writer.put_bool(one is not None)
        if one is None:
            return 0
        try:
            if hasattr(one, "snapshot"):
                state = one.snapshot()
            else:
                state = {name: value for name, value in vars(one).items() if value is not key.context}
            writer.put_object(plain_state(state))
        except Exception as error:
            raise self.failed("snapshot", error) from error
        return 0

    cdef int read_key(self, PythonKey key, SnapshotReader reader) except -1:
        cdef list pending = reader.get_object()
        if reader.get_bool():
            state = living_state(reader.get_object(), self.layout)
            one = self.instance_of(key)
            try:
                if hasattr(one, "restore"):
                    one.restore(state)
                else:
                    vars(one).update(state)
            except Exception as error:
                raise self.failed("restore", error) from error
        # Timers requested by the constructor count only if the state existed already.
        key.context.pending.clear()
        for when in pending:
            key.context.schedule(when)
        return 0


# --- Stream processors written in Python: they pass events on, change, add, drop or delay them.

cdef class PythonStreamProcessor(Processor):
    """Stream processor that runs a user's class.

    Args:
        host: calls the objects of the class.
    """

    cdef PythonStep host
    cdef dict keys                 # PythonKey by partition id

    def __init__(self, PythonStep host not None):
        self.app = host.app
        self.host = host
        self.keys = {}

    cdef PythonKey current_key(self):
        return <PythonKey?> self.keys[self.app.frame.partition]

    cdef int process(self, EventC* event) except -1:
        self.host.offer(self.current_key(), event, self.next)
        return 0

    cdef int finish(self) except -1:
        self.host.end_chunk(self.current_key(), self.next)
        return self.next.finish()

    cdef int on_timer(self, int64_t when) except -1:
        key = self.keys.get(self.app.frame.partition)
        if key is not None and self.host.wake(key, when, self.next):
            return self.next.finish()
        return 0

    cdef int bind_blocks(self, BlockTraits* traits) except -1:
        refuse_blocks(traits)      # side effects of user code must not be batched
        return 0

    cdef int ensure(self, uint32_t partition) except -1:
        if partition not in self.keys:
            self.keys[partition] = self.host.key(self, partition)
        return 0

    cdef int drop(self, uint32_t partition) except -1:
        key = self.keys.pop(partition, None)
        if key is not None:
            (<PythonKey> key).context.dropped = True
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        writer.put_u32(len(self.keys))
        for partition in sorted(self.keys):
            writer.put_u32(partition)
            self.host.write_key(self.keys[partition], writer)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef uint32_t n = reader.get_u32(), partition, before = self.app.frame.partition
        cdef set expected = set(self.keys)
        if n != len(expected):
            raise ValueError("snapshot is damaged: the keys of a stream processor differ from those of its partition")
        try:
            for _ in range(n):
                partition = reader.get_u32()
                if partition not in expected:
                    raise ValueError("snapshot is damaged: a stream processor has an unknown partition key")
                expected.remove(partition)
                key = self.host.key(self, partition)       # may fail: then the old one stays
                self.drop(partition)
                self.keys[partition] = key
                self.app.frame.partition = partition
                self.host.read_key(self.keys[partition], reader)
        finally:
            self.app.frame.partition = before
        return 0
