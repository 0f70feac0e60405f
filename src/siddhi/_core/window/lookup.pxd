# Looking through the content of a window, event by event: the way that always works.

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
    cdef Executor condition        # None: everything matches
    cdef bint shared               # a named window: one content for all partition keys
    cdef bint tells                # the window wants to know when its content is looked at
    cdef bint calls_python         # the condition does
    cdef int select(self, FrameC* frame, FoundC* found, Py_ssize_t kept) except -1

# --- Hash indexes over the events a window holds, for searches by equality; of one number, also in order, for ranges.
#
# HeldEvents gives every event a number while the window holds it, kept in EventC.group (number + 1), which survives the
# copy that a window may make of an expiring event. Indexes address their entries by that number. They follow what comes
# out of the window (CURRENT: held from now on, EXPIRED: no longer), so they fit windows that hold exactly what has come
# out and not yet expired. Where a window holds more, because a batch is just on its way or failed on it, it says so when
# it is looked into, and the rest is entered then. Entries lend the events: the window owns them.
cdef struct IndexEntryC:
    EventC* event
    uint32_t previous              # in the list of its key; NO_ID: none
    uint32_t next
    uint32_t key_id                # of its key; NO_ID: in no list, a part of the key is null
    uint64_t sequence              # in which events came

cdef struct KeyEventsC:                 # the events of one key, in the order they came
    uint32_t head                  # NO_ID: none; the key stays for a while, it may come back
    uint32_t tail

cdef class EventIndex:
    cdef tuple parts               # executors of the key, over the event slots
    cdef int n_parts
    cdef readonly int slot         # where they read the event
    cdef bint partitioned          # the partition id is part of the key
    cdef KeyMap keys
    cdef IndexEntryC* entries           # [capacity] by number
    cdef Py_ssize_t capacity
    cdef KeyEventsC* lists              # [list_capacity] by key slot
    cdef Py_ssize_t list_capacity
    cdef Py_ssize_t n_empty        # keys without events
    cdef uint64_t sequence         # of the next event
    cdef SortedKeys order         # keys with events, where a condition asks for ranges; None: nobody does
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
    cdef uint32_t* free_numbers      # [capacity] numbers to give out again
    cdef Py_ssize_t capacity
    cdef Py_ssize_t n_free_numbers
    cdef uint32_t used             # numbers ever given out
    cdef bint stale                # the window's content was replaced: look it over before the next use
    cdef int follow(self, EventC* event, FrameC* frame) except -1
    cdef int add(self, EventC* event, FrameC* frame) except -1
    cdef int remove(self, EventC* event) except -1
    cdef int forget(self, unsigned int partition) except -1    # the window is about to drop what it holds for a key
    cdef int refresh(self, FrameC* frame) except -1
    cdef bint tells                # the window wants to know when its content is looked at
    cdef bint shared               # a named window: one content for all partition keys
    cdef int tell(self, FrameC* frame) except -1               # the content of the current key is about to be searched
    cdef int add_remaining(self, void* state, FrameC* frame) except -1

cdef class IndexProbe(Searchable):
    cdef NumberedEvents numbered
    cdef EventIndex index
    cdef tuple probe               # executors of the key looked for, over the other slots
    cdef Executor residual             # what else must hold, or None
    cdef bint calls_python         # `rest` does

# Look the window's content over, which was replaced.
cdef int refresh_numbered(NumberedEvents numbered, FrameC* frame) except -1
# Of what was found, let go of those from `kept` on for which a condition does not hold; it reads them in `slot`.
cdef int keep_matching(
    EventPool pool, Executor condition, int slot, FrameC* frame, FoundC* found, Py_ssize_t kept) except -1

# --- Searching the events a window holds by a range of one of their numbers.
cdef struct ArrivalC:
    uint64_t sequence
    EventC* event

cdef class RangeProbe(Searchable):
    cdef NumberedEvents numbered
    cdef EventIndex index
    cdef SortedRange range
    cdef Searchable scan           # where the range is not worth it
    cdef Executor condition
    cdef bint calls_python         # it does
    cdef ArrivalC* arrivals        # [capacity]
    cdef Py_ssize_t n
    cdef Py_ssize_t capacity
    cdef bint collect(self, uint64_t low, uint64_t high, Py_ssize_t limit) except -1
