# One column of a selection for a block of rows, written into the typed arrays of a batch.

from libc.stdint cimport uint8_t

from siddhi._core.batch cimport BatchBuilder
from siddhi._core.column_op cimport ColumnC
from siddhi._core.event cimport EventC
from siddhi._core.executor cimport FrameC

cdef int compute_column(const ColumnC* column, EventC** events, Py_ssize_t n, FrameC* frame, int code,
                        void* data, uint8_t* valid, Py_ssize_t row) except -1
# An aggregator over events that come and events that leave before them (see Processor.process_pairs).
cdef int aggregate_column(const ColumnC* column, EventC** left, EventC** events, Py_ssize_t n, FrameC* frame, int code,
                          void* data, uint8_t* valid, Py_ssize_t row) except -1
# One row, its column order that of the output: for selections whose events cannot be evaluated column by column. Counts
# the row when all went well.
cdef int write_row(const ColumnC* columns, int n, EventC* event, FrameC* frame, BatchBuilder builder) except -1
cdef void copy_column(const ColumnC* column, EventC** events, Py_ssize_t n, int code,
                      void* data, uint8_t* valid, Py_ssize_t row) noexcept
# A plain attribute into records of the output; objects stay the event's.
cdef void lend_column(const ColumnC* column, EventC** events, Py_ssize_t n, EventC** out) noexcept
