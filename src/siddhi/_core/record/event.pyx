"""Pools of event records over arenas, and conversion between cells and Python values."""

cimport cython
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_AsDouble, PyFloat_CheckExact, PyFloat_FromDouble
from cpython.long cimport PyLong_AsLongLongAndOverflow, PyLong_FromLongLong
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from cpython.unicode cimport PyUnicode_Check

import operator
from contextvars import ContextVar

from siddhi._core.record.arena cimport allocate_zeroed_arena, free_arena, next_arena_size
from siddhi._core.record.exact cimport exact_text
from siddhi._core.record.null cimport is_null
from siddhi.errors import shown

cdef extern from "Python.h":
    bint PyLong_CheckExact(object value)
    bint PyBool_Check(object value)

cdef extern from "siddhi/single.h":
    double siddhi_shortest_double(float value)

# The debug build fills released records with 0xDB and aborts the process on a double release. A released record keeps
# refs at 1, so that a second release gets here again and is detected.
cdef extern from *:
    """
    #ifdef SIDDHI_DEBUG
    #define SIDDHI_FREED 0xDB
    #define siddhi_is_debug 1
    static void siddhi_check_returned(siddhi_event *event) {
        if (event->type == SIDDHI_FREED && event->flags == SIDDHI_FREED)
            Py_FatalError("siddhi: an event was returned to its pool twice");
    }
    static void siddhi_poison(siddhi_event *event, int words, int width, const unsigned char *codes) {
        event->timestamp = (int64_t) 0xDBDBDBDBDBDBDBDBULL;
        event->group = event->stamp = 0xDBDBDBDBU;
        event->type = event->flags = SIDDHI_FREED;
        event->refs = 1;
        for (int i = 0; i < words + width; i++)
            if (i < words || (codes[i - words] != 0 && codes[i - words] != 6)) /* not STRING, not OBJECT */
                event->body[i] = 0xDBDBDBDBDBDBDBDBULL;
    }
    #else
    #define siddhi_is_debug 0
    #define siddhi_check_returned(event) ((void) 0)
    #define siddhi_poison(event, words, width, codes) ((void) 0)
    #endif
    """
    const bint siddhi_is_debug
    void siddhi_check_returned(EventC* event) noexcept
    void siddhi_poison(EventC* event, int words, int width, const uint8_t* codes) noexcept

cdef object index_of = operator.index

_NAMES = {STRING: "string", INT: "int", LONG: "long", FLOAT: "float", DOUBLE: "double", BOOL: "bool", OBJECT: "object"}

# The first arena of a pool is small, so that an app with a thousand queries needs little memory; the next ones double.
cdef Py_ssize_t FIRST_ARENA_RECORDS = 16

TYPE_NAMES = ("string", "int", "long", "float", "double", "bool", "object")  # by TypeCode


