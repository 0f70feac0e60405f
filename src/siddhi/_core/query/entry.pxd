# Where a query begins: the receiver of its input stream. Filters in front of the window are evaluated on the stream's
# own record; only events that pass are copied, and only the cells that are read later.

from libc.stdint cimport int32_t, uint64_t

from siddhi._core.expression.executor cimport ExecC
from siddhi._core.query.key_gate cimport KeyGate
from siddhi._core.query.output cimport QueryOutput
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.context cimport AppContext, FaultSink
from siddhi._core.runtime.operator cimport Processor, Receiver
from siddhi._core.stream.junction cimport StreamJunction

cdef struct CopyC:                 # one cell of a stage record
    int32_t source_cell
    int32_t source_word
    uint64_t source_bit
    int32_t cell
    int32_t word
    uint64_t bit
    bint is_object

cdef class RecordCopier:
    cdef readonly EventPool pool   # of the stage's records
    cdef int words                 # null words of the stage's records
    cdef bint all_there            # every cell has a source; one null word tells all
    cdef CopyC* copies
    cdef int n_copies
    cdef EventC* copy(self, const EventC* event) except NULL
    cdef int copy_block(self, EventC** events, Py_ssize_t n, EventC** out) except -1     # out[0:n] are the caller's

cdef class QueryEntry(Receiver):
    cdef readonly AppContext app
    cdef tuple filters
    cdef const ExecC** conditions
    cdef int n_conditions
    cdef bint selects              # all of them have a form for blocks
    cdef QueryOutput forward       # the events go on as they are: select *, no window; None otherwise
    cdef StreamJunction onward     # the stream of that output
    cdef RecordCopier copier        # None: the next step reads the stream's record
    cdef readonly Processor next
    cdef FrameC* frame             # the app's
    cdef bint passes(self, EventC* event) except -1
    cdef int copy_one(self, EventC* event) except -1
    cdef int receive_many(self, EventC* event) except -1
    cdef list insert_all(self, list passed)
    cdef FaultSink source          # the stream it reads
    cdef QueryOutput inserts       # where each event brings one row that a limit may refuse; else None
    cdef KeyGate gate              # of the selection, where rows come to it at once; else None
    cdef uint64_t read_mask
    cdef Py_ssize_t filter_block(self, EventC** events, Py_ssize_t n, EventC** passed) except -1

cdef class RecordCopyProcessor(Processor):      # the same copy behind a stream function
    cdef RecordCopier copier
