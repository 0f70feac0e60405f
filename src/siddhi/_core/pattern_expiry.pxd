# Which partial matches leave before they are complete. Those that have begun stand in the order of their first events, so
# that the oldest is found without a look at others.

from libc.stdint cimport int64_t

from siddhi._core.pattern cimport Pattern, RunC
from siddhi._core.pattern_match cimport PartialC

cdef enum:
    REARMED = -2                   # `unarmed` of a partial match: the group that begins the pattern has started again

cdef int expire(Pattern pattern, RunC* run, int64_t now) except -1
cdef int make_room(Pattern pattern, RunC* run) except -1
cdef bint begin_by_time(Pattern pattern, RunC* run, PartialC* partial, int64_t when) noexcept
cdef object too_many(Pattern pattern)
