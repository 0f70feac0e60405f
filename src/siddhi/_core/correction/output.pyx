"""Outputs of a corrected app: rows at once, later retractions of rows that were wrong and the rows that are right."""

cimport cython
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Realloc
from cpython.object cimport Py_EQ, PyObject, PyObject_RichCompareBool
from cpython.ref cimport Py_INCREF, Py_XINCREF
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memmove

from siddhi._core.record.chunk cimport chunk_append, chunk_clear, chunk_release
from siddhi._core.record.event cimport (
    BOOL, CURRENT, EXPIRED, FLOAT, INT, OBJECT, STRING, acquire, copy_event, event_to_tuple, release, retain,
)
from siddhi._core.query.output cimport call_function, divided
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport receive_fn
from siddhi._core.stream.junction cimport send

cdef extern from "Python.h":
    ctypedef Py_ssize_t Py_hash_t
    Py_hash_t PyObject_Hash(object value) except? -1


cdef str INSERT = "insert"
cdef str DELETE = "delete"


# --- Lists of records.

cdef int rows_append(RowsC* rows, EventC* event) except -1:
    """Append a record; the list takes over the caller's reference."""
    cdef EventC** at
    cdef Py_ssize_t capacity
    if rows.first + rows.n == rows.capacity:
        if rows.first > rows.n:
            memmove(rows.at, rows.at + rows.first, rows.n * sizeof(EventC*))
            rows.first = 0
        else:
            capacity = max(32, 2 * rows.capacity)
            at = <EventC**> PyMem_Realloc(rows.at, capacity * sizeof(EventC*))
            if at is NULL:
                raise MemoryError
            rows.at = at
            rows.capacity = capacity
    rows.at[rows.first + rows.n] = event
    rows.n += 1
    return 0


cdef void rows_drop(RowsC* rows, EventPool pool, Py_ssize_t n) noexcept:
    """Release the first n records."""
    cdef Py_ssize_t i
    for i in range(rows.first, rows.first + n):
        release(pool, rows.at[i])
    rows.first += n
    rows.n -= n
    rows.dropped += n
    if rows.n == 0:
        rows.first = 0


cdef void rows_free(RowsC* rows, EventPool pool) noexcept:
    rows_drop(rows, pool, rows.n)
    PyMem_Free(rows.at)
    rows.at = NULL
    rows.capacity = 0


# --- Equality of records: of time, nulls and values. A NaN equals one of the same bits.

cdef inline bint is_null(const EventC* event, int i) noexcept:
    return event.body[i >> 6] >> (i & 63) & 1


cdef inline uint64_t cell_bits(const EventC* event, Layout layout, int i) noexcept:
    """Return the bytes of a cell that its type uses."""
    cdef uint64_t bits = event.body[layout.words + i]
    if layout.codes[i] == INT or layout.codes[i] == FLOAT:
        return bits & 0xffffffff
    if layout.codes[i] == BOOL:
        return bits & 0xff
    return bits


cdef bint is_equal(const EventC* a, const EventC* b, Layout layout) except -1:
    cdef int i
    if a is b:
        return True
    if a.timestamp != b.timestamp or a.type != b.type:
        return False
    for i in range(layout.width):
        if is_null(a, i) != is_null(b, i):
            return False
        if is_null(a, i) or a.body[layout.words + i] == b.body[layout.words + i]:
            continue
        if layout.codes[i] == STRING or layout.codes[i] == OBJECT:
            if not PyObject_RichCompareBool(
                    <object> <PyObject*> a.body[layout.words + i], <object> <PyObject*> b.body[layout.words + i], Py_EQ):
                return False
        elif cell_bits(a, layout, i) != cell_bits(b, layout, i):
            return False
    return True


cdef uint64_t hash_of(const EventC* event, Layout layout) except? 0:
    """Return a hash that is equal for equal records."""
    cdef uint64_t found = <uint64_t> event.timestamp * 0x9e3779b97f4a7c15ULL + event.type
    cdef int i
    for i in range(layout.width):
        found = (found ^ (found >> 29)) * 0xbf58476d1ce4e5b9ULL + 1
        if is_null(event, i):
            continue
        if layout.codes[i] == STRING:
            found ^= <uint64_t> PyObject_Hash(<object> <PyObject*> event.body[layout.words + i])
        elif layout.codes[i] != OBJECT:            # objects, such as lists, may have no hash
            found ^= cell_bits(event, layout, i)
    return found ^ (found >> 32)


cdef struct BagSlotC:
    uint64_t hash
    Py_ssize_t row                     # 1 + the index of a record; 0: the slot is empty


cdef int receive_chunk(RevisedOutput output, EventChunk* chunk) except -1:
    cdef EventC* event = chunk.head
    if output.muted:
        return 0
    while event is not NULL:
        if output.copies:
            rows_append(&output.rows, copy_event(output.pool, event))
            event = event.next
            continue
        retain(output.pool, event)
        if output.rows.first + output.rows.n == output.rows.capacity:
            rows_append(&output.rows, event)
        else:
            output.rows.at[output.rows.first + output.rows.n] = event
            output.rows.n += 1
        event = event.next
    return 0 if output.replaying or output.shown.n == 0 else send(output.shown, chunk)


