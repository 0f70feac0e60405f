# Which receivers of a stream an event can concern at all, where many of them begin by asking for a value of one of its
# attributes (``symbol == 'A'``): one look-up by the event's value takes the place of asking each.
#
#   lists   the receivers' places in the junction, in order of subscription: first those of events that have no value
#           that is asked for, then those of each value
#
# A receiver that asks for another attribute, or for nothing, is in every list.

from libc.stdint cimport int32_t, uint64_t

from siddhi._core.index.hash_index cimport KeyMap
from siddhi._core.record.event cimport EventC

cdef struct ReceiverListC:
    int32_t* at
    int n

cdef class Dispatch:
    cdef readonly int position           # the attribute
    cdef readonly int n_guarded             # receivers that ask for a value of it
    cdef int cell, word                  # of the attribute
    cdef uint64_t bit
    cdef KeyMap values                   # the values asked for -> number of their list, less one
    cdef ReceiverListC* lists                  # [1 + values]
    cdef int32_t* indexes                 # what the lists point into
    cdef int32_t* guards                  # [receivers] list of the value a receiver asks for; -1: it gets every event
    cdef void fill(self, int n) noexcept
    cdef void add(self, int j, int i) noexcept
    cdef int list_of(self, const EventC* event) except -1
    cdef int sort_block(self, EventC** events, Py_ssize_t n, EventC** sorted, Py_ssize_t* starts) except -1
    cdef int n_lists(self) noexcept