cdef class Layout:
    """Names and types of the cells of a record.

    Args:
        names: attribute names, in cell order.
        types: :class:`TypeCode` of each.

    Raises:
        ValueError: names and types differ in number, or a type is not a type code.
    """

    def __cinit__(self, names, types):
        cdef int i, n = 0
        self.names = tuple(names)
        self.types = tuple(types)
        if len(self.names) != len(self.types) or any([not STRING <= code <= OBJECT for code in self.types]):
            raise ValueError(f"expected a type code for each name, got names {self.names!r} and types {self.types!r}")
        self.width = len(self.types)
        self.words = max(1, (self.width + 63) // 64)
        self.codes = <uint8_t*> PyMem_Malloc(max(1, self.width))
        self.objects = <int*> PyMem_Malloc(max(1, self.width) * sizeof(int))
        if self.codes is NULL or self.objects is NULL:
            raise MemoryError
        for i in range(self.width):
            self.codes[i] = self.types[i]
            if self.codes[i] == STRING or self.codes[i] == OBJECT:
                self.objects[n] = self.words + i
                n += 1
        self.n_objects = n

    def __dealloc__(self):
        PyMem_Free(self.codes)
        PyMem_Free(self.objects)

    def __reduce__(self):
        return Layout, (self.names, tuple([int(code) for code in self.types]))

    @property
    def attributes(self):
        """Return ``(name, type)`` of each cell, with SiddhiQL's names of types."""
        return [(name, TYPE_NAMES[code]) for name, code in zip(self.names, self.types)]

    cpdef int cell(self, int position):
        """Return the body index of a cell."""
        return self.words + position

    cpdef int null_word(self, int position):
        """Return the body index of the word that holds a cell's null bit."""
        return position >> 6


cdef dict _pools = {}                  # addresses of the existing pools
cdef object _budget = ContextVar("siddhi record budget", default=None)


@cython.final
cdef class RecordBudget:
    """Limit of the memory of an app for records and for the lists of records in counting states.

    Pools made inside ``with budget:`` share it. The first arena of a pool is always granted, unless the budget is 0:
    a full window needs a record for its output before it can release its events.

    Args:
        most: bytes.
        message: of the MemoryError raised when the budget is exhausted.
    """

    def __init__(self, most, str message not None):
        self.most = most
        self.message = message

    def __enter__(self):
        self.token = _budget.set(self)
        return self

    def __exit__(self, kind, error, traceback):
        _budget.reset(self.token)
        self.token = None

    cdef Py_ssize_t take(self, Py_ssize_t records, Py_ssize_t record_bytes, bint is_first) except -1:
        """Reserve memory for up to `records` records; return for how many. MemoryError: for none."""
        if not is_first or self.most == 0:
            records = min(records, (self.most - self.taken) // record_bytes)
        if records < 1:
            raise MemoryError(self.message)
        self.taken += records * record_bytes
        return records

    cdef int take_bytes(self, Py_ssize_t bytes_) except -1:
        if bytes_ > self.most - self.taken:
            raise MemoryError(self.message)
        self.taken += bytes_
        return 0

    cdef void give(self, Py_ssize_t bytes_) noexcept:
        self.taken -= bytes_


cdef RecordBudget current_budget():
    """Return the budget of the app that is being built; None: no limit."""
    return _budget.get()


def means_null(value):
    """Return whether a value stands for null: None, NA or NaT of pandas, ``masked`` of numpy."""
    return is_null(value)


def live_events():
    """Return the number of live events in this process: in windows and tables, in processing, or of callers."""
    return sum([(<EventPool> <void*> <size_t> address).alive for address in _pools])


def live_pools():
    """Return the number of pools in this process; those of an app are freed with it."""
    return len(_pools)


# no_gc: if a garbage collection cleared the layout, releasing a record afterwards would read a freed array. The layout is
# the only reference, so no cycle is possible.
@cython.no_gc
@cython.final
cdef class EventPool:
    """Pool of the records of one layout. It grows by arenas; ``alive`` is the number of records in use."""

    def __cinit__(self, Layout layout not None):
        self.layout = layout
        self.n_objects = layout.n_objects
        self.objects = layout.objects
        self.record_bytes = sizeof(EventC) + 8 * (layout.words + layout.width)
        # Cython declares the flexible array at the end of the struct with one word; in C it has none.
        self.arena_records = FIRST_ARENA_RECORDS
        _pools[<size_t> <void*> self] = _budget.get()

    def __dealloc__(self):
        cdef Py_ssize_t i
        cdef RecordBudget budget = _pools.pop(<size_t> <void*> self, None)
        for i in range(self.n_arenas):
            free_arena(self.arenas[i])
        if budget is not None:
            budget.give(self.capacity * self.record_bytes)
        PyMem_Free(self.arenas)
        if siddhi_is_debug and self.alive:
            raise AssertionError(f"a pool of {self.layout.names} was dropped with {self.alive} events alive")

    cdef int grow(self) except -1:
        cdef Py_ssize_t i, records = self.arena_records
        cdef char* memory
        cdef EventC* event
        cdef RecordBudget budget = _pools[<size_t> <void*> self]
        cdef void** arenas = <void**> PyMem_Realloc(self.arenas, (self.n_arenas + 1) * sizeof(void*))
        if arenas is NULL:
            raise MemoryError
        self.arenas = arenas
        if budget is not None:
            records = budget.take(records, self.record_bytes, self.n_arenas == 0)
        memory = <char*> allocate_zeroed_arena(records * self.record_bytes)
        if memory is NULL:
            if budget is not None:
                budget.give(records * self.record_bytes)
            raise MemoryError
        self.arenas[self.n_arenas] = memory
        self.n_arenas += 1
        for i in range(records - 1, -1, -1):
            event = <EventC*> (memory + i * self.record_bytes)
            event.next = self.free
            self.free = event
        self.capacity += records
        self.arena_records = next_arena_size(self.arena_records, self.record_bytes)
        return 0

    cdef void recycle(self, EventC* event) noexcept:
        cdef int i
        cdef PyObject* value
        cdef uint64_t* cell
        siddhi_check_returned(event)
        if event.flags & BORROWED:
            for i in range(self.n_objects):
                event.body[self.objects[i]] = 0
        else:
            for i in range(self.n_objects):
                cell = &event.body[self.objects[i]]
                value = <PyObject*> cell[0]
                # The cell is cleared first: the object's finaliser may run Python code.
                cell[0] = 0
                Py_XDECREF(value)
        siddhi_poison(event, self.layout.words, self.layout.width, self.layout.codes)
        event.next = self.free
        self.free = event
        self.alive -= 1

    cdef int borrow_block(self, EventC** events, Py_ssize_t n) except -1:
        cdef Py_ssize_t i
        cdef EventC* event
        while self.capacity - self.alive < n:
            self.grow()
        event = self.free
        for i in range(n):
            events[i] = event
            event.refs = 1
            event.group = 0
            event.type = CURRENT
            event.flags = BORROWED
            event = event.next
        for i in range(n):
            events[i].next = NULL
        self.free = event
        self.alive += n
        return 0

    cdef void release_block(self, EventC** events, Py_ssize_t n) noexcept:
        cdef Py_ssize_t i
        cdef int k, n_objects = self.n_objects
        cdef EventC* event
        cdef EventC* free = self.free
        for i in range(n):
            event = events[i]
            if event.refs != 1 or not event.flags & BORROWED:
                self.free = free
                release(self, event)
                free = self.free
                continue
            event.refs = 0
            siddhi_check_returned(event)
            for k in range(n_objects):
                event.body[self.objects[k]] = 0
            siddhi_poison(event, self.layout.words, self.layout.width, self.layout.codes)
            event.next = free
            free = event
            self.alive -= 1
        self.free = free

    cdef void own(self, EventC* event) noexcept:
        cdef int i
        cdef PyObject* value
        event.flags &= ~BORROWED
        for i in range(self.layout.n_objects):
            value = <PyObject*> event.body[self.layout.objects[i]]
            if value is not NULL:
                Py_INCREF(<object> value)


cdef object cell_to_python(const EventC* event, int word, uint64_t bit, int cell, int code):
    """Return the value of a cell as a new Python object."""
    cdef const CellC* value
    if event.body[word] & bit:
        return None
    value = <const CellC*> &event.body[cell]
    if code == STRING or code == OBJECT:
        return <object> value.o
    if code == DOUBLE:
        return PyFloat_FromDouble(value.d)
    if code == LONG:
        return PyLong_FromLongLong(value.l)
    if code == INT:
        return PyLong_FromLongLong(value.i)
    if code == FLOAT:
        return PyFloat_FromDouble(siddhi_shortest_double(value.f))
    return value.i != 0


cdef object event_to_tuple(const EventC* event, Layout layout):
    """Return all cells as a tuple."""
    cdef int i
    cdef object value, row = PyTuple_New(layout.width)
    for i in range(layout.width):
        value = cell_to_python(event, i >> 6, (<uint64_t> 1) << (i & 63), layout.words + i, layout.codes[i])
        Py_INCREF(value)
        PyTuple_SET_ITEM(row, i, value)
    return row


cdef int refuse(Layout layout, int position, object value, str why) except -1:
    raise ValueError(
        f"attribute '{layout.names[position]}' ({_NAMES[layout.types[position]]}) can't take {shown(value)}: {why}")


cdef int integer_from_python(Layout layout, int position, object value, int64_t low, int64_t high,
                             int64_t* out) except -1:
    cdef int overflow = 0
    if PyBool_Check(value):
        refuse(layout, position, value, "it is a bool")
    if not PyLong_CheckExact(value):
        try:
            value = index_of(value)
        except TypeError:
            refuse(layout, position, value, f"it is a {type(value).__name__}")
    out[0] = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0 or out[0] < low or out[0] > high:
        refuse(layout, position, value, "it is out of range")
    return 0


cdef int real_from_python(Layout layout, int position, object value, double* out) except -1:
    if PyFloat_CheckExact(value):
        out[0] = PyFloat_AS_DOUBLE(value)
        return 0
    if PyBool_Check(value) or PyUnicode_Check(value):
        refuse(layout, position, value, f"it is a {type(value).__name__}")
    try:
        out[0] = PyFloat_AsDouble(value)
    except TypeError:
        refuse(layout, position, value, f"it is a {type(value).__name__}")
    except OverflowError:
        refuse(layout, position, value, "it is out of range")
    return 0


cdef int cell_from_python(EventC* event, Layout layout, int position, object value) except -1:
    """Write a Python value into a cell whose null bit is clear and whose object, if any, is NULL.

    Raises:
        ValueError: the value does not fit the attribute's type; the message names both.
    """
    cdef CellC* cell = <CellC*> &event.body[layout.words + position]
    cdef int code = layout.codes[position]
    cdef int64_t integer
    cdef double real
    if is_null(value):
        event.body[position >> 6] |= (<uint64_t> 1) << (position & 63)
        return 0
    if code == STRING:
        if not PyUnicode_Check(value):
            refuse(layout, position, value, f"it is a {type(value).__name__}")
        value = exact_text(value)
        Py_INCREF(value)
        cell.o = <void*> value
    elif code == DOUBLE:
        real_from_python(layout, position, value, &cell.d)
    elif code == LONG:
        integer_from_python(layout, position, value, <int64_t> (-0x7fffffffffffffff - 1), 0x7fffffffffffffff, &cell.l)
    elif code == INT:
        integer_from_python(layout, position, value, -0x80000000, 0x7fffffff, &integer)
        cell.i = <int32_t> integer
    elif code == FLOAT:
        real_from_python(layout, position, value, &real)
        cell.f = <float> real
        if (cell.f - cell.f) != 0 and (real - real) == 0:
            refuse(layout, position, value, "it is out of range")
    elif code == BOOL:
        if not PyBool_Check(value):
            # numpy's bool is not a subclass of bool; it is recognised by its name.
            if type(value).__name__ not in ("bool", "bool_"):
                refuse(layout, position, value, f"it is a {type(value).__name__}")
        cell.i = 1 if value else 0
    else:
        Py_INCREF(value)
        cell.o = <void*> value
    return 0
