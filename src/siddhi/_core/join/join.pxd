# The selection of a join. The matches of one event are a chunk of their own where it matters (last event, last per
# group, order, limit), yet what all of them leave is emitted together.

from siddhi._core.query.selector cimport Selector
from siddhi._core.record.chunk cimport EventChunk
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.runtime.lookup cimport FoundC, Searchable
from siddhi._core.runtime.operator cimport Processor
from siddhi._core.window.lookup cimport NumberedEvents

cdef class JoinSelector(Selector):
    cdef EventChunk done           # what the parts so far have left
    cdef void forget_keys(self) noexcept
    cdef int end_part(self) except -1

# --- Joins. Each side is a chain of its own: entry, handlers, window, JoinStep. Both steps share the selection.
#
# Whatever leaves a side's window comes to its step: the step looks the other side's content up and hands the event that
# triggered on once per match, with the pair in the event slots. Timestamp and type of a match are those of the event
# that triggered, so that event itself stands for the pair.
cdef enum:
    PREFETCH_EVENTS = 32                 # events whose look-ups are prepared together

cdef class JoinStep(Processor):
    cdef Searchable other          # the other side, as this side's events look at it; None: this side never triggers
    cdef NumberedEvents numbered           # numbers this side's events for indexes, or None
    cdef JoinSelector parts        # the selection, where it looks at the matches of one event together; else None
    cdef int own                   # slot of this side's events
    cdef bint outer                # without match the other side is null
    cdef bint joins_expired
    cdef FoundC found
    cdef int join(self, EventC* event) except -1
    cdef int prefetch(self, EventC** events, Py_ssize_t n) except -1      # they come next, PREFETCH_EVENTS at the most

cdef class PassingWindow(Processor):
    cdef EventPool pool            # of the events, where expired ones are wanted; else None
