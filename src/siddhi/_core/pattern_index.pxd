# The partial matches that wait in a state, by the values an equality of its filter asks for: a hash table whose chains
# run through the entries themselves. Those of one key keep the order of the state's list, so that looking only at them
# changes nothing but the cost. Keys are compared by hash alone: the filter, which states the equality, decides about
# each one.

from libc.stdint cimport uint8_t, uint64_t

from siddhi._core.event cimport EventC
from siddhi._core.executor cimport ExecC, FrameC
from siddhi._core.pattern_match cimport EntryC

# Many partial matches lie all over the memory, and waiting for it costs more than all the rest. The events of a block
# are known beforehand, so that what they will need can be asked for while others are at work (fetch).

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define SIDDHI_FETCH(place) __builtin_prefetch(place)
    #else
    #define SIDDHI_FETCH(place) ((void) (place))
    #endif
    """
    void fetch_line "SIDDHI_FETCH" (const void* place) noexcept

cdef enum:
    WORTH_FETCHING = 4096          # fewer entries than this stay in the cache by themselves

cdef struct BucketC:
    EntryC* head
    EntryC* tail

cdef class PatternIndex:
    cdef tuple own                 # executors over the event at hand
    cdef tuple earlier             # executors over the partial match, in the same order
    cdef const ExecC** own_fns
    cdef const ExecC** earlier_fns
    cdef uint8_t* types
    cdef int width
    cdef bint partitioned          # the partition slot is part of the key
    cdef BucketC* buckets          # [mask + 1]
    cdef uint64_t mask
    cdef Py_ssize_t size           # entries
    cdef bint hash(self, const ExecC** fns, EventC* event, FrameC* frame, uint64_t* out) except -1    # False: a null
    cdef int place(self, EntryC* entry, FrameC* frame) except -1     # frame.slots are the partial match's
    cdef void remove(self, EntryC* entry) noexcept
    cdef EntryC* find(self, EventC* event, FrameC* frame) except? NULL     # the first candidate
    cdef int grow(self) except -1
    cdef bint plain                # the own keys are attributes: hashing one is quick and can't fail
    cdef void fetch(self, EventC** events, Py_ssize_t i, Py_ssize_t n, FrameC* frame) noexcept

cdef inline EntryC* same_key(EntryC* entry, uint64_t hash) noexcept:
    """The first of a chain, from here on, with this hash."""
    while entry is not NULL and entry.hash != hash:
        entry = entry.bucket_next
    return entry
