# Ingress: where physical events and CTIs from outside enter a temporal stream.

from libc.stdint cimport int64_t, uint32_t, uint64_t

from siddhi._core.index.hash_index cimport KeyMap
from siddhi._core.record.event cimport EventC, EventPool, Layout
from siddhi._core.temporal.lifetime cimport LifetimeC, TemporalOperator

cdef enum Model:
    POINT = 0
    INTERVAL = 1
    EDGE = 2

cdef enum LatePolicy:
    ERROR = 0
    DROP = 1
    ADJUST = 2

# Forms of items.
cdef enum:
    FORM_POINT = 0
    FORM_INTERVAL = 1
    FORM_START = 2
    FORM_END = 3
    FORM_RETRACT = 4

cdef struct OpenC:                 # one lifetime in the list of those with the same start, end and row
    LifetimeC* lifetime            # a reference is owned; NULL: the entry is unused
    uint64_t order                 # of arrival; lists are sorted by it
    uint32_t key_id
    uint32_t next
    uint32_t previous

cdef struct OpenListC:
    uint32_t first
    uint32_t last

cdef str text_of(int64_t time)     # of a time in an error

cdef class TemporalIngress(TemporalOperator):
    cdef readonly str stream
    cdef Layout layout
    cdef EventPool pool
    cdef readonly int model
    cdef readonly int policy
    cdef readonly int64_t cti
    cdef readonly long long dropped
    cdef readonly long long adjusted
    # --- generated CTIs
    cdef int64_t count             # accepted starts until the next one; 0: not by count
    cdef int64_t duration          # 0: not by duration
    cdef int64_t delay
    cdef bint by_last
    cdef bint generates
    cdef int64_t high              # the highest start accepted
    cdef int64_t counted
    cdef int64_t base              # reference time at the last generated CTI
    cdef bint has_base
    # --- lifetimes whose END or RETRACT may come (edge streams)
    cdef KeyMap keys               # by given start, end and row
    cdef OpenListC* lists          # by key id
    cdef uint32_t list_capacity
    cdef OpenC* open               # by index of the lifetime
    cdef uint32_t open_capacity
    cdef uint64_t arrived          # number of lifetimes that were listed
    cdef Py_ssize_t n_open
    cdef TemporalIngress accepting(self)       # that which has the CTI and the counters
    cdef int refuse(self, str what, hint) except -1
    cdef int violate(self, str item) except -1
    # What is invalid about a lifetime, and what to do; None: nothing.
    cdef tuple fault_of(self, int64_t start, int64_t end, int form)
    cdef bint is_late(self, int64_t start, int64_t end, int form) noexcept     # and can't be adjusted
    cdef int check(self, int64_t start, int64_t end, int form) except -1
    cdef int check_end(self, int64_t start, int64_t end, int64_t new_end, bint edge) except -1
    cdef int insert(self, int64_t start, int64_t end, EventC* row, int form) except -1
    cdef int retract(self, int64_t start, int64_t end, int64_t new_end, EventC* row, bint edge) except -1
    cdef int accepted(self, int64_t start) except -1
    cdef int drain(self, int64_t cti) except -1
    cdef int cti_at(self, int64_t time) except -1
    cdef uint32_t key_of(self, int64_t start, int64_t end, EventC* row, bint insert) except? 0xfffffffe
    cdef int list_open(self, LifetimeC* lifetime, uint64_t order) except -1
    cdef bint is_open(self, LifetimeC* lifetime) noexcept
    cdef int unlist(self, LifetimeC* lifetime) except -1
    cdef int move_end(self, LifetimeC* lifetime, int64_t end) except -1
    cdef LifetimeC* find_open(self, int64_t start, int64_t end, EventC* row) except? NULL
