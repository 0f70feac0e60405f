# The snapshot format: typed values in a byte string, little-endian, no pickle. A writer appends; a reader checks every
# length against the bytes left and raises ValueError on a damaged snapshot, before any state has changed.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from siddhi._core.record.event cimport EventC, EventPool, Layout

cdef class SnapshotWriter:
    cdef uint8_t* data
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity
    cdef list items                                       # for showing a state: the values themselves instead of bytes
    cdef int show(self, value) except -1
    cdef uint8_t* reserve(self, Py_ssize_t n) except NULL
    cdef int put_bool(self, bint value) except -1
    cdef int put_u32(self, uint32_t value) except -1
    cdef int put_i64(self, int64_t value) except -1
    cdef int put_f64(self, double value) except -1
    cdef int put_bytes(self, const void* data, Py_ssize_t n) except -1   # raw, no length
    cdef int put_object(self, object value) except -1    # None bool int float str bytes, and tuple list dict set of these
    cdef int put_event(self, const EventC* event, Layout layout) except -1
    cdef int put_events(self, EventC** events, Py_ssize_t n, Layout layout) except -1   # column-wise, compact
    cpdef bytes getvalue(self)

cdef class SnapshotReader:
    cdef const uint8_t* data
    cdef Py_ssize_t position
    cdef Py_ssize_t size
    cdef object source                                   # keeps the bytes alive
    cdef const uint8_t* take(self, Py_ssize_t n) except NULL
    cdef bint get_bool(self) except? -1
    cdef uint32_t get_u32(self) except? 0xffffffff
    cdef int64_t get_i64(self) except? -1
    cdef int64_t get_time(self) except? -1               # ms since 1970, from EARLIEST to LATEST
    cdef int64_t get_due(self) except? -1                # a due time; beyond LATEST: never
    cdef double get_f64(self) except? -1.0
    cdef object get_object(self)
    cdef EventC* get_event(self, EventPool pool) except NULL             # refs == 1, the caller owns it
    # Events with refs == 1 in an array from PyMem_Malloc; the caller owns both.
    cdef Py_ssize_t get_events(self, EventPool pool, EventC*** events) except -1
    cpdef bint at_end(self)

# --- Events in a snapshot, column by column:
#
#   u32 n · u32 width · type code of each cell · type of the events · timestamps · columns
#
# A column is its null bits and its values, both in place: numbers raw, bools as bits, strings as utf-8 with lengths of
# one, two or four bytes, or as references into a list of the distinct ones; objects as tagged values.
# EventC.group and EventC.stamp, which selectors set, are not stored: they are derived from the key again. That a limit has
# refused an event cannot be derived: it is a bit of the type.
cdef enum:
    REFUSED = 0xffffffff           # EventC.group of an event that a limit has refused

cdef int write_events(SnapshotWriter writer, const EventC** events, Py_ssize_t n, Layout layout) except -1
# The caller owns the events (refs == 1) and the array (PyMem_Free); on failure nothing is leaked.
cdef Py_ssize_t read_events(SnapshotReader reader, EventPool pool, EventC*** events) except -1
