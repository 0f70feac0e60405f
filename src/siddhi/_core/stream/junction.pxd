# Junction: connects the senders of a stream with its receivers.
#
# Delivery is depth first: every receiver, in order of subscription, does everything that follows from the chunk before
# the next receiver sees it. If a receiver fails, the remaining receivers do not get the chunk; the sender continues.
#
# Rows of a batch may be delivered in blocks: each receiver gets a block of rows before the next receiver does. This
# requires that the plan calls the stream batch safe (`columnar`), and that there is one receiver or all receivers are
# order free (`block_mode`, see BlockTraits).
#
# If many receivers begin with conditions on single attributes, an event is delivered only to those that the predicate
# index finds and to those that are not filed in it (see routing.pxd).

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

cdef class RowSource:                                    # sender of a batch that leaves out attributes without readers
    cdef int complete(self, EventC* event) except -1     # fills in the attributes left out; other events are unchanged

cdef class StreamFeeder:                 # an output into a stream
    # Called when the receivers have changed, and when they were asked what they do with blocks. `heard`: the stream has
    # a receiver; `sink`: the only receiver, if it is a batch callback; the other parameters as in StreamJunction.
    cdef void follow(self, bint heard, BatchCallback sink, bint block_mode, bint retains) noexcept

cdef class StreamJunction(FaultSink):
    cdef readonly str id
    cdef readonly Layout layout
    cdef readonly EventPool pool
    cdef readonly AppContext app
    cdef TimestampCheck times            # checks timestamps of events from outside
    cdef readonly list receivers
    cdef SubscriptionC* array            # the receivers, borrowed from the list
    cdef int n
    cdef public object on_error          # fn(exception, events); None: the app's exception handler
    cdef public bint columnar            # batch safe, set by the plan
    cdef readonly list feeders           # outputs of queries that insert into it
    # Answers of bind_blocks(), valid for one wiring of the app.
    cdef unsigned long long bound  # that wiring; 0: not asked yet
    cdef bint block_mode           # blocks may be delivered
    cdef bint order_free           # all receivers are order free
    cdef bint retains              # a receiver may retain records, or fail with one, which error handling retains
    cdef uint64_t read_mask        # bit mask of the attributes that any receiver reads
    cdef RowSource rows            # source of the batch being sent into this stream
    cdef BatchCallback sink        # the only receiver, if it is a batch callback: rows may be written to its builder
    cdef public long long events   # number of events while `counting`
    cdef bint counts               # `counting`
    cdef bint plain                # every receiver gets every event: nothing to count or to route
    cdef bint arranged             # `plain` and `dispatch` are up to date
    cdef Dispatch dispatch         # None: too few receivers are filed
    cdef long long changes         # number of changes of the receivers
    cdef int arrange(self) except -1
    cdef int send_special(self, EventChunk* chunk) except -1
    cdef EventC** failed                 # events of the current block that a receiver failed with; NULL: not recorded
    cdef Py_ssize_t n_failed
    cdef int send_shared_block(self, EventC** events, Py_ssize_t n) except -1
    cdef Py_ssize_t without_failed(self, EventC** events, Py_ssize_t n, EventC** rest) noexcept
    cdef int send_picked_block(self, EventC** events, Py_ssize_t n) except -1
    cdef list retired                    # unsubscribed receivers that a delivery may still be running through
    cdef int rebuild(self) except -1
    cdef int retire(self, Receiver receiver) except -1
    cdef Py_ssize_t begun                # number of rows sent of the current block of a batch
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
    cdef int extend(self, Py_ssize_t known) except -1
    cdef int send_routed(self, EventChunk* chunk) except? -2147483648
    cdef int send_picked(self, Dispatch dispatch, EventC** events, Py_ssize_t n) except -1

cdef inline int send(StreamJunction junction, EventChunk* chunk) except -1:
    """Deliver a chunk to every receiver."""
    cdef int i = 0
    if not junction.plain:
        return junction.send_special(chunk)
    junction.app.depth += 1
    if junction.app.depth > junction.app.depth_limit:
        junction.check_depth()
    # A receiver may subscribe others while it is called: the bound is read again each time.
    while i < junction.n:
        if junction.array[i].on_chunk(junction.array[i].receiver, chunk) == -1:
            return junction.fail(i, chunk)
        i += 1
    junction.app.depth -= 1
    return 0