@cython.final
@cython.no_gc_clear
cdef class RevisedOutput(Receiver):
    """Receives what a stream carries or a query says, and passes it on.

    A replay repeats what was carried since a checkpoint. What the replay does not repeat is retracted, what it adds is
    inserted; rows that only come in another order are neither. A row of the other type retracts a row: an expired one a
    current one, and a current one an expired one. So of each row, the number of current minus that of expired ones is right.

    Args:
        app: context of the app.
        id: name of the stream or query.
        layout: names and types of the rows.
        pool: of their records.
        copies: the sender changes records later, as windows do.
    """

    def __init__(self, AppContext app not None, str id not None, Layout layout not None, EventPool pool not None,
                 bint copies=False):
        self.pool = pool
        self.layout = layout
        self.copies = copies
        self.shown = StreamJunction(app, id, layout, pool)
        chunk_clear(&self.revision)
        self.on_chunk = <receive_fn> receive_chunk

    def __dealloc__(self):
        if self.pool is not None:
            rows_free(&self.rows, self.pool)
            rows_free(&self.before, self.pool)
            chunk_release(&self.revision, self.pool)

    @property
    def kept(self):
        """Number of rows kept to be compared."""
        return self.rows.n

    cdef int receive(self, EventChunk* chunk) except -1:
        return receive_chunk(self, chunk)

    cdef Py_ssize_t count(self) noexcept:
        return self.rows.dropped + self.rows.n

    cdef int drop(self, Py_ssize_t count) noexcept:
        if count > self.rows.dropped:
            rows_drop(&self.rows, self.pool, count - self.rows.dropped)
        return 0

    cdef void forget(self) noexcept:
        rows_drop(&self.rows, self.pool, self.rows.n)
        self.rows.dropped = 0

    cdef int begin(self, Py_ssize_t count) except -1:
        cdef Py_ssize_t i, kept = count - self.rows.dropped
        for i in range(kept, self.rows.n):
            rows_append(&self.before, self.rows.at[self.rows.first + i])
        self.rows.n = kept
        self.begun = kept
        self.replaying = True
        self.muted = False
        return 0

    cdef int compare(self) except -1:
        self.replaying = self.muted = False
        try:
            return self.compare_rows(self.before.n)
        finally:
            rows_drop(&self.before, self.pool, self.before.n)

    cdef int rejoin(self, Py_ssize_t repeated) except -1:
        cdef Py_ssize_t i
        self.muted = True
        try:
            self.compare_rows(repeated)
        finally:
            for i in range(repeated, self.before.n):
                rows_append(&self.rows, self.before.at[self.before.first + i])
                retain(self.pool, self.before.at[self.before.first + i])
            rows_drop(&self.before, self.pool, self.before.n)
        return 0

    cdef int compare_rows(self, Py_ssize_t n_old) except -1:
        """Append to the revision: retractions, then insertions."""
        cdef EventC** old = self.before.at + self.before.first
        cdef EventC** new = self.rows.at + self.rows.first + self.begun
        cdef Py_ssize_t n_new = self.rows.n - self.begun
        while n_old and n_new and is_equal(old[0], new[0], self.layout):
            old += 1
            new += 1
            n_old -= 1
            n_new -= 1
        while n_old and n_new and is_equal(old[n_old - 1], new[n_new - 1], self.layout):
            n_old -= 1
            n_new -= 1
        return self.compare_bags(old, n_old, new, n_new)

    cdef int compare_bags(self, EventC** old, Py_ssize_t n_old, EventC** new, Py_ssize_t n_new) except -1:
        cdef BagSlotC* slots = NULL
        cdef uint8_t* matched = NULL           # of the old rows, then of the new ones
        cdef Py_ssize_t i, size = 2
        cdef uint64_t hash, slot
        if n_old == 0 and n_new == 0:
            return 0
        while size < 2 * n_old:
            size *= 2
        try:
            slots = <BagSlotC*> PyMem_Calloc(size, sizeof(BagSlotC))
            matched = <uint8_t*> PyMem_Calloc(n_old + n_new, sizeof(uint8_t))
            if slots is NULL or matched is NULL:
                raise MemoryError
            for i in range(n_old):
                hash = hash_of(old[i], self.layout)
                slot = hash & <uint64_t> (size - 1)
                while slots[slot].row:
                    slot = (slot + 1) & <uint64_t> (size - 1)
                slots[slot].hash = hash
                slots[slot].row = i + 1
            for i in range(n_new):
                hash = hash_of(new[i], self.layout)
                slot = hash & <uint64_t> (size - 1)
                while slots[slot].row and (matched[slots[slot].row - 1] or slots[slot].hash != hash
                                           or not is_equal(old[slots[slot].row - 1], new[i], self.layout)):
                    slot = (slot + 1) & <uint64_t> (size - 1)
                if slots[slot].row:
                    matched[slots[slot].row - 1] = matched[n_old + i] = True
            for i in range(n_old):
                if not matched[i]:
                    self.revise(old[i], True)
            for i in range(n_new):
                if not matched[n_old + i]:
                    self.revise(new[i], False)
        finally:
            PyMem_Free(slots)
            PyMem_Free(matched)
        return 0

    cdef int revise(self, EventC* event, bint retracts) except -1:
        cdef EventC* copy
        if self.shown.n == 0:
            return 0
        copy = copy_event(self.pool, event)
        if retracts:
            copy.type = CURRENT if event.type == EXPIRED else EXPIRED
        chunk_append(&self.revision, copy)
        if retracts:
            self.retracted += 1
        else:
            self.inserted += 1
        return 0

    cdef int deliver(self) except -1:
        """Send the revision as one chunk."""
        cdef EventChunk chunk = self.revision
        chunk_clear(&self.revision)
        if chunk.head is NULL:
            return 0
        self.last_timestamp = chunk.tail.timestamp
        try:
            return send(self.shown, &chunk)
        finally:
            chunk_release(&chunk, self.pool)


