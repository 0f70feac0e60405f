# The meeting point of a stream: whoever produces its events sends chunks here, whoever reads them is a receiver.
#
# One send is processed depth first: every receiver, in order of subscription, does all that follows from the chunk
# before the next one sees it. A receiver that fails takes the chunk's remaining receivers with it; the sender goes on.
#
# A batch may go on in blocks: each receiver sees a block of rows before the next one does. That is allowed where the
# planner found no way in which the rows could meet (`columnar`), and where either there is one receiver only or all
# receivers are order free (`block_mode`, see BlockTraits).
#
# Where many receivers begin by asking for a value of one attribute, an event is shown only to those that ask for its
# value, and to those that ask for nothing (see routing.pxd). The others would have refused it.

from libc.stdint cimport uint64_t

from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool, Layout
from siddhi._core.record.instant cimport TimestampCheck
from siddhi._core.runtime.context cimport AppContext, FaultSink
from siddhi._core.runtime.operator cimport BlockTraits, Receiver, receive_fn
from siddhi._core.stream.callback cimport BatchCallback
from siddhi._core.stream.routing cimport Dispatch

cdef struct SubscriptionC:
    receive_fn on_chunk
    void* receiver

cdef class RowSource:                    # who sends the rows of a batch and left attributes out that nobody reads
    cdef int complete(self, EventC* event) except -1     # fill them in after all; other events stay as they are

cdef class StreamFeeder:                 # an output into a stream
    # Called when its receivers have changed, and when they were asked what they do with blocks. `heard`: somebody sees the
    # events; `sink`: the only receiver, if it is a batch callback; the others as in StreamJunction.
    cdef void follow(self, bint heard, BatchCallback sink, bint block_mode, bint retains) noexcept

cdef class StreamJunction(FaultSink):
    cdef readonly str id
    cdef readonly Layout layout
    cdef readonly EventPool pool
    cdef readonly AppContext app
    cdef TimestampCheck times            # of events from outside
    cdef readonly list receivers
    cdef SubscriptionC* array            # the receivers, borrowed from the list
    cdef int n
    cdef public object on_error          # fn(exception, events): None = the app's handler
    cdef public bint columnar            # the planner's word
    cdef readonly list feeders           # outputs of queries that insert into it
    # Answers of bind_blocks(), as of a wiring of the app.
    cdef unsigned long long bound        # that wiring; 0: not asked yet
    cdef bint block_mode                 # blocks may pass
    cdef bint order_free                 # all receivers are
    cdef bint retains                    # some receiver may keep records, or fail with one, which its error handling keeps
    cdef uint64_t read_mask              # attributes that any receiver reads
    cdef RowSource rows                  # of the batch being sent into this stream
    cdef BatchCallback sink              # the only receiver, if it is a batch callback: rows may go into its builder
    cdef public long long events         # that came while `counting`
    cdef bint counts                     # `counting`
    cdef bint plain                      # an event simply goes to every receiver: nothing to count or to pick
    cdef bint arranged                   # `plain` and `dispatch` fit the receivers
    cdef Dispatch dispatch               # None: nobody, or too few ask for values
    cdef long long changes               # of the receivers
    cdef int arrange(self) except -1
    cdef int send_special(self, EventChunk* chunk) except -1
    cdef EventC** failed                 # events of the current block that some receiver failed with; NULL: not kept
    cdef Py_ssize_t n_failed
    cdef int send_shared_block(self, EventC** events, Py_ssize_t n) except -1
    cdef Py_ssize_t without_failed(self, EventC** events, Py_ssize_t n, EventC** rest) noexcept
    cdef int send_picked_block(self, EventC** events, Py_ssize_t n) except -1
    cdef list retired                    # unsubscribed ones: a delivery may be on its way to them
    cdef int rebuild(self) except -1
    cdef int retire(self, Receiver receiver) except -1
    cdef Py_ssize_t begun                # rows of a batch into this stream that were sent, of the current block
    cdef int send_block(self, EventC** events, Py_ssize_t n) except -1
    cdef int send_singly(self, EventC** events, Py_ssize_t n) except -1
    cdef int bind_blocks(self, BlockTraits* traits) except -1
    cdef int bind(self) except -1
    cdef int tell_feeders(self) except -1
    cdef void count(self, EventChunk* chunk) noexcept
    cdef int handle(self, object error, EventChunk* chunk) except -1
    cdef int fail(self, int receiver, EventChunk* chunk) except -1
    cdef int settle(self, object error, EventChunk* chunk) except -1
    cdef int check_depth(self) except -1

cdef inline int send(StreamJunction junction, EventChunk* chunk) except -1:
    """Deliver a chunk to every receiver."""
    cdef int i = 0
    if not junction.plain:
        return junction.send_special(chunk)
    junction.app.depth += 1
    if junction.app.depth > junction.app.depth_limit:
        junction.check_depth()
    # A receiver may subscribe others while it is called: the bound is read anew each time.
    while i < junction.n:
        if junction.array[i].on_chunk(junction.array[i].receiver, chunk) == -1:
            return junction.fail(i, chunk)
        i += 1
    junction.app.depth -= 1
    return 0
