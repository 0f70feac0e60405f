# How expressions see a partial match: as an array of events by slot (FrameC.slots). An event that a counting state has
# collected and an expression names by its index (e1[0], e1[last]) has a place of its own behind the slots; the view
# puts it there before the expression is evaluated.

from libc.stdint cimport int32_t

from siddhi._core.event cimport EventC
from siddhi._core.pattern_match cimport PartialC

cdef struct PickC:                 # one named event
    int32_t slot
    int32_t offset
    bint from_last
    bint counting                  # a plain slot has one event: its first and its last

cdef class PatternView:
    cdef int n_slots
    cdef int own                   # counting slot whose present event is a pick's, too; -1: none
    cdef int n_picks
    cdef PickC* picks
    cdef EventC** events           # [n_slots + n_picks]
    cdef bint uses_current         # the event at hand must be kept before it is known whether it is accepted
    cdef EventC** show(self, PartialC* partial, EventC* current) noexcept
