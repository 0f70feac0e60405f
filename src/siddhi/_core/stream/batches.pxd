# Sending the rows of a table: columns become blocks of records, which are sent into a stream one after the other.

from libc.stdint cimport int64_t, uint64_t

from siddhi._core.columnar.reader cimport Columns
from siddhi._core.record.event cimport EventC, EventPool, Layout
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.sampler cimport SampleSite, UsageC
from siddhi._core.stream.junction cimport RowSource, StreamJunction
from siddhi._core.stream.sender cimport EventSender

cdef class BatchSender(RowSource):
    cdef EventSender sender            # sender of events into the app
    cdef AppContext app
    cdef StreamJunction junction
    cdef EventPool pool
    cdef Layout layout
    cdef int width
    cdef int words
    # The current block: its columns, the index of its first row, its records, and the attributes not filled.
    cdef Columns columns
    cdef Py_ssize_t first
    cdef EventC** block
    cdef Py_ssize_t block_size
    cdef uint64_t unread
    cdef bint warned_of_nan
    cdef void bind(self, AppContext app, StreamJunction junction) noexcept
    cdef int send_batch(self, object data, object timestamp) except -1
    cdef int send_table(self, object data, object timestamp) except -1
    cdef int send_measured(self, SampleSite site, object data, object timestamp) except -1
    cdef int add_reading(self, SampleSite site, int64_t ticks, const UsageC* before) except -1
    cdef Columns columns_of(self, object data, object timestamp)
    cdef int send_range(self, Columns columns, Py_ssize_t start, Py_ssize_t stop) except -1
    cdef int send_columns(self, Columns columns, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t* taken) except -1
    cdef int send_block(self, EventC** block, Py_ssize_t n) except -1
    cdef Py_ssize_t end_of_run(self, EventC** block, Py_ssize_t i, Py_ssize_t n) noexcept
    cdef int fill_block(self, Columns columns, EventC** block, Py_ssize_t start, Py_ssize_t n) except -1
    cdef int flush_callbacks(self) except -1
    cdef int warn_of_nan(self, object data) except -1

cdef class ReadBatch:
    cdef BatchSender sender
    cdef Columns columns

cdef ReadBatch new_read_batch(BatchSender sender, object data, object timestamp)
