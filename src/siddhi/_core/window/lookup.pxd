# Search of a window by a scan of its events; works for every condition.

from libc.stdint cimport uint32_t, uint64_t

from siddhi._core.expression.bounds cimport SortedRange
from siddhi._core.expression.executor cimport Executor
from siddhi._core.index.hash_index cimport KeyMap
from siddhi._core.index.sorted_index cimport SortedKeys
from siddhi._core.record.event cimport EventC, EventPool
from siddhi._core.record.frame cimport FrameC
from siddhi._core.runtime.lookup cimport FoundC, Searchable
from siddhi._core.window.base cimport Window

cdef class WindowScan(Searchable):
    cdef Window window
    cdef Executor condition        # None: every event matches
    cdef bint shared               # a named window: all partition keys share its events
    cdef bint tells                # the window must be notified when it is searched
    cdef bint calls_python         # the condition calls Python
    cdef int select(self, FrameC* frame, FoundC* found, Py_ssize_t kept) except -1

# --- Hash indexes over the events of a window, for searches by equality; over one number also sorted, for ranges.
#
# NumberedEvents gives every event a number while the window holds it. The number + 1 is stored in EventC.group, which
# survives the copy that a window may make of an expiring event. Indexes address their entries by that number. They
# follow the output of the window: a CURRENT event is added, an EXPIRED event is removed. So they fit windows that hold
# exactly the events emitted and not yet expired. A window that holds more, because a batch is being emitted or failed,
# reports it when it is searched, and the missing events are added then. Entries borrow the events: the window owns
# them.
cdef struct IndexEntryC:
    EventC* event
    uint32_t previous              # in the list of its key; NO_ID: none
    uint32_t next
    uint32_t key_id                # NO_ID: in no list, part of the key is null
    uint64_t sequence              # order of arrival

cdef struct KeyEventsC:                 # events of one key, in order of arrival
    uint32_t head                       # NO_ID: none; the empty key stays for a while, it may come back
    uint32_t tail

cdef class EventIndex:
    cdef tuple parts               # executors of the key, over the event slots
    cdef int n_parts
    cdef readonly int slot         # slot in which they read the event
    cdef bint partitioned          # the partition id is part of the key
    cdef KeyMap keys
    cdef IndexEntryC* entries      # [capacity] by number
    cdef Py_ssize_t capacity
    cdef KeyEventsC* lists         # [list_capacity] by key id
    cdef Py_ssize_t list_capacity
    cdef Py_ssize_t n_empty        # number of keys without events
    cdef uint64_t sequence         # of the next event
    cdef SortedKeys order          # keys with events, for range conditions; None: not sorted
    cdef int add(self, EventC* event, uint32_t number, FrameC* frame) except -1
    cdef int remove(self, uint32_t number) except -1
    cdef int clear(self) except -1
    cdef int reserve(self, uint32_t number) except -1
    cdef int reserve_list(self, uint32_t key_id) except -1
    cdef int sweep(self) except -1
    cdef int sort_in(self, uint32_t key_id) except -1
    cdef int sort_out(self, uint32_t key_id) except -1

cdef class NumberedEvents:
    cdef readonly Window window
    cdef readonly list indexes
    cdef uint32_t* free_numbers    # [capacity] numbers to reuse
    cdef Py_ssize_t capacity
    cdef Py_ssize_t n_free_numbers
    cdef uint32_t used             # numbers in use or free
    cdef bint stale                # the window's events were replaced: rebuild the indexes before the next use
    cdef int follow(self, EventC* event, FrameC* frame) except -1
    cdef int add(self, EventC* event, FrameC* frame) except -1
    cdef int remove(self, EventC* event) except -1
    cdef int forget(self, unsigned int partition) except -1    # before the window drops the events of a key
    cdef int refresh(self, FrameC* frame) except -1
    cdef bint tells                                            # the window must be notified when it is searched
    cdef bint shared                                           # a named window: all partition keys share its events
    cdef int tell(self, FrameC* frame) except -1               # before the events of the current key are searched
    cdef int add_remaining(self, void* state, FrameC* frame) except -1

cdef class IndexProbe(Searchable):
    cdef NumberedEvents numbered
    cdef EventIndex index
    cdef tuple probe               # executors of the searched key, over the other slots
    cdef Executor residual         # remaining condition, or None
    cdef bint calls_python         # the residual predicate calls Python

# Rebuild the indexes after the window's events were replaced.
cdef int refresh_numbered(NumberedEvents numbered, FrameC* frame) except -1
# Of the events found, release those from `kept` on that fail a condition, which reads them in `slot`.
cdef int keep_matching(
    EventPool pool, Executor condition, int slot, FrameC* frame, FoundC* found, Py_ssize_t kept) except -1

# --- Search of the events of a window by a range of a number.
cdef struct ArrivalC:
    uint64_t sequence
    EventC* event

cdef class RangeProbe(Searchable):
    cdef NumberedEvents numbered
    cdef EventIndex index
    cdef SortedRange range
    cdef Searchable scan           # used if the range is too large
    cdef Executor condition
    cdef bint calls_python         # the condition calls Python
    cdef ArrivalC* arrivals        # [capacity]
    cdef Py_ssize_t n
    cdef Py_ssize_t capacity
    cdef bint collect(self, uint64_t low, uint64_t high, Py_ssize_t limit) except -1
