# The partial matches that wait in a state, by the values an equality of its filter asks for. Those of one key keep the
# order of the state's list, so that looking only at them changes nothing but the cost.

from libc.stdint cimport uint8_t, uint32_t

from siddhi._core.event cimport CellC, EventC
from siddhi._core.executor cimport ExecC, FrameC
from siddhi._core.keymap cimport KeyMap
from siddhi._core.pattern_match cimport EntryC

cdef struct BucketC:
    EntryC* head
    EntryC* tail

cdef class PatternIndex:
    cdef KeyMap keys
    cdef tuple own                 # executors over the event at hand
    cdef tuple earlier             # executors over the partial match, in the same order
    cdef const ExecC** own_fns
    cdef const ExecC** earlier_fns
    cdef uint8_t* types
    cdef int width
    cdef bint partitioned          # the partition slot is part of the key
    cdef BucketC* buckets          # by slot of the key
    cdef Py_ssize_t capacity
    cdef bint read(self, const ExecC** fns, EventC* event, FrameC* frame, CellC* key) except -1    # False: a null
    cdef int place(self, EntryC* entry, FrameC* frame) except -1     # frame.slots are the partial match's
    cdef void remove(self, EntryC* entry) noexcept
    cdef int grow(self, uint32_t slot) except -1
    cdef void forget(self, uint32_t slot) noexcept
    cdef EntryC* find(self, EventC* event, FrameC* frame) except? NULL     # the first candidate
