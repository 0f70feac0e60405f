"""``expression('...')`` and ``expressionBatch('...')``: windows bounded by a condition over their own events.

The condition reads the current event and the oldest and newest buffered event, and may aggregate over the buffered
events. It is evaluated once for each event added (CURRENT) and once for each event removed (EXPIRED). So its
aggregators follow the buffered events at O(1) per event.
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

FIRST, LAST = 0, 1                 # slots of a condition: the oldest and the newest buffered event

cdef struct BufferStateC:
    EventRingC buffered                    # events that the condition ranges over
    EventRingC released                # expressionBatch: last batch released
    PyObject* condition            # BufferCondition in force, borrowed from the window; NULL: none yet


@cython.final
cdef class BufferCondition:
    """Condition of a window.

    Its aggregators have one state, shared by all keys of a partition: a count in the condition counts the events of
    every key, as recorded of Siddhi.

    Args:
        app: context of the app.
        executor: evaluates the condition; reads the current event, and the slots FIRST and LAST.
        aggregators: aggregators in the condition, in order of evaluation.
        text: source of the condition, if events bring conditions as text.
    """

    cdef Executor executor
    cdef AggregatorStates states
    cdef readonly object text
    cdef Py_ssize_t users          # number of partition keys it is in force for

    def __init__(self, AppContext app not None, Executor executor not None, list aggregators not None, text=None):
        self.executor = executor
        self.states = AggregatorStates(app, aggregators)
        self.states.ensure(0)
        self.text = text


cdef class BufferedWindow(Window):
    """Base class: the condition and its evaluation.

    Args:
        condition: BufferCondition that is always in force; alternatively
        text: executor over the event that returns the source of the condition in force, and
        make_condition: ``fn(text)``, returns a BufferCondition; its exceptions fail the event.
    """

    cdef BufferCondition fixed
    cdef Executor text
    cdef object make_condition
    cdef dict conditions           # conditions in force, by text; owned here, so that the garbage collector sees all
    cdef bint closing              # the window is being freed: conditions may be freed already

    def __init__(self, AppContext app not None, EventPool pool not None, BufferCondition condition, Executor text,
                 make_condition, bint stamps):
        Window.__init__(self, app, pool, stamps)
        if condition is None and (text is None or make_condition is None):
            raise TypeError("an expression window needs a condition, or a text and a function that compiles it")
        self.fixed = condition
        self.text = text
        self.make_condition = make_condition
        self.conditions = {}
        self.setup(sizeof(BufferStateC))

    cdef int open_state(self, void* state) except -1:
        return 0 if self.fixed is None else self.activate(<BufferStateC*> state, self.fixed)

    cdef int collect_events(self, void* state, FoundC* found) except -1:
        return 0 if found is NULL else ring_show(&(<BufferStateC*> state).buffered, found)

    cdef void close_state(self, void* address) noexcept:
        cdef BufferStateC* state = <BufferStateC*> address
        ring_clear(&state.buffered, self.pool)
        ring_clear(&state.released, self.pool)
        self.deactivate(state)

    # --- condition in force

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
            # Texts come with the events: remove a condition that no key uses.
            self.conditions.pop(condition.text, None)

    cdef BufferCondition condition_of(self, text):
        found = self.conditions.get(text)
        return self.make_condition(text) if found is None else found

    cdef int follow_text(self, BufferStateC* state, EventC* event) except -1:
        """Apply the condition that the event brings. Under a new condition the buffered events are added again."""
        cdef EventRingC buffered
        cdef BufferCondition condition
        cdef object text = evaluate_to_python(self.text, event, &self.app.frame)
        if text is None:
            raise ValueError("the condition of an expression window is null: expected the text of an expression")
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
        """Subtract the buffered events of this key from a condition that stays in force for other keys."""
        cdef Py_ssize_t i
        if state.condition is not NULL and (<BufferCondition> state.condition).users > 1:
            for i in range(state.buffered.size):
                self.holds(state, ring_at(&state.buffered, i), EXPIRED, NULL, NULL)
        return 0

    cdef int admit(self, BufferStateC* state, EventC* event) except -1:
        """Add an event to the window. Consumes its reference."""
        release(self.pool, event)
        return 0

    # --- evaluation

    cdef bint holds(self, BufferStateC* state, EventC* event, int type, EventC* first, EventC* last) except -1:
        """Evaluate the condition for an event that is added (CURRENT) or removed (EXPIRED)."""
        cdef FrameC* frame = &self.app.frame
        cdef EventC** before = frame.slots
        cdef EventC* ends[2]
        cdef BufferCondition condition = <BufferCondition> state.condition  # owned: Python code in it may replace it
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
    """Keeps the latest events for which the condition holds.

    An added event is buffered and the condition is evaluated with it. If it fails, the oldest events expire one by one
    until the condition holds, evaluated with the event removed, over the events left. They leave before the new event
    passes. If no event is left, the new event has expired as well.
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
    """Collects events while the condition holds; the event for which it fails releases the batch.

    A release is one chunk: the previous batch as EXPIRED, then the batch as CURRENT, stamped with the clock, without
    RESET. The releasing event begins the next batch, or is the last of this one (``includes``). In the streaming
    variant events pass at once and a release is the batch as EXPIRED. An event that fails in an empty window expires at
    once and passes, included or not: it leaves no batch. Expired events are sent regardless of the output of the query:
    they subtract from aggregates what the batch added.

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
                # What the previous condition released has been emitted, and no event follows that would end its chunk.
                self.next.finish()
            raise

    cdef int process_one(self, EventC* event) except -1:
        # A batch window ends its chunks itself: there is nothing to finish after one event.
        return self.process(event)

    cdef int admit(self, BufferStateC* state, EventC* event) except -1:
        # Held events have passed already in the streaming variant.
        return self.take(state, event, False)

    cdef bint is_included(self, EventC* event) except -1:
        if self.includes is None:
            return False
        self.app.frame.type = CURRENT
        return evaluate_condition(&self.includes.c, event, &self.app.frame) == TRUE

    cdef int take(self, BufferStateC* state, EventC* event, bint passes) except -1:
        """Add an event to the batch, and release the batch if the condition fails. Consumes the reference."""
        cdef EventC* first = ring_first(&state.buffered) if state.buffered.size else event
        cdef bint kept = False
        try:
            if self.holds(state, event, CURRENT, first, event):
                ring_push(&state.buffered, event)
                kept = True
                return self.next.process_one(event) if passes else 0
            # A new batch begins. The event that ended the last one counts there, even if it was included.
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
        """Emit an event that fails in an empty window: it expires, then passes unless it has passed."""
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
        """End the batch. `event`, whose reference is consumed, is the first of the next batch (NULL: none).

        In the streaming variant a batch that a new condition releases begins the chunk of the event that brought the
        condition.
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
        # The ring of the previous batch will collect the next one: empty it first.
        try:
            while state.buffered.size:
                self.expire(ring_pop(&state.buffered), now)
        finally:
            if event is not NULL:
                ring_push(&state.buffered, event)
        # A function of the selection may send and end the next batch during this loop.
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
