"""Output of temporal streams: to temporal callbacks, to classical callbacks, and to classical queries.

A :class:`TemporalOutput` exists only where somebody receives the stream. It keeps lifetimes until its frontier has passed
them, in the form of the model of the stream.
"""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_SET_ITEM
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from operator import itemgetter

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport (
    BOOL, CURRENT, DOUBLE, EXPIRED, FLOAT, INT, LONG, OBJECT, CellC, EventC, EventPool, Layout, copy_event, event_to_tuple,
    release, retain,
)
from siddhi._core.record.user_event cimport Event, make_events
from siddhi._core.runtime.context cimport advance
from siddhi._core.runtime.sampler cimport Meter, Sampler, SpanC, sampler_here
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter
from siddhi._core.stream.callback cimport NO_END, Collector
from siddhi._core.stream.junction cimport StreamJunction, send
from siddhi._core.temporal.ingress cimport EDGE, INTERVAL, POINT, TemporalIngress
from siddhi._core.temporal.lifetime cimport (
    COMPLETE, END, START, TIME_MAX, TIME_MIN, EdgeC, EdgeHeapC, LifetimeC, LifetimePool, TemporalOperator, get_lifetime,
    get_size, grow_by_index, heap_clear, heap_copy, heap_first, heap_pop, heap_push, is_numbered, put_lifetime, read_heap,
    refuse_damage, release_lifetime, retain_lifetime, write_heap,
)

cdef extern from "Python.h":
    int PyUnicode_Compare(object left, object right) except? -1
    ctypedef struct PyTypeObject:
        object (*tp_alloc)(PyTypeObject* type, Py_ssize_t n)


cdef object start_of = itemgetter(1)


cdef enum Held:
    UNKNOWN = 0
    OPEN = 1
    CLOSED = 2


# --- what one CTI releases

cdef struct ItemC:
    int64_t time                   # by which items are in order
    int64_t second                 # the other time of its lifetime
    LifetimeC* lifetime            # a reference is owned
    uint8_t kind                   # END comes before START at the same time

cdef struct ItemsC:
    ItemC* items
    Py_ssize_t n
    Py_ssize_t capacity


cdef int items_reserve(ItemsC* items) except -1:
    """Make room for one more item."""
    cdef ItemC* larger
    cdef Py_ssize_t capacity
    if items.n == items.capacity:
        capacity = max(16, 2 * items.capacity)
        larger = <ItemC*> PyMem_Realloc(items.items, capacity * sizeof(ItemC))
        if larger is NULL:
            raise MemoryError
        items.items = larger
        items.capacity = capacity
    return 0


cdef inline void items_push(ItemsC* items, int64_t time, int64_t second, int kind, LifetimeC* lifetime) noexcept:
    """Append an item, after items_reserve(); takes over the reference."""
    items.items[items.n] = ItemC(time, second, lifetime, <uint8_t> kind)
    items.n += 1


cdef void items_clear(ItemsC* items, LifetimePool pool) noexcept:
    """Release the items and the memory."""
    while items.n:
        items.n -= 1
        release_lifetime(pool, items.items[items.n].lifetime)
    PyMem_Free(items.items)
    items.items = NULL
    items.capacity = 0


cdef int compare_rows(EventC* a, EventC* b, Layout layout) except -2:
    """Compare all cells: null first, NaN last; objects have no order."""
    cdef int i, code, answer = 0
    cdef bint null_a, null_b
    cdef const CellC* x
    cdef const CellC* y
    if a is b:
        return 0
    for i in range(layout.width):
        null_a = a.body[i >> 6] >> (i & 63) & 1
        null_b = b.body[i >> 6] >> (i & 63) & 1
        code = layout.codes[i]
        x, y = <const CellC*> &a.body[layout.words + i], <const CellC*> &b.body[layout.words + i]
        if null_a or null_b:
            answer = null_b - null_a
        elif code == INT or code == BOOL:
            answer = (x.i > y.i) - (x.i < y.i)
        elif code == LONG:
            answer = (x.l > y.l) - (x.l < y.l)
        elif code == FLOAT:
            answer = (x.f != x.f) - (y.f != y.f) if x.f != x.f or y.f != y.f else (x.f > y.f) - (x.f < y.f)
        elif code == DOUBLE:
            answer = (x.d != x.d) - (y.d != y.d) if x.d != x.d or y.d != y.d else (x.d > y.d) - (x.d < y.d)
        elif code != OBJECT:
            answer = PyUnicode_Compare(<object> <PyObject*> x.o, <object> <PyObject*> y.o)
        if answer:
            return 1 if answer > 0 else -1
    return 0


