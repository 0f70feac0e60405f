# The partial matches that wait in a state, by the values an equality of its filter asks for: a hash table whose chains
# run through the entries themselves. Those of one key keep the order of the state's list, so that looking only at them
# changes nothing but the cost. Keys are compared by hash alone: the filter, which states the equality, decides about
# each one, unless it states nothing else and the hash of one key is never that of another (`exact`).
#
# A place of the table holds the hash, and a chain the entries of one hash. So an event looks at no entry that does not
# concern it; and one that is alone with its key is put in and taken out without a look at others. Places are searched one
# after the other from where the hash says; half of them are free.
#
# In front of the places stand their marks, a byte each: 0 where it is free, else the upper bits of its hash. Those of a
# hundred thousand partial matches stay in the cache, so that an event for which nothing waits reads no other memory.

from libc.stdint cimport uint8_t, uint64_t

from siddhi._core.event cimport EventC
from siddhi._core.executor cimport ExecC, FrameC
from siddhi._core.fetch cimport fetch_line
from siddhi._core.pattern_match cimport EntryC

# Many partial matches lie all over the memory: what the events of a block will need is asked for beforehand (fetch.pxd).

cdef enum:
    FIRST_PLACE = 16               # bytes in front of a partial match's first entry: its links
    AHEAD = 32                     # hashes of a block's next events that are kept

cdef struct BucketC:
    uint64_t hash
    EntryC* head                   # its bucket_prev is the last of the chain

cdef class PatternIndex:
    cdef tuple own                 # executors over the event at hand
    cdef tuple earlier             # executors over the partial match, in the same order
    cdef const ExecC** own_fns
    cdef const ExecC** earlier_fns
    cdef uint8_t* types
    cdef int width
    cdef bint partitioned          # the partition slot is part of the key
    cdef uint8_t* marks            # [mask + 1]
    cdef BucketC* buckets          # [mask + 1]; what is where its mark is 0 says nothing
    cdef uint64_t mask
    cdef Py_ssize_t size           # entries
    cdef bint hash(self, const ExecC** fns, EventC* event, FrameC* frame, uint64_t* out) except -1    # False: a null
    cdef int place(self, EntryC* entry, FrameC* frame) except -1     # frame.slots are the partial match's
    cdef void remove(self, EntryC* entry) noexcept
    cdef EntryC* find(self, EventC* event, FrameC* frame) except? NULL     # the first candidate
    cdef int grow(self) except -1
    cdef void clear_place(self, uint64_t hole) noexcept
    cdef bint whole                # a key is one whole number
    cdef bint exact                # what has the same hash has the same key
    cdef bint plain                # the keys are attributes: hashing one is quick and can't fail
    cdef uint64_t ahead[AHEAD]     # a ring: of event i at i % AHEAD
    cdef EntryC* asked[AHEAD]      # whose lines were asked for; it may be gone by now, its memory is not
    cdef EventC* at_work           # the event whose hash is known, NULL: none
    cdef uint64_t at_work_hash
    cdef void foresee(self, EventC* event, FrameC* frame) noexcept      # a single event is about to be looked up
    cdef void fetch(self, EventC** events, Py_ssize_t i, Py_ssize_t n, FrameC* frame) noexcept
    cdef void fetch_bucket(self, EventC** events, Py_ssize_t i, FrameC* frame) noexcept
    cdef void announce(self, FrameC* frame) noexcept         # a partial match is about to be placed
    cdef void fetch_place(self, EntryC* entry) noexcept      # an entry is about to be removed

cdef inline uint8_t mark_of(uint64_t hash) noexcept:
    return <uint8_t> (hash >> 57) | 0x80

cdef inline uint64_t place_of(const uint8_t* marks, const BucketC* buckets, uint64_t mask, uint64_t hash) noexcept:
    """The place where the entries of a hash are, or would be put."""
    cdef uint8_t mark = mark_of(hash)
    cdef uint64_t i = hash & mask
    while marks[i] != 0 and not (marks[i] == mark and buckets[i].hash == hash):
        i = (i + 1) & mask
    return i

cdef inline void fetch_partial(EntryC* entry) noexcept:
    """Ask for the lines of a partial match, whose first place this is as a rule."""
    cdef char* partial = <char*> entry - FIRST_PLACE
    fetch_line(partial)
    fetch_line(partial + 64)
    fetch_line(partial + 128)

cdef inline void fetch_around(EntryC* entry) noexcept:
    """Ask for what taking a partial match out touches besides itself."""
    cdef char* event = <char*> entry.partial.slots[0]
    fetch_line(entry.prev)
    fetch_line(entry.next)
    fetch_line(event)
    fetch_line(event + 48)         # records do not begin with a line
