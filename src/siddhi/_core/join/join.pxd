# Selection of a join. The matches of one event are a part of their own where that matters (last event, last per group,
# order, limit); the output of all parts is emitted together.

from siddhi._core.query.selector cimport Selector
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.lookup cimport FoundC, Searchable
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.window.lookup cimport NumberedEvents

cdef class JoinSelector(Selector):
    cdef EventChunk done           # output of the parts so far
    cdef void forget_keys(self) noexcept
    cdef int end_part(self) except -1

# --- Joins. Each side is a chain of its own: entry, handlers, window, JoinStep. Both steps share the selection.
#
# Events that leave a side's window trigger its step. The step searches the other side and passes the triggering event
# on once per match, with the pair in the event slots. Timestamp and type of a match are those of the triggering event,
# so that event represents the pair.
cdef enum:
    PREFETCH_EVENTS = 32                 # number of events whose lookups are prepared together

cdef class JoinStep(Processor):
    cdef Searchable other          # searches the other side for this side's events; None: this side never triggers
    cdef NumberedEvents numbered   # numbers this side's events for indexes, or None
    cdef JoinSelector parts        # the selection, if the matches of one event are a part; else None
    cdef int own                   # slot of this side's events
    cdef bint outer                # without a match the other side is null
    cdef bint joins_expired
    cdef FoundC found
    cdef int join(self, EventC* event) except -1
    cdef int prefetch(self, EventC** events, Py_ssize_t n) except -1      # the next events, at most PREFETCH_EVENTS

cdef class PassingWindow(Processor):
    cdef EventPool pool            # of the events, if expired ones are needed; else None
