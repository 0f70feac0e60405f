"""Ingress of temporal streams: checks physical events against the CTI, pairs ENDs with STARTs, makes CTIs."""

cimport cython
from cpython.mem cimport PyMem_Free
from libc.stdint cimport uint64_t

from siddhi._core.index.hash_index cimport NO_ID
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport LONG, CellC
from siddhi._core.record.frame cimport FrameC
from siddhi._core.record.user_event cimport make_event
from siddhi._core.runtime.context cimport AppContext, restore_frame, save_frame
from siddhi._core.runtime.operator cimport Receiver
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.stream.junction cimport StreamJunction
from siddhi._core.temporal.lifetime cimport (
    END, ENDED, FOREVER, REMOVED, START, TIME_MAX, TIME_MIN, EdgeC, get_lifetime, get_size, grow_by_index, heap_first,
    heap_pop, heap_push, put_lifetime, refuse_damage, release_lifetime, retain_lifetime, shifted,
)
from siddhi.errors import CtiViolation, InvalidTemporalEvent, SiddhiTemporalError

cdef tuple MODELS = ("point", "interval", "edge")
cdef tuple FORMS = ("a point", "an interval", "a START")


cdef str text_of(int64_t time):
    return "MAX" if time == TIME_MAX else "MIN" if time == TIME_MIN else str(time)


