# Buffers between an app and the readers of its output. See reader_buffer.pyx.

from siddhi._core.columnar.batch cimport BatchBuilder, EventBatch
from siddhi._core.stream.callback cimport BatchCallback
from siddhi._core.stream.gate cimport Gate

cdef enum Policy:
    WAIT = 0                       # senders wait at the gate of the app
    DROP_OLDEST = 1
    RAISE = 2                      # the reader gets an error where events are missing

cdef class ReaderBuffer:
    cdef readonly Py_ssize_t capacity
    cdef readonly int policy
    cdef Gate gate                 # None: senders need not wait
    cdef object items              # a deque of events, calls or batches
    cdef BatchReceiver receiver    # of a buffer of batches: has rows that are newer than the items
    cdef readonly long long received
    cdef readonly long long taken
    cdef readonly long long lost
    cdef long long skipped         # rows at the front of the batches that are lost, but still there
    cdef long long gap             # events lost after those that are held, of which the reader has not been told
    cdef readonly bint is_full     # until half of it is empty
    cdef readonly bint is_ended
    cdef readonly bint is_closed
    cdef list sleepers             # functions to call when there is something to take
    cdef public object detach
    cdef inline long long size(self) noexcept:
        return self.received - self.taken - self.lost
    cdef int detach_closed(self) except -1
    cdef Py_ssize_t room_for(self, Py_ssize_t n) except -1
    cdef int settle(self) except -1
    cdef int took(self, Py_ssize_t n) except -1
    cdef int wake(self) except -1
    cdef int add_batch(self, EventBatch batch) except -1
    cdef int drop_skipped(self) except -1

cdef class BatchReceiver(BatchCallback):
    cdef ReaderBuffer buffer
    cdef BatchBuilder rows         # sent one by one; only C code writes to it
