# The step in front of a selection whose group-by keys or distinct values are limited, and says which rows it takes.
#
# A row that is refused moves no aggregate. Where the window in front gives rows back, the record of a refused one is
# marked (EventC.group), and it is refused again when it expires. The gate keeps the order in which keys were used; the
# groups tell it of keys that begin, that hold no row of a window any more, and that end.

from libc.stdint cimport int64_t, uint32_t

from siddhi._core.aggregate.group cimport GroupBy, GroupWatcher
from siddhi._core.query.selector cimport Selector
from siddhi._core.record.event cimport EventC
from siddhi._core.runtime.key_limit cimport KeyLimit

cdef class KeyGate(GroupWatcher):
    cdef readonly Selector selector        # the next step
    cdef GroupBy groups                    # its, or None
    cdef readonly KeyLimit keys
    cdef readonly KeyLimit values
    cdef tuple counted                     # aggregators that hold values
    cdef bint returns                      # a window gives rows back
    cdef bint marks                        # as the records it took
    cdef readonly bint holds               # a window in front passes rows on later than they come
    cdef str query
    cdef bint collects                     # an entry takes the errors of its chunk's events out of `pending`
    cdef object pending                    # error of the first row refused since somebody asked
    cdef Py_ssize_t looked                 # groups to be dropped with the chunk that were looked at for room
    # Slots of keys that were dropped while a row of the current chunk waits to be emitted under them. They hold nothing,
    # do not count, and end with the chunk unless an event of their key comes before.
    cdef set retired
    cdef bint refuses(self, EventC* event) except -1
    cdef int purge(self, int64_t now) except -1
    cdef bint make_room(self) except -1
    cdef bint is_needed(self, uint32_t group_id) noexcept
    cdef int drop_key(self, uint32_t group_id) except -1
    cdef int revive(self, uint32_t group_id) except -1
    cdef int end_retired(self) except -1
    cdef Py_ssize_t n_keys(self) noexcept
    cdef int refuse(self, KeyLimit limit, EventC* event) except -1
    cdef int fail(self, object error) except -1            # the chunk has ended in which rows were refused
