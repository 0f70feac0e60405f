# What a stream or a query of a corrected app shows outside: its rows at once, and behind a replay the difference to what was
# shown.

from libc.stdint cimport int64_t

from siddhi._core.query.output cimport OutputTap
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool, Layout
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport Receiver
from siddhi._core.stream.junction cimport StreamJunction

cdef struct RowsC:                     # a list of records, each with a reference that is owned
    EventC** at
    Py_ssize_t n
    Py_ssize_t capacity
    Py_ssize_t first                   # number of released records before them, which `at` still has room for
    Py_ssize_t dropped                 # number of records that were dropped at the front, ever

cdef class RevisedOutput(Receiver):
    cdef readonly StreamJunction shown     # carries rows, and as rows of the other type retractions, to callbacks and sinks
    cdef EventPool pool
    cdef Layout layout
    cdef RowsC rows                    # what the stream has carried
    cdef RowsC before                  # during a replay: what it had carried since the checkpoint
    cdef Py_ssize_t begun              # during a replay: index of the first repeated row
    cdef EventChunk revision           # behind a replay: what is to be delivered
    cdef bint replaying
    cdef bint muted                    # during a replay: rows are those of before, which are kept
    cdef bint copies                   # the sender changes records later
    cdef int64_t last_timestamp        # that of the last event of the chunk that `shown` gets
    cdef readonly unsigned long long retracted     # number of retractions delivered
    cdef readonly unsigned long long inserted      # number of rows delivered behind replays
    cdef Py_ssize_t count(self) noexcept                      # rows carried so far
    cdef int drop(self, Py_ssize_t count) noexcept            # forget the rows before the one with this number
    cdef int begin(self, Py_ssize_t count) except -1          # a replay begins at a checkpoint with this count
    cdef int compare(self) except -1                          # it has ended: find out what has changed
    cdef int rejoin(self, Py_ssize_t repeated) except -1      # a replay has repeated so many rows: later ones are as before
    cdef int compare_rows(self, Py_ssize_t n_old) except -1
    cdef int deliver(self) except -1
    cdef int compare_bags(self, EventC** old, Py_ssize_t n_old, EventC** new, Py_ssize_t n_new) except -1
    cdef int revise(self, EventC* event, bint retracts) except -1
    cdef void forget(self) noexcept                           # forget all rows; the next one has number 0

cdef class RevisedQuery(OutputTap):
    cdef readonly RevisedOutput output

cdef class ChangeCallback(Receiver):
    cdef RevisedOutput output
    cdef readonly object function

cdef class RevisionCallback(Receiver):
    cdef AppContext app
    cdef Layout layout
    cdef str stream
    cdef readonly object function
    cdef object make

cdef class RevisionMarker(Receiver):
    cdef Layout layout
    cdef StreamJunction marked
    cdef EventC* mark(self, const EventC* event) except NULL