@cython.no_gc_clear
cdef class TemporalIngress(TemporalOperator):
    """The ingress of one stream.

    The frontier is the CTI: STARTs before it and ENDs up to it have been given to the operators. An END that is known, but
    not given yet, can still be changed by a RETRACT: the heap then holds another edge, and the stale one is skipped.

    Args:
        app: context of the app.
        lifetimes: allocates the lifetimes.
        stream: name of the stream.
        pool: pool of its records.
        model: 0 point, 1 interval, 2 edge.
        policy: of late items; 0 error, 1 drop, 2 adjust.
        advance: (count, duration, delay, whether the reference is the last start) of generated CTIs; None: by hand only.
    """

    def __init__(self, app, lifetimes, str stream not None, EventPool pool not None, int model, int policy,
                 tuple advance=None):
        TemporalOperator.__init__(self, app, lifetimes, 1)
        self.stream = stream
        self.pool = pool
        self.layout = pool.layout
        self.model = model
        self.policy = policy
        self.cti = self.high = TIME_MIN
        if advance is not None:
            self.generates = True
            self.count, self.duration, self.delay, self.by_last = advance
        if model == EDGE:
            self.keys = KeyMap((LONG, LONG) + self.layout.types)
        self.row_pool = pool
        self.input_pools = [pool]
        self.lifetimes.keep(pool)

    def __dealloc__(self):
        cdef uint32_t i
        for i in range(self.open_capacity):
            if self.open[i].lifetime is not NULL:
                release_lifetime(self.lifetimes, self.open[i].lifetime)
        PyMem_Free(self.open)
        PyMem_Free(self.lists)

    @property
    def waiting(self):
        """Number of edges that wait for the CTI."""
        return self.heap.n

    @property
    def open_events(self):
        """Number of events of an edge stream whose END, or another end, may come."""
        return self.n_open

    # --- what enters

    cdef TemporalIngress accepting(self):
        return self

    cdef int refuse(self, str what, hint) except -1:
        raise InvalidTemporalEvent(f"stream '{self.stream}': {what}; {hint}")

    cdef int violate(self, str item) except -1:
        """Handle an item before the CTI that can't be adjusted."""
        if self.policy == ERROR:
            raise CtiViolation(self.stream, item, self.cti)
        self.dropped += 1
        return 0

    cdef tuple fault_of(self, int64_t start, int64_t end, int form):
        if form == FORM_INTERVAL and self.model == POINT or form == FORM_START and self.model != EDGE:
            return (f"{FORMS[form]} can't be inserted into a stream of model '{MODELS[self.model]}'",
                    "use point(), or another model" if self.model == POINT
                    else "use insert() or point(), or model = 'edge'")
        if start == TIME_MAX or end <= start:
            return (f"the lifetime [{text_of(start)}, {text_of(end)}) is empty", "the end must be after the start")
        return None

    cdef bint is_late(self, int64_t start, int64_t end, int form) noexcept:
        return start < self.cti and (
            self.policy != ADJUST or form == FORM_POINT or end <= self.cti or self.cti == TIME_MAX)

    cdef int check(self, int64_t start, int64_t end, int form) except -1:
        """Refuse a lifetime that is empty, or a form that is not one of the model."""
        cdef tuple fault = self.fault_of(start, end, form)
        if fault is not None:
            self.refuse(fault[0], fault[1])
        return 0

    cdef int check_end(self, int64_t start, int64_t end, int64_t new_end, bint edge) except -1:
        """Refuse an END or a RETRACT that fits no lifetime."""
        cdef str what = "an END" if edge else "a RETRACT"
        if self.model != EDGE:
            self.refuse(f"{what} can't be sent to a stream of model '{MODELS[self.model]}'", "use model = 'edge'")
        if edge and new_end <= start or not edge and (new_end < start or end <= start):
            self.refuse(f"{what} from {text_of(end)} to {text_of(new_end)} of a lifetime that starts at {text_of(start)}",
                        "the ends must be after the start" if edge else "the new end must be at or after the start")
        return 0

    cdef int insert(self, int64_t start, int64_t end, EventC* row, int form) except -1:
        """Insert a row that is valid during [start, end)."""
        cdef LifetimeC* lifetime
        cdef int64_t given = start
        self.check(start, end, form)
        if start < self.cti:
            if self.is_late(start, end, form):
                return self.violate(f"{FORMS[form]} with start {text_of(start)}")
            start = self.cti
        lifetime = self.lifetimes.acquire(self.pool, row, start, end)
        self.adjusted += start != given
        lifetime.given = given
        if end == TIME_MAX and self.model != EDGE:
            lifetime.flags |= FOREVER
        try:
            heap_push(&self.heap, start, START, 0, lifetime)
            if end != TIME_MAX:
                heap_push(&self.heap, end, END, 0, lifetime)
            if self.model == EDGE:
                self.arrived += 1
                self.list_open(lifetime, self.arrived)
        finally:
            release_lifetime(self.lifetimes, lifetime)
        return self.accepted(start)

    cdef int retract(self, int64_t start, int64_t end, int64_t new_end, EventC* row, bint edge) except -1:
        """Move the end of a lifetime; an edge END moves it from MAX."""
        cdef LifetimeC* lifetime
        cdef str what = "an END" if edge else "a RETRACT"
        self.check_end(start, end, new_end, edge)
        if min(end, new_end) < self.cti:
            return self.violate(f"{what} with end {text_of(min(end, new_end))}")
        lifetime = self.find_open(start, end, row)
        if lifetime is NULL:
            if self.policy == ERROR and not edge and end <= self.cti:
                self.refuse(f"{what} of a lifetime [{text_of(start)}, {text_of(end)}) of this row, whose end is final "
                            f"since the CTI {text_of(self.cti)}",
                            "send the RETRACT before the CTI reaches the end, or insert the rest as a row of its own")
            if self.policy == ERROR:
                self.refuse(f"{what} without a lifetime [{text_of(start)}, {text_of(end)}) of this row",
                            "send the START first, with the same start and row")
            self.dropped += 1
            return 0
        if new_end <= lifetime.start:
            lifetime.flags |= REMOVED
            return self.unlist(lifetime)
        if new_end != TIME_MAX:
            heap_push(&self.heap, new_end, END, 0, lifetime)
        self.move_end(lifetime, new_end)
        # Nothing can contradict an END at the CTI: an operator that waits for another stream may use it at once.
        return self.drain(self.cti) if new_end == self.cti else 0

    cdef int accepted(self, int64_t start) except -1:
        """Make a CTI if one is due after an accepted item with a start."""
        cdef int64_t reference
        cdef bint due = False
        self.high = max(self.high, start)
        if not self.generates:
            return 0
        reference = start if self.by_last else self.high
        self.counted += 1
        if self.count > 0 and self.counted >= self.count:
            due = True
        if self.duration > 0:
            if not self.has_base:
                self.has_base = True
                self.base = reference
            elif reference > self.base and <uint64_t> reference - <uint64_t> self.base >= <uint64_t> self.duration:
                due = True
        if not due:
            return 0
        self.counted = 0
        self.base = reference
        if reference == TIME_MIN:
            return 0
        return self.cti_at(shifted(reference, -self.delay))

    cdef int cti_at(self, int64_t time) except -1:
        """Advance the CTI; an earlier one promises nothing new."""
        if time > self.cti:
            self.cti = time
            self.advance(0, time)
        return 0

    # --- what leaves

    cdef int start(self, int input, LifetimeC* lifetime) except -1:
        return 0 if lifetime.flags & REMOVED else self.emit(START, lifetime)

    cdef int end(self, int input, LifetimeC* lifetime) except -1:
        # A stale edge has another time than the lifetime's end; the operator that pops it has set frontier and heap.
        if lifetime.flags & (REMOVED | ENDED):
            return 0
        lifetime.flags |= ENDED
        if self.model == EDGE:
            self.unlist(lifetime)
        return self.emit(END, lifetime)

    cdef int advance(self, int input, int64_t cti) except -1:
        self.ctis[0] = self.frontier = cti
        self.drain(cti)
        return self.promise(cti)

    cdef int drain(self, int64_t cti) except -1:
        """Give the STARTs before the CTI and the ENDs up to it to the operators."""
        cdef EdgeC edge
        cdef const EdgeC* first
        while self.heap.n:
            first = heap_first(&self.heap)
            if first.time > cti or (first.time == cti and first.kind == START):
                break
            edge = heap_pop(&self.heap)
            try:
                if edge.kind == START:
                    self.start(0, edge.lifetime)
                elif edge.time == edge.lifetime.end:      # else a RETRACT has moved the end
                    self.end(0, edge.lifetime)
            finally:
                release_lifetime(self.lifetimes, edge.lifetime)
        return 0

    # --- lifetimes whose end may move

    cdef uint32_t key_of(self, int64_t start, int64_t end, EventC* row, bint insert) except? 0xfffffffe:
        """Return the id of (start, end, row), or NO_ID."""
        cdef CellC key[64]
        cdef uint64_t nulls = 0
        cdef int i
        cdef bint is_new
        key[0].l = start
        key[1].l = end
        for i in range(self.layout.width):
            if row.body[i >> 6] >> (i & 63) & 1:
                nulls |= (<uint64_t> 1) << (i + 2)
                key[i + 2].bits = 0
            else:
                key[i + 2].bits = row.body[self.layout.words + i]
        if insert:
            return self.keys.insert(key, nulls, &is_new)
        return self.keys.find(key, nulls)

    cdef int list_open(self, LifetimeC* lifetime, uint64_t order) except -1:
        """Add a lifetime to the list of its start, end and row, in order of arrival."""
        cdef Py_ssize_t before = self.keys.size
        cdef uint32_t key_id, at
        cdef OpenListC* found
        cdef OpenC* entry
        self.open = <OpenC*> grow_by_index(self.open, &self.open_capacity, lifetime.index, sizeof(OpenC))
        key_id = self.key_of(lifetime.given, lifetime.end, lifetime.row, True)
        self.lists = <OpenListC*> grow_by_index(self.lists, &self.list_capacity, key_id, sizeof(OpenListC))
        found = &self.lists[key_id]
        if self.keys.size != before:
            found.first = found.last = NO_ID
        at = found.last
        while at != NO_ID and self.open[at].order > order:
            at = self.open[at].previous
        entry = &self.open[lifetime.index]
        entry.lifetime = retain_lifetime(lifetime)
        self.n_open += 1
        entry.order, entry.key_id, entry.previous = order, key_id, at
        entry.next = found.first if at == NO_ID else self.open[at].next
        if at == NO_ID:
            found.first = lifetime.index
        else:
            self.open[at].next = lifetime.index
        if entry.next == NO_ID:
            found.last = lifetime.index
        else:
            self.open[entry.next].previous = lifetime.index
        return 0

    cdef bint is_open(self, LifetimeC* lifetime) noexcept:
        return lifetime.index < self.open_capacity and self.open[lifetime.index].lifetime is lifetime

    cdef int unlist(self, LifetimeC* lifetime) except -1:
        cdef OpenC* entry
        cdef OpenListC* found
        if not self.is_open(lifetime):
            return 0
        entry = &self.open[lifetime.index]
        found = &self.lists[entry.key_id]
        if entry.previous == NO_ID:
            found.first = entry.next
        else:
            self.open[entry.previous].next = entry.next
        if entry.next == NO_ID:
            found.last = entry.previous
        else:
            self.open[entry.next].previous = entry.previous
        if found.first == NO_ID:
            self.keys.remove(entry.key_id)
        entry.lifetime = NULL
        self.n_open -= 1
        release_lifetime(self.lifetimes, lifetime)
        return 0

    cdef int move_end(self, LifetimeC* lifetime, int64_t end) except -1:
        """Change the end of a listed lifetime."""
        cdef uint64_t order = self.open[lifetime.index].order
        retain_lifetime(lifetime)
        try:
            self.unlist(lifetime)
            lifetime.end = end
            self.list_open(lifetime, order)
        finally:
            release_lifetime(self.lifetimes, lifetime)
        return 0

    cdef LifetimeC* find_open(self, int64_t start, int64_t end, EventC* row) except? NULL:
        """Return the first lifetime of this start, end and row; NULL: there is none."""
        cdef uint32_t key_id = self.key_of(start, end, row, False)
        return NULL if key_id == NO_ID else self.open[self.lists[key_id].first].lifetime

    # --- snapshots

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef uint32_t at
        TemporalOperator.write(self, writer)
        writer.put_i64(self.cti)
        writer.put_i64(self.dropped)
        writer.put_i64(self.adjusted)
        writer.put_i64(self.high)
        writer.put_i64(self.counted)
        writer.put_i64(self.base)
        writer.put_bool(self.has_base)
        writer.put_u32(<uint32_t> self.n_open)
        for _, at in sorted([(self.open[at].order, at) for at in range(self.open_capacity)
                             if self.open[at].lifetime is not NULL]):
            put_lifetime(writer, self.lifetimes, self.open[at].lifetime)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef Py_ssize_t _i, n
        cdef LifetimeC* lifetime
        self.clear()
        TemporalOperator.read(self, reader)
        self.cti = reader.get_i64()
        self.dropped = reader.get_i64()
        self.adjusted = reader.get_i64()
        self.high = reader.get_i64()
        self.counted = reader.get_i64()
        self.base = reader.get_i64()
        self.has_base = reader.get_bool()
        n = get_size(reader)
        for _i in range(n):
            lifetime = get_lifetime(reader, self.lifetimes, self.pool)
            if lifetime is NULL or self.model != EDGE or self.is_open(lifetime):
                refuse_damage(f"stream '{self.stream}' has an open event that it can't have")
            self.list_open(lifetime, self.arrived)
            self.arrived += 1
        return 0

    cdef int clear(self) except -1:
        cdef uint32_t i
        TemporalOperator.clear(self)
        self.cti = self.high = TIME_MIN
        self.dropped = self.adjusted = self.counted = self.base = 0
        self.has_base = False
        for i in range(self.open_capacity):
            if self.open[i].lifetime is not NULL:
                release_lifetime(self.lifetimes, self.open[i].lifetime)
                self.open[i].lifetime = NULL
        self.n_open = 0
        self.arrived = 0
        if self.keys is not None:
            self.keys.clear()
        return 0


