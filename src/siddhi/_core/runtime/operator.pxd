# The steps of a query. Events are pushed through: process() takes one event, finish() ends a chunk. Pushing gives the
# results of handing whole chunks from step to step, without building the chunks in between.
#
#   Receiver   takes chunks from a junction; the events stay the junction's and must not be relinked or changed
#   Processor  process(event): CURRENT or EXPIRED; the event is lent for the call, whoever keeps it retains it
#              reset(timestamp): forget what was aggregated (RESET)
#              finish(): the chunk ends here

from libc.stdint cimport int64_t, uint64_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.context cimport AppContext, Timed
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

# --- Blocks. A block is up to MAX_BLOCK records, each of which stands for a chunk of its own.
#
# What an operator can do with blocks is asked once, through bind_blocks(): when the first batch comes after the app was
# built, and again when its wiring has changed since (AppContext.wiring: a receiver or callback came or went, or the clock
# is another one). The question goes from a stream to its receivers, along each chain of processors to the output, and on
# to the stream behind it. Each operator asks its neighbour, answers for itself and everything behind it, and keeps in
# fields of its own what it needs while events flow. No operator looks through its neighbour at the next one.
#
# The junction decides with the answers whether a batch goes on in blocks (StreamJunction.block_mode). It tells the
# outputs that feed it (StreamFeeder.follow), which keep that beside what they need to know about its receivers.

cdef struct BlockTraits:
    bint takes                     # a block can be handed over in one call: a row that fails leaves the others alone
    # Nobody can observe in which order different receivers see different rows: nothing behind shows single events to the
    # outside or, in playback, looks at a clock that the rows move.
    bint order_free
    bint retains                   # records of a block may be kept beyond the call
    bint takes_pairs               # process_pairs() may be called where pairs_ready()
    uint64_t reads                 # bit i: attribute i is read; all bits where there are more than 64 attributes

cdef inline void refuse_blocks(BlockTraits* traits) noexcept:
    """The answer of an operator that wants single events."""
    traits.takes = traits.order_free = traits.takes_pairs = False
    traits.retains = True
    traits.reads = <uint64_t> 0 - 1

# How a junction calls its receivers: without a check, looking at the answer itself. -1: an exception is set.
ctypedef int (*receive_fn)(void* receiver, EventChunk* chunk) noexcept

cdef class Receiver(Timed):
    cdef receive_fn on_chunk               # set when made; calls receive() where a class has nothing faster
    # (position of an attribute, value): it does nothing with single events in which the attribute is anything else.
    # Set before it subscribes; None: it wants to see every event.
    cdef readonly tuple equality_guard
    cdef int receive(self, EventChunk* chunk) except -1
    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1
    cdef int bind_blocks(self, BlockTraits* traits) except -1

cdef class Processor(Timed):
    cdef readonly AppContext app
    cdef public Processor next
    cdef bint next_takes_pairs                                     # as bind_blocks() found out
    cdef int process(self, EventC* event) except -1
    cdef int process_one(self, EventC* event) except -1            # a chunk of one event: process and finish
    # Chunks of one event each; `at` is the one at work, so that a failure can be told from the rest.
    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1
    cdef int bind_blocks(self, BlockTraits* traits) except -1
    # A block of events of which each lets another one expire: left[i], NULL for none, expires before events[i] passes. Only
    # for steps with the trait takes_pairs, and while they are ready: aggregators alone read what expires, by its cells.
    cdef bint pairs_ready(self) noexcept
    cdef int process_pairs(self, EventC** left, EventC** events, Py_ssize_t n) except -1
    cdef int prefetch(self, EventC** events, Py_ssize_t n) except -1    # these come next: load what they will need
    cdef int reset(self, int64_t timestamp) except -1
    cdef int finish(self) except -1
    cdef int ensure(self, unsigned int partition) except -1        # make the state of a partition id
    cdef int drop(self, unsigned int partition) except -1          # drop the state of a partition id
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1