cdef inline bint in_order(const ItemC* a, const ItemC* b, Layout layout) except -1:
    if a.time != b.time:
        return a.time < b.time
    if a.kind != b.kind:
        return a.kind < b.kind
    if a.second != b.second:
        return a.second < b.second
    return compare_rows(a.lifetime.row, b.lifetime.row, layout) <= 0


cdef int sort_items(ItemC* items, ItemC* spare, Py_ssize_t n, Layout layout) except -1:
    """Sort by merging; what is in order already, as items of a heap mostly are, stays where it is."""
    cdef Py_ssize_t half = n // 2, left = 0, right = half, at = 0
    if n < 2:
        return 0
    sort_items(items, spare, half, layout)
    sort_items(items + half, spare, n - half, layout)
    if in_order(&items[half - 1], &items[half], layout):
        return 0
    memcpy(spare, items, half * sizeof(ItemC))
    while left < half:
        if right == n or in_order(&spare[left], &items[right], layout):
            items[at] = spare[left]
            left += 1
        else:
            items[at] = items[right]
            right += 1
        at += 1
    return 0


@cython.final
@cython.no_gc_clear
cdef class TemporalOutput(TemporalOperator):
    """What a stream shows outside.

    Args:
        app: context of the app.
        lifetimes: of the app.
        junction: carries the rows to classical callbacks; CURRENT as a row becomes valid (or is closed, in the interval
            model), EXPIRED as it stops being valid (edge model).
        model: 0 point, 1 interval, 2 edge.
        by_start: interval model: whether a lifetime waits until all with an earlier start have left.
        make: class of the items of callbacks, a named tuple of kind, start, end and data.
        keeps_open: edge model: whether alive() is needed.

    A lifetime that began before the output existed is not shown.
    """

    cdef StreamJunction junction
    cdef Layout layout
    cdef int model
    cdef bint by_start
    cdef bint keeps_open           # `open` is filled
    cdef type make
    cdef readonly list callbacks
    cdef readonly list event_callbacks
    cdef readonly list collectors
    cdef uint8_t* held             # by index: Held
    cdef LifetimeC** open          # by index: lifetimes that are not closed
    cdef uint32_t held_capacity
    cdef uint32_t open_capacity
    cdef EdgeHeapC starts          # point, edge: STARTs not shown yet; interval by start: lifetimes not shown yet
    cdef EdgeHeapC ends            # edge: ENDs not shown yet; interval: closed lifetimes not shown yet
    cdef EdgeHeapC complete        # results of complete windows
    cdef int64_t shown             # the last CTI shown

    def __init__(self, app, lifetimes, StreamJunction junction not None, int model, bint by_start,
                 type make not None, bint keeps_open=False):
        TemporalOperator.__init__(self, app, lifetimes, 1)
        self.junction = junction
        self.layout = junction.layout
        self.model = model
        self.by_start = by_start
        self.make = make
        self.keeps_open = model == INTERVAL or keeps_open and model == EDGE
        self.callbacks = []
        self.event_callbacks = []
        self.collectors = []
        self.shown = TIME_MIN

    def __dealloc__(self):
        cdef uint32_t i
        for i in range(self.open_capacity):
            if self.open[i] is not NULL:
                release_lifetime(self.lifetimes, self.open[i])
        PyMem_Free(self.open)
        PyMem_Free(self.held)
        heap_clear(&self.starts, self.lifetimes)
        heap_clear(&self.ends, self.lifetimes)
        heap_clear(&self.complete, self.lifetimes)

    @property
    def waiting(self):
        """Number of lifetimes and edges that are not shown yet."""
        return self.starts.n + self.ends.n + self.complete.n

    def alive(self):
        """Return the STARTs that were shown and whose ENDs were not, and then the last CTI shown."""
        cdef list found = []
        cdef EdgeC* edges = NULL
        cdef ItemC item
        cdef Py_ssize_t i
        cdef uint32_t index
        item.kind = START
        for index in range(self.open_capacity if self.keeps_open else 0):
            if self.open[index] is not NULL and self.open[index].start < self.shown:
                item.lifetime = self.open[index]
                found.append(self.item(&item))
        if self.keeps_open and self.ends.n:
            edges = <EdgeC*> PyMem_Malloc(self.ends.n * sizeof(EdgeC))
            if edges is NULL:
                raise MemoryError
            try:
                heap_copy(&self.ends, edges)
                for i in range(self.ends.n):
                    if edges[i].lifetime.start < self.shown:
                        item.lifetime = edges[i].lifetime
                        found.append(self.item(&item))
            finally:
                PyMem_Free(edges)
        found.sort(key=start_of)
        if self.shown != TIME_MIN:
            found.append(new_item(self.make, "cti", self.shown, None, None))
        return found

    cdef int write(self, SnapshotWriter writer) except -1:
        cdef uint32_t index, n = 0
        TemporalOperator.write(self, writer)
        writer.put_i64(self.shown)
        write_heap(&self.starts, writer, self.lifetimes)
        write_heap(&self.ends, writer, self.lifetimes)
        write_heap(&self.complete, writer, self.lifetimes)
        for index in range(self.held_capacity):
            n += self.held[index] != UNKNOWN and is_numbered(self.lifetimes, index)
        writer.put_u32(n)
        for index in range(self.held_capacity):
            if self.held[index] != UNKNOWN and is_numbered(self.lifetimes, index):
                writer.put_u32(self.held[index])
                writer.put_u32(self.lifetimes.numbers[index] if writer.items is None else 0)
                put_lifetime(writer, self.lifetimes, self.open[index] if index < self.open_capacity else NULL)
        return 0

    cdef int read(self, SnapshotReader reader) except -1:
        cdef Py_ssize_t _i, n
        cdef uint32_t held, index
        cdef LifetimeC* lifetime
        self.clear()
        TemporalOperator.read(self, reader)
        self.shown = reader.get_i64()
        read_heap(&self.starts, reader, self.lifetimes, self.input_pools)
        read_heap(&self.ends, reader, self.lifetimes, self.input_pools)
        read_heap(&self.complete, reader, self.lifetimes, self.input_pools)
        n = get_size(reader)
        for _i in range(n):
            held = reader.get_u32()
            index = reader.get_u32()
            lifetime = get_lifetime(reader, self.lifetimes, self.row_pool)
            if (held != OPEN and held != CLOSED or index >= self.lifetimes.n_restored
                    or lifetime is not NULL and lifetime.index != index or self.is_open(index)
                    or (self.keeps_open and held == OPEN) != (lifetime is not NULL)):
                refuse_damage(f"what stream '{self.junction.id}' shows of a lifetime is unknown")
            self.held = <uint8_t*> grow_by_index(self.held, &self.held_capacity, index, sizeof(uint8_t))
            self.held[index] = <uint8_t> held
            if lifetime is not NULL:
                self.open = <LifetimeC**> grow_by_index(self.open, &self.open_capacity, index, sizeof(LifetimeC*))
                self.open[index] = retain_lifetime(lifetime)
        return self.make_room()

    cdef bint is_open(self, uint32_t index) noexcept:
        return index < self.open_capacity and self.open[index] is not NULL

    cdef int make_room(self) except -1:
        """Let every lifetime have its place in the arrays: those whose edges wait are looked up there."""
        cdef uint32_t last = self.lifetimes.n_restored
        if last == 0 or self.model == POINT:
            return 0
        self.held = <uint8_t*> grow_by_index(self.held, &self.held_capacity, last - 1, sizeof(uint8_t))
        if self.keeps_open:
            self.open = <LifetimeC**> grow_by_index(self.open, &self.open_capacity, last - 1, sizeof(LifetimeC*))
        return 0

    cdef int clear(self) except -1:
        cdef uint32_t i
        TemporalOperator.clear(self)
        self.shown = TIME_MIN
        for i in range(self.open_capacity):
            if self.open[i] is not NULL:
                release_lifetime(self.lifetimes, self.open[i])
                self.open[i] = NULL
        for i in range(self.held_capacity):
            self.held[i] = UNKNOWN
        heap_clear(&self.starts, self.lifetimes)
        heap_clear(&self.ends, self.lifetimes)
        heap_clear(&self.complete, self.lifetimes)
        return 0

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        cdef uint32_t index = lifetime.index
        if lifetime.flags & COMPLETE:
            # START and END come together, and leave with the next CTI.
            if kind == START:
                if self.model == INTERVAL and not self.by_start:
                    return heap_push(&self.complete, lifetime.end, END, 0, lifetime)
                heap_push(&self.complete, lifetime.start, START, 0, lifetime)
                if self.model == EDGE and lifetime.end != TIME_MAX:
                    heap_push(&self.complete, lifetime.end, END, 0, lifetime)
            return 0
        if self.model == POINT:
            return heap_push(&self.starts, lifetime.start, START, 0, lifetime) if kind == START else 0
        self.held = <uint8_t*> grow_by_index(self.held, &self.held_capacity, index, sizeof(uint8_t))
        if kind == START:
            self.held[index] = OPEN
            if self.model == EDGE or self.by_start:
                heap_push(&self.starts, lifetime.start, START, 0, lifetime)
            if self.keeps_open:
                self.open = <LifetimeC**> grow_by_index(self.open, &self.open_capacity, index, sizeof(LifetimeC*))
                self.open[index] = retain_lifetime(lifetime)
            return 0
        if self.held[index] != OPEN:
            return 0
        self.held[index] = CLOSED
        if self.model == EDGE:
            self.held[index] = UNKNOWN
            heap_push(&self.ends, lifetime.end, END, 0, lifetime)
            if self.keeps_open:
                self.open[index] = NULL
                release_lifetime(self.lifetimes, lifetime)
            return 0
        self.open[index] = NULL
        if not self.by_start:
            self.held[index] = UNKNOWN
            heap_push(&self.ends, lifetime.end, END, 0, lifetime)
        release_lifetime(self.lifetimes, lifetime)
        return 0

    cdef int64_t settle(self, int64_t cti) except? -1:
        cdef ItemsC items = ItemsC(NULL, 0, 0)
        cdef ItemC* spare = NULL
        cdef int64_t shown = cti
        try:
            self.take(&self.complete, TIME_MAX, True, &items)
            if self.model == INTERVAL and self.by_start:
                shown = self.take_by_start(cti, &items)
            else:
                self.take(&self.starts, cti, False, &items)
                self.take(&self.ends, cti, True, &items)
            if self.model == INTERVAL and cti == TIME_MAX:
                self.take_open(&items)
            if items.n > 1:
                spare = <ItemC*> PyMem_Malloc((items.n // 2) * sizeof(ItemC))
                if spare is NULL:
                    raise MemoryError
                sort_items(items.items, spare, items.n, self.layout)
            if shown > self.shown:
                self.shown = shown
            else:
                shown = TIME_MIN
            self.deliver(&items, shown)
        finally:
            PyMem_Free(spare)
            items_clear(&items, self.lifetimes)
        return cti

    cdef int take(self, EdgeHeapC* heap, int64_t until, bint included, ItemsC* items) except -1:
        """Move what is before the time (`included`: or at it) to the items."""
        cdef EdgeC edge
        while heap.n and (heap_first(heap).time < until or included and heap_first(heap).time == until):
            items_reserve(items)
            edge = heap_pop(heap)
            self.add(edge.kind, edge.lifetime, items)
        return 0

    cdef int64_t take_by_start(self, int64_t cti, ItemsC* items) except? -1:
        """Move closed lifetimes to the items, up to the earliest start of one that is open; return it, or the CTI."""
        cdef EdgeC edge
        cdef int64_t start
        cdef EdgeHeapC kept
        cdef int64_t shown = cti
        while self.starts.n and shown == cti:
            start = heap_first(&self.starts).time
            memset(&kept, 0, sizeof(EdgeHeapC))
            try:
                while self.starts.n and heap_first(&self.starts).time == start:
                    items_reserve(items)
                    edge = heap_pop(&self.starts)
                    try:
                        if cti == TIME_MAX or self.held[edge.lifetime.index] == CLOSED and edge.lifetime.end <= cti:
                            self.forget(edge.lifetime)
                            self.add(START, retain_lifetime(edge.lifetime), items)
                        else:
                            heap_push(&kept, start, START, 0, edge.lifetime)
                    finally:
                        release_lifetime(self.lifetimes, edge.lifetime)
                if kept.n:
                    shown = min(cti, start)
                while kept.n:
                    edge = heap_pop(&kept)
                    heap_push(&self.starts, start, START, 0, edge.lifetime)
                    release_lifetime(self.lifetimes, edge.lifetime)
            finally:
                heap_clear(&kept, self.lifetimes)
            if shown != cti:
                break
        return shown

    cdef void forget(self, LifetimeC* lifetime) noexcept:
        self.held[lifetime.index] = UNKNOWN
        if self.open[lifetime.index] is not NULL:
            self.open[lifetime.index] = NULL
            release_lifetime(self.lifetimes, lifetime)

    cdef int take_open(self, ItemsC* items) except -1:
        """Move the lifetimes that never end to the items."""
        cdef uint32_t i
        cdef LifetimeC* lifetime
        for i in range(self.open_capacity):
            lifetime = self.open[i]
            if lifetime is not NULL:
                items_reserve(items)
                self.add(START, retain_lifetime(lifetime), items)
                self.forget(lifetime)
        return 0

    cdef void add(self, int kind, LifetimeC* lifetime, ItemsC* items) noexcept:
        """Append an item, after items_reserve(); takes over the reference."""
        if self.model == INTERVAL and not self.by_start or self.model == EDGE and kind == END:
            items_push(items, lifetime.end, lifetime.start, END, lifetime)
        else:
            items_push(items, lifetime.start, lifetime.end if self.model == INTERVAL else 0, START, lifetime)

    cdef int deliver(self, ItemsC* items, int64_t cti) except -1:
        """Give items, and a CTI that is not MIN, to everyone who receives the stream."""
        cdef list found
        cdef Py_ssize_t i
        if items.n and (self.junction.n or self.event_callbacks):
            self.send_rows(items)
        if items.n and self.collectors:
            self.collect(items)
        if not self.callbacks or items.n == 0 and cti == TIME_MIN:
            return 0
        found = []
        for i in range(items.n):
            found.append(self.item(&items.items[i]))
        if cti != TIME_MIN:
            found.append(new_item(self.make, "cti", cti, None, None))
        for callback in list(self.callbacks):
            try:
                answer = called(callback, list(found), self.junction.id)
            except Exception as error:
                if self.app.passes_on(error):
                    raise error
                self.app.handle(error, f"temporal callback of '{self.junction.id}'", [])
            else:
                if answer is not None:
                    self.app.refuse_coroutine(answer, f"temporal callback of '{self.junction.id}'", [])
        return 0

    cdef object item(self, const ItemC* item):
        cdef LifetimeC* lifetime = item.lifetime
        cdef tuple data = event_to_tuple(lifetime.row, self.layout)
        if self.model == POINT:
            return new_item(self.make, "point", lifetime.start, lifetime.start + 1, data)
        if self.model == INTERVAL:
            return new_item(self.make, "insert", lifetime.start, lifetime.end, data)
        if item.kind == START:
            return new_item(self.make, "start", lifetime.start, None, data)
        return new_item(self.make, "end", lifetime.start, lifetime.end, data)

    cdef int send_rows(self, ItemsC* items) except -1:
        """Send the rows to classical callbacks, as one chunk."""
        cdef EventPool pool = self.junction.pool
        cdef EventChunk chunk
        cdef EventC* event
        cdef EventC* following
        cdef LifetimeC* lifetime
        cdef bint is_end
        cdef Py_ssize_t i
        chunk.head = chunk.tail = NULL
        try:
            for i in range(items.n):
                lifetime = items.items[i].lifetime
                is_end = self.model == EDGE and items.items[i].kind == END
                if lifetime.refs == 1 and lifetime.row.refs == 1:
                    event = lifetime.row         # no other receiver has it
                    retain(pool, event)
                else:
                    event = copy_event(<EventPool> lifetime.pool, lifetime.row)
                event.type = EXPIRED if is_end else CURRENT
                event.timestamp = lifetime.end if is_end else lifetime.start
                event.next = NULL
                if chunk.head is NULL:
                    chunk.head = event
                else:
                    chunk.tail.next = event
                chunk.tail = event
            if self.event_callbacks:
                self.call_back(&chunk, items)
            if self.junction.n:
                send(self.junction, &chunk)
        finally:
            event = chunk.head
            while event is not NULL:
                following = event.next
                event.next = NULL
                release(pool, event)
                event = following
        return 0

    cdef int call_back(self, EventChunk* chunk, ItemsC* items) except -1:
        """Give the events of a chunk, with the ends of their lifetimes, to the stream callbacks."""
        cdef LifetimeC* lifetime
        cdef Py_ssize_t i
        cdef list events
        cdef Event event
        for callback in list(self.event_callbacks):
            events = make_events(chunk, self.junction.pool, self.layout)
            for i in range(items.n):
                if self.model == EDGE and items.items[i].kind == START:
                    continue
                lifetime = items.items[i].lifetime
                event = events[i]
                event.has_end = True
                event.end_time = lifetime.start + 1 if self.model == POINT else lifetime.end
            try:
                answer = called(callback, events, self.junction.id)
            except Exception as error:
                if self.app.passes_on(error):
                    raise error
                self.app.handle(error, f"callback of '{self.junction.id}'", events)
            else:
                if answer is not None:
                    self.app.refuse_coroutine(answer, f"callback of '{self.junction.id}'", events)
        return 0

    cdef int collect(self, ItemsC* items) except -1:
        """Append the rows to the columns that are collected."""
        cdef Collector collector
        cdef LifetimeC* lifetime
        cdef Py_ssize_t i
        cdef bint is_open
        for collector in self.collectors:
            if items.n > 1:
                collector.begin_span()
            for i in range(items.n):
                lifetime = items.items[i].lifetime
                is_open = self.model == EDGE and items.items[i].kind == START
                collector.append_lifetime(
                    lifetime.row, lifetime.start,
                    NO_END if is_open else lifetime.start + 1 if self.model == POINT else lifetime.end, items.n > 1)
        return 0


cdef object called(function, list items, str stream):
    """Call a function, and measure it where the unit is sampled."""
    cdef Sampler sampler = sampler_here()
    cdef SpanC span
    cdef Meter meter
    if sampler is None:
        return function(items)
    meter = sampler.meter_of(function, "callback", ("stream", stream, function))
    meter.events_in += sampler.weight * len(items)
    sampler.open_span(meter, &span)
    try:
        return function(items)
    finally:
        sampler.close_span(&span)


cdef inline object new_item(type make, str kind, int64_t start, end, data):
    """Return a named tuple, without a call of its class."""
    cdef object item = (<PyTypeObject*> make).tp_alloc(<PyTypeObject*> make, 4)
    cdef object begin = start
    Py_INCREF(kind)
    PyTuple_SET_ITEM(item, 0, kind)
    Py_INCREF(begin)
    PyTuple_SET_ITEM(item, 1, begin)
    Py_INCREF(end)
    PyTuple_SET_ITEM(item, 2, end)
    Py_INCREF(data)
    PyTuple_SET_ITEM(item, 3, data)
    return item


@cython.final
@cython.no_gc_clear
cdef class ClassicalRelease(TemporalOperator):
    """Gives temporal streams to classical queries, in order of start, as playback of one ordered stream would.

    One input per stream that has classical readers. Before each event the clock of the app is moved to its start, which
    fires the timers that are due; then to the frontier. A CTI at MAX moves it to the latest finite time known.

    Events of one start come in order of arrival, then those of the inputs `by_row`: in order of inputs and rows.

    Args:
        app: context of the app.
        lifetimes: of the app.
        junctions: of the streams, by input.
        by_row: whether events of one start are in order of their rows, by input.
        filled: ingresses of the streams that classical queries fill; each CTI is one of theirs, after the release.
    """

    cdef list junctions
    cdef tuple by_row
    cdef list filled
    cdef ItemsC* tied              # by input: events of one start, which wait for others
    cdef int64_t latest            # the largest finite time known

    def __init__(self, app, lifetimes, list junctions not None, tuple by_row not None, list filled not None):
        TemporalOperator.__init__(self, app, lifetimes, len(junctions))
        self.junctions = junctions
        self.by_row = by_row
        self.filled = filled
        self.tied = <ItemsC*> PyMem_Calloc(max(1, len(junctions)), sizeof(ItemsC))
        if self.tied is NULL:
            raise MemoryError
        self.latest = TIME_MIN

    def __dealloc__(self):
        if self.tied is not NULL:
            self.drop_tied()
        PyMem_Free(self.tied)

    cdef void drop_tied(self) noexcept:
        cdef int input
        for input in range(self.n_inputs):
            items_clear(&self.tied[input], self.lifetimes)

    cdef int accept(self, int input, int kind, LifetimeC* lifetime) except -1:
        if kind == END:
            self.latest = max(self.latest, lifetime.end)
            return 0
        return TemporalOperator.accept(self, input, kind, lifetime)

    cdef int start(self, int input, LifetimeC* lifetime) except -1:
        if not self.by_row[input]:
            return self.send_event(input, lifetime)
        items_reserve(&self.tied[input])
        items_push(&self.tied[input], lifetime.start, 0, START, retain_lifetime(lifetime))
        return self.mark(lifetime.start)

    cdef int flush(self, int64_t time) except -1:
        """Release the events of a start that have waited for the others."""
        cdef ItemsC items
        cdef ItemC* spare = NULL
        cdef Py_ssize_t at, i
        cdef int input
        for input in range(self.n_inputs):
            # A callback may send a CTI, which releases further events: those that are here now are done first.
            items = self.tied[input]
            self.tied[input] = ItemsC(NULL, 0, 0)
            at = 0
            try:
                if items.n > 1:
                    spare = <ItemC*> PyMem_Malloc((items.n // 2) * sizeof(ItemC))
                    if spare is NULL:
                        raise MemoryError
                    sort_items(items.items, spare, items.n, (<StreamJunction> self.junctions[input]).layout)
                while at < items.n:
                    at += 1
                    self.send_event(input, items.items[at - 1].lifetime)
            finally:
                PyMem_Free(spare)
                spare = NULL
                if at < items.n:
                    # An exception stopped the release: the others leave with the next CTI.
                    for i in range(at, items.n):
                        heap_push(&self.heap, time, START, input, items.items[i].lifetime)
                    self.mark(time)
                items_clear(&items, self.lifetimes)
        return 0

    cdef int send_event(self, int input, LifetimeC* lifetime) except -1:
        cdef StreamJunction junction = self.junctions[input]
        cdef EventChunk chunk
        cdef EventC* event = copy_event(<EventPool> lifetime.pool, lifetime.row)
        try:
            event.timestamp = lifetime.start
            event.type = CURRENT
            event.next = NULL
            chunk.head = chunk.tail = event
            self.latest = max(self.latest, lifetime.start + 1)
            advance(self.app, lifetime.start)
            send(junction, &chunk)
        finally:
            release(junction.pool, event)
        return 0

    cdef int64_t settle(self, int64_t cti) except? -1:
        cdef TemporalIngress ingress
        if cti != TIME_MAX:
            self.latest = max(self.latest, cti)
        if self.latest != TIME_MIN:
            advance(self.app, self.latest if cti == TIME_MAX else cti)
        for ingress in self.filled:
            ingress.cti_at(cti)
        return cti

    cdef int write(self, SnapshotWriter writer) except -1:
        TemporalOperator.write(self, writer)
        return writer.put_i64(self.latest)

    cdef int read(self, SnapshotReader reader) except -1:
        self.clear()
        TemporalOperator.read(self, reader)
        self.latest = reader.get_i64()
        return 0

    cdef int clear(self) except -1:
        TemporalOperator.clear(self)
        self.drop_tied()
        self.latest = TIME_MIN
        return 0