@cython.final
cdef class RevisedQuery(OutputTap):
    """Passes what a query says to its output of a corrected app."""

    def __init__(self, RevisedOutput output not None):
        self.output = output

    cdef int take(self, EventChunk* chunk, int64_t last_timestamp) except -1:
        self.output.last_timestamp = last_timestamp
        return receive_chunk(self.output, chunk)


@cython.final
cdef class ChangeCallback(Receiver):
    """Calls ``fn(timestamp, current, expired)`` with what a query says and what corrects it, as query callbacks.

    Args:
        output: what the query says; the callback has to be subscribed to what it shows.
        function: the function.
    """

    def __init__(self, RevisedOutput output not None, function not None):
        self.output = output
        self.function = function

    cdef int receive(self, EventChunk* chunk) except -1:
        current, expired = divided(chunk, self.output.pool, self.output.layout)
        return call_function(self.function, self.output.shown.app, self.output.last_timestamp, current, expired)


@cython.final
cdef class RevisionCallback(Receiver):
    """Calls ``fn(items)`` with the rows and retractions of a chunk.

    Args:
        app: context of the app.
        layout: of the stream.
        stream: name of the stream.
        function: the function.
        make: makes the items: fn(kind, start, end, data).
    """

    def __init__(self, AppContext app not None, Layout layout not None, str stream not None, function not None,
                 make not None):
        self.app = app
        self.layout = layout
        self.stream = stream
        self.function = function
        self.make = make

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef EventC* event = chunk.head
        cdef list items = []
        while event is not NULL:
            items.append(self.make("retract" if event.type == EXPIRED else "insert", event.timestamp,
                                   event.timestamp + 1, event_to_tuple(event, self.layout)))
            event = event.next
        try:
            answer = self.function(items)
        except Exception as error:
            if self.app.passes_on(error):
                raise error
            self.app.handle(error, f"temporal callback of '{self.stream}'", [])
        else:
            if answer is not None:
                self.app.refuse_coroutine(answer, f"temporal callback of '{self.stream}'", [])
        return 0


@cython.final
cdef class RevisionMarker(Receiver):
    """Adds to each row what it does: a last attribute that is 'insert' or 'delete'.

    Args:
        shown: junction of the rows and retractions; the marker has to be subscribed to it.
        marked: junction of the rows with the additional attribute of type string.
    """

    def __init__(self, StreamJunction shown not None, StreamJunction marked not None):
        if marked.layout.types != (*shown.layout.types, STRING):
            raise TypeError("a marked row has the attributes of its stream and a string")
        self.layout = shown.layout
        self.marked = marked

    cdef int receive(self, EventChunk* chunk) except -1:
        cdef EventChunk marked
        cdef EventC* event = chunk.head
        chunk_clear(&marked)
        try:
            while event is not NULL:
                chunk_append(&marked, self.mark(event))
                event = event.next
            return send(self.marked, &marked)
        finally:
            chunk_release(&marked, self.marked.pool)

    cdef EventC* mark(self, const EventC* event) except NULL:
        cdef EventC* made = acquire(self.marked.pool)
        cdef int i, words = self.marked.layout.words
        cdef object action = DELETE if event.type == EXPIRED else INSERT
        made.timestamp = event.timestamp
        for i in range(words):
            made.body[i] = 0
        for i in range(self.layout.words):
            made.body[i] = event.body[i]
        memcpy(&made.body[words], &event.body[self.layout.words], 8 * self.layout.width)
        for i in range(self.layout.n_objects):
            Py_XINCREF(<PyObject*> event.body[self.layout.objects[i]])
        Py_INCREF(action)
        made.body[words + self.layout.width] = <uint64_t> <PyObject*> action
        return made
