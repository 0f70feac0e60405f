"""``expression('...')`` and ``expressionBatch('...')``: windows that a condition over their own content bounds.

The condition reads the current event, the oldest and the newest event held, and may aggregate over the content: it is
evaluated once with each event that comes (CURRENT) and once with each that goes (EXPIRED), so its aggregators follow
what is held at O(1) per event.
"""

cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memset

from siddhi._core.aggregate.aggregator cimport AggregatorStates
from siddhi._core.expression.executor cimport Executor, evaluate_condition, evaluate_to_python
from siddhi._core.record.event cimport CURRENT, EXPIRED, EventC, EventPool, own_event, release, retain
from siddhi._core.record.frame cimport TRUE, FrameC, now_ms
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.lookup cimport FoundC
from siddhi._core.runtime.ring cimport (
    EventRingC, ring_at, ring_clear, ring_first, ring_pop, ring_push, ring_read, ring_show, ring_write,
)
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.window.base cimport Window, state_of

FIRST, LAST = 0, 1                 # event slots of a condition: the oldest and the newest event held

cdef struct BufferStateC:
    EventRingC buffered                    # what the condition is about
    EventRingC released                # expressionBatch: released last
    PyObject* condition            # HeldCondition in force, one of the window's; NULL: none yet


@cython.final
cdef class BufferCondition:
    """A condition of a window. Its aggregators have one state, which inside a partition all keys share: a condition
    that counts, counts the events of every key, as recorded of Siddhi.

    Args:
        app: the app's context.
        executor: of the condition; reads the current event, and the ends in the slots FIRST and LAST.
        aggregators: those in it, in order of evaluation.
        text: what it was made from, where texts come with the events.
    """

    cdef Executor executor
    cdef AggregatorStates states
    cdef readonly object text
    cdef Py_ssize_t users          # partition keys it is in force for

    def __init__(self, AppContext app not None, Executor executor not None, list aggregators not None, text=None):
        self.executor = executor
        self.states = AggregatorStates(app, aggregators)
        self.states.ensure(0)
        self.text = text


cdef class BufferedWindow(Window):
    """What the two share: the condition and its evaluation.

    Args:
        condition: HeldCondition that always holds, or
        text: executor over the event that says which is in force, and
        make_condition: ``fn(text)``, makes a HeldCondition; what it raises fails the event.
    """

    cdef BufferCondition fixed
    cdef Executor text
    cdef object make_condition
    cdef dict conditions           # those in force, by text; states only borrow them, so that the collector sees all
    cdef bint closing              # the window goes: they may be gone already

    def __init__(self, AppContext app not None, EventPool pool not None, BufferCondition condition, Executor text,
                 make_condition, bint stamps):
        Window.__init__(self, app, pool, stamps)
        if condition is None and (text is None or make_condition is None):
            raise TypeError("a window needs a condition, or a text and what makes one of it")
        self.fixed = condition
        self.text = text
        self.make_condition = make_condition
        self.conditions = {}
        self.setup(sizeof(BufferStateC))

    cdef int ensure(self, unsigned int partition) except -1:
        cdef BufferStateC* state
        Window.ensure(self, partition)
        state = <BufferStateC*> self.states[partition]
        if self.fixed is not None and state.condition is NULL:
            self.activate(state, self.fixed)
        return 0

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        return 0 if found is NULL else ring_show(&(<BufferStateC*> state).buffered, found)

    cdef void close_state(self, void* address) noexcept:
        cdef BufferStateC* state = <BufferStateC*> address
        ring_clear(&state.buffered, self.pool)
        ring_clear(&state.released, self.pool)
        self.deactivate(state)

    # --- which condition

    cdef int activate(self, BufferStateC* state, BufferCondition condition) except -1:
        condition.users += 1
        state.condition = <PyObject*> condition
        if condition.text is not None:
            self.conditions[condition.text] = condition
        return 0

    cdef void deactivate(self, BufferStateC* state) noexcept:
        cdef BufferCondition condition
        if state.condition is NULL or self.closing:
            return
        condition = <BufferCondition> state.condition
        state.condition = NULL
        condition.users -= 1
        if condition.users == 0 and condition.text is not None:
            # Texts come and go with the events: what no key needs any more is forgotten.
            self.conditions.pop(condition.text, None)

    cdef BufferCondition condition_of(self, text):
        found = self.conditions.get(text)
        return self.make_condition(text) if found is None else found

    cdef int follow_text(self, BufferStateC* state, EventC* event) except -1:
        """Where the event brings another condition: what is held is admitted anew under that."""
        cdef EventRingC buffered
        cdef BufferCondition condition
        cdef object text = evaluate_to_python(self.text, event, &self.app.frame)
        if text is None:
            raise ValueError("the condition of the window is null")
        if state.condition is not NULL and (<BufferCondition> state.condition).text == text:
            return 0
        condition = self.condition_of(text)
        self.forget_buffered(state)
        self.deactivate(state)
        self.activate(state, condition)
        buffered = state.buffered
        memset(&state.buffered, 0, sizeof(EventRingC))
        try:
            while buffered.size:
                self.admit(state, ring_pop(&buffered))
        finally:
            ring_clear(&buffered, self.pool)
        return 0

    cdef int forget_buffered(self, BufferStateC* state) except -1:
        """Let a condition that stays in force for other keys forget what is held for this one."""
        cdef Py_ssize_t i
        if state.condition is not NULL and (<BufferCondition> state.condition).users > 1:
            for i in range(state.buffered.size):
                self.holds(state, ring_at(&state.buffered, i), EXPIRED, NULL, NULL)
        return 0

    cdef int admit(self, BufferStateC* state, EventC* event) except -1:
        """Take an event in; takes over its reference."""
        release(self.pool, event)
        return 0

    # --- evaluation

    cdef bint holds(self, BufferStateC* state, EventC* event, int type, EventC* first, EventC* last) except -1:
        """Evaluate with an event that comes (CURRENT) or goes (EXPIRED)."""
        cdef FrameC* frame = &self.app.frame
        cdef EventC** before = frame.slots
        cdef EventC* ends[2]
        cdef BufferCondition condition = <BufferCondition> state.condition      # it may call Python, which may send another
        ends[0] = first
        ends[1] = last
        frame.slots = ends
        frame.type = type
        frame.group = 0
        try:
            return evaluate_condition(&condition.executor.c, event, frame) == TRUE
        finally:
            frame.slots = before

    # --- snapshots

    cdef int write_state(self, void* address, SnapshotWriter writer) except -1:
        cdef BufferStateC* state = <BufferStateC*> address
        ring_write(&state.buffered, writer, self.pool)
        ring_write(&state.released, writer, self.pool)
        return writer.put_object(None if state.condition is NULL else (<BufferCondition> state.condition).text)

    cdef int read_state(self, void* address, SnapshotReader reader) except -1:
        cdef BufferStateC* state = <BufferStateC*> address
        ring_read(&state.buffered, reader, self.pool)
        ring_read(&state.released, reader, self.pool)
        text = reader.get_object()
        if text is not None:
            self.activate(state, self.condition_of(text))
        return 0

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef BufferCondition condition
        Window.write(self, writer)
        if self.fixed is not None:
            return self.fixed.states.write(writer)
        for condition in self.conditions.values():
            writer.put_object(condition.text)
            condition.states.write(writer)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef BufferCondition condition
        Window.read(self, reader)
        if self.fixed is not None:
            return self.fixed.states.read(reader)
        for _ in range(len(self.conditions)):
            condition = self.conditions[reader.get_object()]
            condition.states.read(reader)
        return 0


