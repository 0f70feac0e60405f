# Operators of a query. Events are pushed: process() takes one event, finish() ends a chunk. The results equal those of
# passing whole chunks from operator to operator, without building these chunks.
#
#   Receiver   takes chunks from a junction; the junction owns the events, which must not be relinked or changed
#   Processor  process(event): CURRENT or EXPIRED; the event is borrowed; an operator that keeps it must retain it
#              reset(timestamp): clears aggregates (RESET)
#              finish(): ends the chunk

from libc.stdint cimport int32_t, int64_t, uint64_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.context cimport AppContext, Timed
from siddhi._core.snapshot.format cimport SnapshotReader, SnapshotWriter

# --- Blocks. A block is up to MAX_BLOCK records, each of which stands for a chunk of its own.
#
# bind_blocks() asks an operator once what it does with blocks: before the first batch after the app was built, and
# again after its wiring has changed (AppContext.wiring: a receiver or callback was added or removed, or the clock was
# replaced). The call goes from a stream to its receivers, along each chain of processors to the output, and on to the
# target stream. Each operator asks its neighbour, answers for itself and all operators after it, and keeps in its own
# fields what it needs while events flow. No operator looks through its neighbour at the next one.
#
# The junction decides from the answers whether batches are delivered in blocks (StreamJunction.block_mode). It informs
# the outputs that feed it (StreamFeeder.follow), which store that with the state of its receivers.

cdef struct BlockTraits:
    bint takes                     # takes a block in one call: a failing row does not affect the others
    # The order in which different receivers see different rows cannot be observed: no later operator exposes single
    # events or, in playback, reads a clock that the rows move.
    bint order_free
    bint retains                   # records of a block may be retained beyond the call
    bint takes_pairs               # process_pairs() may be called where pairs_ready()
    uint64_t reads                 # bit mask of the attributes read; all ones for more than 64 attributes

cdef inline void refuse_blocks(BlockTraits* traits) noexcept:
    """Answer bind_blocks() for an operator that needs single events."""
    traits.takes = traits.order_free = traits.takes_pairs = False
    traits.retains = True
    traits.reads = <uint64_t> 0 - 1

# How a junction calls its receivers: without exception check; the result is tested instead. -1: an exception is set.
ctypedef int (*receive_fn)(void* receiver, EventChunk* chunk) noexcept

cdef class Wakes:                       # the predicate index of a stream
    cdef long long wakes                 # how often a receiver began to need every event and went on to
    cdef void wake(self, int32_t receiver, bint awake) noexcept

# Of a filed receiver that may need every event for a time, such as a pattern while partial matches wait: it is asleep while
# events that meet none of its entries have no effect.
cdef class Sleeper:
    cdef bint awake
    cdef int32_t receiver                # its number in `index`
    cdef Wakes index                     # of the stream; None: not built yet
    cdef void set(self, bint awake) noexcept

cdef class Receiver(Timed):
    cdef receive_fn on_chunk  # set by the constructor; calls receive() unless the class has a faster function
    # Entries of the predicate index (see routing.pyx): events that meet none have no effect. Set before it subscribes;
    # None: every event may have an effect.
    cdef readonly tuple filing
    cdef Sleeper sleeper                 # None: the filing always holds
    cdef int receive(self, EventChunk* chunk) except -1
    cdef int receive_block(self, EventC** events, Py_ssize_t n) except -1
    cdef int bind_blocks(self, BlockTraits* traits) except -1

cdef class Processor(Timed):
    cdef readonly AppContext app
    cdef public Processor next
    cdef bint next_takes_pairs                                     # result of bind_blocks()
    cdef int process(self, EventC* event) except -1
    cdef int process_one(self, EventC* event) except -1            # a chunk of one event: process and finish
    # Chunks of one event each; `at` is the index of the current one, which identifies it after a failure.
    cdef int process_block(self, EventC** events, Py_ssize_t n, Py_ssize_t* at) except -1
    cdef int bind_blocks(self, BlockTraits* traits) except -1
    # A block of events, each of which may expire another one: left[i] (NULL: none) expires before events[i] passes.
    # Requires the trait takes_pairs and pairs_ready(): only aggregators read expired events, and only their cells.
    cdef bint pairs_ready(self) noexcept
    cdef int process_pairs(self, EventC** left, EventC** events, Py_ssize_t n) except -1
    cdef int prefetch(self, EventC** events, Py_ssize_t n) except -1    # the next events: prefetch what they will need
    cdef int reset(self, int64_t timestamp) except -1
    cdef int finish(self) except -1
    cdef int ensure(self, unsigned int partition) except -1        # creates the state of a partition id
    cdef int drop(self, unsigned int partition) except -1          # drops the state of a partition id
    cdef int write(self, SnapshotWriter writer) except -1
    cdef int read(self, SnapshotReader reader) except -1
