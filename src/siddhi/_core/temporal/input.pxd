# Times from users, for the input handlers of temporal and corrected streams.

from libc.stdint cimport int64_t

from siddhi._core.columnar.reader cimport Columns
from siddhi._core.columnar.source cimport ColumnSource
from siddhi._core.record.event cimport EventC, Layout

cdef int64_t time_of(str stream, value, str what) except? -1
cdef ColumnSource open_table(str stream, table, Layout layout, tuple times)
cdef tuple read_table(str stream, table, Layout layout, tuple times)           # (Columns of rows, Columns of times)
# Fill records, whose null words are clear, with n rows from row `at` on.
cdef int read_block(Columns columns, EventC** events, Py_ssize_t at, Py_ssize_t n) except -1
