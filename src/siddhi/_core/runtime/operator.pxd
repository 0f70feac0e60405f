# The steps of a query. Events are pushed through: process() takes one event, finish() ends a chunk. Pushing gives the
# results of handing whole chunks from step to step, without building the chunks in between.
#
#   Receiver   takes chunks from a junction; the events stay the junction's and must not be relinked or changed
#              receive_block(events): the same for many chunks of one event each, where the order in which different
#              receivers see different rows cannot be observed (see StreamJunction.choose_blocks)
#   Processor  process(event): CURRENT or EXPIRED; the event is lent for the call, whoever keeps it retains it
#              reset(timestamp): forget what was aggregated (RESET)
#              finish(): the chunk ends here

from libc.stdint cimport int64_t, uint64_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.context cimport AppContext, Timed
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

# How a junction calls its receivers: without a check, looking at the answer itself. -1: an exception is set.
ctypedef int (*receive_fn)(void* receiver, EventChunk* chunk) noexcept

cdef class Receiver(Timed):
    cdef receive_fn on_chunk               # set when made; calls receive() where a class has nothing faster
    # (position of an attribute, value): it does nothing with single events in which the attribute is anything else.
    # Set before it subscribes; None: it wants to see every event.
    cdef readonly tuple asks
    cdef int receive(self, EventChunk* chunk) except -1
    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1
    cdef bint takes_blocks(self) noexcept                # receive_block() handles the failure of each row by itself
    # Nothing behind it shows single events to the outside or, in playback, looks at a clock that the rows move.
    cdef bint is_silent(self, int epoch) except -1
    # It may keep records of the blocks it is given beyond the call. Asked where blocks were chosen, after is_silent().
    cdef bint keeps(self) noexcept
    cdef uint64_t reads(self) noexcept                   # bit i: it reads attribute i (all, if more than 64)

cdef class Processor(Timed):
    cdef readonly AppContext app
    cdef public Processor next
    cdef int process(self, EventC* event) except -1
    cdef int process_one(self, EventC* event) except -1            # a chunk of one event: process and finish
    # Chunks of one event each; `at` is the one at work, so that a failure can be told from the rest.
    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1
    cdef bint is_silent(self, int epoch) except -1
    cdef bint keeps(self) noexcept                                 # as a receiver's
    # The same where events leave as others come: left[i], NULL for none, expires before events[i] passes. Only for steps
    # that say so: their aggregators alone see what expires, and that by its cells.
    cdef bint takes_pairs(self) noexcept
    cdef int process_pairs(self, EventC** left, EventC** events, Py_ssize_t n) except -1
    cdef int reset(self, int64_t timestamp) except -1
    cdef int finish(self) except -1
    cdef int ensure(self, unsigned int partition) except -1        # make the state of a partition slot
    cdef int drop(self, unsigned int partition) except -1          # give the state of a partition slot up
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1
