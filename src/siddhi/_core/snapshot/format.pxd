# The snapshot format: typed values in a byte string, little-endian, without pickle. A writer appends values. A reader
# checks every length against the bytes left and raises ValueError for a damaged snapshot.

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t, uint8_t

from siddhi._core.record.event cimport EventC, EventPool, Layout

cdef class SnapshotWriter:
    cdef uint8_t* data
    cdef Py_ssize_t size
    cdef Py_ssize_t capacity
    cdef list items                                       # of a writer that shows a state: the values, kept instead of bytes
    cdef int show(self, value) except -1
    cdef uint8_t* reserve(self, Py_ssize_t n) except NULL
    cdef int put_bool(self, bint value) except -1
    cdef int put_u32(self, uint32_t value) except -1
    cdef int put_i64(self, int64_t value) except -1
    # As get_time and get_due read them. A time that they would refuse is refused here: a snapshot that can't be restored
    # must not replace one that can.
    cdef int put_time(self, int64_t time) except -1
    cdef int put_due(self, int64_t due) except -1
    cdef int put_f64(self, double value) except -1
    cdef int put_bytes(self, const void* data, Py_ssize_t n) except -1   # raw, no length
    cdef int put_object(self, object value) except -1  # None bool int float str bytes; tuple list dict set of these
    cdef int put_event(self, const EventC* event, Layout layout) except -1
    cdef int put_events(self, EventC** events, Py_ssize_t n, Layout layout) except -1   # column by column
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
    cdef int64_t get_due(self) except? -1                # time of a timer; a time beyond LATEST never comes
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
# A column consists of its null bits and its values. Numbers are raw and bools are bits. Strings are UTF-8 with lengths of
# one, two or four bytes, or indexes into a list of the distinct strings. Objects are tagged values.
# EventC.group and EventC.stamp, which selectors set, are not stored: they are computed from the key again. A bit of the type
# says that a limit has refused the event, because this cannot be computed.
cdef enum:
    REFUSED = 0xffffffff           # EventC.group of an event that a limit has refused

cdef int write_events(SnapshotWriter writer, const EventC** events, Py_ssize_t n, Layout layout) except -1
# The caller owns the events (refs == 1) and the array (PyMem_Free); on failure nothing is leaked.
cdef Py_ssize_t read_events(SnapshotReader reader, EventPool pool, EventC*** events) except -1
