# The record of an event, its pool, and the typed view of its cells. Layout in include/siddhi/event.h.
#
# Ownership: acquire() returns a record with refs == 1. A callee that stores the record must retain it and release it
# later. Object cells own their objects, unless the record is BORROWED. Invariant of the free list: object cells are
# NULL, refs == 0.

from cpython.object cimport PyObject
from cpython.ref cimport Py_XINCREF
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy

cdef extern from "siddhi/event.h":
    ctypedef struct EventC "siddhi_event":
        EventC* next
        int64_t timestamp
        uint32_t refs
        uint32_t group
        uint8_t type
        uint8_t flags
        uint16_t pool
        uint32_t stamp
        uint64_t body[1]

    ctypedef union CellC "siddhi_cell":
        int32_t i
        int64_t l
        float f
        double d
        void* o
        uint64_t bits

cpdef enum EventType:
    CURRENT = 0
    EXPIRED = 1
    TIMER = 2
    RESET = 3

cdef enum:
    BORROWED = 1

cpdef enum TypeCode:
    STRING = 0
    INT = 1
    LONG = 2
    FLOAT = 3
    DOUBLE = 4
    BOOL = 5
    OBJECT = 6

cdef class Layout:
    cdef readonly tuple names        # attribute names, for messages
    cdef readonly tuple types        # TypeCode of each cell
    cdef readonly int width          # number of cells
    cdef int words                   # null words before the cells: cell i is body[words + i]
    cdef int n_objects
    cdef uint8_t* codes              # [width] TypeCode
    cdef int* objects                # [n_objects] body index of each object cell
    cpdef int cell(self, int position)
    cpdef int null_word(self, int position)

cdef class RecordBudget:
    cdef readonly Py_ssize_t most
    cdef readonly Py_ssize_t taken
    cdef str message
    cdef object token
    cdef Py_ssize_t take(self, Py_ssize_t records, Py_ssize_t record_bytes, bint is_first) except -1
    cdef int take_bytes(self, Py_ssize_t bytes_) except -1       # reserve all of them, or raise MemoryError
    cdef void give(self, Py_ssize_t bytes_) noexcept

cdef RecordBudget current_budget()

cdef class EventPool:
    cdef readonly Layout layout      # of its records; streams with equal types share a pool, even if their names differ
    cdef EventC* free
    cdef int n_objects               # copy of the layout's n_objects and objects
    cdef int* objects
    cdef void** arenas
    cdef Py_ssize_t n_arenas
    cdef Py_ssize_t record_bytes
    cdef Py_ssize_t arena_records
    cdef readonly Py_ssize_t capacity
    cdef readonly Py_ssize_t alive   # records acquired and not yet released
    cdef int grow(self) except -1
    cdef void recycle(self, EventC* event) noexcept
    cdef void own(self, EventC* event) noexcept
    cdef int borrow_block(self, EventC** events, Py_ssize_t n) except -1     # BORROWED records; on failure none is acquired
    cdef void release_block(self, EventC** events, Py_ssize_t n) noexcept

cdef inline EventC* acquire(EventPool pool) except NULL:
    """Return a record with refs == 1, type CURRENT, object cells NULL; the caller writes null words and cells."""
    cdef EventC* event = pool.free
    if event is NULL:
        pool.grow()
        event = pool.free
    pool.free = event.next
    pool.alive += 1
    event.next = NULL
    event.refs = 1
    event.group = 0
    event.type = CURRENT
    event.flags = 0
    return event

cdef inline void retain(EventPool pool, EventC* event) noexcept:
    """Add a reference. A borrowed record first takes ownership of its objects."""
    if event.flags & BORROWED:
        pool.own(event)
    event.refs += 1

cdef inline void release(EventPool pool, EventC* event) noexcept:
    """Remove a reference; the last one returns the record to its pool."""
    event.refs -= 1
    if event.refs == 0:
        pool.recycle(event)

cdef object cell_to_python(const EventC* event, int word, uint64_t bit, int cell, int code)
cdef object event_to_tuple(const EventC* event, Layout layout)
cdef int cell_from_python(EventC* event, Layout layout, int position, object value) except -1

# --- Copies of records within their pool, for callers that change an event that others may still hold.
cdef inline EventC* copy_event(EventPool pool, const EventC* event) except NULL:
    """Return a record with the same type, timestamp and cells; the caller owns it. EventC.group is not copied."""
    cdef EventC* copy = acquire(pool)
    cdef int i
    copy.type = event.type
    copy.timestamp = event.timestamp
    memcpy(copy.body, event.body, 8 * (pool.layout.words + pool.layout.width))
    for i in range(pool.layout.n_objects):
        Py_XINCREF(<PyObject*> copy.body[pool.layout.objects[i]])
    return copy

cdef inline EventC* own_event(EventPool pool, EventC* event) except NULL:
    """Exchange the caller's reference for the only reference to an equal event: to the same event, or to a copy."""
    cdef EventC* copy
    if event.refs == 1:
        return event
    copy = copy_event(pool, event)
    release(pool, event)
    return copy