@cython.final
cdef class CtiImport(TemporalOperator):
    """Receives a stream, and gives its CTIs to the ingress of another one. It has no state.

    Args:
        app: context of the app.
        lifetimes: of the app.
        ingress: of the stream that gets the CTIs.
    """

    cdef TemporalIngress ingress

    def __init__(self, app, lifetimes, TemporalIngress ingress not None):
        TemporalOperator.__init__(self, app, lifetimes, 1)
        self.ingress = ingress

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        return 0

    cdef int advance(self, int input, int64_t cti) except -1:
        return self.ingress.cti_at(cti)


@cython.final
cdef class ClassicalEntry(Receiver):
    """Inserts what classical queries emit into a point stream: the start is the timestamp of the event.

    A row that the policy refuses goes to the ``@OnError`` of the stream, else to the exception handler; those after it are
    inserted.

    Args:
        app: context of the app.
        junction: of the stream.
        ingress: of the stream.
    """

    cdef AppContext app
    cdef StreamJunction junction
    cdef TemporalIngress ingress

    def __init__(self, AppContext app not None, StreamJunction junction not None, TemporalIngress ingress not None):
        self.app = app
        self.junction = junction
        self.ingress = ingress

    cdef int receive(self, EventChunk* chunk) except -1:
        # A CTI that the ingress makes may run other operators: the query that emits goes on with its own frame.
        cdef FrameC frame = save_frame(self.app)
        cdef EventC* event = chunk.head
        try:
            while event is not NULL:
                try:
                    self.ingress.insert(event.timestamp, shifted(event.timestamp, 1), event, FORM_POINT)
                except SiddhiTemporalError as error:
                    self.handle(error, event)
                event = event.next
        finally:
            restore_frame(self.app, &frame)
        return 0

    cdef int handle(self, error, EventC* event) except -1:
        cdef list events = [make_event(event, self.junction.pool, self.junction.layout)]
        if self.junction.on_error is not None:
            self.junction.on_error(error, events)
        else:
            self.app.handle(error, self.junction.id, events)
        return 0
