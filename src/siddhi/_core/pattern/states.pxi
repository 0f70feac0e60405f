# Views of partial matches; lists of the values of counting states.

@cython.final
cdef class PatternView:
    """The events that expressions at one point of the pattern see.

    Args:
        n_slots: number of slots of the pattern.
        indexed_events: (slot, offset, from_last, counting) of each event named by its index; event i is at
            ``n_slots + i``.
        own: the counting slot that the expressions decide about, else -1. In this slot the current event follows the
            collected ones when named by number; ``last`` is the last one before it.
    """

    def __cinit__(self, int n_slots, indexed_events, int own=-1):
        cdef int i
        cdef IndexedEventC* named
        self.n_slots = n_slots
        self.n_indexed_events = len(indexed_events)
        self.own = own
        self.indexed_events = <IndexedEventC*> PyMem_Malloc(max(1, self.n_indexed_events) * sizeof(IndexedEventC))
        self.events = <EventC**> PyMem_Malloc((n_slots + self.n_indexed_events) * sizeof(void*))
        if self.indexed_events is NULL or self.events is NULL:
            raise MemoryError
        for i in range(self.n_indexed_events):
            named = &self.indexed_events[i]
            named.slot, named.offset, named.from_last, named.counting = indexed_events[i]
            if named.slot == own and not named.from_last:
                self.uses_current = True

    def __dealloc__(self):
        PyMem_Free(self.indexed_events)
        PyMem_Free(self.events)

    cdef EventC** show(self, PartialC* partial, EventC* current) noexcept:
        """Return the events by slot; valid until the next call."""
        cdef int i
        cdef IndexedEventC* pick
        cdef CollectedC* collected
        cdef int32_t size, at
        if self.n_indexed_events == 0:
            return partial.slots
        memcpy(self.events, partial.slots, self.n_slots * sizeof(void*))
        for i in range(self.n_indexed_events):
            pick = &self.indexed_events[i]
            self.events[self.n_slots + i] = NULL
            if not pick.counting:
                if pick.offset == 0:
                    self.events[self.n_slots + i] = partial.slots[pick.slot]
                continue
            collected = collected_of(partial, pick.slot)
            size = 0 if collected is NULL else <int32_t> collected.size
            at = size - 1 - pick.offset if pick.from_last else pick.offset
            if 0 <= at < size:
                self.events[self.n_slots + i] = collected.events[at]
            elif at == size and pick.slot == self.own:
                self.events[self.n_slots + i] = current
        return self.events


cdef int collected_values(const ExecC* x, EventC* e, FrameC* f, void** out) except -1:
    cdef CollectedC* collected = <CollectedC*> f.slots[x.slot]
    cdef list values = []
    cdef uint32_t i
    if collected is not NULL:
        for i in range(collected.size):
            values.append(cell_to_python(collected.events[i], x.word, x.bit, x.cell, <int> x.value.i))
    return keep_object(x, values, out)


def make_collected(Layout layout not None, int position, int slot):
    """Return an executor: the values of an attribute in all events of a counting slot, as a list; empty without
    events."""
    cdef ObjectExecutor executor = new_object_executor(<eval_fn> collected_values, OBJECT, (), "collected list")
    executor.c.slot = slot
    executor.c.cell = layout.words + position
    executor.c.word = position >> 6
    executor.c.bit = (<uint64_t> 1) << (position & 63)
    executor.c.value.i = layout.codes[position]
    return executor


# States and their operands.

@cython.final
@cython.no_gc_clear             # the pattern releases its partial matches through them when it is collected
cdef class Operand:
    """One slot of a state.

    Args:
        slot: its index.
        alone: conditions on the current event only.
        conditions: conditions on the current event and the events taken so far.
        view: events that `conditions` see.
        copier: makes the record that the slot keeps; None for an absence.
        index: finds partial matches by key, or None.
        absent: the event must stay absent.
        for_ms: for how long in ms; -1 until the group is complete.
        stops: an event here ends the count of an earlier state.
    """

    def __init__(self, int slot, tuple alone not None, tuple conditions not None, PatternView view not None,
                 RecordCopier copier, PatternIndex index=None, bint absent=False, int64_t for_ms=-1,
                 bint stops=False):
        self.slot = slot
        self.absent = absent
        self.for_ms = for_ms
        self.stops = stops
        self.copier = copier
        self.view = view
        self.index = index
        self.executors = alone + conditions
        self.n_alone = len(alone)
        self.n_conditions = len(conditions)
        self.found_fits = index is not None and index.exact and self.n_conditions == 1
        self.alone = pointers(alone)
        self.conditions = pointers(conditions)

    def __dealloc__(self):
        PyMem_Free(self.alone)
        PyMem_Free(self.conditions)


