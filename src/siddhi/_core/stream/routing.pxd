# Predicate index of a stream: the receivers that an event concerns, where many of them begin with an equality guard
# (``symbol == 'A'``). One lookup by the event's value replaces the evaluation of each guard.
#
#   lists   indexes of receivers in the junction, in order of subscription: first the list for values without a guard,
#           then one list for each guarded value
#
# A receiver with a guard on another attribute, or without one, is in every list.

from libc.stdint cimport int32_t, uint64_t

from siddhi._core.index.hash_index cimport KeyMap
from siddhi._core.record.event cimport EventC

cdef struct ReceiverListC:
    int32_t* at
    int n

cdef class Dispatch:
    cdef readonly int position           # the attribute
    cdef readonly int n_guarded          # number of receivers with a guard on it
    cdef int cell, word                  # location of the attribute
    cdef uint64_t bit
    cdef KeyMap values                   # guarded values -> index of their list - 1
    cdef ReceiverListC* lists            # [1 + values]
    cdef int32_t* indexes                # receiver indexes; the lists point into this array
    cdef int32_t* guards                 # [receivers] list of the receiver's guarded value; -1: gets every event
    cdef void fill(self, int n) noexcept
    cdef void add(self, int j, int i) noexcept
    cdef int list_of(self, const EventC* event) except -1
    cdef int sort_block(self, EventC** events, Py_ssize_t n, EventC** sorted, Py_ssize_t* starts) except -1
    cdef int n_lists(self) noexcept