@cython.final
@cython.no_gc_clear
cdef class ExpressionWindow(BufferedWindow):
    """The latest events for which the condition holds.

    An event that comes is held and the condition evaluated with it. Where that fails the oldest events expire, one by
    one, until it holds: evaluated with the one that goes, over what is left. They leave before the new event passes;
    when nothing is left of the window, the new event itself is among them.
    """

    def __init__(self, AppContext app not None, EventPool pool not None, BufferCondition condition, Executor text,
                 make_condition, bint stamps=True):
        BufferedWindow.__init__(self, app, pool, condition, text, make_condition, stamps)

    def __dealloc__(self):
        self.closing = True
        self.close_all()

    cdef int process(self, EventC* event) except -1:
        self.add_event(event)
        return self.next.process(event)

    cdef int process_one(self, EventC* event) except -1:
        self.add_event(event)
        return self.next.process_one(event)

    cdef int add_event(self, EventC* event) except -1:
        cdef BufferStateC* state = <BufferStateC*> state_of(self)
        if self.text is not None:
            self.follow_text(state, event)
        retain(self.pool, event)
        return self.admit(state, event)

    cdef int admit(self, BufferStateC* state, EventC* event) except -1:
        cdef EventC* oldest
        cdef EventC* first
        cdef EventC* last = event
        cdef int64_t now
        cdef bint holds
        ring_push(&state.buffered, event)
        if self.holds(state, event, CURRENT, ring_first(&state.buffered), event):
            return 0
        now = self.expiry_time()
        while state.buffered.size:
            oldest = ring_pop(&state.buffered)
            first = NULL
            if state.buffered.size:
                first = ring_first(&state.buffered)
            else:
                last = NULL
            try:
                holds = self.holds(state, oldest, EXPIRED, first, last)
            except BaseException:
                release(self.pool, oldest)
                raise
            self.expire(oldest, now)
            if holds:
                break
        return 0


