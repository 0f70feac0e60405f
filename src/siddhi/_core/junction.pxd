# The meeting point of a stream: whoever produces its events sends chunks here, whoever reads them is a receiver.
#
# One send is processed depth first: every receiver, in order of subscription, does all that follows from the chunk
# before the next one sees it. A receiver that fails takes the chunk's remaining receivers with it; the sender goes on.

from siddhi._core.chunk cimport EventChunk
from siddhi._core.context cimport AppContext
from siddhi._core.event cimport EventPool, Layout
from siddhi._core.processor cimport Receiver

cdef class StreamJunction:
    cdef readonly str id
    cdef readonly Layout layout
    cdef readonly EventPool pool
    cdef readonly AppContext app
    cdef readonly list receivers
    cdef void** array                    # the receivers, borrowed from the list
    cdef int n
    cdef public object on_error          # fn(exception, events): None = the app's handler
    cdef public long long events         # counted while `counting`
    cdef public bint counting
    cdef int rebuild(self) except -1
    cdef list retired                    # unsubscribed ones: a delivery may be on its way to them
    cdef int send(self, EventChunk* chunk) except -1
    cdef void count(self, EventChunk* chunk) noexcept
    cdef int fail(self, EventChunk* chunk) except -1
