# Entry of a query: the receiver of its input stream. Filters before the window are evaluated on the stream's own
# record. Only events that pass are copied, with only the cells that are read later.

from libc.stdint cimport int32_t, uint64_t

from siddhi._core.expression.executor cimport ExecC, Executor
from siddhi._core.query.output cimport QueryOutput
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.context cimport AppContext, FaultSink
from siddhi._core.runtime.key_limit cimport Refusals
from siddhi._core.runtime.operator cimport Processor, Receiver
from siddhi._core.stream.junction cimport StreamJunction

cdef struct CopyC:                 # one cell of a record of the query
    int32_t source_cell
    int32_t source_word
    uint64_t source_bit
    int32_t cell
    int32_t word
    uint64_t bit
    bint is_object

cdef class RecordCopier:
    cdef readonly EventPool pool   # of the query's records
    cdef int words                 # null words of the query's records
    cdef bint all_there            # every cell has a source; one null word covers all
    cdef CopyC* copies
    cdef int n_copies
    cdef EventC* copy(self, const EventC* event) except NULL
    cdef int copy_block(self, EventC** events, Py_ssize_t n, EventC** out) except -1     # the caller owns out[0:n]

cdef class QueryEntry(Receiver):
    cdef readonly AppContext app
    cdef tuple filters
    cdef const ExecC** conditions
    cdef int n_conditions
    cdef bint selects              # all filters can be evaluated by block
    cdef QueryOutput forward       # events are forwarded unchanged: select *, no window; else None
    cdef StreamJunction onward     # the target stream of `forward`
    cdef RecordCopier copier       # None: the next operator reads the stream's record
    cdef readonly Processor next
    cdef FrameC* frame             # of the app
    cdef bint passes(self, EventC* event) except -1
    cdef int copy_one(self, EventC* event) except -1
    cdef int receive_many(self, EventC* event) except -1
    cdef list insert_all(self, list passed)
    cdef FaultSink source          # the input stream
    cdef QueryOutput inserts       # the output if each event makes one row that a limit may refuse; else None
    cdef Refusals refusals         # of an operator with a limit that sees events immediately; else None
    cdef uint64_t read_mask
    cdef Py_ssize_t filter_block(self, EventC** events, Py_ssize_t n, EventC** passed) except -1

cdef class FilterProcessor(Processor):          # a filter after a window or a stream function
    cdef Executor condition

cdef class RecordCopyProcessor(Processor):      # the same copy after a stream function
    cdef RecordCopier copier
