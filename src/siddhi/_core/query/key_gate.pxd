# Gate before a selection with limited group-by keys or distinct values: decides which rows the selection takes.
#
# A refused row changes no aggregate. If the window before the gate returns rows, the record of a refused row is marked
# (EventC.group), and it is refused again when it expires. The gate keeps the order in which keys were used. The groups
# report keys that begin, keys without rows in a window, and keys that end.

from libc.stdint cimport int64_t, uint32_t

from siddhi._core.aggregate.group cimport GroupBy, GroupWatcher
from siddhi._core.query.selector cimport Selector
from siddhi._core.record.event cimport EventC
from siddhi._core.runtime.key_limit cimport KeyLimit

cdef class KeyGate(GroupWatcher):
    cdef readonly Selector selector        # the next operator
    cdef GroupBy groups                    # groups of the selector, or None
    cdef readonly KeyLimit keys
    cdef readonly KeyLimit values
    cdef tuple counted                     # aggregators with limited values
    cdef bint returns                      # a window returns rows
    cdef bint marks                        # it returns the same records
    cdef readonly bint holds               # a window before the gate passes rows on later than they arrive
    cdef str query
    cdef bint collects                     # an entry collects the errors of its chunk's events from `pending`
    cdef object pending                    # error of the first row refused since the last check
    cdef Py_ssize_t looked                 # number of groups dropped with the chunk that were examined to make room
    cdef bint refuses(self, EventC* event) except -1
    cdef int purge(self, int64_t now) except -1
    cdef bint make_room(self) except -1
    cdef bint is_needed(self, uint32_t group_id) noexcept
    cdef int drop_key(self, uint32_t group_id) except -1
    cdef int revive(self, uint32_t group_id) except -1
    cdef int end_retired(self) except -1
    cdef Py_ssize_t n_keys(self) noexcept
    cdef int refuse(self, KeyLimit limit, EventC* event) except -1
    cdef int fail(self, object error) except -1            # ends a chunk in which rows were refused
