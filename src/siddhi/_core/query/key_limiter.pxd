# The operator before a selection with a limit of group-by keys or of distinct values. It decides which rows the selection
# processes.
#
# A rejected row changes no aggregate. If the window before it emits rows as EXPIRED later, the record of a rejected
# row is marked (EventC.group), and it is rejected again when it expires. It keeps the keys in order of use; the
# groups notify it when a key begins, when the last row of a key leaves the window, and when a key ends.

from libc.stdint cimport int64_t, uint32_t

from siddhi._core.aggregate.group cimport GroupBy, GroupWatcher
from siddhi._core.query.selector cimport Selector
from siddhi._core.record.event cimport EventC
from siddhi._core.runtime.key_limit cimport KeyLimit, Refusals

cdef class KeyLimiter(GroupWatcher):
    cdef readonly Selector selector        # the next step
    cdef GroupBy groups                    # groups of the selector, or None
    cdef readonly KeyLimit keys
    cdef readonly KeyLimit values
    cdef tuple counted                     # aggregators that hold distinct values
    cdef bint returns                      # a window emits rows again, as EXPIRED or by RESET
    cdef bint marks                        # it emits the same records again
    # It emits other records. By key, which of its rows were refused; only of keys with refused rows. None: not so.
    #   `ordered`: rows expire in the order they came. A list of whether each row was refused, from the first refused one on.
    #   else: their number. The key stays refused until as many rows of it have expired.
    cdef dict blocked
    cdef bint ordered
    cdef readonly bint holds               # a window before it emits rows later than they came
    cdef str query
    cdef readonly Refusals refusals
    cdef Py_ssize_t looked                 # number of entries of GroupBy.dropping that make_room() has checked
    # Group ids of keys that were dropped while a row of the current chunk is still to be emitted for them. They have no
    # state and do not count. They end with the chunk, unless an event of their key comes before.
    cdef set retired
    cdef bint refuses(self, EventC* event) except -1
    cdef tuple key_to_block(self, EventC* event)
    cdef int block(self, EventC* event) except -1
    cdef bint unblock(self, EventC* event) except -1
    cdef int purge(self, int64_t now) except -1
    cdef bint make_room(self) except -1
    cdef bint is_needed(self, uint32_t group_id) noexcept
    cdef int drop_key(self, uint32_t group_id) except -1
    cdef int revive(self, uint32_t group_id) except -1
    cdef int end_retired(self) except -1
    cdef Py_ssize_t n_keys(self) noexcept
    cdef int refuse(self, KeyLimit limit, EventC* event) except -1
    cdef list groups_in_window(self)
    cdef int fail(self, object error) except -1            # report the rejected rows of a chunk at its end
