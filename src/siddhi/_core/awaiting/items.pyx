"""Items of temporal streams with ``@async``: they wait in the buffer of the stream as events, with their form and times.

A sender puts items into an :class:`AsyncIngress`, a worker takes them out by :class:`QueuedItems`. CTIs are items like
others, so that their order is kept.
"""

cimport cython
from cpython.object cimport PyObject
from cpython.ref cimport Py_XINCREF
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport LONG, EventC, EventPool, Layout, acquire, release
from siddhi._core.record.user_event cimport Event, make_event
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport Receiver
from siddhi._core.stream.junction cimport StreamJunction, send
from siddhi._core.temporal.ingress cimport FORM_END, FORM_RETRACT, FORM_START, TemporalIngress
from siddhi.errors import SiddhiTemporalError

cdef enum:
    FORM_CTI = 5
    HEADER = 4                     # cells behind those of the row: form, start, end, new end


def item_layout(Layout layout not None):
    """Return the layout of the items of a stream: its attributes, and the form and times."""
    # No attribute has such a name.
    return Layout((*layout.names, "(form)", "(start)", "(end)", "(new end)"), (*layout.types, *(LONG,) * HEADER))


cdef int copy_cells(EventC* source, Layout from_, EventC* target, Layout to, int n) noexcept:
    """Copy the first cells of a record to one that has no null words yet."""
    cdef int i
    memset(target.body, 0, 8 * to.words)
    for i in range(n):
        target.body[to.words + i] = source.body[from_.words + i]
        if source.body[i >> 6] >> (i & 63) & 1:
            target.body[i >> 6] |= (<uint64_t> 1) << (i & 63)
    for i in range(min(from_.n_objects, to.n_objects)):
        Py_XINCREF(<PyObject*> source.body[from_.objects[i]])
    return 0


@cython.final
@cython.no_gc_clear
cdef class AsyncIngress(TemporalIngress):
    """Puts what senders insert into the buffer of an ``@async`` stream.

    Lifetimes and forms that are not valid are refused at once; what is late or has no partner is found as it is taken out.

    Args:
        app: context of the app.
        target: ingress of the stream.
        entry: junction of items, whose receiver is the entry of the buffer.
    """

    cdef TemporalIngress target
    cdef StreamJunction entry

    def __init__(self, app, TemporalIngress target not None, StreamJunction entry not None):
        TemporalIngress.__init__(self, app, target.lifetimes, target.stream, target.pool, target.model, target.policy)
        self.target = target
        self.entry = entry

    cdef TemporalIngress accepting(self):
        return self.target

    cdef int insert(self, int64_t start, int64_t end, EventC* row, int form) except -1:
        self.check(start, end, form)
        return self.put(form, start, end, 0, row)

    cdef int retract(self, int64_t start, int64_t end, int64_t new_end, EventC* row, bint edge) except -1:
        self.check_end(start, end, new_end, edge)
        return self.put(FORM_END if edge else FORM_RETRACT, start, end, new_end, row)

    cdef int cti_at(self, int64_t time) except -1:
        return self.put(FORM_CTI, time, 0, 0, NULL)

    cdef int put(self, int form, int64_t start, int64_t end, int64_t new_end, EventC* row) except -1:
        cdef EventPool pool = self.entry.pool
        cdef Layout layout = pool.layout
        cdef EventC* item = acquire(pool)
        cdef EventChunk chunk
        cdef uint64_t* header
        cdef int i, width = self.layout.width
        if row is NULL:
            memset(item.body, 0, 8 * (layout.words + layout.width))
            for i in range(width):
                item.body[i >> 6] |= (<uint64_t> 1) << (i & 63)
        else:
            copy_cells(row, self.layout, item, layout, width)
        header = &item.body[layout.words + width]
        header[0], header[1], header[2], header[3] = form, <uint64_t> start, <uint64_t> end, <uint64_t> new_end
        item.timestamp = 0
        chunk.head = chunk.tail = item
        try:
            send(self.entry, &chunk)
        finally:
            release(pool, item)
        return 0


@cython.final
cdef class QueuedItems(Receiver):
    """Inserts the items that a worker takes out of the buffer.

    An item that the stream refuses goes to its ``@OnError``, else to the exception handler; the others are inserted.

    Args:
        app: context of the app.
        junction: of the stream.
        ingress: of the stream.
        items: layout of the items.
    """

    cdef AppContext app
    cdef StreamJunction junction
    cdef TemporalIngress ingress
    cdef Layout items

    def __init__(self, AppContext app not None, StreamJunction junction not None, TemporalIngress ingress not None,
                 Layout items not None):
        self.app = app
        self.junction = junction
        self.ingress = ingress
        self.items = items

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef EventC* item = chunk.head
        cdef EventC* row
        cdef EventPool pool = self.junction.pool
        cdef Layout layout = self.junction.layout
        cdef const uint64_t* header
        while item is not NULL:
            header = &item.body[self.items.words + layout.width]
            if header[0] == FORM_CTI:
                self.ingress.cti_at(<int64_t> header[1])
            else:
                row = acquire(pool)
                copy_cells(item, self.items, row, layout, layout.width)
                row.timestamp = <int64_t> header[1]
                try:
                    self.insert(row, header)
                finally:
                    release(pool, row)
            item = item.next
        return 0

    cdef int insert(self, EventC* row, const uint64_t* header) except -1:
        cdef int form = <int> header[0]
        try:
            if form < FORM_END:
                self.ingress.insert(<int64_t> header[1], <int64_t> header[2], row, form)
            else:
                self.ingress.retract(
                    <int64_t> header[1], <int64_t> header[2], <int64_t> header[3], row, form == FORM_END)
        except SiddhiTemporalError as error:
            self.handle(error, row, form, <int64_t> header[2 if form < FORM_END else 3])
        return 0

    cdef int handle(self, error, EventC* row, int form, int64_t end) except -1:
        cdef Event event = make_event(row, self.junction.pool, self.junction.layout)
        event.is_expired = form >= FORM_END
        event.has_end = form != FORM_START
        event.end_time = end if event.has_end else 0
        if self.junction.on_error is not None:
            self.junction.on_error(error, [event])
        else:
            self.app.handle(error, self.junction.id, [event])
        return 0
