# The step of a sequence from event to event: what no event took further is forgotten, and a fresh match may begin.

from siddhi._core.pattern cimport Pattern, RunC

cdef int step(Pattern pattern, RunC* run) except -1
cdef bint forget(Pattern pattern, RunC* run, int number) noexcept    # empty a pending list; whether it is
