# Probes of a profile. In bursts of units that are measured in detail, a ProfiledEntry stands before each entry of a query
# (ProfiledEntries), and in each such unit a ClauseProbe before each operator of the queries that it reaches:
# QueryProbe.enter() links them, leave() links the operators as they were. All other units meet no probe.

from libc.stdint cimport int64_t

from siddhi._core.query.output cimport QueryOutput
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.runtime.context cimport AppContext
from siddhi._core.runtime.operator cimport Processor, Receiver
from siddhi._core.runtime.sampler cimport Meter, Patches, SampleSite, Sampler
from siddhi._core.stream.junction cimport StreamJunction

cdef class ClauseProbe(Processor):
    cdef Sampler sampler
    cdef Meter meter
    cdef Processor inner

cdef class Link:                   # the place of a ClauseProbe: what calls it, and the operator that it calls
    cdef object owner              # a QueryEntry, Pattern or Processor
    cdef int kind
    cdef ClauseProbe probe
    cdef void set(self, Processor next) noexcept

cdef class QueryProbe:
    cdef AppContext app
    cdef Sampler sampler
    cdef list links
    cdef QueryOutput output        # or None
    cdef Meter emitted             # of the output
    cdef int depth                 # nested calls that need the probes
    cdef Py_ssize_t size           # rows in the columns that the output writes to, -1: it does not
    cdef void enter(self, bint block) noexcept
    cdef void leave(self) noexcept

cdef class ProfiledEntry(Receiver):
    cdef readonly Receiver entry   # of the query
    cdef object target             # what it is subscribed to: a junction, or the receiver of a partition
    cdef StreamJunction junction   # that junction, else None
    cdef Receiver inner            # what stands there: the entry, or a probe of statistics before it
    cdef int index                 # its place in the junction
    cdef Sampler sampler
    cdef Meter meter
    cdef QueryProbe query
    cdef int place(self) except -1
    cdef int take_away(self) except -1
    cdef int look(self) except -1
    cdef int receive_sampled(self, EventChunk* chunk) except -1

cdef class ProfiledEntries(Patches):
    cdef list entries

cdef class TimerSite(SampleSite):
    cdef QueryProbe query
