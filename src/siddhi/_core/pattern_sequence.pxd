# The step of a sequence from event to event: what no event took further is forgotten, and a fresh match may begin.
#
# A logical group waits with each of its operands by itself. An event that an operand's filter rejects ends the wait of that
# operand; where it must not come, it is passed over: the match stays, and an event that the filter accepts still ends it.
# An AND of which some operands wait and others do not any longer survives events that take it no further; all else has
# one event's time.
#
# Who begins:
#
#   with `every`      each event finds a fresh partial match in the first state
#   without           one alone, so that the first event that fits no state ends the sequence; but where the second state
#                     has an absence, a fresh one comes while nothing waits there
#   `not A for t, ..` without `every`: the time runs once; an A ends the sequence, and so does the second event of any
#                     kind before the time is over
#   `not A and B, ..` an A stays in mind from event to event until it has swallowed a B
#   a group with      has one partial match that stays where it is: each absence is over its time after the last such
#   times             event, or after it was over before. An event that must not come lets it begin anew, as does one that
#                     the group is without for good; what is over by then waits for another time.

from libc.stdint cimport int64_t

from siddhi._core.pattern cimport Pattern, RunC
from siddhi._core.pattern_match cimport EntryC
from siddhi._core.pattern_state cimport State

cdef int step(Pattern pattern, RunC* run) except -1
cdef bint forget(Pattern pattern, RunC* run, int number) noexcept    # empty a pending list; whether it is
# an operand's filter rejects an event
cdef int pass_over(Pattern pattern, RunC* run, State state, EntryC* entry, int number) except -1
# the leading group, in the place of an entry
cdef int begin_anew(Pattern pattern, RunC* run, EntryC* entry) except -1
# give the leading group its times, which it takes over; `at_once`: they count from before it was complete
cdef int keep_times(Pattern pattern, RunC* run, int64_t* due, bint at_once) except -1
cdef int lead_over(Pattern pattern, RunC* run, int64_t when) except -1      # a time of the leading group is over