cdef const ExecC** pointers(tuple executors) except NULL:
    cdef Py_ssize_t i
    cdef Executor executor
    cdef const ExecC** found = <const ExecC**> PyMem_Malloc(max(1, len(executors)) * sizeof(void*))
    if found is NULL:
        raise MemoryError
    for i in range(len(executors)):
        executor = executors[i]
        found[i] = &executor.c
    return found


@cython.final
@cython.no_gc_clear
cdef class State:
    """One state of the automaton.

    Args:
        kind: 0 stream, 1 count, 2 absence, 3 and, 4 or.
        operands: its slots, in the order in which an event is offered to them.
        following: index of the next state; -1 emits the match.
        again: index of the state that starts again when this one completes; -1 for none.
        low, high: number of events of a counting state; ``high`` -1 is unbounded.
        group: index of the first state of the ``every`` group it belongs to; -1 for none.
        late_again: its group starts again when a later state takes the partial match.
        stops: slots whose event ends a counting state.
    """

    def __init__(self, int kind, tuple operands not None, int following, int again=-1, int low=1, int high=1,
                 int group=-1, bint late_again=False, stops=()):
        cdef int k
        self.kind = kind
        self.operands = operands
        self.n_operands = len(operands)
        self.operand = <void**> PyMem_Malloc(self.n_operands * sizeof(void*))
        if self.operand is NULL:
            raise MemoryError
        self.next = following
        self.again = again
        self.min = low
        self.max = high
        self.group = group
        self.in_first_group = group == 0
        self.late_again = late_again
        self.n_stops = len(stops)
        self.stops = <int*> PyMem_Malloc(max(1, self.n_stops) * sizeof(int))
        if self.stops is NULL:
            raise MemoryError
        for k in range(self.n_stops):
            self.stops[k] = stops[k]
        self.first_slot = min(operand.slot for operand in operands)
        self.n_keyed = sum([(<Operand> operand).index is not None for operand in operands])
        self.waits = any(operand.for_ms >= 0 for operand in operands)
        self.round_ms = NO_TIME
        for k in range(self.n_operands):
            self.operand[k] = <void*> operands[k]

    def __dealloc__(self):
        PyMem_Free(self.stops)
        PyMem_Free(self.operand)


cdef int64_t wait_of(State state) noexcept:
    """Return the ms after which a state completes without an event; NO_TIME: never."""
    cdef int64_t for_ms, found = NO_TIME
    cdef int k
    if state.kind == COUNT and state.min == 0:
        return 0
    for k in range(state.n_operands):
        for_ms = (<Operand> state.operand[k]).for_ms
        if for_ms < 0:
            if state.kind != OR:
                return NO_TIME
        elif found == NO_TIME or (for_ms < found if state.kind == OR else for_ms > found):
            found = for_ms
    return found


cdef int find_rounds(tuple states) except -1:
    """Find the groups that start again by time alone, and the duration of a round."""
    cdef State state, last, timed
    cdef int64_t wait, total
    cdef int i, end
    for end in range(len(states)):
        last = <State> states[end]
        if last.again < 0:
            continue
        timed = None
        total = 0
        for i in range(last.again, len(states)):
            state = <State> states[i]
            wait = wait_of(state)
            if wait == NO_TIME:
                timed = None
                break
            if timed is None and state.waits:
                timed = state
            total = later(total, wait)
            if i >= end and (not last.late_again or state.waits):
                break
        else:
            timed = None           # no state starts the group again
        if timed is not None:
            timed.round_ms = total
    return 0


cdef bint waits_at_once(tuple states):
    """Return whether a time runs before the first event. Counts that may be empty are skipped."""
    cdef State state
    for state in states:
        if state.kind != COUNT or state.min > 0:
            return state.waits
    return False