@cython.final
@cython.no_gc_clear
cdef class ExpressionBatchWindow(BufferedWindow):
    """Collects events while the condition holds over them; the event that ends that releases the batch.

    A release is one chunk: the batch before as EXPIRED, then the batch as CURRENT, stamped with the clock, no RESET.
    The event that released it begins the next batch, or is the last one of this (``includes``). Where events stream,
    they pass as they come and the release is the batch as EXPIRED. An event that fails in an empty window expires at
    once and passes, included or not: no batch is left of it. The expired events are always sent:
    they remove the batch from the aggregates.

    Args:
        includes: executor over the releasing event; None: it is never included.
        streams_current: current events pass at once.
    """

    cdef Executor includes
    cdef bint streams_current

    def __init__(self, AppContext app not None, EventPool pool not None, BufferCondition condition, Executor text,
                 make_condition, Executor includes, bint streams_current, bint stamps=True):
        BufferedWindow.__init__(self, app, pool, condition, text, make_condition, stamps)
        self.includes = includes
        self.streams_current = streams_current

    def __dealloc__(self):
        self.closing = True
        self.close_all()

    cdef int process(self, EventC* event) except -1:
        cdef BufferStateC* state = <BufferStateC*> state_of(self)
        try:
            if self.text is not None:
                self.follow_text(state, event)
            retain(self.pool, event)
            return self.take(state, event, self.streams_current)
        except BaseException:
            if self.streams_current:
                # What another condition let go has been put out, and no event follows that would end its chunk.
                self.next.finish()
            raise

    cdef int process_one(self, EventC* event) except -1:
        # A batch window ends its chunks itself: there is nothing to finish behind one event.
        return self.process(event)

    cdef int admit(self, BufferStateC* state, EventC* event) except -1:
        # Events that are held have passed already where events stream.
        return self.take(state, event, False)

    cdef bint is_included(self, EventC* event) except -1:
        if self.includes is None:
            return False
        self.app.frame.type = CURRENT
        return evaluate_condition(&self.includes.c, event, &self.app.frame) == TRUE

    cdef int take(self, BufferStateC* state, EventC* event, bint passes) except -1:
        """Put an event into the batch, and release that where the condition fails; takes over its reference."""
        cdef EventC* first = ring_first(&state.buffered) if state.buffered.size else event
        cdef bint kept = False
        try:
            if self.holds(state, event, CURRENT, first, event):
                ring_push(&state.buffered, event)
                kept = True
                return self.next.process_one(event) if passes else 0
            # A new batch begins, and the event that ended this one counts there, even if it was included.
            (<BufferCondition> state.condition).states.reset_partition(0)
            self.holds(state, event, CURRENT, event, event)
            if state.buffered.size == 0:
                return self.pass_alone(state, event, passes or not self.streams_current)
            if self.is_included(event):
                retain(self.pool, event)
                ring_push(&state.buffered, event)
                if passes:
                    self.next.process(event)
                return self.release_batch(state, NULL, passes)
            kept = True
            if not passes:
                return self.release_batch(state, event, False)
            try:
                self.expire_batch(state)
            finally:
                ring_push(&state.buffered, event)
            return self.next.process_one(event)
        finally:
            if not kept:
                release(self.pool, event)

    cdef int pass_alone(self, BufferStateC* state, EventC* event, bint passes) except -1:
        """An event that fails in an empty window: it expires, then passes unless it did before."""
        cdef EventC* current
        cdef int64_t now = self.expiry_time()
        while state.released.size:
            self.expire(ring_pop(&state.released), now)
        retain(self.pool, event)
        self.expire(event, now)
        if not passes:
            return 0
        retain(self.pool, event)
        current = own_event(self.pool, event)
        current.timestamp = now_ms(&self.app.frame)
        try:
            self.next.process(current)
        finally:
            release(self.pool, current)
        return self.next.finish()

    cdef int release_batch(self, BufferStateC* state, EventC* event, bint passes) except -1:
        """End the batch; the event, whose reference it takes over, is the first of the next one (NULL: none is).

        What a new condition releases while events stream (they pass no more) begins the chunk of the event that brought it.
        """
        cdef EventRingC batch
        cdef EventC* buffered
        cdef Py_ssize_t i = 0
        cdef int64_t now = now_ms(&self.app.frame)
        if self.streams_current:
            try:
                self.expire_batch(state)
            finally:
                if event is not NULL:
                    ring_push(&state.buffered, event)
            return self.next.finish() if passes else 0
        batch = state.buffered
        state.buffered = state.released
        state.released = batch
        # The batch before is where the next one will be collected: it goes first.
        try:
            while state.buffered.size:
                self.expire(ring_pop(&state.buffered), now)
        finally:
            if event is not NULL:
                ring_push(&state.buffered, event)
        # A function of the selection may send, and end the next batch, while this one passes.
        while i < state.released.size:
            buffered = own_event(self.pool, ring_at(&state.released, i))
            state.released.events[(state.released.head + i) & state.released.mask] = buffered
            buffered.timestamp = now
            retain(self.pool, buffered)
            try:
                self.next.process(buffered)
            finally:
                release(self.pool, buffered)
            i += 1
        return self.next.finish()

    cdef int expire_batch(self, BufferStateC* state) except -1:
        cdef int64_t now = self.expiry_time()
        while state.buffered.size:
            self.expire(ring_pop(&state.buffered), now)
        return 0
